// Decodes the life of a job over weeks.
import { f64, strings, table } from "./columns";
import type { JobLife, LifeActions, LifePart, Standstills } from "./life";
import { count, fields, finite, list, refuse, text } from "./read";

export function decodeLife(value: unknown, at: string): JobLife {
  const from = fields(value, at);
  const span_s = finite(from, "span_s", at);
  if (span_s <= 0) refuse(`${at}.span_s`, span_s, "more than 0");
  return {
    job: text(from, "job", at),
    span_s,
    lives: count(from, "lives", at),
    seed: finite(from, "seed", at),
    parts: list(from, "parts", at, decodePart),
    standstills: decodeStandstills(from["standstills"], `${at}.standstills`),
    actions: decodeActions(from["actions"], `${at}.actions`),
  };
}

function decodePart(value: unknown, at: string): LifePart {
  const from = fields(value, at);
  return {
    name: text(from, "name", at),
    shown: finite(from, "shown", at),
    median: finite(from, "median", at),
    least: finite(from, "least", at),
    most: finite(from, "most", at),
  };
}

function decodeStandstills(value: unknown, at: string): Standstills {
  const { rows, column } = table(value, at);
  return {
    rows,
    cause: column("cause", strings),
    kind: column("kind", strings),
    subject: column("subject", strings),
    found_by: column("found_by", strings),
    checkpoint_s: column("checkpoint_s", f64),
    failed_s: column("failed_s", f64),
    detected_s: column("detected_s", f64),
    isolated_s: column("isolated_s", f64),
    replaced_s: column("replaced_s", f64),
    restarted_s: column("restarted_s", f64),
  };
}

function decodeActions(value: unknown, at: string): LifeActions {
  const { rows, column } = table(value, at);
  return {
    rows,
    decided_s: column("decided_s", f64),
    effective_s: column("effective_s", f64),
    controller: column("controller", strings),
    action: column("action", strings),
    reason: column("reason", strings),
    subject: column("subject", strings),
    after: column("after", strings),
  };
}
