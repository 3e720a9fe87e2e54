// Which part of the delay matrix is drawn: what stands out can be seen without touching a control.
import type { DelayMatrix, Finding } from "../api/payload";
import {
  bandsOf,
  drawnLevel,
  levelsOf,
  matrixPicture,
  SEEN_ROWS_MAX,
  type Band,
  type DrawnLevel,
  type MatrixPicture,
} from "./matrix";
import type { MatrixBlock, MatrixLevel, MatrixValue } from "./page_state";

/** A square of rows and columns. */
export interface Block {
  row: number;
  column: number;
  /** Rows, and as many columns. */
  size: number;
}
export interface DrawnMatrix {
  picture: MatrixPicture;
  bands: Band[];
  block: Block;
}

/** A matrix is drawn whole while its cells have at least so many pixels. */
export const CELL_PX_MIN = 6;
/** Pixels of a cell in a block: rows have room for their names. */
const BLOCK_CELL_PX = 11;
/** A block of which more stands out shows no contrast: then a row stands for more. */
const SATURATED = 0.5;
/** Matrices of more rows begin at a coarser level, whose worst pairs show as much in less time. */
const AUTO_ROWS_MAX = 4096;
/** Places that a block may take per its size. */
const STEPS = 4;

/** Rows that a block has in a square of `side` pixels; all of them while they can be seen. */
export function blockSize(rows: number, side: number): number {
  if (rows * CELL_PX_MIN <= side) return rows;
  return Math.min(rows, Math.max(1, Math.floor(side / BLOCK_CELL_PX)));
}

const inside = (bands: readonly Band[], row: number, column: number): boolean =>
  bands.some(
    (band) =>
      row >= band.row &&
      row < band.row + band.rows &&
      column >= band.column &&
      column < band.column + band.columns,
  );

/** A block within the matrix with a cell as near to its middle as it can be. */
export function blockAround(size: number, rows: number, row: number, column: number): Block {
  const kept = (at: number): number =>
    Math.max(0, Math.min(rows - size, Math.round(at - (size - 1) / 2)));
  return { row: kept(row), column: kept(column), size };
}

/** The block that holds most of what stands out: of the suspects, else of all cells. */
function worstBlock(picture: MatrixPicture, bands: readonly Band[], size: number): Block {
  const rows = picture.names.length;
  const loud = [...picture.loud];
  const suspect = loud.filter((cell) =>
    inside(bands, picture.source[cell] ?? 0, picture.target[cell] ?? 0),
  );
  const cells = suspect.length > 0 ? suspect : loud;
  if (cells.length === 0) {
    const [first] = bands;
    if (!first) return { row: 0, column: 0, size };
    const [row, column] = [
      first.row + (first.rows - 1) / 2,
      first.column + (first.columns - 1) / 2,
    ];
    // A band is as long as the matrix: where it crosses the diagonal, its own rows meet its own columns.
    return blockAround(
      size,
      rows,
      first.rows === rows ? column : row,
      first.columns === rows ? row : column,
    );
  }
  const step = Math.max(1, Math.floor(size / STEPS));
  const last = Math.ceil(Math.max(0, rows - size) / step);
  const weights = new Map<number, number>();
  let best = { place: 0, weight: -1 };
  for (const cell of cells) {
    const [row, column] = [picture.source[cell] ?? 0, picture.target[cell] ?? 0];
    const weight = Math.log((picture.value[cell] ?? 1) / picture.alarm) + 1;
    const from = (at: number): number => Math.max(0, Math.floor((at - size) / step) + 1);
    const to = (at: number): number => Math.min(last, Math.floor(at / step));
    for (let y = from(row); y <= to(row); y++)
      for (let x = from(column); x <= to(column); x++) {
        const place = y * (last + 1) + x;
        const sum = (weights.get(place) ?? 0) + weight;
        weights.set(place, sum);
        if (sum > best.weight + 1e-9 || (sum > best.weight - 1e-9 && place < best.place))
          best = { place, weight: sum };
      }
  }
  const start = {
    row: Math.floor(best.place / (last + 1)) * step,
    column: (best.place % (last + 1)) * step,
  };
  // What the block holds goes to its middle.
  const held = cells.filter((cell) => {
    const [row, column] = [picture.source[cell] ?? 0, picture.target[cell] ?? 0];
    return (
      row >= start.row &&
      row < start.row + size &&
      column >= start.column &&
      column < start.column + size
    );
  });
  const middle = (side: Uint32Array): number => {
    let [low, high] = [Number.POSITIVE_INFINITY, 0];
    for (const cell of held) {
      low = Math.min(low, side[cell] ?? 0);
      high = Math.max(high, side[cell] ?? 0);
    }
    return (low + high) / 2;
  };
  return blockAround(size, rows, middle(picture.source), middle(picture.target));
}

/** The part that is drawn in a square of `side` pixels. */
export function blockOf(
  picture: MatrixPicture,
  bands: readonly Band[],
  wanted: MatrixBlock,
  side: number,
): Block {
  const rows = picture.names.length;
  const size = blockSize(rows, side);
  if (wanted === "all" || size === rows) return { row: 0, column: 0, size: rows };
  if (wanted === "auto") return worstBlock(picture, bands, size);
  const kept = (at: number): number => Math.max(0, Math.min(rows - size, at));
  return { row: kept(wanted[0]), column: kept(wanted[1]), size };
}

