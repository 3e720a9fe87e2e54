// One slow port among 1,024 ranks can be seen without touching a control: large, in the colour of alarm.
import { describe, expect, it } from "vitest";
import { Strings, type DelayMatrix } from "../../src/api/payload";
import { alarmFrom, fabricOrder } from "../../src/model/matrix";
import {
  blockAround,
  blockSize,
  drawnMatrix,
  overview,
  standingOut,
  type Block,
  type DrawnMatrix,
} from "../../src/model/matrix_block";
import { matrixTop } from "../../src/model/matrix";
import { alarming, sequential, THEMES } from "../../src/ui/colors";
import { matrixFrame, ratioColor, sideOf } from "../../src/views/diagnosis/matrix_draw";
import { matrixOf } from "../diagnosis.mjs";

const WIDTHS = [690, 830];
const NIC = "host-77/nic-3";

/** 1,024 ranks on 128 hosts of 8 NICs, a leaf per rail and 16 hosts. */
function slowPort(options: { pairs: "all" | "ring" | "rails"; noise: number; factor?: number }) {
  const { ends, cells } = matrixOf({ hosts: 128, rails: 8, slow: NIC, factor: 5, ...options });
  const column = (key: "name" | "host" | "leaf" | "segment"): Strings =>
    new Strings(
      ends.map((end) => end[key]),
      Uint32Array.from(ends, (_, i) => i),
    );
  const coded = (strings: Strings): Strings => {
    const dict = [...new Set(strings.dict)];
    return new Strings(
      dict,
      strings.codes.map((code) => dict.indexOf(strings.dict[code] ?? "")),
    );
  };
  const matrix: DelayMatrix = {
    endpoints: {
      rows: ends.length,
      name: column("name"),
      host: coded(column("host")),
      leaf: coded(column("leaf")),
      segment: coded(column("segment")),
    },
    source: Uint32Array.from(cells, ({ source }) => source),
    target: Uint32Array.from(cells, ({ target }) => target),
    ratio: Float32Array.from(cells, ({ ratio }) => ratio),
    samples: new Uint32Array(cells.length).fill(4),
    total: cells.length,
    median_ns_per_byte: 0.04,
  };
  return matrix;
}
const drawn = (matrix: DelayMatrix, width: number): DrawnMatrix =>
  drawnMatrix(matrix, fabricOrder(matrix.endpoints), "auto", "worst", null, "auto", sideOf(width));
const holds = ({ row, column, size }: Block, source: number, target: number): boolean =>
  source >= row && source < row + size && target >= column && target < column + size;

