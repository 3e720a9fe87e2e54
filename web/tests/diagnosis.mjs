// Payloads with a diagnosis for tests: 64 NICs with a bad leaf, a ring of 16 with a late rank, and one of 16 384 NICs.
import { hpn, random, run, table } from "./sample.mjs";

const NEVER = 0xffffffff;
const ENDPOINT_TYPES = { name: "str", host: "str", leaf: "str", segment: "str" };
const CELL_TYPES = { source: "u32", target: "u32", ratio: "f32", samples: "u32" };
const CHAIN_TYPES = { rank: "u32", host: "str", wait_ms: "f64", first_wait_stage: "u32" };
const LANE_TYPES = { name: "str", role: "str" };
const SPAN_TYPES = { lane: "u32", kind: "str", name: "str", start_ms: "f64", end_ms: "f64" };

const BAD_LEAF = "leaf-0-1-r2p0";

/** NICs host by host, as a program meets them: the page has to order them by the fabric. */
function endpointsOf({ segments, hosts, rails }) {
    const rows = [];
    for (let segment = 0; segment < segments; segment++)
        for (let host = 0; host < hosts; host++)
            for (let rail = 0; rail < rails; rail++)
                rows.push({
                    name: `host-0-${segment}-${host}/nic-${rail}`,
                    host: `host-0-${segment}-${host}`,
                    leaf: `leaf-0-${segment}-r${rail}p0`,
                    segment: `segment ${segment}`,
                });
    return rows;
}

/** Pairs with the scatter of healthy ones; what crosses the bad leaf takes twice the time. */
function cellsOf(ends, pairs, next, healthy = false) {
    return pairs.map(([source, target]) => {
        const gauss = next() + next() + next() - 1.5;
        const slow = !healthy && [source, target].some((end) => ends[end].leaf === BAD_LEAF);
        const ratio = (1 + 0.09 * gauss) * (slow ? 1.9 + 0.5 * next() : 1);
        return { source, target, ratio, samples: 40 + Math.floor(200 * next()) };
    });
}

/** Every pair on other hosts; every ninth was not measured. */
function allPairs(ends) {
    const pairs = [];
    for (let source = 0; source < ends.length; source++)
        for (let target = 0; target < ends.length; target++)
            if (ends[source].host !== ends[target].host && (source * 7 + target * 3) % 9 !== 0)
                pairs.push([source, target]);
    return pairs;
}

/** Ranks in ring order behind a late one: each waits for the one before, its successor first and longest. */
function chainOf(count, late, hostOf, next) {
    const rows = Array.from({ length: count }, (_, row) => {
        const behind = (row - late + count) % count;
        return {
            rank: row * 4 + 1,
            host: hostOf(row),
            wait_ms: behind === 0 ? 1.3 : 41 - (22 * (behind - 1)) / count + 2 * next(),
            first_wait_stage: behind === 0 ? NEVER : behind,
        };
    });
    return {
        communicator: "dp-1",
        axis: "dp",
        total: count,
        culprit: late,
        finding: 0,
        least: late,
        ranks: table(rows, CHAIN_TYPES),
    };
}

/** One step of the late rank, its neighbours and two typical ranks. */
function ranksOf(next) {
    const lanes = [
        { name: "rank 17", role: "predecessor" },
        { name: "rank 21", role: "culprit" },
        { name: "rank 25", role: "successor" },
        { name: "rank 41", role: "typical" },
        { name: "rank 57", role: "typical" },
    ];
    const spans = [];
    for (let layer = 0; layer < 8; layer++) {
        const begin = layer * 62;
        lanes.forEach(({ role }, lane) => {
            const work = (role === "culprit" ? 46 : 33) + 2 * next();
            const [ready, start] = [begin + work, begin + 48];
            const of = { lane, name: `layer ${layer}` };
            spans.push({ ...of, kind: "compute", start_ms: begin, end_ms: ready });
            if (start > ready)
                spans.push({
                    ...of,
                    kind: "wait",
                    name: "reduce_scatter",
                    start_ms: ready,
                    end_ms: start,
                });
            spans.push({
                ...of,
                kind: "communicate",
                name: "reduce_scatter",
                start_ms: Math.max(ready, start),
                end_ms: begin + 61,
            });
        });
    }
    return {
        start_s: 18.6,
        what: "step 6 of job train: the culprit of dp-1, its neighbours and two typical ranks",
        lanes: table(lanes, LANE_TYPES),
        spans: table(spans, SPAN_TYPES),
    };
}

