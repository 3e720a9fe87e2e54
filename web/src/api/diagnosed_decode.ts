// Decodes a diagnosis of files; what passes here is trusted afterwards.
import { below, f64, strings, table, u32 } from "./columns";
import {
  CELL_STATES,
  MARK,
  type Diagnosed,
  type DiagnosedAnswer,
  type DiagnosedCause,
  type DiagnosedComponent,
  type DiagnosedEvidence,
  type DiagnosedFile,
  type DiagnosedFinding,
  type Lattice,
  type Source,
  type WhatIf,
  type WhatIfPart,
} from "./diagnosed";
import { count, fields, finite, list, refuse, text, textItem, type Fields } from "./read";
import { optional } from "./sections";

function flag(from: Fields, key: string, at: string): boolean {
  const value = from[key];
  return typeof value === "boolean" ? value : refuse(`${at}.${key}`, value, "true or false");
}

function pair(from: Fields, key: string, at: string): [number, number] {
  const both = list(from, key, at, (value, place) =>
    typeof value === "number" && Number.isFinite(value) ? value : refuse(place, value, "a number"),
  );
  const [mean, like] = both;
  if (both.length !== 2 || mean === undefined || like === undefined)
    return refuse(`${at}.${key}`, both, "two numbers, one for each ideal");
  return [mean, like];
}

/** Indices below a limit. */
const indices = (from: Fields, key: string, at: string, limit: number, what: string): number[] =>
  list(from, key, at, (value, place) =>
    typeof value === "number" && Number.isInteger(value) && value >= 0 && value < limit
      ? value
      : refuse(place, value, `a row of ${what} (${limit} rows)`),
  );

function sourceOf(value: unknown, at: string): Source {
  const from = fields(value, at);
  return { file: text(from, "file", at), place: text(from, "place", at) };
}

function evidenceOf(value: unknown, at: string): DiagnosedEvidence {
  const from = fields(value, at);
  return {
    table: text(from, "table", at),
    what: text(from, "what", at),
    value: text(from, "value", at),
    expected: text(from, "expected", at),
    unit: text(from, "unit", at),
    sources: list(from, "sources", at, sourceOf),
    sources_total: count(from, "sources_total", at),
  };
}

function componentOf(value: unknown, at: string): DiagnosedComponent {
  const from = fields(value, at);
  return { kind: text(from, "kind", at), name: text(from, "name", at) };
}

function findingOf(value: unknown, at: string): DiagnosedFinding {
  const from = fields(value, at);
  return {
    who: text(from, "who", at),
    what: text(from, "what", at),
    syndrome: text(from, "syndrome", at),
    faults: list(from, "faults", at, textItem),
    suspects: list(from, "suspects", at, (suspect, place) => ({
      ...componentOf(suspect, place),
      share: finite(fields(suspect, place), "share", place),
    })),
    suspects_total: count(from, "suspects_total", at),
    accuses: flag(from, "accuses", at),
    sure: text(from, "sure", at),
    confidence: finite(from, "confidence", at),
    severity: finite(from, "severity", at),
    evidence: list(from, "evidence", at, evidenceOf),
    evidence_total: count(from, "evidence_total", at),
    advice: text(from, "advice", at),
    actions: list(from, "actions", at, (action, place) => {
      const one = fields(action, place);
      const target = componentOf(one["target"], `${place}.target`);
      return { kind: text(one, "kind", place), target, reason: text(one, "reason", place) };
    }),
  };
}

function answerOf(value: unknown, causes: number, at: string): DiagnosedAnswer {
  const from = fields(value, at);
  return {
    sentence: text(from, "sentence", at),
    causes: list(from, "causes", at, (one, place) => {
      const of = fields(one, place);
      const cause = count(of, "cause", place);
      if (cause >= causes) refuse(`${place}.cause`, cause, `a row of causes (${causes} rows)`);
      return {
        cause,
        who: text(of, "who", place),
        what: text(of, "what", place),
        seen: list(of, "seen", place, textItem),
      };
    }),
    also: list(from, "also", at, textItem),
    next: from["next"] === null ? null : text(from, "next", at),
  };
}

function fileOf(value: unknown, at: string): DiagnosedFile {
  const from = fields(value, at);
  return {
    file: text(from, "file", at),
    format: text(from, "format", at),
    held: text(from, "held", at),
    notes: list(from, "notes", at, textItem),
    skipped: count(from, "skipped", at),
  };
}

