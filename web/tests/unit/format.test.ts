// Numbers as people read them.
import { describe, expect, it } from "vitest";
import { lightness, sequential, THEMES } from "../../src/ui/colors";
import {
  axisLabel,
  bitRate,
  bytes,
  change,
  difference,
  figure,
  label,
  NONE,
  percent,
  significant,
  ticks,
  time,
  timeAxis,
  whole,
} from "../../src/ui/format";
import { csv } from "../../src/ui/save";
import { arranged, type TableColumn } from "../../src/ui/table";

const plain = (text: string): string => text.replace(/[\u00a0\u202f]/g, " ");

describe("format", () => {
  it("writes picoseconds in the unit that fits", () => {
    expect(
      ["0", "1", "1500", "2e6", "3.218e12", "9e13", "7.2e15"].map((ps) => plain(time(Number(ps)))),
    ).toEqual(["0 s", "1.00 ps", "1.50 ns", "2.00 µs", "3.22 s", "1.50 min", "2.00 h"]);
    expect(plain(time(999.96e9))).toBe("1.00 s");
    expect(plain(time(-5e8))).toBe("−500 µs");
    expect(time(Number.NaN)).toBe(NONE);
  });
  it("writes sizes, rates and ratios", () => {
    expect(plain(bytes(61.2e12))).toBe("61.2 TB");
    expect(plain(bitRate(400e9))).toBe("400 Gbit/s");
    expect([0, 0.00001, 0.0042, 0.533, 1].map((ratio) => plain(percent(ratio)))).toEqual([
      "0 %",
      "< 0.01 %",
      "0.42 %",
      "53.3 %",
      "100.0 %",
    ]);
    expect(plain(whole(18432))).toBe("18 432");
    expect(significant(0.0123456)).toBe("0.0123");
  });
  it("writes figures by their unit and differences with their sign", () => {
    expect(plain(figure(3.218e12, "ps"))).toBe("3.218 s");
    expect(plain(figure(977498, "tokens/s"))).toBe("977.5 k tokens/s");
    expect(figure(null, "ps")).toBe(NONE);
    expect(plain(difference(-522e9, "ps"))).toBe("−522.0 ms");
    expect(plain(difference(0.074, "ratio"))).toBe("+7.4 pp");
    expect(plain(change(-0.1396))).toBe("−14.0 %");
    expect(plain(change(4e-5))).toBe("< 0.01 %");
  });
  it("names figures and axes", () => {
    expect(label("step_time_p95")).toBe("Step time p95");
    expect(label("worst_link_utilization")).toBe("Worst link utilization");
    expect(axisLabel("dp_ep")).toBe("DP+EP");
    expect(axisLabel("compute")).toBe("compute");
  });
  it("puts ticks on round numbers inside the range, in one unit", () => {
    expect(ticks(0, 3.2e12, 6).map((t) => timeAxis(3.2e12).tick(t))).toEqual(["0", "1", "2", "3"]);
    expect(timeAxis(9e13).unit).toBe("s");
    expect(ticks(0, 9e13, 4).map((t) => timeAxis(9e13).tick(t))).toEqual(["0", "50"]);
    expect(ticks(1e12, 1.3e12, 6)[0]).toBe(1e12);
    expect(ticks(5, 5, 4)).toEqual([5]);
  });
});

describe("colours", () => {
  it("run evenly in lightness, away from the page", () => {
    for (const theme of [THEMES.light, THEMES.dark]) {
      const steps = Array.from({ length: 11 }, (_, i) => lightness(sequential(i / 10, theme)));
      const sign = theme.name === "light" ? -1 : 1;
      for (let i = 1; i < steps.length; i++) {
        const step = sign * ((steps[i] ?? 0) - (steps[i - 1] ?? 0));
        expect(step).toBeGreaterThan(0.03);
        expect(step).toBeLessThan(0.12);
      }
    }
  });
});

describe("tables", () => {
  const values = [3, 1, Number.NaN, 2];
  const names = ["leaf-10", "leaf-2", "spine-1", "leaf-1"];
  const columns: TableColumn[] = [
    { key: "value", label: "Value", value: (row) => values[row] ?? 0 },
    { key: "name", label: "Name", value: (row) => names[row] ?? "", search: true },
  ];
  it("sort numbers with the unknown last, and names as people count", () => {
    expect([...arranged(4, columns, { key: "value", descending: true }, "")]).toEqual([0, 3, 1, 2]);
    expect([...arranged(4, columns, { key: "name", descending: false }, "")]).toEqual([3, 1, 0, 2]);
  });
  it("filter without regard to case", () => {
    expect([...arranged(4, columns, null, " LEAF ")]).toEqual([0, 1, 3]);
  });
  it("become CSV with quotes where needed", () => {
    expect(
      csv([
        ["a", 'say "b", c'],
        [1, 2],
      ]),
    ).toBe('a,"say ""b"", c"\r\n1,2\r\n');
  });
});
