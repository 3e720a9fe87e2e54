// Decodes weeks of jobs; what passes here is trusted afterwards.
import type { Cluster, ClusterBand, ClusterFigure, ClusterJobs, ClusterLife } from "./cluster";
import { below, f32, f64, strings, table, u32, u32Free } from "./columns";
import { BETTER } from "./payload";
import { count, fields, finite, list, PayloadError, refuse, text, textItem } from "./read";

function bandOf(value: unknown, at: string): ClusterBand | null {
  if (value === null) return null;
  const from = fields(value, at);
  const band = {
    least: finite(from, "least", at),
    median: finite(from, "median", at),
    most: finite(from, "most", at),
  };
  if (band.least > band.median || band.median > band.most)
    throw new PayloadError(`${at} is out of order; expected least, median, most ascending`);
  return band;
}

function figureOf(policies: number) {
  return (value: unknown, at: string): ClusterFigure => {
    const from = fields(value, at);
    const { better } = from;
    const values = list(from, "values", at, bandOf);
    if (values.length !== policies)
      throw new PayloadError(`${at}.values has ${values.length} entries; expected ${policies}`);
    return {
      name: text(from, "name", at),
      meaning: text(from, "meaning", at),
      unit: text(from, "unit", at),
      better:
        better === null || better === undefined
          ? null
          : (BETTER.find((way) => way === better) ??
            refuse(`${at}.better`, better, BETTER.join(" or "))),
      values,
    };
  };
}

function jobsOf(value: unknown, at: string): ClusterJobs {
  const { rows, column } = table(value, at);
  return {
    rows,
    name: column("name", strings),
    class: column("class", strings),
    gpus: column("gpus", u32),
    submitted_s: column("submitted_s", f64),
  };
}

function lifeOf(
  value: unknown,
  jobs: number,
  places: number,
  at: string,
): Omit<ClusterLife, "policy" | "seed"> {
  const from = fields(value, at);
  const own = table(from["jobs"], `${at}.jobs`);
  if (own.rows !== jobs)
    throw new PayloadError(`${at}.jobs has ${own.rows} rows; expected ${jobs}, those of its seed`);
  const told = fields(from["held"], `${at}.held`);
  const start = u32(told["start"], jobs + 1, `${at}.held.start`);
  const [first, last] = [
    u32Free(told["first"], `${at}.held.first`),
    u32Free(told["last"], `${at}.held.last`),
  ];
  if (first.length !== last.length)
    throw new PayloadError(`${at}.held.last has ${last.length} entries; expected ${first.length}`);
  for (let j = 0; j < start.length; j++) {
    const [low, here] = [start[j - 1] ?? 0, start[j] ?? 0];
    if (here < low || here > first.length)
      throw new PayloadError(
        `${at}.held.start row ${j} is ${here}; expected ${low} to ${first.length}, ascending`,
      );
  }
  below(last, places, `${at}.held.last`, `a GPU (${places} of them)`);
  for (let i = 0; i < first.length; i++)
    if ((first[i] ?? 0) > (last[i] ?? 0))
      throw new PayloadError(
        `${at}.held.first row ${i} is ${first[i]}; expected ${last[i]} at most`,
      );
  const hours = table(from["hours"], `${at}.hours`);
  const pairs = table(from["pairs"], `${at}.pairs`);
  const [one, other] = [pairs.column("one", u32), pairs.column("other", u32)];
  below(one, jobs, `${at}.pairs.columns.one`, `a row of jobs (${jobs} rows)`);
  below(other, jobs, `${at}.pairs.columns.other`, `a row of jobs (${jobs} rows)`);
  return {
    started_s: own.column("started_s", f64),
    ended_s: own.column("ended_s", f64),
    slowdown: own.column("slowdown", f32),
    contended_s: own.column("contended_s", f32),
    held: { start, first, last },
    hours: {
      rows: hours.rows,
      occupancy: hours.column("occupancy", f32),
      gpu_utilization: hours.column("gpu_utilization", f32),
      gpu_intensity: hours.column("gpu_intensity", f32),
      waiting: hours.column("waiting", f32),
      contending: hours.column("contending", f32),
      inference_link_share: hours.column("inference_link_share", f32),
    },
    pairs: { rows: pairs.rows, one, other, seconds: pairs.column("seconds", f64) },
    pairs_total: count(from, "pairs_total", at),
  };
}

export function decodeCluster(value: unknown, at: string): Cluster {
  const from = fields(value, at);
  const policies = list(from, "policies", at, textItem);
  const [base, best] = (["base", "best"] as const).map((key) => {
    const place = count(from, key, at);
    if (place >= policies.length)
      refuse(`${at}.${key}`, place, `an index into policies (${policies.length} of them)`);
    return place;
  }) as [number, number];
  const whole = count(from, "whole_seeds", at);
  const jobs = list(from, "jobs", at, jobsOf);
  if (jobs.length !== whole || whole < 1)
    refuse(`${at}.whole_seeds`, whole, `the number of entries of jobs (${jobs.length}), 1 or more`);
  const places = count(from, "places", at);
  const span_s = finite(from, "span_s", at);
  if (span_s <= 0) refuse(`${at}.span_s`, span_s, "more than 0");
  const lives = list(from, "lives", at, (life) => life).map((life, i): ClusterLife => {
    const [policy, seed] = [Math.floor(i / whole), i % whole];
    return { policy, seed, ...lifeOf(life, jobs[seed]?.rows ?? 0, places, `${at}.lives[${i}]`) };
  });
  if (lives.length !== policies.length * whole)
    throw new PayloadError(
      `${at}.lives has ${lives.length} entries; expected ${policies.length * whole}, one for each policy and seed`,
    );
  return {
    name: text(from, "name", at),
    fabric_name: text(from, "fabric_name", at),
    description: text(from, "description", at),
    version: text(from, "version", at),
    headline: text(from, "headline", at),
    gpus: count(from, "gpus", at),
    places,
    span_s,
    policies,
    base,
    best,
    seeds: list(from, "seeds", at, (seed, place) =>
      typeof seed === "number" ? seed : refuse(place, seed, "a number"),
    ),
    figures: list(from, "figures", at, figureOf(policies.length)),
    jobs,
    lives,
  };
}
