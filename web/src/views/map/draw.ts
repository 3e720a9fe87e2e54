// Draws the fabric map: pods, switches, host ports, captions, and what is selected.
import { NOT_APPLICABLE, type DeviceRow, type LinkRow } from "../../api/payload";
import { endsOf, goesUp, linksAt, type Fabric } from "../../model/fabric";
import type { SuspectPlaces } from "../../model/findings";
import type { Strokes } from "../../model/flows";
import type { Caption, Layout, Rect } from "../../model/layout";
import { PORT_INSET, rectOf } from "../../model/layout";
import type { Direction } from "../../model/page_state";
import { inkOn, type Theme } from "../../ui/colors";
import { font, type Pen } from "../../ui/pen";

/** World to screen: screen = world * scale + (x, y). */
export interface Camera {
  scale: number;
  x: number;
  y: number;
}

export interface Scene {
  fabric: Fabric;
  layout: Layout;
  /** Shown value per device and per link. */
  cell: Float32Array;
  link: Float32Array;
  direction: Direction;
  paint: (value: number) => string;
  write: (value: number) => string;
  theme: Theme;
  device: DeviceRow | null;
  pickedLink: LinkRow | null;
  /** Paths of what is picked, drawn instead of the device's or the picked link; null: none is. */
  strokes: Strokes | null;
  /** Devices that stay bright; null: all. */
  lit: ReadonlySet<DeviceRow> | null;
  hover: DeviceRow | null;
  hoverPort: number | null;
  faults: ReadonlyMap<DeviceRow, readonly string[]>;
  /** Where the suspects of the chosen finding stand; null: no finding is chosen. */
  suspects: SuspectPlaces | null;
}

/** Host ports are drawn once the leaf's cell and the port have this size, in CSS pixels, so that from
 * afar a cell is one colour; a selected leaf opens earlier. */
const OPEN_PX_MIN = 110;
const PORT_PX_MIN = 3.5;
const PORT_PX_MIN_PICKED = 1.2;
/** A selected host's port is never marked smaller than this. */
const MARK_PX_MIN = 6;
/** Marks of many ports at once. */
const MARK_PX_MANY = 3.5;
const FADED = 0.2;

export function draw(pen: Pen, scene: Scene, camera: Camera, width: number, height: number): void {
  const { theme, layout } = scene;
  pen.globalAlpha = 1;
  pen.fillStyle = theme.page;
  pen.fillRect(0, 0, width, height);
  for (const pod of layout.pods) {
    const r = onScreen(pod, camera);
    if (!inSight(r, width, height)) continue;
    pen.fillStyle = theme.sunk;
    pen.fillRect(r.x, r.y, r.w, r.h);
  }
  drawSwitches(pen, scene, camera, width, height);
  if (scene.strokes !== null) drawStrokes(pen, scene, scene.strokes, camera);
  else drawPaths(pen, scene, camera);
  drawCaptions(pen, scene, camera, width, height);
  drawOutlines(pen, scene, camera);
  drawFaults(pen, scene, camera);
  drawSuspects(pen, scene, camera);
}

export function onScreen(r: Rect, camera: Camera): Rect {
  return {
    x: r.x * camera.scale + camera.x,
    y: r.y * camera.scale + camera.y,
    w: r.w * camera.scale,
    h: r.h * camera.scale,
  };
}

const inSight = (r: Rect, width: number, height: number): boolean =>
  r.x < width && r.y < height && r.x + r.w > 0 && r.y + r.h > 0;

/** True when a leaf's host ports are large enough to be drawn, and to be pointed at. */
export function portsShown(scene: Scene, leaf: DeviceRow, scale: number): boolean {
  const { ports } = scene.layout;
  const first = ports.start[leaf] ?? 0;
  if (first === (ports.start[leaf + 1] ?? 0)) return false;
  const px = Math.min(ports.w[first] ?? 0, ports.h[first] ?? 0) * scale;
  if (scene.device === leaf) return px >= PORT_PX_MIN_PICKED;
  const cell = Math.min(
    scene.layout.rects[leaf * 4 + 2] ?? 0,
    scene.layout.rects[leaf * 4 + 3] ?? 0,
  );
  return px >= PORT_PX_MIN && cell * scale >= OPEN_PX_MIN;
}

