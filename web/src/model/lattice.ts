// A hang as ranks by communicators: which rows are shown, which ranks are joined to a column, what a cell shows.
import { MARK, type Lattice } from "../api/payload";

/** A row of the picture: communicators of one purpose together, or one of them. */
export interface LatticeRow {
  label: string;
  /** Its kind; one communicator of an open kind has its group, too. */
  kind: number;
  group: number | null;
  /** First and last group, which stand after each other. */
  groups: number[];
}
/** Communicators of an open kind that are shown, those first that do not go on. */
const GROUPS_SHOWN = 48;
export const PENDING = 3;
export const NEVER = 4;

/** What stands in each group, by the order of cells. */
function starts(lattice: Lattice): Uint32Array {
  const start = new Uint32Array(lattice.groups.rows + 1);
  for (const group of lattice.cells.group) start[group + 1] = (start[group + 1] ?? 0) + 1;
  for (let i = 0; i < lattice.groups.rows; i++)
    start[i + 1] = (start[i + 1] ?? 0) + (start[i] ?? 0);
  return start;
}

/** Rows of the lattice, with the communicators of the open kind under it. */
export function latticeRows(lattice: Lattice, open: number | null): LatticeRow[] {
  const of: number[][] = lattice.kinds.map(() => []);
  lattice.groups.kind.forEach((kind, group) => of[kind]?.push(group));
  const start = starts(lattice);
  const worst = (group: number): number => {
    let most = 0;
    for (let cell = start[group] ?? 0; cell < (start[group + 1] ?? 0); cell++)
      most = Math.max(most, lattice.cells.state[cell] ?? 0);
    return most;
  };
  return lattice.kinds.flatMap((name, kind) => {
    const groups = of[kind] ?? [];
    const [only] = groups;
    const alone = groups.length === 1 && only !== undefined;
    const label = alone ? lattice.groups.name.at(only) : name;
    const whole: LatticeRow = { label, kind, group: alone ? only : null, groups };
    if (kind !== open || alone) return [whole];
    const order = groups
      .map((group) => ({ group, most: worst(group) }))
      .sort((a, b) => b.most - a.most || a.group - b.group)
      .slice(0, GROUPS_SHOWN)
      .sort((a, b) => a.group - b.group);
    return [
      whole,
      ...order.map(({ group }) => ({
        label: lattice.groups.name.at(group),
        kind,
        group,
        groups: [group],
      })),
    ];
  });
}

/** How many ranks a column joins so that it is `least` wide. */
export const joinedRanks = (ranks: number, width: number, least: number): number =>
  Math.max(1, Math.ceil((ranks * least) / Math.max(1, width)));

/** What each row shows of each column: the cell that is worth the most, -1 where there is none. */
export function latticeGrid(
  lattice: Lattice,
  rows: readonly LatticeRow[],
  from: number,
  to: number,
  per: number,
): Int32Array[] {
  const start = starts(lattice);
  const columns = Math.ceil((to - from) / per);
  const { cells, ranks } = lattice;
  const weight = (cell: number): number =>
    (cells.state[cell] ?? 0) * 4 + (ranks.mark[cells.rank[cell] ?? 0] ?? 0);
  return rows.map(({ groups }) => {
    const shown = new Int32Array(columns).fill(-1);
    for (const group of groups)
      for (let cell = start[group] ?? 0; cell < (start[group + 1] ?? 0); cell++) {
        const rank = cells.rank[cell] ?? 0;
        if (rank < from || rank >= to) continue;
        const column = Math.floor((rank - from) / per);
        const known = shown[column] ?? -1;
        if (known < 0 || weight(cell) > weight(known)) shown[column] = cell;
      }
    return shown;
  });
}

/** Rows of `open` by cell. */
export function openByCell(lattice: Lattice): Map<number, number> {
  const by = new Map<number, number>();
  lattice.open.cell.forEach((cell, row) => by.set(cell, row));
  return by;
}

/** Rows of ranks that are named, culprits first. */
export function marked(lattice: Lattice): number[] {
  const { mark } = lattice.ranks;
  const all = Array.from(mark.keys()).filter((row) => (mark[row] ?? 0) > MARK.none);
  return all.sort((a, b) => (mark[b] ?? 0) - (mark[a] ?? 0) || a - b);
}

/** What is shown of a diagnosis: the evidence that is open, the kind of communicators that is, the ranks in sight. */
export interface DiagnosedState {
  finding: number | null;
  evidence: number | null;
  kind: number | null;
  from: number;
  to: number | null;
}
export const DIAGNOSED_START: DiagnosedState = {
  finding: null,
  evidence: null,
  kind: null,
  from: 0,
  to: null,
};

const KEYS = ["finding", "evidence", "kind", "from", "to"] as const;

/** Reads a hash; what it does not name, or names wrongly, stays as at the start. */
export function diagnosedStateOf(hash: string): DiagnosedState {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...DIAGNOSED_START };
  for (const key of KEYS) {
    const text = given.get(key);
    if (text !== null && /^\d{1,9}$/.test(text)) state[key] = Number(text);
  }
  return state;
}

/** The hash of a state, naming only what differs from the start. */
export function diagnosedHashOf(state: DiagnosedState): string {
  const named = new URLSearchParams();
  for (const key of KEYS)
    if (state[key] !== DIAGNOSED_START[key]) named.set(key, String(state[key]));
  const text = named.toString();
  return text === "" ? "" : `#${text}`;
}
