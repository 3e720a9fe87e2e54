// Weeks of jobs as numbers: who is best, who waits, who had a GPU, curves, the graph; and that damaged data is named.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import type { Cluster, ClusterLife } from "../../src/api/payload";
import {
  bestOf,
  curveOf,
  jobAt,
  lifeOf,
  partnersOf,
  serves,
  slowdownCurve,
  slowdownPart,
  slowdownTop,
  sortedSlowdowns,
  waitingAt,
  waitingOf,
} from "../../src/model/cluster";
import { CLUSTER_START, clusterHashOf, clusterStateOf } from "../../src/model/cluster_state";
import { contentionGraph } from "../../src/model/contention";
import { alternativeColor, THEMES } from "../../src/ui/colors";
import { daysAxis } from "../../src/ui/format";
import { movedApart, roundTop, within } from "../../src/views/cluster/charts";
import { bandText } from "../../src/views/cluster/columns";
import { clusterReport } from "../cluster.mjs";
import { numbers } from "../sample.mjs";

function decoded(value: unknown): Cluster {
  const cluster = decodePayload(value)?.cluster;
  if (!cluster) throw new Error("no cluster");
  return cluster;
}
const cluster = decoded(clusterReport());
function life(policy: number): ClusterLife {
  const found = lifeOf(cluster, policy, 0);
  if (!found) throw new Error("no life");
  return found;
}
const [jobs] = cluster.jobs;
if (!jobs) throw new Error("no jobs");

describe("policies", () => {
  it("marks the best of each figure that has a better", () => {
    const marks = cluster.figures.map((figure) => bestOf(figure).filter(Boolean).length);
    expect(marks[0]).toBe(1);
    expect(marks[3]).toBe(0);
    const alike = { least: 1, median: 1, most: 1 };
    const figure = { name: "x", meaning: "", unit: "", better: "more" as const };
    expect(bestOf({ ...figure, values: [alike, alike] })).toEqual([false, false]);
    expect(bestOf({ ...figure, values: [alike, null] })).toEqual([false, false]);
  });
  it("writes a range in the unit of the median", () => {
    expect(bandText({ least: 0.5, median: 0.6, most: 0.7 }, "ratio")).toBe(
      "60.0\u00a0% (50.0 – 70.0\u00a0%)",
    );
    expect(bandText({ least: 2, median: 2, most: 2 }, "")).toBe("2");
    expect(bandText(null, "s")).toBe("–");
  });
  it("has a colour of its own for each of eight", () => {
    for (const theme of Object.values(THEMES)) {
      const colors = Array.from({ length: 8 }, (_, i) => alternativeColor(i, 3, theme));
      expect(new Set(colors).size).toBe(8);
      expect(colors[3]).toBe(theme.faint);
    }
  });
});

describe("jobs", () => {
  it("counts who waits as those that were submitted and did not start", () => {
    for (const [policy] of cluster.policies.entries()) {
      const one = life(policy);
      const waiting = waitingOf(jobs, one, cluster.span_s);
      for (const at of [0, 0.2, 0.5, 0.93, 1].map((part) => part * cluster.span_s)) {
        const rows = Array.from({ length: jobs.rows }, (_, job) => job).filter(
          (job) => (jobs.submitted_s[job] ?? 0) <= at && !((one.started_s[job] ?? 0) <= at),
        );
        const gpus = rows.reduce((sum, job) => sum + (jobs.gpus[job] ?? 0), 0);
        expect(waitingAt(waiting, at)).toEqual({ jobs: rows.length, gpus });
      }
    }
  });
  it("finds the job of a GPU, and nobody beside it", () => {
    const one = life(1);
    const at = cluster.span_s / 2;
    let found = 0;
    for (let gpu = 0; gpu < cluster.places; gpu++) {
      const job = jobAt(one, gpu, at, cluster.span_s);
      if (job === null) continue;
      found += 1;
      expect(one.started_s[job]).toBeLessThanOrEqual(at);
      expect(one.ended_s[job] ?? at >= at).toBeTruthy();
    }
    const held = Array.from({ length: jobs.rows }, (_, job) => job).filter(
      (job) => (one.started_s[job] ?? NaN) <= at && !((one.ended_s[job] ?? NaN) < at),
    );
    expect(found).toBe(held.reduce((sum, job) => sum + (jobs.gpus[job] ?? 0), 0));
    expect(jobAt(one, 0, -1, cluster.span_s)).toBeNull();
  });
  it("sorts slowdowns and keeps the slowest in a thinned curve", () => {
    const sorted = sortedSlowdowns(life(0));
    expect([...sorted]).toEqual([...sorted].sort((a, b) => a - b));
    const many = Float32Array.from({ length: 10_000 }, (_, i) => 1 + i / 10_000);
    const curve = slowdownCurve(many, 400);
    expect(curve.length).toBeLessThan(700);
    expect(curve.at(-1)).toEqual([1, many[9_999]]);
    expect(slowdownCurve(new Float32Array(0))).toEqual([]);
  });
  it("has one logarithmic scale of slowdowns for all policies", () => {
    expect(slowdownTop(cluster)).toBe(1.9);
    expect([1, 2, 4, 8].map((value) => slowdownPart(value, 4))).toEqual([0, 0.5, 1, 1]);
  });
});

