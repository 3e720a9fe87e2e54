// The delay matrix as a picture: endpoints in the order of the fabric, joined by level, margins, suspects' bands.
import type { DelayMatrix, Endpoints, Finding, Strings, Suspect } from "../api/payload";
import type { MatrixLevel, MatrixValue } from "./page_state";

export type DrawnLevel = Exclude<MatrixLevel, "auto">;
/** Rows of one leaf, or of one segment, that stand together. */
export interface MatrixGroup {
  name: string;
  first: number;
  count: number;
}
export interface MatrixPicture {
  level: DrawnLevel;
  names: string[];
  /** An endpoint of each row, for its host, leaf and segment. */
  endpoint: Uint32Array;
  /** Row of the picture per endpoint. */
  rowOf: Uint32Array;
  /** Finer and coarser groups; the finer are empty at the level of leaves. */
  leaves: MatrixGroup[];
  segments: MatrixGroup[];
  cells: number;
  source: Uint32Array;
  target: Uint32Array;
  /** What is shown, and the worst pair that it joins. */
  value: Float32Array;
  worst: Float32Array;
  samples: Float64Array;
  /** Pairs that a cell joins. */
  pairs: Uint32Array;
  /** Medians of the cells of a row and of a column; NaN where nothing was measured. */
  rowMedian: Float32Array;
  columnMedian: Float32Array;
  /** Highest value of all cells, at least 1. */
  peak: number;
  /** Value from which on a cell stands out, and the cells that do. */
  alarm: number;
  loud: Uint32Array;
}
/** A part of the matrix that a suspect is about: in rows, columns, or where both meet. */
export interface Band {
  suspect: number;
  /** True for the likeliest suspect, where it is of the network; ranks and GPUs only stand there. */
  firm: boolean;
  row: number;
  rows: number;
  column: number;
  columns: number;
}

/** More rows than this are less than a pixel each. */
export const SEEN_ROWS_MAX = 512;

/** A cell stands out at so many deviations above the usual cell, on the scale of logarithms. */
const DEVIATIONS = 5;
/** What is closer to the usual than this never stands out, however quiet the rest is. */
const ALARM_MIN = 1.25;
/** So many cells tell what is usual: of more, every so-manieth. */
const SAMPLES_MAX = 20_000;
/** A normal distribution's standard deviation over its median absolute deviation. */
const SIGMA_OF_MAD = 1.4826;

/** Suspects that have no row of their own: the rows of their host are marked. */
const RANK_KINDS: readonly string[] = ["rank", "gpu"];

/** Numbers in names compare as numbers: leaf 2 before leaf 10. */
const sortable = (name: string): string =>
  name.replace(/\d+/g, (digits) => digits.padStart(9, "0"));

/** Place of each dictionary entry in natural order. */
function ranks({ dict }: Strings): Uint32Array {
  const keys = dict.map(sortable);
  const order = keys.map((_, i) => i);
  order.sort((a, b) => ((keys[a] ?? "") < (keys[b] ?? "") ? -1 : 1));
  const rank = new Uint32Array(dict.length);
  order.forEach((code, place) => (rank[code] = place));
  return rank;
}

/** The given indices in ascending order of their keys; equal keys keep their order. */
function stable(order: Uint32Array, key: Uint32Array, keys: number): Uint32Array {
  const next = new Uint32Array(keys + 1);
  for (const i of order) next[(key[i] ?? 0) + 1] = (next[(key[i] ?? 0) + 1] ?? 0) + 1;
  for (let at = 1; at <= keys; at++) next[at] = (next[at] ?? 0) + (next[at - 1] ?? 0);
  const sorted = new Uint32Array(order.length);
  for (const i of order) {
    const to = next[key[i] ?? 0] ?? 0;
    sorted[to] = i;
    next[key[i] ?? 0] = to + 1;
  }
  return sorted;
}
const counted = (count: number): Uint32Array => {
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  return order;
};

