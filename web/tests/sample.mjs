// Builds realistic payloads for tests: fabrics of real shape, loads drawn from a seeded sequence.

/** A small fast generator (mulberry32): the same seed gives the same payload on every machine. */
export function random(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

const NONE = 0xffffffff;
const ARRAYS = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, u8: Uint8Array };

export function numbers(type, values) {
    const array = ARRAYS[type].from(values);
    return { type, data: Buffer.from(array.buffer).toString("base64") };
}

export function strings(values) {
    const places = new Map();
    const codes = new Uint32Array(values.length);
    values.forEach((value, row) => {
        if (!places.has(value)) places.set(value, places.size);
        codes[row] = places.get(value);
    });
    return {
        type: "str",
        dict: [...places.keys()],
        data: Buffer.from(codes.buffer).toString("base64"),
    };
}

/** Rows of plain objects to a column table; `types` names the columns. */
export function table(rows, types) {
    const columns = {};
    for (const [name, type] of Object.entries(types)) {
        const values = rows.map((row) => row[name]);
        columns[name] = type === "str" ? strings(values) : numbers(type, values);
    }
    return { rows: rows.length, columns };
}

const DEVICE_TYPES = {
    name: "str",
    kind: "str",
    pod: "u32",
    segment: "u32",
    rail: "u32",
    plane: "u32",
    index: "u32",
};
const LINK_TYPES = {
    source: "u32",
    target: "u32",
    parallel: "u32",
    capacity_bits_per_s: "f64",
    bytes: "f64",
    utilization: "f32",
    utilization_mean: "f32",
    flows: "u32",
};
const SPAN_TYPES = {
    lane: "str",
    axis: "str",
    kind: "str",
    name: "str",
    start_ps: "f64",
    end_ps: "f64",
    bytes: "f64",
};
const INCIDENT_TYPES = { at_ps: "f64", device: "str", what: "str" };

class Fabric {
    devices = [];
    cables = [];
    device(fields) {
        this.devices.push({
            pod: NONE,
            segment: NONE,
            rail: NONE,
            plane: NONE,
            index: NONE,
            ...fields,
        });
        return this.devices.length - 1;
    }
    cable(low, high, parallel, capacity_bits_per_s) {
        this.cables.push({ low, high, parallel, capacity_bits_per_s });
    }
}

/** Rail-optimised, dual-plane: each host has a port on every rail and plane of its segment. */
export function hpn({
    segments = 4,
    hosts = 16,
    rails = 8,
    planes = 2,
    spines = 16,
    cores = 0,
    pods = 1,
}) {
    const fabric = new Fabric();
    for (let pod = 0; pod < pods; pod++) {
        const tops = [];
        for (let plane = 0; plane < planes; plane++)
            for (let index = 0; index < spines / planes; index++) {
                const name = `spine-${pod}-${plane}-${index}`;
                (tops[plane] ??= []).push(
                    fabric.device({ name, kind: "spine", pod, plane, index }),
                );
            }
        for (let segment = 0; segment < segments; segment++) {
            const machines = Array.from({ length: hosts }, (_, index) =>
                fabric.device({
                    name: `host-${pod}-${segment}-${index}`,
                    kind: "host",
                    pod,
                    segment,
                    index,
                }),
            );
            for (let plane = 0; plane < planes; plane++)
                for (let rail = 0; rail < rails; rail++) {
                    const name = `leaf-${pod}-${segment}-r${rail}p${plane}`;
                    const leaf = fabric.device({
                        name,
                        kind: "leaf",
                        pod,
                        segment,
                        rail,
                        plane,
                        index: plane * rails + rail,
                    });
                    for (const host of machines) fabric.cable(host, leaf, 1, 200e9);
                    for (const spine of tops[plane]) fabric.cable(leaf, spine, 1, 400e9);
                }
        }
        for (let index = 0; index < cores; index++)
            for (let plane = 0; plane < planes; plane++) {
                if (pod === 0)
                    fabric.device({ name: `core-${plane}-${index}`, kind: "core", plane, index });
                const core = fabric.devices.findIndex((d) => d.name === `core-${plane}-${index}`);
                for (const spine of tops[plane]) fabric.cable(spine, core, 1, 400e9);
            }
    }
    return fabric;
}

