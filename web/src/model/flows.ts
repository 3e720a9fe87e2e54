// Flows over links: which flows cross a link, which hosts they join, which links a selection lights.
import type { DeviceRow, Flows, LinkLists, LinkRow, Moves, Run } from "../api/payload";
import { endsOf, linksAt, type Fabric } from "./fabric";
import type { PageState } from "./page_state";

/** Links of one list. */
export const linksOf = (lists: LinkLists, row: number): Uint32Array =>
  lists.links.subarray(lists.start[row] ?? 0, lists.start[row + 1] ?? 0);

/** Flows by link: rows of flows that cross link l are flows[start[l] .. start[l + 1]], ascending. */
interface ByLink {
  start: Uint32Array;
  flows: Uint32Array;
}
const known = new WeakMap<Flows, ByLink>();

function byLink(flows: Flows, links: number): ByLink {
  const made = known.get(flows);
  if (made) return made;
  const start = new Uint32Array(links + 1);
  for (const link of flows.path.links) start[link + 1] = (start[link + 1] ?? 0) + 1;
  for (let link = 0; link < links; link++)
    start[link + 1] = (start[link + 1] ?? 0) + (start[link] ?? 0);
  const next = start.slice();
  const rows = new Uint32Array(flows.path.links.length);
  for (let flow = 0; flow < flows.rows; flow++)
    for (const link of linksOf(flows.path, flow)) {
      const place = next[link] ?? 0;
      rows[place] = flow;
      next[link] = place + 1;
    }
  const found = { start, flows: rows };
  known.set(flows, found);
  return found;
}

/** Listed flows that cross a link. */
export function flowsOnLink(run: Run, link: LinkRow): Uint32Array {
  if (!run.flows) return new Uint32Array(0);
  const index = byLink(run.flows, run.links.rows);
  return index.flows.subarray(index.start[link] ?? 0, index.start[link + 1] ?? 0);
}

/** Listed flows that touch a device, each once, ascending. */
export function flowsAtDevice(fabric: Fabric, device: DeviceRow): Uint32Array {
  const found = new Set<number>();
  for (const link of linksAt(fabric, device))
    for (const flow of flowsOnLink(fabric.run, link)) found.add(flow);
  return Uint32Array.from(found).sort();
}

/** Listed flows from one host to another. */
export function flowsOfPair(flows: Flows, pair: readonly [DeviceRow, DeviceRow]): Uint32Array {
  const found: number[] = [];
  for (let row = 0; row < flows.rows; row++)
    if (flows.source_host[row] === pair[0] && flows.target_host[row] === pair[1]) found.push(row);
  return Uint32Array.from(found);
}

/** Listed flows that the selection asks for: of the pair, else over the link, else at the device. */
export function flowsOfSelection(
  fabric: Fabric,
  selected: { pair: PageState["pair"]; link: LinkRow | null; device: DeviceRow | null },
): Uint32Array {
  const { flows } = fabric.run;
  if (!flows) return new Uint32Array(0);
  if (selected.pair) return flowsOfPair(flows, selected.pair);
  if (selected.link !== null) return flowsOnLink(fabric.run, selected.link);
  if (selected.device !== null) return flowsAtDevice(fabric, selected.device);
  return Uint32Array.from({ length: flows.rows }, (_, row) => row);
}

export interface HostPair {
  source: DeviceRow;
  target: DeviceRow;
  flows: number;
  bytes: number;
  /** Different paths that its flows take; packets that are spread take all ways over their links. */
  paths: number;
}

/** Ways from host to host over links that stand hop by hop: 1 for a path. */
export function waysOver(run: Run, links: Uint32Array): number {
  const [first] = links.length > 0 ? endsOf(run, links[0] ?? 0) : [0];
  const ways = new Map<DeviceRow, number>([[first, 1]]);
  let ended = 0;
  for (const link of links) {
    const [source, target] = endsOf(run, link);
    const more = ways.get(source) ?? 0;
    if (run.devices.kind[target] === 0) ended += more;
    else ways.set(target, (ways.get(target) ?? 0) + more);
  }
  return ended;
}

/** The pairs of hosts that flows join, by source and target. */
export function hostPairs(run: Run, flows: Flows, rows: Uint32Array): HostPair[] {
  const found = new Map<number, HostPair & { seen: Map<string, number> }>();
  for (const row of rows) {
    const [source, target] = [flows.source_host[row] ?? 0, flows.target_host[row] ?? 0];
    const key = source * 2 ** 26 + target;
    let pair = found.get(key);
    if (!pair) {
      pair = { source, target, flows: 0, bytes: 0, paths: 0, seen: new Map() };
      found.set(key, pair);
    }
    pair.flows += 1;
    pair.bytes += flows.bytes[row] ?? 0;
    const links = linksOf(flows.path, row);
    const name = links.join();
    if (!pair.seen.has(name)) pair.seen.set(name, waysOver(run, links));
  }
  return [...found.values()]
    .map(({ seen, ...pair }) => ({
      ...pair,
      paths: [...seen.values()].reduce((sum, ways) => sum + ways, 0),
    }))
    .sort((a, b) => a.source - b.source || a.target - b.target);
}

