// What the page shows, as plain JSON in the URL's hash: a link shows a colleague what I saw.
import type { DeviceRow, Ps } from "../api/payload";

export const VIEWS = [
  "summary",
  "map",
  "timeline",
  "links",
  "throughput",
  "queues",
  "diagnosis",
  "life",
] as const;
export type ViewName = (typeof VIEWS)[number];
export const DIRECTIONS = ["all", "up", "down"] as const;
export type Direction = (typeof DIRECTIONS)[number];
export const STATISTICS = ["worst", "mean"] as const;
export type Statistic = (typeof STATISTICS)[number];
export const CURVES = ["histogram", "cumulative"] as const;
export type Curve = (typeof CURVES)[number];
export const MAP_MODES = ["both", "difference"] as const;
export type MapMode = (typeof MAP_MODES)[number];
/** What colours the picture of queues. */
export const QUEUE_VALUES = ["bytes", "paused"] as const;
export type QueueValue = (typeof QUEUE_VALUES)[number];
/** How many links the picture of queues shows. */
export const TOP_LINKS = [20, 50, 100, 500] as const;
/** By what findings are ordered; the worst, likeliest, earliest or narrowest first. */
export const FINDING_SORTS = ["severity", "confidence", "since", "suspects"] as const;
export type FindingSort = (typeof FINDING_SORTS)[number];
/** What a row of the delay matrix is; `auto` is the finest that can still be seen. */
export const MATRIX_LEVELS = ["auto", "endpoint", "host", "leaf", "segment"] as const;
export type MatrixLevel = (typeof MATRIX_LEVELS)[number];
/** What a cell of joined pairs shows. */
export const MATRIX_VALUES = ["median", "worst"] as const;
export type MatrixValue = (typeof MATRIX_VALUES)[number];
/** Where the drawn part of the matrix begins, as row and column. */
export type MatrixBlock = "auto" | "all" | readonly [number, number];
/** What the map's table lists. */
export const LISTS = ["links", "flows", "pairs", "moves", "actions"] as const;
export type ListName = (typeof LISTS)[number];

export interface TimeWindow {
  from_ps: Ps;
  to_ps: Ps;
}

export interface PageState {
  view: ViewName;
  /** The run that selections belong to. */
  run: number;
  /** The job whose figures lead; null: the worst. */
  job: string | null;
  device: DeviceRow | null;
  link: number | null;
  list: ListName;
  /** Row of flows whose path is lit. */
  flow: number | null;
  /** Hosts, source and target, whose flows' paths are lit. */
  pair: readonly [DeviceRow, DeviceRow] | null;
  /** The change of routes whose moves are listed, from 1. */
  epoch: number;
  /** Row of moves whose paths are lit. */
  move: number | null;
  /** Row of the batch of decisions, and of the decision in it, whose links are lit. */
  batch: number | null;
  action: number | null;
  /** The moment at which the state of controllers is told; null: the end of the time window. */
  at: Ps | null;
  /** Null is the whole run. */
  window: TimeWindow | null;
  direction: Direction;
  statistic: Statistic;
  curve: Curve;
  mapMode: MapMode;
  hiddenAxes: readonly string[];
  queueValue: QueueValue;
  topLinks: number;
  /** Standstill of a life that is picked. */
  standstill: number | null;
  /** Finding that is open, and whose suspects are marked. */
  finding: number | null;
  findingSort: FindingSort;
  matrixLevel: MatrixLevel;
  matrixValue: MatrixValue;
  /** The part of the matrix that is drawn: the suspects or the worst block, all of it, or from a row and column on. */
  matrixBlock: MatrixBlock;
}

export const START: PageState = {
  view: "summary",
  run: 0,
  job: null,
  device: null,
  link: null,
  list: "links",
  flow: null,
  pair: null,
  epoch: 1,
  move: null,
  batch: null,
  action: null,
  at: null,
  window: null,
  direction: "all",
  statistic: "worst",
  curve: "histogram",
  mapMode: "both",
  hiddenAxes: [],
  queueValue: "bytes",
  topLinks: 20,
  standstill: null,
  finding: null,
  findingSort: "severity",
  matrixLevel: "auto",
  matrixValue: "worst",
  matrixBlock: "auto",
};

/** No path is picked: what a new device, link, list or run begins with. */
export const NO_PATH = {
  flow: null,
  pair: null,
  move: null,
  batch: null,
  action: null,
} as const;

function oneOf<T extends string>(names: readonly T[], value: string | null, otherwise: T): T {
  return names.find((name) => name === value) ?? otherwise;
}

