// Every number on the page is written here: SI prefixes, units, percent only on screen.

/** Shown where there is no value. */
export const NONE = "–";
const MINUS = "\u2212";
/** Between a number and its unit; does not break. */
const SPACE = "\u00a0";

const TIME_STEPS: readonly [number, string][] = [
  [3_600e12, "h"],
  [60e12, "min"],
  [1e12, "s"],
  [1e9, "ms"],
  [1e6, "µs"],
  [1e3, "ns"],
  [1, "ps"],
];
const SI_STEPS: readonly [number, string][] = [
  [1e18, "E"],
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
];

/** A number and its unit, apart, so that a view may set them in different sizes. */
export interface Shown {
  number: string;
  unit: string;
}

export function joined(shown: Shown): string {
  return shown.unit === "" ? shown.number : `${shown.number}${SPACE}${shown.unit}`;
}

/** As text of a tooltip, which charts take for HTML: names come from scenarios and from files of a cluster. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** `digits` significant digits, no exponent, no needless zeros before the point is reached. */
export function significant(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return NONE;
  if (value === 0) return "0";
  // Of the rounded value: 999.96 with three digits is 1000, not 1000.0.
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  const decimals = Math.min(Math.max(digits - 1 - magnitude, 0), 12);
  return grouped(value.toFixed(decimals));
}

/** Whole number with thin groups of three: 18 432. */
export function whole(value: number): string {
  return Number.isFinite(value) ? grouped(value.toFixed(0)) : NONE;
}

function grouped(digits: string): string {
  const [integer = "", fraction] = digits.replace("-", "").split(".");
  const sign = digits.startsWith("-") && /[1-9]/.test(digits) ? MINUS : "";
  const parts = integer.length > 4 ? integer.replace(/\B(?=(\d{3})+$)/g, "\u202f") : integer;
  return sign + parts + (fraction === undefined ? "" : `.${fraction}`);
}

function scaled(
  value: number,
  steps: readonly [number, string][],
  digits: number,
): [string, string] {
  const size = Math.abs(value);
  const last = steps[steps.length - 1] ?? [1, ""];
  if (size === 0) return ["0", (steps.find(([step]) => step === 1) ?? last)[1]];
  // 0.9995 of a step rounds up to the step itself, so it is shown in that step.
  const [step, prefix] = steps.find(([limit]) => size >= limit * 0.9995) ?? last;
  return [significant(value / step, digits), prefix];
}

/** Simulated time given in picoseconds. */
export function timeShown(ps: number, digits = 3): Shown {
  if (!Number.isFinite(ps)) return { number: NONE, unit: "" };
  const [number, unit] = scaled(ps, TIME_STEPS, digits);
  return { number, unit: ps === 0 ? "s" : unit };
}
export const time = (ps: number, digits = 3): string => joined(timeShown(ps, digits));

/** Ratio 0..1 as percent: 3 significant digits below 10 %, one decimal above. */
export function percent(ratio: number): string {
  if (!Number.isFinite(ratio)) return NONE;
  const value = ratio * 100;
  const size = Math.abs(value);
  if (size === 0) return `0${SPACE}%`;
  if (size < 0.01) return `<${SPACE}0.01${SPACE}%`;
  return `${grouped(value.toFixed(size < 1 ? 2 : 1))}${SPACE}%`;
}

/** Percent for ends of scales: no digits that say nothing. */
export const percentShort = (ratio: number): string =>
  `${Number((ratio * 100).toPrecision(3))}${SPACE}%`.replace("-", MINUS);

function siShown(value: number, unit: string, digits = 3): Shown {
  if (!Number.isFinite(value)) return { number: NONE, unit: "" };
  const [number, prefix] = scaled(value, SI_STEPS, digits);
  return { number, unit: prefix + unit };
}
export const bytes = (value: number): string => joined(siShown(value, "B"));
export const bitRate = (value: number): string => joined(siShown(value, "bit/s"));

/** Any figure of a run by the unit it is given in. */
export function figureShown(value: number | null, unit: string): Shown {
  if (value === null || !Number.isFinite(value)) return { number: NONE, unit: "" };
  switch (unit) {
    case "ps":
      return timeShown(value, 4);
    case "ns":
      return timeShown(value * 1e3, 4);
    case "us":
      return timeShown(value * 1e6, 4);
    case "ms":
      return timeShown(value * 1e9, 4);
    case "s":
      return timeShown(value * 1e12, 4);
    case "ratio":
      return { number: percent(value).replace(`${SPACE}%`, ""), unit: "%" };
    case "bytes":
    case "B":
      return siShown(value, "B");
    case "bits_per_s":
    case "bit/s":
      return siShown(value, "bit/s");
    case "flop_per_s":
    case "flops":
      return siShown(value, "FLOP/s");
    case "":
    case "count":
      return { number: Number.isInteger(value) ? whole(value) : significant(value, 4), unit: "" };
    default:
      return Math.abs(value) >= 1e4 || Math.abs(value) < 1e-2
        ? prefixApart(siShown(value, "", 4), unit)
        : { number: significant(value, 4), unit };
  }
}
/** A prefix joins a symbol (GB) but stands before a word (k tokens/s). */
function prefixApart({ number, unit: prefix }: Shown, unit: string): Shown {
  return { number, unit: prefix === "" ? unit : `${prefix}${SPACE}${unit}` };
}
export const figure = (value: number | null, unit: string): string =>
  joined(figureShown(value, unit));

