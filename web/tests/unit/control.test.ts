// What controllers did: states at a moment, paths per spine, decisions in words, marks and lines; damage is named.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import type { Control, Run, WireControl } from "../../src/api/payload";
import {
  actionsOf,
  countsAt,
  decisionLanes,
  entriesHeld,
  listedMoves,
  pathsPerSpine,
  stateAt,
  whatOf,
  type DecisionMark,
} from "../../src/model/control";
import { buildFabric } from "../../src/model/fabric";
import { linksOf, strokesOf } from "../../src/model/flows";
import { START } from "../../src/model/page_state";
import { actionColumns, batchColumns, linesOf, whenOf } from "../../src/views/map/decisions";
import { controlReport, DECIDED_PS, DIED_PS, HOLDS_PS } from "../control";
import { numbers, smallReport, strings } from "../sample.mjs";

function decoded(change: (control: WireControl) => void = () => {}): Run {
  const payload = controlReport();
  const [wire] = payload.runs;
  if (wire?.control) change(wire.control);
  const [run] = decodePayload(payload)?.runs ?? [];
  if (!run) throw new Error("no run");
  return run;
}
const run = decoded();
const fabric = buildFabric(run);
const control = run.control as Control;
const plain = (text: string | undefined): string => (text ?? "").replace(/\s/g, " ");

describe("states", () => {
  it("hold from their time on", () => {
    const { states } = control;
    expect(
      [0, DIED_PS - 1, DIED_PS, DECIDED_PS, HOLDS_PS - 1, HOLDS_PS, 9e12].map((at) =>
        stateAt(states, at),
      ),
    ).toEqual([0, 0, 1, 2, 2, 3, 3]);
    expect(stateAt(states, -1)).toBe(0);
  });
  it("count paths per spine, all of them at all times, and of one leaf over its own uplinks", () => {
    const first = pathsPerSpine(fabric, control.states, 0, null);
    const last = pathsPerSpine(fabric, control.states, 3, null);
    expect(first.length).toBe(16);
    const sum = (all: typeof first): number => all.reduce((total, { paths }) => total + paths, 0);
    expect(sum(first)).toBeGreaterThan(0);
    expect(sum(last)).toBe(sum(first));
    expect(last.map(({ first: was }) => was)).toEqual(first.map(({ paths }) => paths));
    expect(last.some(({ paths, first: was }) => paths !== was)).toBe(true);
    const leaf =
      run.links.source[
        linksOf(control.batches.left, 1).find((l) => countsAt(control.states.uplinks, 0).has(l)) ??
          0
      ] ?? 0;
    const own = pathsPerSpine(fabric, control.states, 3, leaf);
    expect(own.length).toBe(8); // the spines of its plane
    const dead = own.filter(({ paths, first: was }) => was > 0 && paths === 0);
    expect(dead.length).toBe(1);
  });
  it("count entries of all leaves and of one", () => {
    const all = entriesHeld(run, control.states, 0, null);
    expect(all.entries).toBe(64 * 12 + 7);
    expect(all.most?.entries).toBe(19);
    const leaf = run.devices.kind.indexOf(1);
    expect(entriesHeld(run, control.states, 3, leaf)).toMatchObject({ entries: 13 });
    expect(entriesHeld(run, control.states, 3, 0)).toEqual({ entries: 0, most: null });
  });
});

