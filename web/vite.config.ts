// Builds the page as ONE classic-script file that opens from file://, dist/report.html.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The line that the Rust program replaces with the data; the build fails when it is not there. */
const PLACEHOLDER = '\n<script id="railtwin-data" type="application/json">null</script>\n';
/** More than this and the page itself, not the data, has become the weight of a report. */
const REPORT_BYTES_MAX = 1_500_000;

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
