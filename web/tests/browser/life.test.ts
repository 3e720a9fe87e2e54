// The life of a job in a real browser: picture, tables, what a pick does, both themes.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lifeReport } from "../life";
import { sameFabricComparison, smallReport } from "../sample.mjs";
import { Bench, cutTexts, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of lives: ${missing}\n`);

describe.skipIf(missing !== null)("the life of a job", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("life", lifeReport());
    bench.write("small", smallReport());
    const two = sameFabricComparison();
    const [told] = lifeReport().runs;
    const [, second] = two.runs;
    if (second && told?.life) second.life = told.life;
    bench.write("two", two);
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
  const plain = (text: string | null): string => (text ?? "").replace(/\s+/g, " ").trim();

  it("is a view only where there is one", () =>
    seen("small", {}, async ({ page }) => {
      expect(await page.getByRole("link", { name: "Life" }).count()).toBe(0);
    }));

  it("shows downtime, phases and tables, and picks a standstill in the picture and in the table", () =>
    seen("life", { hash: "#view=life" }, async (opened) => {
      const { page } = opened;
      expect(plain(await page.locator("h2").first().textContent())).toBe(
        "5.0 % of 4 days are downtime",
      );
      const picture = page.getByRole("img", { name: "gpt3: standstills, a row for each day" });
      // Four phases, six of which one is cut by midnight, two.
      expect(await picture.locator("rect.piece").count()).toBe(4 + 6 + 2);
      await picture.locator("rect.piece").nth(2).click();
      await expect.poll(() => page.url()).toMatch(/view=life.*standstill=0/);
      expect(plain(await page.locator("p[aria-live]").textContent())).toMatch(
        /^day 1, 01:00: host-3\/nic-2 down \(ack-timeout\), found by detectors; stood still for 20.50 min, 10.00 min of work/,
      );
      const row = page.locator("tr.picked");
      expect(await row.count()).toBe(1);
      expect(plain(await row.textContent())).toContain("host-3/nic-2");
      await page.reload();
      await expect.poll(() => page.locator("tr.picked").count()).toBe(1);
      const done = page.getByRole("region", { name: "What was done" }).first();
      expect(plain(await done.textContent())).toContain("host-3, in its place host-130");
      expect(plain(await done.textContent())).toContain("never");
      // The time bar is of the steps that were simulated, not of the life.
      expect(await page.locator("footer").count()).toBe(0);
      expect(await cutTexts(page)).toEqual([]);
    }));

  it("fits a narrow window in the dark, and stands beside a run without one", async () => {
    await seen("life", { hash: "#view=life", dark: true, width: 1000 }, async ({ page }) => {
      expect(await page.locator("rect.piece").count()).toBe(12);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide).toBeLessThanOrEqual(1000);
    });
    await seen("two", { hash: "#view=life" }, async ({ page }) => {
      expect(await page.locator("rect.piece").count()).toBe(12);
    });
  });
});
