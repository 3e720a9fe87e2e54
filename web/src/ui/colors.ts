// Every colour of the page: themes, the sequential and diverging maps, colours of axes and runs.

export type ThemeName = "light" | "dark";
export interface Theme {
  name: ThemeName;
  page: string;
  panel: string;
  sunk: string;
  ink: string;
  soft: string;
  faint: string;
  rule: string;
  accent: string;
  warn: string;
  warnPage: string;
  good: string;
  bad: string;
  mark: string;
}

export const THEMES: Record<ThemeName, Theme> = {
  light: {
    name: "light",
    page: "#ffffff",
    panel: "#ffffff",
    sunk: "#f5f6f7",
    ink: "#16191d",
    soft: "#555d68",
    faint: "#737b86",
    rule: "#e1e4e8",
    accent: "#0b62a8",
    warn: "#8a5a00",
    warnPage: "#fdf6e6",
    good: "#00694d",
    bad: "#b03a00",
    mark: "#c8102e",
  },
  dark: {
    name: "dark",
    page: "#121417",
    panel: "#181b1f",
    sunk: "#1c2025",
    ink: "#eceef1",
    soft: "#a9b1bb",
    faint: "#858e99",
    rule: "#2c3138",
    accent: "#6cb6f2",
    warn: "#f0c060",
    warnPage: "#2a2415",
    good: "#4fc9a0",
    bad: "#ff8a5c",
    mark: "#ff5a6e",
  },
};

/** Okabe-Ito, by axis; compute stays neutral so that communication stands out. */
const AXES: Record<string, string> = {
  compute: "#8b95a1",
  tp: "#e69f00",
  ep: "#56b4e9",
  pp: "#0072b2",
  dp: "#009e73",
  dp_ep: "#cc79a7",
  cp: "#d55e00",
};
const AXES_OTHER = ["#d55e00", "#cc79a7", "#f0e442", "#56b4e9"];

/** The colour of an axis: the same in every view and for every run. */
export function axisColor(axis: string, theme: Theme): string {
  if (axis === "pp" && theme.name === "dark") return "#3d9bdc"; // #0072b2 sinks into a dark page
  const known = AXES[axis];
  if (known !== undefined) return known;
  let hash = 0;
  for (const letter of axis) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  return AXES_OTHER[hash % AXES_OTHER.length] ?? "#d55e00";
}

/** Runs of a comparison: the baseline is quiet and dashed, the other carries the accent. */
export function runColor(run: number, theme: Theme, runs = 2): string {
  return run === 0 && runs > 1 ? theme.faint : theme.accent;
}

/** Okabe-Ito, for several alternatives side by side; what they are measured by is quiet, as in `runColor`. */
const ALTERNATIVES: Record<ThemeName, readonly string[]> = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8200"],
  dark: ["#56b4e9", "#e8743b", "#2fc49a", "#d98fb8", "#e69f00", "#8fa8ff", "#f0e442"],
};
/** Colour of alternative `place`, where the one at `base` is what the others are measured by. */
export function alternativeColor(place: number, base: number, theme: Theme): string {
  if (place === base) return theme.faint;
  const colors = ALTERNATIVES[theme.name];
  return colors[(place > base ? place - 1 : place) % colors.length] ?? theme.accent;
}

type Rgb = readonly [number, number, number];
const MAP_STEPS = 256;

/** Lightness runs evenly from the page's own shade to its opposite, so that 0 recedes. Hues go
 * the way of viridis: yellow-green, teal, blue, violet. */
const SEQUENTIAL: Record<ThemeName, readonly string[]> = {
  light: ["#f1f3e4", "#c9e5b9", "#83cda9", "#46adab", "#2f88a8", "#31619b", "#3f3a82", "#37145a"],
  dark: ["#20242c", "#343a66", "#35558c", "#2d7690", "#27968a", "#46b873", "#97d643", "#fde725"],
};
/** Blue for less, orange-red for more, the page's shade for equal. */
const DIVERGING: Record<ThemeName, readonly string[]> = {
  light: ["#0b4a86", "#4a8cc2", "#a9cbe3", "#f0f1f2", "#f3c19f", "#da7a3f", "#9c3a06"],
  dark: ["#7cc4ff", "#3f83bd", "#2b4a66", "#24282e", "#6b4228", "#c2693a", "#ffab7a"],
};

