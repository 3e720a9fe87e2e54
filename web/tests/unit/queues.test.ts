// Queues, completion times, pauses and engines as numbers; and that damaged packets are named with their place.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import type { Payload, Queues, Run } from "../../src/api/payload";
import { enginePair } from "../../src/model/engines";
import { buildFabric } from "../../src/model/fabric";
import {
  binsOf,
  fctAt,
  fctCurve,
  linkLabel,
  pauseRows,
  queuePicture,
  valueAt,
} from "../../src/model/queues";
import { ticksOf } from "../../src/model/throughput";
import { logEnds, logTicks } from "../../src/views/queues/charts";
import { cellAt, heightOf, placed, type HeatFrame } from "../../src/views/queues/draw";
import { THEMES } from "../../src/ui/colors";
import { engineComparison, packetComparison, packetReport } from "../packets.mjs";
import { numbers, smallComparison, smallReport } from "../sample.mjs";

function decoded(value: unknown): Payload {
  const payload = decodePayload(value);
  if (payload === null) throw new Error("decoded to nothing");
  return payload;
}
function first(value: unknown): { run: Run; queues: Queues } {
  const [run] = decoded(value).runs;
  if (!run?.packets?.queues) throw new Error("no queues");
  return { run, queues: run.packets.queues };
}

