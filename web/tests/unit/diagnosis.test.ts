// Findings, matrix, ring and lanes as numbers and words; and that a damaged diagnosis is named with its place.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import { NOT_APPLICABLE, Strings, type Diagnosis, type Run } from "../../src/api/payload";
import { extentOf, laneSums, laneSpans, ringOf, successorOf } from "../../src/model/chain";
import { buildFabric } from "../../src/model/fabric";
import {
  findingTicks,
  leadOf,
  shortOf,
  sortedFindings,
  suspectPlaces,
  truthRows,
} from "../../src/model/findings";
import {
  bandsOf,
  cellIndex,
  drawnLevel,
  fabricOrder,
  levelsOf,
  matrixPicture,
  matrixTop,
  partOf,
  slowestCells,
  type DrawnLevel,
} from "../../src/model/matrix";
import { chainWords } from "../../src/views/diagnosis/chain_words";
import { cellUnder, matrixFrame } from "../../src/views/diagnosis/matrix_draw";
import {
  countOf,
  evidenceFigure,
  findingLines,
  lookedAt,
  seconds,
  sentenceOf,
} from "../../src/views/diagnosis/words";
import {
  diagnosisComparison,
  diagnosisOf,
  diagnosisReport,
  largeDiagnosisReport,
  quietReport,
} from "../diagnosis.mjs";
import { numbers, smallReport, strings } from "../sample.mjs";

function first(value: unknown): { run: Run; diagnosis: Diagnosis } {
  const run = decodePayload(value)?.runs[0];
  if (!run?.diagnosis) throw new Error("no diagnosis");
  return { run, diagnosis: run.diagnosis };
}
function there<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("nothing there");
  return value;
}
const plain = (text: string): string => text.replace(/[\u00a0\u202f]/g, " ");

const { run, diagnosis } = first(diagnosisReport());
const { findings } = diagnosis;
const matrix = there(diagnosis.matrix);
const chain = there(diagnosis.chain);
const ranks = there(diagnosis.ranks);