describe("decisions", () => {
  it("say what they do, when, and what a switch did not take", () => {
    const { batches } = control;
    const moved = batches.moved[1] ?? 0;
    expect(moved).toBeGreaterThan(1);
    expect([0, 1, 2].map((row) => plain(whatOf(batches, row)))).toEqual([
      "places 2048 queue pairs",
      `moves ${moved} queue pairs`,
      "replaces 1 entry",
    ]);
    const when = [0, 1, 2].map((row) => plain(whenOf(batches, row, run.duration_ps)));
    expect(when).toEqual([
      "from the start",
      "decided at 1.200 s, in effect 100 ms later",
      "decided at 2.500 s, not taken by the switch",
    ]);
    expect(plain(whenOf(batches, 1, 1.25e12))).toContain("after the end");
  });
  it("about hosts say which, and that a restart never came", () => {
    const steered = decoded(({ batches, actions }) => {
      batches.columns["action"] = strings(["path", "swap", "restart"]);
      batches.columns["reason"] = strings(["least-used", "ecc-nvlink", "ecc-nvlink"]);
      const rows = actions.rows;
      const last = (text: string): string[] =>
        Array.from({ length: rows }, (_, row) => (row === 1 ? text : ""));
      actions.columns["subject"] = strings(last("host-2"));
      actions.columns["after"] = strings(last("host-6"));
      const batch = Array.from({ length: rows }, (_, row) => Math.min(row, 2));
      actions.columns["batch"] = numbers("u32", batch);
    });
    const { control: own, duration_ps } = steered;
    const mark = (row: number): DecisionMark => ({
      from_ps: 0,
      to_ps: 0,
      batches: [row],
      refused: false,
    });
    const lines = linesOf(own as Control, mark(1), duration_ps).map(plain);
    expect(lines[0]).toMatch(/^c4p moves \d+ ranks \(ecc nvlink\)$/);
    expect(lines.at(-1)).toBe("host-2 to host-6");
    expect(plain(whenOf((own as Control).batches, 2, duration_ps))).toBe(
      "decided at 2.500 s, without effect",
    );
  });
  it("are marks of their controller's lane, joined where they stand close", () => {
    const [lane, ...others] = decisionLanes(control, run.duration_ps);
    expect(others).toEqual([]);
    expect(lane?.controller).toBe("c4p");
    expect(
      lane?.marks.map(({ from_ps, to_ps, batches, refused }) => [from_ps, to_ps, batches, refused]),
    ).toEqual([
      [0, 0, [0], false],
      [DECIDED_PS, HOLDS_PS, [1], false],
      [2.5e12, 2.5e12, [2], true],
    ]);
    const [joined, ...rest] = decisionLanes(control, 1e15)[0]?.marks ?? [];
    expect([joined?.batches, rest, joined?.refused]).toEqual([[0, 1, 2], [], false]);
    const lines = joined ? linesOf(control, joined, 1e15).map(plain) : [];
    expect(lines.length).toBe(3);
    expect(lines[1]).toMatch(/^c4p moves \d+ queue pairs \(least used\), decided at 1\.200 s/);
    const alone = lane?.marks[1] ? linesOf(control, lane.marks[1], run.duration_ps) : [];
    expect(plain(alone[2])).toMatch(/^left \d+ links?, took \d+ links?$/);
    expect(decisionLanes(null, 1)).toEqual([]);
  });
  it("light the links that they left and took up, alone and all of a batch", () => {
    const page = { ...START, list: "actions" as const };
    expect(strokesOf(run, page)).toBeNull();
    expect(strokesOf(run, { ...page, batch: 0 })).toBeNull();
    expect(strokesOf(run, { ...page, batch: 99 })).toBeNull();
    const batch = strokesOf(run, { ...page, batch: 1 });
    const touched = new Set([
      ...linksOf(control.batches.left, 1),
      ...linksOf(control.batches.taken, 1),
    ]);
    expect((batch?.old.size ?? 0) + (batch?.fresh.size ?? 0) + (batch?.kept.size ?? 0)).toBe(
      touched.size,
    );
    const rows = actionsOf(control, 1);
    expect(rows.length).toBe(control.batches.moved[1]);
    expect(listedMoves(control, rows)).toBe(rows.length);
    const one = strokesOf(run, { ...page, batch: 1, action: rows[0] ?? 0 });
    expect([...(one?.old ?? [])]).toEqual([...linksOf(control.actions.left, rows[0] ?? 0)]);
    expect([...(one?.fresh ?? [])]).toEqual([...linksOf(control.actions.taken, rows[0] ?? 0)]);
    expect(strokesOf(run, { ...page, list: "links", batch: 1 })).toBeNull();
  });
  it("stand in tables", () => {
    const shown = batchColumns(control.batches, run.duration_ps);
    const cell = (key: string, row: number): string => {
      const column = shown.find((one) => one.key === key);
      return plain(column?.text ? column.text(row) : String(column?.value(row)));
    };
    expect([cell("decided", 1), cell("effective", 1), cell("effective", 2)]).toEqual([
      "1.200 s",
      "1.300 s",
      "not taken",
    ]);
    const [job, subject, before, after] = actionColumns(run, control, actionsOf(control, 1));
    expect([job?.value(0), subject?.value(0), before?.value(0), after?.value(0)]).toEqual([
      "train",
      "queue pair 0",
      "uplink 7",
      "uplink 3",
    ]);
  });
});

describe("damage", () => {
  const fails = (change: (control: WireControl) => void): unknown => {
    try {
      decoded(change);
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };
  it("is named with its place", () => {
    expect(fails((c) => (c.states.columns["at_ps"] = numbers("f64", [1, 2, 3, 4])))).toContain(
      "control.states.columns.at_ps row 0 is 1; expected 0, the begin of the run",
    );
    expect(fails((c) => (c.states.columns["at_ps"] = numbers("f64", [0, 2, 2, 4])))).toContain(
      "at_ps row 2 is 2; expected more than 2",
    );
    expect(fails((c) => (c.states.uplinks.place = numbers("u32", [999_999])))).toContain(
      "control.states.uplinks.place row 0 is 999999; expected a row of links",
    );
    expect(fails((c) => (c.states.leaves.start = numbers("u32", [0, 9, 3, 3, 3])))).toContain(
      "control.states.leaves.start row 2 is 3; expected 9",
    );
    expect(
      fails(
        (c) => (c.actions.columns["batch"] = numbers("u32", new Array(c.actions.rows).fill(7))),
      ),
    ).toContain("control.actions.columns.batch row 0 is 7; expected a row of batches (3 rows)");
  });
  it("is none where there are no controllers", () => {
    expect(decodePayload(smallReport())?.runs[0]?.control).toBeNull();
  });
});
