// Columns of the table of figures: one value per run; for two runs their difference and verdict.
import type { Run } from "../../api/payload";
import type { FigureRow } from "../../model/figures";
import type { Theme } from "../../ui/colors";
import { change, difference, figure, label, missing } from "../../ui/format";
import type { TableColumn } from "../../ui/table";

/** A verdict in words: colour only repeats it. */
export const VERDICTS = {
  better: "better",
  worse: "worse",
  same: "no difference",
  open: "",
} as const;

export const verdictColor = (row: FigureRow | undefined, theme: Theme): string | undefined =>
  row?.verdict === "better" ? theme.good : row?.verdict === "worse" ? theme.bad : undefined;

/** A value with its unit, or why there is none. */
export function valueText(row: FigureRow | undefined, run: number): string {
  const value = row?.values[run] ?? null;
  return value === null ? missing(row?.reasons[run] ?? "") : figure(value, row?.unit ?? "");
}

/** "a: Step time" for the figure of one job of several, "All jobs: Step time max" for one of all. */
export function rowLabel(row: FigureRow | undefined): string {
  if (row === undefined) return "";
  const of = row.job !== "" ? row.job : row.bare === row.name ? "" : "All jobs";
  return `${of === "" ? "" : `${of}: `}${label(row.bare)}`;
}

export function figureColumns(
  rows: readonly FigureRow[],
  runs: readonly Run[],
  theme: Theme,
): TableColumn[] {
  const compared = runs.length === 2;
  const at = (row: number): FigureRow | undefined => rows[row];
  const list: TableColumn[] = [
    {
      key: "figure",
      label: "Figure",
      width: compared ? "24%" : "26%",
      value: (r) => at(r)?.name ?? "",
      text: (r) => rowLabel(at(r)),
      search: true,
    },
  ];
  runs.forEach((run, i) =>
    list.push({
      key: `value ${run.name}`,
      label: compared ? run.name : "Value",
      align: "right",
      width: compared ? "14%" : "18%",
      value: (r) => at(r)?.values[i] ?? "",
      text: (r) => valueText(at(r), i),
    }),
  );
  if (compared)
    list.push(
      {
        key: "difference",
        label: "Difference",
        align: "right",
        width: "13%",
        value: (r) => at(r)?.difference ?? "",
        text: (r) => {
          const row = at(r);
          return row?.difference == null
            ? missing("not in both")
            : difference(row.difference, row.unit);
        },
      },
      {
        key: "change",
        label: "Relative",
        align: "right",
        width: "9%",
        value: (r) => at(r)?.change ?? "",
        text: (r) => {
          const row = at(r);
          if (row?.difference == null) return "";
          return row.change === null ? missing("baseline is 0") : change(row.change);
        },
      },
      {
        key: "verdict",
        label: "Verdict",
        width: "11%",
        value: (r) => VERDICTS[at(r)?.verdict ?? "open"],
        color: (r) => verdictColor(at(r), theme),
      },
    );
  else
    list.push({
      key: "range",
      label: "Range over seeds",
      align: "right",
      width: "18%",
      value: (r) => at(r)?.ranges[0]?.low ?? "",
      text: (r) => {
        const row = at(r);
        const range = row?.ranges[0];
        return row && range
          ? `${figure(range.low, row.unit)} – ${figure(range.high, row.unit)}`
          : "";
      },
    });
  list.push(
    {
      key: "unit",
      label: "Unit",
      csvOnly: true,
      value: (r) => at(r)?.unit ?? "",
    },
    ...runs.map((run, i): TableColumn => ({
      key: `reason ${run.name}`,
      label: "Why there is no value",
      csvOnly: true,
      value: (r) => at(r)?.reasons[i] ?? "",
    })),
    { key: "note", label: "Note", value: (r) => at(r)?.note ?? "", search: true },
  );
  return list;
}
