// A life cut into rows of equal length, and what stood still in each of them.
import type { JobLife } from "../api/payload";

/** What the time from a checkpoint on goes with, until steps run again. */
export const PHASES = ["redone", "detection", "diagnosis", "waiting", "restart"] as const;
export type Phase = (typeof PHASES)[number];

/** A phase of a standstill; its end is that of the life where it did not end before. */
export interface Span {
  standstill: number;
  phase: Phase;
  from_s: number;
  to_s: number;
}

/** All phases of all standstills that take time, in the order of time. */
export function spansOf(life: JobLife): Span[] {
  const all: Span[] = [];
  const { standstills: rows } = life;
  for (let row = 0; row < rows.rows; row++) {
    const times = [
      rows.checkpoint_s,
      rows.failed_s,
      rows.detected_s,
      rows.isolated_s,
      rows.replaced_s,
      rows.restarted_s,
    ].map((column) => column[row] ?? Number.NaN);
    PHASES.forEach((phase, at) => {
      const [from_s = Number.NaN, to_s = Number.NaN] = times.slice(at, at + 2);
      if (Number.isNaN(from_s)) return;
      const end = Number.isNaN(to_s) ? life.span_s : to_s;
      if (end > from_s) all.push({ standstill: row, phase, from_s, to_s: end });
    });
  }
  return all;
}

/** Seconds of each phase by cause, the most costly cause first. */
export function byCause(life: JobLife): { cause: string; seconds: Record<Phase, number> }[] {
  const all = new Map<string, Record<Phase, number>>();
  for (const { standstill, phase, from_s, to_s } of spansOf(life)) {
    const cause = life.standstills.cause.at(standstill);
    const known = all.get(cause) ?? {
      redone: 0,
      detection: 0,
      diagnosis: 0,
      waiting: 0,
      restart: 0,
    };
    known[phase] += to_s - from_s;
    all.set(cause, known);
  }
  const sum = (of: Record<Phase, number>): number =>
    PHASES.reduce((total, phase) => total + of[phase], 0);
  return [...all]
    .map(([cause, seconds]) => ({ cause, seconds }))
    .sort((a, b) => sum(b.seconds) - sum(a.seconds) || a.cause.localeCompare(b.cause));
}

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
/** What a row may be long, and rows that a picture has at most. */
const ROW_LENGTHS: readonly [number, string][] = [
  [HOUR_S, "hour"],
  [DAY_S, "day"],
  [7 * DAY_S, "week"],
  [28 * DAY_S, "4 weeks"],
];
const ROWS_MAX = 45;

/** A length of rows with which all of a life fits, as long as there is one, and what it is called. */
export function rowLength(span_s: number): { row_s: number; name: string } {
  const fits = ROW_LENGTHS.find(([length]) => span_s / length <= ROWS_MAX);
  const [row_s, name] = fits ?? [span_s / ROWS_MAX, "row"];
  return { row_s, name };
}

/** A piece of a span within one row: parts of the row's length from 0 to 1. */
export interface Piece {
  row: number;
  from: number;
  to: number;
  span: Span;
}

/** Spans cut at the ends of rows. */
export function piecesOf(spans: readonly Span[], row_s: number): Piece[] {
  const all: Piece[] = [];
  for (const span of spans)
    for (let row = Math.floor(span.from_s / row_s); row * row_s < span.to_s; row++) {
      const from = Math.max(0, span.from_s / row_s - row);
      const to = Math.min(1, span.to_s / row_s - row);
      if (to > from) all.push({ row, from, to, span });
    }
  return all;
}
