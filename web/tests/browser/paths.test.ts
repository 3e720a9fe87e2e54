// Flows, paths, moves after faults, throughput and evenness on the built page: picked, lit, listed, copied.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { largeReport, smallComparison, smallReport } from "../sample.mjs";
import { Bench, cutTexts, inkOf, missing, type Look, type Opened } from "./browser";

if (missing !== null) console.warn(`\nSKIPPED browser tests of paths: ${missing}\n`);

describe.skipIf(missing !== null)("paths, moves, throughput", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
    bench.write("small", smallReport());
    bench.write("two", smallComparison());
    bench.write("large", largeReport());
    const steps = smallReport();
    for (const run of steps.runs) delete run.throughput;
    bench.write("steps", steps);
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
  const count = ({ page }: Opened): Promise<number> =>
    page
      .locator(".side .count")
      .last()
      .textContent()
      .then((text) => parseInt((text ?? "").replace(/\s/g, ""), 10));

  it("lists the flows of a link picked in the table of links; a flow picked lights its path", () =>
    seen("small", { hash: "#view=links" }, async (opened) => {
      const { page } = opened;
      const links = page.getByRole("region", { name: "All links" });
      await page.getByRole("searchbox").fill("leaf to spine");
      await expect.poll(() => page.locator(".count").last().textContent()).toContain("512 of");
      await links.locator("tbody tr").filter({ hasText: "leaf to spine" }).first().click();
      await expect.poll(() => page.url()).toMatch(/view=map&link=\d+&list=flows/);
      const flows = page.getByRole("region", { name: /^Flows, leaf-.* → spine-/ });
      expect(await count(opened)).toBeGreaterThan(0);
      const heads = await flows.locator("th").allTextContents();
      expect(heads.map((text) => text.replace("↓", "").trim())).toEqual([
        "Operation",
        "Source",
        "Target",
        "QP",
        "Port",
        "Landed",
        "Bytes",
      ]);
      const before = await page.locator("canvas").screenshot();
      await flows.locator("tbody tr").first().click();
      await expect.poll(() => page.url()).toMatch(/flow=\d+/);
      await page.waitForTimeout(150);
      expect((await page.locator("canvas").screenshot()).equals(before)).toBe(false);
      const lit = await page.locator("canvas").screenshot();
      await page.reload();
      await expect.poll(() => page.locator(".side tr.picked").count()).toBe(1);
      await page.waitForTimeout(300);
      expect((await page.locator("canvas").screenshot()).equals(lit)).toBe(true);
      await page.goBack();
      await expect.poll(() => page.url()).not.toContain("flow=");
    }));

  it("is reached by keyboard: list, row, path; and copies flows with their paths", () =>
    seen("small", { hash: "#view=map" }, async ({ page }) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("radio", { name: "Links", exact: true }).focus();
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => page.url()).toContain("list=flows");
      await page.getByRole("region", { name: "Flows, All flows" }).focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.url()).toMatch(/flow=\d+/);
      await page.getByRole("button", { name: "Clear" }).press("Enter");
      await expect.poll(() => page.url()).not.toContain("flow=");
      await page.getByRole("button", { name: "Copy CSV" }).click();
      await expect.poll(() => page.getByRole("button", { name: "copied" }).count()).toBe(1);
      const text = await page.evaluate(() => navigator.clipboard.readText());
      const [head, first] = text.split("\r\n");
      expect(head).toBe(
        "job,operation,source,target,queue_pair,source_port,landed_port,bytes (B),pattern,path",
      );
      expect(first).toMatch(
        /^train,\w+ all-[a-z-]+,host-[\d-]+\/nic-\d,host-[\d-]+\/nic-\d,\d,\d{5},[01],97000000,[01],leaf-/,
      );
      expect(text.trim().split("\r\n").length).toBe(2049);
    }));

  it("picks a link on the map itself, under the pointer", () =>
    seen("small", { hash: "#view=map" }, async ({ page }) => {
      const box = await page.locator("canvas").boundingBox();
      const [x, y] = [box?.x ?? 0, box?.y ?? 0];
      await page.mouse.click(x + 108, y + 120);
      await expect.poll(() => page.url()).toContain("device=");
      let found = "";
      for (let at = 40; at < 320 && found === ""; at += 2) {
        await page.mouse.move(x + at, y + 62);
        const tip = page.locator(".tip b");
        if ((await tip.count()) > 0) found = (await tip.textContent()) ?? "";
        if (!found.includes("→")) found = "";
        else await page.mouse.click(x + at, y + 62);
      }
      expect(found).toMatch(/leaf-0-0-r0p0/);
      await expect.poll(() => page.url()).toMatch(/link=\d+&list=flows/);
      await expect.poll(() => page.locator(".side h2").textContent()).toBe(found);
    }));

  it("lights the paths of a pair of hosts", () =>
    seen("small", { hash: "#view=map&list=pairs", dark: true }, async ({ page }) => {
      const before = await page.locator("canvas").screenshot();
      const pairs = page.getByRole("region", { name: /^Host pairs/ });
      const [source, target] = await pairs
        .locator("tbody tr")
        .first()
        .locator("td")
        .allTextContents();
      await pairs.locator("tbody tr").first().click();
      await expect.poll(() => page.url()).toMatch(/pair=\d+-\d+/);
      await page.waitForTimeout(150);
      expect((await page.locator("canvas").screenshot()).equals(before)).toBe(false);
      await page.getByText("Flows", { exact: true }).first().click();
      await expect
        .poll(() => page.locator(".side h2").textContent())
        .toBe(`${source?.trim()} → ${target?.trim()}`);
    }));

  it("says how many flows a fault moved, and draws old paths dashed and new ones solid", () =>
    seen("small", { hash: "#view=map&list=moves" }, async (opened) => {
      const { page } = opened;
      const epochs = page.getByRole("region", { name: "Changes of routes" });
      const rows = epochs.locator("tbody tr");
      expect(await rows.count()).toBe(2);
      const cells = await rows.first().locator("td").allTextContents();
      const [at = "", what = "", moved = "", stayed = ""] = cells.map((text) => text.trim());
      expect([at.replace(/\s/g, " "), what]).toEqual(["1.100 s", "uplink 7 down"]);
      expect(Number(moved)).toBeGreaterThan(1);
      expect(Number(moved) + Number(stayed)).toBe(2048);
      expect(await count(opened)).toBe(Number(moved));
      const dashed = async (): Promise<[number, number]> => {
        const saved = page.waitForEvent("download");
        await page.getByRole("button", { name: "Save Fabric map as SVG" }).click();
        const chunks: Buffer[] = [];
        for await (const chunk of await (await saved).createReadStream())
          chunks.push(chunk as Buffer);
        const svg = Buffer.concat(chunks).toString();
        const all = svg.match(/<path [^>]*fill="none"[^>]*>/g) ?? [];
        const old = all.filter((path) => path.includes("stroke-dasharray"));
        return [old.length, all.length - old.length];
      };
      const [old, solid] = await dashed();
      expect(old).toBeGreaterThan(1);
      expect(solid).toBeGreaterThan(1);
      await page.getByRole("region", { name: "Moved flows" }).locator("tbody tr").first().click();
      await expect.poll(() => page.url()).toMatch(/move=\d+/);
      expect((await dashed())[0]).toBe(2);
      await rows.nth(1).click();
      await expect.poll(() => page.url()).toContain("epoch=2");
      expect(page.url()).not.toContain("move=");
    }));

  it("says what a large report leaves out", () =>
    seen("large", { hash: "#view=map&list=flows", width: 1920, height: 1080 }, async ({ page }) => {
      expect((await page.locator(".partial").textContent())?.replace(/\s/g, " ")).toMatch(
        /lists 12 000 of 69 000 flows, with 50\.0 % of the bytes: for each link the largest/,
      );
      const start = Date.now();
      await page.getByText("Host pairs").click();
      await expect.poll(() => page.url()).toContain("list=pairs");
      expect(Date.now() - start).toBeLessThan(3000);
      expect((await inkOf(page, "canvas")).colors).toBeGreaterThan(15);
    }));

  it("draws a chart per job over the page's time, with a tick per fault and repair", () =>
    seen("small", {}, async ({ page }) => {
      await page.keyboard.press("5");
      await expect.poll(() => page.locator(".chart svg").count()).toBe(2);
      expect(await page.locator("h2").allTextContents()).toEqual([
        "Job train",
        "Job eval",
        "Faults and repairs",
        "Steps",
      ]);
      const texts = await page.locator(".chart svg").first().locator("text").allTextContents();
      for (const word of ["fault", "repair", "B/s", "steps/s"]) expect(texts).toContain(word);
      const events = page.getByRole("region", { name: "Faults and repairs" }).locator("tbody tr");
      expect(await events.allTextContents()).toHaveLength(2);
      await page.getByRole("region", { name: "Steps" }).last().locator("tbody tr").nth(1).click();
      await expect.poll(() => page.url()).toContain("time=536333333333-1072666666667");
      expect(await page.getByText(/mean .*B\/s, 1\.865.*steps\/s/).count()).toBe(1);
    }));

  it("draws steps per second where no throughput was kept, and overlays two runs", async () => {
    await seen("steps", { hash: "#view=throughput" }, async ({ page }) => {
      const texts = await page.locator(".chart svg").first().locator("text").allTextContents();
      expect(texts).toContain("steps/s");
      expect(texts).not.toContain("B/s");
    });
    await seen("two", { hash: "#view=throughput" }, async ({ page }) => {
      expect(await page.locator(".chart svg").count()).toBe(2);
      expect(await page.locator("main li b").allTextContents()).toEqual([
        "dcn-plus-512",
        "hpn-512",
        "dcn-plus-512",
        "hpn-512",
      ]);
    });
  });

  it("shows how evenly each tier uses its links", () =>
    seen("small", { hash: "#view=links" }, async ({ page }) => {
      const rows = page.getByRole("region", { name: "Evenness per tier" }).locator("tbody tr");
      const first = await rows.first().locator("td").allTextContents();
      expect(first.map((text) => text.trim())).toEqual([
        "leaf up",
        "bytes",
        "1.20",
        "1.10",
        "1.50",
        "1.75",
        "leaf-0-0-r0p0",
        "64",
      ]);
      expect(await rows.count()).toBe(4);
    }));

  it("cuts no text in the lists of the map", async () => {
    for (const name of ["small", "two", "large"])
      for (const width of [1280, 1920])
        for (const list of ["flows", "pairs", "moves"])
          await seen(
            name,
            { width, height: width === 1280 ? 800 : 1080, hash: `#view=map&list=${list}` },
            async ({ page }) => {
              expect(await cutTexts(page), `${name}, ${list}, ${width}`).toEqual([]);
            },
          );
  });
});