/** The value of a host port in the chosen direction; the larger by size of both for "all". */
export function portValue(scene: Scene, port: number): number {
  const { ports } = scene.layout;
  const at = (row: number | undefined): number =>
    row === undefined || row === NOT_APPLICABLE ? Number.NaN : (scene.link[row] ?? Number.NaN);
  const [up, down] = [at(ports.up[port]), at(ports.down[port])];
  if (scene.direction === "up") return up;
  if (scene.direction === "down") return down;
  if (Number.isNaN(up)) return down;
  return Math.abs(down) > Math.abs(up) ? down : up;
}

function drawSwitches(pen: Pen, scene: Scene, camera: Camera, width: number, height: number): void {
  const { layout, theme, cell, lit } = scene;
  const { rects } = layout;
  for (const device of layout.switches) {
    const at = device * 4;
    const x = (rects[at] ?? 0) * camera.scale + camera.x;
    const y = (rects[at + 1] ?? 0) * camera.scale + camera.y;
    const w = (rects[at + 2] ?? 0) * camera.scale;
    const h = (rects[at + 3] ?? 0) * camera.scale;
    if (x > width || y > height || x + w < 0 || y + h < 0) continue;
    const value = cell[device] ?? Number.NaN;
    const fill = Number.isNaN(value) ? theme.rule : scene.paint(value);
    pen.globalAlpha = lit === null || lit.has(device) ? 1 : FADED;
    pen.fillStyle = fill;
    pen.fillRect(x, y, w, h);
    const open = portsShown(scene, device, camera.scale);
    if (open) drawPorts(pen, scene, camera, device, width, height);
    // Under lines and marks a number cannot be read.
    if (scene.strokes === null && (lit === null || lit.has(device)))
      drawValue(
        pen,
        scene,
        { x, y, w, h },
        fill,
        value,
        device,
        open ? PORT_INSET * camera.scale : null,
      );
  }
  pen.globalAlpha = 1;
}

/** Percent inside a cell that has room, or over its ports when the frame has. */
function drawValue(
  pen: Pen,
  scene: Scene,
  r: Rect,
  fill: string,
  value: number,
  device: DeviceRow,
  /** Width of the frame around open host ports; null: the cell is closed. */
  frame: number | null,
): void {
  if (frame === null ? r.w < 46 || r.h < 18 : frame < 12) return;
  pen.font = font(11, 500);
  pen.fillStyle = inkOn(fill);
  pen.textBaseline = "middle";
  const shown = Number.isNaN(value) ? "no links" : scene.write(value);
  if (frame !== null) {
    const name = scene.fabric.run.devices.name.at(device);
    pen.textAlign = "left";
    pen.fillText(`${name}  ${shown}`, r.x + frame, r.y + frame / 2);
  } else {
    pen.textAlign = "center";
    pen.fillText(shown, r.x + r.w / 2, r.y + r.h / 2);
  }
}

function drawPorts(
  pen: Pen,
  scene: Scene,
  camera: Camera,
  leaf: DeviceRow,
  width: number,
  height: number,
): void {
  const { ports } = scene.layout;
  const { lit, theme } = scene;
  const [first, end] = [ports.start[leaf] ?? 0, ports.start[leaf + 1] ?? 0];
  const base = pen.globalAlpha;
  const gap = (ports.w[first] ?? 0) * camera.scale >= 4 ? 0.8 : 0;
  for (let port = first; port < end; port++) {
    const x = (ports.x[port] ?? 0) * camera.scale + camera.x;
    const y = (ports.y[port] ?? 0) * camera.scale + camera.y;
    const w = (ports.w[port] ?? 0) * camera.scale - gap;
    const h = (ports.h[port] ?? 0) * camera.scale - gap;
    if (x > width || y > height || x + w < 0 || y + h < 0) continue;
    const value = portValue(scene, port);
    const fill = Number.isNaN(value) ? theme.rule : scene.paint(value);
    const host = ports.host[port] ?? 0;
    if (lit !== null) pen.globalAlpha = lit.has(host) && lit.has(leaf) ? 1 : Math.min(base, FADED);
    pen.fillStyle = fill;
    pen.fillRect(x, y, w, h);
    if (w >= 30 && h >= 14) {
      pen.fillStyle = inkOn(fill);
      pen.font = font(10);
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      const index = scene.fabric.run.devices.index[host] ?? 0;
      pen.fillText(
        h >= 30 && w >= 46 ? `host ${index}` : String(index),
        x + w / 2,
        y + h / 2 - (h >= 30 ? 6 : 0),
      );
      if (h >= 30 && w >= 46) pen.fillText(scene.write(value), x + w / 2, y + h / 2 + 7);
    }
  }
  pen.globalAlpha = base;
}

