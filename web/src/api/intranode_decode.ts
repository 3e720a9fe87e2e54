// Decodes traffic inside hosts over loads; what passes here is trusted afterwards.
import { f64, table } from "./columns";
import { CLASSES, type Intranode, type IntranodeAxis, type IntranodeSaturated } from "./intranode";
import { count, fields, finite, list, PayloadError, refuse, text, textItem } from "./read";

/** Names of the parts in columns of points, in the order in which a message passes them. */
const PARTS = [
  "source_gpu",
  "source_intra",
  "source_nic",
  "inter",
  "target_nic",
  "target_intra",
  "target_gpu",
] as const;

function axisOf(value: unknown, at: string): IntranodeAxis {
  const from = fields(value, at);
  return { name: text(from, "name", at), values: list(from, "values", at, textItem) };
}

const number = (value: unknown, at: string): number =>
  typeof value === "number" && Number.isFinite(value) ? value : refuse(at, value, "a number");

function saturatedOf(value: unknown, at: string): IntranodeSaturated {
  const from = fields(value, at);
  const part = count(from, "part", at);
  if (part >= PARTS.length) refuse(`${at}.part`, part, `an index below ${PARTS.length}`);
  return { part, load: finite(from, "load", at) };
}

export function decodeIntranode(value: unknown, at: string): Intranode {
  const from = fields(value, at);
  const axes = list(from, "axes", at, axisOf);
  const loads = list(from, "loads", at, number);
  if (loads.length < 2 || loads.some((load, i) => i > 0 && load <= (loads[i - 1] ?? 0)))
    refuse(`${at}.loads`, loads, "two loads or more, ascending");
  const choices = list(from, "choices", at, (choice, place) => {
    if (!Array.isArray(choice) || choice.length !== axes.length)
      refuse(place, choice, `a list of ${axes.length} indices, one for each axis`);
    return choice.map((index: unknown, axis) => {
      const values = axes[axis]?.values.length ?? 0;
      if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= values)
        refuse(`${place}[${axis}]`, index, `an index into the values of the axis (${values})`);
      return index;
    });
  });
  const each = (key: string, entries: number): void => {
    if (entries !== choices.length)
      throw new PayloadError(
        `${at}.${key} has ${entries} entries; expected ${choices.length}, one for each choice`,
      );
  };
  const saturated = list(from, "saturated", at, (load, place) =>
    load === null ? null : number(load, place),
  );
  each("saturated", saturated.length);
  const orders = list(from, "orders", at, (order, place) =>
    Array.isArray(order)
      ? order.map((one, i) => saturatedOf(one, `${place}[${i}]`))
      : refuse(place, order, "a list"),
  );
  each("orders", orders.length);
  const parts = list(from, "parts", at, textItem);
  if (parts.length !== PARTS.length) refuse(`${at}.parts`, parts, `${PARTS.length} names`);
  const { rows, column } = table(from["points"], `${at}.points`);
  if (rows !== choices.length * loads.length)
    throw new PayloadError(
      `${at}.points has ${rows} rows; expected ${choices.length * loads.length}, one for each choice and load`,
    );
  const [intra, inter] = CLASSES.map((name) =>
    PARTS.map((part) => column(`${name}_latency_${part}`, f64)),
  );
  return {
    name: text(from, "name", at),
    fabric_name: text(from, "fabric_name", at),
    description: text(from, "description", at),
    version: text(from, "version", at),
    headline: text(from, "headline", at),
    axes,
    loads,
    choices,
    parts,
    points: {
      rows,
      capacity: column("capacity", f64),
      offered_rate: column("offered_rate", f64),
      intra_rate: column("intra_rate", f64),
      inter_rate: column("inter_rate", f64),
      network_rate: column("network_rate", f64),
      carried_share: column("carried_share", f64),
      refused_share: column("refused_share", f64),
      latency: { intra: column("intra_latency", f64), inter: column("inter_latency", f64) },
      parts: { intra: intra ?? [], inter: inter ?? [] },
    },
    saturated,
    orders,
    short_of: finite(from, "short_of", at),
  };
}