/** Three tiers, two leaves a segment, eight parallel links from a leaf to each of eight spines. */
export function dcnPlus({ segments = 8, perPod = 4, hosts = 16, spines = 8, cores = 32 }) {
    const fabric = new Fabric();
    const tops = Array.from({ length: cores }, (_, index) =>
        fabric.device({ name: `core-${index}`, kind: "core", index }),
    );
    for (let pod = 0; pod * perPod < segments; pod++) {
        const agg = Array.from({ length: spines }, (_, index) =>
            fabric.device({ name: `spine-${pod}-${index}`, kind: "spine", pod, index }),
        );
        for (const spine of agg) for (const core of tops) fabric.cable(spine, core, 2, 400e9);
        for (let s = 0; s < perPod && pod * perPod + s < segments; s++) {
            const segment = pod * perPod + s;
            const leaves = [0, 1].map((index) =>
                fabric.device({
                    name: `leaf-${pod}-${segment}-${index}`,
                    kind: "leaf",
                    pod,
                    segment,
                    index,
                }),
            );
            for (let index = 0; index < hosts; index++) {
                const host = fabric.device({
                    name: `host-${pod}-${segment}-${index}`,
                    kind: "host",
                    pod,
                    segment,
                    index,
                });
                for (const leaf of leaves) fabric.cable(host, leaf, 8, 200e9);
            }
            for (const leaf of leaves) for (const spine of agg) fabric.cable(leaf, spine, 8, 400e9);
        }
    }
    return fabric;
}

/** Both directions of each cable with a load: uneven where a hash chooses, even on host ports. */
function loads(fabric, next, { level, luck, duration_s, hot }) {
    const links = [];
    for (const { low, high, parallel, capacity_bits_per_s } of fabric.cables) {
        const host = fabric.devices[low].kind === "host";
        for (const [source, target] of [
            [low, high],
            [high, low],
        ]) {
            const spread = host ? 0.08 : luck;
            const gauss = next() + next() + next() - 1.5;
            let mean = level * (host ? 0.8 : 1) * Math.max(0.05, 1 + spread * gauss);
            if (!host && hot && next() < 0.004) mean *= 1.7;
            const worst = Math.min(1, mean * (parallel > 1 ? 1 + 0.4 * luck * next() : 1));
            mean = Math.min(worst, mean);
            links.push({
                source,
                target,
                parallel,
                capacity_bits_per_s,
                utilization: worst,
                utilization_mean: mean,
                bytes: (mean * parallel * capacity_bits_per_s * duration_s) / 8,
                flows: Math.round(parallel * (host ? 4 : 6 + 12 * next())),
            });
        }
    }
    return links;
}

/** One pipeline step: forward and backward microbatches per stage, tp and ep inside, dp at the end. */
function timeline(next, { stages, microbatches, layers, duration_ps, ep }) {
    const spans = [];
    const warm = 0.02 * duration_ps;
    const slot = (duration_ps * 0.86 - warm) / (microbatches + stages);
    const add = (lane, axis, kind, name, start_ps, end_ps, bytes) =>
        spans.push({ lane, axis, kind, name, start_ps, end_ps, bytes });
    for (let stage = 0; stage < stages; stage++) {
        const lane = `stage ${stage}`;
        for (let m = 0; m < microbatches; m++) {
            const start = warm + (stage + m) * slot;
            if (stage > 0)
                add(lane, "pp", "send", `activation ${m}`, start - 0.05 * slot, start, 201e6);
            let at = start;
            for (let layer = 0; layer < layers; layer++) {
                const whole = (slot * 0.94) / layers;
                const work = whole * (0.62 + 0.06 * next());
                add(lane, "compute", "compute", `layer ${layer} microbatch ${m}`, at, at + work, 0);
                const rest = whole - work;
                add(
                    lane,
                    "tp",
                    "all_reduce",
                    `layer ${layer} microbatch ${m}`,
                    at + work,
                    at + work + rest * (ep ? 0.4 : 1),
                    403e6,
                );
                if (ep)
                    add(
                        lane,
                        "ep",
                        "all_to_all",
                        `dispatch ${layer} microbatch ${m}`,
                        at + work + rest * 0.4,
                        at + whole,
                        117e6,
                    );
                at += whole;
            }
        }
        const tail = warm + (stage + microbatches) * slot;
        const end = duration_ps * (0.97 + 0.03 * next());
        const pieces = 6;
        for (let i = 0; i < pieces; i++) {
            const from = tail - slot * 1.5 + ((end - tail + slot * 1.5) * i) / pieces;
            add(
                lane,
                ep ? "dp_ep" : "dp",
                "reduce_scatter",
                `gradients ${i}`,
                from,
                from + ((end - tail + slot * 1.5) / pieces) * 0.96,
                1.7e9,
            );
        }
    }
    return spans;
}