/** Text size per kind and the room it wants, in CSS pixels. */
const CAPTION: Record<
  Caption["kind"],
  { px: number; weight: number; align: "left" | "center" | "right" }
> = {
  pod: { px: 12, weight: 600, align: "left" },
  core: { px: 12, weight: 600, align: "left" },
  plane: { px: 10.5, weight: 400, align: "left" },
  segment: { px: 10.5, weight: 400, align: "right" },
  rail: { px: 10, weight: 400, align: "center" },
};
/** Captions grow with the map up to this factor, and shrink no further than this size. */
const CAPTION_GROWTH_MAX = 1.35;
const CAPTION_PX_MIN = 8.5;

function drawCaptions(pen: Pen, scene: Scene, camera: Camera, width: number, height: number): void {
  const { theme } = scene;
  pen.textBaseline = "middle";
  for (const caption of scene.layout.captions) {
    const r = onScreen(caption, camera);
    if (!inSight(r, width, height)) continue;
    const style = CAPTION[caption.kind];
    const grown = Math.min(CAPTION_GROWTH_MAX, Math.max(1, camera.scale / 3));
    let px = Math.min(style.px * grown, r.h);
    pen.font = font(px, style.weight);
    let text = caption.forms.find((form) => pen.measureText(form).width <= r.w + 0.5);
    if (text === undefined) {
      text = caption.forms[caption.forms.length - 1] ?? "";
      px *= r.w / Math.max(pen.measureText(text).width, 1);
      pen.font = font(px, style.weight);
    }
    if (px < CAPTION_PX_MIN) continue;
    pen.fillStyle = style.weight > 500 ? theme.ink : theme.soft;
    pen.textAlign = style.align;
    const x = style.align === "left" ? r.x : style.align === "right" ? r.x + r.w : r.x + r.w / 2;
    pen.fillText(text, x, r.y + r.h / 2 - 0.5);
  }
}

const middleX = (r: Rect): number => r.x + r.w / 2;

/** Links that run from the selected device, or the selected link alone. */
export function drawnLinks(scene: Scene): Iterable<LinkRow> {
  if (scene.pickedLink !== null) return [scene.pickedLink];
  if (scene.device === null) return [];
  const all = linksAt(scene.fabric, scene.device);
  if (scene.direction === "all") return all;
  return all.filter((link) => goesUp(scene.fabric, link) === (scene.direction === "up"));
}

/** Ends and control points of a link's line on screen; null where an end has no place of its own. */
export function curveOf(scene: Scene, camera: Camera, link: LinkRow): readonly number[] | null {
  const [source, target] = endsOf(scene.fabric.run, link);
  const [a, b] = [rectOf(scene.layout, source), rectOf(scene.layout, target)];
  if (a === null || b === null) return null;
  const [upper, lower] =
    a.y <= b.y
      ? [onScreen(a, camera), onScreen(b, camera)]
      : [onScreen(b, camera), onScreen(a, camera)];
  const [x0, y0, x1, y1] = [middleX(upper), upper.y + upper.h, middleX(lower), lower.y];
  const bend = Math.max(8, (y1 - y0) * 0.45);
  return [x0, y0, x0, y0 + bend, x1, y1 - bend, x1, y1];
}

