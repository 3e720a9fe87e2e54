// Where the time of standstills went, by cause.
import { byCause, PHASES } from "../../model/life";
import type { JobLife } from "../../api/payload";
import type { Theme } from "../../ui/colors";
import { axisStyle, base, type ChartOption } from "../../ui/echarts";
import { escaped, figure } from "../../ui/format";
import { PHASE_WORDS, phaseColor } from "./words";

const HOUR_S = 3_600;
const BAR_PX = 34;
const AROUND_PX = { top: 8, bottom: 46 };

export const causeHeight = (life: JobLife): number =>
  AROUND_PX.top + AROUND_PX.bottom + BAR_PX * Math.max(1, byCause(life).length);

export function causeOption(life: JobLife, theme: Theme): ChartOption {
  const option = base(theme);
  const rows = byCause(life);
  return {
    ...option,
    grid: { left: 104, right: 24, ...AROUND_PX },
    xAxis: {
      type: "value",
      name: "hours",
      nameLocation: "middle",
      nameGap: 28,
      ...axisStyle(theme, true),
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: rows.map(({ cause }) => cause),
      ...axisStyle(theme, false),
      axisLabel: { color: theme.ink, fontSize: 12 },
    },
    tooltip: {
      ...option.tooltip,
      trigger: "item",
      formatter: (at) => {
        const one = Array.isArray(at) ? at[0] : at;
        return `${escaped(one?.name ?? "")}, ${escaped(one?.seriesName ?? "")}: ${figure(Number(one?.value ?? 0) * HOUR_S, "s")}`;
      },
    },
    series: PHASES.map((phase) => ({
      type: "bar" as const,
      name: PHASE_WORDS[phase],
      stack: "time",
      barWidth: 16,
      itemStyle: { color: phaseColor(phase, theme) },
      data: rows.map(({ seconds }) => seconds[phase] / HOUR_S),
    })),
  };
}
