// A job over time: bytes per second above, steps per second below, faults and repairs as ticks on both.
import { levels, type JobSeries, type Tick } from "../../model/throughput";
import { runColor, type Theme } from "../../ui/colors";
import { axisStyle, base, type ChartOption } from "../../ui/echarts";
import { bytes, escaped, figureShown, joined, time, timeAxis } from "../../ui/format";

export interface RunSeries {
  name: string;
  run: number;
  series: JobSeries;
}
const GRID_PX = 104;
const GAP_PX = 22;
const AROUND_PX = { top: 20, bottom: 44 };
/** More ticks than this have no words. */
const TICK_WORDS_MAX = 8;
/** Ticks closer than this part of the window have their words together, at the first. */
const WORDS_APART = 1 / 14;

const perSecond = (value: number): string => `${bytes(value)}/s`;
const steps = (value: number): string => joined(figureShown(value, "steps/s"));

export const hasBytes = (runs: readonly RunSeries[]): boolean =>
  runs.some(({ series }) => series.bytes.length > 0);
export const chartHeight = (runs: readonly RunSeries[]): number =>
  AROUND_PX.top + AROUND_PX.bottom + GRID_PX + (hasBytes(runs) ? GRID_PX + GAP_PX : 0);

/** What stands at each tick: the words of all that follow closely, each once, at the first of them; else nothing. */
export function tickWords(
  ticks: readonly Pick<Tick, "at_ps" | "label">[],
  apart_ps: number,
): string[] {
  const order = ticks.map((_, row) => row).sort((a, b) => ticks[a]!.at_ps - ticks[b]!.at_ps);
  const words = ticks.map(() => "");
  let first: number | undefined;
  let told: string[] = [];
  for (const row of order) {
    const tick = ticks[row]!;
    if (first === undefined || tick.at_ps - ticks[first]!.at_ps > apart_ps)
      [first, told] = [row, []];
    if (!told.includes(tick.label)) told.push(tick.label);
    words[first] = told.join(", ");
  }
  return words;
}

export function jobOption(
  runs: readonly RunSeries[],
  ticks: readonly Tick[],
  from_ps: number,
  to_ps: number,
  compared: boolean,
  theme: Theme,
): ChartOption {
  const option = base(theme);
  const kinds = hasBytes(runs) ? (["bytes", "steps"] as const) : (["steps"] as const);
  const axis = timeAxis(to_ps - from_ps);
  const inWindow = ticks.filter(({ at_ps }) => at_ps >= from_ps && at_ps <= to_ps);
  const words = tickWords(inWindow, (to_ps - from_ps) * WORDS_APART);
  const marks = (grid: number) => ({
    silent: true,
    symbol: "none",
    data: inWindow.map(({ at_ps, text, repair }, row) => ({
      xAxis: at_ps,
      name: text,
      lineStyle: {
        color: repair ? theme.good : theme.mark,
        type: repair ? ("dashed" as const) : ("solid" as const),
        width: 1.25,
      },
      label: {
        show: grid === 0 && inWindow.length <= TICK_WORDS_MAX && words[row] !== "",
        position: "end" as const,
        formatter: words[row],
        color: repair ? theme.good : theme.mark,
        fontSize: 11,
        distance: 3,
      },
    })),
  });
  return {
    ...option,
    grid: kinds.map((_, i) => ({
      left: 78,
      right: 20,
      top: AROUND_PX.top + i * (GRID_PX + GAP_PX),
      height: GRID_PX,
    })),
    xAxis: kinds.map((_, i) => ({
      type: "value" as const,
      gridIndex: i,
      min: from_ps,
      max: to_ps,
      ...axisStyle(theme, false),
      ...(i === kinds.length - 1
        ? { name: `time (${axis.unit})`, nameLocation: "middle" as const, nameGap: 26 }
        : {}),
      axisLabel: {
        show: i === kinds.length - 1,
        color: theme.soft,
        fontSize: 11,
        showMinLabel: from_ps === 0,
        showMaxLabel: false,
        formatter: (ps: number) => axis.tick(Number(ps.toPrecision(5))),
      },
    })),
    yAxis: kinds.map((kind, i) => ({
      type: "value" as const,
      gridIndex: i,
      min: 0,
      splitNumber: 2,
      name: kind === "bytes" ? "B/s" : "steps/s",
      nameLocation: "middle" as const,
      nameGap: 58,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        fontSize: 11,
        formatter: (value: number) =>
          kind === "bytes" ? bytes(value).replace("B", "") : String(Number(value.toPrecision(3))),
      },
    })),
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: theme.faint, type: "solid" } },
      formatter: (at) => {
        const all = Array.isArray(at) ? at : [at];
        const seen = new Set<string>();
        const lines = all.flatMap((entry) => {
          const value = Array.isArray(entry.value) ? entry.value[1] : null;
          const key = String(entry.seriesId ?? entry.seriesName ?? "");
          if (typeof value !== "number" || seen.has(key)) return [];
          seen.add(key);
          const words = entry.seriesId?.startsWith("bytes") ? perSecond(value) : steps(value);
          return [`${compared ? `${escaped(entry.seriesName ?? "")}: ` : ""}<b>${words}</b>`];
        });
        const [first] = all;
        const ps = Array.isArray(first?.value) ? Number(first.value[0]) : from_ps;
        return [time(ps, 4), ...lines].join("<br>");
      },
    },
    series: kinds.flatMap((kind, i) =>
      runs.map(({ name, run, series }, k) => {
        const color = runColor(run, theme, compared ? 2 : 1);
        return {
          type: "line" as const,
          id: `${kind} ${k}`,
          name,
          xAxisIndex: i,
          yAxisIndex: i,
          data: levels(series[kind].filter((part) => part.to_ps > from_ps && part.from_ps < to_ps)),
          symbol: "none",
          lineStyle: {
            color,
            width: 1.5,
            type: compared && run === 0 ? ("dashed" as const) : ("solid" as const),
          },
          itemStyle: { color },
          areaStyle: compared ? undefined : { color, opacity: 0.12 },
          ...(k === 0 ? { markLine: marks(i) } : {}),
        };
      }),
    ),
  } as ChartOption;
}