/** Utilization over time: waves of compute and communication with the step's mean kept. */
function linkBins(links, next, { bins, duration_ps, every }) {
    const rows = [];
    links.forEach((_, row) => {
        if (row % every === 0) rows.push(row);
    });
    const values = new Uint8Array(rows.length * bins);
    rows.forEach((row, i) => {
        const mean = links[row].utilization;
        const phase = next() * 0.6;
        for (let b = 0; b < bins; b++) {
            const wave =
                0.75 +
                0.35 * Math.sin(b / 3 + phase) +
                (b > bins * 0.86 ? 0.9 : 0) -
                (b < bins * 0.05 ? 0.7 : 0);
            values[i * bins + b] = Math.max(
                0,
                Math.min(255, Math.round(255 * mean * Math.max(0, wave) * (0.9 + 0.2 * next()))),
            );
        }
    });
    return {
        bin_ps: duration_ps / bins,
        bins,
        link_rows: numbers("u32", rows),
        utilization: numbers("u8", values),
    };
}

const FLOW_TYPES = {
    job: "str",
    operation: "str",
    pattern: "u32",
    source: "str",
    target: "str",
    source_host: "u32",
    target_host: "u32",
    queue_pair: "u32",
    source_port: "u32",
    landed_port: "u32",
    bytes: "f64",
};

/** Lists of different lengths, as the payload has them. */
export function lists(rows) {
    const start = [0];
    for (const row of rows) start.push(start[start.length - 1] + row.length);
    return { start: numbers("u32", start), links: numbers("u32", rows.flat()) };
}

/** Flows between hosts two hops or four apart, each with a choice of the switch at the top of its path. A cable
 * has its link up in row 2i of links, its link down in row 2i + 1. */
function flowPaths(fabric, next, count) {
    const above = fabric.devices.map(() => []);
    const below = fabric.devices.map(() => []);
    fabric.cables.forEach(({ low, high }, i) => {
        above[low].push([high, i]);
        below[high].push([low, i]);
    });
    const pick = (all) => all[Math.floor(next() * all.length)];
    const hosts = fabric.devices.flatMap(({ kind }, row) => (kind === "host" ? [row] : []));
    const flows = [];
    for (let i = 0; hosts.length > 1 && flows.length < count; i++) {
        const source = hosts[i % hosts.length];
        const [leaf, out] = pick(above[source]);
        const [spine, up] = pick(above[leaf]);
        const [last, down] = pick(below[spine]);
        const [target, into] = pick(below[last]);
        if (target === source) continue;
        const path =
            last === leaf ? [2 * out, 2 * into + 1] : [2 * out, 2 * up, 2 * down + 1, 2 * into + 1];
        flows.push({ source, target, leaf, last, path, out, into });
    }
    return { flows, above };
}