describe("findings", () => {
  it("are ordered worst first by each measure, those without a suspect last by suspects", () => {
    expect(sortedFindings(findings, "severity")).toEqual([1, 0, 2, 3]);
    expect(sortedFindings(findings, "confidence")).toEqual([1, 0, 2, 3]);
    expect(sortedFindings(findings, "since")).toEqual([1, 0, 2, 3]);
    expect(sortedFindings(findings, "suspects")).toEqual([0, 2, 1, 3]);
  });
  it("are sentences: what, who, since when, how bad, how sure", () => {
    expect(plain(sentenceOf(there(findings[1])))).toBe(
      "Messages are slow: leaf-0-1-r2p0 (78 %), leaf-0-1-r2p0:uplink-3 (13 %) or host-0-1-3/nic-2 (5 %). " +
        "Began between 12.4 s and 13.2 s; it costs 25 % of the job's time since (11.75 s); confidence 96 %.",
    );
    expect(plain(sentenceOf(there(findings[3])))).toBe(
      "Probes take longer than their baseline: not enough evidence to name a suspect. Since 40.5 s; severity 3 %.",
    );
    const one = there(findings[0]);
    const alone = { ...one, suspects: one.suspects.slice(0, 1) };
    expect(sentenceOf(alone)).toMatch(/^A rank comes late to its operations: host-0-0-5\/gpu-1\. /);
    const many = { ...one, suspects: Array.from({ length: 9 }, () => there(one.suspects[0])) };
    expect(plain(sentenceOf(many))).toContain("host-0-0-5/gpu-1 (61 %) or 6 more. ");
    expect(sentenceOf({ ...one, syndrome: "communication-hang", severity: 1 })).toContain(
      "it stands still",
    );
    expect(leadOf({ ...one, syndrome: "new-kind" })).toBe("New kind");
    expect(shortOf(there(findings[1]))).toBe("Messages are slow: leaf-0-1-r2p0 or 2 more");
    expect(plain(countOf(diagnosis))).toBe(
      "4 findings, 1 of them without a suspect, in 1 204 331 operations and 482 944 messages over 60 s",
    );
    expect(plain(lookedAt(first(quietReport()).diagnosis))).toBe("88 120 operations over 1.00 h");
    expect([0, 0.0131, 1, 12.34567, 119, 120].map((s) => plain(seconds(s)))).toEqual([
      "0 s",
      "13.1 ms",
      "1 s",
      "12.35 s",
      "119 s",
      "2.00 min",
    ]);
  });
  it("show evidence in its unit, without zeros that say nothing", () => {
    expect(plain(evidenceFigure(0.092, "ns/B"))).toBe("0.092 ns/B");
    expect(plain(evidenceFigure(40, "ms"))).toBe("40 ms");
    expect(plain(evidenceFigure(1200, "us"))).toBe("1.2 ms");
    expect(plain(evidenceFigure(0.5, "ratio"))).toBe("50 %");
    expect(evidenceFigure(null, "ms")).toBe("–");
    expect(evidenceFigure(300, "count")).toBe("300");
  });
  it("are lines of CSV in the order that is shown", () => {
    const lines = findingLines(findings, [3, 1]);
    expect(lines.length).toBe(3);
    expect(lines[1]?.[3]).toBe("latency");
    expect(lines[2]).toEqual([
      14.1,
      12.4,
      13.2,
      "communication-slow",
      "slow; lossy",
      "switch leaf-0-1-r2p0; cable leaf-0-1-r2p0:uplink-3; nic host-0-1-3/nic-2",
      "0.78; 0.13; 0.05",
      0.96,
      0.38,
      11.75,
      0.25,
      "Would tell them apart: probes through each uplink of the leaf, one at a time.",
      "probe leaf-0-1-r2p0; drain leaf-0-1-r2p0",
    ]);
    expect(new Set(lines.map((line) => line.length)).size).toBe(1);
  });
  it("are ticks of the page's time, where telemetry has a place on it", () => {
    const ticks = findingTicks(diagnosis, run.duration_ps);
    expect(ticks.map(({ at_ps }) => at_ps)).toEqual([21.4e12, 14.1e12, 30.2e12, 44e12]);
    expect(findingTicks({ ...diagnosis, start_ps: 2e13 }, run.duration_ps).length).toBe(3);
    expect(findingTicks({ ...diagnosis, start_ps: null }, run.duration_ps)).toEqual([]);
    expect(findingTicks(null, run.duration_ps)).toEqual([]);
  });
  it("stand beside the truth: found after how long, as which suspect, or not", () => {
    const rows = truthRows(there(diagnosis.truths), findings);
    expect(rows.map(({ finding, place }) => [finding, place])).toEqual([
      [1, 1],
      [0, 1],
      [null, 0],
    ]);
    expect(rows[0]?.after_s).toBeCloseTo(2.1, 9);
    // A finding from before the fault cannot be about it.
    const later = there(diagnosis.truths).map((truth) => ({ ...truth, from_s: 22 }));
    expect(truthRows(later, findings).every(({ finding }) => finding === null)).toBe(true);
  });
  it("have places on the map: switches, hosts by all ports, a NIC by its port in its leaf", () => {
    const fabric = buildFabric(run);
    const row = (name: string): number => there(fabric.rowByName.get(name));
    const slow = there(suspectPlaces(fabric, there(findings[1])));
    expect([...slow.devices.keys()]).toEqual([
      row("leaf-0-1-r2p0"),
      row("spine-0-0-3"),
      row("host-0-1-3"),
    ]);
    expect(slow.devices.get(row("leaf-0-1-r2p0"))).toEqual([
      "suspect switch leaf-0-1-r2p0",
      "suspect cable leaf-0-1-r2p0:uplink-3",
    ]);
    expect(slow.ports).toEqual([[row("host-0-1-3"), row("leaf-0-1-r2p0")]]);
    const late = there(suspectPlaces(fabric, there(findings[0])));
    expect([...late.devices.keys()]).toEqual([row("host-0-0-5")]);
    expect(new Set(late.ports.map(([, leaf]) => leaf)).size).toBe(4);
    expect(suspectPlaces(fabric, there(findings[3]))).toBeNull();
    const unknown = {
      ...there(findings[1]),
      suspects: [{ kind: "switch", name: "gone", share: 1 }],
    };
    expect(suspectPlaces(fabric, unknown)).toBeNull();
  });
});

