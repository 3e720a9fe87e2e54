// A diagnosis of files in a real browser: the answer first, evidence with its place, the lattice, bars, no text that is cut.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { diagnosedReport } from "../diagnosed.mjs";
import { Bench, cutTexts, inkOf, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of diagnoses: ${missing}\n`);

describe.skipIf(missing !== null)("a diagnosis of files", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("hang", diagnosedReport());
    bench.write("slow", diagnosedReport({ hang: false, slow: true }));
    const lattice = { ranks: 1000, communicators: 500, culprit: 617 };
    bench.write("large", diagnosedReport({ lattice }));
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

  it("says the answer first, then causes, the lattice and what lies below", () =>
    seen("hang", {}, async ({ page }) => {
      expect(await page.locator("h1").textContent()).toContain("rank job/10");
      const answer = await page.getByRole("region", { name: "Answer" }).textContent();
      expect(answer).toMatch(/the others wait for it.*never began all-reduce.*py-spy dump/s);
      expect(await page.locator("h2").allTextContents()).toEqual([
        "Causes and their evidence",
        "Ranks by communicators",
        "What is open or missing",
        "Ranks",
        "Notes",
        "Files",
      ]);
      expect(await page.locator("nav").count()).toBe(0);
    }));

  it("opens evidence with file and place, by mouse and keyboard, and goes back", () =>
    seen("hang", {}, async ({ page }) => {
      const proof = page.getByRole("button", { name: /never began all-reduce/ });
      await proof.click();
      expect(await proof.getAttribute("aria-expanded")).toBe("true");
      expect(await page.getByLabel("Where it stands").textContent()).toContain(
        "dumps/_dump_8, entry 3 of 5",
      );
      await expect.poll(() => page.url()).toContain("finding=0&evidence=0");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("Enter");
      expect(await page.getByText("May be").count()).toBe(1);
      await page.goBack();
      expect(await page.getByLabel("Where it stands").count()).toBe(1);
      expect(await page.getByText("follows:").count()).toBe(1);
    }));

  it("tells a cell by keyboard, opens a purpose and zooms", () =>
    seen("hang", {}, async ({ page }) => {
      const { colors, part } = await inkOf(page, "canvas");
      expect(colors).toBeGreaterThan(5);
      expect(part).toBeGreaterThan(0.2);
      await page.locator("canvas").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      const tip = page.getByRole("status");
      expect(await tip.textContent()).toMatch(/rank 10 in TENSOR.*never enqueued.*train\.py:118/s);
      await page.keyboard.press("Enter");
      await expect.poll(() => page.url()).toContain("kind=1");
      await page.keyboard.press("+");
      await expect.poll(() => page.url()).toMatch(/from=6&to=14|from=7&to=15/);
      await page.keyboard.press("0");
      await expect.poll(() => page.url()).not.toContain("from=");
    }));

  it("shows 1,000 ranks by 500 communicators at once, the culprit in alarm colour", () =>
    seen("large", { dark: true }, async ({ page }) => {
      const first = await page.evaluate(
        () => performance.getEntriesByName("railtwin:first-picture")[0]?.startTime ?? Infinity,
      );
      expect(first).toBeLessThan(4000);
      await page.waitForTimeout(150);
      // The widest run of pixels in the colour of a communicator that was never entered.
      const widest = await page
        .locator("canvas")
        .first()
        .evaluate((element) => {
          const canvas = element as HTMLCanvasElement;
          const context = canvas.getContext("2d");
          const data = context?.getImageData(0, 0, canvas.width, canvas.height).data;
          let [most, run] = [0, 0];
          for (let i = 0; data && i < data.length; i += 4) {
            const is = data[i] === 0xff && data[i + 1] === 0x8a && data[i + 2] === 0x3d;
            run = is ? run + 1 : 0;
            most = Math.max(most, run);
          }
          return most;
        });
      expect(widest).toBeGreaterThanOrEqual(5);
      const label = await page.locator("canvas").getAttribute("aria-label");
      expect(label).toContain("1000 ranks by 500 communicators; culprits: rank 617");
    }));

  it("draws what-if bars under both ideals", () =>
    seen("slow", {}, async ({ page }) => {
      expect(await page.locator(".chart svg").count()).toBe(5);
      const label = await page.locator(".chart").first().getAttribute("aria-label");
      expect(label).toContain("By rank: rank 7 2.000");
      expect(await page.getByRole("list", { name: "Ideals" }).textContent()).toMatch(
        /mean over all.*median over like stages/s,
      );
    }));

  it("cuts no text at 1280 and at 1920, light and dark", async () => {
    for (const name of ["hang", "slow", "large"])
      for (const width of [1280, 1920])
        await seen(name, { width, dark: width > 1280 }, async ({ page }) => {
          expect(await cutTexts(page)).toEqual([]);
        });
  });
});
