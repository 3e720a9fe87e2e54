// Traffic inside hosts: what is decoded, panels and lines of a sweep, pictures, the state in the URL.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import { PayloadError } from "../../src/api/read";
import type { Intranode } from "../../src/api/payload";
import {
  intranodeHashOf,
  INTRANODE_START,
  intranodeStateOf,
  lineAxis,
  panelsOf,
} from "../../src/model/intranode";
import { THEMES } from "../../src/ui/colors";
import { lineColor, partColor, partsOption, rateOption } from "../../src/views/intranode/charts";
import { pointColumns, saturationColumns } from "../../src/views/intranode/columns";
import { intranodeReport } from "../intranode.mjs";

function of(payload: unknown): Intranode {
  const told = decodePayload(payload)?.intranode;
  if (!told) throw new Error("no traffic inside hosts");
  return told;
}
const told = of(intranodeReport());

describe("decoding", () => {
  it("reads points by choice and load", () => {
    expect(told.points.rows).toBe(2 * 3 * 5);
    expect(told.points.offered_rate[1]).toBeCloseTo(8 * 128e9 * 0.4);
    expect(told.points.parts.inter).toHaveLength(7);
    expect(told.points.latency.inter[2 * 5]).toBeNaN();
    expect(told.saturated).toEqual([0.8, null, null, 0.2, 0.4, null]);
  });
  it.each([
    ["loads", [0.4, 0.2], "payload.intranode.loads"],
    ["choices", [[0, 9]], "payload.intranode.choices[0][1]"],
    ["saturated", [null], "payload.intranode.saturated has 1 entries"],
    ["orders", [[{ part: 7, load: 1 }]], "payload.intranode.orders[0][0].part"],
    ["parts", ["one"], "payload.intranode.parts"],
    ["short_of", "few", "payload.intranode.short_of"],
  ])("names what is wrong in %s", (key, value, place) => {
    const payload = intranodeReport();
    const broken = { ...payload, intranode: { ...payload.intranode, [key]: value } };
    expect(() => decodePayload(broken)).toThrow(place);
  });
  it("never does anything but throw its own error on damaged JSON", () => {
    const whole = JSON.stringify(intranodeReport().intranode);
    const damage = [null, -1, 1e300, "x", [], {}, [null], [[]]];
    const keys = Object.keys(JSON.parse(whole) as object);
    for (const key of keys)
      for (const value of damage) {
        const intranode = { ...(JSON.parse(whole) as object), [key]: value };
        try {
          decodePayload({ ...intranodeReport(), intranode });
        } catch (error) {
          expect(error).toBeInstanceOf(PayloadError);
        }
      }
  });
  it("counts the rows of points", () => {
    const payload = intranodeReport();
    payload.intranode.loads.push(1.2);
    expect(() => decodePayload(payload)).toThrow("points has 30 rows; expected 36");
  });
});

describe("panels", () => {
  it("has lines by pattern, and by another axis where asked", () => {
    expect(lineAxis(told, null)).toBe(1);
    const panels = panelsOf(told, 1);
    expect(panels.map(({ title }) => title)).toEqual(["nvlink 128 Gbps", "nvlink 512 Gbps"]);
    expect(panels[1]?.lines.map(({ name, choice }) => [name, choice])).toEqual([
      ["c1", 3],
      ["c3", 4],
      ["c5", 5],
    ]);
    expect(lineAxis(told, "fabric.host.nvlink")).toBe(0);
    expect(panelsOf(told, 0).map(({ lines }) => lines.length)).toEqual([2, 2, 2]);
    const one = of(intranodeReport({ rates: ["512 Gbps"], patterns: ["c1"] }));
    expect(lineAxis(one, null)).toBeNull();
    expect(panelsOf(one, null)).toHaveLength(1);
  });
  it("draws each line with its knee, and bars that add up to the latency", () => {
    const panel = panelsOf(told, 1)[1];
    if (!panel) throw new Error("no panel");
    const theme = THEMES.light;
    const series = rateOption(told, panel, "inside", theme).series as {
      id: string;
      data: unknown[];
    }[];
    expect(series.filter(({ id }) => !id.startsWith("knee"))).toHaveLength(6);
    const knee = series.find(({ id }) => id === "knee between 3");
    expect(knee?.data).toEqual([[0.2, 138e9]]);
    expect(series.find(({ id }) => id === "knee between 5")?.data).toEqual([]);
    const all = rateOption(told, panel, "all", theme).series as {
      id: string;
      data: [number, number][];
    }[];
    const sums = all.find(({ id }) => id === "all 3")?.data;
    expect(sums).toHaveLength(5);
    expect(sums?.map(([, rate]) => rate)).toEqual(
      [0, 1, 2, 3, 4].map(
        (at) =>
          (told.points.intra_rate[3 * 5 + at] ?? 0) + (told.points.inter_rate[3 * 5 + at] ?? 0),
      ),
    );
    // Between hosts C5 has nothing, and no tick but zero.
    const c5 = panelsOf(told, 0).find(({ title }) => title.includes("c5"));
    if (!c5) throw new Error("no panel of c5");
    const axes = rateOption(told, c5, "all", theme).yAxis as {
      max?: number;
      axisLabel: { formatter: (value: number) => string };
    }[];
    expect(axes.map(({ max }) => max)).toEqual([undefined, 1]);
    expect(axes[1]?.axisLabel.formatter(0.5)).toBe("");
    const bars = partsOption(told, panel, "inter", theme).series as {
      stack: string;
      data: number[];
    }[];
    // Under c5 nothing leaves: it has no bars.
    expect(bars).toHaveLength(2 * 7);
    const whole = bars
      .filter(({ stack }) => stack === "3")
      .reduce((sum, { data }) => sum + (data[4] ?? 0), 0);
    expect(whole).toBeCloseTo(told.points.latency.inter[3 * 5 + 4] ?? 0, 12);
  });
  it("has a colour of its own for each line and part", () => {
    for (const theme of Object.values(THEMES)) {
      const seven = Array.from({ length: 7 }, (_, i) => i);
      expect(new Set(seven.map((value) => lineColor({ value }, theme))).size).toBe(7);
      expect(new Set(seven.map((part) => partColor(part, theme))).size).toBe(7);
    }
  });
});

describe("tables", () => {
  it("say from which load on, and in which order", () => {
    const columns = saturationColumns(told);
    const text = (row: number): string[] =>
      columns.map((column) => (column.text ? column.text(row) : String(column.value(row))));
    expect(text(3)).toEqual([
      "512 Gbps",
      "c1",
      "20\u00a0%",
      "target NIC 20\u00a0%, source intra 100\u00a0%",
    ]);
    expect(text(5)[2]).toBe("never");
    const last = pointColumns(told).at(-1);
    expect(last?.text?.(10)).toBe("–");
  });
});

describe("state", () => {
  it("is in the hash, and wrong names are as at the start", () => {
    const state = { lines: "fabric.host.nvlink", above: "all", messages: "intra" } as const;
    expect(intranodeStateOf(intranodeHashOf(state))).toEqual(state);
    expect(intranodeHashOf(INTRANODE_START)).toBe("");
    expect(intranodeStateOf("#messages=all")).toEqual(INTRANODE_START);
  });
});
