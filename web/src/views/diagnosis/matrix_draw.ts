// Draws the delay matrix: a cell per pair, medians of rows and columns as strips, bands around suspects.
import {
  alarmFrom,
  partOf,
  type Band,
  type MatrixGroup,
  type MatrixPicture,
} from "../../model/matrix";
import type { Block } from "../../model/matrix_block";
import { alarming, sequential, type Theme } from "../../ui/colors";
import { font, type Pen } from "../../ui/pen";

export interface MatrixFrame {
  /** Where the cells begin, and the length of their side. */
  left: number;
  head: number;
  side: number;
  width: number;
  height: number;
}
export interface MatrixScene {
  picture: MatrixPicture;
  bands: readonly Band[];
  /** The part that is drawn. */
  block: Block;
  /** Ratio at the top of the colours. */
  top: number;
  theme: Theme;
}

/** Width of a strip of medians, and its distance from the cells. */
const STRIP_PX = 11;
const STRIP_GAP_PX = 7;
const HEAD_PX = 42;
const SIDE_MAX_PX = 620;
const GUTTER_PX = { most: 150, part: 0.22, least: 64 };
const NAMED_PX_MIN = 10;
/** Lines between more segments than this step back. */
const FEW_SEGMENTS = 6;
const SHADES = 64;
/** What stands out is never smaller than this, where cells are. */
const LOUD_PX_MIN = 3;
/** Cells of fewer pixels are drawn over the frames around them. */
const FRAMED_PX_MIN = 4;
/** Of the scale: the median itself keeps a shade, so that what was not measured differs from it. */
const FLOOR = 0.08;

/** Part of the sequential map that cells keep to that do not stand out: they recede behind those that do. */
const QUIET = 0.55;

/** Colour of a ratio: up to where it stands out, of the sequential map; from there on, of the alarm's. */
export function ratioColor(ratio: number, alarm: number, top: number, theme: Theme): string {
  if (ratio >= alarm) return alarming(alarmPart(ratio, alarm, top), theme);
  return sequential(FLOOR + (QUIET - FLOOR) * partOf(ratio, Math.min(alarm, top)), theme);
}
/** How far a ratio is on the way from the alarm to the top. */
const alarmPart = (ratio: number, alarm: number, top: number): number =>
  top > alarm ? Math.min(1, Math.log(ratio / alarm) / Math.log(top / alarm)) : 1;

/** Width of the names, and side of the square that cells may have. */
function roomOf(width: number): { left: number; wanted: number } {
  const { most, part, least } = GUTTER_PX;
  const left = Math.round(Math.min(most, Math.max(least, width * part)));
  const room = Math.max(0, width - left - STRIP_GAP_PX - STRIP_PX - 2);
  return { left, wanted: Math.min(room, SIDE_MAX_PX) };
}
export const sideOf = (width: number): number => roomOf(width).wanted;

export function matrixFrame(width: number, rows: number): MatrixFrame {
  const { left, wanted } = roomOf(width);
  // Whole pixels per cell where there is room: then cells have edges of one sharpness.
  const side = rows > 0 && wanted >= rows * 3 ? Math.floor(wanted / rows) * rows : wanted;
  return {
    left,
    head: HEAD_PX,
    side,
    width: left + side + STRIP_GAP_PX + STRIP_PX + 2,
    height: HEAD_PX + side + STRIP_GAP_PX + STRIP_PX + 22,
  };
}

/** Row and column under a point; null beside the cells. */
export function cellUnder(
  block: Block,
  frame: MatrixFrame,
  x: number,
  y: number,
): { row: number; column: number } | null {
  const { size } = block;
  const column = Math.floor(((x - frame.left) / frame.side) * size);
  const row = Math.floor(((y - frame.head) / frame.side) * size);
  return row >= 0 && row < size && column >= 0 && column < size
    ? { row: block.row + row, column: block.column + column }
    : null;
}