function findings() {
    return [
        {
            at_s: 21.4,
            since_s: 18.2,
            syndrome: "non-communication-slow",
            faults: ["slow-gpu", "slow-data"],
            suspects: [
                { kind: "gpu", name: "host-0-0-5/gpu-1", share: 0.61, devices: ["host-0-0-5"] },
                { kind: "rank", name: "train/21", share: 0.27, devices: ["host-0-0-5"] },
            ],
            confidence: 0.88,
            severity: 0.21,
            evidence: [
                {
                    table: "operations",
                    what: "total wait of rank 21 in dp-1 against the median of its ring",
                    value: 1.3,
                    expected: 31.6,
                    unit: "ms",
                },
                {
                    table: "operations",
                    what: "time between operations of rank 21 against its peers",
                    value: 46.9,
                    expected: 34.1,
                    unit: "ms",
                },
            ],
            advice: "Would tell them apart: clocks and power of the GPU, or the time its data loader takes.",
            actions: [
                {
                    kind: "probe",
                    target_kind: "gpu",
                    target: "host-0-0-5/gpu-1",
                    reason: "A short matrix product on the GPU alone shows whether it is slow.",
                },
            ],
        },
        {
            at_s: 14.1,
            since_s: 12.4,
            since_until_s: 13.2,
            syndrome: "communication-slow",
            faults: ["slow", "lossy"],
            suspects: [
                { kind: "switch", name: BAD_LEAF, share: 0.78, devices: [BAD_LEAF] },
                {
                    kind: "cable",
                    name: `${BAD_LEAF}:uplink-3`,
                    share: 0.13,
                    devices: [BAD_LEAF, "spine-0-0-3"],
                },
                {
                    kind: "nic",
                    name: "host-0-1-3/nic-2",
                    share: 0.05,
                    devices: ["host-0-1-3", BAD_LEAF],
                },
            ],
            confidence: 0.96,
            severity: 0.38,
            lost_s: 11.75,
            lost_share: 0.25,
            evidence: [
                {
                    table: "messages",
                    what: `time per byte from and to NICs of ${BAD_LEAF}, median`,
                    value: 0.092,
                    expected: 0.043,
                    unit: "ns/B",
                },
                {
                    table: "messages",
                    what: `pairs over 1.5 times the median that cross ${BAD_LEAF}`,
                    value: 0.994,
                    expected: 0.012,
                    unit: "ratio",
                },
                {
                    table: "counters",
                    what: `packets out of sequence at NICs of ${BAD_LEAF}, per second`,
                    value: 1840,
                    expected: 3,
                    unit: "count",
                },
                {
                    table: "counters",
                    what: `longest queue of ${BAD_LEAF}`,
                    value: 9.4e6,
                    expected: 1.1e6,
                    unit: "bytes",
                },
            ],
            advice: "Would tell them apart: probes through each uplink of the leaf, one at a time.",
            actions: [
                {
                    kind: "probe",
                    target_kind: "switch",
                    target: BAD_LEAF,
                    reason: "Probes between its NICs and a healthy leaf, on fixed source ports, split leaf from uplink.",
                },
                {
                    kind: "drain",
                    target_kind: "switch",
                    target: BAD_LEAF,
                    reason: "All eight hosts below it are slowed; the other plane carries them meanwhile.",
                },
            ],
        },
        {
            at_s: 30.2,
            since_s: 29.7,
            syndrome: "collision",
            faults: [],
            suspects: [
                {
                    kind: "connection",
                    name: "host-0-0-1/nic-0 > host-0-1-6/nic-0",
                    share: 0.5,
                    devices: ["host-0-0-1", "host-0-1-6"],
                },
                {
                    kind: "connection",
                    name: "host-0-0-4/nic-0 > host-0-1-2/nic-0",
                    share: 0.5,
                    devices: ["host-0-0-4", "host-0-1-2"],
                },
            ],
            confidence: 0.72,
            severity: 0.06,
            evidence: [
                {
                    table: "messages",
                    what: "time per byte after the source port changed",
                    value: 0.044,
                    expected: 0.081,
                    unit: "ns/B",
                },
            ],
            advice: "",
            actions: [],
        },
        {
            at_s: 44,
            since_s: 40.5,
            syndrome: "latency",
            faults: [],
            suspects: [],
            confidence: 0.4,
            severity: 0.03,
            evidence: [
                {
                    table: "probes",
                    what: "round trip of probes across segments, median",
                    value: 14.2,
                    expected: 11.9,
                    unit: "us",
                },
            ],
            advice: "Missing: probes inside the segments, which would tell leaves from spines.",
            actions: [],
        },
    ];
}

