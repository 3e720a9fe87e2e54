// What links and devices carry in a time window: bytes, and utilization.
import type { DeviceRow, LinkBins, Ps, Run } from "../api/payload";
import { goesUp, linksAt, type Fabric } from "./fabric";
import type { Direction, Statistic, TimeWindow } from "./page_state";

export interface LinkLoad {
  /** Utilization per link row, 0..1. */
  values: Float32Array;
  /** Bytes per link row. */
  bytes: Float64Array;
  /** 1 for a link whose figures are of the whole run though a window is set: no values over time are known. */
  whole: Uint8Array;
  /** How many links these are. */
  withoutSeries: number;
}

/** 255 in a series is the peak of its link. */
const FULL = 255;
const PS_PER_S = 1e12;

/** Bytes over time of the links with a series: `sums[i * (bins + 1) + k]` came before bin k. */
interface Course {
  /** Entry of the series per link row; -1: none. */
  entry: Int32Array;
  sums: Float64Array;
}
const courses = new WeakMap<LinkBins, Course>();

/** Scales a shape to a sum, no bin above `most`; what does not fit goes to bins with room, those in which the shape
 * is above 0 first. A sum that fits nowhere is spread evenly. */
export function fitted(shape: ArrayLike<number>, total: number, most: number): Float64Array {
  const bins = shape.length;
  const found = new Float64Array(bins);
  if (!(total > 0) || bins === 0) return found;
  if (total >= most * bins) return found.fill(total / bins);
  const full = new Uint8Array(bins);
  let count = 0;
  for (;;) {
    let sum = 0;
    for (let bin = 0; bin < bins; bin++) if (full[bin] === 0) sum += shape[bin] ?? 0;
    const left = total - most * count;
    const scale = sum > 0 ? left / sum : 0;
    let over = 0;
    if (sum > 0)
      for (let bin = 0; bin < bins; bin++)
        if (full[bin] === 0 && (shape[bin] ?? 0) * scale > most) {
          full[bin] = 1;
          over += 1;
        }
    count += over;
    if (over > 0) continue;
    for (let bin = 0; bin < bins; bin++)
      found[bin] =
        full[bin] === 1 ? most : sum > 0 ? (shape[bin] ?? 0) * scale : left / (bins - count);
    return found;
  }
}

/** A link's bins add up to the bytes of its row, and none holds more than the link carries in its time. */
function courseOf(run: Run, series: LinkBins): Course {
  const known = courses.get(series);
  if (known) return known;
  const { links } = run;
  const { bins } = series;
  const entry = new Int32Array(links.rows).fill(-1);
  const sums = new Float64Array(series.link_rows.length * (bins + 1));
  for (let i = 0; i < series.link_rows.length; i++) {
    const row = series.link_rows[i] ?? 0;
    const shape = series.carried.subarray(i * bins, (i + 1) * bins);
    if (shape.every((value) => value === 0)) continue;
    entry[row] = i;
    const most = (capacityOf(run, row) * series.bin_ps) / PS_PER_S / 8;
    const bytes = fitted(shape, links.bytes[row] ?? 0, most);
    let sum = 0;
    for (let bin = 0; bin < bins; bin++) {
      sum += bytes[bin] ?? 0;
      sums[i * (bins + 1) + bin + 1] = sum;
    }
  }
  const course = { entry, sums };
  courses.set(series, course);
  return course;
}

/** Bits per second of all parallel links of a row. */
const capacityOf = ({ links }: Run, row: number): number =>
  (links.capacity_bits_per_s[row] ?? 0) * Math.max(1, links.parallel[row] ?? 1);

/** A moment in bins, within the run. */
const placeOf = (series: LinkBins, at_ps: Ps): number =>
  Math.max(0, Math.min(series.bins, at_ps / series.bin_ps));

/** Sum of the first `place` bins, of which the last may be a part. */
function before(course: Course, series: LinkBins, entry: number, place: number): number {
  const first = entry * (series.bins + 1);
  const bin = Math.min(series.bins - 1, Math.floor(place));
  const [low, high] = [course.sums[first + bin] ?? 0, course.sums[first + bin + 1] ?? 0];
  return low + (high - low) * (place - bin);
}

/** Utilization and bytes of each link in a window (null: the whole run).
 *
 * The whole run uses the columns of the link table: of the worst parallel link, or the mean over the parallel links.
 * A window uses the series. Bytes of windows that lie side by side over the run add up to those of the whole run,
 * and no window holds more than a link can carry in it.
 */
