// Queues over time as rows of a picture: grouped by hop, the worst in the time window first; pauses by hop.
import type { Ps, Queues, QueueLinks, Run, SlowFlows } from "../api/payload";
import { quantile } from "./distribution";
import { LINK_CLASSES, type Fabric } from "./fabric";
import type { QueueValue } from "./page_state";

export interface QueueRow {
  /** Row of the queues' own table of links. */
  row: number;
  label: string;
  /** Highest value in the window: bytes, or part of the time paused 0..1. */
  peak: number;
}
export interface QueueGroup {
  /** Such as `leaf to host`. */
  name: string;
  /** Of all sampled links of this kind, shown or not. */
  total: number;
  rows: QueueRow[];
}
export interface QueuePicture {
  groups: QueueGroup[];
  /** Rows that are shown. */
  shown: number;
  /** Highest value of all rows. */
  peak: number;
}

/** Where congestion of a collective is looked for first comes first. */
const ORDER = [
  "leaf to host",
  "leaf to spine",
  "spine to leaf",
  "spine to core",
  "core to spine",
  "host to leaf",
  "other links",
];
/** 255 is all of a bin. */
const FULL = 255;

/** A link by its ends; the end nearer to the hosts by its port, for cables may lie side by side. */
export function linkLabel(links: QueueLinks, row: number): string {
  const [source, target, cable] = [links.source.at(row), links.target.at(row), links.cable.at(row)];
  return cable.startsWith(`${source}:`) ? `${cable} → ${target}` : `${source} → ${cable || target}`;
}

/** First bin of a window and the one after its last. */
export function binsOf(queues: Queues, from_ps: Ps, to_ps: Ps): readonly [number, number] {
  const first = Math.max(0, Math.min(queues.bins - 1, Math.floor(from_ps / queues.bin_ps)));
  return [first, Math.max(first + 1, Math.min(queues.bins, Math.ceil(to_ps / queues.bin_ps)))];
}

/** Value of a link in a bin: bytes, or part of the bin paused 0..1. */
export function valueAt(queues: Queues, value: QueueValue, row: number, bin: number): number {
  const at = row * queues.bins + bin;
  return value === "bytes" ? (queues.bytes[at] ?? 0) : (queues.paused[at] ?? 0) / FULL;
}

/** The `most` links with the highest values in a window, in groups by hop; links at rest are left out. */
export function queuePicture(
  fabric: Fabric,
  queues: Queues,
  value: QueueValue,
  most: number,
  from_ps: Ps,
  to_ps: Ps,
): QueuePicture {
  const [first, end] = binsOf(queues, from_ps, to_ps);
  const { links } = queues;
  const place = (row: number): number => fabric.linkClass[links.link[row] ?? 0] ?? 0;
  const totals = new Uint32Array(LINK_CLASSES.length);
  const found: { row: number; peak: number }[] = [];
  for (let row = 0; row < links.rows; row++) {
    totals[place(row)] = (totals[place(row)] ?? 0) + 1;
    let peak = 0;
    for (let bin = first; bin < end; bin++) peak = Math.max(peak, valueAt(queues, value, row, bin));
    if (peak > 0) found.push({ row, peak });
  }
  found.sort((a, b) => b.peak - a.peak || a.row - b.row);
  const kept = found.slice(0, most);
  const groups = ORDER.flatMap((name): QueueGroup[] => {
    const at = LINK_CLASSES.findIndex((known) => known.name === name);
    const rows = kept
      .filter(({ row }) => place(row) === at)
      .map(({ row, peak }) => ({ row, peak, label: linkLabel(links, row) }));
    return rows.length > 0 ? [{ name, total: totals[at] ?? 0, rows }] : [];
  });
  return { groups, shown: kept.length, peak: found[0]?.peak ?? 0 };
}

/** What stood on links in a time window, per row of the queues' table of links. */
export interface QueuesSeen {
  /** Most bytes that waited. */
  bytes: Float64Array;
  /** Part of the time paused, 0..1. */
  paused: Float64Array;
}
export function queuesSeen(queues: Queues, from_ps: Ps, to_ps: Ps): QueuesSeen {
  const [first, end] = binsOf(queues, from_ps, to_ps);
  const seen: QueuesSeen = {
    bytes: new Float64Array(queues.links.rows),
    paused: new Float64Array(queues.links.rows),
  };
  for (let row = 0; row < queues.links.rows; row++) {
    let [most, sum] = [0, 0];
    for (let bin = first; bin < end; bin++) {
      most = Math.max(most, valueAt(queues, "bytes", row, bin));
      sum += valueAt(queues, "paused", row, bin);
    }
    seen.bytes[row] = most;
    seen.paused[row] = sum / (end - first);
  }
  return seen;
}

/** The transfers that ran in a time window. */
export function slowIn(flows: SlowFlows, from_ps: Ps, to_ps: Ps): Uint32Array {
  const rows = Uint32Array.from({ length: flows.rows }, (_, row) => row);
  return rows.filter(
    (row) => (flows.end_ps[row] ?? 0) >= from_ps && (flows.start_ps[row] ?? 0) <= to_ps,
  );
}

/** Pauses of one hop of one run; named by who sends the frames. */
export interface PauseRow {
  run: number;
  sender: string;
  receiver: string;
  links: number;
  frames: number;
  frames_per_s: number;
  paused_mean: number;
  paused_max: number;
  queue_bytes_max: number;
  dropped: number;
}

/** Hops of all runs that moved packets. Frames go against the link that they stop. */
export function pauseRows(runs: readonly Run[]): PauseRow[] {
  return runs.flatMap(({ packets, duration_ps }, run) =>
    Array.from({ length: packets?.hops.rows ?? 0 }, (_, row): PauseRow => {
      const hops = packets?.hops;
      const frames = hops?.pause_frames[row] ?? 0;
      return {
        run,
        sender: hops?.target.at(row) ?? "",
        receiver: hops?.source.at(row) ?? "",
        links: hops?.links[row] ?? 0,
        frames,
        frames_per_s: duration_ps > 0 ? frames / (duration_ps / 1e12) : 0,
        paused_mean: hops?.paused_mean[row] ?? 0,
        paused_max: hops?.paused_max[row] ?? 0,
        queue_bytes_max: hops?.queue_bytes_max[row] ?? 0,
        dropped: hops?.dropped[row] ?? 0,
      };
    }),
  );
}

/** Quantiles that are marked on the curve of completion times. */
export const FCT_MARKS = [
  { part: 0.5, name: "median" },
  { part: 0.9, name: "p90" },
  { part: 0.99, name: "p99" },
  { part: 1, name: "slowest" },
] as const;

/** Share of transfers done within a time, as a line that rises from 0 to 1. */
export function fctCurve(fct_ps: Float64Array): [number, number][] {
  const last = fct_ps.length - 1;
  if (last < 0) return [];
  return [
    [fct_ps[0] ?? 0, 0],
    ...Array.from(fct_ps, (ps, i): [number, number] => [ps, last > 0 ? i / last : 1]),
  ];
}

export const fctAt = (fct_ps: Float64Array, part: number): number => quantile(fct_ps, part);
