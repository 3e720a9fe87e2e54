// Throughput over load with its knee, and where messages spend their time, load by load.
import type { Intranode, MessageClass } from "../../api/payload";
import { rowOf, type Above, type Line, type PanelOf } from "../../model/intranode";
import { alternativeColor, type Theme } from "../../ui/colors";
import { axisStyle, base, type ChartOption } from "../../ui/echarts";
import { bitRate, escaped, figure, percent, percentShort, significant } from "../../ui/format";

const GRID = { top: 14, height: 132, gap: 26, bottom: 46 };
export const RATE_PX = GRID.top + 2 * GRID.height + GRID.gap + GRID.bottom;
export const PARTS_PX = 260;
const LEFT_PX = 88;
/** Half of the last tick's words. */
const RIGHT_PX = 28;

/** Nobody is what the others are measured by. */
const NO_BASE = Number.POSITIVE_INFINITY;

/** A line has its colour by what it stands for, the same in all panels. */
export const lineColor = (line: Pick<Line, "value">, theme: Theme): string =>
  alternativeColor(line.value, NO_BASE, theme);
export const partColor = (part: number, theme: Theme): string =>
  alternativeColor(part, NO_BASE, theme);

const WORDS = { inside: "inside hosts", all: "inside and between", between: "between hosts" };
const rateAt = (told: Intranode, rate: keyof typeof WORDS, row: number): number => {
  const inside = told.points.intra_rate[row] ?? Number.NaN;
  const between = told.points.inter_rate[row] ?? Number.NaN;
  return { inside, between, all: inside + between }[rate];
};

/** Two grids over one axis of loads: above what GPUs receive from their host, or from everywhere, below what they do from
 * other hosts. A diamond is the first load at which a line falls short of what is offered. */
export function rateOption(
  told: Intranode,
  panel: PanelOf,
  above: Above,
  theme: Theme,
): ChartOption {
  const rates = [above, "between"] as const;
  // Where nobody receives anything an axis has its zero alone.
  const isUsed = rates.map((rate) =>
    panel.lines.some((line) =>
      told.loads.some((_, at) => rateAt(told, rate, rowOf(told, line.choice, at)) > 0),
    ),
  );
  const option = base(theme);
  const last = told.loads.at(-1) ?? 1;
  return {
    ...option,
    grid: rates.map((_, i) => ({
      left: LEFT_PX,
      right: RIGHT_PX,
      top: GRID.top + i * (GRID.height + GRID.gap),
      height: GRID.height,
    })),
    xAxis: rates.map((_, i) => ({
      type: "value" as const,
      gridIndex: i,
      min: 0,
      max: last,
      ...axisStyle(theme, false),
      ...(i === 1
        ? { name: "load", nameLocation: "middle" as const, nameGap: 26, splitNumber: 5 }
        : {}),
      axisLabel: { show: i === 1, color: theme.soft, fontSize: 12, formatter: percentShort },
    })),
    yAxis: rates.map((rate, i) => ({
      type: "value" as const,
      gridIndex: i,
      min: 0,
      ...(isUsed[i] ? {} : { max: 1 }),
      splitNumber: 4,
      name: WORDS[rate],
      nameLocation: "middle" as const,
      nameGap: 72,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        fontSize: 12,
        formatter: (value: number) => (value === 0 ? "0" : isUsed[i] ? bitRate(value) : ""),
      },
    })),
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: theme.faint, type: "solid" } },
      formatter: (at) => {
        const first = Array.isArray(at) ? at[0] : at;
        const load = Array.isArray(first?.value) ? Number(first.value[0]) : Number.NaN;
        const place = told.loads.indexOf(load);
        const lines = panel.lines.map(({ choice, name }) => {
          const row = rowOf(told, choice, place);
          const [intra, inter] = (["inside", "between"] as const).map((rate) =>
            bitRate(rateAt(told, rate, row)),
          );
          const carried = percent(told.points.carried_share[row] ?? Number.NaN);
          return `${escaped(name)}: <b>${intra}</b> inside, <b>${inter}</b> between hosts, ${carried} of the offer`;
        });
        return [`${percentShort(load)} of the load`, ...lines].join("<br>");
      },
    },
    series: rates.flatMap((rate, i) =>
      panel.lines.flatMap((line) => {
        const color = lineColor(line, theme);
        const points = told.loads.flatMap((load, at) => {
          const value = rateAt(told, rate, rowOf(told, line.choice, at));
          return Number.isFinite(value) ? [[load, value] as const] : [];
        });
        const knee = told.saturated[line.choice] ?? null;
        return [
          {
            type: "line" as const,
            id: `${rate} ${line.choice}`,
            name: line.name,
            xAxisIndex: i,
            yAxisIndex: i,
            data: points.map(([load, value]) => [load, value]),
            symbol: "circle",
            symbolSize: 4,
            lineStyle: { color, width: 1.8 },
            itemStyle: { color },
          },
          {
            type: "scatter" as const,
            id: `knee ${rate} ${line.choice}`,
            xAxisIndex: i,
            yAxisIndex: i,
            data: points.filter(([load]) => load === knee).map(([load, value]) => [load, value]),
            symbol: "diamond",
            symbolSize: 13,
            itemStyle: { color, borderColor: theme.ink, borderWidth: 1.5 },
            z: 5,
            silent: true,
          },
        ];
      }),
    ),
  } as ChartOption;
}

