// Decodes what packets left behind: completion times, pauses by hop, queues over time; and operations.
import { below, f64, strings, table, u32, u8 } from "./columns";
import type { Completion, Hops, Operations, Packets, Queues, SlowFlows } from "./payload";
import { count, fields, finite, PayloadError, refuse } from "./read";
import { optional } from "./sections";

export function decodeOperations(value: unknown, at: string): Operations {
  const { rows, column } = table(value, at);
  return {
    rows,
    operation: column("operation", u32),
    job: column("job", strings),
    lane: column("lane", strings),
    axis: column("axis", strings),
    name: column("name", strings),
    bytes: column("bytes", f64),
    start_ps: column("start_ps", f64),
    end_ps: column("end_ps", f64),
  };
}

export function decodePackets(value: unknown, links: number, at: string): Packets {
  const from = fields(value, at);
  return {
    fct: decodeCompletion(from["fct"], `${at}.fct`),
    slowest: decodeSlowest(from["slowest"], `${at}.slowest`),
    hops: decodeHops(from["hops"], `${at}.hops`),
    queues: optional(from["queues"], `${at}.queues`, (queues, place) =>
      decodeQueues(queues, links, place),
    ),
  };
}

function decodeCompletion(value: unknown, at: string): Completion {
  const from = fields(value, at);
  const fct_ps = table(from["times"], `${at}.times`).column("fct_ps", f64);
  for (let i = 1; i < fct_ps.length; i++)
    if ((fct_ps[i] ?? 0) < (fct_ps[i - 1] ?? 0))
      throw new PayloadError(
        `${at}.times.columns.fct_ps row ${i} is ${fct_ps[i]}; expected ${fct_ps[i - 1]} or more, ascending`,
      );
  return {
    flows: count(from, "flows", at),
    unfinished: count(from, "unfinished", at),
    mean_ps: finite(from, "mean_ps", at),
    fct_ps,
  };
}

function decodeSlowest(value: unknown, at: string): SlowFlows {
  const { rows, column } = table(value, at);
  return {
    rows,
    operation: column("operation", u32),
    job: column("job", strings),
    kind: column("kind", strings),
    source: column("source", strings),
    target: column("target", strings),
    bytes: column("bytes", f64),
    start_ps: column("start_ps", f64),
    end_ps: column("end_ps", f64),
  };
}

function decodeHops(value: unknown, at: string): Hops {
  const { rows, column } = table(value, at);
  return {
    rows,
    source: column("source", strings),
    target: column("target", strings),
    links: column("links", u32),
    pause_frames: column("pause_frames", f64),
    paused_mean: column("paused_mean", f64),
    paused_max: column("paused_max", f64),
    queue_bytes_max: column("queue_bytes_max", f64),
    dropped: column("dropped", f64),
    cnps: column("cnps", f64),
  };
}

function decodeQueues(value: unknown, links: number, at: string): Queues {
  const from = fields(value, at);
  const bins = count(from, "bins", at);
  const [bin_ps, sample_ps] = [finite(from, "bin_ps", at), finite(from, "sample_ps", at)];
  if (bin_ps <= 0) refuse(`${at}.bin_ps`, bin_ps, "more than 0");
  const { rows, column } = table(from["links"], `${at}.links`);
  const link = column("link", u32);
  below(link, links, `${at}.links.columns.link`, `a row of links (${links} rows)`);
  return {
    bin_ps,
    bins,
    sample_ps,
    total: count(from, "total", at),
    links: {
      rows,
      link,
      source: column("source", strings),
      target: column("target", strings),
      cable: column("cable", strings),
      queue_bytes_max: column("queue_bytes_max", f64),
      paused_ps: column("paused_ps", f64),
      pause_frames: column("pause_frames", f64),
      dropped: column("dropped", f64),
    },
    bytes: u32(from["bytes"], rows * bins, `${at}.bytes`),
    paused: u8(from["paused"], rows * bins, `${at}.paused`),
  };
}
