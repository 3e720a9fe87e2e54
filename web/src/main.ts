// Starts the page: reads the embedded data, mounts it, and marks when the first picture stands.
import { mount } from "svelte";
import { readEmbedded } from "./api/decode";
import type { Payload } from "./api/payload";
import { PayloadError } from "./api/read";
import App from "./App.svelte";
import "./app.css";

let payload: Payload | null = null;
let problem: string | null = null;
try {
  payload = readEmbedded(document);
} catch (error) {
  if (!(error instanceof PayloadError)) throw error;
  problem = error.message;
}
performance.mark("railtwin:decoded");
const target = document.getElementById("app");
if (target !== null) mount(App, { target, props: { payload, problem } });
requestAnimationFrame(() =>
  requestAnimationFrame(() => performance.mark("railtwin:first-picture")),
);
