// Columns of the map's lists of flows, pairs of hosts, changes of routes and moves.
import type { Epoch, Flows, Moves, Run } from "../../api/payload";
import { linksOf, pathWords, type HostPair } from "../../model/flows";
import { bytes, time, whole } from "../../ui/format";
import type { TableColumn } from "../../ui/table";

const text = (
  key: string,
  label: string,
  value: (i: number) => string,
  more: Partial<TableColumn> = {},
): TableColumn => ({ key, label, value, search: true, ...more });
const number = (
  key: string,
  label: string,
  width: string,
  value: (i: number) => number,
  more: Partial<TableColumn> = {},
): TableColumn => ({ key, label, width, align: "right", value, ...more });

/** Who sends what to whom: shared by flows and moves. */
function whoColumns(run: Run, flows: Flows, at: (i: number) => number): TableColumn[] {
  const named = (i: number): string =>
    run.jobs.length > 1
      ? `${flows.job.at(at(i))}: ${flows.operation.at(at(i))}`
      : flows.operation.at(at(i));
  return [
    text("job", "Job", (i) => flows.job.at(at(i)), { csvOnly: true }),
    text("operation", "Operation", (i) => flows.operation.at(at(i)), { text: named }),
    text("source", "Source", (i) => flows.source.at(at(i)), { width: "6.4rem" }),
    text("target", "Target", (i) => flows.target.at(at(i)), { width: "6.4rem" }),
  ];
}

/** Flows: `rows` are rows of the run's flows. */
export function flowColumns(run: Run, flows: Flows, rows: Uint32Array): TableColumn[] {
  const at = (i: number): number => rows[i] ?? 0;
  return [
    ...whoColumns(run, flows, at),
    number("queue_pair", "QP", "2.6rem", (i) => flows.queue_pair[at(i)] ?? 0),
    number("source_port", "Port", "3.7rem", (i) => flows.source_port[at(i)] ?? 0),
    number("landed_port", "Landed", "4.2rem", (i) => flows.landed_port[at(i)] ?? 0),
    number("bytes", "Bytes", "4.6rem", (i) => flows.bytes[at(i)] ?? 0, {
      whole: true,
      unit: "B",
      text: (i) => bytes(flows.bytes[at(i)] ?? 0),
    }),
    number("pattern", "Pattern", "4rem", (i) => flows.pattern[at(i)] ?? 0, { csvOnly: true }),
    text("path", "Path", (i) => pathWords(run, linksOf(flows.path, at(i))), { csvOnly: true }),
  ];
}

export function pairColumns(run: Run, pairs: readonly HostPair[]): TableColumn[] {
  const name = (device: number | undefined): string => run.devices.name.at(device ?? 0);
  return [
    text("source", "Source", (i) => name(pairs[i]?.source)),
    text("target", "Target", (i) => name(pairs[i]?.target)),
    number("flows", "Flows", "5rem", (i) => pairs[i]?.flows ?? 0, { whole: true }),
    number("paths", "Paths", "5rem", (i) => pairs[i]?.paths ?? 0, { whole: true }),
    number("bytes", "Bytes", "6rem", (i) => pairs[i]?.bytes ?? 0, {
      whole: true,
      unit: "B",
      text: (i) => bytes(pairs[i]?.bytes ?? 0),
    }),
  ];
}

export function epochColumns(epochs: readonly Epoch[]): TableColumn[] {
  const counted = (key: "moved" | "stayed" | "lost" | "found", label: string): TableColumn =>
    number(key, label, "4.2rem", (i) => epochs[i]?.[key] ?? 0, {
      text: (i) => whole(epochs[i]?.[key] ?? 0),
    });
  return [
    number("at", "Time", "5.4rem", (i) => epochs[i]?.at_ps ?? 0, {
      unit: "ps",
      text: (i) => time(epochs[i]?.at_ps ?? 0, 4),
    }),
    text("what", "What happened", (i) => epochs[i]?.what ?? ""),
    counted("moved", "Moved"),
    counted("stayed", "Stayed"),
    counted("lost", "Lost"),
    counted("found", "Found"),
  ];
}

/** Moves: `rows` are rows of the run's moves. */
export function moveColumns(
  run: Run,
  flows: Flows,
  moves: Moves,
  rows: Uint32Array,
): TableColumn[] {
  const at = (i: number): number => rows[i] ?? 0;
  const flow = (i: number): number => moves.flow[at(i)] ?? 0;
  const who = whoColumns(run, flows, flow).map((column) =>
    column.key === "operation" ? { ...column, csvOnly: true } : column,
  );
  const [before, after] = [moves.before, moves.after].map(
    (lists) =>
      (i: number): Uint32Array =>
        linksOf(lists, at(i)),
  ) as [(i: number) => Uint32Array, (i: number) => Uint32Array];
  return [
    ...who,
    number("queue_pair", "QP", "2.6rem", (i) => flows.queue_pair[flow(i)] ?? 0),
    text("before", "Old path via", (i) => pathWords(run, before(i)), {
      text: (i) => pathWords(run, before(i), after(i)),
    }),
    text("after", "New path via", (i) => pathWords(run, after(i)), {
      text: (i) => pathWords(run, after(i), before(i)),
    }),
    number("bytes", "Bytes", "5rem", (i) => flows.bytes[flow(i)] ?? 0, {
      unit: "B",
      csvOnly: true,
    }),
  ];
}