/** A signed difference in the figure's unit; ratios differ in percentage points. */
export function difference(value: number, unit: string): string {
  const shown = figureShown(value, unit);
  const sign = value > 0 ? "+" : "";
  return sign + joined(unit === "ratio" ? { number: shown.number, unit: "pp" } : shown);
}

/** Relative change as signed percent. */
export function change(ratio: number): string {
  // Below what is shown there is no sign to tell.
  const told = ratio > 0 && Math.abs(ratio) >= 1e-4;
  return Number.isFinite(ratio) ? (told ? "+" : "") + percent(ratio) : NONE;
}

/** What stands in place of a value: "– halted at 12.5 s". */
export const missing = (reason: string): string =>
  reason === "" ? NONE : `${NONE}${SPACE}${reason.replaceAll(" ", SPACE)}`;

/** "worst_link_utilization" -> "Worst link utilization"; known short forms keep their capitals. */
export function label(name: string): string {
  const KNOWN: Record<string, string> = {
    mfu: "Model FLOPs utilization",
    tokens_per_s: "Tokens per second",
    step_time: "Step time",
    wall_s: "Wall time of the simulation",
    memory_bytes: "Memory of the simulation",
    jct: "Job completion time",
    fct_mean: "Flow completion time, mean",
    fct_p50: "Flow completion time, median",
    fct_p99: "Flow completion time, p99",
    fct_max: "Flow completion time, slowest",
    cnps: "Congestion notification packets",
    cnps_per_nic_port_per_s: "CNPs per NIC port and second",
    ack_timeouts: "ACK timeouts",
    gpu_utilization: "GPU utilization",
    slowdown_mean: "Slowdown, mean",
    slowdown_p95: "Slowdown, p95",
    throughput_loss_worst: "Loss of throughput, worst job that ended",
    throughput_loss_worst_running: "Loss of throughput, worst job that still runs",
    throughput_mean: "Throughput of what it would be alone, mean",
    completion_mean: "Completion time, mean",
    waiting_mean: "Wait in the queue of jobs that started, mean",
    waiting_p95: "Wait in the queue of jobs that started, p95",
    jobs_waiting: "Jobs that still wait",
    gpus_waiting: "GPUs that waiting jobs want",
    waiting_so_far_mean: "Wait so far of waiting jobs, mean",
    waiting_at_least_mean: "Wait in the queue of all jobs, mean at least",
    contended_jobs: "Jobs that contended",
    contended_gpus: "GPUs of jobs that contended",
    sharing_jobs: "Jobs that shared a link",
    sharing_gpus: "GPUs of jobs that shared a link",
    gpu_intensity: "GPU intensity on links",
  };
  const known = KNOWN[name];
  if (known !== undefined) return known;
  const words = name.replace(/_(ps|bytes|ratio)$/, "").split("_");
  const text = words.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** "dp_ep" -> "DP+EP": axes are written as people say them. */
export function axisLabel(axis: string): string {
  return /^[a-z]{2}(_[a-z]{2})*$/.test(axis) ? axis.toUpperCase().replaceAll("_", "+") : axis;
}

/** Round tick positions covering [from, to], about `wanted` of them. */
export function ticks(from: number, to: number, wanted: number): number[] {
  const span = to - from;
  if (!(span > 0) || wanted < 1) return [from];
  const raw = span / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5].find((m) => m * power >= raw) ?? 10) * power;
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

/** The unit that all ticks of one time axis share, and how to write a tick in it. Ticks are round decimals of a
 * picosecond, so minutes and hours are not units of an axis: seconds are. */
export function timeAxis(span_ps: number): { unit: string; tick: (ps: number) => string } {
  const [step, unit] = TIME_STEPS.find(([limit]) => limit <= 1e12 && span_ps >= limit) ?? [1, "ps"];
  return { unit, tick: (ps) => String(Number((ps / step).toPrecision(12))).replace("-", MINUS) };
}

/** The unit that all ticks of an axis of days share, how far they stand apart, and how to write one. */
export function daysAxis(
  span_s: number,
  wanted: number,
): { unit: string; step_s: number; tick: (s: number) => string } {
  const STEPS: readonly [seconds: number, unit: "days" | "h" | "min"][] = [
    [60, "min"],
    [300, "min"],
    [900, "min"],
    [3_600, "h"],
    [10_800, "h"],
    [21_600, "h"],
    [43_200, "h"],
    [86_400, "days"],
    [172_800, "days"],
    [604_800, "days"],
    [1_209_600, "days"],
    [2_419_200, "days"],
    [7_257_600, "days"],
  ];
  const LAST = [31_536_000, "days"] as const;
  const [step_s, unit] = STEPS.find(([step]) => span_s / step <= wanted) ?? LAST;
  const one = { days: 86_400, h: 3_600, min: 60 }[unit];
  return { unit, step_s, tick: (s) => whole(s / one) };
}
