// Draws the delay matrix: a cell per pair, medians of rows and columns as strips, bands around suspects.
import { partOf, type Band, type MatrixGroup, type MatrixPicture } from "../../model/matrix";
import { sequential, type Theme } from "../../ui/colors";
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
/** Of the scale: the median itself keeps a shade, so that what was not measured differs from it. */
const FLOOR = 0.08;

export const ratioColor = (ratio: number, top: number, theme: Theme): string =>
  sequential(FLOOR + (1 - FLOOR) * partOf(ratio, top), theme);

export function matrixFrame(width: number, rows: number): MatrixFrame {
  const { most, part, least } = GUTTER_PX;
  const left = Math.round(Math.min(most, Math.max(least, width * part)));
  const room = Math.max(0, width - left - STRIP_GAP_PX - STRIP_PX - 2);
  const wanted = Math.min(room, SIDE_MAX_PX);
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
  picture: MatrixPicture,
  frame: MatrixFrame,
  x: number,
  y: number,
): { row: number; column: number } | null {
  const size = picture.names.length;
  const column = Math.floor(((x - frame.left) / frame.side) * size);
  const row = Math.floor(((y - frame.head) / frame.side) * size);
  return row >= 0 && row < size && column >= 0 && column < size ? { row, column } : null;
}

export function drawMatrix(pen: Pen, scene: MatrixScene, frame: MatrixFrame): void {
  const { picture, theme } = scene;
  const size = Math.max(1, picture.names.length);
  const px = frame.side / size;
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
  drawTitles(pen, theme, frame);
}

/** Slow cells over fast ones, in few shades: where cells are less than a pixel the slowest is seen. */
function drawCells(pen: Pen, { picture, top, theme }: MatrixScene, frame: MatrixFrame, px: number) {
  const shades: number[][] = Array.from({ length: SHADES + 1 }, () => []);
  for (let cell = 0; cell < picture.cells; cell++)
    shades[Math.round(partOf(picture.value[cell] ?? 0, top) * SHADES)]?.push(cell);
  const gap = px >= 7 ? 1 : 0;
  const wide = Math.max(1, px - gap);
  shades.forEach((cells, shade) => {
    if (cells.length === 0) return;
    pen.fillStyle = sequential(FLOOR + ((1 - FLOOR) * shade) / SHADES, theme);
    for (const cell of cells) {
      const x = frame.left + (picture.target[cell] ?? 0) * px;
      const y = frame.head + (picture.source[cell] ?? 0) * px;
      pen.fillRect(x, y, wide, wide);
    }
  });
}

/** Medians of rows at the right, of columns below. */
function drawStrips(
  pen: Pen,
  { picture, top, theme }: MatrixScene,
  frame: MatrixFrame,
  px: number,
) {
  const gap = px >= 7 ? 1 : 0;
  const long = Math.max(1, px - gap);
  const [right, below] = [
    frame.left + frame.side + STRIP_GAP_PX,
    frame.head + frame.side + STRIP_GAP_PX,
  ];
  picture.names.forEach((_, place) => {
    const [row, column] = [picture.rowMedian[place], picture.columnMedian[place]];
    if (row !== undefined && !Number.isNaN(row)) {
      pen.fillStyle = ratioColor(row, top, theme);
      pen.fillRect(right, frame.head + place * px, STRIP_PX, long);
    }
    if (column !== undefined && !Number.isNaN(column)) {
      pen.fillStyle = ratioColor(column, top, theme);
      pen.fillRect(frame.left + place * px, below, long, STRIP_PX);
    }
  });
}

/** Lines between leaves and, stronger, between segments; names of what has room for one. */
function drawGroups(pen: Pen, { picture, theme }: MatrixScene, frame: MatrixFrame, px: number) {
  const line = (groups: readonly MatrixGroup[], color: string, alpha: number): void => {
    if (groups.length < 2 || groups.length * 4 > frame.side) return;
    pen.fillStyle = color;
    pen.globalAlpha = alpha;
    for (const { first } of groups.slice(1)) {
      const at = Math.round(first * px);
      pen.fillRect(frame.left + at - (px >= 7 ? 1 : 0), frame.head, 1, frame.side);
      pen.fillRect(frame.left, frame.head + at - (px >= 7 ? 1 : 0), frame.side, 1);
    }
    pen.globalAlpha = 1;
  };
  line(picture.leaves, theme.faint, 0.35);
  line(picture.segments, theme.ink, picture.segments.length > FEW_SEGMENTS ? 0.2 : 0.55);
  const own = picture.names.map((name, first) => ({ name, first, count: 1 }));
  const named = [own, picture.leaves, picture.segments].find(
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
  const above = [named, picture.leaves, picture.segments].find(
    (groups) => groups.length > 0 && frame.side / groups.length >= 46,
  );
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

function drawBands(pen: Pen, { bands, theme }: MatrixScene, frame: MatrixFrame, px: number): void {
  // The likeliest suspect is drawn last, over the others, and has the strongest line.
  for (const { firm, row, rows, column, columns } of [...bands].reverse()) {
    const line = firm ? 2 : 1;
    const out = line / 2 + 0.5;
    pen.strokeStyle = theme.mark;
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
