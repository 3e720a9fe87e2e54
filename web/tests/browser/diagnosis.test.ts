// The diagnosis in a real browser: findings, matrix, ring, lanes, suspects on the map, empty states, speed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Page } from "playwright-core";
import {
  diagnosisComparison,
  diagnosisReport,
  largeDiagnosisReport,
  quietReport,
  silentReport,
  slowPortReport,
} from "../diagnosis.mjs";
import { smallReport } from "../sample.mjs";
import { Bench, cutTexts, inkOf, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of the diagnosis: ${missing}\n`);

/** Budgets of the page, with the patience that a busy machine needs. */
const PATIENCE = 3;
const FIRST_PICTURE_MS = 1000 * PATIENCE;
const INTERACTION_MS = 50 * PATIENCE;
const REPORT_BYTES_MAX = 20e6;

describe.skipIf(missing !== null)("diagnosis", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("one", diagnosisReport());
    bench.write("two", diagnosisComparison());
    bench.write("quiet", quietReport());
    bench.write("silent", silentReport());
    bench.write("slow-port", slowPortReport());
    bench.write("large", largeDiagnosisReport());
    bench.write("none", smallReport());
  });
  afterAll(() => bench.stop());

  async function seen(
    name: string,
    look: Look,
    act: (opened: Opened) => Promise<void>,
  ): Promise<void> {
    const opened = await bench.open(name, { hash: "#view=diagnosis", ...look });
    try {
      await act(opened);
      expect(opened.problems).toEqual([]);
    } finally {
      await opened.close();
    }
  }
  const matrix = (page: Page) => page.getByRole("region", { name: "Delay matrix" });
  const chain = (page: Page) => page.getByRole("region", { name: "Wait chain" });
  const list = (page: Page) => page.getByRole("region", { name: "Findings" });
  async function saved(page: Page, button: string): Promise<string> {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: button }).click();
    const chunks: Buffer[] = [];
    for await (const chunk of await (await download).createReadStream())
      chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  }

  it("answers in a sentence, then lists findings and draws what they rest on", () =>
    seen("one", {}, async ({ page }) => {
      const answer = (await page.locator("h1").textContent()) ?? "";
      expect(answer).toMatch(/^Messages are slow: leaf-0-1-r2p0 \(78.%\)/);
      expect(answer).toMatch(/Began between 12\.4.s and 13\.2.s; it costs 25.% of the job's time/);
      expect(answer).toMatch(/since \(11\.75.s\); confidence 96.%\.$/);
      expect(await page.locator("h2").allTextContents()).toEqual([
        "Delay matrix",
        "Wait chain",
        "Rank timeline",
        "Injected faults",
        "Settings",
      ]);
      expect(await list(page).locator("article").count()).toBe(4);
      expect((await inkOf(page, "main canvas >> nth=0")).colors).toBeGreaterThan(20);
      expect((await inkOf(page, "main canvas >> nth=1")).colors).toBeGreaterThan(4);
      expect(await chain(page).textContent()).toMatch(
        /Rank 21 on host-0-0-5 is where the finding points .*It waits least, 1\.30.ms in all; its successor rank 25 waits first/,
      );
      const faults = page.getByRole("region", { name: "Injected faults" }).last();
      expect(await faults.locator("tbody tr").allTextContents()).toEqual([
        expect.stringMatching(/slow.*switch leaf-0-1-r2p0.*2\.1.s.*no\. 1/s),
        expect.stringMatching(/slow-gpu.*gpu host-0-0-5\/gpu-1.*3\.4.s.*no\. 1/s),
        expect.stringMatching(/latency.*not found/s),
      ]);
    }));

  it("opens a finding with suspects, evidence and actions; order and finding stay in the URL", async () => {
    let hash = "";
    await seen("one", {}, async ({ page }) => {
      const first = list(page).locator("button.finding").first();
      expect(await first.getAttribute("aria-expanded")).toBe("false");
      await first.click();
      await expect.poll(() => page.url()).toContain("finding=1");
      expect(await first.getAttribute("aria-expanded")).toBe("true");
      const evidence = page.getByRole("region", { name: "Evidence" });
      expect(await evidence.locator("tbody tr").first().textContent()).toMatch(
        /messages.*time per byte.*0\.092.ns\/B.*0\.043.ns\/B.*2\.14.×/s,
      );
      expect(await list(page).textContent()).toMatch(
        /Drain switch leaf-0-1-r2p0.*Proposed only: nothing is applied/s,
      );
      await list(page).getByRole("button", { name: "Suspects" }).click();
      await expect.poll(() => page.url()).toContain("sort=suspects");
      expect(await list(page).locator("article").first().textContent()).toContain("A rank comes");
      hash = new URL(page.url()).hash;
    });
    await seen("one", { hash }, async ({ page }) => {
      expect(await page.getByRole("region", { name: "Evidence" }).count()).toBe(1);
      expect(await list(page).locator("article").first().textContent()).toContain("A rank comes");
      await page.goto(page.url().replace("finding=1", "finding=99"));
      await expect.poll(() => page.getByRole("region", { name: "Evidence" }).count()).toBe(0);
    });
  });

  it("shows suspects on the map, says whose they are, and goes back", () =>
    seen("one", { hash: "#view=diagnosis&finding=1" }, async ({ page }) => {
      const link = page.getByRole("link", { name: "Show on the map" });
      expect(await link.getAttribute("href")).toMatch(/^#view=map.*finding=1$/);
      await link.click();
      await expect.poll(() => page.url()).toMatch(/view=map.*finding=1/);
      expect(await page.locator(".finding").textContent()).toContain(
        "Messages are slow: leaf-0-1-r2p0 or 2 more",
      );
      await page.waitForTimeout(300);
      const marked = await page.locator("main canvas").screenshot();
      await page.getByRole("button", { name: "Back to the finding" }).click();
      await expect.poll(() => page.url()).toMatch(/view=diagnosis.*finding=1/);
      await page.goBack();
      await page.getByRole("button", { name: "Clear marks" }).click();
      await expect.poll(() => page.url()).not.toContain("finding=");
      await page.waitForTimeout(300);
      expect((await page.locator("main canvas").screenshot()).equals(marked)).toBe(false);
    }));

  it("reads cells of the matrix by pointer, joins them by level, and shows a pair on the map", () =>
    seen("one", { height: 1400 }, async ({ page }) => {
      const canvas = matrix(page).locator("canvas.cells");
      const box = await canvas.boundingBox();
      await canvas.hover({ position: { x: (box?.width ?? 0) / 2, y: (box?.height ?? 0) / 2 } });
      const tip = matrix(page).locator(".tip");
      expect(await tip.textContent()).toMatch(/host-.*nic-\d → host-.*(×|not measured)/s);
      await matrix(page).getByText("Leaves", { exact: true }).click();
      await expect.poll(() => page.url()).toContain("level=leaf");
      const table = page.getByRole("region", { name: "Slowest pairs" });
      expect(await table.locator("tbody tr").first().textContent()).toContain("leaf-0-1-r2p0");
      await matrix(page).locator("label", { hasText: "Median pair" }).click();
      await expect.poll(() => page.url()).toContain("cell=median");
      await canvas.hover({ position: { x: (box?.width ?? 0) / 2, y: (box?.height ?? 0) / 2 } });
      expect(await tip.textContent()).toMatch(/leaf-.* → leaf-.*joins \d+ pairs, the worst/s);
      await matrix(page).getByText("Hosts", { exact: true }).click();
      await table.locator("tbody tr").first().click();
      await expect.poll(() => page.url()).toMatch(/view=map.*list=flows.*pair=\d+-\d+/);
    }));

  it("is walked by keyboard: findings, cells, spans", () =>
    seen("one", { hash: "" }, async ({ page }) => {
      await page.keyboard.press("7");
      await expect.poll(() => page.url()).toContain("view=diagnosis");
      await list(page).locator("button.finding").first().focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.url()).toContain("finding=0");
      await matrix(page).locator("canvas.cells").focus();
      await page.keyboard.press("ArrowDown");
      const before = await matrix(page).locator(".tip").textContent();
      await page.keyboard.press("Shift+ArrowRight");
      await expect.poll(() => matrix(page).locator(".tip").textContent()).not.toBe(before);
      await page.keyboard.press("Escape");
      await expect.poll(() => matrix(page).locator(".tip").count()).toBe(0);
      const lanes = page.getByRole("region", { name: "Rank timeline" });
      await lanes.locator("canvas").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowRight");
      expect(await lanes.locator(".tip").textContent()).toMatch(/rank 21, culprit.*wait/s);
      await matrix(page).locator("canvas.cells").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.url()).toMatch(/view=map/);
    }));

  it("follows the page's time in the lanes, and puts findings on the slider", () =>
    seen("one", {}, async ({ page }) => {
      expect(await page.locator("footer [title*='finding: Messages are slow']").count()).toBe(1);
      const lanes = page.getByRole("region", { name: "Rank timeline" }).locator("canvas");
      const whole = await lanes.screenshot();
      await page.goto(`${page.url()}&time=${18.7e12}-${18.8e12}`);
      await page.waitForTimeout(300);
      expect((await lanes.screenshot()).equals(whole)).toBe(false);
    }));

  it("saves pictures and copies findings", () =>
    seen("one", { dark: true }, async ({ page }) => {
      const cells = await saved(page, "Save Delay matrix as SVG");
      expect(cells).toMatch(/^<svg [^]*leaf-0-1-r2p0[^]*<\/svg>$/);
      expect(cells.match(/<rect/g)?.length).toBeGreaterThan(3400);
      expect(cells).toContain("stroke-dasharray");
      expect(await saved(page, "Save Wait chain as SVG")).toMatch(
        /^<svg [^]*rank 21[^]*named by the finding[^]*<\/svg>$/,
      );
      expect(await saved(page, "Save Rank timeline as SVG")).toMatch(
        /^<svg [^]*rank 57[^]*<\/svg>$/,
      );
      expect((await saved(page, "Save Wait chain as PNG")).length).toBeGreaterThan(5000);
      await list(page).getByRole("button", { name: "Copy CSV" }).first().click();
      await expect
        .poll(() => list(page).locator(".heads").textContent())
        .toMatch(/copied|copy refused/);
      expect((await inkOf(page, "main canvas >> nth=0")).colors).toBeGreaterThan(20);
    }));

  it("says that nothing was found, that there is not enough evidence, or is not there at all", async () => {
    await seen("quiet", {}, async ({ page }) => {
      expect(await page.locator("main").textContent()).toMatch(
        /Nothing found in 88.120 operations over 1\.00.h.*imported telemetry.*Only operations were looked at/s,
      );
      expect(await page.locator("main canvas").count()).toBe(0);
    });
    await seen("silent", {}, async ({ page }) => {
      expect(await page.locator("h1").textContent()).toBe("Not enough evidence");
    });
    await seen("none", {}, async ({ page }) => {
      expect(await page.locator("nav a").allTextContents()).not.toContain("Diagnosis");
      expect(await page.locator("main").textContent()).toContain("No diagnosis");
      await page.keyboard.press("7");
      expect(await page.locator("main").textContent()).toContain("No diagnosis");
    });
    await seen("one", { hash: "#view=diagnosis&finding=3" }, async ({ page }) => {
      expect(await list(page).textContent()).toContain("Not enough evidence: the signals at hand");
      expect(await page.getByRole("link", { name: "Show on the map" }).count()).toBe(0);
    });
  });

  it("shows one run of a comparison at a time", () =>
    seen("two", {}, async ({ page }) => {
      expect(await page.locator("h1").textContent()).toMatch(/^Nothing found in 1.204.331/);
      const faults = page.getByRole("region", { name: "Injected faults" }).last();
      expect(await faults.textContent()).toContain("every finding here is a false alarm");
      await page.getByText("three-faults", { exact: true }).click();
      await expect.poll(() => page.url()).toContain("run=1");
      expect(await page.locator("h1").textContent()).toContain("Messages are slow");
    }));

  it("cuts no text at 1280 and at 1920", async () => {
    for (const name of ["one", "two", "quiet", "silent", "large"])
      for (const width of [1280, 1920])
        await seen(name, { width, height: 900, hash: "#view=diagnosis&finding=1" }, async (o) => {
          expect(await cutTexts(o.page), `${name}, ${width}`).toEqual([]);
          // Neither way: what stands outside the frame would make the whole window scroll.
          expect(
            await o.page.evaluate(
              () =>
                document.documentElement.scrollWidth <= innerWidth &&
                document.documentElement.scrollHeight <= innerHeight,
            ),
            `${name}, ${width}`,
          ).toBe(true);
        });
  });

  it("shows one slow port of 1 024 ranks without a control: cells of 6 pixels and more in the colour of alarm", async () => {
    for (const dark of [false, true])
      for (const width of [1280, 1440])
        await seen("slow-port", { width, height: 1600, dark }, async ({ page }) => {
          const canvas = matrix(page).locator("canvas.cells");
          expect(Number(await canvas.getAttribute("data-cell-px"))).toBeGreaterThanOrEqual(6);
          await page.waitForTimeout(200);
          // The largest square of one strong red on the canvas, in CSS pixels.
          const square = await canvas.evaluate((element) => {
            const drawn = element as HTMLCanvasElement;
            const copy = document.createElement("canvas");
            [copy.width, copy.height] = [drawn.width, drawn.height];
            const context = copy.getContext("2d", { willReadFrequently: true });
            context?.drawImage(drawn, 0, 0);
            const data = context?.getImageData(0, 0, copy.width, copy.height).data;
            if (!data) return 0;
            const red = (i: number): boolean => {
              const [r, g, b] = [data[4 * i] ?? 0, data[4 * i + 1] ?? 0, data[4 * i + 2] ?? 0];
              return r > 120 && r > 1.5 * g && r > 1.5 * b;
            };
            const sizes = new Uint16Array(copy.width * copy.height);
            let most = 0;
            for (let i = copy.width + 1; i < sizes.length; i++) {
              if (!red(i)) continue;
              const [up, left, both] = [i - copy.width, i - 1, i - copy.width - 1];
              sizes[i] = 1 + Math.min(sizes[up] ?? 0, sizes[left] ?? 0, sizes[both] ?? 0);
              most = Math.max(most, sizes[i] ?? 0);
            }
            return (most * drawn.clientWidth) / drawn.width;
          });
          expect(square).toBeGreaterThanOrEqual(6);
          expect(await matrix(page).locator("p.answer").textContent()).toContain("host-77/nic-3");
          await expect(page.locator("main").textContent()).resolves.not.toContain("Nothing found");
          const before = page.url();
          await matrix(page).getByRole("button", { name: "Whole matrix" }).click();
          await expect.poll(() => page.url()).not.toBe(before);
          expect(Number(await canvas.getAttribute("data-cell-px"))).toBeLessThan(1);
          await matrix(page).getByRole("button", { name: "Worst part" }).click();
          await expect
            .poll(async () => Number(await canvas.getAttribute("data-cell-px")))
            .toBeGreaterThan(6);
        });
  });

  it("is quick with 16 384 NICs and 200 000 pairs", () =>
    seen("large", { width: 1920, height: 1600 }, async ({ page }) => {
      expect(bench.bytes("large")).toBeLessThan(REPORT_BYTES_MAX);
      const picture = await page.evaluate(
        () => performance.getEntriesByName("railtwin:first-picture")[0]?.startTime ?? Infinity,
      );
      expect(picture).toBeLessThan(FIRST_PICTURE_MS);
      const canvas = matrix(page).locator("canvas.cells");
      await canvas.scrollIntoViewIfNeeded();
      async function timed(kind: string, act: () => Promise<void>): Promise<number> {
        await page.evaluate((on) => {
          addEventListener(
            on,
            () => {
              const start = performance.now();
              requestAnimationFrame(() => {
                const channel = new MessageChannel();
                channel.port1.onmessage = () =>
                  ((window as { railtwinTime?: number }).railtwinTime = performance.now() - start);
                channel.port2.postMessage(null);
              });
            },
            { capture: true, once: true },
          );
        }, kind);
        await act();
        await page.waitForTimeout(150);
        return page.evaluate(() => (window as { railtwinTime?: number }).railtwinTime ?? Infinity);
      }
      const box = await canvas.boundingBox();
      const times: number[] = [];
      for (let i = 0; i < 7; i++)
        times.push(
          await timed("pointermove", () =>
            page.mouse.move((box?.x ?? 0) + 250 + 21 * i, (box?.y ?? 0) + 150 + 23 * i),
          ),
        );
      times.sort((a, b) => a - b);
      const opens: number[] = [];
      for (let i = 0; i < 5; i++)
        opens.push(
          await timed("click", () =>
            list(page)
              .locator("button.finding")
              .nth(i + 1)
              .click(),
          ),
        );
      opens.sort((a, b) => a - b);
      const opened = opens[2] ?? Infinity;
      console.log(
        `16 384 NICs, ${(bench.bytes("large") / 1e6).toFixed(1)} MB: first picture at ${picture.toFixed(0)} ms,` +
          ` hover ${(times[3] ?? 0).toFixed(0)} ms, open a finding ${opened.toFixed(0)} ms`,
      );
      expect(times[3]).toBeLessThan(INTERACTION_MS);
      expect(opened).toBeLessThan(INTERACTION_MS);
    }));
});
