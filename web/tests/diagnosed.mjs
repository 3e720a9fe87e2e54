// Payloads of diagnoses for tests: a hang of many ranks and communicators, causes with what follows, a slow job.
import { numbers, strings } from "./sample.mjs";

const STATES = ["done", "no dump", "not told", "pending", "never enqueued"];
const [DONE, NO_DUMP, , PENDING, NEVER] = [0, 1, 2, 3, 4];

/** Ranks in tensor groups of eight, pipelines across them, and one communicator of all; `culprit` stopped asking. */
export function latticeOf({ ranks = 16, communicators = 8, culprit = 10, gone = 3 } = {}) {
    const groups = [
        { name: "default 0", kind: 0, ranks: Array.from({ length: ranks }, (_, i) => i) },
    ];
    const size = 8;
    for (let first = 0; first < ranks && groups.length < communicators; first += size)
        groups.push({
            name: `TENSOR_MODEL_PARALLEL_GROUP ${groups.length}`,
            kind: 1,
            ranks: Array.from({ length: Math.min(size, ranks - first) }, (_, i) => first + i),
        });
    const rest = communicators - groups.length;
    for (let i = 0; i < rest; i++)
        groups.push({
            name: `DATA_PARALLEL_GROUP ${i}`,
            kind: 2,
            ranks: Array.from({ length: ranks }, (_, rank) => rank).filter((r) => r % rest === i),
        });
    const cells = { rank: [], group: [], state: [] };
    const open = [];
    groups.forEach((group, row) => {
        const holds = group.ranks.includes(culprit);
        for (const rank of group.ranks) {
            let state = DONE;
            if (rank === gone) state = NO_DUMP;
            else if (holds && row > 0) state = rank === culprit ? NEVER : PENDING;
            if (state >= PENDING) open.push({ cell: cells.rank.length, rank });
            cells.rank.push(rank);
            cells.group.push(row);
            cells.state.push(state);
        }
    });
    const table = (rows, columns) => ({ rows, columns });
    const of = (value) => open.map(() => value);
    return {
        states: STATES,
        kinds: ["default 0", "TENSOR_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP"],
        unused: 2,
        ranks: table(ranks, {
            rank: numbers(
                "u32",
                Array.from({ length: ranks }, (_, i) => i),
            ),
            mark: numbers(
                "u32",
                Array.from({ length: ranks }, (_, i) => (i === culprit ? 2 : 0)),
            ),
            standing: strings(
                Array.from({ length: ranks }, (_, i) =>
                    i === culprit
                        ? "has nothing pending"
                        : "in all-reduce 42 of TENSOR_MODEL_PARALLEL_GROUP 2",
                ),
            ),
            waits_for: strings(
                Array.from({ length: ranks }, (_, i) => (i === culprit ? "" : String(culprit))),
            ),
        }),
        groups: table(groups.length, {
            name: strings(groups.map(({ name }) => name)),
            kind: numbers(
                "u32",
                groups.map(({ kind }) => kind),
            ),
            ranks: numbers(
                "u32",
                groups.map((group) => group.ranks.length),
            ),
        }),
        cells: table(cells.rank.length, {
            rank: numbers("u32", cells.rank),
            group: numbers("u32", cells.group),
            state: numbers("u32", cells.state),
        }),
        open: table(open.length, {
            cell: numbers(
                "u32",
                open.map(({ cell }) => cell),
            ),
            name: strings(of("all-reduce")),
            sequence: numbers("f64", of(42)),
            count: numbers(
                "f64",
                open.map(({ rank }) => (rank === culprit ? 3 : 1)),
            ),
            started: strings(of("")),
            frame: strings(of("train.py:118 forward_backward")),
            enqueued: numbers(
                "f64",
                open.map(({ rank }) => (rank === culprit ? 41 : 42)),
            ),
            ended: numbers("f64", of(41)),
        }),
    };
}

