// What the page of weeks of jobs shows, in the URL's hash: a link shows a colleague what I saw.

/** Hours over which curves over time are means. */
export const EVERY = [1, 6, 24] as const;
export type Every = (typeof EVERY)[number];

export interface ClusterState {
  /** Name of the policy whose jobs are shown; null: the best. */
  policy: string | null;
  /** Which of the seeds that are told whole, from 0. */
  seed: number;
  /** Row of the job that is picked. */
  job: number | null;
  /** Seconds; null is the whole span. */
  window: { from_s: number; to_s: number } | null;
  /** Policies whose curves are not drawn. */
  hidden: readonly string[];
  every: Every;
}

export const CLUSTER_START: ClusterState = {
  policy: null,
  seed: 0,
  job: null,
  window: null,
  hidden: [],
  every: 6,
};

function wholeOr<T>(value: string | null, otherwise: T): number | T {
  return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : otherwise;
}

/** Reads a hash; what it does not name, or names wrongly, stays as at the start. */
export function clusterStateOf(hash: string): ClusterState {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const time = /^(\d{1,12})-(\d{1,12})$/.exec(given.get("time") ?? "");
  const [from_s, to_s] = [Number(time?.[1]), Number(time?.[2])];
  return {
    policy: given.get("policy"),
    seed: wholeOr(given.get("seed"), CLUSTER_START.seed),
    job: wholeOr(given.get("job"), null),
    window: to_s > from_s ? { from_s, to_s } : null,
    hidden: (given.get("hide") ?? "").split(",").filter((name) => name !== ""),
    every: EVERY.find((hours) => String(hours) === given.get("every")) ?? CLUSTER_START.every,
  };
}

/** The hash of a state, naming only what differs from the start. */
export function clusterHashOf(state: ClusterState): string {
  const named = new URLSearchParams();
  if (state.policy !== null) named.set("policy", state.policy);
  if (state.seed !== CLUSTER_START.seed) named.set("seed", String(state.seed));
  if (state.job !== null) named.set("job", String(state.job));
  if (state.window)
    named.set("time", `${Math.round(state.window.from_s)}-${Math.round(state.window.to_s)}`);
  if (state.hidden.length > 0) named.set("hide", state.hidden.join(","));
  if (state.every !== CLUSTER_START.every) named.set("every", String(state.every));
  const text = named.toString();
  return text === "" ? "" : `#${text}`;
}
