// Figures of one run or of two: key figures, differences, and whether less or more is better.
import type { Exposed, Figure, Run } from "../api/payload";
import { byAxis } from "./lanes";

export interface FigureRow {
  name: string;
  unit: string;
  note: string;
  /** Per run; null where a run has no such figure or no value for it. */
  values: (number | null)[];
  ranges: ({ low: number; high: number } | null)[];
  /** Second run minus baseline; null unless both have a value. */
  difference: number | null;
  /** Difference over baseline; null where the baseline is 0. */
  change: number | null;
  verdict: "better" | "worse" | "same" | "open";
}

/** The figures that lead a report, in this order, as far as the run has them. */
const KEY_ORDER = ["step_time", "tokens_per_s", "mfu", "worst_link_utilization"];
const KEY_COUNT = 3;

const LESS_IS_BETTER = new RegExp(
  "^(step_time|exposed|worst_link|max_mean|leaf_uplink_max_mean|nic_port_|jct|cct|fct|wall|memory|cost|power|" +
    "packets_(sent_again|dropped|lost|trimmed)|packet_flows_unfinished|out_of_sequence|ack_timeouts|pause|" +
    "queue_bytes|(leaf|spine|core)_buffer_bytes|round_trip|clearance_wait)",
);
const MORE_IS_BETTER = /^(tokens|mfu|algbw|busbw|goodput|samples)/;
/** Ratios that are no part of a whole: written as they are, not as percent. */
const PLAIN_RATIO = /max_mean_ratio|nic_port_ratio/;
/** Differences below this part of the baseline are called the same. */
const SAME_BELOW = 5e-4;

function verdictOf(name: string, change: number | null): FigureRow["verdict"] {
  if (change === null) return "open";
  if (Math.abs(change) < SAME_BELOW) return "same";
  if (LESS_IS_BETTER.test(name)) return change < 0 ? "better" : "worse";
  if (MORE_IS_BETTER.test(name)) return change > 0 ? "better" : "worse";
  return "open";
}

/** Figures of all runs, in the order of the first run that has them. */
export function figureRows(runs: readonly Run[]): FigureRow[] {
  const names = [...new Set(runs.flatMap((run) => run.figures.map((figure) => figure.name)))];
  return names.map((name) => {
    const found = runs.map((run) => run.figures.find((figure) => figure.name === name));
    const first: Figure = found.find((f) => f !== undefined) ?? {
      name,
      value: null,
      unit: "",
      note: "",
    };
    const values = found.map((f) => f?.value ?? null);
    const [base = null, other = null] = values;
    const difference = runs.length === 2 && base !== null && other !== null ? other - base : null;
    const change = difference !== null && base !== null && base !== 0 ? difference / base : null;
    return {
      name,
      unit: PLAIN_RATIO.test(name) ? "" : first.unit,
      note: first.note,
      values,
      ranges: found.map((f) =>
        f?.low !== undefined && f.high !== undefined ? { low: f.low, high: f.high } : null,
      ),
      difference,
      change,
      verdict: verdictOf(name, change),
    };
  });
}

/** The three figures that carry the answer. */
export function keyFigures(rows: readonly FigureRow[]): FigureRow[] {
  const valued = rows.filter((row) => row.values.some((value) => value !== null));
  const known = KEY_ORDER.flatMap((name) => valued.filter((row) => row.name === name));
  const rest = valued.filter((row) => !known.includes(row));
  return [...known, ...rest].slice(0, KEY_COUNT);
}

export interface ExposedRow {
  axis: string;
  /** Per run; null where the run does not use this axis. */
  runs: (Exposed | null)[];
}

export function exposedRows(runs: readonly Run[]): ExposedRow[] {
  const axes = [...new Set(runs.flatMap((run) => run.exposed.map((entry) => entry.axis)))];
  return axes.sort(byAxis).map((axis) => ({
    axis,
    runs: runs.map((run) => run.exposed.find((entry) => entry.axis === axis) ?? null),
  }));
}

/** Where a figure's number comes from: the view that holds its rows. */
export function sourceOf(name: string): "timeline" | "links" | null {
  if (/link|utilization|max_mean/.test(name) && name !== "mfu") return "links";
  if (/^(step_time|tokens|mfu|exposed)/.test(name)) return "timeline";
  return null;
}
