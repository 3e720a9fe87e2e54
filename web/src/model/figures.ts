// Figures of one run or of two: key figures, differences, and whether less or more is better.
import type { Better, Exposed, Figure, Run } from "../api/payload";
import { byAxis } from "./lanes";

export interface FigureRow {
  name: string;
  /** The job that it is about; empty for the one job of a run and for all jobs together. */
  job: string;
  /** The name without the job. */
  bare: string;
  unit: string;
  note: string;
  /** Per run; null where a run has no such figure or no value for it. */
  values: (number | null)[];
  /** Per run: why there is no value; empty where there is one. */
  reasons: string[];
  ranges: ({ low: number; high: number } | null)[];
  /** Second run minus baseline; null unless both have a value. */
  difference: number | null;
  /** Difference over the baseline's value; null where that is 0. */
  change: number | null;
  verdict: "better" | "worse" | "same" | "open";
}

/** What faults cost: it leads a report where it is more than 0 in any run. */
const TROUBLE = ["halted", "time_lost_share", "stall_time"];
const TROUBLE_COUNT = 2;
/** The figures that lead a report, in this order, as far as the run has them. */
const KEY_ORDER = ["step_time", "tokens_per_s", "mfu", "worst_link_utilization"];
const KEY_COUNT = 3;

/** Differences below this part of the baseline are called the same. */
const SAME_BELOW = 5e-4;

/** Where a run has no figure that the other has. */
export const NOT_IN_RUN = "not in this run";
/** Where a figure has no value and nobody says why. */
const NO_VALUE = "no value";

function verdictOf(better: Better | undefined, change: number | null): FigureRow["verdict"] {
  if (change === null) return "open";
  if (Math.abs(change) < SAME_BELOW) return "same";
  if (better === undefined) return "open";
  return change < 0 === (better === "less") ? "better" : "worse";
}

/** Names of the jobs whose figures carry them: those of runs with several. */
export function jobsOf(runs: readonly Run[]): string[] {
  const several = runs.flatMap(({ jobs, figures }) =>
    jobs.length > 1
      ? jobs.filter((job) => figures.some(({ name }) => name.startsWith(`${job}.`)))
      : [],
  );
  return [...new Set(several)];
}

/** How names of figures of all jobs together begin, where there are several. */
export const TOTALS = "jobs.";

/** "a.step_time" is the step time of job a; the longest name of a job wins. Totals have no job. */
function splitName(name: string, jobs: readonly string[]): readonly [string, string] {
  let found = "";
  for (const job of jobs) if (name.startsWith(`${job}.`) && job.length > found.length) found = job;
  if (found === "" && jobs.length > 0 && name.startsWith(TOTALS))
    return ["", name.slice(TOTALS.length)];
  return found === "" ? ["", name] : [found, name.slice(found.length + 1)];
}

/** Figures of all runs, in the order of the first run that has them. */
export function figureRows(runs: readonly Run[]): FigureRow[] {
  const names = [...new Set(runs.flatMap((run) => run.figures.map((figure) => figure.name)))];
  const jobs = jobsOf(runs);
  return names.map((name) => {
    const [job, bare] = splitName(name, jobs);
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
      job,
      bare,
      unit: found.some((figure) => figure?.plain) ? "" : first.unit,
      note: first.note,
      values,
      reasons: found.map((f) =>
        f === undefined ? NOT_IN_RUN : f.value !== null ? "" : f.reason || NO_VALUE,
      ),
      ranges: found.map((f) =>
        f?.low !== undefined && f.high !== undefined ? { low: f.low, high: f.high } : null,
      ),
      difference,
      change,
      // Of two runs one may be of a program that did not say.
      verdict: verdictOf(found.find((figure) => figure?.better)?.better, change),
    };
  });
}

/** Whether a figure says anything: a value, or why there is none. */
const says = ({ values, reasons }: FigureRow): boolean =>
  values.some((value) => value !== null) ||
  reasons.some((reason) => reason !== NOT_IN_RUN && reason !== NO_VALUE);

