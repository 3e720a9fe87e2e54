// Where each device lies on the fabric map: pods are grids, rows segments, columns leaves by plane
// and rail; spines are a strip per plane above their pod, cores above all pods.
import { NOT_APPLICABLE, type DeviceRow, type LinkRow } from "../api/payload";
import { endsOf, goesUp, linksAt, type Fabric } from "./fabric";

export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}
export interface Caption extends Rect {
  /** From the fullest wording to the shortest; the first that fits is drawn. */
  forms: readonly string[];
  kind: "pod" | "plane" | "segment" | "rail" | "core";
}
/** Host ports inside a leaf's cell; arrays run over all ports, leaf by leaf. */
export interface Ports {
  /** Per device row + 1: where its ports start; only leaves have any. */
  start: Uint32Array;
  host: Uint32Array;
  /** host to leaf, leaf to host; NOT_APPLICABLE where that direction is absent. */
  up: Uint32Array;
  down: Uint32Array;
  x: Float32Array;
  y: Float32Array;
  w: Float32Array;
  h: Float32Array;
}
export interface Layout {
  width: number;
  height: number;
  /** x, y, w, h per device row; hosts have no rectangle of their own (w = 0). */
  rects: Float32Array;
  pods: Rect[];
  captions: Caption[];
  ports: Ports;
  /** Switch rows in drawing order. */
  switches: DeviceRow[];
}

/** World units; at zoom 1 one unit is one CSS pixel. */
const CELL = { w: 34, h: 22, hMost: 60, gapX: 2, gapY: 3, planeGap: 8 };
/** Spines and cores: the largest of these sizes that needs no more than two rows, three where they
 * are more than `few`; the last where none does. */
const TOP = { sizes: [20, 15, 11, 9], gap: 2, few: 16 };
const POD = { pad: 7, gutter: 24, gutterWide: 53, head: 14, plane: 11, rail: 11, gap: 10 };
/** Pods with this many columns have room for the word before a segment's number. */
const WIDE_COLUMNS = 4;
/** The part of a leaf's cell that its host ports take; the rest is a frame in the leaf's colour. */
export const PORT_INSET = 2.5;
const ASPECT_WANTED = 1.4;

interface Column {
  plane: number;
  rail: number;
  slot: number;
}

export function layOut(fabric: Fabric): Layout {
  const { devices } = fabric.run;
  const rects = new Float32Array(devices.rows * 4);
  const captions: Caption[] = [];
  const place = (device: DeviceRow, rect: Rect): void =>
    rects.set([rect.x, rect.y, rect.w, rect.h], device * 4);

  const byPod = groupByPod(fabric);
  const build = (cell: number): BuiltPod[] =>
    [...byPod].map(([pod, members]) => buildPod(fabric, pod, members, cell));
  const first = build(CELL.h);
  const w = Math.max(0, ...first.map((pod) => pod.w));
  const perRow = podsPerRow(first.length, w, Math.max(0, ...first.map((pod) => pod.h)));
  const width = Math.max(perRow * (w + POD.gap) - POD.gap, CELL.w);
  const podRows = Math.ceil(first.length / perRow);
  const built = build(tallerCell(first, podRows, width));
  const h = Math.max(0, ...built.map((pod) => pod.h));

  const cores = coreStrips(fabric, width, place, captions);
  const pods: Rect[] = [];
  built.forEach((pod, i) => {
    const x = (i % perRow) * (w + POD.gap);
    const y = cores + Math.floor(i / perRow) * (h + POD.gap);
    pods.push({ x, y, w, h: pod.h });
    for (const [device, rect] of pod.rects)
      place(device, { ...rect, x: rect.x + x, y: rect.y + y });
    for (const caption of pod.captions)
      captions.push({ ...caption, x: caption.x + x, y: caption.y + y });
  });
  const switches: DeviceRow[] = [];
  for (let row = 0; row < devices.rows; row++)
    if ((rects[row * 4 + 2] ?? 0) > 0) switches.push(row);
  return {
    width,
    height: Math.max(cores + podRows * (h + POD.gap) - POD.gap, CELL.h),
    rects,
    pods,
    captions,
    ports: placePorts(fabric, rects),
    switches,
  };
}

