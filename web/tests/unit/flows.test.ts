// Flows by link, pairs of hosts, lines of a selection, throughput; and damage to these sections is named.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import type { Flows, Moves, Run } from "../../src/api/payload";
import { buildFabric, endsOf } from "../../src/model/fabric";
import {
  devicesOf,
  flowsAtDevice,
  flowsOfSelection,
  flowsOnLink,
  hostPairs,
  linksOf,
  movesOf,
  pathWords,
  strokesOf,
  waysOver,
} from "../../src/model/flows";
import { START } from "../../src/model/page_state";
import { jobSeries, levels, meanOf, ticksOf } from "../../src/model/throughput";
import { lists, progressSections, smallReport } from "../sample.mjs";

function decoded(change: (run: Record<string, unknown>) => void = () => {}): Run {
  const payload = smallReport();
  change(payload.runs[0] as unknown as Record<string, unknown>);
  const [run] = decodePayload(payload)?.runs ?? [];
  if (!run) throw new Error("no run");
  return run;
}
const run = decoded();
const fabric = buildFabric(run);
const flows = run.flows as Flows;
const moves = run.moves as Moves;
const all = Uint32Array.from({ length: flows.rows }, (_, row) => row);

describe("flows", () => {
  it("are found by link, each path's links once, and by device", () => {
    const link = linksOf(flows.path, 5)[1] ?? 0;
    const on = flowsOnLink(run, link);
    expect(on).toContain(5);
    const wanted = [...all].filter((row) => linksOf(flows.path, row).includes(link));
    expect([...on]).toEqual(wanted);
    const [leaf, spine] = endsOf(run, link);
    expect(flowsAtDevice(fabric, leaf).length).toBeGreaterThanOrEqual(on.length);
    expect(flowsOfSelection(fabric, { pair: null, link, device: spine })).toEqual(on);
    expect(flowsOfSelection(fabric, { pair: null, link: null, device: null })).toEqual(all);
  });
  it("join into pairs of hosts that together are all flows", () => {
    const pairs = hostPairs(run, flows, all);
    expect(pairs.reduce((sum, pair) => sum + pair.flows, 0)).toBe(flows.rows);
    const [pair] = pairs.filter(({ flows: count }) => count > 1);
    const of = flowsOfSelection(fabric, {
      pair: pair ? [pair.source, pair.target] : null,
      link: 0,
      device: 0,
    });
    expect(of.length).toBe(pair?.flows);
    const paths = new Set([...of].map((row) => linksOf(flows.path, row).join()));
    expect(pair?.paths).toBe(paths.size);
  });
  it("draw their path from the source's leaf to the target's, and nothing when none is picked", () => {
    expect(strokesOf(run, START)).toBeNull();
    const strokes = strokesOf(run, { ...START, list: "flows", flow: 7 });
    expect([...(strokes?.kept ?? [])]).toEqual([...linksOf(flows.path, 7)]);
    expect(strokes?.starts.map(([host]) => host)).toEqual([flows.source_host[7]]);
    expect(strokes?.ends.map(([host]) => host)).toEqual([flows.target_host[7]]);
    const lit = strokes ? devicesOf(run, strokes) : new Set();
    expect(lit.has(flows.source_host[7] ?? -1)).toBe(true);
    expect(strokesOf(run, { ...START, list: "flows", flow: 1e6 })).toBeNull();
  });
});

describe("moves", () => {
  it("draw what is given up, what is taken up, and what stays, apart", () => {
    const [first = 0] = movesOf(moves, 1);
    const one = strokesOf(run, { ...START, list: "moves", move: first });
    const [before, after] = [moves.before, moves.after].map((of) => new Set(linksOf(of, first)));
    expect(one?.old.size).toBe(2);
    expect(one?.fresh.size).toBe(2);
    for (const link of one?.old ?? []) expect(before?.has(link) && !after?.has(link)).toBe(true);
    for (const link of one?.fresh ?? []) expect(after?.has(link) && !before?.has(link)).toBe(true);
    for (const link of one?.kept ?? []) expect(after?.has(link) && before?.has(link)).toBe(true);
    const whole = strokesOf(run, { ...START, list: "moves" });
    expect((whole?.fresh.size ?? 0) >= (one?.fresh.size ?? 0)).toBe(true);
    expect(movesOf(moves, 1).length).toBe(moves.epochs[0]?.moved);
  });
  it("name the switches of a path, or those that differ from another", () => {
    const [first = 0] = movesOf(moves, 1);
    const [before, after] = [linksOf(moves.before, first), linksOf(moves.after, first)];
    expect(pathWords(run, before)).toMatch(/^leaf-\S+ › spine-\S+ › leaf-\S+$/);
    expect(pathWords(run, before, after)).toMatch(/^spine-\S+$/);
    expect(pathWords(run, before, before)).toBe(pathWords(run, before));
    expect(pathWords(run, new Uint32Array(0))).toBe("no route");
  });
  it("name spread packets by the number of switches of a hop, and count their ways", () => {
    const [first = 0] = movesOf(moves, 1);
    const [before, after] = [linksOf(moves.before, first), linksOf(moves.after, first)];
    const hops = Array.from(before, (link, hop) => [...new Set([link, after[hop] ?? link])]);
    const spread = Uint32Array.from(hops.flat());
    expect(spread.length).toBeGreaterThan(before.length);
    expect(pathWords(run, spread)).toMatch(/^leaf-\S+ › 2 switches › leaf-\S+$/);
    expect([waysOver(run, before), waysOver(run, spread)]).toEqual([1, 2]);
  });
});

