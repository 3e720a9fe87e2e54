// Columns of the tables of queues: pauses by hop, links, slowest transfers.
import type { Queues, SlowFlows } from "../../api/payload";
import { linkLabel, type PauseRow, type QueuesSeen } from "../../model/queues";
import { bytes, figure, percent, time, whole } from "../../ui/format";
import type { TableColumn } from "../../ui/table";

const tier = (name: string): string => (name === "nic" ? "NIC" : name);

export function pauseColumns(rows: readonly PauseRow[], names: readonly string[]): TableColumn[] {
  const at = (i: number): PauseRow | undefined => rows[i];
  const share = (key: "paused_mean" | "paused_max", label: string): TableColumn => ({
    key,
    label,
    unit: "ratio",
    align: "right",
    width: "8rem",
    value: (i) => at(i)?.[key] ?? 0,
    text: (i) => percent(at(i)?.[key] ?? 0),
  });
  return [
    {
      key: "frames_from",
      label: "Sent by",
      width: "6rem",
      value: (i) => tier(at(i)?.sender ?? ""),
    },
    {
      key: "frames_to",
      label: "Told to stop",
      width: "7rem",
      value: (i) => tier(at(i)?.receiver ?? ""),
    },
    ...(names.length > 1
      ? [{ key: "run", label: "Run", value: (i: number) => names[at(i)?.run ?? 0] ?? "" }]
      : []),
    {
      key: "frames",
      label: "Pause frames",
      align: "right",
      value: (i) => at(i)?.frames ?? 0,
      text: (i) => whole(at(i)?.frames ?? 0),
    },
    {
      key: "frames_per_s",
      label: "Frames per second",
      unit: "1/s",
      align: "right",
      width: "9rem",
      value: (i) => at(i)?.frames_per_s ?? 0,
      text: (i) => figure(at(i)?.frames_per_s ?? 0, "/s"),
    },
    share("paused_mean", "Paused, mean"),
    share("paused_max", "Paused, worst"),
    {
      key: "queue_bytes_max",
      label: "Longest queue held",
      unit: "B",
      align: "right",
      width: "9rem",
      value: (i) => at(i)?.queue_bytes_max ?? 0,
      text: (i) => bytes(at(i)?.queue_bytes_max ?? 0),
    },
    {
      key: "dropped",
      label: "Dropped",
      align: "right",
      width: "6rem",
      value: (i) => at(i)?.dropped ?? 0,
      text: (i) => whole(at(i)?.dropped ?? 0),
    },
    {
      key: "links",
      label: "Links",
      align: "right",
      width: "5rem",
      value: (i) => at(i)?.links ?? 0,
      text: (i) => whole(at(i)?.links ?? 0),
    },
  ];
}

/** Links by queue; `seen` has longest queues and times paused of a time window, null: of the whole run. */
export function linkColumns(
  { links }: Queues,
  duration_ps: number,
  seen: QueuesSeen | null,
): TableColumn[] {
  const paused = (r: number): number =>
    seen ? (seen.paused[r] ?? 0) : duration_ps > 0 ? (links.paused_ps[r] ?? 0) / duration_ps : 0;
  const longest = (r: number): number => (seen ? seen.bytes[r] : links.queue_bytes_max[r]) ?? 0;
  return [
    { key: "link", label: "Link", value: (r) => linkLabel(links, r), search: true },
    {
      key: "queue_bytes_max",
      label: "Longest queue",
      unit: "B",
      align: "right",
      width: "8rem",
      value: longest,
      text: (r) => bytes(longest(r)),
    },
    {
      key: "paused",
      label: "Paused",
      unit: "ratio",
      align: "right",
      width: "7rem",
      value: paused,
      text: (r) => percent(paused(r)),
    },
    {
      key: "pause_frames",
      label: "Pause frames",
      whole: true,
      align: "right",
      width: "7rem",
      value: (r) => links.pause_frames[r] ?? 0,
      text: (r) => whole(links.pause_frames[r] ?? 0),
    },
    {
      key: "dropped",
      label: "Dropped",
      whole: true,
      align: "right",
      width: "6rem",
      value: (r) => links.dropped[r] ?? 0,
      text: (r) => whole(links.dropped[r] ?? 0),
    },
  ];
}

/** Slowest transfers: `rows` are rows of the run's. */
export function slowColumns(flows: SlowFlows, rows: Uint32Array): TableColumn[] {
  const at = (r: number): number => rows[r] ?? 0;
  const fct = (r: number): number => (flows.end_ps[at(r)] ?? 0) - (flows.start_ps[at(r)] ?? 0);
  return [
    {
      key: "job",
      label: "Job",
      width: "6rem",
      value: (r) => flows.job.at(at(r)),
      search: true,
      csvOnly: flows.job.dict.length < 2,
    },
    {
      key: "transfer",
      label: "From → to",
      value: (r) => `${flows.source.at(at(r))} → ${flows.target.at(at(r))}`,
      search: true,
    },
    {
      key: "kind",
      label: "Communication",
      width: "8rem",
      value: (r) => flows.kind.at(at(r)),
      search: true,
    },
    {
      key: "operation",
      label: "Operation",
      csvOnly: true,
      value: (r) => flows.operation[at(r)] ?? 0,
    },
    {
      key: "bytes",
      label: "Bytes",
      unit: "B",
      align: "right",
      width: "5.5rem",
      value: (r) => flows.bytes[at(r)] ?? 0,
      text: (r) => bytes(flows.bytes[at(r)] ?? 0),
    },
    {
      key: "start",
      label: "Start",
      unit: "ps",
      csvOnly: true,
      value: (r) => flows.start_ps[at(r)] ?? 0,
    },
    {
      key: "fct",
      label: "Took",
      unit: "ps",
      align: "right",
      width: "6rem",
      value: fct,
      text: (r) => time(fct(r), 4),
    },
  ];
}