/** Endpoints by segment, leaf, host and name. */
export function fabricOrder(ends: Endpoints): Uint32Array {
  let order = counted(ends.rows);
  for (const strings of [ends.name, ends.host, ends.leaf, ends.segment]) {
    const rank = ranks(strings);
    const key = strings.codes.map((code) => rank[code] ?? 0);
    order = stable(order, key, strings.dict.length);
  }
  return order;
}

const columnOf = (ends: Endpoints, level: DrawnLevel): Strings =>
  level === "endpoint" ? ends.name : ends[level];

/** Levels that say something: with two rows or more, and fewer than the level before. */
export function levelsOf(ends: Endpoints): { level: DrawnLevel; rows: number }[] {
  const found: { level: DrawnLevel; rows: number }[] = [{ level: "endpoint", rows: ends.rows }];
  for (const level of ["host", "leaf", "segment"] as const) {
    const rows = new Set(ends[level].codes).size;
    if (rows > 1 && rows < ends.rows) found.push({ level, rows });
  }
  return found;
}

/** The wanted level where there is one, else the finest whose rows can be told apart. */
export function drawnLevel(ends: Endpoints, wanted: MatrixLevel): DrawnLevel {
  const levels = levelsOf(ends);
  const named = levels.find(({ level }) => level === wanted);
  const seen = levels.find(({ rows }) => rows <= SEEN_ROWS_MAX);
  return (named ?? seen ?? levels[levels.length - 1])?.level ?? "endpoint";
}

export function matrixPicture(
  matrix: DelayMatrix,
  order: Uint32Array,
  level: DrawnLevel,
  shown: MatrixValue,
): MatrixPicture {
  const { endpoints: ends } = matrix;
  const strings = columnOf(ends, level);
  const names: string[] = [];
  const first: number[] = [];
  const rowOf = new Uint32Array(ends.rows);
  const places = new Map<number, number>();
  for (const end of order) {
    // Two endpoints of one name stay two rows; those of one host are one.
    const code = level === "endpoint" ? end : (strings.codes[end] ?? 0);
    let row = places.get(code);
    if (row === undefined) {
      row = names.length;
      places.set(code, row);
      names.push(strings.at(end) || `no ${level}`);
      first.push(end);
    }
    rowOf[end] = row;
  }
  const endpoint = Uint32Array.from(first);
  const joined = joinCells(matrix, rowOf, names.length, shown);
  const alarm = alarmFrom(joined.value);
  const medians = (side: Uint32Array): Float32Array =>
    mediansBy(side, joined.value, joined.cells, names.length);
  return {
    level,
    names,
    endpoint,
    rowOf,
    leaves: level === "endpoint" || level === "host" ? groupsOf(endpoint, ends.leaf) : [],
    segments: level === "segment" ? [] : groupsOf(endpoint, ends.segment),
    ...joined,
    rowMedian: medians(joined.source),
    columnMedian: medians(joined.target),
    peak: joined.value.reduce((most, value) => Math.max(most, value), 1),
    alarm,
    loud: counted(joined.cells).filter((cell) => (joined.value[cell] ?? 0) >= alarm),
  };
}

function groupsOf(endpoint: Uint32Array, strings: Strings): MatrixGroup[] {
  const groups: MatrixGroup[] = [];
  endpoint.forEach((end, row) => {
    const name = strings.at(end);
    const last = groups[groups.length - 1];
    if (last?.name === name) last.count += 1;
    else groups.push({ name, first: row, count: 1 });
  });
  return groups;
}

