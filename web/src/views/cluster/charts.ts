// GPU utilization and intensity over time by policy, and how much each slows its jobs down.
import type { Cluster, ClusterLife } from "../../api/payload";
import {
  curveOf,
  serves,
  slowdownCurve,
  sortedSlowdowns,
  type CurveName,
} from "../../model/cluster";
import { alternativeColor, type Theme } from "../../ui/colors";
import { axisStyle, base, type ChartOption } from "../../ui/echarts";
import { daysAxis, escaped, figure, percent, percentShort, significant } from "../../ui/format";

/** One policy's curve. */
export interface PolicyLife {
  policy: number;
  name: string;
  life: ClusterLife;
}
export const SLOWDOWN_PX = 300;
const GRID = { top: 12, height: 150, gap: 34, bottom: 64 };
/** Name of each curve on its axis, and in the line of a tooltip. */
const CURVES: Record<CurveName, { axis: string; short: string; share: boolean }> = {
  gpu_utilization: { axis: "GPU utilization", short: "", share: true },
  gpu_intensity: { axis: "GPU intensity", short: "intensity ", share: false },
  inference_link_share: { axis: "inference on a link", short: "inference ", share: true },
};
const ENDS_PX = 92;
const AROUND = { top: 12, bottom: 46 };

/** What the others are measured by is dashed, so that it is told without colour, too. */
function lineOf(cluster: Cluster, policy: number, strong: boolean, theme: Theme) {
  return {
    color: alternativeColor(policy, cluster.base, theme),
    width: strong ? 2.25 : 1.4,
    type: policy === cluster.base ? ("dashed" as const) : ("solid" as const),
  };
}

/** The name of a curve at its end, moved by `dy` pixels so that names stay readable where curves meet. */
function endLabel(text: string, color: string, dy: number) {
  return { show: true, formatter: text, color, fontSize: 12, distance: 6, offset: [0, dy] };
}

/** How far names at these heights, in pixels, are moved so that none lies on another. */
export function movedApart(heights: readonly number[], room: number, least = 14): number[] {
  const order = heights.map((_, i) => i).filter((i) => Number.isFinite(heights[i]));
  order.sort((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0) || a - b);
  const places = heights.map(() => 0);
  let above = -Infinity;
  for (const i of order) places[i] = above = Math.max(heights[i] ?? 0, above + least);
  let below = room + least;
  for (const i of [...order].reverse()) places[i] = below = Math.min(places[i] ?? 0, below - least);
  return heights.map((height, i) => (Number.isFinite(height) ? (places[i] ?? 0) - height : 0));
}

/** The part of a curve in a window, with its values at both ends of it. */
export function within(
  points: readonly (readonly [number, number | null])[],
  from: number,
  to: number,
): [number, number | null][] {
  const part: [number, number | null][] = [];
  points.forEach(([x, y], i) => {
    const before = points[i - 1];
    for (const edge of [from, to]) {
      if (!before || !(before[0] < edge && edge < x) || y === null || before[1] === null) continue;
      part.push([edge, before[1] + ((y - before[1]) * (edge - before[0])) / (x - before[0])]);
    }
    if (x >= from && x <= to) part.push([x, y]);
  });
  return part.sort((a, b) => a[0] - b[0]);
}

/** The least round number that is `most` or more with at most four round steps up to it, and that step. */
export function roundTop(most: number): { top: number; step: number } {
  const whole = 10 ** Math.floor(Math.log10(most / 4));
  const step = whole * ([1, 2, 5].find((times) => 4 * times * whole >= most * (1 - 1e-9)) ?? 10);
  return { top: Math.ceil((most / step) * (1 - 1e-9)) * step, step };
}

/** What is drawn over time: that of inference only where somebody serves. */
function curvesOver(lives: readonly PolicyLife[]): readonly CurveName[] {
  const both = ["gpu_utilization", "gpu_intensity"] as const;
  return lives.some(({ life }) => serves(life)) ? [...both, "inference_link_share"] : both;
}
/** Height of the picture of `overTimeOption`, in pixels. */
export function overTimeHeight(lives: readonly PolicyLife[]): number {
  const kinds = curvesOver(lives).length;
  return GRID.top + kinds * GRID.height + (kinds - 1) * GRID.gap + GRID.bottom;
}

const lastOf = (points: readonly (readonly [number, number | null])[]): number =>
  points.findLast(([, y]) => y !== null)?.[1] ?? Number.NaN;

/** Grids on one axis of time: how much GPUs computed, the intensity of what links carried, and where somebody serves
 * what inference takes of the link that has most of it. */
