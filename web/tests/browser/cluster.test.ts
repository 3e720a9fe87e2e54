// Weeks of jobs in a real browser: pictures, reading them by pointer and keyboard, choices, speed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clusterReport, largeClusterReport } from "../cluster.mjs";
import { Bench, cutTexts, inkOf, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of weeks of jobs: ${missing}\n`);

/** Budgets of the page, with the patience that a busy machine needs. */
const PATIENCE = 3;
const FIRST_PICTURE_MS = 1000 * PATIENCE;
const REPORT_BYTES_MAX = 3e6;

describe.skipIf(missing !== null)("weeks of jobs", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("one", clusterReport());
    bench.write("alone", clusterReport({ policies: ["crux"], count: 12, gpus: 16 }));
    bench.write("seeds", clusterReport({ seeds: [1, 2, 3] }));
    bench.write("tide", clusterReport({ tide: true }));
    bench.write("large", largeClusterReport());
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

  it("says the answer, and shows the best policy in all pictures", () =>
    seen("one", {}, async ({ page }) => {
      expect(await page.locator("h1").textContent()).toContain("crux keeps GPUs computing");
      expect(await page.locator("h2").allTextContents()).toEqual([
        "Figures by policy",
        "Jobs under crux",
        "GPU utilization and intensity over time",
        "Slowdown of jobs",
        "Who contended with whom",
        "Pairs that contended longest",
        "Jobs",
      ]);
      expect(await page.locator("nav").count()).toBe(0);
      expect((await inkOf(page, "main canvas")).colors).toBeGreaterThan(3);
      expect(await page.locator(".chart svg").count()).toBe(2);
      const figures = page.getByRole("region", { name: "Figures by policy" }).last();
      expect(await figures.locator("tbody tr").first().textContent()).toMatch(
        /GPU utilization.*76\.3.*★ 88\.2/s,
      );
    }));

  it("reads a job under the pointer and who waits below, and picks by a click", () =>
    seen("one", {}, async ({ page }) => {
      const canvas = page.locator("main canvas");
      await canvas.scrollIntoViewIfNeeded();
      const box = await canvas.boundingBox();
      const y = (box?.y ?? 0) + 10;
      let x = (box?.x ?? 0) + 200;
      for (; x < 1_200 && (await page.locator(".tip").count()) === 0; x += 25)
        await page.mouse.move(x + 25, y);
      await expect
        .poll(() => page.locator(".tip").textContent())
        .toMatch(/job-\d+, .* GPUs.*slowdown/);
      await page.mouse.move(x, (box?.y ?? 0) + (box?.height ?? 0) - 40);
      await expect.poll(() => page.locator(".tip").textContent()).toMatch(/wait/);
      await page.mouse.click(x, y);
      await expect.poll(() => page.url()).toMatch(/job=\d+/);
      await page.getByRole("button", { name: /^Clear job-/ }).click();
      await expect.poll(() => page.url()).not.toContain("job=");
    }));

  it("is walked by keyboard: jobs by arrows, Enter picks, plus zooms, 0 shows all", () =>
    seen("one", {}, async ({ page }) => {
      await page.locator("main canvas").focus();
      await page.keyboard.press("ArrowDown");
      const first = await page.locator(".tip").textContent();
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => page.locator(".tip").textContent()).not.toBe(first);
      await page.keyboard.press("Enter");
      await expect.poll(() => page.url()).toMatch(/job=\d+/);
      await page.keyboard.press("+");
      await expect.poll(() => page.url()).toMatch(/time=\d+-\d+/);
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("0");
      await expect.poll(() => page.url()).not.toContain("time=");
      await page.keyboard.press("Escape");
      await expect.poll(() => page.url()).not.toContain("job=");
    }));

  it("keeps policy, window, hidden curves and means in the URL, and goes back", async () => {
    let hash = "";
    await seen("one", {}, async ({ page }) => {
      await page.getByLabel("taccl", { exact: true }).check({ force: true });
      await expect.poll(() => page.locator("h2").allTextContents()).toContain("Jobs under taccl");
      await page.getByRole("button", { name: "ecmp", exact: true }).click();
      await page.getByText("24 h", { exact: true }).click();
      const canvas = page.locator("main canvas");
      await canvas.scrollIntoViewIfNeeded();
      const box = await canvas.boundingBox();
      const y = (box?.y ?? 0) + 60;
      await page.mouse.move((box?.x ?? 0) + 400, y);
      await page.mouse.down();
      await page.mouse.move((box?.x ?? 0) + 700, y, { steps: 4 });
      await page.mouse.up();
      await expect.poll(() => page.url()).toMatch(/policy=taccl&time=\d+-\d+&hide=ecmp&every=24/);
      hash = new URL(page.url()).hash;
      await page.goBack();
      await expect.poll(() => page.url()).not.toContain("time=");
    });
    await seen("one", { hash }, async ({ page }) => {
      expect(await page.locator("h2").allTextContents()).toContain("Jobs under taccl");
      expect(await page.locator(".legend [aria-pressed=false]").textContent()).toContain("ecmp");
    });
  });

  it("picks a job from a disc, a pair and a row", () =>
    seen("one", {}, async ({ page }) => {
      await page.locator("svg .node").first().click();
      await expect.poll(() => page.url()).toMatch(/job=\d+/);
      const chosen = page.url();
      const pairs = page.getByRole("region", { name: "Pairs that contended longest" }).last();
      await pairs.focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.url()).not.toBe(chosen);
      const table = page.getByRole("region", { name: "Jobs", exact: true }).last();
      await table.locator("tbody tr").nth(3).click();
      expect(await table.locator("tr.picked").count()).toBe(1);
    }));

  it("shows medians with ranges of several seeds, and the jobs of one", () =>
    seen("seeds", {}, async ({ page }) => {
      const figures = page.getByRole("region", { name: "Figures by policy" }).last();
      expect(await figures.locator("tbody tr").first().textContent()).toMatch(/\(.* – .*\)/);
      await page.getByLabel("seed 3", { exact: true }).check({ force: true });
      await expect.poll(() => page.url()).toContain("seed=2");
    }));

  it("shows the tide of inference below, where somebody serves", async () => {
    const heights: number[] = [];
    for (const name of ["one", "tide"])
      await seen(name, {}, async ({ page }) => {
        const chart = page.locator(".chart").first();
        const told = (await chart.locator("svg").textContent()) ?? "";
        expect(told.includes("inference on a link")).toBe(name === "tide");
        heights.push((await chart.boundingBox())?.height ?? 0);
        await chart.scrollIntoViewIfNeeded();
        await chart.hover({ position: { x: 300, y: 60 } });
        await expect
          .poll(() => chart.textContent())
          .toMatch(
            name === "tide"
              ? /crux: [\d.]+\s%, intensity [\d.]+, inference [\d.]+\s%/
              : /crux: [\d.]+\s%, intensity/,
          );
      });
    expect((heights[1] ?? 0) - (heights[0] ?? 0)).toBe(184);
  });

  it("shows one policy alone", () =>
    seen("alone", { dark: true }, async ({ page }) => {
      expect(await page.locator("h2").allTextContents()).toContain("Figures");
      expect((await inkOf(page, "main canvas")).colors).toBeGreaterThan(2);
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name: "Save Jobs under crux as SVG" }).click();
      const chunks: Buffer[] = [];
      for await (const chunk of await (await saved).createReadStream())
        chunks.push(chunk as Buffer);
      expect(Buffer.concat(chunks).toString()).toMatch(/^<svg [^]*waiting for[^]*<\/svg>$/);
    }));

  it("cuts no text at 1280 and at 1920", async () => {
    for (const name of ["one", "seeds", "alone", "tide"])
      for (const width of [1280, 1920])
        await seen(name, { width, height: 900 }, async ({ page }) => {
          expect(await cutTexts(page), `${name}, ${width}`).toEqual([]);
          expect(
            await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
          ).toBe(true);
        });
  });

  it("is small and quick with two weeks of 2,048 GPUs", () =>
    seen("large", {}, async ({ page }) => {
      expect(bench.bytes("large")).toBeLessThan(REPORT_BYTES_MAX);
      const picture = await page.evaluate(
        () => performance.getEntriesByName("railtwin:first-picture")[0]?.startTime ?? Infinity,
      );
      expect(picture).toBeLessThan(FIRST_PICTURE_MS);
    }));
});
