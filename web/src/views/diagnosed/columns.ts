// Columns of the tables of a diagnosis: parts of a slow job, ranks and operations of a hang, files.
import {
  CELL_STATES,
  MARK,
  type Diagnosed,
  type Lattice,
  type WhatIfPart,
} from "../../api/payload";
import { percent, significant, whole } from "../../ui/format";
import type { TableColumn } from "../../ui/table";

export function partColumns(
  all: readonly { name: string; part: WhatIfPart }[],
  ideals: readonly string[],
): TableColumn[] {
  const at = (row: number, key: "alone" | "saved", ideal: number): number =>
    all[row]?.part[key][ideal] ?? NaN;
  return [
    { key: "part", label: "Part", search: true, value: (row) => all[row]?.name ?? "" },
    ...ideals.flatMap((ideal, i): TableColumn[] => [
      {
        key: `times ${i}`,
        label: `Times, ${ideal}`,
        align: "right",
        width: "15rem",
        value: (row) => at(row, "alone", i),
        text: (row) => significant(at(row, "alone", i), 4),
      },
      {
        key: `gone ${i}`,
        label: "Time gone if ideal",
        unit: "ratio",
        align: "right",
        width: "10rem",
        value: (row) => at(row, "saved", i),
        text: (row) => percent(at(row, "saved", i)),
      },
    ]),
  ];
}

const MARKS: Record<number, string> = {
  [MARK.none]: "",
  [MARK.suspect]: "not proved",
  [MARK.culprit]: "culprit",
};

export function rankColumns({ ranks }: Lattice): TableColumn[] {
  return [
    {
      key: "rank",
      label: "Rank",
      align: "right",
      width: "6rem",
      search: true,
      value: (row) => ranks.rank[row] ?? 0,
    },
    {
      key: "named",
      label: "Named",
      width: "8rem",
      search: true,
      value: (row) => MARKS[ranks.mark[row] ?? 0] ?? "",
    },
    { key: "standing", label: "Where it is", search: true, value: (row) => ranks.standing.at(row) },
    {
      key: "waits_for",
      label: "Waits for ranks",
      width: "16rem",
      value: (row) => ranks.waits_for.at(row),
    },
  ];
}

export function openColumns(lattice: Lattice): TableColumn[] {
  const { open, cells, ranks, groups } = lattice;
  const cell = (row: number): number => open.cell[row] ?? 0;
  const number = (key: string, label: string, from: Float64Array): TableColumn => ({
    key,
    label,
    align: "right",
    width: "8rem",
    value: (row) => from[row] ?? NaN,
    text: (row) => (Number.isFinite(from[row]) ? whole(from[row] ?? 0) : "–"),
  });
  return [
    {
      key: "rank",
      label: "Rank",
      align: "right",
      width: "5rem",
      search: true,
      value: (row) => ranks.rank[cells.rank[cell(row)] ?? 0] ?? 0,
    },
    {
      key: "communicator",
      label: "Communicator",
      width: "19rem",
      search: true,
      value: (row) => groups.name.at(cells.group[cell(row)] ?? 0),
    },
    {
      key: "state",
      label: "State",
      width: "9rem",
      search: true,
      value: (row) => CELL_STATES[cells.state[cell(row)] ?? 0] ?? "",
    },
    {
      key: "operation",
      label: "Operation",
      width: "10rem",
      search: true,
      value: (row) => open.name.at(row),
    },
    number("number", "Number", open.sequence),
    number("count", "Open or missing", open.count),
    number("enqueued", "Last enqueued", open.enqueued),
    number("ended", "Last ended", open.ended),
    {
      key: "frame",
      label: "Asked for at",
      search: true,
      value: (row) => open.frame.at(row),
    },
  ];
}

export function fileColumns(told: Diagnosed): TableColumn[] {
  const all = [
    ...told.unread.map(({ file, reason, recognized }) => ({
      file,
      format: recognized ? "not read" : "not recognized",
      held: reason,
      skipped: NaN,
      notes: "",
    })),
    ...told.files.map((file) => ({ ...file, notes: file.notes.join("; ") })),
  ];
  return [
    { key: "file", label: "File", search: true, value: (row) => all[row]?.file ?? "" },
    {
      key: "format",
      label: "Format",
      width: "12rem",
      search: true,
      value: (row) => all[row]?.format ?? "",
    },
    { key: "held", label: "What it held", search: true, value: (row) => all[row]?.held ?? "" },
    {
      key: "skipped",
      label: "Wrong records",
      align: "right",
      width: "8rem",
      value: (row) => all[row]?.skipped ?? NaN,
      text: (row) => (Number.isFinite(all[row]?.skipped) ? whole(all[row]?.skipped ?? 0) : "–"),
    },
    { key: "notes", label: "Notes", search: true, value: (row) => all[row]?.notes ?? "" },
  ];
}
