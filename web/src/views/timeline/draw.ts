// Draws the timeline of one run: lanes of spans over time, merged where many share a pixel.
import type { Timeline } from "../../api/payload";
import { firstEndingAfter, type Lane } from "../../model/lanes";
import { axisColor, type Theme } from "../../ui/colors";
import { ticks, timeAxis } from "../../ui/format";
import { font, type Pen } from "../../ui/pen";

export interface Frame {
  width: number;
  /** Room at the left for names of lanes, below for the time axis. */
  gutter: number;
  foot: number;
  from_ps: number;
  to_ps: number;
  row_px: number;
  lane_gap_px: number;
}
export interface Picture {
  timeline: Timeline;
  lanes: readonly Lane[];
  theme: Theme;
  marks: readonly { at_ps: number; repair: boolean }[];
  /** Time after the engine's run that telemetry observed; null: there is none. */
  beyond: readonly [number, number] | null;
  hover: number | null;
  /** The part being brushed, in screen x. */
  brush: readonly [number, number] | null;
}

const SPAN_PX_MIN = 1;
const NAME_PX_MIN = 44;

export function heightOf(lanes: readonly Lane[], frame: Frame): number {
  return (
    lanes.reduce((sum, lane) => sum + lane.rows.length * frame.row_px + frame.lane_gap_px, 0) +
    frame.foot
  );
}

export const xOf = (ps: number, frame: Frame): number =>
  frame.gutter +
  ((ps - frame.from_ps) / Math.max(frame.to_ps - frame.from_ps, 1)) * (frame.width - frame.gutter);
export const psOf = (x: number, frame: Frame): number =>
  frame.from_ps +
  ((x - frame.gutter) / Math.max(frame.width - frame.gutter, 1)) * (frame.to_ps - frame.from_ps);

export function draw(pen: Pen, picture: Picture, frame: Frame): void {
  const { theme, lanes } = picture;
  const height = heightOf(lanes, frame);
  pen.globalAlpha = 1;
  pen.fillStyle = theme.page;
  pen.fillRect(0, 0, frame.width, height);
  drawAxis(pen, picture, frame, height);
  let y = 0;
  lanes.forEach((lane, i) => {
    const h = lane.rows.length * frame.row_px;
    if (i % 2 === 0) {
      pen.globalAlpha = 0.55;
      pen.fillStyle = theme.sunk;
      pen.fillRect(frame.gutter, y, frame.width - frame.gutter, h + frame.lane_gap_px / 2);
      pen.globalAlpha = 1;
    }
    pen.fillStyle = theme.ink;
    pen.font = font(12);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(fitting(pen, lane.name, frame.gutter - 14), frame.gutter - 10, y + h / 2);
    for (const row of lane.rows) {
      drawRow(pen, picture, frame, row.axis, row.spans, y);
      y += frame.row_px;
    }
    y += frame.lane_gap_px;
  });
  if (picture.beyond) drawBeyond(pen, theme, frame, picture.beyond, height);
  for (const mark of picture.marks) drawMark(pen, theme, frame, mark, height);
  if (picture.brush) {
    const [a, b] = picture.brush;
    pen.fillStyle = theme.accent;
    pen.globalAlpha = 0.15;
    pen.fillRect(Math.min(a, b), 0, Math.abs(b - a), height - frame.foot);
    pen.globalAlpha = 1;
  }
}

/** Spans of one row. Neighbours closer than a pixel become one bar: drawing more would cost time
 * and show nothing else. */
function drawRow(
  pen: Pen,
  picture: Picture,
  frame: Frame,
  axis: string,
  spans: Uint32Array,
  y: number,
): void {
  const { timeline, theme, hover } = picture;
  const h = Math.max(1, frame.row_px - 1);
  const color = axisColor(axis, theme);
  const perPx = (frame.to_ps - frame.from_ps) / Math.max(frame.width - frame.gutter, 1);
  pen.fillStyle = color;
  let i = firstEndingAfter(timeline, spans, frame.from_ps);
  let [open, close] = [Number.NaN, Number.NaN];
  const flush = (): void => {
    if (Number.isNaN(open)) return;
    const x = Math.max(xOf(open, frame), frame.gutter);
    const end = Math.min(xOf(close, frame), frame.width);
    if (end > frame.gutter)
      pen.fillRect(x, y, Math.max(end - x - (end - x > 3 ? 0.75 : 0), SPAN_PX_MIN), h);
  };
  for (; i < spans.length; i++) {
    const span = spans[i] ?? 0;
    const [start, end] = [timeline.start_ps[span] ?? 0, timeline.end_ps[span] ?? 0];
    if (start >= frame.to_ps) break;
    const small = end - start < perPx * 3;
    if (small && start - close < perPx * 0.75) close = Math.max(close, end);
    else {
      flush();
      [open, close] = [start, end];
    }
    if (span === hover || (end - start) / perPx >= NAME_PX_MIN) {
      flush();
      drawNamed(pen, picture, frame, span, color, y, h);
      [open, close] = [Number.NaN, Number.NaN];
      pen.fillStyle = color;
    }
  }
  flush();
}

