// The life of a job over weeks: wire types, and decoded ones. Times are seconds of the life.
import type { Strings, WireTable } from "./payload";

export interface LifePart {
  /** The figure that it is. */
  name: string;
  /** Share of the time of the life that is shown, 0..1. */
  shown: number;
  /** Over all lives. */
  median: number;
  least: number;
  most: number;
}
export interface WireJobLife {
  job: string;
  span_s: number;
  lives: number;
  seed: number;
  parts: LifePart[];
  standstills: WireTable;
  actions: WireTable;
}

export interface JobLife {
  job: string;
  span_s: number;
  /** How many lives there are, of which one is shown, and its seed. */
  lives: number;
  seed: number;
  /** What all its time is spent with. */
  parts: readonly LifePart[];
  standstills: Standstills;
  actions: LifeActions;
}
/** Times that the job stood still, in the order of time; NaN where the life ended before. */
export interface Standstills {
  rows: number;
  cause: Strings;
  /** Kind of the fault; empty where a host went that no fault had stopped. */
  kind: Strings;
  subject: Strings;
  found_by: Strings;
  checkpoint_s: Float64Array;
  failed_s: Float64Array;
  detected_s: Float64Array;
  isolated_s: Float64Array;
  replaced_s: Float64Array;
  restarted_s: Float64Array;
}
/** What was done with hosts, in the order of time. */
export interface LifeActions {
  rows: number;
  decided_s: Float64Array;
  /** NaN where it did not take effect. */
  effective_s: Float64Array;
  controller: Strings;
  action: Strings;
  reason: Strings;
  subject: Strings;
  /** The spare that takes a place; empty where none does. */
  after: Strings;
}
