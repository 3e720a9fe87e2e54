// What a time window shows is of that window: bytes and utilization of links, incidents, queues, lanes of ranks.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import type { Run } from "../../src/api/payload";
import { laneSums } from "../../src/model/chain";
import { byClass } from "../../src/model/distribution";
import { buildFabric } from "../../src/model/fabric";
import { activity, fitted, linkLoad } from "../../src/model/load";
import { marksOf } from "../../src/model/findings";
import { incidentsByDevice } from "../../src/model/places";
import { queuesSeen, slowIn } from "../../src/model/queues";
import { diagnosisReport } from "../diagnosis.mjs";
import { packetReport } from "../packets.mjs";
import { numbers, random, smallComparison, smallReport, strings } from "../sample.mjs";

function there<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("not there");
  return value;
}
const runOf = (payload: unknown): Run => there(decodePayload(payload)?.runs[0]);
const capacity = ({ links }: Run, row: number): number =>
  ((links.capacity_bits_per_s[row] ?? 0) * (links.parallel[row] ?? 1)) / 8e12;

/** Cuts of a run into windows that lie side by side, at places that no bin begins at. */
function cuts(duration_ps: number, parts: number, next: () => number): number[] {
  const inner = Array.from({ length: parts - 1 }, () => next() * duration_ps);
  return [0, ...inner.sort((a, b) => a - b), duration_ps];
}

describe("bytes of links in a window", () => {
  const runs = [smallReport(), smallComparison(), packetReport()].flatMap((payload) =>
    there(decodePayload(payload)).runs.filter((run) => run.link_bins !== null),
  );
  it("add up to the whole run, and never exceed what a link can carry in it", () => {
    const next = random(3);
    expect(runs.length).toBeGreaterThan(2);
    for (const run of runs) {
      const at = cuts(run.duration_ps, 7, next);
      const sums = new Float64Array(run.links.rows);
      for (let i = 1; i < at.length; i++) {
        const window = { from_ps: there(at[i - 1]), to_ps: there(at[i]) };
        const { bytes, values, withoutSeries } = linkLoad(run, window, "worst");
        expect(withoutSeries).toBe(0);
        for (let row = 0; row < run.links.rows; row++) {
          const most = capacity(run, row) * (window.to_ps - window.from_ps);
          expect(there(bytes[row])).toBeLessThanOrEqual(most * (1 + 1e-9) + 1e-6);
          expect(there(values[row])).toBeLessThanOrEqual(1 + 1e-6);
          sums[row] = (sums[row] ?? 0) + there(bytes[row]);
        }
      }
      sums.forEach((sum, row) =>
        expect(Math.abs(sum - there(run.links.bytes[row]))).toBeLessThan(
          1e-9 * there(run.links.bytes[row]) + 1e-6,
        ),
      );
    }
  });
  it("are those of the window, in the sum of a class too", () => {
    const run = there(runs[0]);
    const window = { from_ps: 0.1 * run.duration_ps, to_ps: 0.2 * run.duration_ps };
    const load = linkLoad(run, window, "mean");
    const fabric = buildFabric(run);
    const total = (bytes: Float64Array): number =>
      byClass(fabric, load.values, bytes).reduce((sum, one) => sum + one.bytes, 0);
    expect(total(load.bytes)).toBeLessThan(0.2 * total(run.links.bytes));
    expect(total(load.bytes)).toBeGreaterThan(0.01 * total(run.links.bytes));
  });
  it("follow the peak of the row, and the sum of parallel links beside the worst of them", () => {
    const payload = structuredClone(smallReport());
    const wire = there(payload.runs[0]);
    const bins = there(wire.link_bins);
    const rows = wire.links.rows;
    // One link: all bytes in the first of 60 bins; the worst of its parallel links is busy in the second as well.
    const shape = new Uint8Array(60);
    shape[0] = 255;
    const worst = shape.slice();
    worst[1] = 51;
    bins.link_rows = numbers("u32", [3]);
    bins.utilization = numbers("u8", worst);
    bins.carried = numbers("u8", shape);
    bins.peak = numbers("f32", [0.5]);
    wire.links.columns["parallel"] = numbers("u32", new Uint32Array(rows).fill(2));
    const capacity_bits_per_s = 400e9;
    wire.links.columns["capacity_bits_per_s"] = numbers(
      "f64",
      new Float64Array(rows).fill(capacity_bits_per_s),
    );
    wire.links.columns["bytes"] = numbers("f64", new Float64Array(rows).fill(1e6));
    const run = runOf(payload);
    const bin = there(run.link_bins).bin_ps;
    const first = linkLoad(run, { from_ps: 0, to_ps: bin }, "worst");
    expect(first.bytes[3]).toBeCloseTo(1e6, 3);
    expect(first.values[3]).toBeCloseTo(0.5, 6);
    const second = linkLoad(run, { from_ps: bin, to_ps: 2 * bin }, "worst");
    expect(second.bytes[3]).toBe(0);
    expect(second.values[3]).toBeCloseTo(0.1, 6);
    // Links without values over time say so and keep those of the whole run.
    expect([second.whole[3], second.whole[4], second.bytes[4]]).toEqual([0, 1, 1e6]);
    expect(second.withoutSeries).toBe(rows - 1);
    expect(Math.max(...activity(run).subarray(1))).toBe(0);
  });
  it("use the capacity that faults left the link in the window", () => {
    const payload = structuredClone(smallReport());
    const wire = there(payload.runs[0]);
    const bins = there(wire.link_bins);
    // Half of the capacity in the second bin, in which the link carries half of what it does in the first.
    const shape = new Uint8Array(60);
    shape.set([254, 127]);
    bins.link_rows = numbers("u32", [3]);
    bins.utilization = numbers("u8", new Uint8Array(60).fill(255, 0, 2));
    bins.carried = numbers("u8", shape);
    bins.capacity = numbers("u8", new Uint8Array(60).fill(255).fill(127.5, 1, 2));
    bins.peak = numbers("f32", [0.5]);
    const run = runOf(payload);
    const bin = there(run.link_bins).bin_ps;
    const most = capacity(run, 3) * bin;
    run.links.bytes[3] = 0.75 * most;
    const first = linkLoad(run, { from_ps: 0, to_ps: bin }, "mean").values[3];
    const second = linkLoad(run, { from_ps: bin, to_ps: 2 * bin }, "mean").values[3];
    expect(first).toBeCloseTo(0.5, 2);
    expect(second).toBeCloseTo(0.5, 2);
  });
  it("fit any shape: the sum is kept and no bin holds more than it can", () => {
    const next = random(8);
    for (let i = 0; i < 200; i++) {
      const shape = Array.from({ length: 20 }, () => (next() < 0.5 ? 0 : next()));
      const total = next() * 20;
      const found = fitted(shape, total, 1);
      expect(found.reduce((a, b) => a + b, 0)).toBeCloseTo(total, 9);
      expect(Math.max(...found)).toBeLessThanOrEqual(1 + 1e-9);
    }
    expect([...fitted([0, 2, 0, 0], 1, 1)]).toEqual([0, 1, 0, 0]);
    expect([...fitted([0, 2, 0, 0], 2.5, 1)]).toEqual([0.5, 1, 0.5, 0.5]);
    expect([...fitted([0, 2], 6, 1)]).toEqual([3, 3]);
  });
});

