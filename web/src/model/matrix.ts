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
const SEEN_ROWS_MAX = 512;
/** Lists are grouped by counting up to this many places, by sorting beyond. */
const COUNTED_MAX = 1 << 23;

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

/** Endpoints by segment, leaf, host and name. */
export function fabricOrder(ends: Endpoints): Uint32Array {
  const columns = [ends.segment, ends.leaf, ends.host, ends.name].map((strings) => {
    const rank = ranks(strings);
    return strings.codes.map((code) => rank[code] ?? 0);
  });
  return Uint32Array.from({ length: ends.rows }, (_, row) => row).sort((a, b) => {
    for (const column of columns) {
      const apart = (column[a] ?? 0) - (column[b] ?? 0);
      if (apart !== 0) return apart;
    }
    return a - b;
  });
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

/** Indices 0..count in the order of their places, with where each run of one place begins. */
function grouped(place: (i: number) => number, count: number, places: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  if (places > COUNTED_MAX) return order.sort((a, b) => place(a) - place(b) || a - b);
  const next = new Uint32Array(places + 1);
  for (let i = 0; i < count; i++) next[place(i) + 1] = (next[place(i) + 1] ?? 0) + 1;
  for (let at = 1; at <= places; at++) next[at] = (next[at] ?? 0) + (next[at - 1] ?? 0);
  for (let i = 0; i < count; i++) {
    const to = next[place(i)] ?? 0;
    order[to] = i;
    next[place(i)] = to + 1;
  }
  return order;
}

/** Pairs whose ends are in the same rows, as one cell. */
function joinCells(matrix: DelayMatrix, rowOf: Uint32Array, rows: number, shown: MatrixValue) {
  const count = matrix.ratio.length;
  const [from, to] = [matrix.source, matrix.target].map((side) => side.map((e) => rowOf[e] ?? 0));
  const place = (i: number): number => (from?.[i] ?? 0) * rows + (to?.[i] ?? 0);
  const order = grouped(place, count, rows * rows);
  const source: number[] = [];
  const target: number[] = [];
  const value: number[] = [];
  const worst: number[] = [];
  const samples: number[] = [];
  const pairs: number[] = [];
  for (let start = 0; start < count;) {
    const here = place(order[start] ?? 0);
    let end = start;
    let taken = 0;
    while (end < count && place(order[end] ?? 0) === here)
      taken += matrix.samples[order[end++] ?? 0] ?? 0;
    const values = Float32Array.from(
      order.subarray(start, end),
      (i) => matrix.ratio[i] ?? 0,
    ).sort();
    const most = values[values.length - 1] ?? 0;
    source.push(Math.floor(here / rows));
    target.push(here % rows);
    value.push(shown === "worst" ? most : middle(values));
    worst.push(most);
    samples.push(taken);
    pairs.push(end - start);
    start = end;
  }
  return {
    cells: value.length,
    source: Uint32Array.from(source),
    target: Uint32Array.from(target),
    value: Float32Array.from(value),
    worst: Float32Array.from(worst),
    samples: Float64Array.from(samples),
    pairs: Uint32Array.from(pairs),
  };
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
  const order = grouped((i) => side[i] ?? 0, cells, rows);
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
  const order = Uint32Array.from({ length: picture.cells }, (_, i) => i);
  const { value } = picture;
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
  const rows = new Set<number>();
  for (let end = 0; end < ends.rows; end++) {
    const [own, host, leaf] = [ends.name.at(end), ends.host.at(end), ends.leaf.at(end)];
    if (own === name || own.startsWith(`${name}:`) || host === name || leaf === name)
      rows.add(picture.rowOf[end] ?? 0);
    else if (byPlace.includes(host)) rows.add(picture.rowOf[end] ?? 0);
  }
  const runs: [number, number][] = [];
  for (const row of [...rows].sort((a, b) => a - b)) {
    const last = runs[runs.length - 1];
    if (last && last[0] + last[1] === row) last[1] += 1;
    else runs.push([row, 1]);
  }
  return runs;
}