/** Flows, and what moved when the first uplink of a leaf died and came back: every flow over it, and back. */
function flowSections(fabric, { seed, flows: count, total, fault }) {
    const next = random(seed + 1000);
    const { flows, above } = flowPaths(fabric, next, count);
    const name = (row) => fabric.devices[row].name;
    const rows = flows.map(({ source, target }, i) => ({
        job: "train",
        operation: i % 3 === 0 ? "ep all-to-all" : "dp_ep all-reduce",
        pattern: i % 3 === 0 ? 0 : 1,
        source: `${name(source)}/nic-${i % 8}`,
        target: `${name(target)}/nic-${i % 8}`,
        source_host: source,
        target_host: target,
        queue_pair: i % 4,
        source_port: 49152 + Math.floor(next() * 16384),
        landed_port: i % 2,
        bytes: 1e6 * (1 + (i % 97)),
    }));
    const sections = {
        flows: {
            ...table(rows, FLOW_TYPES),
            total: total ?? rows.length,
            total_bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) * (total ? 2 : 1),
            path: lists(flows.map(({ path }) => path)),
        },
    };
    if (!fault) return sections;
    const dead = flows.find(({ path }) => path.length === 4).path[1];
    const moved = flows.flatMap((flow, row) => {
        if (!flow.path.includes(dead)) return [];
        for (const [spine, up] of above[flow.leaf]) {
            const down = above[flow.last].find(([other]) => other === spine);
            if (2 * up === dead || down === undefined) continue;
            const after = [flow.path[0], 2 * up, 2 * down[1] + 1, flow.path[3]];
            return [{ flow: row, before: flow.path, after }];
        }
        return [{ flow: row, before: flow.path, after: [] }];
    });
    const back = moved.map(({ flow, before, after }) => ({ flow, before: after, after: before }));
    const all = [
        ...moved.map((one) => ({ epoch: 1, ...one })),
        ...back.map((one) => ({ epoch: 2, ...one })),
    ];
    const epoch = ([at_ps, what], changed) => ({
        at_ps,
        routes_ps: at_ps + 1e10,
        what,
        stayed: rows.length - changed.length,
        moved: changed.length,
        lost: 0,
        found: 0,
    });
    sections.moves = {
        ...table(all, { epoch: "u32", flow: "u32" }),
        before: lists(all.map(({ before }) => before)),
        after: lists(all.map(({ after }) => after)),
        epochs: [epoch(fault[0], moved), epoch(fault[1], back)],
        left_out: 0,
    };
    return sections;
}

/** Steps of two jobs, bytes in buckets of a fiftieth of the run. */
export function progressSections(duration_ps, buckets) {
    const steps = [0, 1].flatMap((job) =>
        Array.from({ length: 6 - 2 * job }, (_, i) => ({
            job,
            first: i,
            steps: 1,
            start_ps: (i * duration_ps) / (6 - 2 * job),
            end_ps: ((i + 1) * duration_ps) / (6 - 2 * job),
        })),
    );
    const parts = Array.from({ length: 2 * buckets }, (_, i) => ({
        job: i % 2,
        start_s: (Math.floor(i / 2) * duration_ps) / 1e12 / buckets,
        bytes: 1e9 * (1 + Math.sin(i / 9)),
        steps: i % 16 === 0 ? 1 : 0,
    }));
    return {
        jobs: ["train", "eval"],
        steps: table(steps, {
            job: "u32",
            first: "u32",
            steps: "u32",
            start_ps: "f64",
            end_ps: "f64",
        }),
        ...(buckets > 0
            ? {
                  throughput: table(parts, {
                      job: "u32",
                      start_s: "f64",
                      bytes: "f64",
                      steps: "f64",
                  }),
              }
            : {}),
    };
}

/** Max-mean ratios as a fabric of two tiers has them. */
function balance(luck) {
    return ["leaf_up", "spine_down"].flatMap((place, i) =>
        ["bytes", "flows"].map((by, k) => ({
            place,
            by,
            mean: 1 + luck * (0.4 + 0.1 * i + 0.05 * k),
            low: 1 + luck * 0.2,
            high: 1 + luck,
            max: 1 + 1.5 * luck,
            worst: i === 0 ? "leaf-0-0-r0p0" : "spine-0-0-0",
            switches: 64,
        })),
    );
}

