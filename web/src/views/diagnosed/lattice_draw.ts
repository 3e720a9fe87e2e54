// Draws ranks by communicators with whatever pen it is given; says which cell lies under a point.
import { CELL_STATES, MARK, type Lattice } from "../../api/payload";
import type { LatticeRow } from "../../model/lattice";
import type { Theme } from "../../ui/colors";
import { font, type Pen } from "../../ui/pen";

export interface LatticeFrame {
  width: number;
  /** Width of the names at the left. */
  gutter: number;
  /** Ranks in sight, and how many a column joins. */
  from: number;
  to: number;
  per: number;
}
export interface LatticePicture {
  lattice: Lattice;
  rows: readonly LatticeRow[];
  grid: readonly Int32Array[];
  open: number | null;
  theme: Theme;
}
export interface At {
  row: number;
  column: number;
}

const HEAD_PX = 44;
const ROW_PX = 22;
const INNER_PX = 16;
const FOOT_PX = 6;
const GAP_PX = 1;
/** Cells less wide have no glyph. */
const GLYPH_PX = 9;
const LABEL_PX = 26;

/** Colour of a state, by its place in CELL_STATES. */
export function stateColor(state: number, theme: Theme): string {
  const dark = theme.name === "dark";
  switch (CELL_STATES[state]) {
    case "done":
      return dark ? "#2b323a" : "#dfe4e9";
    case "no dump":
      return dark ? "#0a0b0d" : "#3a414a";
    case "not told":
      return dark ? "#5d6672" : "#aab2bb";
    case "pending":
      return dark ? "#3d9bdc" : "#2f7fb8";
    default:
      return dark ? "#ff8a3d" : "#d55e00";
  }
}

export const columnsOf = (frame: LatticeFrame): number =>
  Math.ceil((frame.to - frame.from) / frame.per);
export const columnPx = (frame: LatticeFrame): number =>
  Math.min(40, (frame.width - frame.gutter) / Math.max(1, columnsOf(frame)));
const rowPx = (row: LatticeRow, open: number | null): number =>
  row.kind === open && row.groups.length === 1 && row.group !== null ? INNER_PX : ROW_PX;

/** Top of each row, and of what comes after the last. */
export function tops(rows: readonly LatticeRow[], open: number | null): number[] {
  const all = [HEAD_PX];
  for (const row of rows) all.push((all.at(-1) ?? 0) + rowPx(row, open));
  return all;
}
export const latticeHeight = (rows: readonly LatticeRow[], open: number | null): number =>
  (tops(rows, open).at(-1) ?? HEAD_PX) + FOOT_PX;

/** Row and column under a point, -1 where it lies beside them. */
export function pointAt(
  picture: Pick<LatticePicture, "rows" | "open">,
  frame: LatticeFrame,
  x: number,
  y: number,
): At {
  const all = tops(picture.rows, picture.open);
  const row = all.findIndex((top, i) => y >= top && y < (all[i + 1] ?? -1));
  const column = Math.floor((x - frame.gutter) / columnPx(frame));
  return { row, column: x >= frame.gutter && column < columnsOf(frame) ? column : -1 };
}

/** Ranks of a column as words. */
export function ranksOf(lattice: Lattice, frame: LatticeFrame, column: number): string {
  const first = frame.from + column * frame.per;
  const last = Math.min(frame.to, first + frame.per) - 1;
  const rank = (row: number): string => String(lattice.ranks.rank[row] ?? "");
  return first === last ? `rank ${rank(first)}` : `ranks ${rank(first)} to ${rank(last)}`;
}

/** The highest mark of a column, and the rank that has it. */
function markOf(
  lattice: Lattice,
  frame: LatticeFrame,
  column: number,
): { mark: number; rank: number } {
  const first = frame.from + column * frame.per;
  let found = { mark: 0, rank: lattice.ranks.rank[first] ?? 0 };
  for (let row = first; row < Math.min(frame.to, first + frame.per); row++) {
    const mark = lattice.ranks.mark[row] ?? 0;
    if (mark > found.mark) found = { mark, rank: lattice.ranks.rank[row] ?? 0 };
  }
  return found;
}

/** A text that fits, cut in its middle where it does not. */
function fitted(pen: Pen, text: string, room: number): string {
  if (pen.measureText(text).width <= room) return text;
  for (let kept = text.length - 1; kept > 4; kept--) {
    const head = Math.ceil(kept / 2);
    const cut = `${text.slice(0, head)}…${text.slice(text.length - (kept - head))}`;
    if (pen.measureText(cut).width <= room) return cut;
  }
  return "…";
}

