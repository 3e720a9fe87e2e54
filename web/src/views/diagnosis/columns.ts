// Columns of the tables of diagnosis: evidence, slowest pairs, waits, lanes, injected faults.
import type { Evidence, RankSpans, WaitChain } from "../../api/payload";
import { neverWaited } from "../../model/chain";
import type { TruthRow } from "../../model/findings";
import type { MatrixPicture } from "../../model/matrix";
import { significant, time, whole } from "../../ui/format";
import type { TableColumn } from "../../ui/table";
import { evidenceFigure, factor, factorOf, seconds } from "./words";

const MS = 1e9;

export function evidenceColumns(rows: readonly Evidence[]): TableColumn[] {
  const at = (i: number): Evidence | undefined => rows[i];
  const ratio = (i: number): number => factorOf(at(i)?.value ?? null, at(i)?.expected ?? null);
  return [
    { key: "table", label: "Table", width: "7rem", value: (i) => at(i)?.table ?? "", search: true },
    { key: "what", label: "Measured", value: (i) => at(i)?.what ?? "", search: true },
    {
      key: "value",
      label: "Value",
      align: "right",
      width: "8rem",
      value: (i) => at(i)?.value ?? Number.NaN,
      text: (i) => evidenceFigure(at(i)?.value ?? null, at(i)?.unit ?? ""),
    },
    {
      key: "expected",
      label: "Expected",
      align: "right",
      width: "8rem",
      value: (i) => at(i)?.expected ?? Number.NaN,
      text: (i) => evidenceFigure(at(i)?.expected ?? null, at(i)?.unit ?? ""),
    },
    {
      key: "factor",
      label: "Times",
      unit: "ratio",
      align: "right",
      width: "6rem",
      value: ratio,
      text: (i) => factor(ratio(i)),
    },
    { key: "unit", label: "Unit", csvOnly: true, value: (i) => at(i)?.unit ?? "" },
  ];
}

export function pairColumns(picture: MatrixPicture, cells: Uint32Array): TableColumn[] {
  const cell = (i: number): number => cells[i] ?? 0;
  const name = (side: Uint32Array, i: number): string => picture.names[side[cell(i)] ?? 0] ?? "";
  const joined = picture.pairs.some((pairs) => pairs > 1);
  return [
    {
      key: "source",
      label: "Source",
      value: (i) => name(picture.source, i),
      search: true,
    },
    {
      key: "target",
      label: "Destination",
      value: (i) => name(picture.target, i),
      search: true,
    },
    {
      key: "ratio",
      label: "Over median",
      unit: "ratio",
      align: "right",
      width: "7rem",
      value: (i) => picture.value[cell(i)] ?? 0,
      text: (i) => factor(picture.value[cell(i)] ?? 0),
    },
    {
      key: "worst",
      label: "Worst pair",
      unit: "ratio",
      align: "right",
      width: "6.5rem",
      csvOnly: !joined,
      value: (i) => picture.worst[cell(i)] ?? 0,
      text: (i) => factor(picture.worst[cell(i)] ?? 0),
    },
    {
      key: "samples",
      label: "Messages",
      align: "right",
      width: "6rem",
      value: (i) => picture.samples[cell(i)] ?? 0,
      text: (i) => whole(picture.samples[cell(i)] ?? 0),
    },
  ];
}

export function waitColumns(chain: WaitChain): TableColumn[] {
  const stage = (i: number): number => chain.first_wait_stage[i] ?? 0;
  const most = Math.max(Number.MIN_VALUE, ...chain.wait_ms);
  return [
    {
      key: "rank",
      label: "Rank",
      align: "right",
      width: "4.5rem",
      value: (i) => chain.rank[i] ?? 0,
    },
    { key: "host", label: "Host", value: (i) => chain.host.at(i), search: true },
    {
      key: "wait",
      label: "Total wait",
      unit: "ms",
      align: "right",
      width: "6.5rem",
      value: (i) => chain.wait_ms[i] ?? 0,
      text: (i) => time((chain.wait_ms[i] ?? 0) * MS),
      bar: (i) => (chain.wait_ms[i] ?? 0) / most,
    },
    {
      key: "first_wait_stage",
      label: "First wait",
      align: "right",
      width: "6rem",
      value: (i) => (neverWaited(chain, i) ? Number.POSITIVE_INFINITY : stage(i)),
      text: (i) => (neverWaited(chain, i) ? "never" : `stage ${whole(stage(i))}`),
    },
  ];
}

export function laneColumns(ranks: RankSpans, sums: readonly Float64Array[]): TableColumn[] {
  const kinds = ["Compute", "Communicate", "Wait"].map((label, kind): TableColumn => {
    const value = (i: number): number => sums[i]?.[kind] ?? 0;
    return {
      key: label.toLowerCase(),
      label,
      unit: "ms",
      align: "right",
      width: "7rem",
      value,
      text: (i) => time(value(i) * MS),
    };
  });
  return [
    { key: "rank", label: "Rank", width: "8rem", value: (i) => ranks.lanes.name.at(i) },
    { key: "role", label: "Why it is here", value: (i) => ranks.lanes.role.at(i) },
    ...kinds,
  ];
}

export function truthColumns(rows: readonly TruthRow[]): TableColumn[] {
  const at = (i: number): TruthRow | undefined => rows[i];
  return [
    {
      key: "kind",
      label: "Fault",
      width: "8rem",
      value: (i) => at(i)?.truth.kind ?? "",
      search: true,
    },
    {
      key: "component",
      label: "Where",
      value: (i) => at(i)?.truth.component ?? "",
      text: (i) => `${at(i)?.truth.component_kind ?? ""} ${at(i)?.truth.component ?? ""}`,
      search: true,
    },
    {
      key: "component_kind",
      label: "Kind of component",
      csvOnly: true,
      value: (i) => at(i)?.truth.component_kind ?? "",
    },
    {
      key: "severity",
      label: "Severity",
      align: "right",
      width: "6rem",
      value: (i) => at(i)?.truth.severity ?? 0,
      text: (i) => significant(at(i)?.truth.severity ?? 0, 3),
    },
    {
      key: "from",
      label: "From",
      unit: "s",
      align: "right",
      width: "6rem",
      value: (i) => at(i)?.truth.from_s ?? 0,
      text: (i) => seconds(at(i)?.truth.from_s ?? 0),
    },
    {
      key: "until",
      label: "Until",
      unit: "s",
      align: "right",
      width: "6rem",
      value: (i) => at(i)?.truth.until_s ?? Number.POSITIVE_INFINITY,
      text: (i) => {
        const until = at(i)?.truth.until_s ?? null;
        return until === null ? "the end" : seconds(until);
      },
    },
    {
      key: "after",
      label: "Found after",
      unit: "s",
      align: "right",
      width: "7rem",
      value: (i) => at(i)?.after_s ?? Number.NaN,
      text: (i) => (at(i)?.finding === null ? "not found" : seconds(at(i)?.after_s ?? 0)),
    },
    {
      key: "place",
      label: "As suspect",
      align: "right",
      width: "6.5rem",
      value: (i) => at(i)?.place ?? 0,
      text: (i) => (at(i)?.finding === null ? "–" : `no. ${at(i)?.place ?? 0}`),
    },
  ];
}
