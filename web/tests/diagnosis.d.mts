// Types of the generator of payloads with a diagnosis, for tests in TypeScript.
import type { WireDiagnosis, WirePayload } from "../src/api/payload";

/** The diagnosis of the first run of a payload; throws where there is none. */
export function diagnosisOf(payload: WirePayload): WireDiagnosis;
export function diagnosisReport(): WirePayload;
export function diagnosisComparison(): WirePayload;
export function quietReport(): WirePayload;
export function silentReport(): WirePayload;
export function largeDiagnosisReport(): WirePayload;
export function slowPortReport(): WirePayload;
export function matrixOf(options: {
    hosts: number;
    rails: number;
    slow: string;
    factor: number;
    pairs: "all" | "ring" | "rails";
    noise: number;
}): {
    ends: { name: string; host: string; leaf: string; segment: string }[];
    cells: { source: number; target: number; ratio: number; samples: number }[];
};
