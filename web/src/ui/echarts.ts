// The parts of ECharts that the page uses; SVG only, so that what is saved is what is seen.
import { BarChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  GridComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use, type ComposeOption, type ECharts } from "echarts/core";
import type { BarSeriesOption, LineSeriesOption, ScatterSeriesOption } from "echarts/charts";
import type {
  GridComponentOption,
  MarkAreaComponentOption,
  MarkLineComponentOption,
  TooltipComponentOption,
} from "echarts/components";
import { SVGRenderer } from "echarts/renderers";
import type { Theme } from "./colors";
import { FONT } from "./pen";

use([
  AriaComponent,
  BarChart,
  GridComponent,
  LineChart,
  MarkAreaComponent,
  MarkLineComponent,
  ScatterChart,
  SVGRenderer,
  TooltipComponent,
]);

export type ChartOption = ComposeOption<
  | BarSeriesOption
  | LineSeriesOption
  | ScatterSeriesOption
  | GridComponentOption
  | MarkAreaComponentOption
  | MarkLineComponentOption
  | TooltipComponentOption
>;
export type Chart = ECharts;
export { init };

/** Text of charts in the page's face and size. */
export function base(theme: Theme): ChartOption {
  return {
    animation: false,
    backgroundColor: theme.page,
    textStyle: { fontFamily: FONT, fontSize: 12, color: theme.soft },
    tooltip: {
      backgroundColor: theme.panel,
      borderColor: theme.rule,
      borderWidth: 1,
      padding: [6, 10],
      textStyle: { color: theme.ink, fontSize: 12, fontFamily: FONT },
      extraCssText: "box-shadow: 0 2px 10px rgb(0 0 0 / 0.12); font-variant-numeric: tabular-nums;",
      transitionDuration: 0,
      confine: true,
    },
  };
}

/** An axis with few, thin lines. */
export function axisStyle(theme: Theme, grid: boolean) {
  return {
    axisLine: { lineStyle: { color: theme.rule } },
    axisTick: { show: false },
    axisLabel: { color: theme.soft, fontSize: 12 },
    nameTextStyle: { color: theme.faint, fontSize: 12 },
    splitLine: { show: grid, lineStyle: { color: theme.rule, width: 1 } },
  };
}
