// Weeks of jobs on one fabric under one or several policies: wire types and decoded types.
import type { Better, Strings, WireColumn, WireTable } from "./payload";

/** A figure of one policy over all seeds. */
export interface ClusterBand {
  least: number;
  median: number;
  most: number;
}
export interface ClusterFigure {
  name: string;
  meaning: string;
  unit: string;
  better: Better | null;
  /** By policy; null where a seed has no value. */
  values: (ClusterBand | null)[];
}
export interface WireLife {
  jobs: WireTable;
  hours: WireTable;
  pairs: WireTable;
  pairs_total: number;
  held: { start: WireColumn; first: WireColumn; last: WireColumn };
}
export interface WireCluster {
  name: string;
  fabric_name: string;
  description: string;
  version: string;
  headline: string;
  gpus: number;
  places: number;
  span_s: number;
  policies: string[];
  base: number;
  best: number;
  seeds: number[];
  whole_seeds: number;
  figures: ClusterFigure[];
  jobs: WireTable[];
  lives: WireLife[];
}

/** Jobs of a seed, in the order in which they came. */
export interface ClusterJobs {
  rows: number;
  name: Strings;
  class: Strings;
  gpus: Uint32Array;
  submitted_s: Float64Array;
}
/** What became of them under one policy; NaN is "never" or "no value". */
export interface ClusterLife {
  /** Index of the policy, and of the seed. */
  policy: number;
  seed: number;
  started_s: Float64Array;
  ended_s: Float64Array;
  /** Times that a job ran of what it would have run alone; of one that still runs at the end, so far. */
  slowdown: Float32Array;
  contended_s: Float32Array;
  /** Runs of GPUs that job j had: from `start[j]` up to, not including, `start[j + 1]`; both ends belong to a run. */
  held: { start: Uint32Array; first: Uint32Array; last: Uint32Array };
  hours: ClusterHours;
  /** Pairs of jobs that contended, longest first; `pairs_total` counts those that are not listed, too. */
  pairs: { rows: number; one: Uint32Array; other: Uint32Array; seconds: Float64Array };
  pairs_total: number;
}
export interface ClusterHours {
  rows: number;
  occupancy: Float32Array;
  gpu_utilization: Float32Array;
  gpu_intensity: Float32Array;
  waiting: Float32Array;
  contending: Float32Array;
  /** What inference takes of the link that has most of it; NaN where nobody serves. */
  inference_link_share: Float32Array;
}
export interface Cluster {
  name: string;
  fabric_name: string;
  description: string;
  version: string;
  headline: string;
  /** GPUs that jobs may have, and those that there are, spare ones too. */
  gpus: number;
  places: number;
  span_s: number;
  policies: string[];
  /** The policy that the others are measured by. */
  base: number;
  /** The policy that the headline names. */
  best: number;
  seeds: number[];
  figures: ClusterFigure[];
  /** By seed, of those that are told whole. */
  jobs: ClusterJobs[];
  /** Policy after policy, each with the seeds that are told whole. */
  lives: ClusterLife[];
}
