// Decodes the embedded payload once into typed columns; what passes here is trusted afterwards.
import { decodeCluster } from "./cluster_decode";
import { below, f32, f64, strings, table, u32, u32Free, u8 } from "./columns";
import {
  BETTER,
  DEVICE_KINDS,
  PAYLOAD_SCHEMA,
  type Devices,
  type Exposed,
  type Fact,
  type Figure,
  type Incidents,
  type LinkBins,
  type Links,
  type Payload,
  type Run,
  type SeedResult,
  type Timeline,
} from "./payload";
import { decodeControl } from "./control_decode";
import { decodeDiagnosed } from "./diagnosed_decode";
import { decodeDiagnosis } from "./diagnosis";
import { decodeIntranode } from "./intranode_decode";
import { decodeLife } from "./life_decode";
import { decodeOperations, decodePackets } from "./packets";
import {
  decodeBalance,
  decodeFlows,
  decodeMoves,
  decodeSteps,
  decodeThroughput,
  optional,
} from "./sections";
import {
  count,
  fields,
  finite,
  finiteOrNull,
  list,
  PayloadError,
  refuse,
  text,
  textItem,
  type Fields,
} from "./read";

/** A report holds one run, a comparison two. */
const RUNS_MAX = 2;

/** The payload as typed columns, or null for an empty page; throws PayloadError. */
export function decodePayload(value: unknown): Payload | null {
  if (value === null) return null;
  const whole = fields(value, "payload");
  const schema = whole["schema"];
  if (schema !== PAYLOAD_SCHEMA)
    refuse("payload.schema", schema, `${PAYLOAD_SCHEMA}, the version that this page reads`);
  const [title, generator] = [text(whole, "title", "payload"), text(whole, "generator", "payload")];
  const cluster = optional(whole["cluster"], "payload.cluster", decodeCluster);
  const intranode = optional(whole["intranode"], "payload.intranode", decodeIntranode);
  const diagnosed = optional(whole["diagnosed"], "payload.diagnosed", decodeDiagnosed);
  if (cluster !== null || intranode !== null || diagnosed !== null)
    return { title, generator, runs: [], cluster, intranode, diagnosed };
  const runs = list(whole, "runs", "payload", decodeRun);
  if (runs.length < 1 || runs.length > RUNS_MAX)
    throw new PayloadError(`payload.runs holds ${runs.length} runs; expected 1, or 2 to compare`);
  const [base, other] = runs;
  if (base && other && base.name === other.name) other.name = `${other.name} (2)`;
  return { title, generator, runs, cluster: null, intranode: null, diagnosed: null };
}

/** Reads the element that carries the data; throws PayloadError when it is missing or not JSON. */
export function readEmbedded(page: Document): Payload | null {
  const element = page.getElementById("railtwin-data");
  if (element === null) throw new PayloadError('the page has no element with id "railtwin-data"');
  let value: unknown;
  try {
    value = JSON.parse(element.textContent ?? "");
  } catch (cause) {
    throw new PayloadError(`the embedded data is not JSON: ${String(cause)}`);
  }
  element.textContent = "null"; // the text is decoded now; megabytes of it need not stay
  return decodePayload(value);
}

function decodeRun(value: unknown, at: string): Run {
  const run = fields(value, at);
  const devices = decodeDevices(run["devices"], `${at}.devices`);
  const links = decodeLinks(run["links"], devices.rows, `${at}.links`);
  const duration = finite(run, "duration_ps", at);
  if (duration < 0) refuse(`${at}.duration_ps`, duration, "0 or more");
  const observed = run["observed_ps"] === undefined ? duration : finite(run, "observed_ps", at);
  if (observed < duration) refuse(`${at}.observed_ps`, observed, "duration_ps or more");
  const jobs = run["jobs"] === undefined ? [] : list(run, "jobs", at, textItem);
  const section = <T>(key: string, decode: (value: unknown, place: string) => T): T | null =>
    optional(run[key], `${at}.${key}`, decode);
  const flows = section("flows", (flow, place) =>
    decodeFlows(flow, devices.rows, links.rows, place),
  );
  return {
    name: text(run, "name", at),
    fabric_name: text(run, "fabric_name", at),
    description: text(run, "description", at),
    engine: text(run, "engine", at),
    seed: finite(run, "seed", at),
    case_hash: text(run, "case_hash", at),
    version: text(run, "version", at),
    headline: text(run, "headline", at),
    evidence: "evidence" in run ? list(run, "evidence", at, textItem) : [],
    warnings: list(run, "warnings", at, textItem),
    figures: list(run, "figures", at, decodeFigure),
    exposed: list(run, "exposed", at, decodeExposed),
    seeds: list(run, "seeds", at, decodeSeed),
    duration_ps: duration,
    observed_ps: observed,
    facts: list(run, "facts", at, decodeFact),
    devices,
    links,
    link_bins: section("link_bins", (bins, place) => decodeBins(bins, links.rows, place)),
    timeline: decodeTimeline(run["timeline"], `${at}.timeline`),
    incidents: decodeIncidents(run["incidents"], `${at}.incidents`),
    jobs,
    steps: section("steps", (steps, place) => decodeSteps(steps, jobs.length, place)),
    throughput: section("throughput", (part, place) => decodeThroughput(part, jobs.length, place)),
    flows,
    moves: section("moves", (moves, place) =>
      decodeMoves(moves, flows?.rows ?? 0, links.rows, place),
    ),
    balance: run["balance"] === undefined ? [] : list(run, "balance", at, decodeBalance),
    operations: section("operations", decodeOperations),
    packets: section("packets", (packets, place) => decodePackets(packets, links.rows, place)),
    control: section("control", (control, place) =>
      decodeControl(control, devices.rows, links.rows, place),
    ),
    diagnosis: section("diagnosis", decodeDiagnosis),
    life: section("life", decodeLife),
  };
}

