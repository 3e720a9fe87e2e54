// Bars of what each part of a slow job costs it, by both ideals.
import type { WhatIf, WhatIfPart } from "../../api/payload";
import { alternativeColor, type Theme } from "../../ui/colors";
import { axisStyle, base, type ChartOption } from "../../ui/echarts";
import { escaped, percent, percentShort, significant } from "../../ui/format";

/** Bars of a chart of parts; the table has all. */
export const BARS = 16;
const BAR_PX = 34;
const EDGE_PX = 52;

export const idealColor = (ideal: number, theme: Theme): string =>
  alternativeColor(ideal, Number.POSITIVE_INFINITY, theme);

export const barsHeight = (parts: number): number => EDGE_PX + Math.min(parts, BARS) * BAR_PX;

/** Time beyond the ideal: hundredths of a percent at most, which is what a replay of operations is good for. */
export function beyond(ratio: number): string {
  const digits = Math.abs(ratio) < 0.0095 ? 1e4 : 1e3;
  const told = Math.round(ratio * digits) / digits;
  return `${told > 0 ? "+" : ""}${percentShort(told === 0 ? 0 : told)}`;
}

/** Horizontal bars, the most costly part on top: time beyond the ideal when all else is ideal. */
export function partsOption(
  parts: readonly WhatIfPart[],
  name: (part: WhatIfPart) => string,
  ideals: readonly string[],
  theme: Theme,
): ChartOption {
  const option = base(theme);
  const shown = parts.slice(0, BARS).reverse();
  return {
    ...option,
    grid: { left: 8, right: 56, top: 6, bottom: 8, containLabel: true },
    xAxis: {
      type: "value",
      splitNumber: 4,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        fontSize: 12,
        formatter: beyond,
      },
    },
    yAxis: {
      type: "category",
      data: shown.map(name),
      ...axisStyle(theme, false),
      axisLabel: { color: theme.ink, fontSize: 12, width: 190, overflow: "truncate" },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (at) => {
        const first = Array.isArray(at) ? at[0] : at;
        const part = shown[first?.dataIndex ?? 0];
        if (!part) return "";
        const lines = ideals.map(
          (ideal, i) =>
            `${escaped(ideal)}: <b>${significant(part.alone[i] ?? 1, 4)}</b> times the ideal; ` +
            `${percent(part.saved[i] ?? 0)} of the time gone if it were ideal`,
        );
        return [escaped(name(part)), ...lines].join("<br>");
      },
    },
    series: ideals.map((ideal, i) => ({
      type: "bar" as const,
      name: ideal,
      barMaxWidth: 9,
      barGap: "15%",
      itemStyle: { color: idealColor(i, theme) },
      data: shown.map((part) => (part.alone[i] ?? 1) - 1),
      label: {
        show: true,
        position: "right" as const,
        color: theme.soft,
        fontSize: 10.5,
        formatter: ({ value }: { value?: unknown }) => beyond(Number(value)),
      },
    })),
  };
}

/** Steps in their order: how many times as long as the ideal each takes. */
export function stepsOption(told: WhatIf, ideals: readonly string[], theme: Theme): ChartOption {
  const option = base(theme);
  const steps = [...told.steps].sort((a, b) => a.step - b.step);
  return {
    ...option,
    grid: { left: 8, right: 12, top: 12, bottom: 26, containLabel: true },
    xAxis: {
      type: "category",
      data: steps.map(({ step }) => String(step)),
      name: "step",
      nameLocation: "middle",
      nameGap: 28,
      ...axisStyle(theme, false),
    },
    yAxis: {
      type: "value",
      splitNumber: 4,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        fontSize: 12,
        formatter: beyond,
      },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (at) => {
        const first = Array.isArray(at) ? at[0] : at;
        const step = steps[first?.dataIndex ?? 0];
        if (!step) return "";
        const lines = ideals.map(
          (ideal, i) =>
            `${escaped(ideal)}: <b>${significant(step.slowdown[i] ?? 1, 4)}</b> times the ideal`,
        );
        return [`step ${step.step}, ${significant(step.recorded_s, 4)} s`, ...lines].join("<br>");
      },
    },
    series: ideals.map((ideal, i) => ({
      type: "bar" as const,
      name: ideal,
      barMaxWidth: 12,
      large: steps.length > 500,
      itemStyle: { color: idealColor(i, theme) },
      data: steps.map(({ slowdown }) => (slowdown[i] ?? 1) - 1),
    })),
  };
}
