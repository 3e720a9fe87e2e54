// Traffic inside hosts over a sweep of loads: wire types and decoded types.
import type { WireTable } from "./payload";

/** An axis of the sweep, and what stands on it. */
export interface IntranodeAxis {
  name: string;
  values: string[];
}
/** A part of a message's way, an index into `parts`, and the load from which it saturates. */
export interface IntranodeSaturated {
  part: number;
  load: number;
}
export interface WireIntranode {
  name: string;
  fabric_name: string;
  description: string;
  version: string;
  headline: string;
  axes: IntranodeAxis[];
  loads: number[];
  choices: number[][];
  parts: string[];
  points: WireTable;
  saturated: (number | null)[];
  orders: IntranodeSaturated[][];
  short_of: number;
}

/** Messages that stay in their host, and those that leave it. */
export const CLASSES = ["intra", "inter"] as const;
export type MessageClass = (typeof CLASSES)[number];

/** A row for each choice and load: `choice * loads + load`; NaN is "no value". */
export interface IntranodePoints {
  rows: number;
  capacity: Float64Array;
  offered_rate: Float64Array;
  intra_rate: Float64Array;
  inter_rate: Float64Array;
  network_rate: Float64Array;
  carried_share: Float64Array;
  refused_share: Float64Array;
  /** Mean latencies, s. */
  latency: Record<MessageClass, Float64Array>;
  /** The parts that they add up to, s. */
  parts: Record<MessageClass, Float64Array[]>;
}
export interface Intranode {
  name: string;
  fabric_name: string;
  description: string;
  version: string;
  headline: string;
  /** Axes beside that of loads. */
  axes: IntranodeAxis[];
  /** Ascending. */
  loads: number[];
  /** What was chosen on each axis, by its index there. */
  choices: number[][];
  /** Parts of a message's way, in its order. */
  parts: string[];
  points: IntranodePoints;
  /** By choice, the first load at which less than `1 - short_of` of what is offered arrives. */
  saturated: (number | null)[];
  /** By choice, parts as they saturate. */
  orders: IntranodeSaturated[][];
  short_of: number;
}