function decodeFigure(value: unknown, at: string): Figure {
  const from = fields(value, at);
  const figure: Figure = {
    name: text(from, "name", at),
    value: finiteOrNull(from, "value", at),
    unit: text(from, "unit", at),
    note: text(from, "note", at),
  };
  if (from["reason"] !== undefined) figure.reason = text(from, "reason", at);
  if (from["low"] !== undefined && from["low"] !== null) figure.low = finite(from, "low", at);
  if (from["high"] !== undefined && from["high"] !== null) figure.high = finite(from, "high", at);
  const { better, plain } = from;
  if (better !== undefined && better !== null)
    figure.better =
      BETTER.find((way) => way === better) ?? refuse(`${at}.better`, better, BETTER.join(" or "));
  if (plain !== undefined && plain !== null) {
    if (typeof plain !== "boolean") refuse(`${at}.plain`, plain, "true or false");
    figure.plain = plain;
  }
  return figure;
}

function decodeExposed(value: unknown, at: string): Exposed {
  const from = fields(value, at);
  return {
    axis: text(from, "axis", at),
    ...jobOf(from, at),
    exposed_ps: finite(from, "exposed_ps", at),
    busy_ps: finite(from, "busy_ps", at),
    bytes: finite(from, "bytes", at),
  };
}

function decodeSeed(value: unknown, at: string): SeedResult {
  const from = fields(value, at);
  return {
    seed: finite(from, "seed", at),
    ...jobOf(from, at),
    step_time_ps: finite(from, "step_time_ps", at),
  };
}

/** The job that an entry is about. */
const jobOf = (from: Fields, at: string): { job?: number } =>
  from["job"] === undefined ? {} : { job: count(from, "job", at) };

function decodeFact(value: unknown, at: string): Fact {
  const from = fields(value, at);
  return { name: text(from, "name", at), value: text(from, "value", at) };
}

function decodeDevices(value: unknown, at: string): Devices {
  const { rows, column } = table(value, at);
  const kinds = column("kind", strings);
  const places = kinds.dict.map((kind) => (DEVICE_KINDS as readonly string[]).indexOf(kind));
  const kind = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) {
    const place = places[kinds.codes[row] ?? 0] ?? -1;
    if (place < 0)
      refuse(`${at}.columns.kind row ${row}`, kinds.at(row), `one of ${DEVICE_KINDS.join(", ")}`);
    kind[row] = place;
  }
  return {
    rows,
    name: column("name", strings),
    kind,
    pod: column("pod", u32),
    segment: column("segment", u32),
    rail: column("rail", u32),
    plane: column("plane", u32),
    index: column("index", u32),
  };
}

function decodeLinks(value: unknown, devices: number, at: string): Links {
  const { rows, column } = table(value, at);
  const links: Links = {
    rows,
    source: column("source", u32),
    target: column("target", u32),
    parallel: column("parallel", u32),
    capacity_bits_per_s: column("capacity_bits_per_s", f64),
    bytes: column("bytes", f64),
    utilization: column("utilization", f32),
    utilization_mean: column("utilization_mean", f32),
    flows: column("flows", u32),
  };
  below(links.source, devices, `${at}.columns.source`, `a row of devices (${devices} rows)`);
  below(links.target, devices, `${at}.columns.target`, `a row of devices (${devices} rows)`);
  return links;
}

function decodeBins(value: unknown, links: number, at: string): LinkBins {
  const from = fields(value, at);
  const bins = count(from, "bins", at);
  const bin_ps = finite(from, "bin_ps", at);
  if (bin_ps <= 0) refuse(`${at}.bin_ps`, bin_ps, "more than 0");
  const link_rows = u32Free(from["link_rows"], `${at}.link_rows`);
  below(link_rows, links, `${at}.link_rows`, `a row of links (${links} rows)`);
  const cells = link_rows.length * bins;
  const utilization = u8(from["utilization"], cells, `${at}.utilization`);
  return {
    bin_ps,
    bins,
    link_rows,
    peak:
      from["peak"] === undefined
        ? new Float32Array(link_rows.length).fill(1)
        : f32(from["peak"], link_rows.length, `${at}.peak`),
    utilization,
    carried:
      from["carried"] === undefined ? utilization : u8(from["carried"], cells, `${at}.carried`),
    capacity: from["capacity"] === undefined ? null : u8(from["capacity"], cells, `${at}.capacity`),
  };
}

function decodeTimeline(value: unknown, at: string): Timeline {
  const { rows, column } = table(value, at);
  return {
    rows,
    lane: column("lane", strings),
    axis: column("axis", strings),
    kind: column("kind", strings),
    name: column("name", strings),
    start_ps: column("start_ps", f64),
    end_ps: column("end_ps", f64),
    bytes: column("bytes", f64),
  };
}

function decodeIncidents(value: unknown, at: string): Incidents {
  const { rows, column, has } = table(value, at);
  return {
    rows,
    at_ps: column("at_ps", f64),
    device: column("device", strings),
    what: column("what", strings),
    kind: has("kind") ? column("kind", strings) : null,
  };
}