export function run(fabric, options) {
    const {
        name,
        fabric_name,
        description,
        step_ms,
        level,
        luck,
        seed = 7,
        stages = 8,
        microbatches = 16,
        layers = 4,
        headline,
        warnings = [],
        bins = 60,
        every = 1,
        ep = true,
        hot = true,
        incidents = [],
        spread = 0.01,
        flows = 0,
        total,
        fault,
        buckets = 0,
    } = options;
    const next = random(seed);
    const duration_ps = step_ms * 1e9;
    const links = loads(fabric, next, { level, luck, duration_s: step_ms / 1e3, hot });
    const spans = timeline(next, { stages, microbatches, layers, duration_ps, ep });
    const worst = links.reduce((most, link) => Math.max(most, link.utilization), 0);
    const seeds = Array.from({ length: 24 }, (_, i) => ({
        seed: i,
        step_time_ps: Math.round(
            duration_ps *
                (1 +
                    spread * (next() + next() + next() - 1.2) +
                    (next() < 0.06 ? spread * 2.2 : 0)),
        ),
    }));
    const sorted = seeds.map((s) => s.step_time_ps).sort((a, b) => a - b);
    const count = (kind) => fabric.devices.filter((d) => d.kind === kind).length;
    return {
        name,
        fabric_name,
        description,
        engine: "flow",
        seed,
        case_hash: "9f2c41d7a0be",
        version: "0.1.0",
        headline,
        warnings,
        figures: [
            {
                name: "step_time",
                value: duration_ps,
                unit: "ps",
                note: "median over 24 hash seeds",
                low: sorted[1],
                high: sorted[22],
                better: "less",
            },
            {
                name: "step_time_p5",
                value: sorted[1],
                unit: "ps",
                note: "over hash seeds",
                better: "less",
            },
            {
                name: "step_time_p95",
                value: sorted[22],
                unit: "ps",
                note: "over hash seeds",
                better: "less",
            },
            {
                name: "tokens_per_s",
                value: step_ms > 0 ? (2048 * 1536 * 1e3) / step_ms : null,
                unit: "tokens/s",
                note: "whole job",
                better: "more",
            },
            {
                name: "mfu",
                value: step_ms > 0 ? 0.52 * (3300 / step_ms) : null,
                unit: "ratio",
                note: "of the GPUs' peak, bf16",
                better: "more",
            },
            {
                name: "worst_link_utilization",
                value: worst,
                unit: "ratio",
                note: "mean over the step",
                better: "less",
            },
            {
                name: "exposed_communication",
                value: duration_ps * (0.16 + luck * 0.1),
                unit: "ps",
                note: "not hidden behind compute",
                better: "less",
            },
            { name: "wall_s", value: 8.43, unit: "s", note: "this simulation, 2 cores" },
            { name: "memory_bytes", value: 612e6, unit: "bytes", note: "peak of this simulation" },
            { name: "jct", value: null, unit: "ps", note: "one step has no job completion" },
        ],
        exposed: [
            {
                axis: "compute",
                exposed_ps: duration_ps * 0.64,
                busy_ps: duration_ps * 0.64,
                bytes: 0,
            },
            {
                axis: "tp",
                exposed_ps: duration_ps * 0.058,
                busy_ps: duration_ps * 0.09,
                bytes: 61.2e12,
            },
            {
                axis: "ep",
                exposed_ps: ep ? duration_ps * (0.05 + luck * 0.08) : 0,
                busy_ps: ep ? duration_ps * 0.13 : 0,
                bytes: ep ? 22.4e12 : 0,
            },
            {
                axis: "pp",
                exposed_ps: duration_ps * 0.021,
                busy_ps: duration_ps * 0.06,
                bytes: 3.3e12,
            },
            {
                axis: ep ? "dp_ep" : "dp",
                exposed_ps: duration_ps * (0.03 + luck * 0.05),
                busy_ps: duration_ps * 0.11,
                bytes: 18.9e12,
            },
        ],
        seeds,
        duration_ps,
        facts: [
            { name: "GPUs", value: String(count("host") * 8) },
            { name: "hosts", value: String(count("host")) },
            { name: "leaves", value: String(count("leaf")) },
            { name: "spines", value: String(count("spine")) },
            { name: "cores", value: String(count("core")) },
            { name: "leaf oversubscription", value: "1.07" },
            { name: "job", value: "MoE 235B, tp 8, pp 8, ep 16" },
            { name: "load balancing", value: "ecmp, five-tuple" },
        ],
        devices: table(fabric.devices, DEVICE_TYPES),
        links: table(links, LINK_TYPES),
        ...(bins > 0 ? { link_bins: linkBins(links, next, { bins, duration_ps, every }) } : {}),
        timeline: table(spans, SPAN_TYPES),
        incidents: table(incidents, INCIDENT_TYPES),
        balance: balance(luck),
        ...(flows > 0 ? flowSections(fabric, { seed, flows, total, fault }) : {}),
        ...(duration_ps > 0 ? progressSections(duration_ps, buckets) : {}),
    };
}