describe("one slow port among 1,024 ranks", () => {
  for (const pairs of ["all", "ring", "rails"] as const)
    for (const noise of [0, 0.05, 0.25])
      it(`stands out in ${pairs} pairs with noise of ${noise}`, () => {
        const matrix = slowPort({ pairs, noise });
        for (const width of WIDTHS) {
          const { picture, block } = drawn(matrix, width);
          const row = picture.names.indexOf(NIC);
          expect(picture.level).toBe("endpoint");
          const px = matrixFrame(width, block.size).side / block.size;
          expect(px).toBeGreaterThanOrEqual(6);
          const top = matrixTop(picture.peak);
          let [own, others] = [0, 0];
          for (let cell = 0; cell < picture.cells; cell++) {
            const [source, target] = [picture.source[cell] ?? 0, picture.target[cell] ?? 0];
            const ratio = picture.value[cell] ?? 0;
            if (!holds(block, source, target)) continue;
            const loud = ratio >= picture.alarm;
            const color = ratioColor(ratio, picture.alarm, top, THEMES.light);
            expect(color === sequentialOf(ratio, picture.alarm, top)).toBe(!loud);
            if (source === row || target === row) own += loud ? 1 : 0;
            else others += loud ? 1 : 0;
          }
          // A cell to it or from it is drawn in the colour of alarm, and hardly any other.
          expect(own).toBeGreaterThanOrEqual(1);
          expect(others).toBeLessThanOrEqual(1);
        }
      });
  it("is named as a whole, and its neighbours in a ring are not", () => {
    for (const pairs of ["all", "ring", "rails"] as const)
      expect(standingOut(drawn(slowPort({ pairs, noise: 0.1 }), 690).picture)).toEqual([NIC]);
    const quiet = drawn(slowPort({ pairs: "rails", noise: 0.1, factor: 1 }), 690).picture;
    expect(standingOut(quiet)).toEqual([]);
  });
  it("is seen on the small picture of the whole as well", () => {
    const { picture } = drawn(slowPort({ pairs: "ring", noise: 0.05 }), 690);
    const small = overview(picture, 144);
    // Its two cells, one to it and one from it, may fall into the same pixel.
    const loud = small.reduce((sum, value) => sum + (value >= picture.alarm ? 1 : 0), 0);
    expect([1, 2]).toContain(loud);
  });
  it("is not made up where none is slow", () => {
    const { picture, block } = drawn(slowPort({ pairs: "rails", noise: 0.25, factor: 1 }), 690);
    const loud = picture.value.filter((value) => value >= picture.alarm).length;
    expect(loud).toBeLessThanOrEqual(1);
    // Nothing to see: as coarse as it takes to be seen whole.
    expect(picture.level).toBe("host");
    expect(block.size).toBeLessThanOrEqual(128);
  });
});

function sequentialOf(ratio: number, alarm: number, top: number): string {
  return ratioColor(Math.min(ratio, alarm * 0.999), alarm, top, THEMES.light);
}

describe("a slow leaf", () => {
  it("is drawn at the level at which it has surroundings", () => {
    const matrix = slowPort({ pairs: "all", noise: 0.05, factor: 1 });
    const { leaf } = matrix.endpoints;
    const bad = leaf.dict[3] ?? "";
    const ratio = matrix.ratio.map((value, i) =>
      [matrix.source[i], matrix.target[i]].some((end) => leaf.at(end ?? 0) === bad)
        ? value * 4
        : value,
    );
    const found = drawn({ ...matrix, ratio }, 690);
    let [loud, all] = [0, 0];
    for (let cell = 0; cell < found.picture.cells; cell++) {
      if (!holds(found.block, found.picture.source[cell] ?? 0, found.picture.target[cell] ?? 0))
        continue;
      all += 1;
      if ((found.picture.value[cell] ?? 0) >= found.picture.alarm) loud += 1;
    }
    expect(loud).toBeGreaterThan(0);
    expect(loud / all).toBeLessThanOrEqual(0.5);
  });
});

describe("blocks", () => {
  it("are whole while cells have 6 pixels, and leave room for names where not", () => {
    expect(blockSize(64, 540)).toBe(64);
    expect(blockSize(90, 540)).toBe(90);
    expect(blockSize(91, 540)).toBe(49);
    expect(blockAround(10, 100, 3, 99)).toEqual({ row: 0, column: 90, size: 10 });
    expect(blockAround(9, 100, 50, 50)).toEqual({ row: 46, column: 46, size: 9 });
  });
  it("take alarm from the spread of the others", () => {
    expect(alarmFrom(Float32Array.of(1, 1, 1, 1, 5))).toBeCloseTo(1.25, 6);
    expect(alarmFrom(new Float32Array(0))).toBe(Number.POSITIVE_INFINITY);
    const wide = Float32Array.from({ length: 101 }, (_, i) => Math.exp((i - 50) / 50));
    expect(alarmFrom(wide)).toBeGreaterThan(5);
  });
  it("have colours of alarm that no scale holds", () => {
    for (const theme of Object.values(THEMES)) {
      const scale = new Set(Array.from({ length: 256 }, (_, i) => sequential(i / 255, theme)));
      for (let i = 0; i <= 10; i++) expect(scale.has(alarming(i / 10, theme))).toBe(false);
    }
  });
});
