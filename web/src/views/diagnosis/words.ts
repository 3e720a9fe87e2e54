// Findings as sentences with their figures, and as rows for CSV.
import type { Diagnosis, Finding, Suspect } from "../../api/payload";
import { leadOf, standsStill } from "../../model/findings";
import { figure, percentShort, significant, time, whole } from "../../ui/format";

/** Suspects that a sentence names; more are counted. */
const NAMED_MAX = 3;
const SECONDS_MAX = 120;

/** Of telemetry's clock: "12.4 s"; a minute and more is still told in seconds, two and more are not. */
export const seconds = (s: number): string =>
  Math.abs(s) >= 1 && Math.abs(s) < SECONDS_MAX
    ? `${Number(s.toPrecision(4))}\u00a0s`
    : time(s * 1e12, 3);

const plural = (count: number, noun: string): string =>
  `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;

/** "leaf-0-1-r2p0 (62 %)"; a suspect that stands alone needs no share. */
const named = ({ name, share }: Suspect, alone: boolean): string =>
  alone ? name : `${name} (${percentShort(share)})`;

/** Who it can be. */
export function suspectsOf({ suspects }: Finding): string {
  if (suspects.length === 0) return "not enough evidence to name a suspect";
  const shown = suspects.slice(0, NAMED_MAX).map((one) => named(one, suspects.length === 1));
  const more = suspects.length - shown.length;
  const last = more > 0 ? `${whole(more)} more` : (shown.pop() ?? "");
  return shown.length > 0 ? `${shown.join(", ")} or ${last}` : last;
}

/** How much it costs: time lost against the state before; where that is not known, how far records deviate. */
export function costOf(finding: Finding): string {
  const { lost_share, lost_s, severity } = finding;
  if (standsStill(finding) && severity >= 1) return "it stands still";
  if (lost_share === null) return `severity ${percentShort(severity)}`;
  const lost = lost_s === null ? "" : ` (${seconds(lost_s)})`;
  return `it costs ${percentShort(lost_share)} of the job's time since${lost}`;
}

/** When the cause began, as far as records tell. */
export const sinceOf = ({ since_s, since_until_s }: Finding): string =>
  since_until_s > since_s
    ? `Began between ${seconds(since_s)} and ${seconds(since_until_s)}`
    : `Since ${seconds(since_s)}`;

/** The answer: what is seen, who it can be, since when, how bad, how sure. */
export function sentenceOf(finding: Finding): string {
  return (
    `${leadOf(finding)}: ${suspectsOf(finding)}. ${sinceOf(finding)}; ${costOf(finding)}` +
    (finding.suspects.length > 0 ? `; confidence ${percentShort(finding.confidence)}.` : ".")
  );
}

/** What was looked at: "1 204 331 operations and 9 000 messages over 60 s". */
export const lookedAt = ({ operations, messages, span_s }: Diagnosis): string =>
  `${plural(operations, "operation")}${messages > 0 ? ` and ${plural(messages, "message")}` : ""} over ${seconds(span_s)}`;

/** The words under the view's title. */
export function countOf(diagnosis: Diagnosis): string {
  const { findings } = diagnosis;
  const silent = findings.filter(({ suspects }) => suspects.length === 0).length;
  const unnamed = silent > 0 ? `, ${whole(silent)} of them without a suspect,` : "";
  return `${plural(findings.length, "finding")}${unnamed} in ${lookedAt(diagnosis)}`;
}

/** Value over expected, where both tell something. */
export const factorOf = (value: number | null, expected: number | null): number =>
  value === null || expected === null || expected === 0 ? Number.NaN : value / expected;

export const factor = (ratio: number): string =>
  Number.isFinite(ratio) ? `${significant(ratio, 3)}\u00a0×` : "–";

/** Zeros after the point say nothing of a measurement's precision. */
export const evidenceFigure = (value: number | null, unit: string): string =>
  figure(value, unit)
    .replace(/(\.\d*?)0+(?!\d)/, "$1")
    .replace(/\.(?!\d)/, "");

/** All findings in one order, a line each. */
export function findingLines(
  findings: readonly Finding[],
  order: readonly number[],
): (string | number)[][] {
  const head = [
    "at (s)",
    "since (s)",
    "since until (s)",
    "syndrome",
    "faults",
    "suspects",
    "shares (ratio)",
  ];
  head.push(
    "confidence (ratio)",
    "severity (ratio)",
    "time lost (s)",
    "time lost (ratio)",
    "advice",
    "actions",
  );
  const lines = order.flatMap((row): (string | number)[][] => {
    const one = findings[row];
    if (one === undefined) return [];
    return [
      [
        one.at_s,
        one.since_s,
        one.since_until_s,
        one.syndrome,
        one.faults.join("; "),
        one.suspects.map(({ kind, name }) => `${kind} ${name}`).join("; "),
        one.suspects.map(({ share }) => share).join("; "),
        one.confidence,
        one.severity,
        one.lost_s ?? "",
        one.lost_share ?? "",
        one.advice,
        one.actions.map(({ kind, target }) => `${kind} ${target}`).join("; "),
      ],
    ];
  });
  return [head, ...lines];
}