describe("the delay matrix", () => {
  const order = fabricOrder(matrix.endpoints);
  const picture = (level: DrawnLevel, value: "median" | "worst" = "median") =>
    matrixPicture(matrix, order, level, value);
  const nics = picture("endpoint");

  it("is ordered by segment, leaf, host, so that a bad leaf is one block", () => {
    expect(nics.names.length).toBe(64);
    expect(nics.names.slice(0, 3)).toEqual([
      "host-0-0-0/nic-0",
      "host-0-0-1/nic-0",
      "host-0-0-2/nic-0",
    ]);
    expect(nics.leaves.map(({ name }) => name)).toEqual(
      [0, 1].flatMap((segment) => [0, 1, 2, 3].map((rail) => `leaf-0-${segment}-r${rail}p0`)),
    );
    expect(nics.leaves.every(({ count }) => count === 8)).toBe(true);
    expect(nics.segments.map(({ count }) => count)).toEqual([32, 32]);
    const bad = there(nics.leaves.find(({ name }) => name === "leaf-0-1-r2p0"));
    const inside = (place: number): boolean => place >= bad.first && place < bad.first + bad.count;
    for (let cell = 0; cell < nics.cells; cell++) {
      const slow = inside(nics.source[cell] ?? 0) || inside(nics.target[cell] ?? 0);
      expect((nics.value[cell] ?? 0) > 1.5).toBe(slow);
    }
    for (const [row, median] of nics.rowMedian.entries())
      expect(median > 1.5, String(row)).toBe(inside(row));
    for (const [column, median] of nics.columnMedian.entries())
      expect(median > 1.5, String(column)).toBe(inside(column));
  });
  it("counts numbers in names as numbers", () => {
    const leaf = new Strings(["leaf-10", "leaf-2", "leaf-1"], Uint32Array.of(0, 1, 2));
    const one = new Strings(["x"], new Uint32Array(3));
    expect([...fabricOrder({ rows: 3, name: one, host: one, leaf, segment: one })]).toEqual([
      2, 1, 0,
    ]);
  });
  it("joins pairs by host, leaf and segment, as median or worst", () => {
    expect(levelsOf(matrix.endpoints)).toEqual([
      { level: "endpoint", rows: 64 },
      { level: "host", rows: 16 },
      { level: "leaf", rows: 8 },
      { level: "segment", rows: 2 },
    ]);
    const leaves = picture("leaf");
    expect(leaves.names[6]).toBe("leaf-0-1-r2p0");
    expect(leaves.pairs.reduce((sum, pairs) => sum + pairs, 0)).toBe(matrix.ratio.length);
    expect(leaves.samples.reduce((sum, count) => sum + count, 0)).toBe(
      matrix.samples.reduce((sum, count) => sum + count, 0),
    );
    const cell = cellIndex(leaves, 0, 6);
    const members = Array.from(matrix.ratio).filter((_, i) => {
      const leaf = (end: number | undefined): string => matrix.endpoints.leaf.at(end ?? 0);
      return (
        leaf(matrix.source[i]) === "leaf-0-0-r0p0" && leaf(matrix.target[i]) === "leaf-0-1-r2p0"
      );
    });
    members.sort((a, b) => a - b);
    const half = members.length / 2;
    const median =
      members.length % 2 === 1
        ? there(members[Math.floor(half)])
        : (there(members[half - 1]) + there(members[half])) / 2;
    expect(leaves.pairs[cell]).toBe(members.length);
    expect(leaves.value[cell]).toBeCloseTo(median, 6);
    expect(picture("leaf", "worst").value[cell]).toBe(members.at(-1));
    expect(leaves.worst[cell]).toBe(members.at(-1));
    expect(picture("segment").leaves).toEqual([]);
  });
  it("takes the finest level that can be seen, or the wanted one where there is one", () => {
    expect(drawnLevel(matrix.endpoints, "auto")).toBe("endpoint");
    expect(drawnLevel(matrix.endpoints, "leaf")).toBe("leaf");
    const large = there(first(largeDiagnosisReport()).diagnosis.matrix);
    expect(drawnLevel(large.endpoints, "auto")).toBe("leaf");
    expect(drawnLevel(large.endpoints, "endpoint")).toBe("endpoint");
    const hosts = {
      ...matrix.endpoints,
      leaf: matrix.endpoints.name,
      segment: matrix.endpoints.name,
    };
    expect(levelsOf(hosts).map(({ level }) => level)).toEqual(["endpoint", "host"]);
  });
  it("finds cells, and knows those that were not measured", () => {
    for (const cell of [0, 17, nics.cells - 1])
      expect(cellIndex(nics, nics.source[cell] ?? 0, nics.target[cell] ?? 0)).toBe(cell);
    expect(cellIndex(nics, 5, 5)).toBe(-1);
    const slow = slowestCells(nics, 10);
    expect(slow.length).toBe(10);
    expect(nics.value[slow[0] ?? 0]).toBe(nics.peak);
    const frame = matrixFrame(800, 64);
    expect(frame.side % 64).toBe(0);
    const px = frame.side / 64;
    const all = { row: 0, column: 0, size: 64 };
    expect(cellUnder(all, frame, frame.left + 3.5 * px, frame.head + 60.5 * px)).toEqual({
      row: 60,
      column: 3,
    });
    expect(cellUnder(all, frame, frame.left - 1, frame.head + 5)).toBeNull();
  });
  it("colours by the logarithm of the ratio up to a round factor", () => {
    expect([1, 1.5, 2.6, 7, 2000].map(matrixTop)).toEqual([1.5, 1.5, 3, 10, 2000]);
    expect(partOf(0.5, 4)).toBe(0);
    expect(partOf(2, 4)).toBeCloseTo(0.5, 9);
    expect(partOf(9, 4)).toBe(1);
  });
  it("frames suspects: rows and columns of what they stand for, cells of a connection", () => {
    const bands = bandsOf(nics, matrix.endpoints, there(findings[1]));
    expect(bands.slice(0, 2)).toEqual([
      { suspect: 0, firm: true, row: 48, rows: 8, column: 0, columns: 64 },
      { suspect: 0, firm: true, row: 0, rows: 64, column: 48, columns: 8 },
    ]);
    // The uplink has the rows of its leaf, which are framed already; the NIC has one of them.
    expect(bands.slice(2).map(({ suspect, rows, row }) => [suspect, rows, row])).toEqual([
      [2, 1, 51],
      [2, 64, 0],
    ]);
    const pairs = bandsOf(nics, matrix.endpoints, there(findings[2]));
    expect(pairs.map(({ row, rows, column, columns }) => [row, rows, column, columns])).toEqual([
      [1, 1, 38, 1],
      [4, 1, 34, 1],
    ]);
    const host = bandsOf(nics, matrix.endpoints, there(findings[0]));
    expect(host.length).toBe(8);
    expect(host.every(({ firm }) => !firm)).toBe(true);
    expect(bandsOf(nics, matrix.endpoints, there(findings[3]))).toEqual([]);
    expect(bandsOf(nics, matrix.endpoints, null)).toEqual([]);
  });
});

