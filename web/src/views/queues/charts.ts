// Charts of completion times over transfers, and of two engines against each other.
import { fctAt, fctCurve, FCT_MARKS } from "../../model/queues";
import { runColor, type Theme } from "../../ui/colors";
import { axisStyle, base, type ChartOption } from "../../ui/echarts";
import { bytes, escaped, percent, time, timeAxis } from "../../ui/format";

export const CHART_PX = 260;

export interface Curve {
  name: string;
  run: number;
  fct_ps: Float64Array;
}

/** Places for ticks of a logarithmic axis: 1, 2 and 5 of each decade, or decades alone where those are many. */
export function logTicks(from: number, to: number): number[] {
  const [low, high] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))];
  const steps = high - low > 4 ? [1] : [1, 2, 5];
  const all = Array.from({ length: high - low + 1 }, (_, i) =>
    steps.map((step) => step * 10 ** (low + i)),
  ).flat();
  return all.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001);
}

/** Ends of a logarithmic axis around values: the next of 1, 2 and 5 of a decade. */
export function logEnds(low: number, high: number): readonly [number, number] {
  const around = (value: number, up: boolean): number => {
    const decade = 10 ** Math.floor(Math.log10(value));
    const steps = [1, 2, 5, 10].map((step) => step * decade);
    const fit = up
      ? steps.find((step) => step >= value * 0.999)
      : steps.reverse().find((step) => step <= value * 1.001);
    return fit ?? value;
  };
  const [from, to] = [around(Math.max(low, 1), false), around(Math.max(high, 1), true)];
  return to > from ? [from, to] : [from / 2, from * 2];
}

/** Share of transfers done within a time; the axis of time is logarithmic, quantiles are dots. */
export function completionOption(
  curves: readonly Curve[],
  compared: boolean,
  theme: Theme,
): ChartOption {
  const option = base(theme);
  const all = curves.flatMap(({ fct_ps }) => [fct_ps[0] ?? 1, fct_ps[fct_ps.length - 1] ?? 1]);
  const [from, to] = logEnds(Math.min(...all), Math.max(...all));
  const ticks = logTicks(from, to).map(Math.log10);
  const log = (ps: number): number => Math.log10(Math.max(ps, 1));
  return {
    ...option,
    grid: { left: 64, right: 26, top: 14, bottom: 46 },
    xAxis: {
      type: "value",
      min: log(from),
      max: log(to),
      name: "flow completion time (logarithmic)",
      nameLocation: "middle",
      nameGap: 28,
      ...axisStyle(theme, false),
      axisTick: { show: true, customValues: ticks, lineStyle: { color: theme.rule } },
      axisLabel: {
        color: theme.soft,
        fontSize: 11,
        customValues: ticks,
        formatter: (value: number) => time(10 ** value, 1),
      },
    },
    yAxis: {
      type: "value",
      min: 0,
      max: 1,
      interval: 0.25,
      name: "transfers done (%)",
      nameLocation: "middle",
      nameGap: 40,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        fontSize: 11,
        formatter: (value: number) => String(Math.round(value * 100)),
      },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: theme.faint, type: "solid" } },
      formatter: (at) => {
        const list = (Array.isArray(at) ? at : [at]).filter((e) => e.seriesType === "line");
        const lines = list.map((entry) => {
          const [x, y] = Array.isArray(entry.value) ? entry.value.map(Number) : [0, 0];
          const words = `<b>${percent(y ?? 0)}</b> within ${time(10 ** (x ?? 0), 4)}`;
          return compared ? `${escaped(entry.seriesName ?? "")}: ${words}` : words;
        });
        return lines.join("<br>");
      },
    },
    series: curves.flatMap(({ name, run, fct_ps }) => {
      const color = runColor(run, theme, compared ? 2 : 1);
      return [
        {
          type: "line" as const,
          name,
          data: fctCurve(fct_ps).map(([ps, share]) => [log(ps), share]),
          symbol: "none",
          lineStyle: {
            color,
            width: 1.75,
            type: compared && run === 0 ? ("dashed" as const) : ("solid" as const),
          },
          itemStyle: { color },
        },
        {
          type: "scatter" as const,
          name,
          silent: true,
          symbolSize: 7,
          itemStyle: { color, borderColor: theme.page, borderWidth: 1.5 },
          data: FCT_MARKS.map(({ part, name: mark }) => ({
            value: [log(fctAt(fct_ps, part)), part],
            label: {
              show: !compared && part < 1,
              formatter: mark,
              position: part === 0.5 ? ("right" as const) : ("bottom" as const),
              offset: part === 0.9 ? [12, 0] : [0, 0],
              distance: 6,
              color: theme.soft,
              fontSize: 11,
            },
          })),
        },
      ];
    }),
  } as ChartOption;
}

export interface Point {
  x: number;
  y: number;
  /** Lines of the tooltip, the first in bold. */
  words: readonly string[];
}
export interface Axis {
  name: string;
  /** What kind of number it carries. */
  of: "time" | "bytes";
}

/** Points of two engines; `level` draws where both agree: a horizontal line, or the diagonal. */
export function engineOption(
  points: readonly Point[],
  x: Axis,
  y: Axis,
  level: "zero" | "diagonal",
  theme: Theme,
): ChartOption {
  const option = base(theme);
  const most = (of: "x" | "y"): number => Math.max(...points.map((p) => Math.abs(p[of])), 0);
  const top = level === "diagonal" ? Math.max(most("x"), most("y")) : most("x");
  const scale = ({ name, of }: Axis, size: number) => {
    const axis = timeAxis(Math.max(size, 1));
    return {
      name: of === "time" ? `${name} (${axis.unit})` : `${name} (B)`,
      label: (value: number) =>
        of === "time"
          ? axis.tick(Number(value.toPrecision(5)))
          : bytes(value).replace(/B$/, "").trim(),
    };
  };
  const [across, up] = [scale(x, top), scale(y, most("y"))];
  return {
    ...option,
    grid: { left: 74, right: 22, top: 14, bottom: 46 },
    xAxis: {
      type: "value",
      min: 0,
      splitNumber: 4,
      name: across.name,
      nameLocation: "middle",
      nameGap: 28,
      ...axisStyle(theme, false),
      axisLabel: { color: theme.soft, fontSize: 11, formatter: across.label },
    },
    yAxis: {
      type: "value",
      scale: false,
      splitNumber: 4,
      name: up.name,
      nameLocation: "middle",
      nameGap: 54,
      ...axisStyle(theme, true),
      axisLabel: { color: theme.soft, fontSize: 11, formatter: up.label },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "item",
      formatter: (at) => {
        const point = points[(Array.isArray(at) ? at[0] : at)?.dataIndex ?? 0];
        if (!point) return "";
        const [first = "", ...rest] = point.words;
        return [`<b>${escaped(first)}</b>`, ...rest.map(escaped)].join("<br>");
      },
    },
    series: [
      {
        type: "scatter" as const,
        symbolSize: 6,
        itemStyle: { color: theme.accent, opacity: 0.7 },
        data: points.map((point) => [point.x, point.y]),
      },
      {
        type: "line" as const,
        silent: true,
        symbol: "none",
        lineStyle: { color: theme.faint, width: 1, type: "dashed" as const },
        data:
          level === "diagonal"
            ? [
                [0, 0],
                [top, top],
              ]
            : [
                [0, 0],
                [top, 0],
              ],
      },
    ],
  } as ChartOption;
}
