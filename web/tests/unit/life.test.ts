// The life of a job: what is read, spans of standstills, rows of the picture.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import { byCause, piecesOf, rowLength, spansOf } from "../../src/model/life";
import { moment } from "../../src/views/life/words";
import { lifeReport } from "../life";
import { smallReport } from "../sample.mjs";

const lifeOf = () => {
  const life = decodePayload(lifeReport())?.runs[0]?.life;
  if (!life) throw new Error("no life");
  return life;
};

describe("the life of a job", () => {
  it("is there only where a run has one, and says what is wrong with it", () => {
    expect(decodePayload(smallReport())?.runs[0]?.life).toBeNull();
    const broken = lifeReport();
    const life = broken.runs[0]?.life;
    if (life) life.span_s = 0;
    expect(() => decodePayload(broken)).toThrow("life.span_s is 0; expected more than 0");
    const cut = lifeReport();
    delete cut.runs[0]?.life?.standstills.columns["isolated_s"];
    expect(() => decodePayload(cut)).toThrow("isolated_s is missing");
  });

  it("has phases that follow each other, and none that takes no time", () => {
    const spans = spansOf(lifeOf());
    const of = (row: number) =>
      spans
        .filter(({ standstill }) => standstill === row)
        .map(({ phase, from_s, to_s }) => [phase, to_s - from_s]);
    expect(of(0)).toEqual([
      ["redone", 600],
      ["detection", 30],
      ["diagnosis", 600],
      ["restart", 600],
    ]);
    // Nobody had found it when the life ended.
    expect(of(2)).toEqual([
      ["redone", 4_000],
      ["detection", 4 * 86_400 - 344_000],
    ]);
  });

  it("sums by cause, the most costly first", () => {
    const [first, second] = byCause(lifeOf());
    expect(first?.cause).toBe("unknown");
    expect(first?.seconds.waiting).toBe(2_000);
    expect(second).toEqual({
      cause: "ack-timeout",
      seconds: { redone: 600, detection: 30, diagnosis: 600, waiting: 0, restart: 600 },
    });
  });

  it("is cut into rows without losing time", () => {
    expect(rowLength(30 * 86_400)).toEqual({ row_s: 86_400, name: "day" });
    expect(rowLength(20 * 3_600).name).toBe("hour");
    expect(rowLength(60 * 86_400).name).toBe("week");
    const spans = spansOf(lifeOf());
    for (const row_s of [3_600, 86_400, 7 * 86_400]) {
      const pieces = piecesOf(spans, row_s);
      for (const span of spans) {
        const own = pieces.filter((piece) => piece.span === span);
        const sum = own.reduce((all, { from, to }) => all + (to - from) * row_s, 0);
        expect(sum).toBeCloseTo(span.to_s - span.from_s, 6);
      }
      expect(pieces.every(({ from, to }) => from >= 0 && to <= 1 && from < to)).toBe(true);
    }
    // The second one goes over the end of the first day.
    const rows = piecesOf(spans, 86_400).filter(({ span }) => span.standstill === 1);
    expect(new Set(rows.map(({ row }) => row))).toEqual(new Set([0, 1]));
  });

  it("tells moments by day and hour", () => {
    expect(moment(0)).toBe("day 1, 00:00");
    expect(moment(86_400 + 3_600 * 13 + 60 * 5 + 59)).toBe("day 2, 13:05");
  });
});