const whole = (title, runs) => ({ schema: 1, title, generator: "railtwin 0.1.0", runs });

/** A small report: 4 segments, 64 hosts, one fault. */
export function smallReport() {
    const fabric = hpn({ segments: 4, hosts: 16, spines: 16 });
    return whole("HPN, 512 GPUs, MoE step", [
        run(fabric, {
            name: "hpn-512",
            fabric_name: "hpn",
            description: "rail-optimised dual-plane fabric, four segments",
            step_ms: 3218,
            level: 0.42,
            luck: 0.5,
            headline: "One step takes 3.22 s; 0.21 s of it waits for expert-parallel all-to-all.",
            warnings: [
                "3 of 2 048 flows crossed segments on the same spine; the worst link is at 88 % over the step.",
            ],
            incidents: [
                { at_ps: 1.1e12, device: "leaf-0-2-r3p1", what: "uplink 7 down" },
                { at_ps: 2.4e12, device: "leaf-0-2-r3p1", what: "uplink 7 repaired" },
            ],
            flows: 2048,
            fault: [
                [1.1e12, "uplink 7 down"],
                [2.4e12, "uplink 7 repaired"],
            ],
            buckets: 50,
        }),
    ]);
}

/** A small comparison of two fabrics. */
export function smallComparison() {
    const shared = { description: "MoE training step on 512 GPUs", flows: 512 };
    return whole("HPN against DCN+, 512 GPUs", [
        run(dcnPlus({ segments: 4, hosts: 16 }), {
            ...shared,
            name: "dcn-plus-512",
            fabric_name: "dcn-plus",
            step_ms: 3740,
            level: 0.46,
            luck: 0.9,
            spread: 0.03,
            headline: "One step takes 3.74 s on DCN+.",
        }),
        run(hpn({ segments: 4, hosts: 16, spines: 16 }), {
            ...shared,
            name: "hpn-512",
            fabric_name: "hpn",
            step_ms: 3218,
            level: 0.42,
            luck: 0.5,
            headline:
                "HPN trains this job 14 % faster than DCN+; the difference is exposed expert-parallel all-to-all.",
            incidents: [{ at_ps: 1.1e12, device: "leaf-0-2-r3p1", what: "uplink 7 down" }],
        }),
    ]);
}

/** Two runs on the same fabric, which can be subtracted. */
export function sameFabricComparison() {
    const shape = { segments: 4, hosts: 16, spines: 16 };
    const shared = { fabric_name: "hpn", description: "the same fabric, another load balancer" };
    return whole("ECMP against pinned paths", [
        run(hpn(shape), {
            ...shared,
            name: "ecmp",
            step_ms: 3218,
            level: 0.4,
            luck: 0.35,
            headline: "One step takes 3.22 s.",
        }),
        run(hpn(shape), {
            ...shared,
            name: "pinned",
            step_ms: 3105,
            level: 0.4,
            luck: 0.1,
            hot: false,
            seed: 8,
            headline: "Pinned paths train this job 3.5 % faster.",
        }),
    ]);
}

