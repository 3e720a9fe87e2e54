// Decodes what a run may have beyond its links and timeline: flows, moves, steps, throughput, balance.
import { below, f64, strings, table, u32, u32Free } from "./columns";
import type { Epoch, Flows, LinkLists, Moves, Steps, Throughput, TierBalance } from "./payload";
import { count, fields, finite, list, PayloadError, text } from "./read";

/** Null where a payload has no such section. */
export function optional<T>(
  value: unknown,
  at: string,
  decode: (value: unknown, at: string) => T,
): T | null {
  return value === undefined || value === null ? null : decode(value, at);
}

export function decodeLists(value: unknown, lists: number, links: number, at: string): LinkLists {
  const from = fields(value, at);
  const start = u32(from["start"], lists + 1, `${at}.start`);
  const rows = u32Free(from["links"], `${at}.links`);
  below(rows, links, `${at}.links`, `a row of links (${links} rows)`);
  for (let i = 0; i < start.length; i++) {
    const [low, here] = [start[i - 1] ?? 0, start[i] ?? 0];
    if (here < low || here > rows.length)
      throw new PayloadError(
        `${at}.start row ${i} is ${here}; expected ${low} to ${rows.length}, ascending`,
      );
  }
  return { start, links: rows };
}

export function decodeFlows(value: unknown, devices: number, links: number, at: string): Flows {
  const { rows, column } = table(value, at);
  const whole = fields(value, at);
  const flows: Flows = {
    rows,
    job: column("job", strings),
    operation: column("operation", strings),
    pattern: column("pattern", u32),
    source: column("source", strings),
    target: column("target", strings),
    source_host: column("source_host", u32),
    target_host: column("target_host", u32),
    queue_pair: column("queue_pair", u32),
    source_port: column("source_port", u32),
    landed_port: column("landed_port", u32),
    bytes: column("bytes", f64),
    path: decodeLists(whole["path"], rows, links, `${at}.path`),
    total: count(whole, "total", at),
    total_bytes: finite(whole, "total_bytes", at),
  };
  for (const key of ["source_host", "target_host"] as const)
    below(flows[key], devices, `${at}.columns.${key}`, `a row of devices (${devices} rows)`);
  return flows;
}

function decodeEpoch(value: unknown, at: string): Epoch {
  const from = fields(value, at);
  return {
    at_ps: finite(from, "at_ps", at),
    routes_ps: finite(from, "routes_ps", at),
    what: text(from, "what", at),
    stayed: count(from, "stayed", at),
    moved: count(from, "moved", at),
    lost: count(from, "lost", at),
    found: count(from, "found", at),
  };
}

export function decodeMoves(value: unknown, flows: number, links: number, at: string): Moves {
  const { rows, column } = table(value, at);
  const whole = fields(value, at);
  const epochs = list(whole, "epochs", at, decodeEpoch);
  const moves: Moves = {
    rows,
    epoch: column("epoch", u32),
    flow: column("flow", u32),
    before: decodeLists(whole["before"], rows, links, `${at}.before`),
    after: decodeLists(whole["after"], rows, links, `${at}.after`),
    epochs,
    left_out: count(whole, "left_out", at),
  };
  below(moves.flow, flows, `${at}.columns.flow`, `a row of flows (${flows} rows)`);
  below(moves.epoch, epochs.length + 1, `${at}.columns.epoch`, `1 to ${epochs.length}`);
  return moves;
}

export function decodeSteps(value: unknown, jobs: number, at: string): Steps {
  const { rows, column } = table(value, at);
  const steps: Steps = {
    rows,
    job: column("job", u32),
    first: column("first", u32),
    steps: column("steps", u32),
    start_ps: column("start_ps", f64),
    end_ps: column("end_ps", f64),
  };
  below(steps.job, jobs, `${at}.columns.job`, `an index into jobs (${jobs} jobs)`);
  return steps;
}

export function decodeThroughput(value: unknown, jobs: number, at: string): Throughput {
  const { rows, column } = table(value, at);
  const throughput: Throughput = {
    rows,
    job: column("job", u32),
    start_s: column("start_s", f64),
    bytes: column("bytes", f64),
    steps: column("steps", f64),
  };
  below(throughput.job, jobs, `${at}.columns.job`, `an index into jobs (${jobs} jobs)`);
  return throughput;
}

export function decodeBalance(value: unknown, at: string): TierBalance {
  const from = fields(value, at);
  return {
    place: text(from, "place", at),
    by: text(from, "by", at),
    mean: finite(from, "mean", at),
    low: finite(from, "low", at),
    high: finite(from, "high", at),
    max: finite(from, "max", at),
    worst: text(from, "worst", at),
    switches: count(from, "switches", at),
  };
}
