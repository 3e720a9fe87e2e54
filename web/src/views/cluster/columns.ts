// Columns of the tables of weeks of jobs: figures by policy, jobs, pairs that contended.
import type { Cluster, ClusterBand, ClusterJobs, ClusterLife } from "../../api/payload";
import { bestOf } from "../../model/cluster";
import type { Theme } from "../../ui/colors";
import { figure, figureShown, label, NONE, percent, significant, whole } from "../../ui/format";
import type { TableColumn } from "../../ui/table";

/** A figure of a policy: its median, and least to most where seeds differ. */
export function bandText(band: ClusterBand | null, unit: string): string {
  if (!band) return NONE;
  const one = (value: number): string => figure(value, unit);
  if (band.least === band.most) return one(band.median);
  const least = figureShown(band.least, unit);
  const most = figureShown(band.most, unit);
  const low = least.unit === most.unit ? least.number : one(band.least);
  return `${one(band.median)} (${low} – ${one(band.most)})`;
}

/** A row for each figure, a column for each policy; the best of a row has a mark. */
export function figureColumns(cluster: Cluster, theme: Theme): TableColumn[] {
  const best = cluster.figures.map(bestOf);
  const ranged = cluster.seeds.length > 1;
  const wide = cluster.policies.length > (ranged ? 1 : 5);
  const at = (row: number) => cluster.figures[row];
  const value = (row: number, policy: number, which: keyof ClusterBand): number | string =>
    at(row)?.values[policy]?.[which] ?? "";
  return [
    {
      key: "figure",
      label: "Figure",
      width: "16rem",
      value: (row) => at(row)?.name ?? "",
      text: (row) => label(at(row)?.name ?? ""),
    },
    ...cluster.policies.flatMap((name, policy): TableColumn[] => [
      {
        key: name,
        label: policy === cluster.base && cluster.policies.length > 1 ? `${name} (base)` : name,
        align: "right",
        width: ranged ? "15rem" : "8.5rem",
        value: (row) => value(row, policy, "median"),
        text: (row) => {
          const told = bandText(at(row)?.values[policy] ?? null, at(row)?.unit ?? "");
          return best[row]?.[policy] ? `★ ${told}` : told;
        },
        color: (row) => (best[row]?.[policy] ? theme.good : undefined),
      },
      ...(ranged
        ? (["least", "most"] as const).map((which): TableColumn => ({
            key: `${name}, ${which}`,
            label: which,
            csvOnly: true,
            value: (row) => value(row, policy, which),
          }))
        : []),
    ]),
    { key: "unit", label: "Unit", csvOnly: true, value: (row) => at(row)?.unit ?? "" },
    // Beside many columns there is no room for words.
    {
      key: "meaning",
      label: "What it is",
      width: "34rem",
      csvOnly: wide,
      value: (row) => at(row)?.meaning ?? "",
    },
  ];
}

/** Jobs of one life, and the slowdown of the same job under the base where another policy is shown. */
export function jobColumns(
  cluster: Cluster,
  jobs: ClusterJobs,
  life: ClusterLife,
  other: ClusterLife | null,
): TableColumn[] {
  const started = (row: number): number => life.started_s[row] ?? Number.NaN;
  const ended = (row: number): number => life.ended_s[row] ?? Number.NaN;
  const submitted = (row: number): number => jobs.submitted_s[row] ?? 0;
  const waited = (row: number): number =>
    (Number.isNaN(started(row)) ? cluster.span_s : started(row)) - submitted(row);
  const ran = (row: number): number =>
    (Number.isNaN(ended(row)) ? cluster.span_s : ended(row)) - started(row);
  const raw = (value: number): number | string => (Number.isNaN(value) ? "" : value);
  const slowed = (of: ClusterLife, row: number): string => {
    const value = of.slowdown[row] ?? Number.NaN;
    if (Number.isNaN(value)) return NONE;
    return significant(value, 4) + (Number.isNaN(of.ended_s[row]) ? " so far" : "");
  };
  const part = (row: number): number => (life.contended_s[row] ?? 0) / ran(row);
  return [
    { key: "job", label: "Job", value: (row) => jobs.name.at(row), search: true },
    { key: "class", label: "Class", value: (row) => jobs.class.at(row), search: true },
    {
      key: "gpus",
      label: "GPUs",
      align: "right",
      width: "5rem",
      value: (row) => jobs.gpus[row] ?? 0,
      text: (row) => whole(jobs.gpus[row] ?? 0),
    },
    {
      key: "submitted",
      label: "Submitted",
      unit: "s",
      align: "right",
      value: submitted,
      text: (row) => figure(submitted(row), "s"),
    },
    {
      key: "waited",
      label: "Waited",
      unit: "s",
      align: "right",
      value: waited,
      text: (row) =>
        figure(waited(row), "s") + (Number.isNaN(started(row)) ? ", did not start" : ""),
      width: "11rem",
    },
    {
      key: "ran",
      label: "Ran",
      unit: "s",
      align: "right",
      width: "9rem",
      value: (row) => raw(ran(row)),
      text: (row) =>
        Number.isNaN(started(row))
          ? NONE
          : figure(ran(row), "s") + (Number.isNaN(ended(row)) ? ", to the end" : ""),
    },
    {
      key: "slowdown",
      label: "Slowdown",
      align: "right",
      width: "8rem",
      value: (row) => raw(life.slowdown[row] ?? Number.NaN),
      text: (row) => slowed(life, row),
    },
    ...(other
      ? [
          {
            key: `slowdown, ${cluster.policies[cluster.base] ?? ""}`,
            label: `Under ${cluster.policies[cluster.base] ?? ""}`,
            align: "right" as const,
            width: "8rem",
            value: (row: number) => raw(other.slowdown[row] ?? Number.NaN),
            text: (row: number) => slowed(other, row),
          },
        ]
      : []),
    {
      key: "contended",
      label: "Contended",
      unit: "s",
      align: "right",
      value: (row) => life.contended_s[row] ?? 0,
      text: (row) =>
        (life.contended_s[row] ?? 0) > 0 ? `${percent(part(row))} of its time` : NONE,
      bar: (row) => part(row),
      width: "10rem",
    },
  ];
}

export function pairColumns(jobs: ClusterJobs, life: ClusterLife): TableColumn[] {
  const { one, other, seconds } = life.pairs;
  const name = (row: number | undefined): string => jobs.name.at(row ?? 0);
  const gpus = (row: number | undefined): string => whole(jobs.gpus[row ?? 0] ?? 0);
  const longest = Math.max(1e-9, ...seconds);
  return [
    { key: "one", label: "Job", value: (row) => name(one[row]), search: true },
    { key: "other", label: "Other job", value: (row) => name(other[row]), search: true },
    {
      key: "gpus",
      label: "GPUs",
      align: "right",
      width: "7rem",
      value: (row) => (jobs.gpus[one[row] ?? 0] ?? 0) + (jobs.gpus[other[row] ?? 0] ?? 0),
      text: (row) => `${gpus(one[row])} + ${gpus(other[row])}`,
    },
    {
      key: "contended",
      label: "Contended for",
      unit: "s",
      align: "right",
      width: "8rem",
      value: (row) => seconds[row] ?? 0,
      text: (row) => figure(seconds[row] ?? 0, "s"),
      bar: (row) => (seconds[row] ?? 0) / longest,
    },
  ];
}
