// Utilization of links and devices in a time window.
import type { DeviceRow, Run } from "../api/payload";
import { goesUp, linksAt, type Fabric } from "./fabric";
import type { Direction, Statistic, TimeWindow } from "./page_state";

/** Utilization per link row, 0..1. */
export interface LinkLoad {
  values: Float32Array;
  /** Links whose value is the step's mean because the payload has no series for them. */
  withoutSeries: number;
}

/** 255 in a series is a utilization of 1. */
const FULL = 255;

/** Mean utilization of each link in a window (null: the whole step).
 *
 * The whole step uses the columns of the link table: of the worst parallel link, or the mean over
 * the parallel links. A window uses the series, which follow the worst parallel link.
 */
export function linkLoad(run: Run, window: TimeWindow | null, statistic: Statistic): LinkLoad {
  const { links, link_bins: series } = run;
  const step = statistic === "worst" ? links.utilization : links.utilization_mean;
  if (window === null) return { values: step, withoutSeries: 0 };
  if (series === null || series.bins === 0) return { values: step, withoutSeries: links.rows };
  const values = step.slice();
  const first = Math.max(0, Math.min(series.bins - 1, Math.floor(window.from_ps / series.bin_ps)));
  const end = Math.max(first + 1, Math.min(series.bins, Math.ceil(window.to_ps / series.bin_ps)));
  for (let i = 0; i < series.link_rows.length; i++) {
    let sum = 0;
    for (let at = i * series.bins + first; at < i * series.bins + end; at++)
      sum += series.utilization[at] ?? 0;
    values[series.link_rows[i] ?? 0] = sum / ((end - first) * FULL);
  }
  return { values, withoutSeries: links.rows - series.link_rows.length };
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

/** How busy the fabric is over the step, 0..1 of its own peak: mean of the series, or where there
 * are none the number of communication spans under way. */
export function activity(run: Run): Float32Array {
  const series = run.link_bins;
  const curve = new Float32Array(series && series.bins > 0 ? series.bins : ACTIVITY_POINTS);
  if (series && series.bins > 0) {
    for (let i = 0; i < series.utilization.length; i++) {
      const bin = i % series.bins;
      curve[bin] = (curve[bin] ?? 0) + (series.utilization[i] ?? 0);
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
