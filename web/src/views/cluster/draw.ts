// Draws jobs over time and GPUs: a rectangle for each job and run of GPUs, and who waits as a strip below.
import type { ClusterJobs, ClusterLife } from "../../api/payload";
import { slowdownPart, type Waiting } from "../../model/cluster";
import { sequential, type Theme } from "../../ui/colors";
import { daysAxis, ticks, whole } from "../../ui/format";
import { font, type Pen } from "../../ui/pen";

export interface JobsFrame {
  width: number;
  /** Heights of the picture of GPUs and of the strip below it. */
  height: number;
  strip: number;
  gutter: number;
  foot: number;
  from_s: number;
  to_s: number;
}
export interface JobsPicture {
  jobs: ClusterJobs;
  life: ClusterLife;
  waiting: Waiting;
  places: number;
  span_s: number;
  /** Slowdown at which the scale ends. */
  top: number;
  theme: Theme;
  hover: number | null;
  /** The job that is picked, and those that contended with it; all others fade. */
  picked: number | null;
  partners: ReadonlySet<number>;
  brush: readonly [number, number] | null;
}

/** Between the picture and the strip. */
const GAP_PX = 10;
/** Nothing is drawn lower than this, so that a job of one GPU among thousands is seen at all. */
const LEAST_PX = 0.6;
/** Jobs at a slowdown of 1 still stand out from the page. */
const PALEST = 0.13;
const FADED = 0.22;

export const wholeHeight = (frame: JobsFrame): number =>
  frame.height + GAP_PX + frame.strip + frame.foot;
export const xOf = (s: number, frame: JobsFrame): number =>
  frame.gutter +
  ((s - frame.from_s) / Math.max(frame.to_s - frame.from_s, 1e-9)) * (frame.width - frame.gutter);
export const secondOf = (x: number, frame: JobsFrame): number =>
  frame.from_s +
  ((x - frame.gutter) / Math.max(frame.width - frame.gutter, 1)) * (frame.to_s - frame.from_s);
/** The GPU at a height of the picture; null beside it. */
export function gpuAt(y: number, places: number, frame: JobsFrame): number | null {
  return y >= 0 && y < frame.height ? Math.floor((y / frame.height) * places) : null;
}

/** Colour at a part 0..1 of the scale of slowdowns. */
export const slowdownColor = (part: number, theme: Theme): string =>
  sequential(PALEST + (1 - PALEST) * part, theme);

/** When a job held its GPUs; null where it never started. */
export function heldOf(
  life: ClusterLife,
  job: number,
  span_s: number,
): readonly [number, number] | null {
  const [from, to] = [life.started_s[job] ?? Number.NaN, life.ended_s[job] ?? Number.NaN];
  if (Number.isNaN(from)) return null;
  return [from, Number.isNaN(to) ? span_s : to];
}

export function drawJobs(pen: Pen, picture: JobsPicture, frame: JobsFrame): void {
  const { theme, life, places } = picture;
  pen.globalAlpha = 1;
  pen.fillStyle = theme.page;
  pen.fillRect(0, 0, frame.width, wholeHeight(frame));
  pen.fillStyle = theme.sunk;
  pen.fillRect(frame.gutter, 0, frame.width - frame.gutter, frame.height);
  drawTime(pen, theme, frame);
  pen.save();
  pen.beginPath();
  pen.rect(frame.gutter, 0, frame.width - frame.gutter, frame.height);
  pen.clip();
  const { start } = life.held;
  for (let job = 0; job + 1 < start.length; job++)
    if (job !== picture.hover && job !== picture.picked) drawJob(pen, picture, frame, job);
  for (const job of [picture.picked, picture.hover])
    if (job !== null) drawJob(pen, picture, frame, job);
  pen.restore();
  pen.globalAlpha = 1;
  pen.font = font(12);
  pen.textAlign = "right";
  for (const gpu of ticks(0, places, Math.max(2, frame.height / 90))) {
    const y = (gpu / places) * frame.height;
    pen.fillStyle = theme.soft;
    pen.textBaseline = y < 8 ? "top" : y > frame.height - 8 ? "alphabetic" : "middle";
    pen.fillText(gpu === 0 ? "GPU 0" : whole(gpu), frame.gutter - 8, y);
  }
  drawStrip(pen, picture, frame);
  if (picture.brush) {
    const [a, b] = picture.brush;
    pen.fillStyle = theme.accent;
    pen.globalAlpha = 0.15;
    pen.fillRect(Math.min(a, b), 0, Math.abs(b - a), frame.height + GAP_PX + frame.strip);
    pen.globalAlpha = 1;
  }
}