function trace(pen: Pen, scene: Scene, camera: Camera, link: LinkRow): void {
  const curve = curveOf(scene, camera, link);
  if (curve === null) return;
  const [x0 = 0, y0 = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0, x3 = 0, y3 = 0] = curve;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(x1, y1, x2, y2, x3, y3);
  pen.stroke();
}

/** Lines from the selected switch to the switches it reaches, or of the selected link alone. */
function drawPaths(pen: Pen, scene: Scene, camera: Camera): void {
  const only = scene.pickedLink !== null;
  pen.globalAlpha = only ? 1 : 0.24;
  pen.strokeStyle = only ? scene.theme.ink : scene.theme.soft;
  pen.lineWidth = only ? 2 : 0.75;
  for (const link of drawnLinks(scene)) trace(pen, scene, camera, link);
  pen.globalAlpha = 1;
}

/** Beyond this many lines they are drawn thin. */
const FEW_STROKES = 64;
const DASH = [5, 4];

/** Lines of paths: what is given up dashed, what is taken up solid in the accent; where they begin a square,
 * where they end a ring. */
function drawStrokes(pen: Pen, scene: Scene, strokes: Strokes, camera: Camera): void {
  const { theme } = scene;
  const count = strokes.kept.size + strokes.old.size + strokes.fresh.size;
  const wide = count <= FEW_STROKES ? 2 : 0.75;
  const changed = strokes.old.size + strokes.fresh.size > 0;
  for (const [links, color, dash, width] of [
    [strokes.kept, changed ? theme.soft : theme.ink, [], changed ? wide * 0.75 : wide],
    [strokes.old, theme.mark, DASH, wide],
    [strokes.fresh, theme.accent, [], wide],
  ] as const) {
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.setLineDash([...dash]);
    for (const link of links) trace(pen, scene, camera, link);
  }
  pen.setLineDash([]);
  const px =
    strokes.ends.length + strokes.starts.length <= FEW_STROKES ? MARK_PX_MIN : MARK_PX_MANY;
  for (const [host, leaf] of strokes.ends) markPort(pen, scene, camera, leaf, host, px, true);
  for (const [host, leaf] of strokes.starts) markPort(pen, scene, camera, leaf, host, px, false);
}

/** Marks a host's port in a leaf, never smaller than can be seen; `ring`: hollow. */
function markPort(
  pen: Pen,
  scene: Scene,
  camera: Camera,
  leaf: DeviceRow,
  host: DeviceRow,
  least: number,
  ring: boolean,
): void {
  const { ports } = scene.layout;
  for (let port = ports.start[leaf] ?? 0; port < (ports.start[leaf + 1] ?? 0); port++) {
    if (ports.host[port] !== host) continue;
    const r = onScreen(portRect(scene.layout, port), camera);
    const size = Math.min(Math.max(Math.min(r.w, r.h), least), least * 1.5);
    const around = least < MARK_PX_MIN ? 0.75 : 1.5;
    const [x, y] = [r.x + r.w / 2 - size / 2, r.y + r.h / 2 - size / 2];
    pen.fillStyle = scene.theme.page;
    pen.fillRect(x - around, y - around, size + 2 * around, size + 2 * around);
    pen.fillStyle = pen.strokeStyle = scene.theme.ink;
    pen.lineWidth = around;
    if (ring) pen.strokeRect(x + around / 2, y + around / 2, size - around, size - around);
    else pen.fillRect(x, y, size, size);
  }
}