function wholeOr<T>(value: string | null, otherwise: T): number | T {
  return value !== null && /^\d+$/.test(value) ? Number(value) : otherwise;
}

function windowOf(value: string | null): TimeWindow | null {
  const parts = /^(\d+)-(\d+)$/.exec(value ?? "");
  if (parts === null) return null;
  const [from_ps, to_ps] = [Number(parts[1]), Number(parts[2])];
  return to_ps > from_ps ? { from_ps, to_ps } : null;
}

function blockOf(value: string | null): MatrixBlock {
  return value === "all" ? "all" : (pairOf(value) ?? "auto");
}

function pairOf(value: string | null): PageState["pair"] {
  const parts = /^(\d+)-(\d+)$/.exec(value ?? "");
  return parts === null ? null : [Number(parts[1]), Number(parts[2])];
}

/** Reads a hash; what it does not name, or names wrongly, stays as at the start. */
export function stateOf(hash: string): PageState {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    view: oneOf(VIEWS, given.get("view"), START.view),
    run: wholeOr(given.get("run"), START.run),
    job: given.get("job"),
    device: wholeOr(given.get("device"), null),
    link: wholeOr(given.get("link"), null),
    list: oneOf(LISTS, given.get("list"), START.list),
    flow: wholeOr(given.get("flow"), null),
    pair: pairOf(given.get("pair")),
    epoch: wholeOr(given.get("epoch"), START.epoch),
    move: wholeOr(given.get("move"), null),
    batch: wholeOr(given.get("decisions"), null),
    action: wholeOr(given.get("decision"), null),
    at: wholeOr(given.get("at"), null),
    window: windowOf(given.get("time")),
    direction: oneOf(DIRECTIONS, given.get("direction"), START.direction),
    statistic: oneOf(STATISTICS, given.get("value"), START.statistic),
    curve: oneOf(CURVES, given.get("curve"), START.curve),
    mapMode: oneOf(MAP_MODES, given.get("map"), START.mapMode),
    hiddenAxes: (given.get("hide") ?? "").split(",").filter((axis) => axis !== ""),
    queueValue: oneOf(QUEUE_VALUES, given.get("queue"), START.queueValue),
    topLinks: TOP_LINKS.find((count) => String(count) === given.get("top")) ?? START.topLinks,
    standstill: wholeOr(given.get("standstill"), null),
    finding: wholeOr(given.get("finding"), null),
    findingSort: oneOf(FINDING_SORTS, given.get("sort"), START.findingSort),
    matrixLevel: oneOf(MATRIX_LEVELS, given.get("level"), START.matrixLevel),
    matrixValue: oneOf(MATRIX_VALUES, given.get("cell"), START.matrixValue),
    matrixBlock: blockOf(given.get("block")),
  };
}

/** The hash of a state, naming only what differs from the start. */
export function hashOf(state: PageState): string {
  const named = new URLSearchParams();
  const put = (key: string, value: string | number | null, start: string | number | null): void => {
    if (value !== start && value !== null) named.set(key, String(value));
  };
  put("view", state.view, START.view);
  put("run", state.run, START.run);
  put("job", state.job, null);
  put("device", state.device, null);
  put("link", state.link, null);
  put("list", state.list, START.list);
  put("flow", state.flow, null);
  put("pair", state.pair && state.pair.join("-"), null);
  put("epoch", state.epoch, START.epoch);
  put("move", state.move, null);
  put("decisions", state.batch, null);
  put("decision", state.action, null);
  put("at", state.at && Math.round(state.at), null);
  if (state.window)
    named.set("time", `${Math.round(state.window.from_ps)}-${Math.round(state.window.to_ps)}`);
  put("direction", state.direction, START.direction);
  put("value", state.statistic, START.statistic);
  put("curve", state.curve, START.curve);
  put("map", state.mapMode, START.mapMode);
  put("queue", state.queueValue, START.queueValue);
  put("top", state.topLinks, START.topLinks);
  put("standstill", state.standstill, null);
  put("finding", state.finding, null);
  put("sort", state.findingSort, START.findingSort);
  put("level", state.matrixLevel, START.matrixLevel);
  put("cell", state.matrixValue, START.matrixValue);
  const block = state.matrixBlock;
  put("block", typeof block === "string" ? block : block.join("-"), "auto");
  if (state.hiddenAxes.length > 0) named.set("hide", state.hiddenAxes.join(","));
  const text = named.toString();
  return text === "" ? "" : `#${text}`;
}