/** The three figures that carry the answer, of one job and of all jobs together; what faults cost comes first. */
export function keyFigures(rows: readonly FigureRow[], job = ""): FigureRow[] {
  const told = rows.filter((row) => says(row) && (row.job === "" || row.job === job));
  // A job's own figure before that of all jobs, which may have the same name.
  const named = (name: string): FigureRow[] => {
    const all = told.filter((row) => row.bare === name);
    return all
      .filter((row) => row.job === job)
      .concat(all)
      .slice(0, 1);
  };
  const costs = TROUBLE.flatMap(named)
    .filter(({ values }) => values.some((value) => value !== null && value > 0))
    .slice(0, TROUBLE_COUNT);
  const known = [...costs, ...KEY_ORDER.flatMap(named)];
  const rest = told.filter((row) => !known.includes(row));
  const own = rest.filter((row) => row.job === job);
  return [...known, ...own, ...rest.filter((row) => row.job !== job)].slice(0, KEY_COUNT);
}

/** The job whose figures lead where nobody chose one, and what makes it the one. */
export function worstJob(runs: readonly Run[]): { job: string; why: string } | null {
  const jobs = jobsOf(runs);
  const [first] = jobs;
  if (first === undefined) return null;
  const rows = figureRows(runs);
  const of = (job: string, bare: string): FigureRow | undefined =>
    rows.find((row) => row.job === job && row.bare === bare);
  const halted = jobs.find(
    (job) =>
      of(job, "step_time")?.reasons.some((reason) => reason !== "" && reason !== NOT_IN_RUN) ||
      of(job, "halted")?.values.some((value) => value !== null && value > 0),
  );
  if (halted !== undefined) return { job: halted, why: "did not come to its end" };
  const most = (value: (row: FigureRow) => number | null): string | null => {
    let best: { job: string; value: number } | null = null;
    for (const job of jobs) {
      const row = of(job, "step_time");
      const found = row ? value(row) : null;
      if (found !== null && (best === null || found > best.value)) best = { job, value: found };
    }
    return best?.job ?? null;
  };
  const changed = most((row) => row.change);
  if (changed !== null) return { job: changed, why: "changed most for the worse" };
  const longest = most((row) => Math.max(...row.values.map((value) => value ?? 0)));
  if (longest !== null) return { job: longest, why: "has the longest step" };
  return { job: first, why: "is the first" };
}

export interface ExposedRow {
  axis: string;
  /** Per run; null where the run does not use this axis. */
  runs: (Exposed | null)[];
}

/** Whether an entry is about a job by name; with an empty name, about the first. */
const ofJob = (run: Run, entry: { job?: number }, job: string): boolean =>
  job === "" ? (entry.job ?? 0) === 0 : run.jobs[entry.job ?? 0] === job;

/** Time per axis of one job. */
export function exposedRows(runs: readonly Run[], job = ""): ExposedRow[] {
  const all = runs.map((run) => run.exposed.filter((entry) => ofJob(run, entry, job)));
  const axes = [...new Set(all.flatMap((list) => list.map((entry) => entry.axis)))];
  return axes.sort(byAxis).map((axis) => ({
    axis,
    runs: all.map((list) => list.find((entry) => entry.axis === axis) ?? null),
  }));
}

/** The same runs with the seeds of one job. */
export function withSeedsOf(runs: readonly Run[], job: string): Run[] {
  return runs.map((run) => ({ ...run, seeds: run.seeds.filter((seed) => ofJob(run, seed, job)) }));
}

/** Where a figure's number comes from: the view that holds its rows. */
export function sourceOf(bare: string): "timeline" | "links" | null {
  if (/link|utilization|max_mean/.test(bare) && bare !== "mfu") return "links";
  if (/^(step_time|tokens|mfu|exposed)/.test(bare)) return "timeline";
  return null;
}
