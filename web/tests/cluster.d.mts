// Types of the generator of pages of weeks of jobs, for tests in TypeScript.
import type { WireClusterPayload } from "../src/api/payload";

export function clusterReport(options?: {
    policies?: string[];
    seeds?: number[];
    gpus?: number;
    count?: number;
    days?: number;
    /** Whether somebody serves inference, most at 15 o'clock. */
    tide?: boolean;
}): WireClusterPayload;
export function largeClusterReport(): WireClusterPayload;