function diagnosis(shape) {
    const next = random(11);
    const ends = endpointsOf(shape);
    const cells = cellsOf(ends, allPairs(ends), next);
    return {
        source: "simulated",
        operations: 1_204_331,
        messages: 482_944,
        span_s: 60,
        start_ps: 0,
        settings: [
            { name: "window", value: "10 s" },
            { name: "slow pair, over the median", value: "1.5" },
            { name: "least confidence", value: "0.35" },
            { name: "hang after", value: "30 s" },
        ],
        findings: findings(),
        truths: [
            {
                from_s: 12,
                until_s: null,
                kind: "slow",
                component_kind: "switch",
                component: BAD_LEAF,
                severity: 0.45,
            },
            {
                from_s: 18,
                until_s: 52,
                kind: "slow-gpu",
                component_kind: "gpu",
                component: "host-0-0-5/gpu-1",
                severity: 1.35,
            },
            {
                from_s: 41,
                until_s: 55,
                kind: "latency",
                component_kind: "switch",
                component: "spine-0-0-1",
                severity: 1.5,
            },
        ],
        matrix: {
            endpoints: table(ends, ENDPOINT_TYPES),
            cells: table(cells, CELL_TYPES),
            total: cells.length,
            median_ns_per_byte: 0.043,
        },
        chain: chainOf(16, 5, (row) => `host-0-${Math.floor(row / 8)}-${row % 8}`, next),
        ranks: ranksOf(next),
    };
}

const SHAPE = { segments: 2, hosts: 8, rails: 4, planes: 1, spines: 4 };

function diagnosed(name, options = {}) {
    const made = run(hpn(SHAPE), {
        name,
        fabric_name: "hpn",
        description: "training of 64 GPUs with three faults",
        step_ms: 60_000,
        level: 0.4,
        luck: 0.4,
        stages: 2,
        microbatches: 4,
        layers: 2,
        headline: "One step takes 3.1 s.",
        incidents: [{ at_ps: 12e12, device: BAD_LEAF, what: "links slow down" }],
        flows: 256,
        ...options,
    });
    return { ...made, diagnosis: diagnosis(SHAPE) };
}

const whole = (title, runs) => ({ schema: 1, title, generator: "railtwin 0.1.0", runs });

export function diagnosisOf(payload) {
    const found = payload.runs[0].diagnosis;
    if (!found) throw new Error("the payload has no diagnosis");
    return found;
}

/** One run with three injected faults, two of them found, and a collision. */
export function diagnosisReport() {
    return whole("64 GPUs, three faults", [diagnosed("three-faults")]);
}

/** The same beside a run in which nothing was found. */
export function diagnosisComparison() {
    const healthy = diagnosed("healthy", { incidents: [], seed: 9 });
    const next = random(4);
    const ends = endpointsOf(SHAPE);
    const matrix = {
        ...healthy.diagnosis.matrix,
        cells: table(cellsOf(ends, allPairs(ends), next, true), CELL_TYPES),
    };
    healthy.diagnosis = { ...healthy.diagnosis, findings: [], truths: [], matrix };
    delete healthy.diagnosis.chain;
    return whole("With and without faults", [healthy, diagnosed("three-faults")]);
}