/** Pairs whose ends are in the same rows, as one cell; cells by row, then column. */
function joinCells(matrix: DelayMatrix, rowOf: Uint32Array, rows: number, shown: MatrixValue) {
  const count = matrix.ratio.length;
  const from = matrix.source.map((end) => rowOf[end] ?? 0);
  const to = matrix.target.map((end) => rowOf[end] ?? 0);
  const order = stable(stable(counted(count), to, rows), from, rows);
  const source = new Uint32Array(count);
  const target = new Uint32Array(count);
  const value = new Float32Array(count);
  const worst = new Float32Array(count);
  const samples = new Float64Array(count);
  const pairs = new Uint32Array(count);
  const ordered = new Float32Array(count);
  for (let i = 0; i < count; i++) ordered[i] = matrix.ratio[order[i] ?? 0] ?? 0;
  let cells = 0;
  for (let start = 0; start < count; cells++) {
    const row = from[order[start] ?? 0] ?? 0;
    const column = to[order[start] ?? 0] ?? 0;
    let end = start;
    let taken = 0;
    for (; end < count; end++) {
      const pair = order[end] ?? 0;
      if (from[pair] !== row || to[pair] !== column) break;
      taken += matrix.samples[pair] ?? 0;
    }
    const values = ordered.subarray(start, end);
    if (values.length > 1) values.sort();
    worst[cells] = values[values.length - 1] ?? 0;
    value[cells] = shown === "worst" ? (worst[cells] ?? 0) : middle(values);
    source[cells] = row;
    target[cells] = column;
    samples[cells] = taken;
    pairs[cells] = end - start;
    start = end;
  }
  return {
    cells,
    source: source.subarray(0, cells),
    target: target.subarray(0, cells),
    value: value.subarray(0, cells),
    worst: worst.subarray(0, cells),
    samples: samples.subarray(0, cells),
    pairs: pairs.subarray(0, cells),
  };
}

/** Ratio from which on a cell stands out from the others: median and median absolute deviation of the logarithms,
 * which a minority of slow cells leaves where they are. Infinite where there are no cells. */
export function alarmFrom(values: Float32Array): number {
  const every = Math.max(1, Math.floor(values.length / SAMPLES_MAX));
  const logs = values.filter((value, i) => i % every === 0 && value > 0).map(Math.log);
  if (logs.length === 0) return Number.POSITIVE_INFINITY;
  const usual = middle(logs.sort());
  const spread = middle(logs.map((value) => Math.abs(value - usual)).sort());
  return Math.exp(usual + Math.max(Math.log(ALARM_MIN), DEVIATIONS * SIGMA_OF_MAD * spread));
}

/** Median of ascending values; NaN of none. */
function middle(sorted: Float32Array): number {
  const half = sorted.length >> 1;
  const high = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? high : ((sorted[half - 1] ?? Number.NaN) + high) / 2;
}

function mediansBy(
  side: Uint32Array,
  value: Float32Array,
  cells: number,
  rows: number,
): Float32Array {
  const order = stable(counted(cells), side, rows);
  const medians = new Float32Array(rows).fill(Number.NaN);
  for (let start = 0; start < cells;) {
    const row = side[order[start] ?? 0] ?? 0;
    let end = start;
    while (end < cells && side[order[end] ?? 0] === row) end += 1;
    const values = Float32Array.from(order.subarray(start, end), (i) => value[i] ?? 0);
    medians[row] = middle(values.sort());
    start = end;
  }
  return medians;
}

/** Cell at a row and a column; -1 where nothing was measured. Cells are in order of row, then column. */
export function cellIndex(picture: MatrixPicture, row: number, column: number): number {
  let [low, high] = [0, picture.cells];
  while (low < high) {
    const at = (low + high) >> 1;
    const [r, c] = [picture.source[at] ?? 0, picture.target[at] ?? 0];
    if (r < row || (r === row && c < column)) low = at + 1;
    else high = at;
  }
  return picture.source[low] === row && picture.target[low] === column ? low : -1;
}

/** Rows of cells, the slowest first. */
export function slowestCells(picture: MatrixPicture, most: number): Uint32Array {
  const { value } = picture;
  // Values alone sort many times faster than rows by their values: they tell from where on rows are wanted.
  const least = value.slice().sort()[Math.max(0, picture.cells - most)] ?? 0;
  const order = counted(picture.cells).filter((cell) => (value[cell] ?? 0) >= least);
  return order.sort((a, b) => (value[b] ?? 0) - (value[a] ?? 0) || a - b).subarray(0, most);
}

