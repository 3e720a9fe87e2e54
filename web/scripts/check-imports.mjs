// Enforces the layers of the page: api <- model <- views; ui stands alone; views never meet.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const source = resolve(dirname(fileURLToPath(import.meta.url)), "../src");

/** Folder -> folders of ours that it may import from, besides itself where `self` says so. A view is
 * one folder in views; its own files may meet. */
const ALLOWED = {
    api: { from: [], self: true },
    ui: { from: [], self: true },
    model: { from: ["api"], self: true },
    views: { from: ["model", "ui", "api"], self: false },
    "": { from: ["api", "model", "ui", "views"], self: true },
};
/** Views see the types of the payload, never the decoder. */
const VIEWS_MAY_READ_OF_API = ["payload"];
const FILE_LINES_MAX = 500;

const problems = [];
const files = readdirSync(source, { recursive: true })
    .map(String)
    .filter((name) => /\.(ts|svelte)$/.test(name))
    .sort();

for (const name of files) {
    const text = readFileSync(join(source, name), "utf8");
    const place = name.includes("/") ? name.slice(0, name.indexOf("/")) : "";
    const rule = ALLOWED[place];
    if (rule === undefined) {
        problems.push(
            `src/${name}: folder "${place}" has no import rule; add it to check-imports.mjs`,
        );
        continue;
    }
    if (!/^(\/\/|<!--|\/\*)/.test(text))
        problems.push(`src/${name}: the first line must say what the file is about`);
    const lines = text.split("\n").length;
    if (lines > FILE_LINES_MAX)
        problems.push(`src/${name}: ${lines} lines; split it (limit ${FILE_LINES_MAX})`);
    if (/:\s*any\b|\bas any\b|<any>/.test(text))
        problems.push(`src/${name}: uses any; decode or name the type`);
    if (/\b(fetch|XMLHttpRequest|WebSocket|EventSource)\s*\(/.test(text))
        problems.push(`src/${name}: opens a network connection; the page is offline`);
    for (const [, target] of text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)) {
        if (!target.startsWith(".")) continue;
        const path = relative(source, resolve(dirname(join(source, name)), target));
        const there = path.includes("/") ? path.slice(0, path.indexOf("/")) : "";
        const same = there === place;
        const sameView = place === "views" && name.split("/")[1] === path.split("/")[1];
        if (same ? !rule.self && !sameView : !rule.from.includes(there))
            problems.push(`src/${name}: ${place || "the root"} may not import ${target}`);
        else if (
            place === "views" &&
            there === "api" &&
            !VIEWS_MAY_READ_OF_API.includes(path.slice(4))
        )
            problems.push(`src/${name}: views import types from api/payload only, not ${target}`);
    }
}

if (problems.length > 0) {
    console.error(problems.join("\n"));
    process.exit(1);
}
console.log(`imports: ${files.length} files keep the layers`);
