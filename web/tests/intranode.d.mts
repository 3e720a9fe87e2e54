// Types of the generator of pages of traffic inside hosts, for tests in TypeScript.
import type { WireIntranodePayload } from "../src/api/payload";

export function intranodeReport(options?: {
    rates?: string[];
    patterns?: string[];
    loads?: number[];
    nic?: number;
}): WireIntranodePayload;