describe("queues over time", () => {
  const { run, queues } = first(packetReport());
  const fabric = buildFabric(run);
  const whole = run.duration_ps;

  it("shows the links with the highest peaks, grouped by hop, the worst of a group first", () => {
    const picture = queuePicture(fabric, queues, "bytes", 20, 0, whole);
    expect(picture.shown).toBe(20);
    expect(picture.groups.map(({ name }) => name)).toEqual([
      "leaf to host",
      "leaf to spine",
      "spine to leaf",
    ]);
    const peaks = picture.groups.flatMap(({ rows }) => rows.map(({ peak }) => peak));
    const all = Array.from({ length: queues.links.rows }, (_, row) =>
      Math.max(...queues.bytes.subarray(row * queues.bins, (row + 1) * queues.bins)),
    ).sort((a, b) => b - a);
    expect([...peaks].sort((a, b) => b - a)).toEqual(all.slice(0, 20));
    expect(picture.peak).toBe(all[0]);
    for (const { rows } of picture.groups)
      expect(rows.map(({ peak }) => peak)).toEqual(
        rows.map(({ peak }) => peak).sort((a, b) => b - a),
      );
    const links = picture.groups.reduce((sum, { total }) => sum + total, 0);
    expect(links).toBeLessThanOrEqual(queues.links.rows);
  });
  it("follows the time window and leaves links at rest out", () => {
    const [from, to] = [whole * 0.3, whole * 0.35];
    const here = queuePicture(fabric, queues, "bytes", 500, from, to);
    const [start, end] = binsOf(queues, from, to);
    for (const { rows } of here.groups)
      for (const { row, peak } of rows) {
        expect(peak).toBeGreaterThan(0);
        let most = 0;
        for (let bin = start; bin < end; bin++)
          most = Math.max(most, valueAt(queues, "bytes", row, bin));
        expect(peak).toBe(most);
      }
    expect(here.shown).toBeLessThan(queuePicture(fabric, queues, "bytes", 500, 0, whole).shown);
  });
  it("gives pauses as parts of time", () => {
    const picture = queuePicture(fabric, queues, "paused", 50, 0, whole);
    expect(picture.peak).toBeGreaterThan(0);
    expect(picture.peak).toBeLessThanOrEqual(1);
    expect(picture.groups.some(({ name }) => name === "leaf to host")).toBe(false);
  });
  it("keeps bins inside the run, at least one", () => {
    expect(binsOf(queues, 0, whole)).toEqual([0, queues.bins]);
    expect(binsOf(queues, whole, whole)).toEqual([queues.bins - 1, queues.bins]);
    expect(binsOf(queues, 0, 1)).toEqual([0, 1]);
  });
  it("names a link by its ends, the one nearer to hosts by its port", () => {
    const names = Array.from({ length: queues.links.rows }, (_, row) =>
      linkLabel(queues.links, row),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("leaf-0-0-r0p0:uplink-0 → spine-0-0-0");
    expect(names).toContain("spine-0-0-0 → leaf-0-0-r0p0:uplink-0");
  });
  it("finds the cell under a point", () => {
    const { groups } = queuePicture(fabric, queues, "bytes", 20, 0, whole);
    const frame: HeatFrame = {
      width: 1000,
      gutter: 200,
      foot: 26,
      from_ps: 0,
      to_ps: whole,
      row_px: 15,
      head_px: 22,
    };
    const rows = placed(groups, frame);
    expect(rows.length).toBe(20);
    expect(heightOf(groups, frame)).toBe((rows.at(-1)?.y ?? 0) + 15 + 26);
    const picture = {
      queues,
      groups,
      value: "bytes" as const,
      top: 1,
      theme: THEMES.light,
      marks: [],
      brush: null,
    };
    const third = rows[2];
    expect(cellAt(picture, frame, 200 + 400, (third?.y ?? 0) + 3)).toEqual({
      row: third?.at.row,
      bin: queues.bins / 2,
    });
    expect(cellAt(picture, frame, 100, (third?.y ?? 0) + 3)).toBeNull();
    expect(cellAt(picture, frame, 600, 5)).toBeNull();
  });
});

describe("completion times", () => {
  const { run } = first(packetReport());
  const fct_ps = run.packets?.fct.fct_ps ?? new Float64Array(0);
  it("rise from none to all", () => {
    const curve = fctCurve(fct_ps);
    expect(curve[0]).toEqual([fct_ps[0], 0]);
    expect(curve.at(-1)).toEqual([fct_ps.at(-1), 1]);
    expect(fctAt(fct_ps, 1)).toBe(fct_ps.at(-1));
    expect(fctCurve(new Float64Array(0))).toEqual([]);
    expect(fctCurve(Float64Array.of(5))).toEqual([
      [5, 0],
      [5, 1],
    ]);
  });
  it("stand on an axis of round ends", () => {
    expect(logEnds(2.2e7, 1.9e9)).toEqual([2e7, 2e9]);
    expect(logEnds(1e6, 1e6)).toEqual([5e5, 2e6]);
    expect(logTicks(2e7, 2e8)).toEqual([2e7, 5e7, 1e8, 2e8]);
    expect(logTicks(1e3, 1e9).length).toBe(7);
  });
});

describe("pauses", () => {
  it("are named by who sends the frames, against the link that stops", () => {
    const { runs } = decoded(packetComparison());
    const rows = pauseRows(runs);
    expect(rows.filter(({ run }) => run === 0).length).toBe(4);
    const up = rows.find(({ sender, receiver }) => sender === "spine" && receiver === "leaf");
    expect(up?.frames).toBeGreaterThan(0);
    expect(up?.frames_per_s).toBeCloseTo((up?.frames ?? 0) / 0.024, 6);
    expect(pauseRows(decoded(smallReport()).runs)).toEqual([]);
  });
  it("are ticks of their own word", () => {
    const report = packetReport();
    const [tick] = ticksOf(first(report).run);
    expect(tick).toMatchObject({ label: "paused", repair: false });
  });
});

describe("two engines", () => {
  it("are compared by operations of one number and links of one row", () => {
    const { runs } = decoded(engineComparison());
    const pair = enginePair(runs);
    expect(pair?.flow.name).toBe("flows");
    expect(pair?.operations.length).toBe(24);
    expect(pair?.unmatched).toBe(0);
    const [a, b] = [runs[0]?.operations, runs[1]?.operations];
    const one = pair?.operations[7];
    expect(one?.difference_ps).toBe((b?.end_ps[7] ?? 0) - (a?.end_ps[7] ?? 0));
    expect(pair?.links.length).toBe(runs[0]?.links.rows);
    const turned = enginePair([...runs].reverse());
    expect([turned?.flow.name, turned?.packetRun]).toEqual(["flows", 0]);
    expect(turned?.operations).toEqual(pair?.operations);
  });
  it("are no pair on other fabrics, under one engine, or alone; other jobs share no operation", () => {
    expect(enginePair(decoded(smallComparison()).runs)).toBeNull();
    expect(enginePair(decoded(packetComparison()).runs)).toBeNull();
    expect(enginePair(decoded(packetReport()).runs)).toBeNull();
    const other = engineComparison();
    const [flow] = other.runs;
    if (flow?.operations)
      flow.operations.columns["operation"] = numbers(
        "u32",
        Array.from({ length: 24 }, (_, i) => i + 12),
      );
    const pair = enginePair(decoded(other).runs);
    expect(pair?.operations).toEqual([]);
    expect(pair?.unmatched).toBe(48);
  });
});

describe("damaged packets", () => {
  function broken(change: (packets: never) => void): () => unknown {
    const payload = JSON.parse(JSON.stringify(packetReport())) as { runs: [{ packets: never }] };
    change(payload.runs[0].packets);
    return () => decodePayload(payload);
  }
  it("are refused with the place", () => {
    expect(broken((p: { queues: { bins: number } }) => (p.queues.bins = 7))).toThrow(
      /runs\[0\]\.packets\.queues\.bytes\.data holds \d+ bytes; expected \d+/,
    );
    expect(broken((p: { queues: { bin_ps: number } }) => (p.queues.bin_ps = 0))).toThrow(
      /queues\.bin_ps is 0; expected more than 0/,
    );
    expect(
      broken((p: { fct: { times: unknown } }) => {
        p.fct.times = { rows: 2, columns: { fct_ps: numbers("f64", [2, 1]) } };
      }),
    ).toThrow(/fct\.times\.columns\.fct_ps row 1 is 1; expected 2 or more, ascending/);
    expect(broken((p: { hops: unknown }) => (p.hops = null))).toThrow(/packets\.hops is null/);
  });
  it("may lack samples", () => {
    const [run] = decoded(
      (() => {
        const payload = packetReport();
        delete payload.runs[0]?.packets?.queues;
        return payload;
      })(),
    ).runs;
    expect(run?.packets?.queues).toBeNull();
  });
});
