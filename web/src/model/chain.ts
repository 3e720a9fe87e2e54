// The wait chain as a ring, and what ranks did in a step summed up per lane.
import { NOT_APPLICABLE, type RankSpans, type WaitChain } from "../api/payload";

export interface RingArc {
  row: number;
  /** Angles from the top, clockwise, in radians. */
  from: number;
  to: number;
  /** Total wait over the longest of all, 0..1. */
  part: number;
  /** Row that this one receives from; null at the open end of a ring of which a part is listed. */
  before: number | null;
  /** Place in the order of first waits, from 1; ties share one. 0: never waited. */
  turn: number;
}

/** Gap between arcs as part of an arc, at most so many radians. */
const GAP_PART = 0.12;
const GAP_MAX = 0.03;
/** Arcs of larger rings touch: gaps of less than a pixel only flicker. */
const GAP_ROWS_MAX = 128;
/** Room of what is not listed, as parts of an arc. */
const OPEN_ARCS = 2;

export const neverWaited = (chain: WaitChain, row: number): boolean =>
  (chain.first_wait_stage[row] ?? NOT_APPLICABLE) === NOT_APPLICABLE;

export function ringOf(chain: WaitChain): RingArc[] {
  const whole = chain.rows === chain.total;
  const wide = (2 * Math.PI) / Math.max(1, chain.rows + (whole ? 0 : OPEN_ARCS));
  const gap = chain.rows > GAP_ROWS_MAX ? 0 : Math.min(GAP_MAX, wide * GAP_PART);
  const most = Math.max(Number.MIN_VALUE, ...chain.wait_ms);
  const stages = [...new Set(chain.first_wait_stage)]
    .filter((stage) => stage !== NOT_APPLICABLE)
    .sort((a, b) => a - b);
  const turns = new Map(stages.map((stage, place) => [stage, place + 1]));
  return Array.from({ length: chain.rows }, (_, row) => ({
    row,
    from: row * wide + gap / 2,
    to: (row + 1) * wide - gap / 2,
    part: Math.max(0, chain.wait_ms[row] ?? 0) / most,
    before: row > 0 ? row - 1 : whole && chain.rows > 1 ? chain.rows - 1 : null,
    turn: turns.get(chain.first_wait_stage[row] ?? NOT_APPLICABLE) ?? 0,
  }));
}

/** The row after one in the ring; null past the open end. */
export function successorOf(chain: WaitChain, row: number): number | null {
  if (row + 1 < chain.rows) return row + 1;
  return chain.rows === chain.total && chain.rows > 1 ? 0 : null;
}

/** Time of each kind per lane between two moments, in milliseconds, in the order of SPAN_KINDS. */
export function laneSums(
  ranks: RankSpans,
  [from_ms, to_ms]: readonly [number, number] = extentOf(ranks),
): Float64Array[] {
  const sums = Array.from({ length: ranks.lanes.rows }, () => new Float64Array(3));
  for (let span = 0; span < ranks.spans; span++) {
    const sum = sums[ranks.lane[span] ?? 0];
    const kind = ranks.kind[span] ?? 0;
    const inside =
      Math.min(to_ms, ranks.end_ms[span] ?? 0) - Math.max(from_ms, ranks.start_ms[span] ?? 0);
    if (sum && inside > 0) sum[kind] = (sum[kind] ?? 0) + inside;
  }
  return sums;
}

/** Spans of each lane by start. */
export function laneSpans(ranks: RankSpans): number[][] {
  const lanes: number[][] = Array.from({ length: ranks.lanes.rows }, () => []);
  for (let span = 0; span < ranks.spans; span++) lanes[ranks.lane[span] ?? 0]?.push(span);
  const start = (span: number): number => ranks.start_ms[span] ?? 0;
  for (const spans of lanes) spans.sort((a, b) => start(a) - start(b) || a - b);
  return lanes;
}

/** First start and last end of all spans, in milliseconds. */
export function extentOf(ranks: RankSpans): readonly [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let span = 0; span < ranks.spans; span++) {
    low = Math.min(low, ranks.start_ms[span] ?? low);
    high = Math.max(high, ranks.end_ms[span] ?? high);
  }
  return low < high ? [low, high] : [0, 1];
}
