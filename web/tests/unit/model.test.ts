// Numbers the page derives: windows, classes, layout, lanes, differences, and the state in the URL.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import type { Payload, Run } from "../../src/api/payload";
import { byClass, cumulative, histogram, quantile } from "../../src/model/distribution";
import {
  buildFabric,
  kindOf,
  LINK_CLASSES,
  linksAt,
  reached,
  sameFabric,
} from "../../src/model/fabric";
import { exposedRows, figureRows, keyFigures } from "../../src/model/figures";
import { buildLanes, firstEndingAfter } from "../../src/model/lanes";
import { layOut, rectOf } from "../../src/model/layout";
import { activity, deviceLoad, linkLoad, scaleTop } from "../../src/model/load";
import { hashOf, START, stateOf, type PageState } from "../../src/model/page_state";
import {
  emptyRun,
  largeComparison,
  sameFabricComparison,
  smallComparison,
  smallReport,
} from "../sample.mjs";

function decoded(value: unknown): Payload {
  const payload = decodePayload(value);
  if (payload === null) throw new Error("decoded to nothing");
  return payload;
}
const first = (value: unknown): Run => {
  const [run] = decoded(value).runs;
  if (run === undefined) throw new Error("no run");
  return run;
};

describe("fabric", () => {
  const run = first(smallReport());
  const fabric = buildFabric(run);
  it("knows the links of a leaf: its hosts and the spines of its plane, both ways", () => {
    const leaf = fabric.rowByName.get("leaf-0-2-r3p1") ?? -1;
    expect(kindOf(run, leaf)).toBe("leaf");
    expect(linksAt(fabric, leaf).length).toBe(2 * (16 + 8));
    const names = [...reached(fabric, leaf)].map((row) => run.devices.name.at(row));
    expect(names.filter((name) => name.startsWith("host-0-2-")).length).toBe(16);
    expect(names.filter((name) => name.startsWith("spine-0-1-")).length).toBe(8);
    expect(names.length).toBe(24);
  });
  it("sorts links into tier classes that together are all links", () => {
    const classes = byClass(fabric, run.links.utilization);
    expect(classes.map((c) => c.links)).toEqual([1024, 1024, 512, 512, 0, 0, 0]);
    expect(LINK_CLASSES[2].name).toBe("leaf to spine");
    expect(classes.reduce((sum, c) => sum + c.bytes, 0)).toBeCloseTo(
      run.links.bytes.reduce((a, b) => a + b, 0),
      -3,
    );
  });
  it("subtracts only equal fabrics", () => {
    const [a, b] = decoded(sameFabricComparison()).runs;
    const [c, d] = decoded(smallComparison()).runs;
    expect(a && b && sameFabric(a, b)).toBe(true);
    expect(c && d && sameFabric(c, d)).toBe(false);
  });
});

describe("load", () => {
  const run = first(smallReport());
  const fabric = buildFabric(run);
  it("takes the link table for the whole run and the series for a window", () => {
    expect(linkLoad(run, null, "worst").values).toBe(run.links.utilization);
    const bin = run.link_bins?.bin_ps ?? 0;
    const one = linkLoad(run, { from_ps: 5 * bin, to_ps: 6 * bin }, "worst");
    expect(one.withoutSeries).toBe(0);
    const series = Array.from(run.link_bins?.utilization.subarray(7 * 60, 8 * 60) ?? []);
    const mean = series.reduce((a, b) => a + b, 0) / 60;
    expect(one.values[7]).toBeCloseTo(
      ((series[5] ?? 0) / mean) * (run.links.utilization_mean[7] ?? 0),
      5,
    );
    const all = linkLoad(run, { from_ps: 0, to_ps: run.duration_ps }, "worst");
    expect(all.values[7]).toBeCloseTo(run.links.utilization_mean[7] ?? 0, 5);
  });
  it("gives a device its worst link, and the direction asked for", () => {
    const { values } = linkLoad(run, null, "worst");
    const leaf = fabric.rowByName.get("leaf-0-0-r0p0") ?? -1;
    const worst = Math.max(...Array.from(linksAt(fabric, leaf), (link) => values[link] ?? 0));
    expect(deviceLoad(fabric, values, "all", "worst")[leaf]).toBe(worst);
    const up = deviceLoad(fabric, values, "up", "worst")[leaf] ?? 0;
    const down = deviceLoad(fabric, values, "down", "worst")[leaf] ?? 0;
    expect(Math.max(up, down)).toBe(worst);
    expect(deviceLoad(fabric, values, "all", "mean")[leaf]).toBeLessThan(worst);
  });
  it("chooses round tops for scales and a normalised curve of activity", () => {
    expect(scaleTop([Float32Array.of(0.03, Number.NaN)])).toBe(0.05);
    expect(scaleTop([Float32Array.of(-0.3)])).toBe(0.4);
    expect(Math.max(...activity(run))).toBe(1);
    expect(Math.max(...activity({ ...run, link_bins: null }))).toBe(1);
    expect(activity(first(emptyRun())).every((value) => value === 0)).toBe(true);
  });
});

