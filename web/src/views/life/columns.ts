// Columns of the tables of a life: parts of its time, standstills, what was done with hosts.
import type { JobLife } from "../../api/payload";
import type { Theme } from "../../ui/colors";
import { figure, label, NONE, percent } from "../../ui/format";
import type { TableColumn } from "../../ui/table";
import { moment, phaseColor } from "./words";

const raw = (value: number): number | string => (Number.isNaN(value) ? "" : value);
const lasted = (value: number): string => (Number.isNaN(value) ? NONE : figure(value, "s"));

export function partColumns(life: JobLife): TableColumn[] {
  const at = (row: number) => life.parts[row];
  const share = (key: "shown" | "median" | "least" | "most", name: string): TableColumn => ({
    key,
    label: name,
    align: "right",
    width: "8rem",
    value: (row) => at(row)?.[key] ?? 0,
    text: (row) => percent(at(row)?.[key] ?? 0),
  });
  return [
    {
      key: "part",
      label: "Part of the time",
      value: (row) => at(row)?.name ?? "",
      text: (row) => label(at(row)?.name ?? ""),
    },
    share("shown", "This life"),
    ...(life.lives > 1
      ? [share("median", "Median"), share("least", "Least"), share("most", "Most")]
      : []),
  ];
}

export function standstillColumns(life: JobLife, theme: Theme): TableColumn[] {
  const { standstills: all } = life;
  const between = (from: Float64Array, to: Float64Array, row: number): number =>
    (to[row] ?? Number.NaN) - (from[row] ?? Number.NaN);
  const phase = (
    key: Parameters<typeof phaseColor>[0],
    name: string,
    from: Float64Array,
    to: Float64Array,
  ): TableColumn => ({
    key,
    label: name,
    unit: "s",
    align: "right",
    width: "8rem",
    value: (row) => raw(between(from, to, row)),
    text: (row) => lasted(between(from, to, row)),
    color: (row) => (between(from, to, row) > 0 ? undefined : theme.faint),
  });
  return [
    {
      key: "failed",
      label: "Stood still at",
      unit: "s",
      align: "right",
      width: "9rem",
      value: (row) => all.failed_s[row] ?? 0,
      text: (row) => moment(all.failed_s[row] ?? 0),
    },
    { key: "subject", label: "What failed", value: (row) => all.subject.at(row), search: true },
    { key: "kind", label: "How", width: "8rem", value: (row) => all.kind.at(row), search: true },
    {
      key: "cause",
      label: "Cause",
      width: "8rem",
      value: (row) => all.cause.at(row),
      search: true,
    },
    {
      key: "found_by",
      label: "Found by",
      width: "7rem",
      value: (row) => all.found_by.at(row),
      search: true,
    },
    phase("redone", "Work redone", all.checkpoint_s, all.failed_s),
    phase("detection", "Detection", all.failed_s, all.detected_s),
    phase("diagnosis", "Until it is out", all.detected_s, all.isolated_s),
    phase("waiting", "Waiting", all.isolated_s, all.replaced_s),
    phase("restart", "Restart", all.replaced_s, all.restarted_s),
  ];
}

export function actionColumns(life: JobLife): TableColumn[] {
  const { actions: all } = life;
  const took = (row: number): number =>
    (all.effective_s[row] ?? Number.NaN) - (all.decided_s[row] ?? Number.NaN);
  return [
    {
      key: "decided",
      label: "Decided at",
      unit: "s",
      align: "right",
      width: "9rem",
      value: (row) => all.decided_s[row] ?? 0,
      text: (row) => moment(all.decided_s[row] ?? 0),
    },
    {
      key: "effective",
      label: "In effect after",
      unit: "s",
      align: "right",
      width: "9rem",
      value: (row) => raw(took(row)),
      text: (row) => (Number.isNaN(took(row)) ? "never" : figure(took(row), "s")),
    },
    {
      key: "controller",
      label: "By",
      width: "9rem",
      value: (row) => all.controller.at(row),
      search: true,
    },
    {
      key: "action",
      label: "Action",
      width: "7rem",
      value: (row) => all.action.at(row),
      search: true,
    },
    {
      key: "reason",
      label: "Why",
      width: "10rem",
      value: (row) => all.reason.at(row),
      search: true,
    },
    {
      key: "subject",
      label: "Of what",
      value: (row) =>
        all.subject.at(row) +
        (all.after.at(row) === "" ? "" : `, in its place ${all.after.at(row)}`),
      search: true,
    },
  ];
}