function drawJob(pen: Pen, picture: JobsPicture, frame: JobsFrame, job: number): void {
  const { life, theme, places, top, picked, hover } = picture;
  const held = heldOf(life, job, picture.span_s);
  if (!held || held[1] < frame.from_s || held[0] > frame.to_s) return;
  const slowdown = life.slowdown[job] ?? Number.NaN;
  const shown = picked === null || job === picked || job === hover || picture.partners.has(job);
  pen.globalAlpha = shown ? 1 : FADED;
  pen.fillStyle = Number.isNaN(slowdown)
    ? theme.rule
    : slowdownColor(slowdownPart(slowdown, top), theme);
  const [x, end] = [xOf(held[0], frame), xOf(held[1], frame)];
  const { start, first, last } = life.held;
  for (let run = start[job] ?? 0; run < (start[job + 1] ?? 0); run++) {
    const y = ((first[run] ?? 0) / places) * frame.height;
    const bottom = (((last[run] ?? 0) + 1) / places) * frame.height;
    const [w, h] = [Math.max(end - x, LEAST_PX), Math.max(bottom - y, LEAST_PX)];
    // A hair of the page between neighbours, where there is room for it.
    pen.fillRect(x, y, w > 3 ? w - 0.6 : w, h > 3 ? h - 0.6 : h);
    if (job === picked || job === hover) {
      pen.strokeStyle = theme.ink;
      pen.lineWidth = job === picked ? 1.75 : 1.25;
      pen.strokeRect(x, y, Math.max(w, 1.5), Math.max(h, 1.5));
    }
  }
}

function drawTime(pen: Pen, theme: Theme, frame: JobsFrame): void {
  const axis = daysAxis(frame.to_s - frame.from_s, Math.max(3, frame.width / 90));
  const bottom = frame.height + GAP_PX + frame.strip;
  pen.font = font(12);
  pen.textBaseline = "top";
  const first = Math.ceil(frame.from_s / axis.step_s - 1e-9) * axis.step_s;
  for (let tick = first; tick <= frame.to_s + 1e-6; tick += axis.step_s) {
    const x = xOf(tick, frame);
    pen.fillStyle = theme.rule;
    pen.fillRect(Math.round(x), 0, 1, bottom);
    pen.fillStyle = theme.soft;
    pen.textAlign = x > frame.width - 16 ? "right" : x < frame.gutter + 8 ? "left" : "center";
    pen.fillText(axis.tick(tick), x, bottom + 6);
  }
  pen.fillStyle = theme.faint;
  pen.textAlign = "right";
  pen.fillText(`time (${axis.unit})`, frame.gutter - 8, bottom + 6);
}

/** GPUs that those wait for who are in the queue, over time. */
function drawStrip(pen: Pen, picture: JobsPicture, frame: JobsFrame): void {
  const { waiting, theme, span_s } = picture;
  const [top, bottom] = [frame.height + GAP_PX, frame.height + GAP_PX + frame.strip];
  pen.font = font(12);
  pen.textAlign = "right";
  pen.fillStyle = theme.soft;
  pen.textBaseline = "top";
  pen.fillText("waiting for", frame.gutter - 8, top);
  pen.fillText(
    waiting.most === 0 ? "nothing" : `${whole(waiting.most)} GPUs`,
    frame.gutter - 8,
    top + 15,
  );
  pen.fillStyle = theme.rule;
  pen.fillRect(frame.gutter, bottom, frame.width - frame.gutter, 1);
  if (waiting.most === 0) return;
  pen.save();
  pen.beginPath();
  pen.rect(frame.gutter, top, frame.width - frame.gutter, frame.strip);
  pen.clip();
  pen.beginPath();
  pen.moveTo(xOf(0, frame), bottom);
  waiting.at_s.forEach((at, i) => {
    const y = bottom - ((waiting.gpus[i] ?? 0) / waiting.most) * frame.strip;
    pen.lineTo(xOf(at, frame), y);
    pen.lineTo(xOf(waiting.at_s[i + 1] ?? span_s, frame), y);
  });
  pen.lineTo(xOf(span_s, frame), bottom);
  pen.fillStyle = theme.faint;
  pen.globalAlpha = 0.55;
  pen.fill();
  pen.globalAlpha = 1;
  pen.restore();
}