function groupByPod(fabric: Fabric): Map<number, DeviceRow[]> {
  const { devices } = fabric.run;
  const groups = new Map<number, DeviceRow[]>();
  for (let row = 0; row < devices.rows; row++) {
    if (devices.kind[row] !== 1 && devices.kind[row] !== 2) continue;
    const pod = devices.pod[row] ?? NOT_APPLICABLE;
    const group = groups.get(pod);
    if (group) group.push(row);
    else groups.set(pod, [row]);
  }
  return new Map([...groups].sort(([a], [b]) => a - b));
}

/** A fabric of few segments gets taller cells, so that it fills the shape of a screen. */
function tallerCell(pods: readonly BuiltPod[], podRows: number, width: number): number {
  const h = Math.max(0, ...pods.map((pod) => pod.h));
  const segments = Math.max(1, ...pods.map((pod) => pod.segments));
  const spare = width / ASPECT_WANTED - podRows * (h + POD.gap);
  return Math.min(CELL.hMost, CELL.h + Math.max(0, spare / (podRows * segments)));
}

function podsPerRow(pods: number, w: number, h: number): number {
  let [best, distance] = [1, Number.POSITIVE_INFINITY];
  for (let columns = 1; columns <= pods; columns++) {
    const rows = Math.ceil(pods / columns);
    const aspect = (columns * (w + POD.gap)) / (rows * (h + POD.gap));
    const off = Math.abs(Math.log(aspect / ASPECT_WANTED)) + (columns * rows - pods) * 0.02;
    if (off < distance) [best, distance] = [columns, off];
  }
  return best;
}

interface BuiltPod {
  w: number;
  h: number;
  segments: number;
  rects: Map<DeviceRow, Rect>;
  captions: Caption[];
}

/** One pod at the origin. */
function buildPod(
  fabric: Fabric,
  pod: number,
  members: readonly DeviceRow[],
  cell: number,
): BuiltPod {
  const { devices } = fabric.run;
  const leaves = members.filter((row) => devices.kind[row] === 1);
  const spines = members.filter((row) => devices.kind[row] === 2);
  const { columns, columnOf } = leafColumns(fabric, leaves);
  const rects = new Map<DeviceRow, Rect>();
  const captions: Caption[] = [];
  const gutter = columns.length >= WIDE_COLUMNS ? POD.gutterWide : POD.gutter;
  const left = POD.pad + gutter;

  const xs: number[] = [];
  let x = left;
  columns.forEach((column, i) => {
    if (i > 0 && columns[i - 1]?.plane !== column.plane) x += CELL.planeGap;
    xs.push(x);
    x += CELL.w + CELL.gapX;
  });
  const right = Math.max(x - CELL.gapX, left + CELL.w * 2);
  let y = POD.pad;
  if (pod !== NOT_APPLICABLE)
    captions.push({
      x: POD.pad,
      y,
      w: right - POD.pad,
      h: POD.head,
      forms: [`pod ${pod}`, `${pod}`],
      kind: "pod",
    });
  y += POD.head;

  y = spineStrips(fabric, spines, columns, xs, { left, right, y }, rects, captions);
  const rails = columns.some((column) => column.rail !== NOT_APPLICABLE);
  columns.forEach((column, i) => {
    if (!rails) return;
    const text = column.rail === NOT_APPLICABLE ? `${column.slot}` : `rail ${column.rail}`;
    captions.push({
      x: xs[i] ?? 0,
      y,
      w: CELL.w,
      h: POD.rail,
      forms: [text, text.replace("rail ", "")],
      kind: "rail",
    });
  });
  if (rails) y += POD.rail;
  y += 2;

  const segments = [...new Set(leaves.map((row) => devices.segment[row] ?? 0))].sort(
    (a, b) => a - b,
  );
  for (const segment of segments) {
    captions.push({
      x: POD.pad,
      y,
      w: gutter - 5,
      h: cell,
      forms: [`segment ${segment}`, `seg ${segment}`, `${segment}`],
      kind: "segment",
    });
    for (const leaf of leaves)
      if (devices.segment[leaf] === segment)
        rects.set(leaf, { x: xs[columnOf.get(leaf) ?? 0] ?? left, y, w: CELL.w, h: cell });
    y += cell + CELL.gapY;
  }
  return {
    w: right + POD.pad,
    h: y - CELL.gapY + POD.pad,
    segments: segments.length,
    rects,
    captions,
  };
}

