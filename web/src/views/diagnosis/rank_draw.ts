// Draws what ranks did in a step: a lane each; height tells waiting from work, besides colour.
import type { RankSpans } from "../../api/payload";
import { axisColor, type Theme } from "../../ui/colors";
import { ticks, timeAxis } from "../../ui/format";
import { font, type Pen } from "../../ui/pen";

export interface RankFrame {
  width: number;
  gutter: number;
  lane_px: number;
  foot: number;
  from_ms: number;
  to_ms: number;
}
export interface RankScene {
  ranks: RankSpans;
  /** Spans of each lane by start. */
  lanes: readonly (readonly number[])[];
  hover: number | null;
  theme: Theme;
}

const MS = 1e9;
const NAME_PX_MIN = 46;
const LANE_GAP_PX = 5;

export const heightOf = (lanes: number, frame: RankFrame): number =>
  lanes * frame.lane_px + frame.foot;

export const xOf = (ms: number, frame: RankFrame): number =>
  frame.gutter +
  ((ms - frame.from_ms) / Math.max(frame.to_ms - frame.from_ms, Number.MIN_VALUE)) *
    (frame.width - frame.gutter);

/** Colours of SPAN_KINDS. */
export const kindColor = (kind: number, theme: Theme): string =>
  [axisColor("compute", theme), axisColor("ep", theme), axisColor("tp", theme)][kind] ?? theme.soft;

/** Waiting is a thin bar at the foot of its lane, work fills it. */
function barOf(kind: number, lane: number, frame: RankFrame): readonly [number, number] {
  const [top, tall] = [lane * frame.lane_px, frame.lane_px - LANE_GAP_PX];
  return kind === 2 ? [top + tall * 0.66, tall * 0.34] : [top, tall];
}

export function drawRanks(pen: Pen, scene: RankScene, frame: RankFrame): void {
  const { ranks, theme, lanes } = scene;
  const height = heightOf(lanes.length, frame);
  pen.globalAlpha = 1;
  pen.fillStyle = theme.page;
  pen.fillRect(0, 0, frame.width, height);
  drawAxis(pen, theme, frame, height);
  lanes.forEach((spans, lane) => {
    const top = lane * frame.lane_px;
    const middle = top + (frame.lane_px - LANE_GAP_PX) / 2;
    const culprit = ranks.lanes.role.at(lane) === "culprit";
    pen.font = font(12, culprit ? 650 : 400);
    pen.fillStyle = culprit ? theme.mark : theme.ink;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(ranks.lanes.name.at(lane), frame.gutter - 10, middle);
    for (const span of spans) drawSpan(pen, scene, frame, lane, span);
  });
}

function drawSpan(pen: Pen, scene: RankScene, frame: RankFrame, lane: number, span: number): void {
  const { ranks, theme } = scene;
  const kind = ranks.kind[span] ?? 0;
  const from = Math.max(frame.gutter, xOf(ranks.start_ms[span] ?? 0, frame));
  const to = Math.min(frame.width, xOf(ranks.end_ms[span] ?? 0, frame));
  if (to < frame.gutter || from > frame.width || to < from) return;
  const [y, tall] = barOf(kind, lane, frame);
  const wide = Math.max(1, to - from - 0.75);
  pen.fillStyle = kindColor(kind, theme);
  pen.fillRect(from, y, wide, tall);
  if (wide >= NAME_PX_MIN && kind !== 2 && tall >= 12) {
    pen.font = font(11);
    pen.textAlign = "left";
    pen.fillStyle = "#16191d";
    pen.fillText(fitting(pen, ranks.name.at(span), wide - 8), from + 4, y + tall / 2 + 0.5);
  }
  if (span === scene.hover) {
    pen.strokeStyle = theme.ink;
    pen.lineWidth = 1.5;
    pen.strokeRect(from - 0.75, y - 0.75, wide + 1.5, tall + 1.5);
  }
}

function drawAxis(pen: Pen, theme: Theme, frame: RankFrame, height: number): void {
  const [from, to] = [frame.from_ms * MS, frame.to_ms * MS];
  const axis = timeAxis(to - from);
  const bottom = height - frame.foot;
  pen.font = font(12);
  pen.textBaseline = "top";
  for (const tick of ticks(from, to, Math.max(2, frame.width / 130))) {
    const x = xOf(tick / MS, frame);
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

/** Span under a point; of a wait below work the wait. */
export function spanUnder(scene: RankScene, frame: RankFrame, x: number, y: number): number | null {
  const lane = Math.floor(y / frame.lane_px);
  const spans = scene.lanes[lane];
  if (x < frame.gutter || spans === undefined) return null;
  const hits = spans.filter((span) => {
    const [top, tall] = barOf(scene.ranks.kind[span] ?? 0, lane, frame);
    const from = xOf(scene.ranks.start_ms[span] ?? 0, frame) - 1;
    const to = xOf(scene.ranks.end_ms[span] ?? 0, frame) + 1;
    return x >= from && x <= to && y >= top - 1 && y <= top + tall + 1;
  });
  return hits[hits.length - 1] ?? null;
}

function fitting(pen: Pen, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length - 1;
  while (end > 0 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return end > 0 ? `${text.slice(0, end)}…` : "";
}
