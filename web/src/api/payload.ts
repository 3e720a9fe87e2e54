// The report's payload as it stands in the file (wire types) and as the page uses it (decoded types).

import type { Cluster, WireCluster } from "./cluster";
import type { Diagnosed, WireDiagnosed } from "./diagnosed";
import type { Intranode, WireIntranode } from "./intranode";
import type { Control, WireControl } from "./control";
import type { Diagnosis, WireDiagnosis } from "./findings";
import type { JobLife, WireJobLife } from "./life";

export * from "./cluster";
export * from "./diagnosed";
export * from "./intranode";
export * from "./control";
export * from "./findings";
export * from "./life";

/** Version of the payload that this page reads; another number is refused with a clear error. */
export const PAYLOAD_SCHEMA = 1;
/** In `u32` columns of devices: this property does not apply to this device. */
export const NOT_APPLICABLE = 0xffff_ffff;

/** A moment or a duration of simulated time, in picoseconds; safe as a number below 2^53 (2.5 h). */
export type Ps = number & { readonly unit?: "ps" };
/** Row of a run's device table. */
export type DeviceRow = number & { readonly of?: "devices" };
/** Row of a run's link table. */
export type LinkRow = number & { readonly of?: "links" };

// --- wire -------------------------------------------------------------------------------------

export type NumberType = "f64" | "f32" | "u32" | "u8";
/** Little-endian numbers in base64. */
export interface WireNumbers {
  type: NumberType;
  data: string;
}
/** Dictionary-coded text: `data` is base64 of little-endian u32 codes into `dict`. */
export interface WireStrings {
  type: "str";
  dict: string[];
  data: string;
}
export type WireColumn = WireNumbers | WireStrings;
export interface WireTable {
  rows: number;
  columns: Record<string, WireColumn>;
}
export interface WireBins {
  bin_ps: number;
  bins: number;
  link_rows: WireColumn;
  peak?: WireColumn;
  utilization: WireColumn;
  carried?: WireColumn;
  capacity?: WireColumn;
}
export interface WireRun {
  name: string;
  fabric_name: string;
  description: string;
  engine: string;
  seed: number;
  case_hash: string;
  version: string;
  headline: string;
  /** What supports the headline, one sentence each; absent in reports of earlier versions. */
  evidence?: string[];
  warnings: string[];
  figures: Figure[];
  exposed: Exposed[];
  seeds: SeedResult[];
  duration_ps: number;
  observed_ps?: number;
  facts: Fact[];
  devices: WireTable;
  links: WireTable;
  link_bins?: WireBins;
  timeline: WireTable;
  incidents: WireTable;
  jobs?: string[];
  steps?: WireTable;
  throughput?: WireTable;
  flows?: WireTable & { total: number; total_bytes: number; path: WireLists };
  moves?: WireTable & {
    epochs: Epoch[];
    left_out: number;
    before: WireLists;
    after: WireLists;
  };
  balance?: TierBalance[];
  operations?: WireTable;
  packets?: WirePackets;
  control?: WireControl;
  diagnosis?: WireDiagnosis;
  life?: WireJobLife;
}
export interface WirePackets {
  fct: { flows: number; unfinished: number; mean_ps: Ps; times: WireTable };
  slowest: WireTable;
  hops: WireTable;
  queues?: {
    bin_ps: Ps;
    bins: number;
    sample_ps: Ps;
    total: number;
    links: WireTable;
    bytes: WireColumn;
    paused: WireColumn;
  };
}
/** Lists of link rows: `start` has one entry more than there are lists. */
export interface WireLists {
  start: WireColumn;
  links: WireColumn;
}
export interface WirePayload {
  schema: 1;
  title: string;
  generator: string;
  runs: WireRun[];
}
/** A page of weeks of jobs, which has no runs. */
export interface WireClusterPayload {
  schema: 1;
  title: string;
  generator: string;
  cluster: WireCluster;
}
/** A page of traffic inside hosts over loads, which has no runs. */
export interface WireIntranodePayload {
  schema: 1;
  title: string;
  generator: string;
  intranode: WireIntranode;
}
export interface WireDiagnosedPayload {
  schema: 1;
  title: string;
  generator: string;
  diagnosed: WireDiagnosed;
}

// --- decoded ----------------------------------------------------------------------------------

/** Which way a figure is better. */
export const BETTER = ["less", "more"] as const;
export type Better = (typeof BETTER)[number];

