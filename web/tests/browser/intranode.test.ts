// Traffic inside hosts in a real browser: pictures, choices, the way back, no text that is cut.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { intranodeReport } from "../intranode.mjs";
import { Bench, cutTexts, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of traffic inside hosts: ${missing}\n`);

describe.skipIf(missing !== null)("traffic inside hosts", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("sweep", intranodeReport());
    bench.write("alone", intranodeReport({ rates: ["512 Gbps"], patterns: ["c1"] }));
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

  it("shows throughput with knees and latencies, a panel for each rate of links", () =>
    seen("sweep", {}, async ({ page }) => {
      expect(await page.locator("h1").textContent()).toContain("saturates first");
      expect(await page.locator("h2").allTextContents()).toEqual([
        "Throughput, nvlink 128 Gbps",
        "Throughput, nvlink 512 Gbps",
        "Latency, nvlink 128 Gbps",
        "Latency, nvlink 512 Gbps",
        "Saturation",
        "All points",
      ]);
      expect(await page.locator(".chart svg").count()).toBe(4);
      expect(await page.locator("nav").count()).toBe(0);
      const rows = page.getByRole("region", { name: "Saturation" }).locator("tbody tr");
      expect(await rows.nth(3).textContent()).toMatch(/512 Gbps.*c1.*20.*target NIC 20/s);
    }));

  it("turns lines into panels and back, with the choice in the URL", () =>
    seen("sweep", {}, async ({ page }) => {
      await page.getByText("nvlink", { exact: true }).first().click();
      expect(await page.locator("h2").first().textContent()).toBe("Throughput, pattern c1");
      await expect.poll(() => page.url()).toContain("lines=fabric.host.nvlink");
      await page.getByText("messages inside hosts").click();
      expect(await page.getByText("target NIC", { exact: true }).count()).toBe(0);
      await page.goBack();
      await page.goBack();
      expect(await page.locator("h2").first().textContent()).toBe("Throughput, nvlink 128 Gbps");
    }));

  it("shows inside alone or both together above, with the choice in the URL", () =>
    seen("sweep", {}, async ({ page }) => {
      const upper = page.locator(".chart svg").first();
      expect(await upper.textContent()).not.toContain("inside and between");
      await page.getByText("above: inside and between").click();
      expect(await upper.textContent()).toContain("inside and between");
      await expect.poll(() => page.url()).toContain("above=all");
      await page.goBack();
      expect(await upper.textContent()).not.toContain("inside and between");
    }));

  it("shows a sweep of loads alone", () =>
    seen("alone", { dark: true }, async ({ page }) => {
      expect(await page.locator("h2").first().textContent()).toBe("Throughput, scale-up");
      expect(await page.locator(".chart svg").count()).toBe(2);
    }));

  it("cuts no text at 1280 and at 1920", async () => {
    for (const width of [1280, 1920])
      await seen("sweep", { width }, async ({ page }) => {
        expect(await cutTexts(page)).toEqual([]);
      });
  });
});
