// Weeks of jobs as numbers: which policy is best, who waits, curves over time, how jobs are slowed down.
import type { Cluster, ClusterFigure, ClusterJobs, ClusterLife } from "../api/payload";

const HOUR_S = 3_600;
/** The slowest hundredth of the jobs does not stretch the scale for all others. */
const SCALE_SHARE = 0.99;
/** A scale of slowdowns reaches at least so far, so that rounding is not coloured as contention. */
const SCALE_LEAST = 1.25;

export const lifeOf = (cluster: Cluster, policy: number, seed: number): ClusterLife | undefined =>
  cluster.lives[policy * cluster.jobs.length + seed];

export const figureNamed = (cluster: Cluster, name: string): ClusterFigure | undefined =>
  cluster.figures.find((figure) => figure.name === name);

/** Which policies have the best median of a figure; none where all are alike or nobody knows which way is better. */
export function bestOf(figure: ClusterFigure): boolean[] {
  const medians = figure.values.map((band) => band?.median ?? Number.NaN);
  const known = medians.filter((value) => !Number.isNaN(value));
  if (figure.better === null || known.length < 2 || known.every((value) => value === known[0]))
    return medians.map(() => false);
  const best = figure.better === "more" ? Math.max(...known) : Math.min(...known);
  return medians.map((value) => value === best);
}

/** The slowdown at which the scale of colours ends, one for all policies. */
export function slowdownTop(cluster: Cluster): number {
  const all = cluster.lives.flatMap((life) => Array.from(life.slowdown)).filter((x) => x >= 0);
  all.sort((a, b) => a - b);
  const top = all[Math.floor((all.length - 1) * SCALE_SHARE)] ?? SCALE_LEAST;
  return Math.max(SCALE_LEAST, Number(top.toPrecision(2)));
}

/** Where a slowdown lies on the scale, 0..1; the scale is logarithmic: 2 is as far from 1 as 4 from 2. */
export const slowdownPart = (slowdown: number, top: number): number =>
  Math.min(1, Math.max(0, Math.log(slowdown) / Math.log(top)));

/** Slowdowns of the jobs that started, ascending. */
export function sortedSlowdowns(life: ClusterLife): Float32Array {
  return life.slowdown.filter((value) => !Number.isNaN(value)).sort();
}

/** Share of jobs, and the slowdown that this share does not exceed; `points` places at most, more of them where it
 * is steep, at the end. */
export function slowdownCurve(sorted: Float32Array, points = 400): [number, number][] {
  const rows = sorted.length;
  if (rows === 0) return [];
  const every = Math.max(1, Math.ceil(rows / points));
  const curve: [number, number][] = [];
  for (let row = 0; row < rows; row += rows - row > points / 2 ? every : 1)
    curve.push([(row + 1) / rows, sorted[row] ?? 1]);
  return curve;
}

export interface Waiting {
  /** From this moment on so many jobs wait for so many GPUs. */
  at_s: number[];
  jobs: number[];
  gpus: number[];
  most: number;
}

/** Who waits, moment by moment. */
export function waitingOf(jobs: ClusterJobs, life: ClusterLife, span_s: number): Waiting {
  const events: [at: number, job: number, gpus: number][] = [];
  for (let row = 0; row < jobs.rows; row++) {
    const [from, to] = [jobs.submitted_s[row] ?? 0, life.started_s[row] ?? Number.NaN];
    if (to <= from) continue;
    events.push([from, 1, jobs.gpus[row] ?? 0]);
    if (to <= span_s) events.push([to, -1, -(jobs.gpus[row] ?? 0)]);
  }
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const told: Waiting = { at_s: [0], jobs: [0], gpus: [0], most: 0 };
  let [count, gpus] = [0, 0];
  for (const [at, job, more] of events) {
    [count, gpus] = [count + job, gpus + more];
    if (told.at_s[told.at_s.length - 1] !== at) {
      told.at_s.push(at);
      told.jobs.push(count);
      told.gpus.push(gpus);
    } else {
      told.jobs[told.jobs.length - 1] = count;
      told.gpus[told.gpus.length - 1] = gpus;
    }
  }
  told.most = told.gpus.reduce((most, value) => Math.max(most, value), 0);
  return told;
}

/** How many jobs wait for how many GPUs at a moment. */
export function waitingAt(waiting: Waiting, at_s: number): { jobs: number; gpus: number } {
  let [low, high] = [0, waiting.at_s.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((waiting.at_s[middle] ?? 0) <= at_s) low = middle + 1;
    else high = middle;
  }
  return { jobs: waiting.jobs[low - 1] ?? 0, gpus: waiting.gpus[low - 1] ?? 0 };
}

export type CurveName = "gpu_utilization" | "gpu_intensity" | "inference_link_share";

/** Whether somebody serves inference, so that hours know what it takes of links. */
export function serves(life: ClusterLife): boolean {
  return life.hours.inference_link_share.some((share) => !Number.isNaN(share));
}

/** A curve of an hour by hour column, each point at the middle of `every` hours: utilization weighs an hour by the
 * GPUs that were held in it, the others are the plain mean of the hours that have one. Null where no hour has one. */
export function curveOf(
  life: ClusterLife,
  name: CurveName,
  every: number,
  span_s: number,
): [number, number | null][] {
  const { hours } = life;
  const [values, weights] = [hours[name], hours.occupancy];
  const points: [number, number | null][] = [];
  for (let first = 0; first < hours.rows; first += every) {
    const last = Math.min(first + every, hours.rows);
    let [sum, weight] = [0, 0];
    for (let hour = first; hour < last; hour++) {
      const value = values[hour] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      const length = Math.min(HOUR_S, span_s - hour * HOUR_S);
      const w = length * (name === "gpu_utilization" ? (weights[hour] ?? 0) : 1);
      [sum, weight] = [sum + value * w, weight + w];
    }
    const middle = (first * HOUR_S + Math.min(last * HOUR_S, span_s)) / 2;
    points.push([middle, weight > 0 ? sum / weight : null]);
  }
  return points;
}

/** Job that had a GPU at a moment; null where nobody had it. */
export function jobAt(life: ClusterLife, gpu: number, at_s: number, span_s: number): number | null {
  const { start, first, last } = life.held;
  for (let job = 0; job + 1 < start.length; job++) {
    const from = life.started_s[job] ?? Number.NaN;
    if (!(from <= at_s)) continue;
    const end = life.ended_s[job] ?? Number.NaN;
    if (at_s > (Number.isNaN(end) ? span_s : end)) continue;
    for (let run = start[job] ?? 0; run < (start[job + 1] ?? 0); run++)
      if (gpu >= (first[run] ?? 0) && gpu < (last[run] ?? 0) + 1) return job;
  }
  return null;
}

/** Jobs with which a job contended, of the pairs that are listed. */
export function partnersOf(life: ClusterLife, job: number): Set<number> {
  const found = new Set<number>();
  for (let row = 0; row < life.pairs.rows; row++) {
    const [one, other] = [life.pairs.one[row] ?? 0, life.pairs.other[row] ?? 0];
    if (one === job) found.add(other);
    if (other === job) found.add(one);
  }
  return found;
}