describe("layout", () => {
  it("places every switch once, apart, inside the map; spines above the leaves of their plane", () => {
    for (const run of decoded(largeComparison()).runs) {
      const fabric = buildFabric(run);
      const layout = layOut(fabric);
      const switches = Array.from({ length: run.devices.rows }, (_, row) => row).filter(
        (row) => kindOf(run, row) !== "host",
      );
      expect(layout.switches).toEqual(switches);
      const boxes = switches.map((row) => ({
        row,
        ...(rectOf(layout, row) ?? { x: -1, y: -1, w: 0, h: 0 }),
      }));
      for (const box of boxes) {
        expect(box.x).toBeGreaterThanOrEqual(0);
        expect(box.x + box.w).toBeLessThanOrEqual(layout.width + 0.01);
        expect(box.y + box.h).toBeLessThanOrEqual(layout.height + 0.01);
      }
      boxes.sort((a, b) => a.y - b.y || a.x - b.x);
      for (let i = 1; i < boxes.length; i++) {
        const [a, b] = [boxes[i - 1], boxes[i]];
        if (a && b && a.y === b.y) expect(a.x + a.w).toBeLessThanOrEqual(b.x + 0.01);
      }
      const pairs = layout.ports.host.length;
      expect(pairs).toBe(byClass(fabric, run.links.utilization)[0]?.links);
    }
  });
  it("puts each host's port inside its leaf", () => {
    const run = first(smallReport());
    const fabric = buildFabric(run);
    const layout = layOut(fabric);
    const leaf = fabric.rowByName.get("leaf-0-1-r2p0") ?? -1;
    const box = rectOf(layout, leaf);
    expect(box).not.toBeNull();
    const { start, x, y, w, h } = layout.ports;
    expect((start[leaf + 1] ?? 0) - (start[leaf] ?? 0)).toBe(16);
    for (let port = start[leaf] ?? 0; port < (start[leaf + 1] ?? 0); port++) {
      expect(x[port]).toBeGreaterThan(box?.x ?? 0);
      expect((x[port] ?? 0) + (w[port] ?? 0)).toBeLessThan((box?.x ?? 0) + (box?.w ?? 0));
      expect((y[port] ?? 0) + (h[port] ?? 0)).toBeLessThan((box?.y ?? 0) + (box?.h ?? 0));
    }
  });
  it("survives a fabric without devices", () => {
    expect(layOut(buildFabric(first(emptyRun()))).switches).toEqual([]);
  });
});

