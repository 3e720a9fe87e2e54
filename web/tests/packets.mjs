// Payloads with packets for tests: queues that build up under an incast, pauses that spread, two engines.
import { hpn, numbers, random, run, table } from "./sample.mjs";

const QUEUE_LINK_TYPES = {
    link: "u32",
    source: "str",
    target: "str",
    cable: "str",
    queue_bytes_max: "f64",
    paused_ps: "f64",
    pause_frames: "f64",
    dropped: "f64",
};
const HOP_TYPES = {
    source: "str",
    target: "str",
    links: "u32",
    pause_frames: "f64",
    paused_mean: "f64",
    paused_max: "f64",
    queue_bytes_max: "f64",
    dropped: "f64",
    cnps: "f64",
};
const FLOW_TYPES = {
    operation: "u32",
    job: "str",
    kind: "str",
    source: "str",
    target: "str",
    bytes: "f64",
    start_ps: "f64",
    end_ps: "f64",
};
const OPERATION_TYPES = {
    operation: "u32",
    job: "str",
    lane: "str",
    axis: "str",
    name: "str",
    bytes: "f64",
    start_ps: "f64",
    end_ps: "f64",
};
const KINDS = { host: "nic", leaf: "leaf", spine: "spine", core: "core" };

/** Both directions of each cable, in the order of the table of links, with names as the program gives them. */
function linksOf(fabric) {
    const ups = new Map();
    return fabric.cables.flatMap(({ low, high }, i) => {
        const [near, far] = [fabric.devices[low], fabric.devices[high]];
        const port = ups.get(low) ?? 0;
        ups.set(low, port + 1);
        const nic = `${near.name}/nic-${Math.floor(port / 2)}`;
        const source = near.kind === "host" ? nic : near.name;
        const cable =
            near.kind === "host" ? `${nic}:port-${port % 2}` : `${near.name}:uplink-${port}`;
        const up = { link: 2 * i, source, target: far.name, cable, kinds: [near.kind, far.kind] };
        const down = {
            link: 2 * i + 1,
            source: far.name,
            target: source,
            cable,
            kinds: [far.kind, near.kind],
        };
        return [up, down];
    });
}

/** Bursts: every sixth link down has a long queue now and then, those above it are paused after. */
function series(links, next, bins) {
    const bytes = new Uint32Array(links.length * bins);
    const paused = new Uint8Array(links.length * bins);
    links.forEach(({ kinds: [from, to] }, row) => {
        const down = to === "host" || from === "spine";
        const weight = to === "host" ? 1 : from === "host" ? 0.05 : 0.4;
        const hot = weight * (next() < 0.17 ? 1 : 0.08) * (0.5 + next());
        const phase = next() * bins;
        for (let bin = 0; bin < bins; bin++) {
            const wave = Math.max(0, Math.sin((bin + phase * 0.15) / 9) - 0.45);
            bytes[row * bins + bin] = Math.round(9e6 * hot * wave * (0.7 + 0.6 * next()));
            if (!down || to !== "host")
                paused[row * bins + bin] = Math.round(
                    255 * Math.min(1, Math.max(0, wave * hot * 1.8 - 0.1)),
                );
        }
    });
    return { bytes, paused };
}

export function packetSections(fabric, { seed = 3, bins = 120, duration_ps, most = 400 }) {
    const next = random(seed + 50);
    const links = linksOf(fabric);
    const kept = links.filter((_, i) => i % Math.max(1, Math.ceil(links.length / most)) === 0);
    const { bytes, paused } = series(kept, next, bins);
    const bin_ps = duration_ps / bins;
    const rows = kept.map((link, row) => {
        const mine = bytes.subarray(row * bins, (row + 1) * bins);
        const still = paused.subarray(row * bins, (row + 1) * bins);
        const paused_ps = still.reduce((sum, value) => sum + (value / 255) * bin_ps, 0);
        return {
            ...link,
            queue_bytes_max: Math.max(0, ...mine),
            paused_ps,
            pause_frames: Math.round(paused_ps / 6e7),
            dropped: 0,
        };
    });
    const hops = new Map();
    for (const row of rows) {
        const key = row.kinds.map((kind) => KINDS[kind]).join(" ");
        hops.set(key, [...(hops.get(key) ?? []), row]);
    }
    const hopRows = [...hops].map(([key, of]) => ({
        source: key.split(" ")[0],
        target: key.split(" ")[1],
        links: of.length,
        pause_frames: of.reduce((sum, row) => sum + row.pause_frames, 0),
        paused_mean: of.reduce((sum, row) => sum + row.paused_ps, 0) / of.length / duration_ps,
        paused_max: Math.max(...of.map((row) => row.paused_ps)) / duration_ps,
        queue_bytes_max: Math.max(...of.map((row) => row.queue_bytes_max)),
        dropped: 0,
        cnps: key.startsWith("nic") ? 40 * of.length : 0,
    }));
    const times = Array.from({ length: 1500 }, () =>
        Math.round(
            8e7 * Math.exp(1.1 * (next() + next() + next() - 1.5)) +
                (next() < 0.03 ? 2e9 * next() : 0),
        ),
    ).sort((a, b) => a - b);
    const nics = links.filter(({ kinds }) => kinds[0] === "host");
    const slowest = times
        .slice(-60)
        .reverse()
        .map((fct, i) => {
            const start_ps = Math.round(next() * Math.max(0, duration_ps - fct));
            return {
                operation: i % 12,
                job: "train",
                kind: "EP all-to-all",
                source: nics[(7 * i) % nics.length].source,
                target: nics[(13 * i + 5) % nics.length].source,
                bytes: 1e6 * (1 + (i % 5)),
                start_ps,
                end_ps: start_ps + fct,
            };
        });
    return {
        packets: {
            fct: {
                flows: times.length,
                unfinished: 0,
                mean_ps: Math.round(times.reduce((sum, ps) => sum + ps, 0) / times.length),
                times: table(
                    times.map((fct_ps) => ({ fct_ps })),
                    { fct_ps: "f64" },
                ),
            },
            slowest: table(slowest, FLOW_TYPES),
            hops: table(hopRows, HOP_TYPES),
            queues: {
                bin_ps,
                bins,
                sample_ps: bin_ps / 2,
                total: links.length,
                links: table(rows, QUEUE_LINK_TYPES),
                bytes: numbers("u32", bytes),
                paused: numbers("u8", paused),
            },
        },
    };
}

