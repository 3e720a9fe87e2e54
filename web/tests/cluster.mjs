// Payloads of weeks of jobs for tests: a queue over GPUs that jobs come to and leave, drawn from a seeded sequence.
import { numbers, random, strings, table } from "./sample.mjs";

const CLASSES = ["resnet-50", "bert-large", "gpt-22b"];
/** How much longer jobs that contend run, by policy. */
const COST = { ecmp: 1.9, crux: 1.1, taccl: 1.3, cassini: 1.7 };

function jobsOf(seed, count, span_s) {
    const draw = random(seed);
    const sizes = [1, 4, 8, 16, 32, 64];
    const jobs = Array.from({ length: count }, () => ({
        class: CLASSES[Math.floor(draw() * CLASSES.length)],
        gpus: sizes[Math.floor(draw() * draw() * sizes.length)],
        submitted_s: draw() * span_s,
        length_s: (0.02 + draw() * draw() * 0.3) * span_s,
        contends: draw() < 0.3,
    }));
    jobs.sort((a, b) => a.submitted_s - b.submitted_s);
    return jobs.map((job, i) => ({ name: `job-${String(i + 1).padStart(4, "0")}`, ...job }));
}

/** First come, first served, each job on the lowest GPUs that are free. */
function livesOf(jobs, gpus, span_s, cost) {
    const free = new Float64Array(gpus);
    const lives = [];
    let earliest = 0;
    for (const job of jobs) {
        const order = Array.from(free.keys()).sort((a, b) => free[a] - free[b] || a - b);
        const taken = order.slice(0, job.gpus).sort((a, b) => a - b);
        const started = Math.max(job.submitted_s, earliest, ...taken.map((gpu) => free[gpu]));
        if (started >= span_s) {
            lives.push({ started_s: NaN, ended_s: NaN, slowdown: NaN, contended_s: 0, held: [] });
            continue;
        }
        earliest = started;
        const slowdown = job.contends ? cost : 1;
        const end = started + job.length_s * slowdown;
        for (const gpu of taken) free[gpu] = end;
        const held = [];
        for (const gpu of taken)
            if (held.length > 0 && held[held.length - 1][1] === gpu - 1)
                held[held.length - 1][1] = gpu;
            else held.push([gpu, gpu]);
        lives.push({
            started_s: started,
            ended_s: end < span_s ? end : NaN,
            slowdown,
            contended_s: job.contends ? Math.min(end, span_s) - started : 0,
            held,
        });
    }
    return lives;
}

function lifeOf(jobs, lives, gpus, span_s, cost, tide) {
    const [start, first, last] = [[0], [], []];
    for (const { held } of lives) {
        for (const [low, high] of held) {
            first.push(low);
            last.push(high);
        }
        start.push(first.length);
    }
    const hours = Array.from({ length: Math.ceil(span_s / 3600) }, (_, hour) => {
        const at = (hour + 0.5) * 3600;
        const on = lives.filter((l) => l.started_s <= at && !(l.ended_s < at));
        const held = on.reduce((sum, l) => sum + l.held.reduce((n, [a, b]) => n + b - a + 1, 0), 0);
        return {
            occupancy: held / gpus,
            gpu_utilization: held > 0 ? 0.9 / (1 + 0.2 * (cost - 1)) : NaN,
            gpu_intensity: held > 0 ? 600 / cost : NaN,
            waiting: 0,
            contending: on.filter((l) => l.contended_s > 0).length,
            inference_link_share: tide
                ? 0.3 * (1 + 0.8 * Math.cos(((hour + 0.5 - 15) * Math.PI) / 12))
                : NaN,
        };
    });
    const told = lives
        .map((life, job) => ({ job, ...life }))
        .filter((life) => life.contended_s > 0);
    const pairs = told
        .slice(1)
        .map((life, i) => ({ one: told[i].job, other: life.job, seconds: life.contended_s }))
        .sort((a, b) => b.seconds - a.seconds);
    return {
        jobs: table(lives, {
            started_s: "f64",
            ended_s: "f64",
            slowdown: "f32",
            contended_s: "f32",
        }),
        hours: table(hours, {
            occupancy: "f32",
            gpu_utilization: "f32",
            gpu_intensity: "f32",
            waiting: "f32",
            contending: "f32",
            inference_link_share: "f32",
        }),
        pairs: table(pairs.slice(0, 60), { one: "u32", other: "u32", seconds: "f64" }),
        pairs_total: pairs.length,
        held: {
            start: numbers("u32", start),
            first: numbers("u32", first),
            last: numbers("u32", last),
        },
    };
}

