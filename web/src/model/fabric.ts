// The fabric as a graph over the payload's rows: who is linked to whom, in which tier class.
import {
  DEVICE_KINDS,
  type DeviceKind,
  type DeviceRow,
  type LinkRow,
  type Run,
} from "../api/payload";

/** Tier classes of links: which tiers they join, and which way. The order is the page's order. */
export const LINK_CLASSES = [
  { name: "host to leaf", low: 0, up: true },
  { name: "leaf to host", low: 0, up: false },
  { name: "leaf to spine", low: 1, up: true },
  { name: "spine to leaf", low: 1, up: false },
  { name: "spine to core", low: 2, up: true },
  { name: "core to spine", low: 2, up: false },
  { name: "other links", low: -1, up: true },
] as const;
export const CLASS_OTHER = LINK_CLASSES.length - 1;

export interface Fabric {
  run: Run;
  /** Index into LINK_CLASSES per link row. */
  linkClass: Uint8Array;
  /** Links that touch a device: linksOf[start[device] .. start[device + 1]], both directions. */
  start: Uint32Array;
  linksOf: Uint32Array;
  rowByName: Map<string, DeviceRow>;
}

export function kindOf(run: Run, device: DeviceRow): DeviceKind {
  return DEVICE_KINDS[run.devices.kind[device] ?? 0] ?? "host";
}

export function buildFabric(run: Run): Fabric {
  const { devices, links } = run;
  const linkClass = new Uint8Array(links.rows);
  const start = new Uint32Array(devices.rows + 1);
  for (let row = 0; row < links.rows; row++) {
    const [source, target] = endsOf(run, row);
    linkClass[row] = classOf(devices.kind[source] ?? 0, devices.kind[target] ?? 0);
    start[source + 1] = (start[source + 1] ?? 0) + 1;
    start[target + 1] = (start[target + 1] ?? 0) + 1;
  }
  for (let device = 0; device < devices.rows; device++)
    start[device + 1] = (start[device + 1] ?? 0) + (start[device] ?? 0);
  const next = start.slice();
  const linksOf = new Uint32Array(links.rows * 2);
  for (let row = 0; row < links.rows; row++)
    for (const device of endsOf(run, row)) {
      const place = next[device] ?? 0;
      linksOf[place] = row;
      next[device] = place + 1;
    }
  const rowByName = new Map<string, DeviceRow>();
  for (let row = 0; row < devices.rows; row++) rowByName.set(devices.name.at(row), row);
  return { run, linkClass, start, linksOf, rowByName };
}

function classOf(source: number, target: number): number {
  const low = Math.min(source, target);
  if (Math.abs(source - target) !== 1) return CLASS_OTHER;
  return low * 2 + (source < target ? 0 : 1);
}

export function endsOf(run: Run, link: LinkRow): readonly [DeviceRow, DeviceRow] {
  return [run.links.source[link] ?? 0, run.links.target[link] ?? 0];
}

/** Link rows that touch a device, in both directions. */
export function linksAt(fabric: Fabric, device: DeviceRow): Uint32Array {
  return fabric.linksOf.subarray(fabric.start[device] ?? 0, fabric.start[device + 1] ?? 0);
}

/** True for a link that goes away from hosts. */
export function goesUp(fabric: Fabric, link: LinkRow): boolean {
  const [source, target] = endsOf(fabric.run, link);
  const { kind } = fabric.run.devices;
  return (kind[source] ?? 0) < (kind[target] ?? 0);
}

/** Devices at the other ends of a device's links, each once, in row order. */
export function reached(fabric: Fabric, device: DeviceRow): Set<DeviceRow> {
  const found = new Set<DeviceRow>();
  for (const link of linksAt(fabric, device))
    for (const end of endsOf(fabric.run, link)) if (end !== device) found.add(end);
  return found;
}

/** True when two runs have the same devices and links in the same rows: they can be subtracted. */
export function sameFabric(a: Run, b: Run): boolean {
  if (a.devices.rows !== b.devices.rows || a.links.rows !== b.links.rows) return false;
  for (let row = 0; row < a.devices.rows; row++)
    if (a.devices.name.at(row) !== b.devices.name.at(row)) return false;
  for (let row = 0; row < a.links.rows; row++)
    if (a.links.source[row] !== b.links.source[row] || a.links.target[row] !== b.links.target[row])
      return false;
  return true;
}