function toLinear(hex: string, at: number): number {
  const value = parseInt(hex.slice(at, at + 2), 16) / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

/** sRGB to OKLab (B. Ottosson, "A perceptual color space for image processing", 2020). */
function toLab(hex: string): Rgb {
  const [r, g, b] = [toLinear(hex, 1), toLinear(hex, 3), toLinear(hex, 5)];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromLab([light, a, b]: Rgb): string {
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channel = (value: number): string => {
    const v = Math.min(Math.max(value, 0), 1);
    const srgb = v <= 0.0031308 ? v * 12.92 : 1.055 * v ** (1 / 2.4) - 0.055;
    return Math.round(srgb * 255)
      .toString(16)
      .padStart(2, "0");
  };
  return (
    "#" +
    channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) +
    channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) +
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s)
  );
}

/** Lightness of a colour in OKLab, 0..1; tests hold the sequential maps to it. */
export const lightness = (hex: string): number => toLab(hex)[0];

function build(anchors: readonly string[], even: boolean): string[] {
  const labs = anchors.map(toLab);
  const last = labs.length - 1;
  const ends = [labs[0]?.[0] ?? 0, labs[last]?.[0] ?? 1] as const;
  return Array.from({ length: MAP_STEPS }, (_, i) => {
    const along = (i / (MAP_STEPS - 1)) * last;
    const at = Math.min(Math.floor(along), last - 1);
    const [low, high] = [labs[at] ?? [0, 0, 0], labs[at + 1] ?? [1, 0, 0]];
    const mix = (k: 0 | 1 | 2): number => low[k] + (high[k] - low[k]) * (along - at);
    const light = even ? ends[0] + ((ends[1] - ends[0]) * i) / (MAP_STEPS - 1) : mix(0);
    return fromLab([light, mix(1), mix(2)]);
  });
}

const MAPS = {
  sequential: { light: build(SEQUENTIAL.light, true), dark: build(SEQUENTIAL.dark, true) },
  diverging: { light: build(DIVERGING.light, false), dark: build(DIVERGING.dark, false) },
};

function picked(map: readonly string[], part: number): string {
  const place = Math.round(Math.min(Math.max(part, 0), 1) * (MAP_STEPS - 1));
  return map[place] ?? "#888888";
}

/** Colour for a value at `part` (0..1) of a scale. */
export const sequential = (part: number, theme: Theme): string =>
  picked(MAPS.sequential[theme.name], part);

/** Colour for a difference at `part` (-1..1) of a scale. */
export const diverging = (part: number, theme: Theme): string =>
  picked(MAPS.diverging[theme.name], (part + 1) / 2);

/** What stands out of a scale: from orange to red, which no sequential map holds. */
const ALARM: Record<ThemeName, readonly string[]> = {
  light: ["#e8743b", "#d1342a", "#8f0f1e"],
  dark: ["#e5703c", "#f2483f", "#ff9d8a"],
};
const ALARMS = { light: build(ALARM.light, false), dark: build(ALARM.dark, false) };

/** Colour for what stands out, at `part` (0..1) of the way from just so to the worst. */
export const alarming = (part: number, theme: Theme): string => picked(ALARMS[theme.name], part);

/** Text that reads on top of a filled colour. */
export const inkOn = (fill: string): string => (lightness(fill) > 0.62 ? "#16191d" : "#ffffff");

/** Gives the theme to CSS as custom properties: style sheets hold no colours of their own. */
export function applyTheme(theme: Theme, root: HTMLElement): void {
  root.dataset["theme"] = theme.name;
  root.style.colorScheme = theme.name;
  for (const [key, value] of Object.entries(theme)) root.style.setProperty(`--${key}`, value);
}