export function overTimeOption(
  cluster: Cluster,
  lives: readonly PolicyLife[],
  chosen: number,
  every: number,
  from_s: number,
  to_s: number,
  theme: Theme,
): ChartOption {
  const option = base(theme);
  const axis = daysAxis(to_s - from_s, 10);
  const first = Math.ceil(from_s / axis.step_s - 1e-9);
  const ticks = Array.from(
    { length: Math.floor(to_s / axis.step_s + 1e-9) - first + 1 },
    (_, i) => (first + i) * axis.step_s,
  );
  const kinds = curvesOver(lives);
  const lowest = kinds.length - 1;
  const curves = kinds.map((kind) =>
    lives.map(({ life }) => within(curveOf(life, kind, every, cluster.span_s), from_s, to_s)),
  );
  /** Least and most of each axis, and the step of its ticks. */
  const ends = curves.map((of, i): readonly [number, number, number] => {
    const values = of.flat().flatMap(([, y]) => (y === null ? [] : [y]));
    if (i === 0) return [Math.max(0, Math.floor(Math.min(0.8, ...values) * 5) / 5), 1, 0.2];
    const { top, step } = roundTop(Math.max(kinds[i] === "gpu_intensity" ? 1 : 0.05, ...values));
    return [0, top, step];
  });
  const moved = curves.map((of, i) => {
    const [least, most] = ends[i] ?? [0, 1];
    return movedApart(
      of.map((points) => ((most - lastOf(points)) / (most - least)) * GRID.height),
      GRID.height,
    );
  });
  const words = (kind: CurveName, value: number): string =>
    CURVES[kind].share ? percent(value) : figure(value, "");
  return {
    ...option,
    grid: kinds.map((_, i) => ({
      left: 92,
      right: ENDS_PX,
      top: GRID.top + i * (GRID.height + GRID.gap),
      height: GRID.height,
    })),
    xAxis: kinds.map((_, i) => ({
      type: "value" as const,
      gridIndex: i,
      min: from_s,
      max: to_s,
      ...axisStyle(theme, false),
      ...(i === lowest
        ? { name: `time (${axis.unit})`, nameLocation: "middle" as const, nameGap: 26 }
        : {}),
      axisLabel: {
        show: i === lowest,
        color: theme.soft,
        fontSize: 12,
        customValues: ticks,
        formatter: (s: number) => axis.tick(s),
      },
    })),
    yAxis: kinds.map((kind, i) => ({
      type: "value" as const,
      gridIndex: i,
      min: ends[i]?.[0] ?? 0,
      max: ends[i]?.[1] ?? 1,
      interval: ends[i]?.[2] ?? 1,
      name: CURVES[kind].axis,
      nameLocation: "middle" as const,
      nameGap: 62,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        fontSize: 12,
        formatter: (value: number) =>
          CURVES[kind].share ? percentShort(value) : significant(value, 3),
      },
    })),
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: theme.faint, type: "solid" } },
      formatter: (at) => {
        const all = Array.isArray(at) ? at : [at];
        const [first] = all;
        const second = Array.isArray(first?.value) ? Number(first.value[0]) : from_s;
        const lines = lives.map(({ name, policy }) => {
          const told = kinds.map((kind) => {
            const entry = all.find(({ seriesId }) => seriesId === `${kind} ${policy}`);
            const value = Array.isArray(entry?.value) ? entry.value[1] : null;
            const text = typeof value === "number" ? words(kind, value) : "–";
            return `${CURVES[kind].short}<b>${text}</b>`;
          });
          return `${escaped(name)}: ${told.join(", ")}`;
        });
        return [`around ${figure(second, "s")}`, ...lines].join("<br>");
      },
    },
    series: kinds.flatMap((kind, i) =>
      lives.map(({ name, policy }, k) => {
        const line = lineOf(cluster, policy, policy === chosen, theme);
        return {
          type: "line" as const,
          id: `${kind} ${policy}`,
          name,
          xAxisIndex: i,
          yAxisIndex: i,
          data: curves[i]?.[k] ?? [],
          symbol: "none",
          z: policy === chosen ? 4 : 3,
          clip: true,
          lineStyle: line,
          itemStyle: { color: line.color },
          endLabel: endLabel(name, line.color, moved[i]?.[k] ?? 0),
        };
      }),
    ),
  } as ChartOption;
}

/** A curve for each policy: this share of the jobs is slowed down by no more than that. */
export function slowdownOption(
  cluster: Cluster,
  lives: readonly PolicyLife[],
  chosen: number,
  theme: Theme,
): ChartOption {
  const option = base(theme);
  const curves = lives.map((entry) => ({ ...entry, sorted: sortedSlowdowns(entry.life) }));
  const slowest = curves.map(({ sorted }) => Math.max(1, sorted.at(-1) ?? 1));
  const doublings = Math.max(1, Math.ceil(Math.log2(Math.max(...slowest))));
  const height = SLOWDOWN_PX - AROUND.top - AROUND.bottom;
  const moved = movedApart(
    slowest.map((value) => (1 - Math.log2(value) / doublings) * height),
    height,
  );
  return {
    ...option,
    grid: { left: 62, right: ENDS_PX, ...AROUND },
    xAxis: {
      type: "value",
      min: 0,
      max: 1,
      name: "share of the jobs that started",
      nameLocation: "middle",
      nameGap: 28,
      splitNumber: 5,
      ...axisStyle(theme, false),
      axisLabel: { color: theme.soft, fontSize: 12, formatter: percentShort },
    },
    yAxis: {
      type: "log",
      logBase: 2,
      min: 1,
      max: 2 ** doublings,
      name: "slowdown, at most",
      nameLocation: "middle",
      nameGap: 34,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        fontSize: 12,
        formatter: (value: number) => String(Number(value.toPrecision(3))),
      },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: theme.faint, type: "solid" } },
      formatter: (at) => {
        const first = Array.isArray(at) ? at[0] : at;
        const share = Array.isArray(first?.value) ? Number(first.value[0]) : 0;
        const lines = curves.map(({ name, sorted }) => {
          const row = Math.min(
            sorted.length - 1,
            Math.max(0, Math.ceil(share * sorted.length) - 1),
          );
          return `${escaped(name)}: at most <b>${significant(sorted[row] ?? Number.NaN, 4)}</b>`;
        });
        return [`${percent(share)} of the jobs`, ...lines].join("<br>");
      },
    },
    series: curves.map(({ name, policy, sorted }, k) => {
      const line = lineOf(cluster, policy, policy === chosen, theme);
      return {
        type: "line" as const,
        id: name,
        name,
        data: slowdownCurve(sorted).map(([share, value]) => [share, Math.max(1, value)]),
        symbol: "none",
        z: policy === chosen ? 4 : 3,
        step: "end" as const,
        lineStyle: line,
        itemStyle: { color: line.color },
        endLabel: endLabel(name, line.color, moved[k] ?? 0),
      };
    }),
  } as ChartOption;
}