/** Part of a block's cells that stand out. */
function loudPart(picture: MatrixPicture, block: Block): number {
  let [all, loud] = [0, 0];
  for (let cell = 0; cell < picture.cells; cell++) {
    const [row, column] = [picture.source[cell] ?? 0, picture.target[cell] ?? 0];
    if (row < block.row || row >= block.row + block.size) continue;
    if (column < block.column || column >= block.column + block.size) continue;
    all += 1;
    if ((picture.value[cell] ?? 0) >= picture.alarm) loud += 1;
  }
  return all > 0 ? loud / all : 0;
}

/** Pictures are made once: what is open or drawn changes more often than the matrix. */
const pictures = new WeakMap<DelayMatrix, Map<string, MatrixPicture>>();
export function pictureOf(
  matrix: DelayMatrix,
  order: Uint32Array,
  level: DrawnLevel,
  value: MatrixValue,
): MatrixPicture {
  const known = pictures.get(matrix) ?? new Map<string, MatrixPicture>();
  pictures.set(matrix, known);
  const key = `${level}/${value}`;
  const picture = known.get(key) ?? matrixPicture(matrix, order, level, value);
  known.set(key, picture);
  return picture;
}

/** Fewer cells than this are pairs, and say nothing of a row as a whole. */
const ROW_CELLS_MIN = 2;

/** Names of rows that stand out as a whole, the slowest first: half or more of the cells as a source, as a
 * destination, or of both together. In a ring, where each row has one cell, both together tell whose they are. */
export function standingOut(picture: MatrixPicture): string[] {
  const rows = picture.names.length;
  const sides = [picture.source, picture.target];
  const [all, loud] = [0, 1].map(() => sides.map(() => new Uint32Array(rows))) as [
    Uint32Array[],
    Uint32Array[],
  ];
  const peak = new Float32Array(rows);
  const add = (counts: Uint32Array | undefined, row: number): void => {
    if (counts) counts[row] = (counts[row] ?? 0) + 1;
  };
  for (let cell = 0; cell < picture.cells; cell++) {
    const value = picture.value[cell] ?? 0;
    sides.forEach((side, i) => {
      const row = side[cell] ?? 0;
      add(all[i], row);
      if (value < picture.alarm) return;
      add(loud[i], row);
      peak[row] = Math.max(peak[row] ?? 0, value);
    });
  }
  const half = (count: number, of: number): boolean => of >= ROW_CELLS_MIN && 2 * count >= of;
  const found = picture.names.flatMap((_, row) => {
    const [from, to] = all.map((counts) => counts[row] ?? 0) as [number, number];
    const [slowFrom, slowTo] = loud.map((counts) => counts[row] ?? 0) as [number, number];
    const both = from + to >= ROW_CELLS_MIN && 2 * (slowFrom + slowTo) > from + to;
    return half(slowFrom, from) || half(slowTo, to) || both ? [row] : [];
  });
  found.sort((a, b) => (peak[b] ?? 0) - (peak[a] ?? 0) || a - b);
  return found.map((row) => picture.names[row] ?? "");
}

/** The picture at the wanted level. Where nobody wants one: the finest at which something stands out of its
 * surroundings; where nothing does, the finest whose rows can be told apart. */
export function drawnMatrix(
  matrix: DelayMatrix,
  order: Uint32Array,
  level: MatrixLevel,
  value: MatrixValue,
  finding: Finding | null,
  wanted: MatrixBlock,
  side: number,
): DrawnMatrix {
  const { endpoints: ends } = matrix;
  const made = (at: DrawnLevel): DrawnMatrix => {
    const picture = pictureOf(matrix, order, at, value);
    const bands = bandsOf(picture, ends, finding);
    return { picture, bands, block: blockOf(picture, bands, wanted, side) };
  };
  const levels = levelsOf(ends);
  if (level !== "auto" && levels.some((one) => one.level === level)) return made(level);
  if (ends.rows <= SEEN_ROWS_MAX && wanted === "all") return made("endpoint");
  let first: DrawnMatrix | null = null;
  const tried = levels.filter((one, i) => one.rows <= AUTO_ROWS_MAX || i === levels.length - 1);
  for (const one of tried) {
    const drawn = made(one.level);
    first ??= drawn;
    if (drawn.picture.peak < drawn.picture.alarm) break;
    const seen =
      wanted === "auto" ? drawn.block : blockOf(drawn.picture, drawn.bands, "auto", side);
    if (loudPart(drawn.picture, seen) <= SATURATED) return drawn;
  }
  const usual = drawnLevel(ends, "auto");
  return first !== null && usual === "endpoint" ? first : made(usual);
}

/** The highest value of each square of a coarse picture, row by row; NaN where nothing was measured. */
export function overview(picture: MatrixPicture, squares: number): Float32Array {
  const rows = Math.max(1, picture.names.length);
  const found = new Float32Array(squares * squares).fill(Number.NaN);
  const place = (row: number): number => Math.floor((row / rows) * squares);
  for (let cell = 0; cell < picture.cells; cell++) {
    const at = place(picture.source[cell] ?? 0) * squares + place(picture.target[cell] ?? 0);
    const value = picture.value[cell] ?? 0;
    if (!(value <= (found[at] ?? 0))) found[at] = value;
  }
  return found;
}
