// A diagnosis of files, `railtwin diagnose --report`: wire types and decoded types.
import type { Strings, WireTable } from "./payload";

/** A place in a file; an empty place is the whole of it. */
export interface Source {
  file: string;
  place: string;
}
export interface DiagnosedEvidence {
  table: string;
  what: string;
  /** Numbers as they are told everywhere else. */
  value: string;
  expected: string;
  unit: string;
  sources: Source[];
  sources_total: number;
}
export interface DiagnosedComponent {
  kind: string;
  name: string;
}
export interface DiagnosedFinding {
  who: string;
  what: string;
  syndrome: string;
  faults: string[];
  suspects: (DiagnosedComponent & { share: number })[];
  suspects_total: number;
  accuses: boolean;
  sure: string;
  confidence: number;
  severity: number;
  /** Those lines first that decide. */
  evidence: DiagnosedEvidence[];
  evidence_total: number;
  advice: string;
  actions: { kind: string; target: DiagnosedComponent; reason: string }[];
}
export interface DiagnosedCause {
  who: string;
  what: string;
  accuses: boolean;
  confidence: number;
  /** Rows of its findings, and of those that follow from it. */
  findings: number[];
  follows: number[];
}
/** The first screen of the command, by its parts. */
export interface DiagnosedAnswer {
  sentence: string;
  causes: { cause: number; who: string; what: string; seen: string[] }[];
  also: string[];
  next: string | null;
}
export interface DiagnosedFile {
  file: string;
  format: string;
  held: string;
  notes: string[];
  skipped: number;
}
/** A part of a job by both ideals: times as long as the ideal when it alone is as it was, and time gone when it is ideal. */
export interface WhatIfPart {
  name: string;
  alone: [number, number];
  saved: [number, number];
}
export interface WhatIf {
  file: string;
  operations: number;
  launch: number;
  slowdown: [number, number];
  kinds: WhatIfPart[];
  stages: WhatIfPart[];
  replicas: WhatIfPart[];
  ranks: WhatIfPart[];
  steps: { step: number; recorded_s: number; slowdown: [number, number] }[];
}
export interface WireLattice {
  states: string[];
  kinds: string[];
  unused: number;
  ranks: WireTable;
  groups: WireTable;
  cells: WireTable;
  open: WireTable;
}
export interface WireDiagnosed {
  name: string;
  version: string;
  engine: string | null;
  well: boolean;
  answer: DiagnosedAnswer;
  causes: DiagnosedCause[];
  findings: DiagnosedFinding[];
  notes: string[];
  files: DiagnosedFile[];
  unread: { file: string; reason: string; recognized: boolean }[];
  files_total: number;
  ideals: string[];
  what_if: WhatIf[];
  lattice?: WireLattice;
}

/** States of cells, the least worth a look first: where cells are joined the last of theirs is shown. */
export const CELL_STATES = ["done", "no dump", "not told", "pending", "never enqueued"] as const;
/** Marks of ranks. */
export const MARK = { none: 0, suspect: 1, culprit: 2 } as const;

/** Ranks by communicators. */
export interface Lattice {
  /** What communicators of one purpose are called together. */
  kinds: string[];
  /** Communicators of which nobody recorded anything. */
  unused: number;
  ranks: {
    rows: number;
    rank: Uint32Array;
    mark: Uint32Array;
    standing: Strings;
    waits_for: Strings;
  };
  groups: { rows: number; name: Strings; kind: Uint32Array; ranks: Uint32Array };
  /** By communicator and rank; `rank` and `group` are rows. */
  cells: { rows: number; rank: Uint32Array; group: Uint32Array; state: Uint32Array };
  /** What is open or missing in cells; NaN: nothing tells. */
  open: {
    rows: number;
    cell: Uint32Array;
    name: Strings;
    sequence: Float64Array;
    count: Float64Array;
    started: Strings;
    frame: Strings;
    enqueued: Float64Array;
    ended: Float64Array;
  };
}
export interface Diagnosed extends Omit<WireDiagnosed, "lattice"> {
  lattice: Lattice | null;
}
