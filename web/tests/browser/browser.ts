// Starts Debian's Chromium for the browser tests and opens filled report files in it from file://.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import type { WireAnyPayload } from "../sample.mjs";
import { fill } from "../sample.mjs";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const ARGS = [
  "--no-sandbox",
  "--headless",
  "--disable-gpu",
  "--enable-unsafe-swiftshader",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const TEMPLATE = resolve(import.meta.dirname, "../../dist/report.html");

/** Why browser tests cannot run here; null when they can. */
export const missing: string | null = !existsSync(CHROMIUM)
  ? `no Chromium at ${CHROMIUM}; install one or name it in CHROMIUM`
  : !existsSync(TEMPLATE)
    ? "web/dist/report.html is not built; run npm run build"
    : null;

export interface Opened {
  page: Page;
  /** Everything that must not happen: console errors, page errors, requests to anywhere. */
  problems: string[];
  close: () => Promise<void>;
}
export interface Look {
  width?: number;
  height?: number;
  dark?: boolean;
  hash?: string;
}

export class Bench {
  private readonly folder = mkdtempSync(join(tmpdir(), "railtwin-web-"));
  private readonly files = new Map<string, string>();
  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<Bench> {
    return new Bench(await chromium.launch({ executablePath: CHROMIUM, args: ARGS }));
  }
  async stop(): Promise<void> {
    await this.browser.close();
    rmSync(this.folder, { recursive: true });
  }
  /** Writes a report; a payload of null leaves the template as it is built. */
  write(name: string, payload: WireAnyPayload | null): void {
    const template = readFileSync(TEMPLATE, "utf8");
    const file = join(this.folder, `${name}.html`);
    writeFileSync(file, payload === null ? template : fill(template, payload));
    this.files.set(name, file);
  }
  bytes(name: string): number {
    return readFileSync(this.files.get(name) ?? "").length;
  }
  async open(name: string, look: Look = {}): Promise<Opened> {
    const context = await this.browser.newContext({
      viewport: { width: look.width ?? 1280, height: look.height ?? 800 },
      colorScheme: look.dark ? "dark" : "light",
      acceptDownloads: true,
    });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning")
        problems.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => problems.push(`page error: ${error.message}`));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith("data:") && !url.startsWith("blob:") && !request.isNavigationRequest())
        problems.push(`request: ${url}`);
    });
    const url = pathToFileURL(this.files.get(name) ?? "");
    await page.goto(url.href + (look.hash ?? ""));
    await page.waitForFunction(
      () => performance.getEntriesByName("railtwin:first-picture").length > 0,
    );
    return { page, problems, close: () => context.close() };
  }
}

/** Colours on a canvas, coarsely: how many different ones, and the part that is not the page. */
export async function inkOf(
  page: Page,
  selector: string,
): Promise<{ colors: number; part: number }> {
  await page.waitForTimeout(150);
  return page
    .locator(selector)
    .first()
    .evaluate((element) => {
      const canvas = element as HTMLCanvasElement;
      const copy = document.createElement("canvas");
      copy.width = canvas.width;
      copy.height = canvas.height;
      const context = copy.getContext("2d", { willReadFrequently: true });
      context?.drawImage(canvas, 0, 0);
      const pixels = context?.getImageData(0, 0, copy.width, copy.height).data;
      if (!pixels) return { colors: 0, part: 0 };
      const colors = new Set<number>();
      let other = 0;
      let seen = 0;
      const ground = ((pixels[0] ?? 0) << 16) | ((pixels[1] ?? 0) << 8) | (pixels[2] ?? 0);
      for (let i = 0; i < pixels.length; i += 4 * 7) {
        const color = ((pixels[i] ?? 0) << 16) | ((pixels[i + 1] ?? 0) << 8) | (pixels[i + 2] ?? 0);
        colors.add(color);
        seen += 1;
        if (color !== ground) other += 1;
      }
      return { colors: colors.size, part: other / seen };
    });
}

/** Text that is cut off or runs out of the window: elements whose text does not fit them. */
export async function cutTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const cut: string[] = [];
    for (const element of document.querySelectorAll(
      "h1, h2, p, nav a, button, th, dt, dd, label, legend ~ label, .value, .against, .name, li",
    )) {
      const box = element.getBoundingClientRect();
      if (box.width === 0 || element.closest("table:not(.facts) tbody")) continue;
      const style = getComputedStyle(element);
      const hides = style.overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1;
      if (hides || box.right > innerWidth + 1 || box.left < -1)
        cut.push(`${element.tagName} "${(element.textContent ?? "").trim().slice(0, 40)}"`);
    }
    return cut;
  });
}