describe("throughput", () => {
  it("is bytes per bucket and steps per second of each step", () => {
    const [train, evaluation] = jobSeries(run);
    expect([train?.job, train?.steps.length, train?.bytes.length]).toEqual(["train", 6, 50]);
    expect(train?.steps[0]?.value).toBeCloseTo(6 / 3.218, 9);
    expect(evaluation?.steps[3]?.to_ps).toBeCloseTo(run.duration_ps, -1);
    const moved = (train?.bytes ?? []).reduce(
      (sum, { from_ps, to_ps, value }) => sum + (value * (to_ps - from_ps)) / 1e12,
      0,
    );
    const wanted = (run.throughput?.bytes ?? []).filter((_, row) => row % 2 === 0);
    expect(moved).toBeCloseTo(
      Array.from(wanted).reduce((a, b) => a + b, 0),
      0,
    );
  });
  it("takes steps from the buckets of a run that kept no steps", () => {
    const without = decoded((wire) => {
      delete wire["steps"];
      Object.assign(wire, { throughput: progressSections(3218e9, 10).throughput });
    });
    const [train] = jobSeries(without);
    expect(train?.steps.length).toBe(10);
    expect(train?.steps[0]?.value).toBeCloseTo(1 / 0.3218, 6);
  });
  it("has levels that break where nothing was recorded, and means by time", () => {
    const parts = [
      { from_ps: 0, to_ps: 10, value: 1 },
      { from_ps: 10, to_ps: 20, value: 3 },
      { from_ps: 30, to_ps: 40, value: 5 },
    ];
    expect(levels(parts)).toEqual([
      [0, 1],
      [10, 1],
      [10, 3],
      [20, 3],
      [20, null],
      [30, 5],
      [40, 5],
    ]);
    expect(meanOf(parts, 5, 15)).toBe(2);
    expect(meanOf(parts, 20, 30)).toBeNaN();
  });
  it("tells repairs from faults, with and without a column of kinds", () => {
    expect(ticksOf(run).map(({ repair }) => repair)).toEqual([false, true]);
    const { incidents } = run;
    const kind = { at: (row: number) => ["up", "down"][row] ?? "" } as typeof incidents.what;
    const kinds = ticksOf({ ...run, incidents: { ...incidents, kind } });
    expect(kinds.map(({ repair }) => repair)).toEqual([true, false]);
  });
});

describe("damage", () => {
  const broken = (change: (run: Record<string, never>) => void) => () =>
    decoded(change as (run: Record<string, unknown>) => void);
  it("names lists that do not ascend or point past the end", () => {
    const many = Array.from({ length: flows.rows }, () => [1]);
    const set = (path: unknown) =>
      broken((wire) => Object.assign(wire["flows"] as object, { path }));
    const past = lists(many.map((_, i) => (i === 3 ? [999_999] : [1])));
    expect(set(past)).toThrow(/flows\.path\.links row 3 is 999999; expected a row of links/);
    const good = lists(many);
    const start = new Uint32Array(flows.rows + 1).fill(9e6);
    const data = Buffer.from(start.buffer).toString("base64");
    expect(set({ ...good, start: { type: "u32", data } })).toThrow(
      /flows\.path\.start row 0 is 9000000; expected 0 to 2048, ascending/,
    );
    expect(set(lists(many.slice(1)))).toThrow(/path\.start\.data holds \d+ bytes; expected/);
    expect(set(undefined)).toThrow(/flows\.path is nothing; expected an object/);
  });
  it("names moves of flows that are not listed, and steps of jobs that are none", () => {
    expect(
      broken((wire) => {
        delete wire["flows"];
      }),
    ).toThrow(/moves\.columns\.flow row 0 is \d+; expected a row of flows \(0 rows\)/);
    expect(broken((wire) => Object.assign(wire, { jobs: ["train"] }))).toThrow(
      /steps\.columns\.job row 6 is 1; expected an index into jobs \(1 jobs\)/,
    );
    expect(broken((wire) => Object.assign(wire, { balance: [{ place: 3 }] }))).toThrow(
      /balance\[0\]\.place is 3; expected text/,
    );
  });
});
