// From a point on the map to a device, and from a device to its neighbour in a direction.
import type { DeviceRow } from "../../api/payload";
import { rectOf, type Layout, type Rect } from "../../model/layout";
import { portRect, portsShown, type Camera, type Scene } from "./draw";

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
