// Types of the generator of payloads with packets, for tests in TypeScript.
import type { WirePayload, WireRun, WireTable } from "../src/api/payload";
import type { SampleFabric } from "./sample.mjs";

export function packetSections(
    fabric: SampleFabric,
    options: { seed?: number; bins?: number; duration_ps: number; most?: number },
): Pick<WireRun, "packets">;
export function operationsOf(duration_ps: number, slow: number): WireTable;
export function packetReport(): WirePayload;
export function packetComparison(): WirePayload;
export function engineComparison(): WirePayload;
export function largePacketReport(): WirePayload;