export function drawMatrix(pen: Pen, scene: MatrixScene, frame: MatrixFrame): void {
  const { block, theme } = scene;
  const px = frame.side / Math.max(1, block.size);
  pen.globalAlpha = 1;
  pen.fillStyle = theme.page;
  pen.fillRect(0, 0, frame.width, frame.height);
  pen.strokeStyle = theme.rule;
  pen.lineWidth = 1;
  pen.strokeRect(frame.left - 0.5, frame.head - 0.5, frame.side + 1, frame.side + 1);
  drawCells(pen, scene, frame, px);
  drawStrips(pen, scene, frame, px);
  drawGroups(pen, scene, frame, px);
  drawBands(pen, scene, frame, px);
  // Frames of thin rows would hide what they are about.
  if (px < FRAMED_PX_MIN) drawCells(pen, scene, frame, px, true);
  drawTitles(pen, theme, frame);
}

/** Slow cells over fast ones, in few shades: where cells are less than a pixel the slowest is seen. */
function drawCells(pen: Pen, scene: MatrixScene, frame: MatrixFrame, px: number, loudOnly = false) {
  const { picture, block, top, theme } = scene;
  const { alarm } = picture;
  const quiet = Math.min(alarm, top);
  // The first half of the shades is quiet, the second stands out.
  const shades: number[][] = Array.from({ length: 2 * SHADES + 2 }, () => []);
  for (let cell = 0; cell < picture.cells; cell++) {
    if (!holds(block, picture.source[cell] ?? 0, picture.target[cell] ?? 0)) continue;
    const ratio = picture.value[cell] ?? 0;
    const shade =
      ratio >= alarm
        ? SHADES + 1 + Math.round(alarmPart(ratio, alarm, top) * SHADES)
        : Math.round(partOf(ratio, quiet) * SHADES);
    shades[shade]?.push(cell);
  }
  const gap = px >= 7 ? 1 : 0;
  const wide = Math.max(1, px - gap);
  shades.forEach((cells, shade) => {
    if (cells.length === 0) return;
    const loud = shade > SHADES;
    if (loudOnly && !loud) return;
    pen.fillStyle = loud
      ? alarming((shade - SHADES - 1) / SHADES, theme)
      : sequential(FLOOR + ((QUIET - FLOOR) * shade) / SHADES, theme);
    const drawn = loud ? Math.max(LOUD_PX_MIN, wide) : wide;
    for (const cell of cells) {
      const x = frame.left + ((picture.target[cell] ?? 0) - block.column) * px;
      const y = frame.head + ((picture.source[cell] ?? 0) - block.row) * px;
      pen.fillRect(
        Math.min(x, frame.left + frame.side - drawn),
        Math.min(y, frame.head + frame.side - drawn),
        drawn,
        drawn,
      );
    }
  });
}

const holds = ({ row, column, size }: Block, source: number, target: number): boolean =>
  source >= row && source < row + size && target >= column && target < column + size;

/** Medians of rows at the right, of columns below. */
function drawStrips(
  pen: Pen,
  { picture, block, top, theme }: MatrixScene,
  frame: MatrixFrame,
  px: number,
) {
  const gap = px >= 7 ? 1 : 0;
  const long = Math.max(1, px - gap);
  const [right, below] = [
    frame.left + frame.side + STRIP_GAP_PX,
    frame.head + frame.side + STRIP_GAP_PX,
  ];
  const alarms = [picture.rowMedian, picture.columnMedian].map(alarmFrom);
  for (let place = 0; place < block.size; place++) {
    const row = picture.rowMedian[block.row + place];
    const column = picture.columnMedian[block.column + place];
    if (row !== undefined && !Number.isNaN(row)) {
      pen.fillStyle = ratioColor(row, alarms[0] ?? picture.alarm, top, theme);
      pen.fillRect(right, frame.head + place * px, STRIP_PX, long);
    }
    if (column !== undefined && !Number.isNaN(column)) {
      pen.fillStyle = ratioColor(column, alarms[1] ?? picture.alarm, top, theme);
      pen.fillRect(frame.left + place * px, below, long, STRIP_PX);
    }
  }
}

/** The part of groups that lies within rows `first` to `first + size`, counted from there. */
function clipped(groups: readonly MatrixGroup[], first: number, size: number): MatrixGroup[] {
  return groups.flatMap((group) => {
    const from = Math.max(0, group.first - first);
    const to = Math.min(size, group.first + group.count - first);
    return to > from ? [{ name: group.name, first: from, count: to - from }] : [];
  });
}

