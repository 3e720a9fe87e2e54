// The timeline's rows: lanes, in them one row per axis, more where spans of an axis overlap.
import type { Run, Timeline } from "../api/payload";

export interface LaneRow {
  axis: string;
  /** Timeline rows, by start; none overlaps the next. */
  spans: Uint32Array;
}
export interface Lane {
  name: string;
  rows: LaneRow[];
}
/** Overlaps beyond this many rows per axis are drawn over each other. */
const ROWS_PER_AXIS_MAX = 3;

/** Axes in the page's order: compute first, then as a step uses them, then by name. */
const AXIS_ORDER = ["compute", "tp", "cp", "ep", "pp", "dp", "dp_ep"];
export function byAxis(a: string, b: string): number {
  const place = (axis: string): number => {
    const found = AXIS_ORDER.indexOf(axis);
    return found < 0 ? AXIS_ORDER.length : found;
  };
  return place(a) - place(b) || (a < b ? -1 : a > b ? 1 : 0);
}

/** Names with numbers in them in the order people expect: stage 2 before stage 10. */
const NATURAL = new Intl.Collator("en", { numeric: true });

export function axesOf(runs: readonly Run[]): string[] {
  const found = new Set<string>();
  for (const run of runs) {
    for (const code of new Set(run.timeline.axis.codes))
      found.add(run.timeline.axis.dict[code] ?? "");
    for (const { axis } of run.exposed) found.add(axis);
  }
  return [...found].sort(byAxis);
}

export function buildLanes(timeline: Timeline, hidden: readonly string[]): Lane[] {
  const groups = new Map<string, Map<string, number[]>>();
  for (let row = 0; row < timeline.rows; row++) {
    const axis = timeline.axis.at(row);
    if (hidden.includes(axis)) continue;
    const name = timeline.lane.at(row);
    const lane = groups.get(name) ?? new Map<string, number[]>();
    groups.set(name, lane);
    const spans = lane.get(axis);
    if (spans) spans.push(row);
    else lane.set(axis, [row]);
  }
  return [...groups]
    .sort(([a], [b]) => NATURAL.compare(a, b))
    .map(([name, axes]) => ({
      name,
      rows: [...axes]
        .sort(([a], [b]) => byAxis(a, b))
        .flatMap(([axis, spans]) => packed(timeline, spans).map((rows) => ({ axis, spans: rows }))),
    }));
}

/** First row where a span fits, in order of start. */
function packed(timeline: Timeline, spans: number[]): Uint32Array[] {
  const start = (row: number): number => timeline.start_ps[row] ?? 0;
  spans.sort((a, b) => start(a) - start(b) || a - b);
  const rows: number[][] = [];
  const ends: number[] = [];
  for (const span of spans) {
    let place = ends.findIndex((end) => end <= start(span));
    if (place < 0) place = Math.min(rows.length, ROWS_PER_AXIS_MAX - 1);
    (rows[place] ??= []).push(span);
    ends[place] = Math.max(ends[place] ?? 0, timeline.end_ps[span] ?? 0);
  }
  return rows.map((row) => Uint32Array.from(row));
}

/** Index of the first span of a row that ends after `at_ps`. */
export function firstEndingAfter(timeline: Timeline, spans: Uint32Array, at_ps: number): number {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((timeline.end_ps[spans[middle] ?? 0] ?? 0) <= at_ps) low = middle + 1;
    else high = middle;
  }
  return low;
}