/** The pod's columns: planes, in them rails, in them leaves that share both. */
function leafColumns(fabric: Fabric, leaves: readonly DeviceRow[]) {
  const { devices } = fabric.run;
  const seen = new Map<string, number>();
  const keys = new Map<string, Column>();
  const keyOf = new Map<DeviceRow, string>();
  const ordered = [...leaves].sort((a, b) => (devices.index[a] ?? 0) - (devices.index[b] ?? 0));
  for (const leaf of ordered) {
    const [plane, rail] = [devices.plane[leaf] ?? 0, devices.rail[leaf] ?? 0];
    const spot = `${devices.segment[leaf] ?? 0}/${plane}/${rail}`;
    const slot = seen.get(spot) ?? 0;
    seen.set(spot, slot + 1);
    const key = `${plane}/${rail}/${slot}`;
    keys.set(key, { plane, rail, slot });
    keyOf.set(leaf, key);
  }
  const sorted = [...keys].sort(
    ([, a], [, b]) => a.plane - b.plane || a.rail - b.rail || a.slot - b.slot,
  );
  const place = new Map(sorted.map(([key], i) => [key, i]));
  const columnOf = new Map(ordered.map((leaf) => [leaf, place.get(keyOf.get(leaf) ?? "") ?? 0]));
  return { columns: sorted.map(([, column]) => column), columnOf };
}

/** A strip of spines per plane, above that plane's columns where the leaves have planes too. */
function spineStrips(
  fabric: Fabric,
  spines: readonly DeviceRow[],
  columns: readonly Column[],
  xs: readonly number[],
  room: { left: number; right: number; y: number },
  rects: Map<DeviceRow, Rect>,
  captions: Caption[],
): number {
  if (spines.length === 0) return room.y;
  const { devices } = fabric.run;
  const planes = [...new Set(spines.map((row) => devices.plane[row] ?? 0))].sort((a, b) => a - b);
  const aligned = planes.every((plane) => columns.some((column) => column.plane === plane));
  let bottom = room.y;
  let y = room.y;
  for (const plane of planes) {
    const under = xs.filter((_, i) => columns[i]?.plane === plane);
    const from = aligned ? Math.min(...under) : room.left;
    const to = aligned ? Math.max(...under) + CELL.w : room.right;
    const inPlane = spines.filter((row) => devices.plane[row] === plane);
    const text =
      plane === NOT_APPLICABLE
        ? `${inPlane.length} spines`
        : `plane ${plane}, ${inPlane.length} spines`;
    const short = plane === NOT_APPLICABLE ? "spines" : `plane ${plane}`;
    captions.push({ x: from, y, w: to - from, h: POD.plane, forms: [text, short], kind: "plane" });
    const end = strip(inPlane, from, to, y + POD.plane, (row, rect) => rects.set(row, rect));
    bottom = Math.max(bottom, end);
    if (!aligned) y = end + 2;
  }
  return bottom + 3;
}

/** At most `most` a row, spread so that the last row is not left nearly empty. */
const evenly = (count: number, most: number): number =>
  Math.max(1, Math.ceil(count / Math.max(1, Math.ceil(count / most))));

/** Squares from left to right, wrapping in [from, to]; returns the lower edge. */
function strip(
  rows: readonly DeviceRow[],
  from: number,
  to: number,
  y: number,
  place: (row: DeviceRow, rect: Rect) => void,
): number {
  const rowsMost = rows.length > TOP.few ? 3 : 2;
  const fits = (size: number): boolean =>
    rows.length <= rowsMost * Math.floor((to - from + TOP.gap) / (size + TOP.gap));
  const size = TOP.sizes.find(fits) ?? TOP.sizes[TOP.sizes.length - 1] ?? 9;
  const pitch = size + TOP.gap;
  const most = Math.max(1, Math.floor((to - from + TOP.gap) / pitch));
  const perRow = evenly(rows.length, most);
  const h = Math.min(size, 12);
  rows.forEach((row, i) =>
    place(row, {
      x: from + (i % perRow) * pitch,
      y: y + Math.floor(i / perRow) * (h + TOP.gap),
      w: size,
      h,
    }),
  );
  return y + Math.ceil(rows.length / perRow) * (h + TOP.gap);
}

