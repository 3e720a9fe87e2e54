// Where devices are, in words; what a device carries, in numbers.
import { NOT_APPLICABLE, type DeviceRow, type Run } from "../api/payload";
import type { TimeWindow } from "./page_state";
import { ticksOf } from "./throughput";
import { goesUp, kindOf, linksAt, type Fabric } from "./fabric";

/** "leaf, pod 0, segment 2, rail 3, plane 1": what applies, in the order of the hierarchy. */
export function placeOf(run: Run, device: DeviceRow): string {
  const { devices } = run;
  const parts: string[] = [kindOf(run, device)];
  for (const key of ["pod", "segment", "rail", "plane"] as const) {
    const value = devices[key][device];
    if (value !== undefined && value !== NOT_APPLICABLE) parts.push(`${key} ${value}`);
  }
  return parts.join(", ");
}

export interface Carried {
  /** Worst utilization of links towards hosts (down) and away from them (up); NaN where none. */
  up: number;
  down: number;
  up_bits_per_s: number;
  down_bits_per_s: number;
  links: number;
}

/** Links below a device count the way their traffic goes, like those above it. */
export function carried(fabric: Fabric, device: DeviceRow, values: Float32Array): Carried {
  const { links } = fabric.run;
  const sum: Carried = {
    up: Number.NaN,
    down: Number.NaN,
    up_bits_per_s: 0,
    down_bits_per_s: 0,
    links: 0,
  };
  for (const link of linksAt(fabric, device)) {
    const way = goesUp(fabric, link) ? "up" : "down";
    const value = values[link] ?? 0;
    const parallel = links.parallel[link] ?? 1;
    sum[way] = Number.isNaN(sum[way]) ? value : Math.max(sum[way], value);
    sum[`${way}_bits_per_s`] += (links.capacity_bits_per_s[link] ?? 0) * parallel;
    sum.links += parallel;
  }
  return sum;
}

/** What an incident is about: its words without what happened. */
const subjectOf = (what: string): string =>
  what.replace(/\s+(is |was )?(down|up|repaired|resumed|paused|filled|ended)\b.*$/, "");

/** Devices that incidents name, with what is said of each. With a time window, incidents in it; before them, what had
 * gone wrong earlier and was still so. */
export function incidentsByDevice(
  fabric: Fabric,
  window: TimeWindow | null = null,
): Map<DeviceRow, string[]> {
  const found = new Map<DeviceRow, string[]>();
  const { incidents } = fabric.run;
  const ticks = ticksOf(fabric.run);
  /** Whether something mends what incident `row` broke before the window begins. */
  const over = (row: number, from_ps: number): boolean =>
    ticks.some(
      (tick, later) =>
        later > row &&
        tick.repair &&
        tick.at_ps <= from_ps &&
        incidents.device.at(later) === incidents.device.at(row) &&
        subjectOf(tick.text) === subjectOf(incidents.what.at(row)),
    );
  for (let row = 0; row < incidents.rows; row++) {
    const at_ps = incidents.at_ps[row] ?? 0;
    if (window && at_ps > window.to_ps) continue;
    const before = window !== null && at_ps < window.from_ps;
    if (before && (ticks[row]?.label !== "fault" || over(row, window.from_ps))) continue;
    const device = fabric.rowByName.get(incidents.device.at(row));
    if (device === undefined) continue;
    const list = found.get(device) ?? [];
    list.push(incidents.what.at(row));
    found.set(device, list);
  }
  return found;
}