/** Twelve collectives one after the other; `slow` stretches those that follow an incast. */
export function operationsOf(duration_ps, slow) {
    const rows = Array.from({ length: 24 }, (_, i) => {
        const start_ps = (Math.floor(i / 2) * duration_ps * 0.95) / 12;
        const wide =
            duration_ps * 0.07 * (i % 2 === 0 ? 1 : 0.8) * (1 + (i % 5 === 0 ? slow : slow / 6));
        return {
            operation: i,
            job: "train",
            lane: `stage ${i % 2}`,
            axis: "ep",
            name: `dispatch ${Math.floor(i / 2)}`,
            bytes: 117e6,
            start_ps,
            end_ps: start_ps + wide,
        };
    });
    return table(rows, OPERATION_TYPES);
}

const SHAPE = { segments: 2, hosts: 4, rails: 4, spines: 4 };
const SHARED = {
    fabric_name: "hpn",
    description: "all-to-all of 64 GPUs",
    stages: 2,
    microbatches: 4,
    layers: 2,
    headline: "One step takes 24 ms.",
};

function packetRun(fabric, options) {
    const made = run(fabric, { ...SHARED, ...options });
    made.engine = "packet";
    return {
        ...made,
        ...packetSections(fabric, { ...options, duration_ps: made.duration_ps }),
        operations: operationsOf(made.duration_ps, 0.3),
    };
}

const whole = (title, runs) => ({ schema: 1, title, generator: "railtwin 0.1.0", runs });

/** One run of packets, with a pause that the watchdog reported. */
export function packetReport() {
    const incidents = [
        {
            at_ps: 9e9,
            device: "leaf-0-1-r2p0",
            what: "link from leaf-0-1-r2p0 to host-0-1-2/nic-2 paused",
        },
    ];
    return whole("Packets, 64 GPUs", [
        packetRun(hpn(SHAPE), { name: "pfc", step_ms: 24, level: 0.5, luck: 0.4, incidents }),
    ]);
}

/** Two runs of packets: no congestion control against DCQCN. */
export function packetComparison() {
    return whole("PFC alone against DCQCN", [
        packetRun(hpn(SHAPE), { name: "pfc", step_ms: 24, level: 0.5, luck: 0.4 }),
        packetRun(hpn(SHAPE), { name: "dcqcn", step_ms: 26, level: 0.46, luck: 0.4, seed: 9 }),
    ]);
}

/** The same scenario under both engines. */
export function engineComparison() {
    const flow = run(hpn(SHAPE), { ...SHARED, name: "flows", step_ms: 22, level: 0.5, luck: 0.4 });
    flow.operations = operationsOf(flow.duration_ps, 0);
    const packet = packetRun(hpn(SHAPE), { name: "packets", step_ms: 24, level: 0.5, luck: 0.42 });
    return whole("Flows against packets", [flow, packet]);
}

/** As many cells as a report may carry: 500 links, 400 bins. */
export function largePacketReport() {
    return whole("Packets, 512 GPUs", [
        packetRun(hpn({ segments: 4, hosts: 16, spines: 16 }), {
            name: "pfc-512",
            step_ms: 24,
            level: 0.5,
            luck: 0.4,
            bins: 400,
            most: 500,
        }),
    ]);
}
