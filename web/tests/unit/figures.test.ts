// Figures that lead: reasons in place of values, several jobs, what faults cost, and the percentages of a comparison.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import type { Figure, Run, WirePayload } from "../../src/api/payload";
import {
  exposedRows,
  figureRows,
  keyFigures,
  sourceOf,
  withSeedsOf,
  worstJob,
} from "../../src/model/figures";
import { hashOf, START, stateOf } from "../../src/model/page_state";
import { change } from "../../src/ui/format";
import { arranged, shownText } from "../../src/ui/table";
import { THEMES } from "../../src/ui/colors";
import { figureColumns, rowLabel, valueText } from "../../src/views/summary/columns";
import { haltedReport, jobsReport, smallComparison, smallReport } from "../sample.mjs";

const runs = (payload: WirePayload): Run[] => {
  const decoded = decodePayload(payload);
  if (decoded === null) throw new Error("decoded to nothing");
  return decoded.runs;
};
const named = <T extends { name: string }>(rows: readonly T[], name: string): T => {
  const found = rows.find((row) => row.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};

describe("a figure without a value", () => {
  const halted = runs(haltedReport());
  const rows = figureRows(halted);
  it("says why in its place", () => {
    expect(valueText(named(rows, "step_time"), 0)).toBe("–\u00a0halted\u00a0at\u00a012.5\u00a0s");
    expect(valueText(named(rows, "jct"), 0)).toBe("–\u00a0no\u00a0value");
    const table = figureColumns(rows, halted, THEMES.light);
    const texts = rows.flatMap((_, row) => table.map((column) => shownText(column, row)));
    expect(texts.filter((text) => text === "–")).toEqual([]);
  });
  it("leads all the same, behind what faults cost", () => {
    expect(keyFigures(rows).map(({ name }) => name)).toEqual([
      "halted",
      "time_lost_share",
      "step_time",
    ]);
    const healthy = figureRows(runs(smallReport()));
    expect(keyFigures(healthy)[0]?.name).toBe("step_time");
  });
  it("of a comparison names the side that lacks it", () => {
    const [a] = runs(smallReport());
    const [b] = halted;
    if (!a || !b) throw new Error("two runs");
    const both = figureRows([a, b]);
    expect(valueText(named(both, "halted"), 0)).toBe("–\u00a0not\u00a0in\u00a0this\u00a0run");
    expect(named(both, "step_time").verdict).toBe("open");
    expect(valueText(named(both, "step_time"), 1)).toMatch(/halted/);
    expect(keyFigures(both).map(({ name }) => name)).toContain("step_time");
  });
  it("sorts behind numbers, which sort as numbers", () => {
    const columns = figureColumns(rows, halted, THEMES.light);
    const value = columns.find(({ key }) => key.startsWith("value"));
    if (!value) throw new Error("no column of values");
    const order = arranged(rows.length, columns, { key: value.key, descending: true }, "");
    const values = Array.from(order, (row) => rows[row]?.values[0] ?? Number.NEGATIVE_INFINITY);
    expect(values).toEqual([...values].sort((x, y) => y - x));
  });
});

describe("figures of several jobs", () => {
  const several = runs(jobsReport());
  const rows = figureRows(several);
  it("are told apart by the job's name, the longest name first", () => {
    expect(rows.map(({ name, job, bare }) => [name, job, bare])).toEqual([
      ["train.step_time", "train", "step_time"],
      ["train.mfu", "train", "mfu"],
      ["train.b.step_time", "train.b", "step_time"],
      ["train.b.mfu", "train.b", "mfu"],
      ["worst_link_utilization", "", "worst_link_utilization"],
    ]);
    expect(rowLabel(rows[2])).toBe("train.b: Step time");
    expect(sourceOf("step_time")).toBe("timeline");
  });
  it("are of all jobs together where they are called jobs", () => {
    const totals = structuredClone(jobsReport());
    totals.runs[0]?.figures.push({
      name: "jobs.busbw_mean",
      value: 1,
      unit: "bits_per_s",
      note: "",
    });
    const row = figureRows(runs(totals)).at(-1);
    expect([row?.job, row?.bare, rowLabel(row)]).toEqual([
      "",
      "busbw_mean",
      "All jobs: Busbw mean",
    ]);
  });
  it("lead with the worst job, or with the chosen one", () => {
    expect(worstJob(several)).toEqual({ job: "train.b", why: "has the longest step" });
    expect(keyFigures(rows, "train.b").map(({ name }) => name)).toEqual([
      "train.b.step_time",
      "train.b.mfu",
      "worst_link_utilization",
    ]);
    expect(keyFigures(rows, "train")[0]?.name).toBe("train.step_time");
    expect(worstJob(runs(smallReport()))).toBeNull();
  });
  it("lead with the job that did not end, then with the one that lost most against the baseline", () => {
    const stuck = structuredClone(jobsReport());
    const figure = named(stuck.runs[0]?.figures ?? [], "train.step_time");
    Object.assign(figure, { value: null, reason: "halted at 12.5 s" });
    expect(worstJob(runs(stuck))).toEqual({ job: "train", why: "did not come to its end" });
    const [a, b] = [structuredClone(jobsReport()), structuredClone(jobsReport())];
    named(b.runs[0]?.figures ?? [], "train.step_time").value = 3e12;
    const both = runs({ ...a, runs: [...a.runs, ...b.runs] });
    expect(worstJob(both)).toEqual({ job: "train", why: "changed most for the worse" });
  });
  it("draw the exposed times and the seeds of that job", () => {
    const times = exposedRows(several, "train.b").map(({ axis, runs: of }) => [
      axis,
      of[0]?.exposed_ps,
    ]);
    expect(times).toEqual([
      ["compute", 3e12],
      ["tp", 1e12],
    ]);
    expect(withSeedsOf(several, "train")[0]?.seeds.map(({ step_time_ps }) => step_time_ps)).toEqual(
      [1e12, 1.1e12],
    );
  });
  it("keep the chosen job in the URL", () => {
    expect(stateOf(hashOf({ ...START, job: "train.b" })).job).toBe("train.b");
  });
});

describe("which way is better", () => {
  const figure = (name: string, value: number, of: Partial<Figure> = {}): Figure => ({
    name,
    value,
    unit: "s",
    note: "",
    ...of,
  });
  /** Rows of two runs with these figures each. */
  const compared = (...sides: [Figure[], Figure[]]) => {
    const [one] = jobsReport().runs;
    if (!one) throw new Error("a run");
    const both = sides.map((figures, i) => ({
      ...structuredClone(one),
      name: `run ${i}`,
      figures,
    }));
    return figureRows(runs({ ...jobsReport(), runs: both }));
  };
  const verdict = (before: number, after: number, of: Partial<Figure>): string | undefined =>
    compared([figure("x", before, of)], [figure("x", after, of)])[0]?.verdict;
  it("is what the report says of each figure, whatever its name", () => {
    expect(verdict(2, 1, { better: "less" })).toBe("better");
    expect(verdict(1, 2, { better: "less" })).toBe("worse");
    expect(verdict(1, 2, { better: "more" })).toBe("better");
    expect(verdict(2, 1, { better: "more" })).toBe("worse");
    expect(verdict(1, 1.0001, { better: "more" })).toBe("same");
    expect(verdict(1, 2, {})).toBe("open");
    expect(compared([figure("step_time", 1)], [figure("step_time", 2)])[0]?.verdict).toBe("open");
  });
  it("is said of figures of jobs and of all jobs together", () => {
    const sides = [2, 1].map((value) => [
      figure("train.step_time", value, { better: "less" }),
      figure("train.b.mfu", value, { better: "more" }),
      figure("jobs.step_time_max", value, { better: "less" }),
    ]) as [Figure[], Figure[]];
    expect(compared(...sides).map(({ job, bare, verdict: said }) => [job, bare, said])).toEqual([
      ["train", "step_time", "better"],
      ["train.b", "mfu", "worse"],
      ["", "step_time_max", "better"],
    ]);
  });
  it("is known where one of two reports says so", () => {
    const [row] = compared([figure("x", 2)], [figure("x", 1, { better: "less" })]);
    expect(row?.verdict).toBe("better");
  });
  it("a ratio that is no part of a whole is no percentage", () => {
    const ratio = (of: Partial<Figure>): string | undefined => {
      const one = figure("train.max_mean_ratio", 1.5, { unit: "ratio", ...of });
      return valueText(compared([one], [one])[0], 0);
    };
    expect(ratio({ plain: true })).toBe("1.500");
    expect(ratio({})).toMatch(/^150/);
  });
});

describe("percentages of a comparison", () => {
  it("are exactly the difference over the baseline's value", () => {
    const rows = figureRows(runs(smallComparison()));
    const step = named(rows, "step_time");
    expect(step.change).toBe((3218e9 - 3740e9) / 3740e9);
    expect(change(step.change ?? 0)).toBe("\u221214.0\u00a0%");
  });
});
