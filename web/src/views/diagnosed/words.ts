// Words of a diagnosis: what a cell of the lattice says, where evidence stands.
import { CELL_STATES, type DiagnosedEvidence, type Lattice, type Source } from "../../api/payload";
import { whole } from "../../ui/format";

const told = (value: number): string => (Number.isFinite(value) ? whole(value) : "not told");

/** What a cell says; `joined` cells stand for several, of which this is the one worth the most. */
export function cellLines(
  lattice: Lattice,
  cell: number,
  open: number | undefined,
  joined: boolean,
): string[] {
  const { cells, ranks, groups } = lattice;
  const [rank, state] = [cells.rank[cell] ?? 0, cells.state[cell] ?? 0];
  const waits = ranks.waits_for.at(rank);
  const lines: string[] = [CELL_STATES[state] ?? ""];
  if (joined)
    lines.unshift(
      `shown: rank ${ranks.rank[rank] ?? ""} in ${groups.name.at(cells.group[cell] ?? 0)}`,
    );
  if (open !== undefined) {
    const of = lattice.open;
    const [count, started, frame] = [of.count[open] ?? 1, of.started.at(open), of.frame.at(open)];
    const more = count > 1 ? `, the first of ${whole(count)}` : "";
    lines.push(`${of.name.at(open)} ${told(of.sequence[open] ?? NaN)}${more}`);
    if (started !== "") lines.push(`seen ${started} on the GPU`);
    lines.push(
      `last enqueued ${told(of.enqueued[open] ?? NaN)}, last ended ${told(of.ended[open] ?? NaN)}`,
    );
    if (frame !== "") lines.push(`asked for at ${frame}`);
  }
  lines.push(`rank ${ranks.rank[rank] ?? ""}: ${ranks.standing.at(rank)}`);
  if (waits !== "") lines.push(`waits for rank ${waits}`);
  return lines;
}

/** A measured value beside what was to be expected. */
export function measured(line: DiagnosedEvidence): string {
  const unit = line.unit === "" ? "" : ` ${line.unit}`;
  return `${line.value}${unit}, expected ${line.expected}`;
}

export const sourceWords = ({ file, place }: Source): string =>
  place === "" ? file : `${file}, ${place}`;