describe("the wait chain", () => {
  it("is a ring whose ranks wait in turns behind the culprit", () => {
    const arcs = ringOf(chain);
    expect(arcs.length).toBe(16);
    expect(arcs.at(-1)?.to).toBeLessThanOrEqual(2 * Math.PI);
    expect(arcs[0]?.before).toBe(15);
    expect(chain.culprit).toBe(5);
    expect(arcs[5]?.turn).toBe(0);
    expect(arcs[6]?.turn).toBe(1);
    expect(arcs[4]?.turn).toBe(15);
    expect(Math.max(...arcs.map(({ part }) => part))).toBe(1);
    expect(successorOf(chain, 5)).toBe(6);
    expect(successorOf(chain, 15)).toBe(0);
  });
  it("is open where not all ranks are listed, and stands with one rank or without waits", () => {
    const open = { ...chain, total: 400 };
    const arcs = ringOf(open);
    expect(arcs[0]?.before).toBeNull();
    expect(successorOf(open, 15)).toBeNull();
    expect(arcs.at(-1)?.to).toBeLessThan(2 * Math.PI * (16 / 17));
    const still = {
      ...chain,
      wait_ms: new Float64Array(16),
      first_wait_stage: new Uint32Array(16).fill(NOT_APPLICABLE),
    };
    expect(ringOf(still).every(({ part, turn }) => part === 0 && turn === 0)).toBe(true);
    const one = { ...chain, rows: 1, total: 1 };
    expect(ringOf(one)[0]?.before).toBeNull();
  });
});

describe("the words of the wait chain", () => {
  const hang = {
    ...there(findings[0]),
    syndrome: "non-communication-hang",
    suspects: [{ kind: "rank", name: "train/6", share: 1, devices: ["host-0-0-6"] }],
  };
  const said = (change: Partial<typeof chain>, found = [hang]): string =>
    chainWords({ ...chain, ...change }, found);
  it("name whom the finding names, whatever the waits show", () => {
    const named = said({ finding: 0, culprit: 6, least: null });
    expect(named).toMatch(/^Rank 25 on host-0-0-6 is where the finding points \(.*train\/6\)\./);
    expect(named).toMatch(/waits of this ring alone would not show it/);
    expect(said({ finding: 0, culprit: 5, least: 5 })).toMatch(/It waits least.*wait for it\.$/);
    expect(said({ finding: 0, culprit: 6, least: 5 })).toMatch(/alone it would be rank 21/);
    expect(said({ finding: 0, culprit: null, least: 5 })).toMatch(
      /train\/6\. Nobody of this ring stands there\.$/,
    );
  });
  it("ask for what would tell where there is no finding", () => {
    expect(said({ finding: null, culprit: null, least: null }, [])).toMatch(
      /^Not enough evidence .* What would tell: /,
    );
    expect(said({ finding: null, culprit: 5, least: 5 }, [])).toMatch(
      /No finding names it: this alone is not enough evidence\. What would tell: /,
    );
  });
  it("never say that nobody is to blame", () => {
    for (const finding of [0, null])
      for (const culprit of [null, 5])
        expect(said({ finding, culprit, least: culprit })).not.toMatch(/no culprit|nobody is/i);
  });
});