/** States are told by more than colour: a cross is missing, a dot open, a stroke without a dump. */
function glyph(pen: Pen, state: number, x: number, y: number, w: number, h: number, theme: Theme) {
  const [cx, cy] = [x + w / 2, y + h / 2];
  const r = Math.min(w, h, 14) / 4;
  pen.strokeStyle = theme.page;
  pen.lineWidth = 1.4;
  pen.beginPath();
  switch (CELL_STATES[state]) {
    case "never enqueued":
      pen.moveTo(cx - r, cy - r);
      pen.lineTo(cx + r, cy + r);
      pen.moveTo(cx + r, cy - r);
      pen.lineTo(cx - r, cy + r);
      break;
    case "pending":
      pen.fillStyle = theme.page;
      pen.fillRect(cx - r / 2, cy - r / 2, r, r);
      return;
    case "no dump":
      pen.strokeStyle = theme.name === "dark" ? theme.soft : theme.page;
      pen.moveTo(cx - r, cy);
      pen.lineTo(cx + r, cy);
      break;
    case "not told":
      pen.moveTo(cx - r, cy + r);
      pen.lineTo(cx + r, cy - r);
      break;
    default:
      return;
  }
  pen.stroke();
}

export function drawLattice(pen: Pen, picture: LatticePicture, frame: LatticeFrame): void {
  const { lattice, rows, grid, open, theme } = picture;
  const all = tops(rows, open);
  const height = (all.at(-1) ?? HEAD_PX) + FOOT_PX;
  const [wide, columns] = [columnPx(frame), columnsOf(frame)];
  const gap = wide >= 4 ? GAP_PX : 0;
  pen.fillStyle = theme.page;
  pen.fillRect(0, 0, frame.width, height);
  // Columns of who is named stand out from top to bottom.
  let labelled = -Infinity;
  const named: { x: number; mark: number; rank: number }[] = [];
  for (let column = 0; column < columns; column++) {
    const { mark, rank } = markOf(lattice, frame, column);
    const x = frame.gutter + column * wide;
    if (mark > MARK.none) named.push({ x, mark, rank });
  }
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  for (const { x, mark, rank } of named) {
    const color = mark === MARK.culprit ? theme.mark : theme.warn;
    pen.strokeStyle = color;
    pen.lineWidth = 2;
    if (mark === MARK.suspect) pen.setLineDash([3, 3]);
    pen.strokeRect(x - 0.5, HEAD_PX - 3, Math.max(wide, 3), height - HEAD_PX - FOOT_PX + 5);
    pen.setLineDash([]);
    const at = x + wide / 2;
    if (at - labelled < LABEL_PX) continue;
    labelled = at;
    pen.fillStyle = color;
    pen.font = font(12, 650);
    pen.fillText(String(rank), at, 12);
    pen.beginPath();
    pen.moveTo(at - 4, 21);
    pen.lineTo(at + 4, 21);
    pen.lineTo(at, 27);
    pen.fill();
  }
  pen.font = font(11);
  pen.fillStyle = theme.soft;
  const every = Math.max(1, Math.ceil(LABEL_PX / wide));
  for (let column = 0; column < columns; column += every) {
    const x = frame.gutter + (column + 0.5) * wide;
    pen.fillText(String(lattice.ranks.rank[frame.from + column * frame.per] ?? ""), x, 34);
  }
  pen.textAlign = "left";
  pen.fillText("rank", Math.max(0, frame.gutter - 34), 34);
  rows.forEach((row, i) => {
    const [top, bottom] = [all[i] ?? 0, all[i + 1] ?? 0];
    const inner = bottom - top === INNER_PX;
    const [y, h] = [top + gap, bottom - top - 2 * gap];
    pen.font = font(inner ? 11 : 12, inner ? 400 : 550);
    pen.fillStyle = inner ? theme.soft : theme.ink;
    const many = row.groups.length > 1;
    const sign = many ? (row.kind === open ? "▾ " : "▸ ") : "";
    const count = many ? `  ${row.groups.length}×` : "";
    const left = inner ? 14 : 0;
    const room = frame.gutter - 10 - left - pen.measureText(sign + count).width;
    pen.fillText(sign + fitted(pen, row.label, room) + count, left, top + (bottom - top) / 2);
    const shown = grid[i];
    if (!shown) return;
    for (let column = 0; column < columns; column++) {
      const cell = shown[column] ?? -1;
      if (cell < 0) continue;
      const state = lattice.cells.state[cell] ?? 0;
      const x = frame.gutter + column * wide;
      pen.fillStyle = stateColor(state, theme);
      pen.fillRect(x + gap / 2, y, wide - gap, h);
      if (state > 0 && wide >= GLYPH_PX) glyph(pen, state, x, y, wide, h, theme);
    }
  });
}