function drawOutlines(pen: Pen, scene: Scene, camera: Camera): void {
  const { layout, theme } = scene;
  const outline = (r: Rect | null, color: string, line: number): void => {
    if (r === null) return;
    const s = onScreen(r, camera);
    pen.strokeStyle = color;
    pen.lineWidth = line;
    pen.strokeRect(s.x - line / 2, s.y - line / 2, s.w + line, s.h + line);
  };
  if (scene.lit !== null)
    for (const device of scene.lit)
      if (device !== scene.device) outline(rectOf(layout, device), theme.soft, 0.75);
  if (scene.hover !== null && scene.hoverPort === null)
    outline(rectOf(layout, scene.hover), theme.ink, 1);
  if (scene.hoverPort !== null) outline(portRect(layout, scene.hoverPort), theme.ink, 1.5);
  if (scene.device === null) return;
  outline(rectOf(layout, scene.device), theme.ink, 2);
  if (scene.fabric.run.devices.kind[scene.device] !== 0) return;
  if (scene.strokes !== null) return;
  for (const leaf of scene.lit ?? [])
    for (
      let port = layout.ports.start[leaf] ?? 0;
      port < (layout.ports.start[leaf + 1] ?? 0);
      port++
    )
      if (layout.ports.host[port] === scene.device) {
        if (portsShown(scene, leaf, camera.scale)) outline(portRect(layout, port), theme.ink, 1.5);
        else markPort(pen, scene, camera, leaf, scene.device, MARK_PX_MIN, false);
      }
}

export function portRect(layout: Layout, port: number): Rect {
  const { ports } = layout;
  return {
    x: ports.x[port] ?? 0,
    y: ports.y[port] ?? 0,
    w: ports.w[port] ?? 0,
    h: ports.h[port] ?? 0,
  };
}

/** A fault is a corner in the marking colour with a line around the cell: shape, not colour alone. */
function drawFaults(pen: Pen, scene: Scene, camera: Camera): void {
  for (const device of scene.faults.keys()) {
    const r = rectOf(scene.layout, device);
    if (r === null) continue;
    const s = onScreen(r, camera);
    const corner = Math.max(5, Math.min(12, s.h * 0.45));
    pen.fillStyle = scene.theme.mark;
    pen.beginPath();
    pen.moveTo(s.x + s.w - corner, s.y);
    pen.lineTo(s.x + s.w, s.y);
    pen.lineTo(s.x + s.w, s.y + corner);
    pen.fill();
    pen.strokeStyle = scene.theme.mark;
    pen.lineWidth = 1;
    pen.strokeRect(s.x - 0.5, s.y - 0.5, s.w + 1, s.h + 1);
  }
}

const SUSPECT_DASH = [4, 3];
/** A suspect stands this far outside its cell, clear of the line of a fault. */
const SUSPECT_OUT_PX = 3;
/** Ports of suspects are marked no smaller. */
const SUSPECT_PX_MIN = 5;

/** A suspect is a dashed line around the cell; a fault's is solid and has a corner. A suspected host is marked at
 * its ports. */
function drawSuspects(pen: Pen, scene: Scene, camera: Camera): void {
  if (scene.suspects === null) return;
  const { layout, theme } = scene;
  const { ports } = layout;
  pen.strokeStyle = theme.mark;
  pen.lineWidth = 1.5;
  pen.setLineDash(SUSPECT_DASH);
  for (const device of scene.suspects.devices.keys()) {
    const r = rectOf(layout, device);
    if (r === null) continue;
    const s = onScreen(r, camera);
    const out = SUSPECT_OUT_PX;
    pen.strokeRect(s.x - out, s.y - out, s.w + 2 * out, s.h + 2 * out);
  }
  pen.setLineDash([]);
  for (const [host, leaf] of scene.suspects.ports)
    for (let port = ports.start[leaf] ?? 0; port < (ports.start[leaf + 1] ?? 0); port++) {
      if (ports.host[port] !== host) continue;
      const s = onScreen(portRect(layout, port), camera);
      const grow = Math.max(0, SUSPECT_PX_MIN - Math.min(s.w, s.h)) / 2;
      pen.strokeStyle = theme.page;
      pen.lineWidth = 3.5;
      pen.strokeRect(s.x - grow, s.y - grow, s.w + 2 * grow, s.h + 2 * grow);
      pen.strokeStyle = theme.mark;
      pen.lineWidth = 1.5;
      pen.strokeRect(s.x - grow, s.y - grow, s.w + 2 * grow, s.h + 2 * grow);
    }
}
