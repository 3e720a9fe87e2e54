// What diagnosis found, as it stands in the file and as the page uses it; part of the payload's types.
import type { Fact, Ps, Strings, WireTable } from "./payload";

export interface WireDiagnosis {
  source: string;
  operations: number;
  messages: number;
  span_s: number;
  start_ps?: Ps;
  settings?: Fact[];
  findings: Finding[];
  truths?: Truth[];
  matrix?: { endpoints: WireTable; cells: WireTable; total: number; median_ns_per_byte?: number };
  chain?: {
    communicator: string;
    axis: string;
    total: number;
    culprit?: number | null;
    finding?: number | null;
    least?: number | null;
    ranks: WireTable;
  };
  ranks?: { start_s: number; what: string; lanes: WireTable; spans: WireTable };
}

/** A component that may be at fault. */
export interface Suspect {
  /** `rank`, `gpu`, `host`, `nic`, `cable`, `link`, `switch`, `connection`, `storage` or `job`. */
  kind: string;
  name: string;
  /** How likely, 0..1. */
  share: number;
  /** Names of the hosts and switches at which it stands; absent where it has no place. */
  devices?: string[];
}
/** A measured value beside what was to be expected; null where there is none. */
export interface Evidence {
  table: string;
  what: string;
  value: number | null;
  expected: number | null;
  /** As of figures. */
  unit: string;
}
/** Proposed, never applied. */
export interface ProposedAction {
  kind: string;
  target_kind: string;
  target: string;
  reason: string;
}
/** Times are seconds on the clock of the telemetry, whose first record is at 0. */
export interface Finding {
  at_s: number;
  /** The cause began between these two times. */
  since_s: number;
  since_until_s: number;
  syndrome: string;
  /** Faults that would look like this, the likeliest first. */
  faults: string[];
  /** The likeliest first; empty: not enough evidence. */
  suspects: Suspect[];
  confidence: number;
  /** How far records deviate: share of the time of a message, operation or step beyond what is usual; 1 for what stands
   * still. */
  severity: number;
  /** The cost: time that the job lost against the state before, and its share of the time since; null: not known. */
  lost_s: number | null;
  lost_share: number | null;
  evidence: Evidence[];
  advice: string;
  actions: ProposedAction[];
}
/** A fault that was injected. */
export interface Truth {
  from_s: number;
  /** Null: it stayed. */
  until_s: number | null;
  kind: string;
  component_kind: string;
  component: string;
  severity: number;
}
export interface Diagnosis {
  source: string;
  operations: number;
  messages: number;
  span_s: number;
  /** Where 0 of the telemetry lies on the page's axis of time; null: nowhere. */
  start_ps: Ps | null;
  settings: Fact[];
  findings: Finding[];
  /** Null where nobody knows. */
  truths: Truth[] | null;
  matrix: DelayMatrix | null;
  chain: WaitChain | null;
  ranks: RankSpans | null;
}
/** Network time per byte of pairs, over the median of pairs alike. */
export interface DelayMatrix {
  endpoints: Endpoints;
  /** Rows of endpoints. */
  source: Uint32Array;
  target: Uint32Array;
  ratio: Float32Array;
  samples: Uint32Array;
  /** Pairs that were measured, listed here or not. */
  total: number;
  median_ns_per_byte: number | null;
}
export interface Endpoints {
  rows: number;
  name: Strings;
  host: Strings;
  leaf: Strings;
  segment: Strings;
}
/** Ranks of one communicator in the order of its ring: each receives from the row before. */
export interface WaitChain {
  communicator: string;
  axis: string;
  /** Ranks of the communicator, listed here or not. */
  total: number;
  /** Row of the rank that a finding names, or else of that which the others wait for. */
  culprit: number | null;
  /** The finding that names it; null: the waits alone point at it. */
  finding: number | null;
  /** Row of the rank that waits least while its successor waits first, whoever is named. */
  least: number | null;
  rows: number;
  rank: Uint32Array;
  host: Strings;
  wait_ms: Float64Array;
  /** Stage in which the rank first waited; NOT_APPLICABLE: it never did. */
  first_wait_stage: Uint32Array;
}
/** What some ranks did in one step. */
export interface RankSpans {
  /** Where 0 of the spans lies on the clock of the telemetry. */
  start_s: number;
  what: string;
  lanes: { rows: number; name: Strings; role: Strings };
  spans: number;
  lane: Uint32Array;
  /** Index into SPAN_KINDS. */
  kind: Uint8Array;
  name: Strings;
  start_ms: Float64Array;
  end_ms: Float64Array;
}
export const SPAN_KINDS = ["compute", "communicate", "wait"] as const;