/** Rows of moves of one epoch. */
export function movesOf(moves: Moves, epoch: number): Uint32Array {
  const found: number[] = [];
  for (let row = 0; row < moves.rows; row++) if (moves.epoch[row] === epoch) found.push(row);
  return Uint32Array.from(found);
}

/** Links that a selection draws: as they are, given up (dashed) or taken up (solid). */
export interface Strokes {
  kept: Set<LinkRow>;
  old: Set<LinkRow>;
  fresh: Set<LinkRow>;
  /** Host and leaf where a path begins, and where one ends. */
  starts: [DeviceRow, DeviceRow][];
  ends: [DeviceRow, DeviceRow][];
}

/** What some gave up and others took up stays as it is. */
function joinKept(strokes: Strokes): void {
  for (const link of strokes.old)
    if (strokes.fresh.delete(link)) {
      strokes.old.delete(link);
      strokes.kept.add(link);
    }
}

/** The links of what is picked: a move or all moves of the epoch, a decision or its batch, a flow, a pair of hosts;
 * null: nothing is. */
export function strokesOf(
  run: Run,
  page: Pick<PageState, "list" | "flow" | "pair" | "epoch" | "move" | "batch" | "action">,
): Strokes | null {
  const { flows, moves, control } = run;
  const strokes: Strokes = {
    kept: new Set(),
    old: new Set(),
    fresh: new Set(),
    starts: [],
    ends: [],
  };
  if (page.list === "moves" && moves) {
    const picked = page.move !== null && page.move < moves.rows ? page.move : null;
    for (const row of picked !== null ? [picked] : movesOf(moves, page.epoch)) {
      for (const link of linksOf(moves.before, row)) strokes.old.add(link);
      for (const link of linksOf(moves.after, row)) strokes.fresh.add(link);
    }
    joinKept(strokes);
  } else if (page.list === "actions" && control) {
    const { action, batch } = page;
    const [of, row] =
      action !== null && action < control.actions.rows
        ? [control.actions, action]
        : [control.batches, batch !== null && batch < control.batches.rows ? batch : null];
    if (row === null) return null;
    for (const link of linksOf(of.left, row)) strokes.old.add(link);
    for (const link of linksOf(of.taken, row)) strokes.fresh.add(link);
    joinKept(strokes);
  } else if (flows && page.flow !== null && page.flow < flows.rows) {
    for (const link of linksOf(flows.path, page.flow)) strokes.kept.add(link);
  } else if (flows && page.pair) {
    for (const row of flowsOfPair(flows, page.pair))
      for (const link of linksOf(flows.path, row)) strokes.kept.add(link);
  }
  const all = [strokes.kept, strokes.old, strokes.fresh];
  if (all.every((links) => links.size === 0)) return null;
  for (const links of all)
    for (const link of links) {
      const [source, target] = endsOf(run, link);
      if (run.devices.kind[source] === 0) strokes.starts.push([source, target]);
      else if (run.devices.kind[target] === 0) strokes.ends.push([target, source]);
    }
  return strokes;
}

/** Devices that strokes touch. */
export function devicesOf(run: Run, strokes: Strokes): Set<DeviceRow> {
  const found = new Set<DeviceRow>();
  for (const links of [strokes.kept, strokes.old, strokes.fresh])
    for (const link of links) for (const device of endsOf(run, link)) found.add(device);
  return found;
}

/** Switches that packets enter, hop by hop: one each on a path, several where packets are spread. */
function hopsOf(run: Run, links: Uint32Array): DeviceRow[][] {
  const hopOf = new Map<DeviceRow, number>();
  const hops: DeviceRow[][] = [];
  for (const link of links) {
    const [source, target] = endsOf(run, link);
    if (run.devices.kind[target] === 0 || hopOf.has(target)) continue;
    const hop = (hopOf.get(source) ?? -1) + 1;
    hopOf.set(target, hop);
    (hops[hop] ??= []).push(target);
  }
  return hops;
}

/** The switches of a path, in order: "leaf-0 › spine-1 › leaf-4", "leaf-0 › 8 switches › leaf-4" where packets are
 * spread; with another path, those that it does not share. */
export function pathWords(run: Run, links: Uint32Array, other?: Uint32Array): string {
  if (links.length === 0) return "no route";
  const all = hopsOf(run, links);
  const shared = new Set(other ? hopsOf(run, other).flat() : []);
  const own = all
    .map((hop) => hop.filter((device) => !shared.has(device)))
    .filter((hop) => hop.length > 0);
  const words = (hop: DeviceRow[]): string =>
    hop.length === 1 ? run.devices.name.at(hop[0] ?? 0) : `${hop.length} switches`;
  // Over the same switches, another of parallel links: then all are named.
  return (own.length > 0 ? own : all).map(words).join(" › ");
}