/** A page of weeks of jobs. */
export function clusterReport({
    policies = ["ecmp", "crux", "taccl"],
    seeds = [1],
    gpus = 128,
    count = 120,
    days = 3,
    tide = false,
} = {}) {
    const span_s = days * 86_400;
    const streams = seeds.map((seed) => jobsOf(seed, count, span_s));
    const all = policies.map((policy) =>
        streams.map((jobs) => livesOf(jobs, gpus, span_s, COST[policy])),
    );
    const figure = (name, meaning, unit, better, of) => ({
        name,
        meaning,
        unit,
        better,
        values: policies.map((policy, i) => {
            const values = seeds
                .map((_, seed) => of(policy, all[i][seed], seed))
                .sort((a, b) => a - b);
            return {
                least: values[0],
                median: values[Math.round((values.length - 1) / 2)],
                most: values[values.length - 1],
            };
        }),
    });
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const ended = (lives) => lives.filter((life) => !Number.isNaN(life.ended_s));
    return {
        schema: 1,
        title: "weeks",
        generator: "railtwin test",
        cluster: {
            name: "weeks",
            fabric_name: "leaf-spine",
            description: "Jobs of a test.",
            version: "0.1.0",
            headline:
                "crux keeps GPUs computing for 88.2 % of the time for which jobs hold them, ecmp for 76.3 %.",
            gpus,
            places: gpus,
            span_s,
            policies,
            base: Math.max(0, policies.indexOf("ecmp")),
            best: Math.max(0, policies.indexOf("crux")),
            seeds,
            whole_seeds: seeds.length,
            figures: [
                figure(
                    "gpu_utilization",
                    "share of the time of the GPUs that jobs held in which they computed",
                    "ratio",
                    "more",
                    (policy, _, seed) => 0.9 / (1 + 0.2 * (COST[policy] - 1)) - seed * 0.01,
                ),
                figure(
                    "jobs_ended",
                    "jobs that ended",
                    "",
                    "more",
                    (_, lives) => ended(lives).length,
                ),
                figure("slowdown_mean", "times that a job ran", "", "less", (_, lives) =>
                    mean(ended(lives).map((life) => life.slowdown)),
                ),
                figure("makespan", "end of the last job", "s", null, (_, lives) =>
                    Math.max(...ended(lives).map((life) => life.ended_s)),
                ),
            ],
            jobs: streams.map((jobs) => ({
                rows: jobs.length,
                columns: {
                    name: strings(jobs.map((job) => job.name)),
                    class: strings(jobs.map((job) => job.class)),
                    gpus: numbers(
                        "u32",
                        jobs.map((job) => job.gpus),
                    ),
                    submitted_s: numbers(
                        "f64",
                        jobs.map((job) => job.submitted_s),
                    ),
                },
            })),
            lives: policies.flatMap((policy, i) =>
                streams.map((jobs, seed) =>
                    lifeOf(jobs, all[i][seed], gpus, span_s, COST[policy], tide),
                ),
            ),
        },
    };
}

/** As many jobs and GPUs as two weeks of a cluster of 2,768. */
export const largeClusterReport = () =>
    clusterReport({
        policies: ["ecmp", "crux", "taccl", "cassini"],
        gpus: 2_048,
        count: 1_800,
        days: 14,
    });