function coreStrips(
  fabric: Fabric,
  width: number,
  place: (row: DeviceRow, rect: Rect) => void,
  captions: Caption[],
): number {
  const { devices } = fabric.run;
  const cores: DeviceRow[] = [];
  for (let row = 0; row < devices.rows; row++) if (devices.kind[row] === 3) cores.push(row);
  const planes = [...new Set(cores.map((row) => devices.plane[row] ?? 0))].sort((a, b) => a - b);
  let y = 0;
  for (const plane of planes) {
    const inPlane = cores.filter((row) => devices.plane[row] === plane);
    const text =
      plane === NOT_APPLICABLE
        ? `${inPlane.length} cores`
        : `plane ${plane}, ${inPlane.length} cores`;
    captions.push({
      x: POD.pad,
      y,
      w: width - 2 * POD.pad,
      h: POD.head,
      forms: [text, "cores"],
      kind: "core",
    });
    y = strip(inPlane, POD.pad, width - POD.pad, y + POD.head, place) + 4;
  }
  return y === 0 ? 0 : y + 4;
}

/** A port per host inside each leaf: a grid as close to the cell's shape as whole rows allow. */
function placePorts(fabric: Fabric, rects: Float32Array): Ports {
  const { run } = fabric;
  const { devices } = run;
  const start = new Uint32Array(devices.rows + 1);
  const host: number[] = [];
  const up: number[] = [];
  const down: number[] = [];
  const boxes: number[] = [];
  for (let leaf = 0; leaf < devices.rows; leaf++) {
    start[leaf] = host.length;
    if (devices.kind[leaf] !== 1) continue;
    const found = hostLinks(fabric, leaf);
    const hosts = [...found.keys()].sort(
      (a, b) => (devices.index[a] ?? 0) - (devices.index[b] ?? 0) || a - b,
    );
    const [x = 0, y = 0, w = 0, h = 0] = rects.subarray(leaf * 4, leaf * 4 + 4);
    const [innerW, innerH] = [w - 2 * PORT_INSET, h - 2 * PORT_INSET];
    const perRow = portsPerRow(hosts.length, innerW / innerH);
    const rows = Math.max(1, Math.ceil(hosts.length / perRow));
    const [pw, ph] = [innerW / perRow, innerH / rows];
    hosts.forEach((row, i) => {
      const pair = found.get(row);
      host.push(row);
      up.push(pair?.up ?? NOT_APPLICABLE);
      down.push(pair?.down ?? NOT_APPLICABLE);
      boxes.push(
        x + PORT_INSET + (i % perRow) * pw,
        y + PORT_INSET + Math.floor(i / perRow) * ph,
        pw,
        ph,
      );
    });
  }
  start[devices.rows] = host.length;
  const box = (k: number): Float32Array => Float32Array.from(host, (_, i) => boxes[i * 4 + k] ?? 0);
  return {
    start,
    host: Uint32Array.from(host),
    up: Uint32Array.from(up),
    down: Uint32Array.from(down),
    x: box(0),
    y: box(1),
    w: box(2),
    h: box(3),
  };
}

/** Columns of the port grid: near square ports, and no more empty places than needed. */
function portsPerRow(ports: number, aspect: number): number {
  let [best, least] = [1, Number.POSITIVE_INFINITY];
  for (let columns = 1; columns <= ports; columns++) {
    const rows = Math.ceil(ports / columns);
    const off = Math.abs(Math.log((aspect * rows) / columns));
    const cost = off + (6 * (columns * rows - ports)) / ports;
    if (cost < least) [best, least] = [columns, cost];
  }
  return best;
}

function hostLinks(
  fabric: Fabric,
  leaf: DeviceRow,
): Map<DeviceRow, { up?: LinkRow; down?: LinkRow }> {
  const found = new Map<DeviceRow, { up?: LinkRow; down?: LinkRow }>();
  for (const link of linksAt(fabric, leaf)) {
    const [source, target] = endsOf(fabric.run, link);
    const other = source === leaf ? target : source;
    if (fabric.run.devices.kind[other] !== 0) continue;
    const pair = found.get(other) ?? {};
    if (goesUp(fabric, link)) pair.up = link;
    else pair.down = link;
    found.set(other, pair);
  }
  return found;
}

export function rectOf(layout: Layout, device: DeviceRow): Rect | null {
  const [x = 0, y = 0, w = 0, h = 0] = layout.rects.subarray(device * 4, device * 4 + 4);
  return w > 0 ? { x, y, w, h } : null;
}

const known = new WeakMap<Fabric, Layout>();

/** The layout of a fabric, made once. */
export function layoutOf(fabric: Fabric): Layout {
  const made = known.get(fabric) ?? layOut(fabric);
  known.set(fabric, made);
  return made;
}