describe("other figures of a window", () => {
  it("incidents are those within it and those that last into it", () => {
    const fabric = buildFabric(runOf(smallReport()));
    const at = (from_ps: number, to_ps: number): number =>
      [...incidentsByDevice(fabric, { from_ps, to_ps }).values()].flat().length;
    expect(at(0, 1e12)).toBe(0);
    expect(at(1e12, 1.2e12)).toBe(1);
    expect(at(1.5e12, 2e12)).toBe(1);
    expect(at(1e12, 3e12)).toBe(2);
    expect(at(2.5e12, 3e12)).toBe(0);
    expect([...incidentsByDevice(fabric).values()].flat().length).toBe(2);
  });
  it("marks are faults, repairs and findings on the observed time, later ones at its end", () => {
    const payload = diagnosisReport();
    const [run] = payload.runs;
    const observed_ps = 90e12;
    const incidents = {
      rows: 3,
      columns: {
        at_ps: numbers("f64", [12e12, 70e12, 95e12]),
        device: strings(["", "leaf-0", ""]),
        what: strings(["slow at cable c", "slow at switch s ended", "hang at rank job/0"]),
        kind: strings(["fault", "fault-end", "fault"]),
      },
    };
    const marks = marksOf(runOf({ ...payload, runs: [{ ...run, observed_ps, incidents }] }));
    const words = marks.map(({ at_ps, repair, label }) => [at_ps, repair, label]);
    expect(words.slice(0, 3)).toEqual([
      [12e12, false, "fault"],
      [70e12, true, "repair"],
      [observed_ps, false, "fault"],
    ]);
    expect(marks[1]?.text).toBe("leaf-0: slow at switch s ended");
    expect(words.slice(3).every(([, , label]) => label === "finding")).toBe(true);
    expect(marks.length).toBeGreaterThan(3);
    const short = { ...payload, runs: [{ ...run, observed_ps: 1 }] };
    expect(() => runOf(short)).toThrow("observed_ps");
  });
  it("queues: the longest and the time paused within it; transfers that ran in it", () => {
    const run = runOf(packetReport());
    const packets = there(run.packets);
    const queues = there(packets.queues);
    const whole = queuesSeen(queues, 0, run.duration_ps);
    const early = queuesSeen(queues, 0, queues.bin_ps);
    let lower = 0;
    for (let row = 0; row < queues.links.rows; row++) {
      expect(early.bytes[row]).toBe(queues.bytes[row * queues.bins]);
      expect(there(early.bytes[row])).toBeLessThanOrEqual(there(whole.bytes[row]));
      expect(there(whole.paused[row])).toBeLessThanOrEqual(1);
      if (there(early.bytes[row]) < there(whole.bytes[row])) lower += 1;
    }
    expect(lower).toBeGreaterThan(0);
    const { slowest } = packets;
    expect(slowIn(slowest, 0, run.duration_ps).length).toBe(slowest.rows);
    const end = Math.min(...slowest.start_ps) - 1;
    expect(slowIn(slowest, 0, end).length).toBe(0);
  });
  it("ranks: time of each kind within it", () => {
    const ranks = there(there(runOf(diagnosisReport()).diagnosis).ranks);
    const sum = (sums: Float64Array[]): number =>
      sums.reduce((all, one) => all + one.reduce((a, b) => a + b, 0), 0);
    const whole = laneSums(ranks);
    const halves = [laneSums(ranks, [0, 200]), laneSums(ranks, [200, 1000])];
    expect(halves.reduce((all, one) => all + sum(one), 0)).toBeCloseTo(sum(whole), 6);
    expect(Math.max(...there(laneSums(ranks, [10, 20])[0]))).toBeLessThanOrEqual(10);
  });
});
