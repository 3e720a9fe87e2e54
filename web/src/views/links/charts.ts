// One small chart per tier class: how utilization is spread over its links, runs on top of each other.
import { cumulative, histogram, type ClassDistribution } from "../../model/distribution";
import type { Curve } from "../../model/page_state";
import { runColor, type Theme } from "../../ui/colors";
import { axisStyle, base, type ChartOption } from "../../ui/echarts";
import { escaped, percent } from "../../ui/format";

const BINS = 50;
const POINTS = 200;
export const CHART_PX = 190;

export interface Overlaid {
  name: string;
  distribution: ClassDistribution;
  run: number;
}

/** The highest share of any bin, so that charts beside each other share their axis. */
export function shareTop(all: readonly ClassDistribution[], top: number, curve: Curve): number {
  if (curve === "cumulative") return 1;
  const most = all.reduce(
    (value, d) => histogram(d.sorted, top, BINS).reduce((m, [, y]) => Math.max(m, y), value),
    0,
  );
  return [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1].find((limit) => most <= limit) ?? 1;
}

export function spreadOption(
  runs: readonly Overlaid[],
  top: number,
  shareMax: number,
  curve: Curve,
  compared: boolean,
  theme: Theme,
): ChartOption {
  const option = base(theme);
  return {
    ...option,
    grid: { left: 58, right: 14, top: 10, bottom: 42 },
    xAxis: {
      type: "value",
      min: 0,
      max: top,
      interval: top / 5,
      name: "utilization (%)",
      nameLocation: "middle",
      nameGap: 24,
      ...axisStyle(theme, false),
      axisLabel: {
        color: theme.soft,
        fontSize: 11,
        formatter: (value: number) => String(Number((value * 100).toPrecision(3))),
      },
    },
    yAxis: {
      type: "value",
      min: 0,
      max: shareMax,
      interval: shareMax / 2,
      name: curve === "cumulative" ? "links at or below (%)" : "links (%)",
      nameLocation: "middle",
      nameGap: 36,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        fontSize: 11,
        formatter: (value: number) => String(Number((value * 100).toPrecision(3))),
      },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: theme.faint, type: "solid" } },
      formatter: (at) => {
        const list = Array.isArray(at) ? at : [at];
        const lines = list.map((entry) => {
          const [x, y] = Array.isArray(entry.value) ? entry.value.map(Number) : [0, 0];
          const range =
            curve === "cumulative"
              ? `at or below ${percent(x ?? 0)}`
              : `${percent(x ?? 0)} – ${percent((x ?? 0) + top / BINS)}`;
          return `${escaped(entry.seriesName ?? "")}: <b>${percent(y ?? 0)}</b> of links ${range}`;
        });
        return lines.join("<br>");
      },
    },
    series: runs.map(({ name, distribution, run }) => {
      const color = runColor(run, theme, compared ? 2 : 1);
      return {
        type: "line" as const,
        name,
        data:
          curve === "cumulative"
            ? cumulative(distribution.sorted, top, POINTS)
            : histogram(distribution.sorted, top, BINS),
        step: curve === "cumulative" ? (false as const) : ("end" as const),
        symbol: "none",
        lineStyle: {
          color,
          width: 1.75,
          type: compared && run === 0 ? ("dashed" as const) : ("solid" as const),
        },
        itemStyle: { color },
        areaStyle: curve === "histogram" ? { color, opacity: compared ? 0.1 : 0.16 } : undefined,
      };
    }),
  } as ChartOption;
}