/** The large comparison: 9 216 GPUs on 9 segments of HPN and on 72 segments of DCN+. */
export function largeComparison() {
    const load = {
        stages: 16,
        microbatches: 64,
        layers: 22,
        bins: 60,
        flows: 12_000,
        total: 69_000,
        buckets: 200,
    };
    return whole("HPN against DCN+, 9 216 GPUs", [
        run(dcnPlus({ segments: 72, hosts: 16, cores: 64 }), {
            ...load,
            name: "dcn-plus-9k",
            fabric_name: "dcn-plus",
            description: "72 segments in 18 pods",
            step_ms: 3740,
            level: 0.46,
            luck: 0.9,
            spread: 0.03,
            every: 2,
            headline: "One step takes 3.74 s on DCN+.",
        }),
        run(hpn({ segments: 9, hosts: 128, spines: 120 }), {
            ...load,
            name: "hpn-9k",
            fabric_name: "hpn",
            description: "9 segments in one pod",
            step_ms: 3218,
            level: 0.42,
            luck: 0.5,
            every: 4,
            headline:
                "HPN trains this job 14 % faster than DCN+; the difference is exposed expert-parallel all-to-all.",
        }),
    ]);
}

/** The large report alone: one run on 9 216 GPUs. */
export function largeReport() {
    const both = largeComparison();
    return whole("HPN, 9 216 GPUs", [both.runs[1]]);
}

/** A payload whose tables are all empty: still a page. */
export function emptyRun() {
    return whole("Nothing ran", [
        run(new Fabric(), {
            name: "empty",
            fabric_name: "none",
            description: "",
            step_ms: 0,
            level: 0,
            luck: 0,
            stages: 0,
            bins: 0,
            headline: "No step was simulated.",
            warnings: ["the fabric has no devices"],
        }),
    ]);
}

/** A run whose job halted: its step time has a reason in place of a value, and faults cost something. */
export function haltedReport() {
    const report = smallReport();
    const [halted] = report.runs;
    halted.name = "halted";
    halted.headline = "The job halted at 12.5 s: a cable of host-0-2-3 stayed down.";
    const none = (name, unit) => ({
        name,
        value: null,
        unit,
        note: "",
        reason: "halted at 12.5 s",
    });
    halted.figures = [
        none("step_time", "s"),
        none("tokens_per_s", "tokens/s"),
        { name: "jct", value: null, unit: "s", note: "" },
        { name: "halted", value: 1, unit: "count", note: "jobs that halted" },
        { name: "stall_time", value: 2.1, unit: "s", note: "no job moved" },
        { name: "time_lost_share", value: 0.84, unit: "ratio", note: "of the run" },
        { name: "worst_link_utilization", value: 0.31, unit: "ratio", note: "mean over the run" },
    ];
    halted.seeds = [];
    halted.exposed = [];
    return report;
}

/** Two jobs, whose figures carry their names; the name of one begins with that of the other. */
export function jobsReport() {
    const report = smallReport();
    const [two] = report.runs;
    two.jobs = ["train", "train.b"];
    two.headline = "train.b takes 4 s a step, train 1 s: both share the spines.";
    const figure = (name, value, unit) => ({ name, value, unit, note: "mean over steps" });
    two.figures = [
        figure("train.step_time", 1, "s"),
        figure("train.mfu", 0.41, "ratio"),
        figure("train.b.step_time", 4, "s"),
        figure("train.b.mfu", 0.12, "ratio"),
        figure("worst_link_utilization", 0.77, "ratio"),
    ];
    const part = (job, axis, exposed_ps) => ({
        job,
        axis,
        exposed_ps,
        busy_ps: exposed_ps,
        bytes: 0,
    });
    two.exposed = [part(0, "compute", 1e12), part(1, "compute", 3e12), part(1, "tp", 1e12)];
    two.seeds = [
        { job: 0, seed: 0, step_time_ps: 1e12 },
        { job: 0, seed: 1, step_time_ps: 1.1e12 },
        { job: 1, seed: 0, step_time_ps: 4e12 },
        { job: 1, seed: 1, step_time_ps: 4.1e12 },
    ];
    return report;
}

/** Puts a payload where the Rust program puts it. */
export function fill(template, payload) {
    const text = JSON.stringify(payload).replaceAll("<", "\\u003c");
    const placeholder = '<script id="railtwin-data" type="application/json">null</script>';
    if (!template.includes(placeholder)) throw new Error("the template has no placeholder");
    return template.replace(placeholder, () =>
        placeholder.replace("null</script>", `${text}</script>`),
    );
}