describe("curves over time", () => {
  it("weigh utilization by the GPUs held, and leave gaps where nobody ran", () => {
    const one: ClusterLife = {
      ...life(0),
      hours: {
        rows: 4,
        occupancy: Float32Array.of(0.25, 0.75, 0, 1),
        gpu_utilization: Float32Array.of(1, 0.5, NaN, 0.5),
        gpu_intensity: Float32Array.of(100, 300, NaN, NaN),
        waiting: new Float32Array(4),
        contending: new Float32Array(4),
        inference_link_share: Float32Array.of(0.25, 0.5, NaN, NaN),
      },
    };
    const span_s = 4 * 3600;
    expect(curveOf(one, "gpu_utilization", 2, span_s)).toEqual([
      [3600, 0.625],
      [10_800, 0.5],
    ]);
    expect(curveOf(one, "gpu_intensity", 2, span_s)).toEqual([
      [3600, 200],
      [10_800, null],
    ]);
    expect(curveOf(one, "gpu_utilization", 1, span_s)[2]).toEqual([9_000, null]);
    expect(curveOf(one, "inference_link_share", 2, span_s)).toEqual([
      [3600, 0.375],
      [10_800, null],
    ]);
    expect([serves(one), serves(life(0))]).toEqual([true, false]);
  });
  it("are cut at the ends of a window, and their names stand apart", () => {
    const points: [number, number | null][] = [
      [0, 0],
      [10, 1],
      [20, null],
      [30, 3],
    ];
    expect(within(points, 5, 25)).toEqual([
      [5, 0.5],
      [10, 1],
      [20, null],
    ]);
    expect(within(points, 2, 4)).toEqual([
      [2, 0.2],
      [4, 0.4],
    ]);
    expect(movedApart([50, 50, 10, NaN], 100)).toEqual([0, 14, 0, 0]);
    expect(movedApart([98, 99, 100], 100)).toEqual([-26, -13, 0]);
  });
  it("end at a round number with a tick at it", () => {
    const tops = [650, 1_210, 0.686, 0.97, 0.05, 400, 800, 1_000].map((most) => roundTop(most));
    expect(tops.map(({ top }) => Number(top.toPrecision(9)))).toEqual([
      800, 1_500, 0.8, 1, 0.06, 400, 800, 1_000,
    ]);
    for (const { top, step } of tops) {
      const ticks = top / step;
      expect(Math.abs(ticks - Math.round(ticks))).toBeLessThan(1e-9);
      expect(ticks).toBeLessThan(4.5);
    }
  });
  it("has ticks of round hours and days", () => {
    expect(daysAxis(14 * 86_400, 12)).toMatchObject({ unit: "days", step_s: 172_800 });
    expect(daysAxis(6 * 3_600, 12)).toMatchObject({ unit: "h", step_s: 3_600 });
    expect(daysAxis(1_200, 12).tick(300)).toBe("5");
    expect(daysAxis(20 * 365 * 86_400, 12).unit).toBe("days");
  });
});

describe("the graph", () => {
  it("is the same each time, within its picture, and no disc lies on another", () => {
    const one = life(0);
    const graph = contentionGraph(jobs, one, 700);
    expect(contentionGraph(jobs, one, 700)).toEqual(graph);
    expect(graph.edges.length).toBe(one.pairs.rows);
    for (const [i, a] of graph.nodes.entries()) {
      expect(a.x - a.radius).toBeGreaterThanOrEqual(0);
      expect(a.x + a.radius).toBeLessThanOrEqual(graph.width);
      expect(a.y + a.radius).toBeLessThanOrEqual(graph.height);
      for (const b of graph.nodes.slice(i + 1))
        expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThan(a.radius + b.radius);
    }
  });
  it("names partners of a job", () => {
    const one = life(0);
    const [job, other] = [one.pairs.one[0] ?? 0, one.pairs.other[0] ?? 0];
    expect(partnersOf(one, job).has(other)).toBe(true);
    expect(partnersOf(one, 1_000_000).size).toBe(0);
  });
});

describe("state", () => {
  it("goes through the URL and back, and wrong values are those of the start", () => {
    const state = {
      policy: "taccl",
      seed: 2,
      job: 17,
      window: { from_s: 3_600, to_s: 86_400 },
      hidden: ["ecmp", "crux"],
      every: 24 as const,
    };
    expect(clusterStateOf(clusterHashOf(state))).toEqual(state);
    expect(clusterHashOf(CLUSTER_START)).toBe("");
    expect(clusterStateOf("#seed=-1&job=x&time=9-3&every=7")).toEqual(CLUSTER_START);
  });
});

describe("damaged data", () => {
  function refused(change: (report: ReturnType<typeof clusterReport>["cluster"]) => void): string {
    const report = clusterReport();
    change(report.cluster);
    try {
      decodePayload(report);
    } catch (error) {
      return String(error);
    }
    return "";
  }
  it("is refused with its place", () => {
    expect(refused((c) => void (c.best = -1))).toContain("payload.cluster.best is -1");
    expect(refused((c) => void (c.base = 3))).toContain("payload.cluster.base is 3");
    expect(refused((c) => void c.lives.pop())).toContain("lives has 2 entries; expected 3");
    expect(refused((c) => void (c.whole_seeds = 0))).toContain("payload.cluster.whole_seeds is 0");
    expect(refused((c) => void c.figures[0]?.values.pop())).toContain("values has 2 entries");
    expect(refused((c) => void (c.places = 3))).toMatch(
      /held\.last row \d+ is \d+; expected a GPU/,
    );
    expect(
      refused((c) => {
        const [one] = c.lives;
        if (one) one.pairs.columns["one"] = numbers("u32", Array(one.pairs.rows).fill(9_999));
      }),
    ).toContain("pairs.columns.one row 0 is 9999");
    expect(
      refused((c) => {
        const [band] = c.figures[0]?.values ?? [];
        if (band) band.least = band.most + 1;
      }),
    ).toContain("out of order");
  });
});