describe("lanes", () => {
  const run = first(smallReport());
  it("order stages as people count, axes as a step uses them, and hold every span once", () => {
    const lanes = buildLanes(run.timeline, []);
    expect(lanes.map((lane) => lane.name)).toEqual(
      Array.from({ length: 8 }, (_, i) => `stage ${i}`),
    );
    expect(lanes[3]?.rows.map((row) => row.axis)).toEqual(["compute", "tp", "ep", "pp", "dp_ep"]);
    expect(
      lanes.reduce((sum, lane) => sum + lane.rows.reduce((n, row) => n + row.spans.length, 0), 0),
    ).toBe(run.timeline.rows);
    expect(buildLanes(run.timeline, ["tp", "ep"])[3]?.rows.map((row) => row.axis)).toEqual([
      "compute",
      "pp",
      "dp_ep",
    ]);
  });
  it("find the first span that is not yet over", () => {
    const spans = buildLanes(run.timeline, [])[0]?.rows[0]?.spans ?? new Uint32Array(0);
    const end = run.timeline.end_ps[spans[4] ?? 0] ?? 0;
    expect(firstEndingAfter(run.timeline, spans, end - 1)).toBe(4);
    expect(firstEndingAfter(run.timeline, spans, end)).toBe(5);
    expect(firstEndingAfter(run.timeline, spans, 1e18)).toBe(spans.length);
  });
});

describe("figures", () => {
  const { runs } = decoded(smallComparison());
  it("subtract the baseline and say which way is better", () => {
    const rows = figureRows(runs);
    const step = rows.find((row) => row.name === "step_time");
    expect(step?.difference).toBe(-522e9);
    expect(step?.change).toBeCloseTo(-0.1396, 4);
    expect(step?.verdict).toBe("better");
    expect(rows.find((row) => row.name === "mfu")?.verdict).toBe("better");
    expect(rows.find((row) => row.name === "wall_s")?.verdict).toBe("same");
    expect(rows.find((row) => row.name === "jct")?.difference).toBeNull();
  });
  it("lead with three figures that have values", () => {
    expect(keyFigures(figureRows(runs)).map((row) => row.name)).toEqual([
      "step_time",
      "tokens_per_s",
      "mfu",
    ]);
  });
  it("align axes that only one run has", () => {
    const [a, b] = runs;
    if (!a || !b) throw new Error("two runs");
    const rows = exposedRows([{ ...a, exposed: a.exposed.filter((e) => e.axis !== "ep") }, b]);
    expect(rows.map((row) => row.axis)).toEqual(["compute", "tp", "ep", "pp", "dp_ep"]);
    expect(rows[2]?.runs[0]).toBeNull();
  });
});

describe("distributions", () => {
  const sorted = Float32Array.of(0, 0.1, 0.2, 0.2, 1);
  it("give nearest-rank quantiles", () => {
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
    expect(quantile([1, 2, 4], 0.75)).toBe(3);
    expect(quantile([1, 2, 3, 4], 1)).toBe(4);
    expect(quantile([], 0.5)).toBeNaN();
  });
  it("count every value in a bin and end at one", () => {
    const points = histogram(sorted, 1, 10).slice(0, 10);
    expect(points.reduce((sum, [, share]) => sum + share, 0)).toBeCloseTo(1, 9);
    expect(cumulative(sorted, 1, 10).at(-1)).toEqual([1, 1]);
    expect(cumulative(sorted, 1, 10)[0]).toEqual([0, 0.2]);
  });
});

describe("page state", () => {
  const state: PageState = {
    view: "map",
    run: 1,
    job: "a b",
    device: 17,
    link: 4,
    list: "moves",
    flow: 12,
    pair: [3, 40],
    epoch: 2,
    move: 7,
    batch: 5,
    action: 31,
    standstill: 2,
    at: 1.5e12,
    window: { from_ps: 1e12, to_ps: 2e12 },
    direction: "up",
    statistic: "mean",
    curve: "cumulative",
    mapMode: "difference",
    queueValue: "paused",
    topLinks: 100,
    finding: 3,
    findingSort: "since",
    matrixLevel: "leaf",
    matrixValue: "median",
    matrixBlock: [480, 12],
    hiddenAxes: ["tp", "dp_ep"],
  };
  it("goes into the URL and comes back", () => {
    expect(stateOf(hashOf(state))).toEqual(state);
    expect(hashOf(START)).toBe("");
    expect(stateOf("")).toEqual(START);
  });
  it("ignores what it does not know", () => {
    expect(
      stateOf("#view=hack&device=-3&time=9-1&run=x&link=1e9&pair=3&list=all&epoch=-1"),
    ).toEqual(START);
  });
});
