// Types of the payload generator, for tests in TypeScript.
import type {
    WireColumn,
    WireLists,
    WireClusterPayload,
    WireDiagnosedPayload,
    WireIntranodePayload,
    WirePayload,
    WireRun,
    WireTable,
} from "../src/api/payload";

export type WireAnyPayload =
    WirePayload | WireClusterPayload | WireIntranodePayload | WireDiagnosedPayload;
export interface SampleFabric {
    devices: object[];
    cables: object[];
}
export interface RunOptions {
    name: string;
    fabric_name: string;
    description: string;
    step_ms: number;
    level: number;
    luck: number;
    headline: string;
    seed?: number;
    stages?: number;
    microbatches?: number;
    layers?: number;
    warnings?: string[];
    bins?: number;
    every?: number;
    ep?: boolean;
    hot?: boolean;
    incidents?: object[];
    spread?: number;
    flows?: number;
    total?: number;
    fault?: [number, string][];
    buckets?: number;
}
export function random(seed: number): () => number;
export function numbers(type: "f64" | "f32" | "u32" | "u8", values: Iterable<number>): WireColumn;
export function strings(values: string[]): WireColumn;
export function lists(rows: number[][]): WireLists;
export function progressSections(
    duration_ps: number,
    buckets: number,
): Pick<WireRun, "jobs" | "steps" | "throughput">;
export function table(rows: object[], types: Record<string, string>): WireTable;
export function hpn(options: Record<string, number>): SampleFabric;
export function dcnPlus(options: Record<string, number>): SampleFabric;
export function run(fabric: SampleFabric, options: RunOptions): WireRun;
export function smallReport(): WirePayload;
export function smallComparison(): WirePayload;
export function sameFabricComparison(): WirePayload;
export function largeComparison(): WirePayload;
export function largeReport(): WirePayload;
export function emptyRun(): WirePayload;
export function haltedReport(): WirePayload;
export function jobsReport(): WirePayload;
export function fill(template: string, payload: WireAnyPayload): string;
