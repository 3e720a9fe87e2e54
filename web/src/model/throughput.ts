// Throughput over time per job: steps per second from the steps, bytes per second from buckets.
import type { Ps, Run } from "../api/payload";

/** A value that holds from one moment to another. */
export interface Stretch {
  from_ps: Ps;
  to_ps: Ps;
  value: number;
}
export interface JobSeries {
  job: string;
  /** Steps per second, a stretch per step or, of very many, per few steps. */
  steps: Stretch[];
  /** Bytes per second, a stretch per bucket; empty where the run kept no throughput. */
  bytes: Stretch[];
}

const PS = 1e12;

/** Series of every job of a run, in the order of its jobs; jobs without steps and buckets are left out. */
export function jobSeries(run: Run): JobSeries[] {
  const series = run.jobs.map((job): JobSeries => ({ job, steps: [], bytes: [] }));
  const { steps, throughput } = run;
  for (let row = 0; steps && row < steps.rows; row++) {
    const [from_ps, to_ps] = [steps.start_ps[row] ?? 0, steps.end_ps[row] ?? 0];
    if (to_ps <= from_ps) continue;
    const value = ((steps.steps[row] ?? 0) * PS) / (to_ps - from_ps);
    series[steps.job[row] ?? 0]?.steps.push({ from_ps, to_ps, value });
  }
  if (throughput) addBuckets(run, series);
  for (const one of series) {
    one.steps.sort((a, b) => a.from_ps - b.from_ps);
    one.bytes.sort((a, b) => a.from_ps - b.from_ps);
  }
  return series.filter(({ steps: s, bytes }) => s.length > 0 || bytes.length > 0);
}

/** Buckets have one width; the last may be cut short by the end of the run. */
function addBuckets(run: Run, series: JobSeries[]): void {
  const { throughput } = run;
  if (!throughput) return;
  const starts = [...new Set(throughput.start_s)].sort((a, b) => a - b);
  let width = run.duration_ps / PS;
  for (let i = 1; i < starts.length; i++)
    width = Math.min(width, (starts[i] ?? 0) - (starts[i - 1] ?? 0));
  if (!(width > 0)) return;
  const fromSteps = series.map(({ steps }) => steps.length > 0);
  for (let row = 0; row < throughput.rows; row++) {
    const start = throughput.start_s[row] ?? 0;
    const from_ps = start * PS;
    const to_ps = Math.max(Math.min((start + width) * PS, run.duration_ps), from_ps + 1);
    const job = throughput.job[row] ?? 0;
    const per_s = PS / (to_ps - from_ps);
    series[job]?.bytes.push({ from_ps, to_ps, value: (throughput.bytes[row] ?? 0) * per_s });
    if (!fromSteps[job])
      series[job]?.steps.push({ from_ps, to_ps, value: (throughput.steps[row] ?? 0) * per_s });
  }
}

/** Mean of the stretches in a window, weighted by time; NaN where there are none. */
export function meanOf(stretches: readonly Stretch[], from_ps: Ps, to_ps: Ps): number {
  let [sum, time] = [0, 0];
  for (const { from_ps: a, to_ps: b, value } of stretches) {
    const overlap = Math.min(b, to_ps) - Math.max(a, from_ps);
    if (overlap <= 0) continue;
    sum += value * overlap;
    time += overlap;
  }
  return time > 0 ? sum / time : Number.NaN;
}

/** A line through stretches: level on each, joined where they touch, broken where they do not. */
export function levels(stretches: readonly Stretch[]): [number, number | null][] {
  const points: [number, number | null][] = [];
  let last = Number.NaN;
  for (const { from_ps, to_ps, value } of stretches) {
    if (points.length > 0 && from_ps > last) points.push([last, null]);
    points.push([from_ps, value], [to_ps, value]);
    last = to_ps;
  }
  return points;
}

export interface Tick {
  at_ps: Ps;
  text: string;
  /** True where something works again. */
  /** Drawn as good news. */
  repair: boolean;
  /** One word for it. */
  label: string;
}

/** What happened to a run and when; a repair is told by its kind, in older reports by its words. */
export function ticksOf(run: Run): Tick[] {
  const { incidents } = run;
  return Array.from({ length: incidents.rows }, (_, row) => {
    const what = incidents.what.at(row);
    const kind = incidents.kind?.at(row) ?? what;
    const repair = /\b(up|repaired|resumed|fault-end)$/.test(kind);
    const word = /\b(stalled|resumed|halted|paused|filled)$/.exec(kind)?.[1];
    return {
      // A fault after the observed time stands at its end, as its words say.
      at_ps: Math.min(incidents.at_ps[row] ?? 0, run.observed_ps),
      text: what,
      repair,
      label: word ?? (repair ? "repair" : "fault"),
    };
  });
}