function whatIfOf(value: unknown, at: string): WhatIf {
  const from = fields(value, at);
  const parts = (key: string): WhatIfPart[] =>
    list(from, key, at, (part, place) => {
      const of = fields(part, place);
      const name = text(of, "name", place);
      return { name, alone: pair(of, "alone", place), saved: pair(of, "saved", place) };
    });
  return {
    file: text(from, "file", at),
    operations: count(from, "operations", at),
    launch: finite(from, "launch", at),
    slowdown: pair(from, "slowdown", at),
    kinds: parts("kinds"),
    stages: parts("stages"),
    replicas: parts("replicas"),
    ranks: parts("ranks"),
    steps: list(from, "steps", at, (step, place) => {
      const of = fields(step, place);
      const recorded_s = finite(of, "recorded_s", place);
      return { step: count(of, "step", place), recorded_s, slowdown: pair(of, "slowdown", place) };
    }),
  };
}

function latticeOf(value: unknown, at: string): Lattice {
  const from = fields(value, at);
  const states = list(from, "states", at, textItem);
  if (states.join() !== CELL_STATES.join())
    refuse(`${at}.states`, states, `the states ${CELL_STATES.join(", ")}`);
  const kinds = list(from, "kinds", at, textItem);
  const [ranks, groups] = [
    table(from["ranks"], `${at}.ranks`),
    table(from["groups"], `${at}.groups`),
  ];
  const [cells, open] = [table(from["cells"], `${at}.cells`), table(from["open"], `${at}.open`)];
  const lattice: Lattice = {
    kinds,
    unused: count(from, "unused", at),
    ranks: {
      rows: ranks.rows,
      rank: ranks.column("rank", u32),
      mark: ranks.column("mark", u32),
      standing: ranks.column("standing", strings),
      waits_for: ranks.column("waits_for", strings),
    },
    groups: {
      rows: groups.rows,
      name: groups.column("name", strings),
      kind: groups.column("kind", u32),
      ranks: groups.column("ranks", u32),
    },
    cells: {
      rows: cells.rows,
      rank: cells.column("rank", u32),
      group: cells.column("group", u32),
      state: cells.column("state", u32),
    },
    open: {
      rows: open.rows,
      cell: open.column("cell", u32),
      name: open.column("name", strings),
      sequence: open.column("sequence", f64),
      count: open.column("count", f64),
      started: open.column("started", strings),
      frame: open.column("frame", strings),
      enqueued: open.column("enqueued", f64),
      ended: open.column("ended", f64),
    },
  };
  below(lattice.ranks.mark, MARK.culprit + 1, `${at}.ranks.columns.mark`, "0, 1 or 2");
  below(
    lattice.groups.kind,
    kinds.length,
    `${at}.groups.columns.kind`,
    `a row of kinds (${kinds.length} rows)`,
  );
  const of = (rows: number, what: string): string => `a row of ${what} (${rows} rows)`;
  below(lattice.cells.rank, ranks.rows, `${at}.cells.columns.rank`, of(ranks.rows, "ranks"));
  below(lattice.cells.group, groups.rows, `${at}.cells.columns.group`, of(groups.rows, "groups"));
  below(lattice.cells.state, states.length, `${at}.cells.columns.state`, "a state");
  below(lattice.open.cell, cells.rows, `${at}.open.columns.cell`, of(cells.rows, "cells"));
  return lattice;
}

export function decodeDiagnosed(value: unknown, at: string): Diagnosed {
  const from = fields(value, at);
  const findings = list(from, "findings", at, findingOf);
  const rows = (one: Fields, key: string, place: string): number[] =>
    indices(one, key, place, findings.length, "findings");
  const causes = list(from, "causes", at, (one, place): DiagnosedCause => {
    const of = fields(one, place);
    return {
      who: text(of, "who", place),
      what: text(of, "what", place),
      accuses: flag(of, "accuses", place),
      confidence: finite(of, "confidence", place),
      findings: rows(of, "findings", place),
      follows: rows(of, "follows", place),
    };
  });
  const ideals = list(from, "ideals", at, textItem);
  if (ideals.length !== 2) refuse(`${at}.ideals`, ideals, "two names");
  return {
    name: text(from, "name", at),
    version: text(from, "version", at),
    engine: from["engine"] === null ? null : text(from, "engine", at),
    well: flag(from, "well", at),
    answer: answerOf(from["answer"], causes.length, `${at}.answer`),
    causes,
    findings,
    notes: list(from, "notes", at, textItem),
    files: list(from, "files", at, fileOf),
    unread: list(from, "unread", at, (one, place) => {
      const of = fields(one, place);
      const [file, reason] = [text(of, "file", place), text(of, "reason", place)];
      return { file, reason, recognized: flag(of, "recognized", place) };
    }),
    files_total: count(from, "files_total", at),
    ideals,
    what_if: list(from, "what_if", at, whatIfOf),
    lattice: optional(from["lattice"], `${at}.lattice`, latticeOf),
  };
}