/** One number of the run; `low`..`high` is its range over seeds where there is one. */
export interface Figure {
  name: string;
  value: number | null;
  unit: string;
  note: string;
  /** Why there is no value, such as `halted at 12.5 s`; empty or absent where nobody says. */
  reason?: string;
  low?: number;
  high?: number;
  /** Absent where neither is, and in reports of older programs. */
  better?: Better;
  /** A ratio of which percent would mislead: one amount over another of which it is no part. */
  plain?: boolean;
}
/** What one axis costs in a step of a job: busy time, the part not hidden behind compute, and bytes. */
export interface Exposed {
  axis: string;
  /** Index into the run's jobs; absent in reports of older programs, which told of the first job alone. */
  job?: number;
  exposed_ps: Ps;
  busy_ps: Ps;
  bytes: number;
}
export interface SeedResult {
  seed: number;
  /** Index into the run's jobs; absent in reports of older programs, which told of the first job alone. */
  job?: number;
  step_time_ps: Ps;
}
export interface Fact {
  name: string;
  value: string;
}

export const DEVICE_KINDS = ["host", "leaf", "spine", "core"] as const;
export type DeviceKind = (typeof DEVICE_KINDS)[number];

/** A text column: codes into a dictionary. */
export class Strings {
  constructor(
    readonly dict: readonly string[],
    readonly codes: Uint32Array,
  ) {}
  at(row: number): string {
    const code = this.codes[row];
    return code === undefined ? "" : (this.dict[code] ?? "");
  }
}

