// Types of the generator of pages of diagnoses, for tests in TypeScript.
import type { WireDiagnosedPayload, WireLattice } from "../src/api/payload";

export interface LatticeOptions {
    ranks?: number;
    communicators?: number;
    culprit?: number;
    gone?: number;
}
export function latticeOf(options?: LatticeOptions): WireLattice;
export function diagnosedReport(options?: {
    hang?: boolean;
    slow?: boolean;
    lattice?: LatticeOptions;
}): WireDiagnosedPayload;
