// How values are spread: utilization of links by tier class, step times over seeds.
import type { SeedResult } from "../api/payload";
import { LINK_CLASSES, type Fabric } from "./fabric";

export interface ClassDistribution {
  name: string;
  links: number;
  mean: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
  /** Bytes that all links of the class carried. */
  bytes: number;
  /** Sorted utilizations. */
  sorted: Float32Array;
}

/** Quantile of ascending values by linear interpolation, as the program's own figures; NaN when there are none. */
export function quantile(sorted: ArrayLike<number>, part: number): number {
  if (sorted.length === 0) return Number.NaN;
  const at = Math.min(Math.max(part, 0), 1) * (sorted.length - 1);
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}

/** One distribution per entry of LINK_CLASSES, of utilizations and bytes per link row; empty classes have 0 links. */
export function byClass(
  fabric: Fabric,
  values: Float32Array,
  carried: Float64Array = fabric.run.links.bytes,
): ClassDistribution[] {
  const counts = new Uint32Array(LINK_CLASSES.length);
  for (const place of fabric.linkClass) counts[place] = (counts[place] ?? 0) + 1;
  const parts = Array.from(counts, (count) => new Float32Array(count));
  const bytes = new Float64Array(LINK_CLASSES.length);
  const next = new Uint32Array(LINK_CLASSES.length);
  for (let row = 0; row < fabric.run.links.rows; row++) {
    const place = fabric.linkClass[row] ?? 0;
    const at = next[place] ?? 0;
    const part = parts[place];
    if (part) part[at] = values[row] ?? 0;
    next[place] = at + 1;
    bytes[place] = (bytes[place] ?? 0) + (carried[row] ?? 0);
  }
  return LINK_CLASSES.map(({ name }, place) => {
    const sorted = (parts[place] ?? new Float32Array(0)).sort();
    const sum = sorted.reduce((total, value) => total + value, 0);
    return {
      name,
      links: sorted.length,
      mean: sorted.length > 0 ? sum / sorted.length : Number.NaN,
      p50: quantile(sorted, 0.5),
      p95: quantile(sorted, 0.95),
      p99: quantile(sorted, 0.99),
      max: quantile(sorted, 1),
      bytes: bytes[place] ?? 0,
      sorted,
    };
  });
}

export type Points = [number, number][];

/** Share of values per bin of [0, top], as a step line: x is the bin's lower edge. */
export function histogram(sorted: Float32Array, top: number, bins: number): Points {
  const counts = new Float64Array(bins);
  for (const value of sorted) {
    const bin = Math.min(bins - 1, Math.floor((value / top) * bins));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const total = Math.max(1, sorted.length);
  const points: Points = Array.from(counts, (count, bin) => [(bin / bins) * top, count / total]);
  points.push([top, (counts[bins - 1] ?? 0) / total]);
  return points;
}

/** Share of values at or below x, at `points` places of [0, top]. */
export function cumulative(sorted: Float32Array, top: number, points: number): Points {
  let below = 0;
  return Array.from({ length: points + 1 }, (_, i) => {
    const x = (i / points) * top;
    while (below < sorted.length && (sorted[below] ?? 0) <= x + 1e-9) below += 1;
    return [x, sorted.length > 0 ? below / sorted.length : 0];
  });
}

export interface SeedPoint extends SeedResult {
  /** Whole steps away from the line, so that equal times stay apart: 0, 1, -1, 2, ... */
  offset: number;
}

/** Places seeds along their step time; those closer than 1/`slots` of the range are stacked. */
export function seedPoints(
  seeds: readonly SeedResult[],
  range: readonly [number, number],
  slots: number,
): SeedPoint[] {
  const used = new Map<number, number>();
  const width = Math.max(range[1] - range[0], 1) / slots;
  return [...seeds]
    .sort((a, b) => a.step_time_ps - b.step_time_ps || a.seed - b.seed)
    .map((seed) => {
      const slot = Math.round((seed.step_time_ps - range[0]) / width);
      const taken = used.get(slot) ?? 0;
      used.set(slot, taken + 1);
      return { ...seed, offset: taken % 2 === 1 ? (taken + 1) / 2 : -taken / 2 };
    });
}