export interface Devices {
  rows: number;
  name: Strings;
  /** Index into DEVICE_KINDS per row. */
  kind: Uint8Array;
  pod: Uint32Array;
  segment: Uint32Array;
  rail: Uint32Array;
  plane: Uint32Array;
  index: Uint32Array;
}
/** One row per direction; `parallel` links between the same two devices are one row. */
export interface Links {
  rows: number;
  source: Uint32Array;
  target: Uint32Array;
  parallel: Uint32Array;
  capacity_bits_per_s: Float64Array;
  bytes: Float64Array;
  /** Mean over the step, of the worst parallel link; 0..1. */
  utilization: Float32Array;
  /** Mean over the step and over the parallel links; 0..1. */
  utilization_mean: Float32Array;
  flows: Uint32Array;
}
/** What some links carried over time: row-major [link_rows x bins], 255 = the peak of the row. */
export interface LinkBins {
  bin_ps: Ps;
  bins: number;
  link_rows: Uint32Array;
  /** Utilization that 255 stands for, per entry of link_rows; 1 in reports of older programs. */
  peak: Float32Array;
  /** Of the worst parallel link in each bin. */
  utilization: Uint8Array;
  /** Bytes of all parallel links over those of their busiest bin; the utilization itself where links are single. */
  carried: Uint8Array;
  /** Share of their capacity that faults left the links in each bin, 255 all of it; null where they had all of it. */
  capacity: Uint8Array | null;
}
export interface Timeline {
  rows: number;
  lane: Strings;
  axis: Strings;
  kind: Strings;
  name: Strings;
  start_ps: Float64Array;
  end_ps: Float64Array;
  bytes: Float64Array;
}
export interface Incidents {
  rows: number;
  at_ps: Float64Array;
  device: Strings;
  what: Strings;
  /** `down`, `up` or another word of the program; null in reports of older ones. */
  kind: Strings | null;
}
/** Steps of the chosen replicate; a row may stand for several, one after the other. */
export interface Steps {
  rows: number;
  /** Index into the run's jobs. */
  job: Uint32Array;
  first: Uint32Array;
  steps: Uint32Array;
  start_ps: Float64Array;
  end_ps: Float64Array;
}
/** What each job moved in each bucket of time. */
export interface Throughput {
  rows: number;
  /** Index into the run's jobs. */
  job: Uint32Array;
  start_s: Float64Array;
  bytes: Float64Array;
  steps: Float64Array;
}
/** Lists of link rows: list i is `links[start[i] .. start[i + 1]]`. */
export interface LinkLists {
  start: Uint32Array;
  links: Uint32Array;
}
/** Queue pairs with their paths before any fault; of a large run, the largest. */
export interface Flows {
  rows: number;
  job: Strings;
  operation: Strings;
  pattern: Uint32Array;
  /** NICs by name, and the hosts that they stand in. */
  source: Strings;
  target: Strings;
  source_host: Uint32Array;
  target_host: Uint32Array;
  queue_pair: Uint32Array;
  source_port: Uint32Array;
  landed_port: Uint32Array;
  bytes: Float64Array;
  path: LinkLists;
  /** Of all queue pairs, listed here or not. */
  total: number;
  total_bytes: number;
}
/** The time from one change of routes to the next; counts are of all queue pairs. */
export interface Epoch {
  at_ps: Ps;
  /** When routes have followed. */
  routes_ps: Ps;
  what: string;
  stayed: number;
  moved: number;
  /** Left without a route. */
  lost: number;
  /** With a route again. */
  found: number;
}
/** Flows whose path changed at the start of an epoch; of many, the largest. */
export interface Moves {
  rows: number;
  /** From 1: `epochs[epoch - 1]`. */
  epoch: Uint32Array;
  /** Row of flows. */
  flow: Uint32Array;
  before: LinkLists;
  after: LinkLists;
  epochs: Epoch[];
  /** Later changes of routes that were not looked at. */
  left_out: number;
}
/** Max-mean ratio over the links of a switch, summed up over the switches of one tier. */
export interface TierBalance {
  /** `leaf_up`, `spine_up`, `spine_down` or `core_down`. */
  place: string;
  /** `bytes` or `flows`. */
  by: string;
  mean: number;
  low: number;
  high: number;
  max: number;
  /** Name of the switch with the largest ratio. */
  worst: string;
  switches: number;
}
/** When each communication ran; kept for runs of few enough of them. */
export interface Operations {
  rows: number;
  /** Number over the whole case: the same in every run of it. */
  operation: Uint32Array;
  job: Strings;
  lane: Strings;
  axis: Strings;
  name: Strings;
  bytes: Float64Array;
  start_ps: Float64Array;
  end_ps: Float64Array;
}
/** What packets left behind, of the chosen replicate. */
export interface Packets {
  fct: Completion;
  slowest: SlowFlows;
  hops: Hops;
  /** Null where the scenario asked for no samples. */
  queues: Queues | null;
}
/** Flow completion times. */
export interface Completion {
  /** Transfers that ended, and those that never did. */
  flows: number;
  unfinished: number;
  mean_ps: Ps;
  /** Ascending: all of them, or of many evenly spaced quantiles. */
  fct_ps: Float64Array;
}
/** The transfers that took longest, slowest first. */
export interface SlowFlows {
  rows: number;
  operation: Uint32Array;
  job: Strings;
  kind: Strings;
  source: Strings;
  target: Strings;
  bytes: Float64Array;
  start_ps: Float64Array;
  end_ps: Float64Array;
}
/** Links by what they join; pause frames go against them. */
export interface Hops {
  rows: number;
  /** `nic`, `leaf`, `spine` or `core`. */
  source: Strings;
  target: Strings;
  links: Uint32Array;
  pause_frames: Float64Array;
  /** Part of the run that pauses held a link, 0..1: mean over used links, and the worst. */
  paused_mean: Float64Array;
  paused_max: Float64Array;
  queue_bytes_max: Float64Array;
  dropped: Float64Array;
  cnps: Float64Array;
}
/** Queues of some links over time: row-major [links.rows x bins]. */
export interface Queues {
  bin_ps: Ps;
  bins: number;
  /** Width of the samples that a bin joins. */
  sample_ps: Ps;
  /** Links on which anything waited or was paused, listed here or not. */
  total: number;
  links: QueueLinks;
  /** Most bytes that waited in the bin. */
  bytes: Uint32Array;
  /** Part of the bin that pauses held the link; 255 = 1.0. */
  paused: Uint8Array;
}
export interface QueueLinks {
  rows: number;
  /** Row of links. */
  link: Uint32Array;
  source: Strings;
  target: Strings;
  /** By its port nearer to the hosts. */
  cable: Strings;
  /** Over the whole run. */
  queue_bytes_max: Float64Array;
  paused_ps: Float64Array;
  pause_frames: Float64Array;
  dropped: Float64Array;
}
export interface Run {
  name: string;
  fabric_name: string;
  description: string;
  engine: string;
  seed: number;
  case_hash: string;
  version: string;
  headline: string;
  /** What supports the headline, one sentence each. */
  evidence: string[];
  warnings: string[];
  figures: Figure[];
  exposed: Exposed[];
  seeds: SeedResult[];
  /** End of the last operation of the engine's run. */
  duration_ps: Ps;
  /** End of what the run observed: the engine's run and telemetry; the page's time runs from 0 to here. */
  observed_ps: Ps;
  facts: Fact[];
  devices: Devices;
  links: Links;
  link_bins: LinkBins | null;
  timeline: Timeline;
  incidents: Incidents;
  jobs: string[];
  steps: Steps | null;
  throughput: Throughput | null;
  flows: Flows | null;
  moves: Moves | null;
  balance: TierBalance[];
  operations: Operations | null;
  packets: Packets | null;
  control: Control | null;
  diagnosis: Diagnosis | null;
  life: JobLife | null;
}
/** One run is a report; of two, the first is the baseline that the other is compared with. */
export interface Payload {
  title: string;
  generator: string;
  /** Empty on a page of weeks of jobs, of traffic inside hosts, and of a diagnosis of files. */
  runs: Run[];
  cluster: Cluster | null;
  intranode: Intranode | null;
  diagnosed: Diagnosed | null;
}
