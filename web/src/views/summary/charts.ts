// Options of the summary's two charts: exposed communication per axis, step time over seeds.
import type { Run } from "../../api/payload";
import { quantile, seedPoints } from "../../model/distribution";
import type { ExposedRow } from "../../model/figures";
import { axisColor, runColor, type Theme } from "../../ui/colors";
import { axisStyle, base, type ChartOption } from "../../ui/echarts";
import { axisLabel, bytes, escaped, percent, time, timeAxis } from "../../ui/format";

const BAR_PX = 15;
/** Alpha of the hidden part; in the colour itself, for an item's opacity fades its label too. */
const PALE = "47";

/** Height that gives every bar the same room. */
export const exposedHeight = (rows: number, runs: number): number =>
  rows * (runs * (BAR_PX + 4) + 18) + 44;

interface Bar {
  value: number;
  text: string;
  itemStyle: { color: string };
}

/** Horizontal bars: the solid part is exposed, the pale part is hidden behind compute. */
export function exposedOption(
  rows: readonly ExposedRow[],
  runs: readonly Run[],
  theme: Theme,
): ChartOption {
  const top = Math.max(1, ...rows.flatMap((row) => row.runs.map((entry) => entry?.busy_ps ?? 0)));
  const axis = timeAxis(top);
  const series = runs.flatMap((run, i) => {
    const bars = (part: "exposed" | "hidden"): Bar[] =>
      rows.map((row) => {
        const entry = row.runs[i];
        const [busy, exposed] = [entry?.busy_ps ?? 0, entry?.exposed_ps ?? 0];
        const value = part === "exposed" ? exposed : Math.max(0, busy - exposed);
        const color = axisColor(row.axis, theme);
        const words = row.axis === "compute" ? time(busy) : `${time(exposed)} of ${time(busy)}`;
        return {
          value,
          text: entry
            ? runs.length > 1
              ? `{${i === 0 ? "base" : "other"}|${run.name}}  ${words}`
              : words
            : "not used",
          itemStyle: part === "exposed" ? { color } : { color: `${color}${PALE}` },
        };
      });
    const common = { type: "bar" as const, stack: `run ${i}`, barWidth: BAR_PX, barGap: "27%" };
    return [
      { ...common, name: `${run.name} exposed`, data: bars("exposed") },
      {
        ...common,
        name: `${run.name} hidden`,
        data: bars("hidden"),
        label: {
          show: true,
          position: "right" as const,
          distance: 8,
          color: theme.soft,
          fontSize: 12,
          formatter: (at: { data?: unknown }) => (at.data as Bar | undefined)?.text ?? "",
          rich: {
            base: { color: runColor(0, theme), fontWeight: 600, fontSize: 12 },
            other: { color: runColor(1, theme), fontWeight: 600, fontSize: 12 },
          },
        },
      },
    ];
  });
  const option = base(theme);
  return {
    ...option,
    grid: { left: 76, right: runs.length > 1 ? 210 : 130, top: 4, bottom: 40 },
    xAxis: {
      type: "value",
      name: `time per step (${axis.unit})`,
      nameLocation: "middle",
      nameGap: 26,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        formatter: (ps: number) => axis.tick(ps),
      },
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: rows.map((row) => (row.axis === "compute" ? "compute" : axisLabel(row.axis))),
      ...axisStyle(theme, false),
      axisLabel: { color: theme.ink, fontSize: 13 },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "shadow", shadowStyle: { color: theme.ink, opacity: 0.04 } },
      formatter: (at) => {
        const first = Array.isArray(at) ? at[0] : at;
        const row = rows[first?.dataIndex ?? 0];
        if (!row) return "";
        const lines = row.runs.map((entry, i) =>
          entry
            ? `${escaped(runs[i]?.name ?? "")}: ${time(entry.exposed_ps)} exposed` +
              ` (${percent(entry.busy_ps > 0 ? entry.exposed_ps / entry.busy_ps : 0)}),` +
              ` ${time(entry.busy_ps)} busy${entry.bytes > 0 ? `, ${bytes(entry.bytes)}` : ""}`
            : `${escaped(runs[i]?.name ?? "")}: not used`,
        );
        return [`<b>${escaped(axisLabel(row.axis))}</b>`, ...lines].join("<br>");
      },
    },
    series,
  };
}

const SEED_SLOTS = 60;
export const seedsHeight = (runs: number): number => 62 + runs * 96;

/** A dot per seed along its step time; a band from p5 to p95, a line at the median. */
export function seedsOption(
  runs: readonly Run[],
  colors: readonly string[],
  theme: Theme,
): ChartOption {
  const all = runs.flatMap((run) => run.seeds.map((seed) => seed.step_time_ps));
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const pad = Math.max((most - least) * 0.08, least * 0.001);
  const range = [least - pad, most + pad] as const;
  const axis = timeAxis(most);
  const option = base(theme);
  return {
    ...option,
    grid: { left: 12, right: 18, top: 16, bottom: 40 },
    xAxis: {
      type: "value",
      min: range[0],
      max: range[1],
      name: `step time (${axis.unit})`,
      nameLocation: "middle",
      nameGap: 26,
      splitNumber: 5,
      ...axisStyle(theme, true),
      axisLine: { onZero: false, lineStyle: { color: theme.rule } },
      splitLine: { showMinLine: false, showMaxLine: false, lineStyle: { color: theme.rule } },
      axisLabel: {
        color: theme.soft,
        showMinLabel: false,
        showMaxLabel: false,
        formatter: (ps: number) => axis.tick(Number(ps.toPrecision(5))),
      },
    },
    yAxis: {
      type: "value",
      min: -0.5,
      max: runs.length - 0.5,
      inverse: true,
      interval: 1,
      axisLine: { show: false },
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: { show: false },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "item",
      formatter: (at) => {
        const values = (Array.isArray(at) ? at[0] : at)?.value;
        if (!Array.isArray(values)) return "";
        return `${escaped(String(values[3]))}, seed ${String(values[2])}<br><b>${time(Number(values[0]), 5)}</b>`;
      },
    },
    series: runs.map((run, i) => {
      const sorted = run.seeds.map((seed) => seed.step_time_ps).sort((a, b) => a - b);
      const [low, middle, high] = [0.05, 0.5, 0.95].map((part) => quantile(sorted, part));
      const color = colors[i] ?? theme.accent;
      return {
        type: "scatter" as const,
        name: run.name,
        symbolSize: 8,
        itemStyle: { color, opacity: 0.75 },
        data: seedPoints(run.seeds, range, SEED_SLOTS).map((point) => [
          point.step_time_ps,
          i + Math.max(-0.42, Math.min(0.42, point.offset * 0.1)),
          point.seed,
          run.name,
        ]),
        markArea: {
          silent: true,
          itemStyle: { color, opacity: 0.09 },
          data: [[{ coord: [low, i - 0.44] }, { coord: [high, i + 0.44] }]],
        },
        markLine: {
          silent: true,
          symbol: "none",
          lineStyle: { color, width: 1.5, type: "solid" as const },
          label: { show: false },
          data: [[{ coord: [middle, i - 0.44] }, { coord: [middle, i + 0.44] }]],
        },
      };
    }),
  } as ChartOption;
}
