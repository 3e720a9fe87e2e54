// Drawing that lands on a canvas or in an SVG file: views draw once, with the calls both know.

export type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "globalAlpha"
  | "font"
  | "textAlign"
  | "textBaseline"
  | "fillRect"
  | "strokeRect"
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "bezierCurveTo"
  | "rect"
  | "fill"
  | "stroke"
  | "fillText"
  | "measureText"
  | "save"
  | "restore"
  | "clip"
  | "setLineDash"
>;

/** Without quotes: ECharts writes it into attributes of its SVG as it is. */
export const FONT = "Inter Variable, system-ui, sans-serif";
/** Resolves when the page's face can be drawn with: canvases draw again then. */
export const faceReady = (): Promise<unknown> => document.fonts.load(font(12));

export const font = (px: number, weight = 400): string => `${weight} ${px}px ${FONT}`;

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
const short = (value: number): string => String(Math.round(value * 100) / 100);

const ANCHORS: Record<string, string> = { center: "middle", right: "end", end: "end" };
const BASELINES: Record<string, string> = { middle: "central", top: "hanging" };

interface PenState {
  fillStyle: string | CanvasGradient | CanvasPattern;
  strokeStyle: string | CanvasGradient | CanvasPattern;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  groups: number;
}

/** Records drawing as SVG elements; clip regions and alpha are kept. */
export class SvgPen implements Pen {
  fillStyle: string | CanvasGradient | CanvasPattern = "#000";
  strokeStyle: string | CanvasGradient | CanvasPattern = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = font(11);
  textAlign: CanvasTextAlign = "start";
  textBaseline: CanvasTextBaseline = "alphabetic";
  private dash: readonly number[] = [];
  private parts: string[] = [];
  private path = "";
  private groups = 0;
  private clips = 0;
  private stack: PenState[] = [];

  constructor(private readonly scale: CanvasRenderingContext2D) {}

  private alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : "";
  }
  fillRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" fill="${String(this.fillStyle)}"${this.alpha()}/>`,
    );
  }
  strokeRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" fill="none"` +
        ` stroke="${String(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}"${this.dashes()}${this.alpha()}/>`,
    );
  }
  beginPath(): void {
    this.path = "";
  }
  moveTo(x: number, y: number): void {
    this.path += `M${short(x)} ${short(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.path += `L${short(x)} ${short(y)}`;
  }
  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void {
    this.path += `C${[ax, ay, bx, by, x, y].map(short).join(" ")}`;
  }
  rect(x: number, y: number, w: number, h: number): void {
    this.path += `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}z`;
  }
  fill(): void {
    this.parts.push(`<path d="${this.path}" fill="${String(this.fillStyle)}"${this.alpha()}/>`);
  }
  stroke(): void {
    this.parts.push(
      `<path d="${this.path}" fill="none" stroke="${String(this.strokeStyle)}"` +
        ` stroke-width="${short(this.lineWidth)}"${this.dashes()}${this.alpha()}/>`,
    );
  }
  private dashes(): string {
    return this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map(short).join(" ")}"` : "";
  }
  setLineDash(dash: readonly number[]): void {
    this.dash = [...dash];
  }
  fillText(text: string, x: number, y: number): void {
    const [, weight = "400", size = "11"] = /^(\d+) ([\d.]+)px/.exec(this.font) ?? [];
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" font-size="${size}" font-weight="${weight}"` +
        ` fill="${String(this.fillStyle)}" text-anchor="${ANCHORS[this.textAlign] ?? "start"}"` +
        ` dominant-baseline="${BASELINES[this.textBaseline] ?? "auto"}"${this.alpha()}>${escaped(text)}</text>`,
    );
  }
  measureText(text: string): TextMetrics {
    this.scale.font = this.font;
    return this.scale.measureText(text);
  }
  save(): void {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, textAlign, textBaseline, groups } =
      this;
    this.stack.push({
      fillStyle,
      strokeStyle,
      lineWidth,
      globalAlpha,
      font: this.font,
      textAlign,
      textBaseline,
      groups,
    });
    this.groups = 0;
  }
  restore(): void {
    const state = this.stack.pop();
    if (state === undefined) return;
    this.parts.push("</g>".repeat(this.groups));
    Object.assign(this, state);
  }
  clip(): void {
    const id = `clip${this.clips++}`;
    this.parts.push(
      `<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`,
    );
    this.groups += 1;
  }
  /** The whole picture as an SVG file. */
  file(width: number, height: number, page: string): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"` +
      ` viewBox="0 0 ${width} ${height}" font-family="Inter, Helvetica, Arial, sans-serif">` +
      `<rect width="100%" height="100%" fill="${page}"/>${this.parts.join("")}</svg>`
    );
  }
}

/** Sizes a canvas to its box and the screen's pixel ratio; null when it has no room yet. */
export function prepared(canvas: HTMLCanvasElement, width: number, height: number) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (w < 1 || h < 1) return null;
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const context = canvas.getContext("2d", { alpha: false });
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