/** Nothing found, from imported operations without messages. */
export function quietReport() {
    const quiet = diagnosed("quiet");
    quiet.diagnosis = {
        source: "imported",
        operations: 88_120,
        messages: 0,
        span_s: 3600,
        findings: [],
    };
    return whole("A quiet hour", [quiet]);
}

/** Telemetry without a single operation. */
export function silentReport() {
    const silent = diagnosed("silent");
    silent.diagnosis = { source: "imported", operations: 0, messages: 0, span_s: 0, findings: [] };
    return whole("No telemetry", [silent]);
}

/** 16 384 NICs on 2 048 hosts, as many pairs as a report may carry, a ring of 1 024 and 300 findings. */
export function largeDiagnosisReport() {
    const shape = { segments: 16, hosts: 128, rails: 8, planes: 2, spines: 32 };
    const made = run(hpn(shape), {
        name: "16k",
        fabric_name: "hpn",
        description: "16 384 GPUs",
        step_ms: 60_000,
        level: 0.4,
        luck: 0.4,
        headline: "One step takes 3.1 s.",
        bins: 0,
    });
    const next = random(5);
    const ends = endpointsOf(shape);
    const pairs = Array.from({ length: 200_000 }, (_, i) => {
        const source = i % ends.length;
        // Rings along a rail, in several orders.
        const hop = 8 * (1 + 2 * Math.floor(i / ends.length));
        return [source, (source + hop) % ends.length];
    });
    const small = diagnosis(SHAPE);
    made.diagnosis = {
        ...small,
        findings: Array.from({ length: 75 }, findings).flat(),
        matrix: {
            endpoints: table(ends, ENDPOINT_TYPES),
            cells: table(cellsOf(ends, pairs, next), CELL_TYPES),
            total: 1_048_576,
            median_ns_per_byte: 0.043,
        },
        chain: chainOf(1024, 300, (row) => `host-0-${row >> 7}-${row & 127}`, next),
    };
    return whole("16 384 GPUs", [made]);
}

/** NICs of hosts in segments of 16, a leaf per rail, and pairs with noise; those of one NIC take `factor` times as
 * long. `pairs`: all of other hosts, a ring over all NICs, or every pair along a rail. */
export function matrixOf({ hosts, rails, slow, factor, pairs, noise }) {
    const next = random(21);
    const ends = Array.from({ length: hosts * rails }, (_, i) => {
        const [host, rail] = [Math.floor(i / rails), i % rails];
        const segment = Math.floor(host / 16);
        return {
            name: `host-${host}/nic-${rail}`,
            host: `host-${host}`,
            leaf: `leaf-${segment}-r${rail}`,
            segment: `segment ${segment}`,
        };
    });
    const wanted = (source, target) => {
        if (pairs === "ring") return (source + rails) % ends.length === target;
        if (pairs === "rails") return source % rails === target % rails;
        return ends[source].host !== ends[target].host;
    };
    const bad = ends.findIndex(({ name }) => name === slow);
    const gauss = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
    const cells = [];
    for (let source = 0; source < ends.length; source++)
        for (let target = 0; target < ends.length; target++) {
            if (source === target || !wanted(source, target)) continue;
            // Of a million pairs a report lists the slow ones and a draw of the others.
            const own = source === bad || target === bad;
            if (pairs === "all" && !own && (source * 31 + target * 17) % 6 !== 0) continue;
            const ratio = Math.exp(noise * gauss()) * (own ? factor : 1);
            cells.push({ source, target, ratio, samples: 4 });
        }
    return { ends, cells };
}

/** 1 024 ranks, one port five times slow among pairs along the rails; nothing was found. */
export function slowPortReport() {
    const made = diagnosed("slow-port");
    const { ends, cells } = matrixOf({
        hosts: 128,
        rails: 8,
        slow: "host-77/nic-3",
        factor: 5,
        pairs: "rails",
        noise: 0.1,
    });
    made.diagnosis = {
        ...made.diagnosis,
        findings: [],
        matrix: {
            endpoints: table(ends, ENDPOINT_TYPES),
            cells: table(cells, CELL_TYPES),
            total: cells.length,
            median_ns_per_byte: 0.04,
        },
    };
    delete made.diagnosis.chain;
    return whole("1 024 ranks, one slow port", [made]);
}
