// The built page in a real browser: what a person sees and does, offline, from a file.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptyRun, sameFabricComparison, smallComparison, smallReport } from "../sample.mjs";
import { Bench, cutTexts, inkOf, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of the report: ${missing}\n`);

describe.skipIf(missing !== null)("report page", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("none", null);
    bench.write("small", smallReport());
    bench.write("two", smallComparison());
    bench.write("same", sameFabricComparison());
    bench.write("empty", emptyRun());
    const bare = smallReport();
    for (const run of bare.runs) {
      delete run.link_bins;
      delete run.flows;
      delete run.moves;
      delete run.throughput;
      delete run.steps;
      delete run.jobs;
      delete run.balance;
      run.seeds = [];
      run.exposed = [];
      run.facts = [];
    }
    bench.write("bare", bare);
    bench.write("wrong", { ...smallReport(), schema: 9 as 1 });
  });
  afterAll(() => bench.stop());

  /** Opens, acts, and holds that nothing went wrong on the way. */
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

  it("opens from a file with the answer first, and asks nobody for anything", () =>
    seen("small", {}, async ({ page }) => {
      expect(page.url()).toMatch(/^file:/);
      expect(await page.locator("h1").textContent()).toBe(
        "One step takes 3.22 s; 0.21 s of it waits for expert-parallel all-to-all.",
      );
      expect(await page.locator(".key .value").allTextContents()).toEqual([
        "3.218s",
        "977.5k\u00a0tokens/s",
        "53.3%",
      ]);
      expect(await page.locator(".warnings li").count()).toBe(1);
      expect(
        await page.getByRole("region", { name: "All figures" }).locator("tbody tr").count(),
      ).toBe(10);
      expect(await page.locator(".chart svg").count()).toBe(2);
      expect(await page.title()).toBe("HPN, 512 GPUs, MoE step – railtwin");
    }));

  it("draws no view that has gone", async () => {
    for (const view of ["map", "timeline", "queues"]) {
      await seen("two", { hash: `#view=${view}` }, async ({ page }) => {
        await page.waitForTimeout(300);
        await page.evaluate(async () => {
          // New colours ask every canvas for a picture at the next frame; before it comes, the view is another.
          document.querySelector<HTMLButtonElement>("button[aria-label^='Switch to']")?.click();
          for (let i = 0; i < 20; i++) await Promise.resolve();
          document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true }));
          for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
        });
        expect(await page.locator("h1").count()).toBe(1);
        expect(new URL(page.url()).hash).not.toContain(`view=${view}`);
      });
    }
  });

  it("shows a designed page for no data, an empty run, a bare run and a wrong schema", async () => {
    await seen("none", {}, async ({ page }) => {
      expect(await page.locator("h1").textContent()).toBe("No run yet");
      expect(await page.locator("nav").count()).toBe(0);
    });
    await seen("wrong", {}, async ({ page }) => {
      expect(await page.getByRole("alert").textContent()).toContain(
        "payload.schema is 9; expected 1",
      );
    });
    for (const view of ["summary", "map", "timeline", "links", "throughput", "queues"]) {
      await seen("empty", { hash: `#view=${view}` }, async ({ page }) => {
        expect(await page.locator("main").textContent()).toMatch(
          /No step was simulated|recorded no/,
        );
      });
      await seen(
        "bare",
        { hash: `#view=${view}&time=1000000000000-2000000000000` },
        async ({ page }) => {
          expect((await page.locator("main").textContent())?.length).toBeGreaterThan(100);
        },
      );
    }
  });

  it("draws the map; a click on a leaf lists its links and fades the rest", () =>
    seen("small", { hash: "#view=map" }, async ({ page }) => {
      const before = await inkOf(page, "canvas");
      expect(before.part).toBeGreaterThan(0.3);
      expect(before.colors).toBeGreaterThan(15);
      const box = await page.locator("canvas").boundingBox();
      await page.mouse.move((box?.x ?? 0) + 108, (box?.y ?? 0) + 120);
      expect(await page.locator(".tip").textContent()).toMatch(
        /leaf-0-0-r0p0.*worst link up.*capacity/,
      );
      await page.mouse.click((box?.x ?? 0) + 108, (box?.y ?? 0) + 120);
      await expect.poll(() => page.locator("h2").allTextContents()).toContain("leaf-0-0-r0p0");
      expect(await page.locator(".count").textContent()).toBe("48 links");
      await expect.poll(() => page.url()).toContain("device=");
      const table = page.getByRole("region", { name: "Links of leaf-0-0-r0p0" });
      const value = (text: string | null): number => parseFloat(text ?? "");
      const cells = await table.locator("tbody tr td:nth-child(3)").allTextContents();
      expect(cells.map(value)).toEqual(cells.map(value).sort((a, b) => b - a));
      await page.getByRole("searchbox").fill("spine");
      await expect.poll(() => page.locator(".count").textContent()).toBe("16 of 48 links");
      await table.locator("tbody tr").first().click();
      await expect.poll(() => page.url()).toContain("link=");
      await page.goBack();
      await expect.poll(() => page.url()).not.toContain("link=");
      await page.goBack();
      await expect.poll(() => page.locator("h2").allTextContents()).toContain("All links");
    }));

  it("is walked by keyboard: views by number, switches by arrows, Enter opens, Escape leaves", () =>
    seen("small", {}, async ({ page }) => {
      await page.keyboard.press("2");
      await page.locator("canvas").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => page.locator(".side h2").textContent()).toMatch(/^leaf-0-0-/);
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => page.locator(".side h2").textContent()).toMatch(/^leaf-0-0-r1/);
      const closed = await inkOf(page, "canvas");
      await page.keyboard.press("Enter");
      await page.waitForTimeout(400);
      expect((await inkOf(page, "canvas")).part).toBeGreaterThan(closed.part);
      await page.keyboard.press("Escape");
      await expect.poll(() => page.locator(".side h2").textContent()).toBe("All links");
      await page.keyboard.press("3");
      await expect.poll(() => page.locator("h2").first().textContent()).toBe("Timeline");
      await page.getByRole("slider", { name: /Start/ }).focus();
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => page.url()).toMatch(/time=32180000000-/);
      await page.keyboard.press("Escape");
      await expect.poll(() => page.url()).not.toContain("time=");
    }));

  it("keeps what is shown in the URL and restores it", async () => {
    let url = "";
    await seen("small", { hash: "#view=timeline" }, async ({ page }) => {
      const box = await page.locator("canvas").boundingBox();
      const y = (box?.y ?? 0) + 100;
      await page.mouse.move((box?.x ?? 0) + 400, y);
      await page.mouse.down();
      await page.mouse.move((box?.x ?? 0) + 600, y, { steps: 4 });
      await page.mouse.up();
      await page.getByRole("button", { name: "TP" }).click();
      await expect.poll(() => page.url()).toMatch(/time=\d+-\d+.*hide=tp/);
      url = page.url();
    });
    await seen("small", { hash: new URL(url).hash }, async ({ page }) => {
      expect(await page.getByRole("button", { name: "TP" }).getAttribute("aria-pressed")).toBe(
        "false",
      );
      expect(await page.locator(".readout").textContent()).toMatch(/ms.*of 3\.22/);
      const [, from = "", to = ""] = /time=(\d+)-(\d+)/.exec(page.url()) ?? [];
      expect(Number(to) - Number(from)).toBeGreaterThan(0.4e12);
      await page.locator("footer").getByRole("button", { name: "Whole run" }).click();
      await expect.poll(() => page.url()).not.toContain("time=");
      await page.goBack();
      await expect.poll(() => page.url()).toContain(`time=${from}-${to}`);
    });
  });

  it("colours the map by the time window", () =>
    seen("small", { hash: "#view=map" }, async ({ page }) => {
      const whole = await page.locator("canvas").screenshot();
      const track = await page.locator(".track").boundingBox();
      const y = (track?.y ?? 0) + 15;
      await page.mouse.move((track?.x ?? 0) + 5, y);
      await page.mouse.down();
      await page.mouse.move((track?.x ?? 0) + 40, y, { steps: 3 });
      await page.mouse.up();
      await expect.poll(() => page.locator(".readout").textContent()).toContain("of 3.22");
      await page.waitForTimeout(150);
      expect((await page.locator("canvas").screenshot()).equals(whole)).toBe(false);
      expect(await page.locator(".mark").count()).toBe(2);
      expect(await page.locator(".mark.repair").count()).toBe(1);
    }));

  it("compares two runs: a difference per figure, both maps, both timelines, curves overlaid", () =>
    seen("two", { width: 1920, height: 1080 }, async ({ page }) => {
      expect(await page.locator("h1").textContent()).toContain("14 % faster");
      const table = page.getByRole("region", { name: "All figures" });
      expect(
        await table
          .locator("th")
          .allTextContents()
          .then((all) => all.map((text) => text.trim())),
      ).toEqual(["Figure", "dcn-plus-512", "hpn-512", "Difference", "Relative", "Verdict", "Note"]);
      const cells = await table.locator("tbody tr").first().locator("td").allTextContents();
      expect(cells.map((text) => text.replace(/\s+/g, " ").trim()).slice(0, 6)).toEqual([
        "Step time",
        "3.740 s",
        "3.218 s",
        "−522.0 ms",
        "−14.0 %",
        "better",
      ]);
      await page.keyboard.press("2");
      await expect.poll(() => page.locator("canvas").count()).toBe(2);
      for (const i of [0, 1])
        expect((await inkOf(page, `.one:nth-child(${i + 1}) canvas`)).part).toBeGreaterThan(0.1);
      await page.keyboard.press("3");
      await expect.poll(() => page.getByRole("application").count()).toBe(2);
      await page.keyboard.press("4");
      await expect.poll(() => page.locator(".chart svg").count()).toBe(7);
    }));

  it("subtracts runs on the same fabric", () =>
    seen("same", { hash: "#view=map&map=difference" }, async ({ page }) => {
      expect(await page.locator("canvas").count()).toBe(1);
      expect(await page.locator("figcaption").textContent()).toBe("utilization, pinned minus ecmp");
      expect((await inkOf(page, "canvas")).colors).toBeGreaterThan(15);
      await page.getByText("Side by side").click();
      await expect.poll(() => page.locator("canvas").count()).toBe(2);
    }));

  it("saves charts and the map as SVG and PNG, and copies tables as CSV", () =>
    seen("small", {}, async ({ page }) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      for (const [view, name] of [
        ["1", "Where the step goes"],
        ["2", "Fabric map"],
        ["3", "Timeline"],
      ] as const) {
        await page.keyboard.press(view);
        for (const kind of ["SVG", "PNG"]) {
          const saved = page.waitForEvent("download");
          await page.getByRole("button", { name: `Save ${name} as ${kind}` }).click();
          const download = await saved;
          expect(download.suggestedFilename()).toMatch(new RegExp(`\\.${kind.toLowerCase()}$`));
          const chunks: Buffer[] = [];
          for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
          const content = Buffer.concat(chunks);
          if (kind === "SVG") {
            expect(content.toString()).toMatch(/^<svg [^]*<\/svg>$/);
            expect(content.toString()).toMatch(
              view === "1" ? /time per step/ : view === "2" ? /segment|rail 3/ : /stage 3/,
            );
          } else expect(content.subarray(1, 4).toString()).toBe("PNG");
        }
      }
      await page.keyboard.press("1");
      await page.getByRole("button", { name: "Copy CSV" }).click();
      await expect.poll(() => page.getByRole("button", { name: "copied" }).count()).toBe(1);
      const text = await page.evaluate(() => navigator.clipboard.readText());
      const [head, first] = text.split("\r\n");
      expect(head).toBe("figure,value hpn-512,range,unit,reason hpn-512,note");
      expect(first).toMatch(/^step_time,3218000000000,\d{13},ps,,median over 24 hash seeds$/);
    }));

  it("sorts a table by a click on its head", () =>
    seen("small", { hash: "#view=links" }, async ({ page }) => {
      const table = page.getByRole("region", { name: "All links" });
      await table.getByRole("button", { name: "Bytes" }).click();
      await expect
        .poll(() => table.locator('th[aria-sort="descending"]').textContent())
        .toContain("Bytes");
      const top = await table.locator("tbody tr td:nth-child(7)").first().textContent();
      await table.getByRole("button", { name: "Bytes" }).click();
      await expect
        .poll(() => table.locator("tbody tr td:nth-child(7)").first().textContent())
        .not.toBe(top);
      await table.locator("tbody tr").first().click();
      await expect.poll(() => page.url()).toMatch(/view=map.*link=/);
    }));

  it("is light and dark by the system's choice and by the button", async () => {
    const ground = (opened: Opened): Promise<string> =>
      opened.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await seen("small", {}, async (opened) => {
      expect(await ground(opened)).toBe("rgb(255, 255, 255)");
      await opened.page.getByRole("button", { name: /dark colours/ }).click();
      expect(await ground(opened)).toBe("rgb(18, 20, 23)");
    });
    await seen("small", { dark: true, hash: "#view=map" }, async (opened) => {
      expect(await ground(opened)).toBe("rgb(18, 20, 23)");
      expect((await inkOf(opened.page, "canvas")).colors).toBeGreaterThan(15);
    });
  });

  it("cuts no text at 1280 and at 1920 in any view", async () => {
    for (const name of ["small", "two"])
      for (const width of [1280, 1920])
        for (const view of ["summary", "map", "timeline", "links", "throughput", "queues"])
          await seen(
            name,
            { width, height: width === 1280 ? 800 : 1080, hash: `#view=${view}` },
            async ({ page }) => {
              expect(await cutTexts(page), `${name}, ${view}, ${width}`).toEqual([]);
              expect(
                await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
              ).toBe(true);
            },
          );
  });
});
