// Findings in order and in words, truths beside them, and where their suspects stand on the map.
import type { DeviceRow, Diagnosis, Finding, Run, Suspect, Truth } from "../api/payload";
import { kindOf, linksAt, endsOf, type Fabric } from "./fabric";
import type { FindingSort } from "./page_state";
import { ticksOf, type Tick } from "./throughput";

/** What is seen, as the beginning of a sentence. */
const LEADS: Record<string, string> = {
  "communication-hang": "Communication hangs",
  "non-communication-hang": "A rank never arrives and the others wait for it",
  "communication-slow": "Messages are slow",
  "non-communication-slow": "A rank comes late to its operations",
  collision: "Flows collide, which is no fault",
  crash: "A process is gone",
  counter: "Counters stand out",
  latency: "Probes take longer than their baseline",
  unreachable: "Probes do not arrive",
  mismatch: "Ranks do not run the same operations",
};
/** Syndromes that stop what they touch. */
const STANDSTILL = ["communication-hang", "non-communication-hang", "crash", "unreachable"];

export const standsStill = (finding: Finding): boolean => STANDSTILL.includes(finding.syndrome);

export function leadOf(finding: Finding): string {
  const words = finding.syndrome.replaceAll("-", " ");
  return LEADS[finding.syndrome] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** The lead with its likeliest suspects, without figures. */
export function shortOf(finding: Finding): string {
  const [first] = finding.suspects;
  const more = finding.suspects.length - 1;
  if (first === undefined) return `${leadOf(finding)}; not enough evidence to name a suspect`;
  return `${leadOf(finding)}: ${first.name}${more > 0 ? ` or ${more} more` : ""}`;
}

/** What findings are ranked by: the share of job time that is lost, where it is known, else the severity. */
export const priceOf = ({ lost_share, severity }: Finding): number => lost_share ?? severity;

/** Rows of findings, worst first by the chosen measure; ties in the order of the program. */
export function sortedFindings(findings: readonly Finding[], sort: FindingSort): number[] {
  const worth = (row: number): number => {
    const finding = findings[row];
    if (finding === undefined) return 0;
    if (sort === "since") return -finding.since_s;
    // A finding without suspects names nobody: it comes after all that do.
    if (sort === "suspects") return -(finding.suspects.length || Number.MAX_SAFE_INTEGER);
    return sort === "severity" ? priceOf(finding) : finding[sort];
  };
  return findings.map((_, row) => row).sort((a, b) => worth(b) - worth(a) || a - b);
}

/** Findings as ticks of the page's time; none where telemetry has another clock. */
export function findingTicks(diagnosis: Diagnosis | null, duration_ps: number): Tick[] {
  const start = diagnosis?.start_ps;
  if (!diagnosis || start === null || start === undefined) return [];
  return diagnosis.findings.flatMap((finding) => {
    const at_ps = start + finding.at_s * 1e12;
    if (at_ps < 0 || at_ps > duration_ps) return [];
    return [{ at_ps, text: `finding: ${shortOf(finding)}`, repair: false, label: "finding" }];
  });
}

/** Marks of a run on the page's time: faults, repairs and what jobs noticed, with their devices; then findings. */
export function marksOf(run: Run): Tick[] {
  const incidents = ticksOf(run).map((tick, row) => {
    const device = run.incidents.device.at(row);
    return { ...tick, text: device === "" ? tick.text : `${device}: ${tick.text}` };
  });
  return [...incidents, ...findingTicks(run.diagnosis, run.observed_ps)];
}

export interface TruthRow {
  truth: Truth;
  /** Row of the first finding that has it among its suspects; null: none has. */
  finding: number | null;
  /** From the fault to that finding. */
  after_s: number;
  /** Place among its suspects, from 1. */
  place: number;
}

/** Injected faults, each with the earliest finding at or after its begin that names its component. */
export function truthRows(truths: readonly Truth[], findings: readonly Finding[]): TruthRow[] {
  return truths.map((truth) => {
    const row: TruthRow = { truth, finding: null, after_s: Number.NaN, place: 0 };
    findings.forEach((finding, i) => {
      const after_s = finding.at_s - truth.from_s;
      const place = finding.suspects.findIndex(
        ({ kind, name }) => kind === truth.component_kind && name === truth.component,
      );
      if (place < 0 || after_s < 0 || after_s >= row.after_s) return;
      Object.assign(row, { finding: i, after_s, place: place + 1 });
    });
    return row;
  });
}

/** Where suspects stand on the map. */
export interface SuspectPlaces {
  /** Switches, and hosts that are suspected as a whole, with what is said of each. */
  devices: Map<DeviceRow, string[]>;
  /** Ports of hosts in leaves, as [host, leaf]. */
  ports: (readonly [DeviceRow, DeviceRow])[];
}

/** Places of a finding's suspects; null where none of them stands on this fabric. A host with a leaf is the port
 * between them, a host alone all its ports. */
export function suspectPlaces(fabric: Fabric, finding: Finding): SuspectPlaces | null {
  const places: SuspectPlaces = { devices: new Map(), ports: [] };
  for (const suspect of finding.suspects) {
    const rows = devicesOf(fabric, suspect);
    const hosts = rows.filter((row) => kindOf(fabric.run, row) === "host");
    const leaves = rows.filter((row) => kindOf(fabric.run, row) === "leaf");
    const joined = hosts.length > 0 && leaves.length > 0;
    for (const row of rows) {
      if (joined && leaves.includes(row)) continue;
      places.devices.set(row, [...(places.devices.get(row) ?? []), suspectText(suspect)]);
    }
    for (const host of hosts)
      for (const leaf of joined ? leaves : leavesOf(fabric, host)) places.ports.push([host, leaf]);
  }
  return places.devices.size > 0 ? places : null;
}

const suspectText = ({ kind, name }: Suspect): string => `suspect ${kind} ${name}`;

/** Devices of a suspect by name: those that it lists, else the one that has its name. */
export function devicesOf(fabric: Fabric, suspect: Suspect): DeviceRow[] {
  const names = suspect.devices ?? [suspect.name];
  return names.flatMap((name) => fabric.rowByName.get(name) ?? []);
}

function leavesOf(fabric: Fabric, host: DeviceRow): DeviceRow[] {
  const found = new Set<DeviceRow>();
  for (const link of linksAt(fabric, host))
    for (const end of endsOf(fabric.run, link))
      if (kindOf(fabric.run, end) === "leaf") found.add(end);
  return [...found];
}