function drawNamed(
  pen: Pen,
  picture: Picture,
  frame: Frame,
  span: number,
  color: string,
  y: number,
  h: number,
): void {
  const { timeline, theme, hover } = picture;
  const x = Math.max(xOf(timeline.start_ps[span] ?? 0, frame), frame.gutter);
  const end = Math.min(xOf(timeline.end_ps[span] ?? 0, frame), frame.width);
  const w = Math.max(end - x - 0.75, SPAN_PX_MIN);
  pen.fillStyle = color;
  pen.fillRect(x, y, w, h);
  if (h >= 11 && w >= NAME_PX_MIN) {
    pen.font = font(Math.min(11, h - 2));
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillStyle = "#16191d";
    pen.fillText(fitting(pen, timeline.name.at(span), w - 8), x + 4, y + h / 2 + 0.5);
  }
  if (span === hover) {
    pen.strokeStyle = theme.ink;
    pen.lineWidth = 1.5;
    pen.strokeRect(x - 0.75, y - 0.75, w + 1.5, h + 1.5);
  }
}

function drawAxis(pen: Pen, picture: Picture, frame: Frame, height: number): void {
  const { theme } = picture;
  const span = frame.to_ps - frame.from_ps;
  const axis = timeAxis(span);
  const bottom = height - frame.foot;
  pen.font = font(12);
  pen.textBaseline = "top";
  for (const tick of ticks(frame.from_ps, frame.to_ps, Math.max(2, frame.width / 130))) {
    const x = xOf(tick, frame);
    pen.fillStyle = theme.rule;
    pen.fillRect(Math.round(x), 0, 1, bottom);
    pen.fillStyle = theme.soft;
    pen.textAlign = x > frame.width - 24 ? "right" : x < frame.gutter + 10 ? "left" : "center";
    pen.fillText(axis.tick(tick), x, bottom + 6);
  }
  pen.fillStyle = theme.faint;
  pen.textAlign = "right";
  pen.fillText(`time (${axis.unit})`, frame.gutter - 10, bottom + 6);
}

/** Time in which telemetry replays steps, of which the run has no spans. */
function drawBeyond(
  pen: Pen,
  theme: Theme,
  frame: Frame,
  beyond: readonly [number, number],
  height: number,
): void {
  const x = Math.max(xOf(beyond[0], frame), frame.gutter);
  const end = Math.min(xOf(beyond[1], frame), frame.width);
  if (end <= x) return;
  pen.globalAlpha = 0.6;
  pen.fillStyle = theme.sunk;
  pen.fillRect(x, 0, end - x, height - frame.foot);
  pen.globalAlpha = 1;
  pen.font = font(12);
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.fillStyle = theme.soft;
  const text = "steps replayed for telemetry; their operations are not drawn";
  pen.fillText(fitting(pen, text, end - x - 16), x + 8, (height - frame.foot) / 2);
}

function drawMark(
  pen: Pen,
  theme: Theme,
  frame: Frame,
  mark: { at_ps: number; repair: boolean },
  height: number,
): void {
  const x = xOf(mark.at_ps, frame);
  if (x < frame.gutter || x > frame.width) return;
  pen.fillStyle = mark.repair ? theme.good : theme.mark;
  pen.fillRect(x - 0.5, 0, 1, height - frame.foot);
  pen.beginPath();
  pen.moveTo(x - 4, 0);
  pen.lineTo(x + 4, 0);
  pen.lineTo(x, 6);
  pen.fill();
}

function fitting(pen: Pen, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length - 1;
  while (end > 0 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return end > 0 ? `${text.slice(0, end)}…` : "";
}

/** Timeline row under a point; null over nothing. */
export function spanAt(picture: Picture, frame: Frame, x: number, y: number): number | null {
  if (x < frame.gutter) return null;
  const perPx = (frame.to_ps - frame.from_ps) / Math.max(frame.width - frame.gutter, 1);
  const at = psOf(x, frame);
  let top = 0;
  for (const lane of picture.lanes) {
    const bottom = top + lane.rows.length * frame.row_px;
    if (y >= top && y < bottom) {
      const row = lane.rows[Math.floor((y - top) / frame.row_px)];
      if (!row) return null;
      const i = firstEndingAfter(picture.timeline, row.spans, at - perPx);
      const span = row.spans[i];
      return span !== undefined && (picture.timeline.start_ps[span] ?? 0) <= at + perPx
        ? span
        : null;
    }
    top = bottom + frame.lane_gap_px;
  }
  return null;
}
