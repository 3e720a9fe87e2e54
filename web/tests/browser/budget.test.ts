// The budgets with 9 216 GPUs: first picture within 1 s, an interaction within 50 ms, under 20 MB.
// Asserted with a factor that a busy machine of two cores may need; the measured values are printed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Page } from "playwright-core";
import { largeComparison, largeReport } from "../sample.mjs";
import { Bench, missing } from "./browser";

const PATIENCE = 3;
const FIRST_PICTURE_MS = 1000 * PATIENCE;
const INTERACTION_MS = 50 * PATIENCE;
const REPORT_BYTES_MAX = 20e6;
const LINKS_PX = { x: 300, y: 300 };

if (missing !== null) console.warn(`\nSKIPPED browser tests of the budgets: ${missing}\n`);

/** Time from an input event to the second frame after it, median of several. */
async function frameTime(
  page: Page,
  repeat: number,
  act: (i: number) => Promise<void>,
): Promise<number> {
  await page.evaluate(() => {
    const times: number[] = [];
    (window as { railtwinTimes?: number[] }).railtwinTimes = times;
    for (const kind of ["wheel", "pointermove", "keydown", "click"])
      addEventListener(
        kind,
        () => {
          const start = performance.now();
          requestAnimationFrame(() => {
            // After this frame's callbacks and its painting the next task runs.
            const channel = new MessageChannel();
            channel.port1.onmessage = () => times.push(performance.now() - start);
            channel.port2.postMessage(null);
          });
        },
        { capture: true },
      );
  });
  for (let i = 0; i < repeat; i++) {
    await act(i);
    await page.waitForTimeout(60);
  }
  const times = await page.evaluate(
    () => (window as { railtwinTimes?: number[] }).railtwinTimes ?? [],
  );
  expect(times.length).toBeGreaterThan(0);
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? Number.POSITIVE_INFINITY;
}

describe.skipIf(missing !== null)("budgets", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("large", largeReport());
    bench.write("both", largeComparison());
  });
  afterAll(() => bench.stop());

  it.each(["large", "both"])("%s: size and first picture", async (name) => {
    const megabytes = bench.bytes(name) / 1e6;
    for (const view of ["summary", "map", "timeline", "links"]) {
      const { page, problems, close } = await bench.open(name, {
        hash: `#view=${view}`,
        width: 1920,
        height: 1080,
      });
      const at = await page.evaluate(() => ({
        decoded: performance.getEntriesByName("railtwin:decoded")[0]?.startTime ?? Infinity,
        picture: performance.getEntriesByName("railtwin:first-picture")[0]?.startTime ?? Infinity,
      }));
      console.log(
        `${name} (${megabytes.toFixed(1)} MB) ${view}: decoded at ${at.decoded.toFixed(0)} ms,` +
          ` first picture at ${at.picture.toFixed(0)} ms`,
      );
      expect(at.picture).toBeLessThan(FIRST_PICTURE_MS);
      expect(problems).toEqual([]);
      await close();
    }
    expect(bench.bytes(name)).toBeLessThan(REPORT_BYTES_MAX);
  });

  it.each(["large", "both"])("%s: interactions", async (name) => {
    const { page, problems, close } = await bench.open(name, {
      hash: "#view=map",
      width: 1920,
      height: 1080,
    });
    await page.waitForTimeout(500);
    const box = await page.locator("canvas").last().boundingBox();
    const [x, y] = [(box?.x ?? 0) + LINKS_PX.x, (box?.y ?? 0) + LINKS_PX.y];
    const measured: Record<string, number> = {};
    await page.mouse.move(x, y);
    measured["hover"] = await frameTime(page, 8, (i) => page.mouse.move(x + i * 21, y + i * 9));
    measured["zoom"] = await frameTime(page, 8, () => page.mouse.wheel(0, -160));
    await page.mouse.down();
    measured["pan"] = await frameTime(page, 8, (i) => page.mouse.move(x - i * 25, y - i * 12));
    await page.mouse.up();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForTimeout(400);
    measured["select"] = await frameTime(page, 6, (i) => page.mouse.click(x + i * 31, y));
    const track = await page.locator(".track").boundingBox();
    await page.mouse.move((track?.x ?? 0) + 50, (track?.y ?? 0) + 12);
    await page.mouse.down();
    measured["time on the map"] = await frameTime(page, 8, (i) =>
      page.mouse.move((track?.x ?? 0) + 150 + i * 40, (track?.y ?? 0) + 12),
    );
    await page.mouse.up();
    await page.keyboard.press("3");
    await page.waitForTimeout(500);
    await page.mouse.move((track?.x ?? 0) + 100, (track?.y ?? 0) + 12);
    await page.mouse.down();
    measured["time on the timeline"] = await frameTime(page, 8, (i) =>
      page.mouse.move((track?.x ?? 0) + 300 + i * 40, (track?.y ?? 0) + 12),
    );
    await page.mouse.up();
    console.log(
      `${name}: ${Object.entries(measured)
        .map(([what, ms]) => `${what} ${ms.toFixed(0)} ms`)
        .join(", ")}`,
    );
    for (const [what, ms] of Object.entries(measured))
      expect(ms, what).toBeLessThan(INTERACTION_MS);
    expect(problems).toEqual([]);
    await close();
  });
});
