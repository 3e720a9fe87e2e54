// In a real browser: a time window changes every number or leaves a mark; figures without a value; jobs to choose.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { diagnosisReport } from "../diagnosis.mjs";
import { packetReport } from "../packets.mjs";
import { haltedReport, jobsReport, smallComparison, smallReport } from "../sample.mjs";
import { Bench, cutTexts, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of time windows: ${missing}\n`);

const WINDOW = "time=1000000000000-2000000000000";

describe.skipIf(missing !== null)("a time window", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("small", smallReport());
    bench.write("two", smallComparison());
    bench.write("packet", packetReport());
    bench.write("diagnosis", diagnosisReport());
    bench.write("halted", haltedReport());
    bench.write("jobs", jobsReport());
    const lost = smallComparison();
    const [, second] = lost.runs;
    if (second) second.figures = haltedReport().runs[0]?.figures ?? [];
    bench.write("lost", lost);
  });
  afterAll(() => bench.stop());

  async function seen(
    name: string,
    look: Look,
    act: (opened: Opened) => Promise<void>,
  ): Promise<void> {
    const opened = await bench.open(name, look);
    try {
      await act(opened);
      expect(opened.problems).toEqual([]);
    } finally {
      await opened.close();
    }
  }
  const cells = async ({ page }: Opened, table: string): Promise<string[]> =>
    page.getByRole("region", { name: table, exact: true }).locator("tbody td").allTextContents();

  /** Tables and panels whose numbers follow the window, by view; all others carry the mark. */
  const FOLLOW: { report: string; view: string; panels: string[]; tables: string[] }[] = [
    { report: "small", view: "summary", panels: ["Design and provenance"], tables: [] },
    {
      report: "small",
      view: "links",
      panels: [
        "Host to leaf",
        "Leaf to host",
        "Leaf to spine",
        "Spine to leaf",
        "Per class",
      ].concat("All links"),
      tables: ["Utilization per class", "All links"],
    },
    {
      report: "small",
      view: "throughput",
      panels: ["Job train", "Job eval", "Faults and repairs in the window"].concat(
        "Steps in the window",
      ),
      tables: ["Faults and repairs", "Steps"],
    },
    {
      report: "small",
      view: "timeline",
      panels: ["Timeline", "Spans in the window"],
      tables: ["Spans in the window"],
    },
    {
      report: "packet",
      view: "queues",
      panels: ["Queues over time", "Slowest transfers that ran in the window", "Links by queue"],
      tables: ["Slowest transfers", "Links by queue"],
    },
    { report: "diagnosis", view: "diagnosis", panels: ["Rank timeline", "Settings"], tables: [] },
  ];
  for (const { report, view, panels, tables } of FOLLOW)
    it(`${view}: every panel follows it or carries the mark`, async () => {
      let whole: string[][] = [];
      await seen(report, { hash: `#view=${view}`, height: 2400 }, async (opened) => {
        for (const table of tables) whole.push(await cells(opened, table));
        expect(await opened.page.locator("main .whole").count()).toBe(0);
      });
      const hash =
        report === "packet"
          ? "time=0-40000000"
          : report === "small"
            ? WINDOW
            : "time=18700000000000-18800000000000";
      await seen(report, { hash: `#view=${view}&${hash}`, height: 2400 }, async (opened) => {
        const all = opened.page.locator("main section.panel");
        const unmarked: string[] = [];
        for (let i = 0; i < (await all.count()); i++) {
          const panel = all.nth(i);
          if ((await panel.locator("h2 .whole").count()) === 0)
            unmarked.push((await panel.getAttribute("aria-label")) ?? "");
        }
        expect(unmarked.sort()).toEqual([...panels].sort());
        for (const [i, table] of tables.entries())
          expect(await cells(opened, table), table).not.toEqual(whole[i]);
        expect(await cutTexts(opened.page)).toEqual([]);
      });
      whole = [];
    });

  it("shows no more bytes than a link carries in it, and marks its flows", () =>
    seen("small", { hash: `#view=links&${WINDOW}`, height: 2400 }, async ({ page }) => {
      const table = page.getByRole("region", { name: "All links" });
      expect(await table.locator("th", { hasText: "Flows" }).textContent()).toContain("whole run");
      expect(await table.locator("th", { hasText: "Bytes" }).textContent()).not.toContain("whole");
      await table.locator("th button", { hasText: "Bytes" }).click();
      const [first] = await table.locator("tbody tr:not([aria-hidden])").all();
      const text = (await first?.locator("td").allTextContents()) ?? [];
      const rate = Number(/([\d.]+)\s*Gbit/.exec(text.join(" "))?.[1]);
      const carried = Number(/([\d.]+)\s*GB/.exec(text.join(" "))?.[1]);
      expect(rate).toBeGreaterThan(0);
      expect(carried).toBeGreaterThan(0);
      expect(carried).toBeLessThanOrEqual(rate / 8);
    }));

  it("marks the answer and each tile of the summary", () =>
    seen("small", { hash: `#${WINDOW}` }, async ({ page }) => {
      expect(await page.locator("h1 .whole").count()).toBe(1);
      expect(await page.locator(".key .whole").count()).toBe(3);
    }));

  it("figures: a halted job says so in tiles and table, and never a bare dash", () =>
    seen("halted", { height: 1400 }, async (opened) => {
      const { page } = opened;
      const tiles = await page.locator(".key").allTextContents();
      expect(tiles[0]).toContain("Halted");
      expect(tiles.join(" ")).toMatch(/Step time.*–\shalted\sat\s12\.5\ss/);
      const texts = await cells(opened, "All figures");
      expect(texts.filter((text) => text.trim() === "–")).toEqual([]);
      expect(texts.join(" ")).toMatch(/–\shalted\sat\s12\.5\ss/);
      expect(await cutTexts(page)).toEqual([]);
    }));

  it("figures: the side of a comparison that lacks one says so", () =>
    seen("lost", { height: 1400 }, async (opened) => {
      const texts = (await cells(opened, "All figures")).join(" ");
      expect(texts).toMatch(/–\snot\sin\sthis\srun/);
      expect(texts).toMatch(/3\.740\ss\s+–\shalted\sat\s12\.5\ss/);
      expect((await opened.page.locator(".key").allTextContents()).join(" ")).toMatch(/halted\sat/);
    }));

  it("figures: of several jobs the worst leads, another can be chosen and stays in the URL", () =>
    seen("jobs", { height: 1400 }, async ({ page }) => {
      const first = (): Promise<string | null> => page.locator(".key").first().textContent();
      expect(await first()).toMatch(/Step time, job train\.b.*4\.000/);
      expect(await page.locator(".jobs p").textContent()).toContain("it has the longest step");
      await page.locator(".jobs label", { hasText: /^\s*train\s*$/ }).click();
      await expect.poll(first).toMatch(/Step time, job train.*1\.000/);
      await expect.poll(() => page.url()).toContain("job=train");
      expect(await page.locator(".key").last().textContent()).toContain("all jobs");
      expect(await cutTexts(page)).toEqual([]);
    }));

  it("figures: the tile of a comparison says of whose value it is a part", () =>
    seen("two", {}, async ({ page }) => {
      // (3218 - 3740) / 3740
      expect(await page.locator(".key").first().textContent()).toMatch(
        /−14\.0\s%, better, as a part of 3\.740\ss of dcn-plus-512/,
      );
    }));
});