describe("lanes of ranks", () => {
  it("sum up what each rank did", () => {
    const sums = laneSums(ranks);
    expect(sums.length).toBe(5);
    // The culprit computes longer and waits less than its neighbour; all communicate for the same time.
    expect(there(sums[1])[0]).toBeGreaterThan(there(sums[0])[0] ?? 0);
    expect(there(sums[1])[2]).toBeLessThan(there(sums[0])[2] ?? 0);
    expect(there(sums[1])[1]).toBeCloseTo(there(sums[0])[1] ?? 0, 0);
    for (const spans of laneSpans(ranks))
      for (let i = 1; i < spans.length; i++)
        expect(ranks.start_ms[spans[i] ?? 0]).toBeGreaterThanOrEqual(
          ranks.start_ms[spans[i - 1] ?? 0] ?? 0,
        );
    expect(extentOf(ranks)).toEqual([0, 495]);
    expect(extentOf({ ...ranks, spans: 0 })).toEqual([0, 1]);
  });
});

describe("a payload", () => {
  it("may have no diagnosis, and a diagnosis no parts", () => {
    expect(decodePayload(smallReport())?.runs[0]?.diagnosis).toBeNull();
    const quiet = first(quietReport()).diagnosis;
    expect([quiet.truths, quiet.matrix, quiet.chain, quiet.ranks, quiet.start_ps]).toEqual([
      null,
      null,
      null,
      null,
      null,
    ]);
    expect(quiet.settings).toEqual([]);
    expect(
      decodePayload(diagnosisComparison())?.runs.map((r) => r.diagnosis?.findings.length),
    ).toEqual([0, 4]);
  });
  function broken(change: (of: ReturnType<typeof diagnosisOf>) => void): () => unknown {
    const payload = structuredClone(diagnosisReport());
    change(diagnosisOf(payload));
    return () => decodePayload(payload);
  }
  it("that is damaged is refused with the place", () => {
    expect(broken((of) => (there(of.findings[1]).confidence = 1.2))).toThrow(
      /diagnosis\.findings\[1\]\.confidence is 1\.2; expected 0 to 1/,
    );
    expect(broken((of) => (there(of.findings[0]?.suspects[1]).share = -1))).toThrow(
      /findings\[0\]\.suspects\[1\]\.share is -1; expected 0 to 1/,
    );
    expect(broken((of) => (there(of.matrix).total = 3))).toThrow(
      /matrix\.total is 3; expected 3400 or more, the rows of cells/,
    );
    expect(broken((of) => (there(of.matrix).endpoints.rows = 63))).toThrow(
      /matrix\.endpoints\.columns\.name\.data holds 256 bytes; expected 252/,
    );
    expect(
      broken((of) => {
        const { cells } = there(of.matrix);
        cells.columns["ratio"] = numbers("f32", new Float32Array(cells.rows).fill(Number.NaN));
      }),
    ).toThrow(/cells\.columns\.ratio row 0 is NaN; expected 0 or more, finite/);
    expect(
      broken((of) => {
        const { cells } = there(of.matrix);
        cells.columns["target"] = numbers("u32", new Uint32Array(cells.rows).fill(64));
      }),
    ).toThrow(/cells\.columns\.target row 0 is 64; expected a row of endpoints \(64 rows\)/);
    expect(broken((of) => (there(of.chain).culprit = 16))).toThrow(
      /chain\.culprit is 16; expected a row of ranks \(16 rows\)/,
    );
    expect(
      broken((of) => {
        const { spans } = there(of.ranks);
        spans.columns["kind"] = strings(Array.from({ length: spans.rows }, () => "sleep"));
      }),
    ).toThrow(
      /ranks\.spans\.columns\.kind row 0 is "sleep"; expected one of compute, communicate, wait/,
    );
    expect(
      broken((of) => {
        const { spans } = there(of.ranks);
        spans.columns["end_ms"] = numbers("f64", new Float64Array(spans.rows).fill(-1));
      }),
    ).toThrow(/ranks\.spans\.columns\.end_ms row 0 is -1; expected 0 or more, its start/);
    expect(broken((of) => (of.span_s = -1))).toThrow(/diagnosis\.span_s is -1; expected 0 or more/);
  });
});
