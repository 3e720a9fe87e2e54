// A report with the life of a job: a short standstill, one over the end of a day, one that never ended.
import type { WireJobLife, WirePayload } from "../src/api/payload";
import { smallReport, table } from "./sample.mjs";

const STANDSTILLS = {
  cause: "str",
  kind: "str",
  subject: "str",
  found_by: "str",
  checkpoint_s: "f64",
  failed_s: "f64",
  detected_s: "f64",
  isolated_s: "f64",
  replaced_s: "f64",
  restarted_s: "f64",
};
const ACTIONS = {
  decided_s: "f64",
  effective_s: "f64",
  controller: "str",
  action: "str",
  reason: "str",
  subject: "str",
  after: "str",
};

const stood = (cause: string, subject: string, found_by: string, times: number[]) => {
  const [checkpoint_s, failed_s, detected_s, isolated_s, replaced_s, restarted_s] = times;
  const kind = "down";
  return {
    ...{ cause, kind, subject, found_by, checkpoint_s, failed_s },
    ...{ detected_s, isolated_s, replaced_s, restarted_s },
  };
};

/** Four days, of which 0.05 are downtime. */
export function wireLife(): WireJobLife {
  const never = Number.NaN;
  const part = (name: string, shown: number) => ({
    name,
    shown,
    median: shown,
    least: shown / 2,
    most: shown * 2,
  });
  const standstills = [
    stood("ack-timeout", "host-3/nic-2", "detectors", [3_000, 3_600, 3_630, 4_230, 4_230, 4_830]),
    stood("unknown", "leaf-2", "watchdog", [80_000, 84_000, 85_800, 90_000, 92_000, 92_600]),
    stood("unknown", "host-5/gpu-1", "watchdog", [340_000, 344_000, never, never, never, never]),
  ];
  const done = (
    decided_s: number,
    effective_s: number,
    action: string,
    of: string,
    after = "",
  ) => ({
    ...{ decided_s, effective_s, action, after },
    ...{ controller: "steering", reason: "ack-timeout", subject: of },
  });
  const actions = [
    done(3_630, 4_230, "isolate", "host-3"),
    done(3_630, 4_230, "swap", "host-3", "host-130"),
    done(3_630, never, "restart", "gpt3"),
  ];
  return {
    job: "gpt3",
    span_s: 4 * 86_400,
    lives: 20,
    seed: 7,
    parts: [
      part("downtime_post_checkpoint", 0.02),
      part("downtime_detection", 0.01),
      part("downtime_diagnosis", 0.02),
      part("productive", 0.95),
    ],
    standstills: table(standstills, STANDSTILLS),
    actions: table(actions, ACTIONS),
  };
}

export function lifeReport(): WirePayload {
  const payload = smallReport();
  const [run] = payload.runs;
  if (run) run.life = wireLife();
  return payload;
}