/** Bars over loads, one for each line, each stacked of the parts of a message's latency. */
export function partsOption(
  told: Intranode,
  panel: PanelOf,
  messages: MessageClass,
  theme: Theme,
): ChartOption {
  const option = base(theme);
  const lines = panel.lines.filter(({ choice }) =>
    told.loads.some((_, at) =>
      Number.isFinite(told.points.latency[messages][rowOf(told, choice, at)]),
    ),
  );
  const parts = told.parts.map((name, part) => ({
    name,
    part,
    of: told.points.parts[messages][part],
  }));
  return {
    ...option,
    grid: { left: LEFT_PX, right: RIGHT_PX, top: GRID.top, bottom: GRID.bottom },
    xAxis: {
      type: "category",
      data: told.loads.map(percentShort),
      name: "load",
      nameLocation: "middle",
      nameGap: 26,
      ...axisStyle(theme, false),
      axisLabel: { color: theme.soft, fontSize: 12 },
    },
    yAxis: {
      type: "value",
      min: 0,
      splitNumber: 4,
      name: "mean latency",
      nameLocation: "middle",
      nameGap: 72,
      ...axisStyle(theme, true),
      axisLabel: {
        color: theme.soft,
        fontSize: 12,
        formatter: (value: number) => (value === 0 ? "0" : `${significant(value * 1e6, 3)} µs`),
      },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "item",
      formatter: (at) => {
        const one = Array.isArray(at) ? at[0] : at;
        const [choice = "0"] = String(one?.seriesId ?? "").split(" ");
        const row = rowOf(told, Number(choice), one?.dataIndex ?? 0);
        const whole = told.points.latency[messages][row] ?? Number.NaN;
        const shares = parts
          .map(({ name, of }) => ({ name, value: of?.[row] ?? 0 }))
          .filter(({ value }) => value > 0)
          .map(
            ({ name, value }) =>
              `${escaped(name)}: ${figure(value, "s")}, ${percent(value / whole)}`,
          );
        const line = lines.find((entry) => String(entry.choice) === choice);
        const load = percentShort(told.loads[one?.dataIndex ?? 0] ?? 0);
        return [
          `${escaped(line?.name ?? "")} at ${load}: <b>${figure(whole, "s")}</b>`,
          ...shares,
        ].join("<br>");
      },
    },
    series: lines.flatMap(({ choice }) =>
      parts.map(({ name, part, of }) => ({
        type: "bar" as const,
        id: `${choice} ${part}`,
        name,
        stack: String(choice),
        barCategoryGap: "18%",
        barGap: "12%",
        data: told.loads.map((_, at) => {
          const value = of?.[rowOf(told, choice, at)] ?? Number.NaN;
          return Number.isFinite(value) ? value : null;
        }),
        itemStyle: { color: partColor(part, theme) },
      })),
    ),
  } as ChartOption;
}
