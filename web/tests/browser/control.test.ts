// Decisions on the time bar, their links on the map, and the state of controllers beside it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { controlReport } from "../control";
import { sameFabricComparison, smallReport } from "../sample.mjs";
import { Bench, cutTexts, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of controllers: ${missing}\n`);

describe.skipIf(missing !== null)("controllers", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("control", controlReport());
    bench.write("small", smallReport());
    const two = sameFabricComparison();
    const [, second] = two.runs;
    const [told] = controlReport().runs;
    if (second && told?.control) second.control = told.control;
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
  const dt = async ({ page }: Opened, name: string): Promise<string> =>
    plain(
      await page
        .locator(".control dl > div")
        .filter({ hasText: name })
        .first()
        .locator("dd")
        .textContent(),
    );

  it("marks decisions on the time bar; a mark says what, why and what moved, and is picked", () =>
    seen("control", {}, async (opened) => {
      const { page } = opened;
      const lane = page.getByRole("toolbar", { name: "decisions of c4p" });
      const marks = lane.getByRole("button");
      expect(await marks.count()).toBe(3);
      await marks.nth(1).hover();
      const tip = plain(await page.locator(".tip").textContent());
      expect(tip).toMatch(
        /^c4p moves \d+ queue pairs \(least used\).*in effect 100 ms later.*left \d+ links?, took \d+ links?$/,
      );
      const before = await marks.nth(1).boundingBox();
      expect(before?.width).toBeGreaterThan(20);
      await marks.nth(1).click();
      await expect
        .poll(() => page.url())
        .toMatch(/view=map&list=actions&decisions=1&at=1300000000000/);
      expect(await marks.nth(1).getAttribute("aria-pressed")).toBe("true");
      expect(plain(await page.locator(".side .after").textContent())).toMatch(
        /^c4p moves \d+ queue pairs/,
      );
      expect(await dt(opened, "pending decisions")).toBe("0");
      await page.reload();
      await expect.poll(() => page.locator(".side tr.picked").count()).toBe(1);
      await page.goBack();
    }));

  it("lights on the map what a decision left, dashed, and what it took, solid", () =>
    seen("control", { hash: "#view=map&list=actions&decisions=1" }, async ({ page }) => {
      const lines = async (): Promise<[number, number]> => {
        const saved = page.waitForEvent("download");
        await page.getByRole("button", { name: "Save Fabric map as SVG" }).click();
        const chunks: Buffer[] = [];
        for await (const chunk of await (await saved).createReadStream())
          chunks.push(chunk as Buffer);
        const all =
          Buffer.concat(chunks)
            .toString()
            .match(/<path [^>]*fill="none"[^>]*>/g) ?? [];
        const old = all.filter((path) => path.includes("stroke-dasharray"));
        return [old.length, all.length - old.length];
      };
      const [old, fresh] = await lines();
      expect(old).toBeGreaterThan(1);
      expect(fresh).toBeGreaterThan(1);
      const rows = page.getByRole("region", { name: "What it moved" }).locator("tbody tr");
      await rows.first().click();
      await expect.poll(() => page.url()).toMatch(/decision=\d+/);
      expect(await lines()).toEqual([2, 2]);
      await page.getByRole("button", { name: "Clear" }).click();
      await expect.poll(() => page.url()).not.toContain("decision");
    }));

  it("tells the state at the moment: by its steps, by a click on the time bar, by keys", () =>
    seen("control", { hash: "#view=map" }, async (opened) => {
      const { page } = opened;
      const note = async (): Promise<string> =>
        plain(await page.locator(".control header p").textContent());
      expect(await note()).toMatch(/^at the end of the window, 3\.2180 s; state 4 of 4$/);
      expect(await dt(opened, "entries")).toBe("839");
      await page.getByRole("button", { name: "Previous change" }).click();
      await page.getByRole("button", { name: "Previous change" }).click();
      await expect.poll(note).toBe("at 1.2000 s; state 3 of 4");
      expect(Number(await dt(opened, "pending decisions"))).toBeGreaterThan(1);
      expect(await dt(opened, "without a path")).toBe("2");
      const cursor = page.getByRole("slider", { name: "Moment of the controllers' state" });
      await cursor.press("ArrowLeft");
      await expect.poll(note).toMatch(/^at 1\.1678 s; state 2 of 4$/);
      await cursor.press("Home");
      await expect.poll(note).toMatch(/state 1 of 4$/);
      const track = await page.getByRole("group", { name: "Time window" }).boundingBox();
      await page.mouse.click((track?.x ?? 0) + (track?.width ?? 0) * 0.6, (track?.y ?? 0) + 15);
      await expect.poll(note).toMatch(/^at 1\.9\d+ s; state 4 of 4$/);
      expect(page.url()).not.toContain("time=");
      await cursor.press("Escape");
      await expect.poll(() => cursor.count()).toBe(0);
      const bars = page.getByRole("application", { name: /^Paths per spine/ });
      await bars.focus();
      await page.keyboard.press("ArrowRight");
      await expect
        .poll(async () => plain(await page.locator(".control .sum").textContent()))
        .toMatch(/^spine-0-0-0: \d+ paths/);
      await page.keyboard.press("Enter");
      await expect.poll(() => page.url()).toMatch(/device=0\b/);
    }));

  it("walks the marks by keyboard and shows what each says", () =>
    seen("control", { dark: true }, async ({ page }) => {
      const marks = page.getByRole("toolbar").getByRole("button");
      await marks.first().focus();
      await page.keyboard.press("End");
      await expect
        .poll(async () => plain(await page.locator(".tip").textContent()))
        .toContain("not taken by the switch");
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.url()).toContain("decisions=1");
    }));

  it("is absent without controllers, and of two runs belongs to the one that has them", async () => {
    await seen("small", { hash: "#view=map" }, async ({ page }) => {
      expect(await page.getByRole("toolbar").count()).toBe(0);
      expect(await page.locator(".control").count()).toBe(0);
      expect(await page.getByText("Decisions").count()).toBe(0);
    });
    await seen("two", { hash: "#view=map" }, async ({ page }) => {
      expect(await page.locator(".control").count()).toBe(0);
      await page.getByRole("toolbar").getByRole("button").nth(1).click();
      await expect.poll(() => page.url()).toContain("run=1");
      expect(await page.locator(".control").count()).toBe(1);
    });
  });

  it("cuts no text, in both themes and at 1280 and 1920", async () => {
    for (const look of [{ dark: true }, { width: 1920, height: 1080 }])
      await seen(
        "control",
        { ...look, hash: "#view=map&list=actions&decisions=1&at=1300000000000" },
        async ({ page }) => expect(await cutTexts(page)).toEqual([]),
      );
  });
});
