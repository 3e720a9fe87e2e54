// Max-mean ratios as a chart of dots with ranges: a row per tier, direction and measure.
import type { Run, TierBalance } from "../../api/payload";
import { runColor, type Theme } from "../../ui/colors";
import { axisStyle, base, type ChartOption } from "../../ui/echarts";
import { escaped, significant } from "../../ui/format";

export interface Entry {
  run: number;
  balance: TierBalance;
}
export interface EvennessRow {
  place: string;
  by: string;
  entries: Entry[];
}
const ROW_PX = 30;
const RUN_PX = 10;

/** "leaf_up" -> "leaf up". */
export const placeWords = (place: string): string => place.replaceAll("_", " ");

export function evennessRows(runs: readonly Run[]): EvennessRow[] {
  const rows: EvennessRow[] = [];
  runs.forEach((run, i) =>
    run.balance.forEach((balance) => {
      const { place, by } = balance;
      let row = rows.find((one) => one.place === place && one.by === by);
      if (!row) rows.push((row = { place, by, entries: [] }));
      row.entries.push({ run: i, balance });
    }),
  );
  return rows;
}

export const evennessHeight = (rows: number, runs: number): number =>
  rows * (ROW_PX + (runs - 1) * RUN_PX) + 48;

export function evennessOption(
  rows: readonly EvennessRow[],
  runs: readonly Run[],
  theme: Theme,
): ChartOption {
  const option = base(theme);
  const all = rows.flatMap(({ entries }) => entries.map(({ balance }) => balance));
  const most = Math.max(1.1, ...all.map(({ high, mean }) => Math.max(high, mean)));
  const shift = (run: number): number => (runs.length > 1 ? (run - 0.5) * 0.36 : 0);
  return {
    ...option,
    grid: { left: 120, right: 52, top: 4, bottom: 42 },
    xAxis: {
      type: "value",
      min: 1,
      max: Number((most * 1.02).toPrecision(2)),
      name: "most loaded over mean",
      nameLocation: "middle",
      nameGap: 26,
      splitNumber: 4,
      ...axisStyle(theme, true),
      axisLine: { show: false },
      axisLabel: {
        color: theme.soft,
        fontSize: 11,
        showMaxLabel: false,
        formatter: (value: number) => String(Number(value.toPrecision(3))),
      },
    },
    yAxis: {
      type: "value",
      min: -0.5,
      max: rows.length - 0.5,
      inverse: true,
      interval: 1,
      ...axisStyle(theme, false),
      axisLine: { show: false },
      axisLabel: { show: false },
      splitLine: { show: false },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "item",
      formatter: (at) => {
        const values = (Array.isArray(at) ? at[0] : at)?.value;
        const entry = Array.isArray(values)
          ? rows[Number(values[2])]?.entries[Number(values[3])]
          : undefined;
        if (!entry) return "";
        const { place, by, mean, low, high, max, worst } = entry.balance;
        const run = runs.length > 1 ? `, ${runs[entry.run]?.name ?? ""}` : "";
        return (
          `<b>${escaped(`${placeWords(place)}, by ${by}`)}</b>${escaped(run)}<br>` +
          `mean ${significant(mean)}, p5–p95 ${significant(low)} – ${significant(high)}<br>` +
          `worst ${significant(max)}, ${escaped(worst)}`
        );
      },
    },
    series: [
      {
        type: "scatter" as const,
        name: "names",
        silent: true,
        symbolSize: 0.01,
        data: rows.map((_, i) => [1, i]),
        label: {
          show: true,
          position: "left" as const,
          distance: 10,
          color: theme.ink,
          fontSize: 12,
          formatter: ({ dataIndex }: { dataIndex: number }) => {
            const row = rows[dataIndex];
            return row ? `${placeWords(row.place)}, ${row.by}` : "";
          },
        },
      },
      ...runs.map((_, run) => {
        const color = runColor(run, theme, runs.length);
        const mine = rows.flatMap(({ entries }, i) =>
          entries.flatMap((entry, k) => (entry.run === run ? [{ entry, i, k }] : [])),
        );
        return {
          type: "scatter" as const,
          symbolSize: 9,
          itemStyle: { color },
          data: mine.map(({ entry, i, k }) => [entry.balance.mean, i + shift(run), i, k]),
          label: {
            show: true,
            position: "top" as const,
            distance: 3,
            color: theme.soft,
            fontSize: 11,
            formatter: (at: { value?: unknown }) =>
              Array.isArray(at.value) ? significant(Number(at.value[0])) : "",
          },
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: { color, width: 2, type: "solid" as const, opacity: 0.55 },
            label: { show: false },
            data: mine.map(({ entry, i }) => [
              { coord: [entry.balance.low, i + shift(run)] },
              { coord: [entry.balance.high, i + shift(run)] },
            ]),
          },
        };
      }),
    ],
  } as ChartOption;
}