function finding(who, what, evidence) {
    return {
        who,
        what,
        syndrome: "non-communication-hang",
        faults: ["hang", "crash"],
        suspects: [{ kind: "rank", name: who.replace("rank ", ""), share: 0.8 }],
        suspects_total: 1,
        accuses: true,
        sure: "likely",
        confidence: 0.8,
        severity: 1,
        evidence,
        evidence_total: evidence.length,
        advice: "its process stopped asking: a stack of its threads (py-spy dump) tells where",
        actions: [
            {
                kind: "report",
                target: { kind: "rank", name: "job/10" },
                reason: "no file names its host",
            },
        ],
    };
}

function evidence(what, value, sources) {
    return {
        table: "dumps",
        what,
        value,
        expected: "42",
        unit: "operation",
        sources,
        sources_total: sources.length,
    };
}

const whatIf = (ranks) => {
    const part = (name, i) => ({
        name,
        alone: [1.2 / (i + 1) + 0.8, 1 + 0.01 / (i + 1)],
        saved: [0.1 / (i + 1), 0.01],
    });
    return {
        file: "trace.parquet",
        operations: 6784,
        launch: 1.02,
        slowdown: [1.179, 1.005],
        kinds: ["forward-compute", "backward-compute", "grads-reduce-scatter"].map(part),
        stages: ["3", "0", "1", "2"].map(part),
        replicas: ["1", "0"].map(part),
        ranks: Array.from({ length: ranks }, (_, i) => String(ranks - 1 - i)).map(part),
        steps: Array.from({ length: 32 }, (_, step) => ({
            step,
            recorded_s: 2.2,
            slowdown: [1.18 + (step % 5) / 50, 1.01],
        })),
    };
};

export function diagnosedReport({ hang = true, slow = false, lattice = {} } = {}) {
    const at = (rank, place) => [{ file: `dumps/_dump_${rank}`, place }];
    const proof =
        "rank 10 has nothing pending and never began all-reduce of TENSOR_MODEL_PARALLEL_GROUP 2, in which rank 8 waits";
    const findings = hang
        ? [
              finding("rank job/10", "the others wait for it", [
                  evidence(proof, "41", [...at(8, "entry 3 of 5"), ...at(10, "pg_status of 2")]),
                  evidence(
                      "ranks that are within an operation, of 16 in 8 communicators",
                      "15",
                      at(8, "entry 3 of 5"),
                  ),
              ]),
              finding("connection a > b", "communication is slow", [
                  evidence("bandwidth of 8 of 9 results", "0.5", []),
              ]),
          ]
        : [];
    const cause = {
        who: "rank job/10",
        what: "the others wait for it; likely, 0.80; 1 finding follows from it",
    };
    return {
        schema: 1,
        title: "dumps",
        generator: "railtwin test",
        diagnosed: {
            name: "dumps",
            version: "0.1.0",
            engine: null,
            well: !hang,
            answer: {
                sentence: hang
                    ? "rank job/10: the others wait for it, confidence 0.80"
                    : "nothing found in 3712 operations of 8 ranks over 70.8 s",
                causes: hang
                    ? [{ cause: 0, ...cause, seen: [`${proof}: 41 operation, expected 42`] }]
                    : [],
                also: [
                    "the dumps do not show that the job stood still: no operation in them ran out of its time",
                ],
                next: hang ? "a stack of its threads (py-spy dump) tells where" : null,
            },
            causes: hang
                ? [{ ...cause, accuses: true, confidence: 0.8, findings: [0], follows: [1] }]
                : [],
            findings,
            notes: ["48 point-to-point entries are not in the table of operations"],
            files: [
                {
                    file: "dumps/_dump_8",
                    format: "Flight Recorder",
                    held: "5 entries",
                    notes: [],
                    skipped: 0,
                },
            ],
            unread: [
                {
                    file: "dumps/LICENSE",
                    reason: "is of no format that is known",
                    recognized: false,
                },
            ],
            files_total: 2,
            ideals: ["mean over all", "median over like stages"],
            what_if: slow ? [whatIf(8)] : [],
            ...(hang ? { lattice: latticeOf(lattice) } : {}),
        },
    };
}
