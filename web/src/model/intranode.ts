// A sweep over loads as panels of lines, and what the page shows of it, in the URL's hash.
import { CLASSES, type MessageClass } from "../api/intranode";
import type { Intranode } from "../api/payload";

/** Short name of an axis: `pattern` of `intranode.pattern`. */
export const shortAxis = (axis: string): string => axis.slice(axis.lastIndexOf(".") + 1);

/** What one choice is called beside others that differ on `axes`. */
export function wordsOf(told: Intranode, choice: number, axes: readonly number[]): string {
  return axes
    .map((axis) => {
      const at = told.choices[choice]?.[axis] ?? 0;
      return `${shortAxis(told.axes[axis]?.name ?? "")} ${told.axes[axis]?.values[at] ?? ""}`;
    })
    .join(", ");
}

/** A line of a panel: a choice, and which of the values of the axis of lines it has. */
export interface Line {
  choice: number;
  value: number;
  name: string;
}
/** Choices that differ on the axis of lines alone. */
export interface PanelOf {
  title: string;
  lines: Line[];
}

/** The axis whose values are lines: as asked; else the pattern or the share that leaves hosts, as in the paper; else
 * the last. Null without axes. */
export function lineAxis(told: Intranode, asked: string | null): number | null {
  const named = (name: string): number => told.axes.findIndex((axis) => axis.name === name);
  const found = [asked ?? "", "intranode.pattern", "intranode.inter"].map(named);
  return found.find((axis) => axis >= 0) ?? (told.axes.length > 0 ? told.axes.length - 1 : null);
}

/** Panels in the order of choices. */
export function panelsOf(told: Intranode, lines: number | null): PanelOf[] {
  const others = told.axes.map((_, axis) => axis).filter((axis) => axis !== lines);
  const panels = new Map<string, PanelOf>();
  told.choices.forEach((at, choice) => {
    const title = wordsOf(told, choice, others);
    const panel = panels.get(title) ?? { title, lines: [] };
    panels.set(title, panel);
    const value = lines === null ? 0 : (at[lines] ?? 0);
    const name = lines === null ? told.name : (told.axes[lines]?.values[value] ?? "");
    panel.lines.push({ choice, value, name });
  });
  return [...panels.values()];
}

/** Row of a choice at a load. */
export const rowOf = (told: Intranode, choice: number, load: number): number =>
  choice * told.loads.length + load;

/** What the upper half of a picture of throughput shows: what GPUs receive from their host, or from everywhere. */
export const ABOVE = ["inside", "all"] as const;
export type Above = (typeof ABOVE)[number];

export interface IntranodeState {
  /** Name of the axis whose values are lines; null: the pattern, or the last axis. */
  lines: string | null;
  above: Above;
  messages: MessageClass;
}
export const INTRANODE_START: IntranodeState = { lines: null, above: "inside", messages: "inter" };

/** Reads a hash; what it does not name, or names wrongly, stays as at the start. */
export function intranodeStateOf(hash: string): IntranodeState {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const messages = CLASSES.find((name) => name === given.get("messages"));
  const above = ABOVE.find((name) => name === given.get("above"));
  return {
    lines: given.get("lines"),
    above: above ?? INTRANODE_START.above,
    messages: messages ?? INTRANODE_START.messages,
  };
}

/** The hash of a state, naming only what differs from the start. */
export function intranodeHashOf(state: IntranodeState): string {
  const named = new URLSearchParams();
  if (state.lines !== null) named.set("lines", state.lines);
  if (state.above !== INTRANODE_START.above) named.set("above", state.above);
  if (state.messages !== INTRANODE_START.messages) named.set("messages", state.messages);
  const text = named.toString();
  return text === "" ? "" : `#${text}`;
}
