// What stands at ticks of time: words that would lie on each other are joined.
import { expect, test } from "vitest";
import { tickWords } from "../../src/views/throughput/charts";

test("ticks that stand close have their words together, each once", () => {
  const tick = (at_ps: number, label: string) => ({ at_ps, label });
  const ticks = [
    tick(100, "stalled"),
    tick(30, "fault"),
    tick(101, "resumed"),
    tick(105, "stalled"),
    tick(140, "repair"),
  ];
  expect(tickWords(ticks, 10)).toEqual(["stalled, resumed", "fault", "", "", "repair"]);
  expect(tickWords([], 10)).toEqual([]);
});
