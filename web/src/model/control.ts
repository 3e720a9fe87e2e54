// What controllers did: decisions in words and on the page's time, and what hosts and leaves held at a moment.
import type { Batches, Control, DeviceRow, Ps, Run, States, Track } from "../api/payload";
import { endsOf, kindOf, linksAt, type Fabric } from "./fabric";

/** The state that holds at a time. */
export function stateAt(states: States, at_ps: Ps): number {
  let [low, high] = [0, states.rows];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((states.at_ps[middle] ?? 0) <= at_ps) low = middle;
    else high = middle;
  }
  return low;
}

/** Counts by place in a state; places that never had anything are missing. */
export function countsAt(track: Track, state: number): Map<number, number> {
  const counts = new Map<number, number>();
  const end = track.start[state + 1] ?? 0;
  for (let i = 0; i < end; i++) counts.set(track.place[i] ?? 0, track.count[i] ?? 0);
  return counts;
}

/** Paths over one switch or one link, now and when the run began. */
export interface PathCount {
  device: DeviceRow;
  name: string;
  paths: number;
  first: number;
}

/** Paths that leaves send up to each spine, in the order of the fabric; or, of one leaf, to each that it is cabled to. */
export function pathsPerSpine(
  fabric: Fabric,
  states: States,
  state: number,
  leaf: DeviceRow | null,
): PathCount[] {
  const { run } = fabric;
  const found = new Map<DeviceRow, PathCount>();
  const add = (device: DeviceRow): PathCount => {
    const known = found.get(device);
    if (known) return known;
    const fresh = { device, name: run.devices.name.at(device), paths: 0, first: 0 };
    found.set(device, fresh);
    return fresh;
  };
  if (leaf === null) {
    for (let device = 0; device < run.devices.rows; device++)
      if (kindOf(run, device) === "spine") add(device);
  } else
    for (const link of linksAt(fabric, leaf)) {
      const [source, target] = endsOf(run, link);
      if (source === leaf && kindOf(run, target) === "spine") add(target);
    }
  for (const [at, key] of [
    [state, "paths"],
    [0, "first"],
  ] as const)
    for (const [link, count] of countsAt(states.uplinks, at)) {
      const [source, target] = endsOf(run, link);
      if (leaf === null || source === leaf) add(target)[key] += count;
    }
  return [...found.values()].sort((a, b) => a.device - b.device);
}

export interface Held {
  /** Entries of all leaves, or of the one asked for. */
  entries: number;
  /** The leaf with the most, and how many; null where none has any. */
  most: { name: string; entries: number } | null;
}

/** Entries that leaves hold in a state. */
export function entriesHeld(run: Run, states: States, state: number, leaf: DeviceRow | null): Held {
  const held: Held = { entries: 0, most: null };
  for (const [device, entries] of countsAt(states.leaves, state)) {
    if (entries === 0 || (leaf !== null && device !== leaf)) continue;
    held.entries += entries;
    if (entries > (held.most?.entries ?? 0))
      held.most = { name: run.devices.name.at(device), entries };
  }
  return held;
}

const plural = (count: number, one: string, many: string): string => {
  const digits = String(count);
  const grouped = digits.length > 4 ? digits.replace(/\B(?=(\d{3})+$)/g, "\u202f") : digits;
  return `${grouped} ${count === 1 ? one : many}`;
};

/** What each kind of decision does to what: the verb, one of them and several. */
const DEEDS: Record<string, readonly [string, string, string]> = {
  path: ["moves", "queue pair", "queue pairs"],
  weight: ["weighs", "queue pair", "queue pairs"],
  priority: ["ranks", "job", "jobs"],
  read: ["reads", "leaf", "leaves"],
  "entry-add": ["adds", "entry", "entries"],
  "entry-replace": ["replaces", "entry", "entries"],
  "entry-remove": ["removes", "entry", "entries"],
  probe: ["probes", "path", "paths"],
  isolate: ["isolates", "rank", "ranks"],
  swap: ["moves", "rank", "ranks"],
  restart: ["restarts", "rank", "ranks"],
};

