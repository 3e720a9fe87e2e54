// Decisions of controllers in words: lines of the time bar's tip, columns of the map's lists.
import { NOT_APPLICABLE, type Batches, type Control, type Run } from "../../api/payload";
import {
  actionsOf,
  deedOf,
  isOfHosts,
  momentOf,
  reasonOf,
  whatOf,
  type DecisionMark,
} from "../../model/control";
import { time, whole } from "../../ui/format";
import type { TableColumn } from "../../ui/table";

/** Decisions that a mark spells out; of more it says how many. */
const LINES_MAX = 4;

/** When a batch was decided and holds: "decided 44.00 us, in effect 6.00 us later". */
export function whenOf(batches: Batches, row: number, duration_ps: number): string {
  const decided = batches.decided_ps[row] ?? 0;
  const effective = momentOf(batches, row);
  if (effective === 0) return "from the start";
  const head = `decided at ${time(decided, 4)}`;
  if (Number.isNaN(effective))
    return `${head}, ${isOfHosts(batches, row) ? "without effect" : "not taken by the switch"}`;
  const after = effective === decided ? "at once" : `${time(effective - decided)} later`;
  const end = effective > duration_ps ? ", after the end" : "";
  return `${head}, in effect ${after}${end}`;
}

/** Lines of a mark: what and why, when, and what moved; a line each where it stands for several. */
export function linesOf(control: Control, mark: DecisionMark, duration_ps: number): string[] {
  const { batches } = control;
  const said = (row: number): string =>
    `${batches.controller.at(row)} ${whatOf(batches, row)} (${reasonOf(batches, row)})`;
  const [first] = mark.batches;
  if (first === undefined) return [];
  if (mark.batches.length === 1)
    return [
      said(first),
      whenOf(batches, first, duration_ps),
      movedOf(batches, first),
      hostsOf(control, first),
    ].filter((line) => line !== "");
  const lines = mark.batches
    .slice(0, LINES_MAX)
    .map((row) => `${said(row)}, ${whenOf(batches, row, duration_ps)}`);
  const more = mark.batches.length - LINES_MAX;
  return more > 0 ? [...lines, `and ${whole(more)} more`] : lines;
}

/** Hosts that a batch took out, and the spares that took their places: "host-3 to host-8"; empty where it did neither. */
function hostsOf(control: Control, batch: number): string {
  if (!isOfHosts(control.batches, batch)) return "";
  const { subject, after } = control.actions;
  const said = (row: number): string =>
    after.at(row) === "" ? subject.at(row) : `${subject.at(row)} to ${after.at(row)}`;
  const rows = [...actionsOf(control, batch)];
  const more = rows.length - LINES_MAX;
  const listed = rows.slice(0, LINES_MAX).map(said).join(", ");
  return more > 0 ? `${listed} and ${whole(more)} more` : listed;
}

/** Links that a batch left and took up, in words; empty where it has none. */
export function movedOf(batches: Batches, row: number): string {
  const [left, taken] = [batches.left_total[row] ?? 0, batches.taken_total[row] ?? 0];
  if (left + taken === 0) return "";
  const links = (count: number): string => `${whole(count)} ${count === 1 ? "link" : "links"}`;
  return `left ${links(left)}, took ${links(taken)}`;
}

const text = (
  key: string,
  label: string,
  value: (i: number) => string,
  more: Partial<TableColumn> = {},
): TableColumn => ({ key, label, value, search: true, ...more });

export function batchColumns(batches: Batches, duration_ps: number): TableColumn[] {
  const moment = (key: string, label: string, of: Float64Array): TableColumn => ({
    key,
    label,
    width: "5.6rem",
    align: "right",
    unit: "ps",
    value: (i) => of[i] ?? Number.NaN,
    text: (i) => {
      const at = of[i] ?? Number.NaN;
      if (Number.isNaN(at)) return isOfHosts(batches, i) ? "never" : "not taken";
      return at > duration_ps ? "after the end" : time(at, 4);
    },
  });
  return [
    moment("decided", "Decided", batches.decided_ps),
    moment("effective", "In effect", batches.effective_ps),
    text("controller", "Who", (i) => batches.controller.at(i), { width: "4.6rem" }),
    text("action", "What", (i) => batches.action.at(i), { text: (i) => deedOf(batches, i) }),
    text("reason", "Why", (i) => batches.reason.at(i), {
      width: "7rem",
      text: (i) => reasonOf(batches, i),
    }),
    {
      key: "moved",
      label: "Moved",
      width: "4.2rem",
      align: "right",
      value: (i) => batches.moved[i] ?? 0,
      text: (i) => whole(batches.moved[i] ?? 0),
    },
  ];
}

/** Single decisions: `rows` are rows of the run's actions. */
export function actionColumns(run: Run, control: Control, rows: Uint32Array): TableColumn[] {
  const { actions } = control;
  const at = (i: number): number => rows[i] ?? 0;
  const job = (i: number): string => {
    const of = actions.job[at(i)] ?? NOT_APPLICABLE;
    return of === NOT_APPLICABLE ? "" : (run.jobs[of] ?? "");
  };
  return [
    text("job", "Job", job, { csvOnly: true }),
    text("subject", "What", (i) => actions.subject.at(at(i)), {
      text: (i) => actions.subject.at(at(i)).replace(INTO, ""),
    }),
    text("before", "Left", (i) => actions.before.at(at(i)), {
      width: "7.6rem",
      text: (i) => briefly(actions.before.at(at(i))),
    }),
    text("after", "Took", (i) => actions.after.at(at(i)), {
      width: "7.6rem",
      text: (i) => briefly(actions.after.at(at(i))),
    }),
  ];
}

/** The far end of a link's name, where the near one says which it is. */
const INTO = / > [^ ]+/;

/** The uplink alone: "leaf-0:uplink-1, source port 49166" and "leaf-0:uplink-1 > spine-1:downlink-0" begin with it. */
const briefly = (said: string): string => said.replace(INTO, "").split(", ")[0] || "–";
