// The decoder: what a sample becomes, and that each kind of damage is named with its place.
import { describe, expect, it } from "vitest";
import { decodePayload } from "../../src/api/decode";
import { NOT_APPLICABLE, type Payload } from "../../src/api/payload";
import { emptyRun, smallComparison, smallReport } from "../sample.mjs";

/** A sample as plain JSON, damaged by `change` before it is decoded. */
function damaged(
  change: (run: Record<string, never> & { [key: string]: never }) => void,
): () => unknown {
  const payload = JSON.parse(JSON.stringify(smallReport())) as { runs: [never] };
  change(payload.runs[0]);
  return () => decodePayload(payload);
}
/** The same, with the run seen as loosely typed JSON. */
function broken(path: string, value: unknown): () => unknown {
  return damaged((run) => {
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    let at: Record<string, unknown> = run;
    for (const key of keys) at = at[key] as Record<string, unknown>;
    at[last] = value;
  });
}
function decoded(value: unknown): Payload {
  const payload = decodePayload(value);
  if (payload === null) throw new Error("decoded to nothing");
  return payload;
}

describe("decodePayload", () => {
  it("gives typed columns with the sample's numbers", () => {
    const [run] = decoded(smallReport()).runs;
    expect(run?.devices.rows).toBe(16 + 4 * (16 + 16));
    expect(run?.links.rows).toBe(2 * (4 * 16 * 16 + 4 * 16 * 8));
    expect(run?.links.capacity_bits_per_s[0]).toBe(200e9);
    expect(run?.devices.name.at(0)).toBe("spine-0-0-0");
    expect(run?.devices.segment[0]).toBe(NOT_APPLICABLE);
    expect(run?.link_bins?.utilization.length).toBe((run?.links.rows ?? 0) * 60);
    expect(run?.incidents.what.at(1)).toBe("uplink 7 repaired");
  });
  it("takes null as the empty page, one run and two", () => {
    expect(decodePayload(null)).toBeNull();
    expect(decoded(smallComparison()).runs.length).toBe(2);
    expect(decoded(emptyRun()).runs[0]?.devices.rows).toBe(0);
  });
  it("tells two runs of one name apart", () => {
    const both = smallComparison();
    for (const run of both.runs) run.name = "run";
    expect(decoded(both).runs.map((run) => run.name)).toEqual(["run", "run (2)"]);
  });
  it("refuses another schema by number", () => {
    expect(() => decodePayload({ ...smallReport(), schema: 2 })).toThrow(
      /payload\.schema is 2; expected 1/,
    );
    expect(() => decodePayload([])).toThrow(/payload is \[\]; expected an object/);
    expect(() => decodePayload({ ...smallReport(), runs: [] })).toThrow(/0 runs; expected 1, or 2/);
  });
  it("names the column whose bytes do not fit its rows", () => {
    const data = Buffer.from(new Float64Array(3).buffer).toString("base64");
    expect(broken("links.columns.bytes.data", data)).toThrow(
      /runs\[0\]\.links\.columns\.bytes\.data holds 24 bytes; expected 24576 \(3072 rows of f64\)/,
    );
  });
  it("names a wrong type, a missing column, bad base64", () => {
    expect(broken("links.columns.flows.type", "f32")).toThrow(
      /columns\.flows\.type is "f32"; expected "u32"/,
    );
    expect(broken("timeline.columns.lane", undefined)).toThrow(
      /timeline\.columns\.lane is missing; the table has: axis/,
    );
    expect(broken("links.columns.bytes.data", "%%%")).toThrow(
      /bytes\.data is "%%%"; expected base64/,
    );
  });
  it("refuses references that point past the end", () => {
    const rows = Buffer.from(new Uint32Array(3072).fill(999).buffer).toString("base64");
    expect(broken("links.columns.target.data", rows)).toThrow(
      /target row 0 is 999; expected a row of devices \(144 rows\)/,
    );
    const codes = Buffer.from(new Uint32Array(144).fill(9).buffer).toString("base64");
    expect(broken("devices.columns.kind.data", codes)).toThrow(
      /kind row 0 is 9; expected codes into dict/,
    );
  });
  it("refuses a device kind that the map cannot place", () => {
    expect(broken("devices.columns.kind.dict.0", "router")).toThrow(
      /"router"; expected one of host, leaf, spine, core/,
    );
  });
  it("refuses text where a number belongs, and numbers that are none", () => {
    expect(broken("duration_ps", "3 s")).toThrow(/duration_ps is "3 s"; expected a finite number/);
    expect(broken("figures.0.value", "fast")).toThrow(/figures\[0\]\.value is "fast"/);
    expect(broken("figures.0.better", "up")).toThrow(
      /figures\[0\]\.better is "up"; expected less or more/,
    );
    expect(broken("figures.0.plain", 1)).toThrow(
      /figures\[0\]\.plain is 1; expected true or false/,
    );
    expect(broken("warnings", [3])).toThrow(/warnings\[0\] is 3; expected text/);
    expect(broken("link_bins.bin_ps", 0)).toThrow(/bin_ps is 0; expected more than 0/);
  });
  it("never does anything but throw its own error on damaged JSON", () => {
    const text = JSON.stringify(smallReport());
    for (let cut = 0; cut < 400; cut++) {
      const at = (cut * 7919) % text.length;
      const mangled = text.slice(0, at) + "#" + text.slice(at + 1);
      try {
        decodePayload(JSON.parse(mangled));
      } catch (error) {
        expect((error as Error).name).toMatch(/^(PayloadError|SyntaxError)$/);
      }
    }
  });
});