/** Top of the colours: the first round factor that no cell exceeds. */
export function matrixTop(peak: number): number {
  return [1.5, 2, 3, 5, 10, 20, 50, 100, 1000].find((top) => peak <= top) ?? peak;
}
/** Place of a ratio on the colours, by its logarithm; what is as fast as the median or faster is 0. */
export const partOf = (ratio: number, top: number): number =>
  ratio <= 1 ? 0 : Math.min(1, Math.log(ratio) / Math.log(top));

/** Bands of a finding's suspects: theirs are whole rows and columns, of a connection the cells between its ends. */
export function bandsOf(picture: MatrixPicture, ends: Endpoints, finding: Finding | null): Band[] {
  const size = picture.names.length;
  const bands = (finding?.suspects ?? []).flatMap((suspect, at): Band[] => {
    const [from, to] = sidesOf(suspect);
    const of = { suspect: at, firm: at === 0 && !RANK_KINDS.includes(suspect.kind) };
    const [rows, columns] = [
      runsOf(picture, ends, suspect, from),
      to === from ? null : runsOf(picture, ends, suspect, to),
    ];
    if (columns !== null)
      return rows.flatMap(([row, count]) =>
        columns.map(([column, wide]) => ({
          ...of,
          row,
          rows: count,
          column,
          columns: wide,
        })),
      );
    return rows.flatMap(([first, count]) => [
      { ...of, row: first, rows: count, column: 0, columns: size },
      { ...of, row: 0, rows: size, column: first, columns: count },
    ]);
  });
  // A leaf and its uplink are the same rows: they are framed once, for the likelier.
  const seen = new Set<string>();
  return bands.filter(({ row, rows, column, columns }) => {
    const key = [row, rows, column, columns].join();
    return !seen.has(key) && seen.add(key);
  });
}

/** Names of a suspect's ends, without ports; the same twice where it has no direction. */
function sidesOf({ kind, name }: Suspect): readonly [string, string] {
  const bare = (end: string): string => end.trim().replace(/:[^:]*$/, "");
  const [a = "", b] = name.split(" > ");
  if ((kind === "link" || kind === "connection") && b !== undefined) return [bare(a), bare(b)];
  return [kind === "cable" ? bare(a) : name, kind === "cable" ? bare(a) : name];
}

/** Runs of rows that belong to a device: an endpoint, a host or a leaf; by the host of a rank or GPU. */
function runsOf(
  picture: MatrixPicture,
  ends: Endpoints,
  suspect: Suspect,
  name: string,
): (readonly [number, number])[] {
  const byPlace = RANK_KINDS.includes(suspect.kind) ? (suspect.devices ?? []) : [];
  const codes = (strings: Strings, wanted: (entry: string) => boolean): Uint8Array => {
    const found = new Uint8Array(strings.dict.length);
    strings.dict.forEach((entry, code) => {
      if (wanted(entry)) found[code] = 1;
    });
    return found;
  };
  const port = `${name}:`;
  const names = codes(ends.name, (entry) => entry === name || entry.startsWith(port));
  const hosts = codes(ends.host, (entry) => entry === name || byPlace.includes(entry));
  const leaves = codes(ends.leaf, (entry) => entry === name);
  const rows = new Set<number>();
  for (let end = 0; end < ends.rows; end++)
    if (
      names[ends.name.codes[end] ?? 0] === 1 ||
      hosts[ends.host.codes[end] ?? 0] === 1 ||
      leaves[ends.leaf.codes[end] ?? 0] === 1
    )
      rows.add(picture.rowOf[end] ?? 0);
  const runs: [number, number][] = [];
  for (const row of [...rows].sort((a, b) => a - b)) {
    const last = runs[runs.length - 1];
    if (last && last[0] + last[1] === row) last[1] += 1;
    else runs.push([row, 1]);
  }
  return runs;
}
