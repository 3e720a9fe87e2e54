// Decodes what diagnosis found: findings with their evidence, delay matrix, wait chain, spans of ranks.
import { below, f32, f64, strings, table, u32 } from "./columns";
import {
  SPAN_KINDS,
  type DelayMatrix,
  type Diagnosis,
  type Evidence,
  type Fact,
  type Finding,
  type ProposedAction,
  type RankSpans,
  type Suspect,
  type Truth,
  type WaitChain,
} from "./payload";
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
import { optional } from "./sections";

export function decodeDiagnosis(value: unknown, at: string): Diagnosis {
  const from = fields(value, at);
  const absent = (key: string): boolean => from[key] === undefined || from[key] === null;
  const findings = list(from, "findings", at, decodeFinding);
  return {
    source: text(from, "source", at),
    operations: count(from, "operations", at),
    messages: count(from, "messages", at),
    span_s: atLeast0(from, "span_s", at),
    start_ps: absent("start_ps") ? null : atLeast0(from, "start_ps", at),
    settings: absent("settings") ? [] : list(from, "settings", at, decodeSetting),
    findings,
    truths: absent("truths") ? null : list(from, "truths", at, decodeTruth),
    matrix: optional(from["matrix"], `${at}.matrix`, decodeMatrix),
    chain: optional(from["chain"], `${at}.chain`, (chain, place) =>
      decodeChain(chain, place, findings.length),
    ),
    ranks: optional(from["ranks"], `${at}.ranks`, decodeRanks),
  };
}

function atLeast0(from: Fields, key: string, at: string): number {
  const value = finite(from, key, at);
  return value < 0 ? refuse(`${at}.${key}`, value, "0 or more") : value;
}

function part(from: Fields, key: string, at: string): number {
  const value = finite(from, key, at);
  return value < 0 || value > 1 ? refuse(`${at}.${key}`, value, "0 to 1") : value;
}

function decodeSetting(value: unknown, at: string): Fact {
  const from = fields(value, at);
  return { name: text(from, "name", at), value: text(from, "value", at) };
}

function decodeFinding(value: unknown, at: string): Finding {
  const from = fields(value, at);
  return {
    at_s: finite(from, "at_s", at),
    since_s: finite(from, "since_s", at),
    since_until_s: finite(
      from,
      from["since_until_s"] === undefined ? "since_s" : "since_until_s",
      at,
    ),
    syndrome: text(from, "syndrome", at),
    faults: list(from, "faults", at, textItem),
    suspects: list(from, "suspects", at, decodeSuspect),
    confidence: part(from, "confidence", at),
    severity: atLeast0(from, "severity", at),
    lost_s: from["lost_s"] === undefined ? null : finiteOrNull(from, "lost_s", at),
    lost_share: from["lost_share"] === undefined ? null : finiteOrNull(from, "lost_share", at),
    evidence: list(from, "evidence", at, decodeEvidence),
    advice: text(from, "advice", at),
    actions: list(from, "actions", at, decodeAction),
  };
}

function decodeSuspect(value: unknown, at: string): Suspect {
  const from = fields(value, at);
  const suspect: Suspect = {
    kind: text(from, "kind", at),
    name: text(from, "name", at),
    share: part(from, "share", at),
  };
  if (from["devices"] !== undefined && from["devices"] !== null)
    suspect.devices = list(from, "devices", at, textItem);
  return suspect;
}

function decodeEvidence(value: unknown, at: string): Evidence {
  const from = fields(value, at);
  return {
    table: text(from, "table", at),
    what: text(from, "what", at),
    value: finiteOrNull(from, "value", at),
    expected: finiteOrNull(from, "expected", at),
    unit: text(from, "unit", at),
  };
}

function decodeAction(value: unknown, at: string): ProposedAction {
  const from = fields(value, at);
  return {
    kind: text(from, "kind", at),
    target_kind: text(from, "target_kind", at),
    target: text(from, "target", at),
    reason: text(from, "reason", at),
  };
}

function decodeTruth(value: unknown, at: string): Truth {
  const from = fields(value, at);
  return {
    from_s: finite(from, "from_s", at),
    until_s: finiteOrNull(from, "until_s", at),
    kind: text(from, "kind", at),
    component_kind: text(from, "component_kind", at),
    component: text(from, "component", at),
    severity: finite(from, "severity", at),
  };
}

