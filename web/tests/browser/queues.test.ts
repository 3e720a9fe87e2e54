// Queues in a real browser: the picture, reading it by pointer and keyboard, time, engines, empty states, speed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Page } from "playwright-core";
import {
  engineComparison,
  largePacketReport,
  packetComparison,
  packetReport,
} from "../packets.mjs";
import { smallReport } from "../sample.mjs";
import { Bench, cutTexts, inkOf, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of queues: ${missing}\n`);

/** Budgets of the page, with the patience that a busy machine needs. */
const PATIENCE = 3;
const FIRST_PICTURE_MS = 1000 * PATIENCE;
const INTERACTION_MS = 50 * PATIENCE;
/** The page itself, and what 200 000 cells may add to it. */
const REPORT_BYTES_MAX = 5e6;

describe.skipIf(missing !== null)("queues", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("one", packetReport());
    bench.write("two", packetComparison());
    bench.write("engines", engineComparison());
    bench.write("large", largePacketReport());
    bench.write("flows", smallReport());
    const unsampled = packetReport();
    for (const run of unsampled.runs) delete run.packets?.queues;
    bench.write("unsampled", unsampled);
  });
  afterAll(() => bench.stop());

  async function seen(
    name: string,
    look: Look,
    act: (opened: Opened) => Promise<void>,
  ): Promise<void> {
    const opened = await bench.open(name, { hash: "#view=queues", ...look });
    try {
      await act(opened);
      expect(opened.problems).toEqual([]);
    } finally {
      await opened.close();
    }
  }
  const heads = (page: Page): Promise<string[]> => page.locator("h2").allTextContents();

  it("draws links over time and reads a cell under the pointer", () =>
    seen("one", {}, async ({ page }) => {
      expect(await heads(page)).toEqual([
        "Queues over time",
        "Flow completion times",
        "Slowest transfers",
        "Pause frames by hop",
        "Links by queue",
      ]);
      expect((await inkOf(page, "canvas")).colors).toBeGreaterThan(15);
      const box = await page.locator("canvas").boundingBox();
      await page.mouse.move((box?.x ?? 0) + 400, (box?.y ?? 0) + 30);
      expect(await page.locator(".tip").textContent()).toMatch(
        /leaf-.* → host-.*:port-\d.*ms – .*B waited at most.*paused for/,
      );
      await page.mouse.move((box?.x ?? 0) + 40, (box?.y ?? 0) + 30);
      await expect.poll(() => page.locator(".tip").count()).toBe(0);
    }));

  it("keeps colour and number of links in the URL and restores them", async () => {
    let hash = "";
    await seen("one", {}, async ({ page }) => {
      const height = async (): Promise<number> =>
        (await page.locator("canvas").boundingBox())?.height ?? 0;
      const before = await height();
      await page.getByText("Top 50", { exact: true }).click();
      await expect.poll(height).toBeGreaterThan(before);
      await page.getByText("Time paused", { exact: true }).click();
      await expect.poll(() => page.url()).toMatch(/queue=paused.*top=50/);
      hash = new URL(page.url()).hash;
    });
    await seen("one", { hash }, async ({ page }) => {
      expect(await page.locator("figcaption").textContent()).toContain("pauses held a link");
      await page.goto(page.url().replace("top=50", "top=7"));
      await expect.poll(() => page.getByLabel("Top 20").isChecked()).toBe(true);
    });
  });

  it("is walked by keyboard: cells by arrows, plus zooms, 0 shows all, Enter goes to the map", () =>
    seen("one", { hash: "" }, async ({ page }) => {
      await page.keyboard.press("6");
      await page.locator("canvas").focus();
      await page.keyboard.press("ArrowDown");
      const first = await page.locator(".tip").textContent();
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => page.locator(".tip").textContent()).not.toBe(first);
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("+");
      await expect.poll(() => page.url()).toMatch(/time=\d+-\d+/);
      await page.keyboard.press("0");
      await expect.poll(() => page.url()).not.toContain("time=");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.url()).toMatch(/view=map.*link=\d+/);
    }));

  it("follows the time slider, a drag zooms, a transfer that is picked shows its time", () =>
    seen("one", {}, async ({ page }) => {
      const whole = await page.locator("main canvas").screenshot();
      const box = await page.locator("main canvas").boundingBox();
      const y = (box?.y ?? 0) + 60;
      await page.mouse.move((box?.x ?? 0) + 500, y);
      await page.mouse.down();
      await page.mouse.move((box?.x ?? 0) + 800, y, { steps: 4 });
      await page.mouse.up();
      await expect.poll(() => page.url()).toMatch(/time=\d+-\d+/);
      expect((await page.locator("main canvas").screenshot()).equals(whole)).toBe(false);
      await page.locator("footer").getByRole("button", { name: "Whole run" }).click();
      await expect.poll(() => page.url()).not.toContain("time=");
      const table = page.getByRole("region", { name: "Slowest transfers" });
      await table.locator("tbody tr").first().click();
      await expect.poll(() => page.url()).toMatch(/time=\d+-\d+/);
    }));

  it("draws both runs of a comparison on one scale, and their curves over each other", () =>
    seen("two", { width: 1920, height: 1080 }, async ({ page }) => {
      expect(await page.locator("main canvas").count()).toBe(2);
      expect(await page.locator(".chart svg").count()).toBe(1);
      const pauses = page.getByRole("region", { name: "Pause frames by hop" }).last();
      expect(await pauses.locator("tbody tr").count()).toBe(8);
      const slow = page.getByRole("region", { name: "Slowest transfers" }).first();
      expect(await slow.locator("p").textContent()).toMatch(/^pfc;/);
      await slow.getByText("dcqcn").click();
      await expect.poll(() => slow.locator("p").textContent()).toMatch(/^dcqcn;/);
      await expect.poll(() => page.url()).toContain("run=1");
      expect(await heads(page)).not.toContain("Packet against flow engine");
    }));

  it("sets the two engines against each other", () =>
    seen("engines", {}, async ({ page }) => {
      const engines = page.getByRole("region", { name: "Packet against flow engine" });
      expect(await engines.textContent()).toMatch(/packets takes 24\.00\sms, flows 22\.00\sms/);
      expect(await engines.locator(".chart svg").count()).toBe(2);
      const ends = engines.getByRole("region", { name: "Ends of communications" }).last();
      expect(await ends.locator("tbody tr").first().textContent()).toMatch(
        /dispatch 10.*\+2\.227\sms/,
      );
      const links = engines.getByRole("region", { name: "Bytes of links" }).last();
      await links.locator("tbody tr").first().click();
      await expect.poll(() => page.url()).toMatch(/view=map.*run=1.*link=\d+/);
    }));

  it("says how to get packets, and samples of them", async () => {
    await seen("flows", {}, async ({ page }) => {
      expect(await page.locator("main").textContent()).toMatch(
        /recorded no packets.*--engine packet/s,
      );
      expect(await page.locator("canvas").count()).toBe(0);
    });
    await seen("unsampled", {}, async ({ page }) => {
      expect(await page.locator("main").textContent()).toContain("took no samples of its queues");
      expect(await page.locator(".chart svg").count()).toBe(1);
    });
  });

  it("saves the picture, and is dark in the dark", () =>
    seen("one", { dark: true }, async ({ page }) => {
      expect((await inkOf(page, "canvas")).colors).toBeGreaterThan(15);
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name: "Save Queues over time as SVG" }).click();
      const chunks: Buffer[] = [];
      for await (const chunk of await (await saved).createReadStream())
        chunks.push(chunk as Buffer);
      expect(Buffer.concat(chunks).toString()).toMatch(/^<svg [^]*Leaf to host[^]*<\/svg>$/);
    }));

  it("cuts no text at 1280 and at 1920", async () => {
    for (const name of ["one", "two", "engines"])
      for (const width of [1280, 1920])
        await seen(name, { width, height: 900 }, async ({ page }) => {
          expect(await cutTexts(page), `${name}, ${width}`).toEqual([]);
          expect(
            await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
          ).toBe(true);
        });
  });

  it("is quick with as many cells as a report carries", () =>
    seen("large", { hash: "#view=queues&top=500", width: 1920, height: 1080 }, async ({ page }) => {
      expect(bench.bytes("large")).toBeLessThan(REPORT_BYTES_MAX);
      const picture = await page.evaluate(
        () => performance.getEntriesByName("railtwin:first-picture")[0]?.startTime ?? Infinity,
      );
      expect(picture).toBeLessThan(FIRST_PICTURE_MS);
      const box = await page.locator("main canvas").boundingBox();
      const times: number[] = [];
      for (let i = 0; i < 7; i++) {
        await page.evaluate(() => {
          addEventListener(
            "pointermove",
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
        });
        await page.mouse.move((box?.x ?? 0) + 500 + 31 * i, (box?.y ?? 0) + 60 + 17 * i);
        await page.waitForTimeout(120);
        times.push(
          await page.evaluate(() => (window as { railtwinTime?: number }).railtwinTime ?? Infinity),
        );
      }
      times.sort((a, b) => a - b);
      console.log(
        `500 links, 400 bins: first picture at ${picture.toFixed(0)} ms, hover ${(times[3] ?? 0).toFixed(0)} ms`,
      );
      expect(times[3]).toBeLessThan(INTERACTION_MS);
    }));
});
