// From a point on the map to a device, and from a device to its neighbour in a direction.
import type { DeviceRow, LinkRow } from "../../api/payload";
import { rectOf, type Layout, type Rect } from "../../model/layout";
import { curveOf, drawnLinks, portRect, portsShown, type Camera, type Scene } from "./draw";

export interface Pointed {
  device: DeviceRow;
  /** Set when the point is on a host port inside the leaf: the port; `device` is then its host. */
  port: number | null;
  leaf: DeviceRow | null;
}

/** Spines are small: a point this close still means them, in CSS pixels. */
const NEAR_PX = 3;

const holds = (r: Rect, x: number, y: number, by: number): boolean =>
  x >= r.x - by && y >= r.y - by && x < r.x + r.w + by && y < r.y + r.h + by;

export function pointed(
  scene: Scene,
  camera: Camera,
  screenX: number,
  screenY: number,
): Pointed | null {
  const x = (screenX - camera.x) / camera.scale;
  const y = (screenY - camera.y) / camera.scale;
  const { layout } = scene;
  const near = Math.min(NEAR_PX / camera.scale, 1);
  for (const device of layout.switches) {
    const r = rectOf(layout, device);
    if (r === null || !holds(r, x, y, near)) continue;
    if (portsShown(scene, device, camera.scale))
      for (
        let port = layout.ports.start[device] ?? 0;
        port < (layout.ports.start[device + 1] ?? 0);
        port++
      )
        if (holds(portRect(layout, port), x, y, 0))
          return { device: layout.ports.host[port] ?? 0, port, leaf: device };
    return { device, port: null, leaf: null };
  }
  return null;
}

/** Points that a line is tried at. */
const CURVE_POINTS = 32;

/** The drawn link closest to a point, at most NEAR_PX away; of two on one line the more used one. */
export function pointedLink(scene: Scene, camera: Camera, x: number, y: number): LinkRow | null {
  const links = scene.strokes
    ? [...scene.strokes.kept, ...scene.strokes.old, ...scene.strokes.fresh]
    : drawnLinks(scene);
  let [best, least, most]: [LinkRow | null, number, number] = [null, NEAR_PX, 0];
  for (const link of links) {
    const curve = curveOf(scene, camera, link);
    if (curve === null) continue;
    const away = distance(curve, x, y);
    const value = Math.abs(scene.link[link] ?? 0);
    if (away > NEAR_PX || (best !== null && away > least + 0.01)) continue;
    if (best !== null && away > least - 0.01 && value <= most) continue;
    [best, least, most] = [link, away, value];
  }
  return best;
}

/** From a point to a cubic curve, along straight pieces of it. */
function distance(curve: readonly number[], x: number, y: number): number {
  const at = (t: number, k: 0 | 1): number => {
    const [a = 0, b = 0, c = 0, d = 0] = [curve[k], curve[k + 2], curve[k + 4], curve[k + 6]];
    const s = 1 - t;
    return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
  };
  let least = Number.POSITIVE_INFINITY;
  let [px, py] = [at(0, 0), at(0, 1)];
  for (let i = 1; i <= CURVE_POINTS; i++) {
    const [qx, qy] = [at(i / CURVE_POINTS, 0), at(i / CURVE_POINTS, 1)];
    const [dx, dy] = [qx - px, qy - py];
    const along = ((x - px) * dx + (y - py) * dy) / Math.max(dx * dx + dy * dy, 1e-9);
    const part = Math.min(1, Math.max(0, along));
    least = Math.min(least, Math.hypot(x - px - part * dx, y - py - part * dy));
    [px, py] = [qx, qy];
  }
  return least;
}

/** The camera that shows the whole map, centred. */
export function fitted(layout: Layout, width: number, height: number): Camera {
  const MARGIN = 14;
  const SCALE_MAX = 3.4;
  const scale = Math.min(
    (width - 2 * MARGIN) / layout.width,
    (height - 2 * MARGIN) / layout.height,
    SCALE_MAX,
  );
  const safe = scale > 0 ? scale : 1;
  return {
    scale: safe,
    x: (width - layout.width * safe) / 2,
    y: MARGIN,
  };
}

/** Zoom by a factor that keeps the world under (x, y) in place. */
export function zoomed(
  camera: Camera,
  factor: number,
  x: number,
  y: number,
  least: number,
): Camera {
  const SCALE_MOST = 60;
  const scale = Math.min(SCALE_MOST, Math.max(least, camera.scale * factor));
  const by = scale / camera.scale;
  return { scale, x: x - (x - camera.x) * by, y: y - (y - camera.y) * by };
}

/** The nearest switch from one in a direction; sideways distance counts double. */
export function neighbour(
  layout: Layout,
  from: DeviceRow | null,
  dx: number,
  dy: number,
): DeviceRow | null {
  const start = from === null ? null : rectOf(layout, from);
  if (start === null) return layout.switches[0] ?? null;
  let best: DeviceRow | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const device of layout.switches) {
    const r = rectOf(layout, device);
    if (device === from || r === null) continue;
    const x = r.x + r.w / 2 - start.x - start.w / 2;
    const y = r.y + r.h / 2 - start.y - start.h / 2;
    const along = x * dx + y * dy;
    const across = Math.abs(x * dy) + Math.abs(y * dx);
    if (along <= 0.5) continue;
    const cost = along + 2 * across;
    if (cost < least) [best, least] = [device, cost];
  }
  return best;
}