/** Lines between leaves and, stronger, between segments; names of what has room for one. */
function drawGroups(
  pen: Pen,
  { picture, block, theme }: MatrixScene,
  frame: MatrixFrame,
  px: number,
) {
  const line = (
    groups: readonly MatrixGroup[],
    upright: boolean,
    color: string,
    alpha: number,
  ): void => {
    if (groups.length < 2 || groups.length * 4 > frame.side) return;
    pen.fillStyle = color;
    pen.globalAlpha = alpha;
    for (const { first } of groups.slice(1)) {
      const at = Math.round(first * px) - (px >= 7 ? 1 : 0);
      if (upright) pen.fillRect(frame.left + at, frame.head, 1, frame.side);
      else pen.fillRect(frame.left, frame.head + at, frame.side, 1);
    }
    pen.globalAlpha = 1;
  };
  const own = picture.names.map((name, first) => ({ name, first, count: 1 }));
  const [rows, columns] = [block.row, block.column].map((first) =>
    [own, picture.leaves, picture.segments].map((groups) => clipped(groups, first, block.size)),
  );
  if (!rows || !columns) return;
  const strong = picture.segments.length > FEW_SEGMENTS ? 0.2 : 0.55;
  for (const [groups, upright] of [
    [rows, false],
    [columns, true],
  ] as const) {
    line(groups[1] ?? [], upright, theme.faint, 0.35);
    line(groups[2] ?? [], upright, theme.ink, strong);
  }
  const named = rows.find(
    (groups) => groups.length > 0 && frame.side / groups.length >= NAMED_PX_MIN,
  );
  if (!named) return;
  const tall = Math.min(...named.map(({ count }) => count)) * px;
  pen.font = font(Math.min(11.5, Math.max(9, tall - 1)));
  pen.fillStyle = theme.soft;
  pen.textBaseline = "middle";
  for (const { name, first, count } of named) {
    const at = (first + count / 2) * px;
    pen.textAlign = "right";
    pen.fillText(fitting(pen, name, frame.left - 12), frame.left - 8, frame.head + at);
  }
  // Text stands upright on both sides: above the columns only coarse names have room.
  const above = columns.find((groups) => groups.length > 0 && frame.side / groups.length >= 46);
  if (!above) return;
  pen.font = font(11);
  pen.textAlign = "center";
  for (const { name, first, count } of above)
    pen.fillText(
      fitting(pen, name, count * px - 6),
      frame.left + (first + count / 2) * px,
      frame.head - 10,
    );
}

function drawBands(
  pen: Pen,
  { bands, block, theme }: MatrixScene,
  frame: MatrixFrame,
  px: number,
): void {
  // The likeliest suspect is drawn last, over the others, and has the strongest line.
  for (const { firm, ...band } of [...bands].reverse()) {
    const [row, below] = within(band.row, band.rows, block.row, block.size);
    const [column, right] = within(band.column, band.columns, block.column, block.size);
    const [rows, columns] = [below - row, right - column];
    if (rows <= 0 || columns <= 0) continue;
    const line = firm ? 2 : 1;
    const out = line / 2 + 0.5;
    pen.strokeStyle = theme.ink;
    pen.lineWidth = line;
    pen.setLineDash(firm ? [] : [4, 3]);
    pen.strokeRect(
      frame.left + column * px - out,
      frame.head + row * px - out,
      columns * px + 2 * out - 1,
      rows * px + 2 * out - 1,
    );
  }
  pen.setLineDash([]);
}

/** The part of a stretch that lies in the block, counted from its beginning. */
const within = (from: number, count: number, first: number, size: number): [number, number] => [
  Math.max(0, from - first),
  Math.min(size, from + count - first),
];

function drawTitles(pen: Pen, theme: Theme, frame: MatrixFrame): void {
  pen.font = font(11.5);
  pen.textBaseline = "middle";
  pen.fillStyle = theme.faint;
  pen.textAlign = "left";
  pen.fillText("destinations →", frame.left, 12);
  pen.textAlign = "right";
  pen.fillText("sources ↓", frame.left - 8, frame.head - 10);
  pen.textAlign = "left";
  pen.fillText(
    "strips: medians of rows and columns",
    frame.left,
    frame.head + frame.side + STRIP_GAP_PX + STRIP_PX + 13,
  );
}

/** The end of a name tells more than its beginning. */
function fitting(pen: Pen, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let start = 1;
  while (start < text.length && pen.measureText(`…${text.slice(start)}`).width > width) start += 1;
  return start < text.length ? `…${text.slice(start)}` : "";
}
