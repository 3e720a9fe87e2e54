// Payloads of traffic inside hosts for tests: NICs that carry so much, however much is offered.
import { numbers } from "./sample.mjs";

const PARTS = [
    ["source_gpu", "source GPU", 0.1],
    ["source_intra", "source intra", 0.4],
    ["source_nic", "source NIC", 0.1],
    ["inter", "network", 0.2],
    ["target_nic", "target NIC", 0.1],
    ["target_intra", "target intra", 0.05],
    ["target_gpu", "target GPU", 0.05],
];
const SHARES = { c1: 0.2, c2: 0.15, c3: 0.1, c4: 0.05, c5: 0 };

export function intranodeReport({
    rates = ["128 Gbps", "512 Gbps"],
    patterns = ["c1", "c3", "c5"],
    loads = [0.2, 0.4, 0.6, 0.8, 1.0],
    nic = 138e9,
} = {}) {
    const axes = [];
    if (rates.length > 1) axes.push({ name: "fabric.host.nvlink", values: rates });
    if (patterns.length > 1) axes.push({ name: "intranode.pattern", values: patterns });
    const columns = {};
    const put = (name, value) => (columns[name] ??= []).push(value);
    const [choices, saturated, orders] = [[], [], []];
    for (const [r, rate] of rates.entries())
        for (const [p, pattern] of patterns.entries()) {
            const choice = [];
            if (rates.length > 1) choice.push(r);
            if (patterns.length > 1) choice.push(p);
            choices.push(choice);
            const capacity = 8 * Number.parseFloat(rate) * 1e9;
            const share = SHARES[pattern];
            let knee = null;
            for (const load of loads) {
                const leaves = capacity * load * share;
                const part = Math.min(1, leaves > 0 ? nic / leaves : 1);
                if (part < 0.97) knee ??= load;
                put("capacity", capacity);
                put("offered_rate", capacity * load);
                put("intra_rate", capacity * load * (1 - share) * part);
                put("inter_rate", leaves * part);
                put("network_rate", leaves * part * 0.87);
                put("carried_share", part);
                put("refused_share", 1 - part);
                const inter = share > 0 ? 1.6e-6 / part : Number.NaN;
                put("inter_latency", inter);
                put("intra_latency", 0.3e-6 / part);
                for (const [name, , of] of PARTS) {
                    put(`inter_latency_${name}`, inter * of);
                    const stays =
                        { source_gpu: 0.2, source_intra: 0.6, target_gpu: 0.2 }[name] ?? 0;
                    put(`intra_latency_${name}`, (0.3e-6 / part) * stays);
                }
            }
            saturated.push(knee);
            orders.push(
                knee === null
                    ? []
                    : [
                          { part: 4, load: knee },
                          { part: 1, load: 1 },
                      ],
            );
        }
    const points = { rows: choices.length * loads.length, columns: {} };
    for (const [name, values] of Object.entries(columns))
        points.columns[name] = numbers("f64", values);
    return {
        schema: 1,
        title: "scale-up",
        generator: "railtwin test",
        intranode: {
            name: "scale-up",
            fabric_name: "rlft",
            description: "At which load do hosts saturate?",
            version: "0.1.0",
            headline: "nvlink 512 Gbps, pattern c1 saturates first, at 20\u00a0% of the load.",
            axes,
            loads,
            choices,
            parts: PARTS.map(([, words]) => words),
            points,
            saturated,
            orders,
            short_of: 0.03,
        },
    };
}
