// A diagnosis of files: what is decoded, rows and joined columns of the lattice, words, the state in the URL.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import { PayloadError } from "../../src/api/read";
import { CELL_STATES, type Diagnosed } from "../../src/api/payload";
import {
  diagnosedHashOf,
  DIAGNOSED_START,
  diagnosedStateOf,
  joinedRanks,
  latticeGrid,
  latticeRows,
  marked,
  NEVER,
  openByCell,
} from "../../src/model/lattice";
import { lightness, THEMES } from "../../src/ui/colors";
import { stateColor } from "../../src/views/diagnosed/lattice_draw";
import { beyond, partsOption } from "../../src/views/diagnosed/what_if_charts";
import { cellLines } from "../../src/views/diagnosed/words";
import { diagnosedReport } from "../diagnosed.mjs";

function of(payload: unknown): Diagnosed {
  const told = decodePayload(payload)?.diagnosed;
  if (!told) throw new Error("no diagnosis");
  return told;
}
const told = of(diagnosedReport({ slow: true }));
const lattice = told.lattice;
if (!lattice) throw new Error("no lattice");
const large = of(
  diagnosedReport({ lattice: { ranks: 1000, communicators: 500, culprit: 617 } }),
).lattice;
if (!large) throw new Error("no lattice");

describe("decoding", () => {
  it("reads causes, evidence and the lattice", () => {
    expect(told.causes[0]?.follows).toEqual([1]);
    expect(told.findings[0]?.evidence[0]?.sources[0]).toEqual({
      file: "dumps/_dump_8",
      place: "entry 3 of 5",
    });
    expect(lattice.cells.rows).toBe(16 + 16 + 16);
    expect(told.what_if[0]?.slowdown).toEqual([1.179, 1.005]);
  });
  it.each([
    ["causes", [{ ...told.causes[0], findings: [7] }], "payload.diagnosed.causes[0].findings[0]"],
    ["ideals", ["one"], "payload.diagnosed.ideals"],
    ["well", 1, "payload.diagnosed.well"],
    ["lattice", { states: ["done"] }, "payload.diagnosed.lattice.states"],
    ["what_if", [{ file: 1 }], "payload.diagnosed.what_if[0].file"],
  ])("names what is wrong in %s", (key, value, place) => {
    const payload = diagnosedReport();
    const broken = { ...payload, diagnosed: { ...payload.diagnosed, [key]: value } };
    expect(() => decodePayload(broken)).toThrow(place);
  });
  it("never does anything but throw its own error on damaged JSON", () => {
    const whole = JSON.stringify(diagnosedReport({ slow: true }).diagnosed);
    const keys = Object.keys(JSON.parse(whole) as object);
    for (const key of keys)
      for (const value of [null, -1, 1e300, "x", [], {}, [null], [[]]]) {
        const diagnosed = { ...(JSON.parse(whole) as object), [key]: value };
        try {
          decodePayload({ ...diagnosedReport(), diagnosed });
        } catch (error) {
          expect(error).toBeInstanceOf(PayloadError);
        }
      }
  });
});

describe("lattice", () => {
  it("joins communicators of one purpose and opens them", () => {
    const rows = latticeRows(lattice, null);
    expect(rows.map(({ label, groups }) => [label, groups.length])).toEqual([
      ["default 0", 1],
      ["TENSOR_MODEL_PARALLEL_GROUP", 2],
      ["DATA_PARALLEL_GROUP", 5],
    ]);
    const open = latticeRows(lattice, 1);
    expect(open.map(({ label }) => label)[2]).toBe("TENSOR_MODEL_PARALLEL_GROUP 1");
    expect(open).toHaveLength(5);
    expect(latticeRows(lattice, 0)).toHaveLength(3);
  });
  it("shows the worst of what a column joins, and never loses a culprit", () => {
    const rows = latticeRows(large, null);
    const per = joinedRanks(1000, 900, 6);
    expect(per).toBe(7);
    const begin = performance.now();
    const grid = latticeGrid(large, rows, 0, 1000, per);
    expect(performance.now() - begin).toBeLessThan(200);
    const column = Math.floor(617 / per);
    const states = grid.map((cells) => large.cells.state[cells[column] ?? -1]);
    expect(states[1]).toBe(NEVER);
    expect(marked(large)).toEqual([617]);
    expect(grid[0]).toHaveLength(Math.ceil(1000 / per));
    const zoomed = latticeGrid(large, rows, 616, 618, 1);
    expect(zoomed[1]?.[1]).toBe(grid[1]?.[column]);
    // Of an opened purpose with many communicators those are shown that do not go on.
    const open = latticeRows(large, 1);
    expect(open.some(({ groups }) => groups.includes(Math.floor(617 / 8) + 1))).toBe(true);
    expect(open.length).toBeLessThan(60);
  });
  it("tells the pending collective, its number and the line of the program", () => {
    const cell = lattice.cells.state.indexOf(NEVER);
    const lines = cellLines(lattice, cell, openByCell(lattice).get(cell), false);
    expect(lines).toEqual([
      "never enqueued",
      "all-reduce 42, the first of 3",
      "last enqueued 41, last ended 41",
      "asked for at train.py:118 forward_backward",
      "rank 10: has nothing pending",
    ]);
  });
  it("has colours that stand apart from the page and each other", () => {
    for (const theme of Object.values(THEMES)) {
      const colors = CELL_STATES.map((_, state) => stateColor(state, theme));
      expect(new Set(colors).size).toBe(CELL_STATES.length);
      for (const color of colors.slice(2))
        expect(Math.abs(lightness(color) - lightness(theme.page))).toBeGreaterThan(0.2);
    }
  });
});

describe("what-if bars", () => {
  it("have both ideals and the time beyond them", () => {
    const parts = told.what_if[0]?.ranks ?? [];
    const option = partsOption(parts, ({ name }) => name, told.ideals, THEMES.light);
    const series = option.series as { name: string; data: number[] }[];
    expect(series.map(({ name }) => name)).toEqual(told.ideals);
    expect(series[0]?.data.at(-1)).toBeCloseTo(1, 12);
  });

  it("tell no more digits than a replay is good for", () => {
    const told = [0.23192, 0.00248, 0.0000342, -0.0000032, -0.0169, 0].map(beyond);
    expect(told.map((one) => one.replace(/\s/u, " "))).toEqual([
      "+23.2 %",
      "+0.25 %",
      "0 %",
      "0 %",
      "−1.7 %",
      "0 %",
    ]);
  });

  it("show names of a trace as text, never as markup", () => {
    const parts = (told.what_if[0]?.kinds ?? []).map((part) => ({ ...part, name: "<img src=x>" }));
    const option = partsOption(parts, ({ name }) => name, told.ideals, THEMES.light);
    const tooltip = option.tooltip as { formatter: (at: { dataIndex: number }) => string };
    expect(tooltip.formatter({ dataIndex: 0 })).toMatch(/^&#60;img src=x&#62;<br>/);
  });
});

describe("state", () => {
  it("is in the hash, and wrong values are as at the start", () => {
    const state = { finding: 3, evidence: 1, kind: 2, from: 8, to: 64 };
    expect(diagnosedStateOf(diagnosedHashOf(state))).toEqual(state);
    expect(diagnosedHashOf(DIAGNOSED_START)).toBe("");
    expect(diagnosedStateOf("#finding=-1&kind=x")).toEqual(DIAGNOSED_START);
  });
});
