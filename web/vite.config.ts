// Builds the page as ONE classic-script file that opens from file://, dist/report.html.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The line that the Rust program replaces with the data; the build fails when it is not there. */
const PLACEHOLDER = '\n<script id="railtwin-data" type="application/json">null</script>\n';
/** More than this and the page itself, not the data, has become the weight of a report. */
const REPORT_BYTES_MAX = 1_500_000;

/** What the file carries of others, and where their licence texts lie. */
const CARRIED: readonly [name: string, text: string][] = [
  ["Apache ECharts (Apache-2.0, like railtwin)", "echarts/NOTICE"],
  ["zrender (BSD-3-Clause)", "zrender/LICENSE"],
  ["Svelte (MIT)", "svelte/LICENSE.md"],
  ["tslib (0BSD)", "tslib/LICENSE.txt"],
  ["Inter, latin part (SIL OFL 1.1)", "@fontsource-variable/inter/LICENSE"],
];

/** The licences as inert text at the end of the page, where who passes the file on passes them too. */
function licences(): string {
  const texts = CARRIED.map(([name, text]) => {
    const body = readFileSync(new URL(`node_modules/${text}`, import.meta.url), "utf8");
    return `${name}\n\n${body.trim()}`;
  });
  const whole = texts.join("\n\n----\n\n").replace(/<\/script/gi, "<\\/script");
  return `<script id="third-party-licences" type="text/plain">\n${whole}\n</script>\n</body>`;
}

/** Puts the script and the style sheet inside index.html and names the result report.html. */
function singleFile(): Plugin {
  return {
    name: "railtwin-single-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const html = bundle["index.html"];
      if (html?.type !== "asset") return this.error("the bundle holds no index.html");
      let page = String(html.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/g, "")
        .replace(/\s*<link rel="(?:stylesheet|modulepreload)"[^>]*>/g, "");
      for (const [name, part] of Object.entries(bundle)) {
        if (part === html) continue;
        if (part.type === "chunk") {
          const code = part.code.replace(/<\/script/gi, "<\\/script").replace(/<!--/g, "<\\!--");
          page = page.replace("</body>", () => `<script>\n${code}\n</script>\n</body>`);
        } else if (name.endsWith(".css")) {
          page = page.replace(
            "</head>",
            () => `<style>\n${String(part.source)}\n</style>\n</head>`,
          );
        } else return this.error(`${name} is not part of the one file; import it inline`);
        delete bundle[name];
      }
      page = page.replace("</body>", licences);
      if (page.split(PLACEHOLDER).length !== 2)
        this.error("index.html must hold the data placeholder on a line of its own, once");
      if (page.length > REPORT_BYTES_MAX)
        this.error(`report.html has ${page.length} bytes, more than ${REPORT_BYTES_MAX}`);
      html.fileName = "report.html";
      html.source = page;
    },
  };
}

export default defineConfig({
  plugins: [svelte(), singleFile()],
  build: {
    target: "es2022",
    assetsInlineLimit: 1_000_000,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1500,
    rollupOptions: { output: { format: "iife", codeSplitting: false } },
  },
  test: {
    include: ["tests/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
