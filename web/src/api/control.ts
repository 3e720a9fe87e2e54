// What controllers did in a run: wire types, and decoded ones.
import type { LinkLists, Ps, Strings, WireColumn, WireLists, WireTable } from "./payload";

export interface WireTrack {
  start: WireColumn;
  place: WireColumn;
  count: WireColumn;
}
export interface WireControl {
  total: number;
  batches: WireTable & { left: WireLists; taken: WireLists; left_out: number };
  actions: WireTable & { left: WireLists; taken: WireLists };
  states: WireTable & {
    uplinks: WireTrack;
    leaves: WireTrack;
    left_out: number;
    until_ps: number | null;
  };
}

export interface Control {
  /** Rows of the table `actions` of the run, listed here or not. */
  total: number;
  batches: Batches;
  actions: Actions;
  states: States;
}
/** What one controller decided at one time for one reason. */
export interface Batches {
  rows: number;
  decided_ps: Float64Array;
  /** NaN where switches did not take it, or a restart never came. */
  effective_ps: Float64Array;
  controller: Strings;
  /** `path`, `entry-add`, `isolate` or another word of the program. */
  action: Strings;
  reason: Strings;
  /** Queue pairs, entries or ranks that it moved. */
  moved: Uint32Array;
  /** Rows of links that it left or took up; of many, those that most of it left or took up. */
  left: LinkLists;
  taken: LinkLists;
  left_total: Uint32Array;
  taken_total: Uint32Array;
  /** Others that are not listed. */
  left_out: number;
}
/** Single decisions; of many, some of each batch. */
export interface Actions {
  rows: number;
  /** Row of batches, ascending. */
  batch: Uint32Array;
  /** Index into the run's jobs; NOT_APPLICABLE where it is nobody's. */
  job: Uint32Array;
  moved: Uint32Array;
  subject: Strings;
  before: Strings;
  after: Strings;
  left: LinkLists;
  taken: LinkLists;
}
/** What hosts and leaves held, from each time on. */
export interface States {
  rows: number;
  /** Ascending; the first is 0. */
  at_ps: Float64Array;
  /** Decisions made and not in effect yet. */
  pending: Uint32Array;
  /** Queue pairs without a path. */
  no_path: Uint32Array;
  /** Queue pairs by link from a leaf up to a spine. */
  uplinks: Track;
  /** Entries by leaf, as rows of devices. */
  leaves: Track;
  /** Later states that are not told, and from when on; null where all are. */
  left_out: number;
  until_ps: Ps | null;
}
/** Counts by place: state i changes `place[start[i] .. start[i + 1]]` to `count`. */
export interface Track {
  start: Uint32Array;
  place: Uint32Array;
  count: Uint32Array;
}