/** Kinds of decisions that hosts are told, and not switches. */
const OF_HOSTS = new Set(["isolate", "swap", "restart"]);
export const isOfHosts = (batches: Batches, row: number): boolean =>
  OF_HOSTS.has(batches.action.at(row));

function deedParts(batches: Batches, row: number): readonly [string, string, string] {
  const action = batches.action.at(row);
  const deed = DEEDS[action] ?? [action.replaceAll("-", " "), "", ""];
  return action === "path" && batches.effective_ps[row] === 0 ? ["places", deed[1], deed[2]] : deed;
}

/** What a batch does, as the rest of a sentence: "moves 3 queue pairs". */
export function whatOf(batches: Batches, row: number): string {
  const [verb, one, many] = deedParts(batches, row);
  const moved = batches.moved[row] ?? 0;
  return moved === 0 ? deedOf(batches, row) : `${verb} ${plural(moved, one, many)}`.trimEnd();
}

/** The same without how many: "moves queue pairs". */
export function deedOf(batches: Batches, row: number): string {
  const [verb, , many] = deedParts(batches, row);
  return `${verb} ${many}`.trimEnd();
}

export const reasonOf = (batches: Batches, row: number): string =>
  batches.reason.at(row).replaceAll("-", " ");

/** When a batch moved what it moved: NaN where it never did. */
export const momentOf = (batches: Batches, row: number): Ps =>
  batches.effective_ps[row] ?? Number.NaN;

/** Decisions of one controller that stand so close together that they are one mark. */
export interface DecisionMark {
  from_ps: Ps;
  /** When the last of them holds; beyond the run where it holds no more in it. */
  to_ps: Ps;
  /** Rows of batches, in order of time. */
  batches: number[];
  /** None of them took effect. */
  refused: boolean;
}
export interface DecisionLane {
  controller: string;
  marks: DecisionMark[];
}

/** Marks closer than this part of the run are one. */
const CLOSE = 1 / 150;

/** A lane for each controller, in the order in which they first decided. */
export function decisionLanes(control: Control | null, duration_ps: Ps): DecisionLane[] {
  const lanes = new Map<string, DecisionMark[]>();
  const { batches } = control ?? {};
  if (!batches) return [];
  const order = Array.from({ length: batches.rows }, (_, row) => row);
  const decided = (row: number): number => batches.decided_ps[row] ?? 0;
  order.sort((a, b) => decided(a) - decided(b) || a - b);
  for (const row of order) {
    const name = batches.controller.at(row);
    const marks = lanes.get(name) ?? [];
    lanes.set(name, marks);
    const effective = momentOf(batches, row);
    const to_ps = Number.isNaN(effective) ? decided(row) : effective;
    const last = marks.at(-1);
    if (last && decided(row) - last.from_ps < duration_ps * CLOSE) {
      last.batches.push(row);
      last.to_ps = Math.max(last.to_ps, to_ps);
      last.refused &&= Number.isNaN(effective);
    } else
      marks.push({
        from_ps: decided(row),
        to_ps,
        batches: [row],
        refused: Number.isNaN(effective),
      });
  }
  return [...lanes].map(([controller, marks]) => ({ controller, marks }));
}

/** Listed decisions of one batch, as rows of actions. */
export function actionsOf(control: Control, batch: number): Uint32Array {
  const rows: number[] = [];
  control.actions.batch.forEach((of, row) => {
    if (of === batch) rows.push(row);
  });
  return Uint32Array.from(rows);
}

/** How many decisions of a batch stand for themselves: what was placed at the start is told in one row. */
export const listedMoves = (control: Control, rows: Uint32Array): number =>
  rows.reduce((sum, row) => sum + (control.actions.moved[row] ?? 0), 0);