export function linkLoad(run: Run, window: TimeWindow | null, statistic: Statistic): LinkLoad {
  const { links, link_bins: series } = run;
  const whole = new Uint8Array(links.rows);
  const run_values = statistic === "worst" ? links.utilization : links.utilization_mean;
  if (window === null) return { values: run_values, bytes: links.bytes, whole, withoutSeries: 0 };
  const [values, bytes] = [run_values.slice(), links.bytes.slice()];
  let withoutSeries = 0;
  const course = series && series.bins > 0 ? courseOf(run, series) : null;
  for (let row = 0; row < links.rows; row++) {
    const entry = course?.entry[row] ?? -1;
    if (course && series && entry >= 0) {
      const [from, to] = [placeOf(series, window.from_ps), placeOf(series, window.to_ps)];
      const carried = before(course, series, entry, to) - before(course, series, entry, from);
      bytes[row] = Math.max(0, carried);
      const could = binsAtFull(series, entry, from, to);
      const most = (capacityOf(run, row) * could * series.bin_ps) / PS_PER_S / 8;
      const mean = most > 0 ? Math.min(1, (bytes[row] ?? 0) / most) : 0;
      values[row] =
        statistic === "worst" && (links.parallel[row] ?? 1) > 1
          ? Math.max(mean, worstOf(series, entry, from, to))
          : mean;
    } else if ((links.bytes[row] ?? 0) > 0) {
      whole[row] = 1;
      withoutSeries += 1;
    }
  }
  return { values, bytes, whole, withoutSeries };
}

/** Bins at their whole capacity in which links carry as much as they could in a stretch of bins. */
function binsAtFull({ bins, capacity }: LinkBins, entry: number, from: number, to: number): number {
  if (capacity === null) return to - from;
  let sum = 0;
  for (let bin = Math.floor(from); bin < to; bin++) {
    const share = (capacity[entry * bins + bin] ?? FULL) / FULL;
    sum += share * (Math.min(to, bin + 1) - Math.max(from, bin));
  }
  return sum;
}

/** Mean over a stretch of bins of the worst parallel link in each. */
function worstOf(series: LinkBins, entry: number, from: number, to: number): number {
  if (!(to > from)) return 0;
  let sum = 0;
  for (let bin = Math.floor(from); bin < to; bin++)
    sum +=
      (series.utilization[entry * series.bins + bin] ?? 0) *
      (Math.min(to, bin + 1) - Math.max(from, bin));
  return (sum / (to - from) / FULL) * (series.peak[entry] ?? 1);
}

/** Worst or mean utilization per device over its links in a direction; NaN where it has none. */
export function deviceLoad(
  fabric: Fabric,
  values: Float32Array,
  direction: Direction,
  statistic: Statistic,
): Float32Array {
  const { devices } = fabric.run;
  const result = new Float32Array(devices.rows).fill(Number.NaN);
  for (let device: DeviceRow = 0; device < devices.rows; device++) {
    let [most, sum, count] = [0, 0, 0];
    for (const link of linksAt(fabric, device)) {
      if (direction !== "all" && goesUp(fabric, link) !== (direction === "up")) continue;
      const value = values[link] ?? 0;
      most = Math.max(most, value);
      sum += value;
      count += 1;
    }
    if (count > 0) result[device] = statistic === "worst" ? most : sum / count;
  }
  return result;
}

/** Tops of scales: round, and few, so that colours change seldom while time moves. */
const SCALE_TOPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1];

/** The smallest round top that holds every finite value. */
export function scaleTop(series: readonly Float32Array[]): number {
  let most = 0;
  for (const values of series)
    for (let i = 0; i < values.length; i++) {
      const value = Math.abs(values[i] ?? 0);
      if (value > most) most = value;
    }
  return SCALE_TOPS.find((top) => most <= top + 1e-6) ?? 1;
}

/** Points of the small curve in the time slider. */
const ACTIVITY_POINTS = 240;

/** How busy the fabric is over the run, 0..1 of its own peak: bytes of all links, or where there are no series the
 * number of communication spans under way. */
export function activity(run: Run): Float32Array {
  const series = run.link_bins;
  const curve = new Float32Array(series && series.bins > 0 ? series.bins : ACTIVITY_POINTS);
  if (series && series.bins > 0) {
    const { sums } = courseOf(run, series);
    for (let i = 0; i < series.link_rows.length; i++)
      for (let bin = 0; bin < series.bins; bin++) {
        const at = i * (series.bins + 1) + bin;
        curve[bin] = (curve[bin] ?? 0) + (sums[at + 1] ?? 0) - (sums[at] ?? 0);
      }
  } else if (run.duration_ps > 0) {
    const { timeline } = run;
    const at = (ps: number): number =>
      Math.max(0, Math.min(curve.length - 1, Math.floor((ps / run.duration_ps) * curve.length)));
    for (let row = 0; row < timeline.rows; row++) {
      if (timeline.axis.at(row) === "compute") continue;
      for (let bin = at(timeline.start_ps[row] ?? 0); bin <= at(timeline.end_ps[row] ?? 0); bin++)
        curve[bin] = (curve[bin] ?? 0) + 1;
    }
  }
  const peak = curve.reduce((most, value) => Math.max(most, value), 0);
  return peak > 0 ? curve.map((value) => value / peak) : curve;
}
