// Draws queues over time: a row per link in groups by hop, a column per bin, colour by value.
import type { Queues } from "../../api/payload";
import type { QueueValue } from "../../model/page_state";
import { binsOf, valueAt, type QueueGroup, type QueueRow } from "../../model/queues";
import { sequential, type Theme } from "../../ui/colors";
import { ticks, timeAxis, whole } from "../../ui/format";
import { font, type Pen } from "../../ui/pen";

export interface HeatFrame {
  width: number;
  /** Room at the left for names of links, below for the time axis. */
  gutter: number;
  foot: number;
  from_ps: number;
  to_ps: number;
  row_px: number;
  /** Height of a group's title. */
  head_px: number;
}
export interface HeatPicture {
  queues: Queues;
  groups: readonly QueueGroup[];
  value: QueueValue;
  /** Value at the top of the colours. */
  top: number;
  theme: Theme;
  marks: readonly number[];
  /** The part being brushed, in screen x. */
  brush: readonly [number, number] | null;
}
export interface Cell {
  row: number;
  bin: number;
}

/** Rows lower than this have no names: they would run into each other. */
const NAMED_PX_MIN = 10;
/** Steps of colour: cells of one step that touch are drawn as one. */
const SHADES = 255;
const GROUP_GAP_PX = 6;

export const heightOf = (groups: readonly QueueGroup[], frame: HeatFrame): number =>
  groups.reduce((sum, { rows }) => sum + frame.head_px + rows.length * frame.row_px, 0) +
  Math.max(0, groups.length - 1) * GROUP_GAP_PX +
  frame.foot;

export const xOf = (ps: number, frame: HeatFrame): number =>
  frame.gutter +
  ((ps - frame.from_ps) / Math.max(frame.to_ps - frame.from_ps, 1)) * (frame.width - frame.gutter);
export const psOf = (x: number, frame: HeatFrame): number =>
  frame.from_ps +
  ((x - frame.gutter) / Math.max(frame.width - frame.gutter, 1)) * (frame.to_ps - frame.from_ps);

/** Each row with its top edge, in the order of the picture. */
export function placed(
  groups: readonly QueueGroup[],
  frame: HeatFrame,
): { at: QueueRow; y: number }[] {
  let y = 0;
  return groups.flatMap(({ rows }, i) => {
    y += frame.head_px + (i > 0 ? GROUP_GAP_PX : 0);
    const here = rows.map((at, k) => ({ at, y: y + k * frame.row_px }));
    y += rows.length * frame.row_px;
    return here;
  });
}

/** The cell under a point; null over names, titles and the axis. */
export function cellAt(picture: HeatPicture, frame: HeatFrame, x: number, y: number): Cell | null {
  if (x < frame.gutter || x > frame.width) return null;
  const found = placed(picture.groups, frame).find((row) => y >= row.y && y < row.y + frame.row_px);
  const bin = Math.floor(psOf(x, frame) / picture.queues.bin_ps);
  return found && bin >= 0 && bin < picture.queues.bins ? { row: found.at.row, bin } : null;
}

export function draw(pen: Pen, picture: HeatPicture, frame: HeatFrame): void {
  const { theme, groups } = picture;
  const height = heightOf(groups, frame);
  pen.globalAlpha = 1;
  pen.fillStyle = theme.page;
  pen.fillRect(0, 0, frame.width, height);
  let y = 0;
  groups.forEach(({ name, total, rows }, i) => {
    y += i > 0 ? GROUP_GAP_PX : 0;
    pen.font = font(12, 550);
    pen.fillStyle = theme.ink;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    const count = rows.length < total ? `${whole(rows.length)} of ${whole(total)}` : whole(total);
    const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}, ${count} ${total === 1 ? "link" : "links"}`;
    pen.fillText(title, 0, y + frame.head_px / 2);
    y += frame.head_px;
    pen.fillStyle = theme.sunk;
    pen.fillRect(frame.gutter, y, frame.width - frame.gutter, rows.length * frame.row_px);
    for (const row of rows) {
      if (frame.row_px >= NAMED_PX_MIN) {
        pen.font = font(Math.min(12, frame.row_px - 2));
        pen.fillStyle = theme.soft;
        pen.textAlign = "right";
        const text = fitting(pen, row.label, frame.gutter - 14);
        pen.fillText(text, frame.gutter - 10, y + frame.row_px / 2 + 0.5);
      }
      drawRow(pen, picture, frame, row.row, y);
      y += frame.row_px;
    }
  });
  drawAxis(pen, theme, frame, height);
  for (const at of picture.marks) drawMark(pen, theme, frame, at, height);
  if (picture.brush) {
    const [a, b] = picture.brush;
    pen.fillStyle = theme.accent;
    pen.globalAlpha = 0.2;
    pen.fillRect(Math.min(a, b), 0, Math.abs(b - a), height - frame.foot);
    pen.globalAlpha = 1;
  }
}

/** Bins of one link. Those of one colour that touch are one rectangle; those without a value are none. */
function drawRow(
  pen: Pen,
  { queues, value, top, theme }: HeatPicture,
  frame: HeatFrame,
  row: number,
  y: number,
): void {
  const [first, end] = binsOf(queues, frame.from_ps, frame.to_ps);
  const h = frame.row_px >= 6 ? frame.row_px - 1 : frame.row_px;
  // Whole pixels: cells that touch leave no seam between them.
  const edge = (bin: number): number =>
    Math.round(Math.min(frame.width, Math.max(frame.gutter, xOf(bin * queues.bin_ps, frame))));
  let [open, shade] = [first, 0];
  for (let bin = first; bin <= end; bin++) {
    const here = bin < end ? valueAt(queues, value, row, bin) : 0;
    // The least value still shows: a queue of one packet is no empty queue.
    const next = here > 0 ? Math.max(1, Math.round((here / top) * SHADES)) : 0;
    if (next === shade && bin < end) continue;
    if (shade > 0) {
      const x = edge(open);
      pen.fillStyle = sequential(0.08 + (0.92 * shade) / SHADES, theme);
      pen.fillRect(x, y, Math.max(edge(bin) - x, 1), h);
    }
    [open, shade] = [bin, next];
  }
}

function drawAxis(pen: Pen, theme: Theme, frame: HeatFrame, height: number): void {
  const axis = timeAxis(frame.to_ps - frame.from_ps);
  const bottom = height - frame.foot;
  pen.font = font(12);
  pen.textBaseline = "top";
  for (const tick of ticks(frame.from_ps, frame.to_ps, Math.max(2, frame.width / 150))) {
    const x = xOf(tick, frame);
    pen.fillStyle = theme.rule;
    pen.fillRect(Math.round(x), bottom, 1, 5);
    pen.fillStyle = theme.soft;
    pen.textAlign = x > frame.width - 24 ? "right" : x < frame.gutter + 10 ? "left" : "center";
    pen.fillText(axis.tick(tick), x, bottom + 7);
  }
  pen.fillStyle = theme.faint;
  pen.textAlign = "right";
  pen.fillText(`time (${axis.unit})`, frame.gutter - 10, bottom + 7);
}

function drawMark(pen: Pen, theme: Theme, frame: HeatFrame, at_ps: number, height: number): void {
  const x = xOf(at_ps, frame);
  if (x < frame.gutter || x > frame.width) return;
  pen.fillStyle = theme.mark;
  pen.fillRect(x - 0.5, 0, 1, height - frame.foot);
}

function fitting(pen: Pen, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let start = 1;
  while (start < text.length && pen.measureText(`…${text.slice(start)}`).width > width) start += 1;
  return `…${text.slice(start)}`;
}
