// Columns of the tables of traffic inside hosts: from which load on choices saturate, and all points.
import type { Intranode, IntranodePoints } from "../../api/payload";
import { shortAxis } from "../../model/intranode";
import { figure, label, NONE, percentShort } from "../../ui/format";
import type { TableColumn } from "../../ui/table";

/** What was chosen on each axis, of the choice in a row. */
function axisColumns(told: Intranode, choiceOf: (row: number) => number): TableColumn[] {
  return told.axes.map(({ name, values }, axis) => ({
    key: name,
    label: shortAxis(name),
    width: "7rem",
    value: (row) => values[told.choices[choiceOf(row)]?.[axis] ?? 0] ?? "",
  }));
}

/** A row for each choice. */
export function saturationColumns(told: Intranode): TableColumn[] {
  const load = (row: number): number | null => told.saturated[row] ?? null;
  const order = (row: number): string =>
    (told.orders[row] ?? [])
      .map(({ part, load: from }) => `${told.parts[part] ?? ""} ${percentShort(from)}`)
      .join(", ");
  return [
    ...axisColumns(told, (row) => row),
    {
      key: "saturated",
      label: "Saturated from",
      unit: "ratio",
      align: "right",
      width: "9rem",
      value: (row) => load(row) ?? "",
      text: (row) => {
        const from = load(row);
        return from === null ? "never" : percentShort(from);
      },
    },
    {
      key: "order",
      label: "Parts as they saturate",
      value: order,
      text: (row) => order(row) || NONE,
    },
  ];
}

const FIGURES: readonly [Exclude<keyof IntranodePoints, "rows" | "latency" | "parts">, string][] = [
  ["offered_rate", "bits_per_s"],
  ["intra_rate", "bits_per_s"],
  ["inter_rate", "bits_per_s"],
  ["network_rate", "bits_per_s"],
  ["carried_share", "ratio"],
  ["refused_share", "ratio"],
];

/** A row for each choice and load. */
export function pointColumns(told: Intranode): TableColumn[] {
  const loads = told.loads.length;
  const number = (key: string, words: string, unit: string, of: Float64Array): TableColumn => ({
    key,
    label: words,
    unit,
    align: "right",
    width: "7.5rem",
    value: (row) => (Number.isFinite(of[row]) ? (of[row] ?? "") : ""),
    text: (row) => (Number.isFinite(of[row]) ? figure(of[row] ?? null, unit) : NONE),
  });
  return [
    ...axisColumns(told, (row) => Math.floor(row / loads)),
    {
      key: "load",
      label: "Load",
      unit: "ratio",
      align: "right",
      width: "5rem",
      value: (row) => told.loads[row % loads] ?? "",
      text: (row) => percentShort(told.loads[row % loads] ?? 0),
    },
    ...FIGURES.map(([key, unit]) => number(key, label(key), unit, told.points[key])),
    number("intra_latency", "Latency inside", "s", told.points.latency.intra),
    number("inter_latency", "Latency between", "s", told.points.latency.inter),
  ];
}
