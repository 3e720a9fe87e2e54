// Decodes what controllers did: batches of decisions, single ones, and states in time.
import { below, f64, strings, table, u32, u32Free } from "./columns";
import type { Actions, Batches, Control, States, Track } from "./payload";
import { count, fields, finite, PayloadError, refuse } from "./read";
import { decodeLists } from "./sections";

export function decodeControl(value: unknown, devices: number, links: number, at: string): Control {
  const whole = fields(value, at);
  const batches = decodeBatches(whole["batches"], links, `${at}.batches`);
  return {
    total: count(whole, "total", at),
    batches,
    actions: decodeActions(whole["actions"], batches.rows, links, `${at}.actions`),
    states: decodeStates(whole["states"], devices, links, `${at}.states`),
  };
}

function decodeBatches(value: unknown, links: number, at: string): Batches {
  const { rows, column } = table(value, at);
  const whole = fields(value, at);
  return {
    rows,
    decided_ps: column("decided_ps", f64),
    effective_ps: column("effective_ps", f64),
    controller: column("controller", strings),
    action: column("action", strings),
    reason: column("reason", strings),
    moved: column("moved", u32),
    left: decodeLists(whole["left"], rows, links, `${at}.left`),
    taken: decodeLists(whole["taken"], rows, links, `${at}.taken`),
    left_total: column("left_total", u32),
    taken_total: column("taken_total", u32),
    left_out: count(whole, "left_out", at),
  };
}

function decodeActions(value: unknown, batches: number, links: number, at: string): Actions {
  const { rows, column } = table(value, at);
  const whole = fields(value, at);
  const batch = column("batch", u32);
  below(batch, batches, `${at}.columns.batch`, `a row of batches (${batches} rows)`);
  return {
    rows,
    batch,
    job: column("job", u32),
    moved: column("moved", u32),
    subject: column("subject", strings),
    before: column("before", strings),
    after: column("after", strings),
    left: decodeLists(whole["left"], rows, links, `${at}.left`),
    taken: decodeLists(whole["taken"], rows, links, `${at}.taken`),
  };
}

function decodeStates(value: unknown, devices: number, links: number, at: string): States {
  const { rows, column } = table(value, at);
  const whole = fields(value, at);
  const at_ps = column("at_ps", f64);
  if (rows === 0 || at_ps[0] !== 0)
    refuse(`${at}.columns.at_ps row 0`, at_ps[0], "0, the begin of the run");
  at_ps.forEach((time, row) => {
    if (row > 0 && !(time > (at_ps[row - 1] ?? 0)))
      refuse(`${at}.columns.at_ps row ${row}`, time, `more than ${at_ps[row - 1]}, ascending`);
  });
  const until = whole["until_ps"];
  return {
    rows,
    at_ps,
    pending: column("pending", u32),
    no_path: column("no_path", u32),
    uplinks: decodeTrack(whole["uplinks"], rows, `${at}.uplinks`, links, "links"),
    leaves: decodeTrack(whole["leaves"], rows, `${at}.leaves`, devices, "devices"),
    left_out: count(whole, "left_out", at),
    until_ps: until === null || until === undefined ? null : finite(whole, "until_ps", at),
  };
}

function decodeTrack(
  value: unknown,
  states: number,
  at: string,
  limit: number,
  places: string,
): Track {
  const from = fields(value, at);
  const place = u32Free(from["place"], `${at}.place`);
  below(place, limit, `${at}.place`, `a row of ${places} (${limit} rows)`);
  const track = {
    start: u32(from["start"], states + 1, `${at}.start`),
    place,
    count: u32(from["count"], place.length, `${at}.count`),
  };
  track.start.forEach((here, i) => {
    const low = track.start[i - 1] ?? 0;
    if (here < low || here > place.length)
      throw new PayloadError(
        `${at}.start row ${i} is ${here}; expected ${low} to ${place.length}, ascending`,
      );
  });
  return track;
}