function decodeMatrix(value: unknown, at: string): DelayMatrix {
  const from = fields(value, at);
  const ends = table(from["endpoints"], `${at}.endpoints`);
  const cells = table(from["cells"], `${at}.cells`);
  const place = (name: "source" | "target"): Uint32Array => {
    const column = cells.column(name, u32);
    const row = `a row of endpoints (${ends.rows} rows)`;
    below(column, ends.rows, `${at}.cells.columns.${name}`, row);
    return column;
  };
  const ratio = cells.column("ratio", f32);
  for (let row = 0; row < ratio.length; row++) {
    const found = ratio[row] ?? 0;
    if (!(found >= 0 && found < Number.POSITIVE_INFINITY))
      throw new PayloadError(
        `${at}.cells.columns.ratio row ${row} is ${found}; expected 0 or more, finite`,
      );
  }
  const total = count(from, "total", at);
  if (total < cells.rows) refuse(`${at}.total`, total, `${cells.rows} or more, the rows of cells`);
  const median = from["median_ns_per_byte"];
  return {
    endpoints: {
      rows: ends.rows,
      name: ends.column("name", strings),
      host: ends.column("host", strings),
      leaf: ends.column("leaf", strings),
      segment: ends.column("segment", strings),
    },
    source: place("source"),
    target: place("target"),
    ratio,
    samples: cells.column("samples", u32),
    total,
    median_ns_per_byte:
      median === undefined || median === null ? null : atLeast0(from, "median_ns_per_byte", at),
  };
}

function decodeChain(value: unknown, at: string, findings: number): WaitChain {
  const from = fields(value, at);
  const { rows, column } = table(from["ranks"], `${at}.ranks`);
  const total = count(from, "total", at);
  if (total < rows) refuse(`${at}.total`, total, `${rows} or more, the rows of ranks`);
  const rowOf = (key: string, limit: number, of: string): number | null => {
    if (from[key] === undefined || from[key] === null) return null;
    const row = count(from, key, at);
    return row < limit ? row : refuse(`${at}.${key}`, row, `a row of ${of} (${limit} rows)`);
  };
  const culprit = rowOf("culprit", rows, "ranks");
  const finding = rowOf("finding", findings, "findings");
  return {
    communicator: text(from, "communicator", at),
    axis: text(from, "axis", at),
    total,
    culprit,
    finding,
    // Older programs wrote one culprit, the one by waits.
    least: from["least"] === undefined ? culprit : rowOf("least", rows, "ranks"),
    rows,
    rank: column("rank", u32),
    host: column("host", strings),
    wait_ms: column("wait_ms", f64),
    first_wait_stage: column("first_wait_stage", u32),
  };
}

function decodeRanks(value: unknown, at: string): RankSpans {
  const from = fields(value, at);
  const lanes = table(from["lanes"], `${at}.lanes`);
  const spans = table(from["spans"], `${at}.spans`);
  const lane = spans.column("lane", u32);
  below(lane, lanes.rows, `${at}.spans.columns.lane`, `a row of lanes (${lanes.rows} rows)`);
  const words = spans.column("kind", strings);
  const places = words.dict.map((word) => (SPAN_KINDS as readonly string[]).indexOf(word));
  const [start_ms, end_ms] = [spans.column("start_ms", f64), spans.column("end_ms", f64)];
  const kind = new Uint8Array(spans.rows);
  for (let row = 0; row < spans.rows; row++) {
    const found = places[words.codes[row] ?? 0] ?? -1;
    if (found < 0)
      refuse(
        `${at}.spans.columns.kind row ${row}`,
        words.at(row),
        `one of ${SPAN_KINDS.join(", ")}`,
      );
    kind[row] = found;
    if (!((end_ms[row] ?? 0) >= (start_ms[row] ?? 0)))
      throw new PayloadError(
        `${at}.spans.columns.end_ms row ${row} is ${end_ms[row]}; expected ${start_ms[row]} or more, its start`,
      );
  }
  return {
    start_s: finite(from, "start_s", at),
    what: text(from, "what", at),
    lanes: {
      rows: lanes.rows,
      name: lanes.column("name", strings),
      role: lanes.column("role", strings),
    },
    spans: spans.rows,
    lane,
    kind,
    name: spans.column("name", strings),
    start_ms,
    end_ms,
  };
}
