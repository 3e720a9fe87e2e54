// A report whose paths a controller decides: one uplink dies, the decision holds a tenth of a second later.
import { decodePayload } from "../src/api/decode";
import type { WireControl, WirePayload } from "../src/api/payload";
import { linksOf, movesOf } from "../src/model/flows";
import { lists, numbers, smallReport, table } from "./sample.mjs";

export const DIED_PS = 1.1e12;
export const DECIDED_PS = 1.2e12;
export const HOLDS_PS = 1.3e12;

const BATCHES = {
  decided_ps: "f64",
  effective_ps: "f64",
  controller: "str",
  action: "str",
  reason: "str",
  moved: "u32",
  left_total: "u32",
  taken_total: "u32",
};
const ACTIONS = {
  batch: "u32",
  job: "u32",
  moved: "u32",
  subject: "str",
  before: "str",
  after: "str",
};

/** Counts by place, state after state, as what changed. */
function track(states: Map<number, number>[]): WireControl["states"]["uplinks"] {
  const [start, place, count]: number[][] = [[0], [], []];
  let before = new Map<number, number>();
  for (const now of states) {
    for (const [at, value] of [...now].sort(([a], [b]) => a - b))
      if (before.get(at) !== value) {
        place?.push(at);
        count?.push(value);
      }
    for (const at of before.keys())
      if (!now.has(at)) {
        place?.push(at);
        count?.push(0);
      }
    start?.push(place?.length ?? 0);
    before = now;
  }
  return {
    start: numbers("u32", start ?? []),
    place: numbers("u32", place ?? []),
    count: numbers("u32", count ?? []),
  };
}

/** The small report with the moves of its fault as one batch of decisions, another batch not taken, and entries. */
export function controlReport(): WirePayload {
  const payload = smallReport();
  const [wire] = payload.runs;
  const run = decodePayload(smallReport())?.runs[0];
  if (!wire || !run?.moves || !run.flows) throw new Error("no run with moves");
  const { moves, flows, devices, links } = run;
  const moved = [...movesOf(moves, 1)];
  const own = (row: number, of: typeof moves.before, other: typeof moves.before): number[] =>
    [...linksOf(of, row)].filter((link) => !linksOf(other, row).includes(link));
  const left = moved.map((row) => own(row, moves.before, moves.after));
  const taken = moved.map((row) => own(row, moves.after, moves.before));
  const unique = (all: number[][]): number[] => [...new Set(all.flat())];
  const all = [[], unique(left), []];
  const taking = [[], unique(taken), []];
  const isUplink = (link: number): boolean =>
    devices.kind[links.source[link] ?? 0] === 1 && devices.kind[links.target[link] ?? 0] === 2;
  const first = new Map<number, number>();
  const add = (to: Map<number, number>, link: number, by: number): void => {
    if (isUplink(link)) to.set(link, (to.get(link) ?? 0) + by);
  };
  for (let flow = 0; flow < flows.rows; flow++)
    for (const link of linksOf(flows.path, flow)) add(first, link, 1);
  const last = new Map(first);
  left.flat().forEach((link) => add(last, link, -1));
  taken.flat().forEach((link) => add(last, link, 1));
  const leaves = [...devices.kind.keys()].filter((row) => devices.kind[row] === 1);
  const entries = (each: number): Map<number, number> =>
    new Map(leaves.map((leaf, i) => [leaf, i === 3 ? each + 7 : each]));
  wire.control = {
    total: 2 + moved.length,
    batches: {
      ...table(
        [
          [0, 0, "path", "least-used", flows.rows],
          [DECIDED_PS, HOLDS_PS, "path", "least-used", moved.length],
          [2.5e12, Number.NaN, "entry-replace", "links-changed", 1],
        ].map(([decided_ps, effective_ps, action, reason, count], i) => ({
          decided_ps,
          effective_ps,
          controller: "c4p",
          action,
          reason,
          moved: count,
          left_total: all[i]?.length ?? 0,
          taken_total: taking[i]?.length ?? 0,
        })),
        BATCHES,
      ),
      left: lists(all),
      taken: lists(taking),
      left_out: 0,
    },
    actions: {
      ...table(
        [
          [0, flows.rows, `${flows.rows} queue pairs`, "", ""],
          ...moved.map((_, i) => [1, 1, `queue pair ${i}`, "uplink 7", "uplink 3"]),
          [2, 1, "leaf-0-2-r3p1 to prefix 3", "uplink 7", "uplink 4"],
        ].map(([batch, count, subject, before, after]) => ({
          batch,
          job: 0,
          moved: count,
          subject,
          before,
          after,
        })),
        ACTIONS,
      ),
      left: lists([[], ...left, []]),
      taken: lists([[], ...taken, []]),
    },
    states: {
      ...table(
        [
          { at_ps: 0, pending: 0, no_path: 0 },
          { at_ps: DIED_PS, pending: 0, no_path: 2 },
          { at_ps: DECIDED_PS, pending: moved.length, no_path: 2 },
          { at_ps: HOLDS_PS, pending: 0, no_path: 0 },
        ],
        { at_ps: "f64", pending: "u32", no_path: "u32" },
      ),
      uplinks: track([first, first, first, last]),
      leaves: track([entries(12), entries(12), entries(12), entries(13)]),
      left_out: 0,
      until_ps: null,
    },
  };
  return payload;
}
