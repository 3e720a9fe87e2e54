//! Headlines of shipped runs: at most thirty words, and every number in them comes out of the Parquet tables alone.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::collections::{BTreeMap, BTreeSet};

use railtwin::Run;
use railtwin::headline::lines::{MOST_WORDS, words};
use railtwin_records::{ColumnData, Table};
use railtwin_store::{parquet_read, parquet_write};

use crate::headline::{numbers, points, run, value};

/// The tables of a run, written as Parquet and read again.
struct Tables(BTreeMap<String, Table>);

impl Tables {
    fn of(run: &Run) -> Self {
        let again = |table: Table| {
            let bytes = parquet_write::encode(&table).unwrap();
            let name = table.name.clone();
            (name.clone(), parquet_read::decode(format!("{name}.parquet").as_ref(), bytes).unwrap())
        };
        Self(run.tables().into_iter().map(again).collect())
    }

    /// Numbers of a column; none of a table that is not there.
    fn numbers(&self, table: &str, column: &str) -> Vec<f64> {
        match self.0.get(table).map(|table| table.column(column).unwrap()) {
            Some(ColumnData::U64(values)) => values.iter().map(|value| *value as f64).collect(),
            Some(ColumnData::U32(values)) => values.iter().map(|value| f64::from(*value)).collect(),
            Some(ColumnData::F64(values)) => values.clone(),
            _ => Vec::new(),
        }
    }

    fn texts(&self, table: &str, column: &str) -> Vec<String> {
        match self.0.get(table).map(|table| table.column(column).unwrap()) {
            Some(ColumnData::Text { dictionary, codes }) => {
                codes.iter().map(|code| dictionary[*code as usize].clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// When cables or faults begin and end after the start, in seconds, in order.
    fn changes(&self) -> Vec<f64> {
        let incidents = self.numbers("incidents", "at_ps").into_iter().zip(self.texts("incidents", "kind"));
        let cables = incidents.filter(|(_, kind)| kind == "down" || kind == "up").map(|(at, _)| at / 1e12);
        let kinds = self.texts("faults", "kind");
        let faults = [self.numbers("faults", "from_ns"), self.numbers("faults", "until_ns")]
            .into_iter()
            .flat_map(|times| times.into_iter().zip(kinds.clone()).collect::<Vec<_>>());
        let others = faults
            .filter(|(at, kind)| !["down", "up", "flap"].contains(&kind.as_str()) && *at < 1.8e19)
            .map(|(at, _)| at / 1e9);
        let mut all: Vec<f64> = cables.chain(others).filter(|at| *at > 0.0).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Spans in which a job stalled, in seconds.
    fn stalls(&self, job: &str) -> Vec<(f64, f64)> {
        let rows = self.texts("incidents", "job").into_iter().zip(self.texts("incidents", "kind"));
        let mut since = None;
        let mut all = Vec::new();
        for ((of, kind), at) in rows.zip(self.numbers("incidents", "at_ps")) {
            match kind.as_str() {
                "stalled" if of == job => since = since.or(Some(at / 1e12)),
                "resumed" | "halted" if of == job => all.extend(since.take().map(|from| (from, at / 1e12))),
                _ => {}
            }
        }
        all
    }
}

/// Means of values by the state that their spans lie in, and each value that a change or a stall hit.
fn by_state(rows: &[(f64, f64, f64)], changes: &[f64], stalls: &[(f64, f64)]) -> Vec<f64> {
    let mut states: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    let mut all = Vec::new();
    // A picosecond of rounding between tables in picoseconds and nanoseconds.
    let near = 1e-12;
    for &(from, until, value) in rows {
        let begun = changes.iter().filter(|at| **at <= from + near).count();
        let ended = changes.iter().filter(|at| **at < until - near).count();
        let waited = stalls.iter().any(|stall| stall.0 < until - near && from + near < stall.1);
        match begun < ended || waited {
            true => all.push(value),
            // Every second state of one cable that goes and comes is the same; the mean over them is told, too.
            false => {
                states.entry(begun).or_default().push(value);
                states.entry(1000 + begun % 2 + 2 * usize::from(begun == 0)).or_default().push(value);
            }
        }
    }
    all.extend(states.values().map(|values| values.iter().sum::<f64>() / values.len() as f64));
    all
}

/// What the ratio of bus to algorithm bandwidth is for so many ranks (nccl-tests).
fn bus_factor(kind: &str, ranks: f64) -> f64 {
    match kind {
        "all-reduce" => 2.0 * (ranks - 1.0) / ranks,
        "all-gather" | "reduce-scatter" | "all-to-all" => (ranks - 1.0) / ranks,
        _ => 1.0,
    }
}

/// Numbers that a reader can compute from the tables of a run.
fn computed(tables: &Tables, run: &Run) -> Vec<f64> {
    let changes = tables.changes();
    let mut all: Vec<f64> = changes.clone();
    all.extend(tables.numbers("faults", "from_ns").iter().map(|ns| ns / 1e9));
    all.extend(tables.numbers("incidents", "at_ps").iter().map(|ps| ps / 1e12));
    all.extend(tables.numbers("findings", "confidence"));
    all.push(tables.numbers("findings", "confidence").len() as f64);
    all.push(tables.numbers("faults", "from_ns").len() as f64);
    all.push(tables.numbers("link_packets", "pause_frames").iter().sum());
    all.extend(exposed(tables));
    all.push(unfinished(tables, run));
    let end = tables.numbers("operations", "end_ps").into_iter().fold(0.0, f64::max) / 1e12;
    all.push(end);
    all.extend(tables.numbers("link_packets", "paused_ps").iter().map(|ps| ps / 1e12 / end));
    let jobs: BTreeSet<String> = tables.texts("steps", "job").into_iter().collect();
    all.push(jobs.len() as f64);
    for job in &jobs {
        let stalls = tables.stalls(job);
        all.push(stalls.iter().map(|(from, until)| until - from).sum());
        all.extend(of_steps(tables, job, &changes, &stalls));
        all.extend(of_draws(tables, run, job));
        all.extend(of_bandwidths(tables, run, job, &changes, &stalls));
    }
    all.extend(in_flight(tables));
    let draws: BTreeSet<u64> = tables.numbers("steps", "replicate").iter().map(|row| *row as u64).collect();
    all.push(draws.len() as f64);
    all
}

/// Operations that never ended: those of all steps, as many in each as ended in the first, less those that ended.
fn unfinished(tables: &Tables, run: &Run) -> f64 {
    let ends = tables.numbers("operations", "end_ps");
    let took = tables.numbers("steps", "duration_ps").first().copied().unwrap_or(0.0);
    let first = tables.numbers("steps", "start_ps").first().map_or(0.0, |start| start + took);
    let each = ends.iter().filter(|end| **end <= first).count() as f64;
    each * f64::from(run.resolved.scenario.run.steps) - ends.len() as f64
}

fn exposed(tables: &Tables) -> Vec<f64> {
    tables.numbers("exposed", "exposed_ps").iter().map(|ps| ps / 1e12).collect()
}

/// Step times of a job by state, over its draws; time lost, and its share of the time since the first change.
fn of_steps(tables: &Tables, job: &str, changes: &[f64], stalls: &[(f64, f64)]) -> Vec<f64> {
    let rows = tables.texts("steps", "job").into_iter().zip(tables.numbers("steps", "replicate"));
    let times = tables.numbers("steps", "start_ps").into_iter().zip(tables.numbers("steps", "duration_ps"));
    let mut draws: BTreeMap<u64, Vec<(f64, f64, f64)>> = BTreeMap::new();
    for ((of, draw), (start, took)) in rows.zip(times) {
        if of == job {
            let row = (start / 1e12, (start + took) / 1e12, took / 1e12);
            draws.entry(draw as u64).or_default().push(row);
        }
    }
    let mut all = Vec::new();
    let mut means: Vec<f64> = Vec::new();
    for steps in draws.values() {
        all.extend(by_state(steps, changes, stalls));
        means.push(steps.iter().map(|row| row.2).sum::<f64>() / steps.len() as f64);
        let Some(fault) = changes.first() else { continue };
        let before: Vec<f64> = steps.iter().filter(|row| row.1 <= fault + 1e-12).map(|row| row.2).collect();
        let before = before.iter().sum::<f64>() / before.len() as f64;
        let lost: f64 = steps.iter().filter(|row| row.1 > fault + 1e-12).map(|row| row.2 - before).sum();
        let end = steps.iter().map(|row| row.1).fold(0.0, f64::max);
        all.extend([lost, lost / (end - fault)]);
    }
    means.sort_by(f64::total_cmp);
    let at = |q: f64| {
        let place = q * (means.len() - 1) as f64;
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        means[low] + (means[high] - means[low]) * place.fract()
    };
    if changes.is_empty() && !means.is_empty() {
        all.extend([at(0.05), at(0.5), at(0.95)]);
    }
    all
}

/// Mean bus bandwidth of each draw of a job whose steps are one collective each: the least, the mean and the most.
fn of_draws(tables: &Tables, run: &Run, job: &str) -> Vec<f64> {
    let ranks: f64 = run.info.facts[&format!("job {job}")].split(' ').next().unwrap().parse().unwrap();
    let operations = tables.texts("operations", "job").into_iter().zip(tables.texts("operations", "kind"));
    let mut own = operations.zip(tables.numbers("operations", "bytes")).filter(|((of, _), _)| of == job);
    let Some(((_, kind), bytes)) = own.next() else { return Vec::new() };
    // Operations of a step follow each other: its time is theirs.
    let count = tables.numbers("operations", "bytes").len() as f64;
    let jobs: BTreeSet<String> = tables.texts("operations", "job").into_iter().collect();
    let rows = tables.texts("steps", "job").into_iter().zip(tables.numbers("steps", "replicate"));
    let mut draws: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for ((of, draw), took) in rows.zip(tables.numbers("steps", "duration_ps")) {
        if of == job {
            draws.entry(draw as u64).or_default().push(took / 1e12);
        }
    }
    let steps = draws.values().next().map_or(1, Vec::len) as f64 * jobs.len() as f64;
    let repeat = count / steps;
    let mut means: Vec<f64> = draws
        .values()
        .map(|times| times.iter().map(|took| 8.0 * repeat * bytes / took).sum::<f64>() / times.len() as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let sizes = [ranks, ranks / 8.0];
    let all = [means[0], mean, means[means.len() - 1]];
    sizes.iter().flat_map(|ranks| all.map(|mean| mean * bus_factor(&kind, *ranks))).collect()
}

/// Bus bandwidths of a job of collectives by state, and the least and the most.
fn of_bandwidths(tables: &Tables, run: &Run, job: &str, changes: &[f64], stalls: &[(f64, f64)]) -> Vec<f64> {
    let ranks: f64 = run.info.facts[&format!("job {job}")].split(' ').next().unwrap().parse().unwrap();
    let rows = tables.texts("operations", "job").into_iter().zip(tables.texts("operations", "kind"));
    let times =
        tables.numbers("operations", "start_ps").into_iter().zip(tables.numbers("operations", "end_ps"));
    let own: Vec<_> = rows
        .zip(times.zip(tables.numbers("operations", "bytes")))
        .filter(|((of, kind), _)| of == job && kind != "compute")
        .map(|((_, kind), ((start, end), bytes))| {
            // One communicator of all ranks, or one for each of eight rails.
            let busbw = |ranks: f64| 8.0 * bus_factor(&kind, ranks) * bytes / ((end - start) / 1e12);
            (start / 1e12, end / 1e12, [busbw(ranks), busbw(ranks / 8.0)])
        })
        .collect();
    let mut all = Vec::new();
    for which in [0, 1] {
        let rows: Vec<_> = own.iter().map(|row| (row.0, row.1, row.2[which])).collect();
        all.extend(by_state(&rows, changes, stalls));
        all.extend(rows.iter().map(|row| row.2));
    }
    all
}

/// Utilization of the most used link of each tier while any communication was in flight.
fn in_flight(tables: &Tables) -> Vec<f64> {
    let kinds = tables.texts("operations", "kind");
    let times =
        tables.numbers("operations", "start_ps").into_iter().zip(tables.numbers("operations", "end_ps"));
    let mut spans: Vec<(f64, f64)> =
        times.zip(kinds).filter(|(_, kind)| kind != "compute").map(|(span, _)| span).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut seconds, mut until) = (0.0, 0.0_f64);
    for (start, end) in spans {
        seconds += (end - start.max(until)).max(0.0) / 1e12;
        until = until.max(end);
    }
    let links =
        tables.numbers("links", "bytes").into_iter().zip(tables.numbers("links", "capacity_bits_per_s"));
    links.map(|(bytes, capacity)| (8.0 * bytes / capacity / seconds).min(1.0)).collect()
}

/// Asserts that a headline has at most thirty words and that all its numbers come out of the tables.
fn holds(run: &Run) -> usize {
    let info = &run.info;
    assert!(words(&info.headline) <= MOST_WORDS, "{} words: {}", words(&info.headline), info.headline);
    let all = computed(&Tables::of(run), run);
    let text = info.headline.strip_prefix(&format!("{}:", info.name)).unwrap();
    let mut seen = 0;
    for (number, unit) in numbers(text) {
        let (value, off) = value(&number, &unit);
        let there = all.iter().any(|known| (known - value).abs() <= off);
        assert!(there, "{number} {unit} of «{}» comes out of no table", info.headline);
        seen += 1;
    }
    seen
}

#[test]
fn headlines_of_shipped_runs_come_out_of_their_tables() {
    let mut seen = 0;
    for scenario in [
        "regressions/find-hang.toml",
        "regressions/fault-hang.toml",
        "regressions/find-slow-gpu.toml",
        "regressions/drawn-failures.toml",
        "regressions/fault-slow-link.toml",
        "smallest/one-uplink-down.toml",
        "smallest/only-uplink-down.toml",
        "regressions/fault-pause-storm.toml",
        "papers/link-flap-single-tor.toml",
        "peers/pw2.toml",
        "control/crux-and-rivals.toml",
        "jobs/two-tenants.toml",
    ] {
        seen += points(scenario).iter().map(holds).sum::<usize>();
    }
    // No table has the packets that were sent again.
    seen += holds(&points("peers/htsim-incast.toml")[0]);
    // Larger ones: one point stands for all of a list.
    for (scenario, list, one) in [
        ("papers/c4-eight-jobs.toml", "uplinks = [16, 8]", "uplinks = 16"),
        ("reference/gpt3-15360-hpn.toml", "balancer = [\"ecmp\", \"disjoint\"]", "balancer = \"ecmp\""),
        ("control/te-flapping.toml", "replan_time = [\"5 s\", \"15 s\", \"30 s\"]", "replan_time = \"15 s\""),
    ] {
        let text = std::fs::read_to_string(crate::headline::root().join("scenarios").join(scenario)).unwrap();
        assert!(text.contains(list), "{scenario}");
        seen += holds(&run(&text.replace(list, one)));
    }
    assert!(seen > 50, "{seen} numbers");
}

/// Gallery 09 without its telemetry, whose replay takes longer than all else.
#[test]
fn a_slow_cable_has_a_step_time_before_it_and_under_it() {
    let path = crate::headline::root().join("gallery/09-find-the-slow-cable/slow-cable.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once("[telemetry]").unwrap();
    let rest = rest.split_once("\n[").map_or(String::new(), |(_, rest)| format!("[{rest}"));
    let rest = rest.split("[expect]").next().unwrap().to_owned();
    let run = run(&format!("{before}{rest}"));
    holds(&run);
    let of = |name: &str| run.figure(name).unwrap();
    assert_eq!(of("step_time"), of("step_time_before_fault"));
    assert!(
        (of("step_time_before_fault") - 0.7833).abs() < 1e-4
            && (of("step_time_under_fault") - 1.0516).abs() < 1e-4
    );
    // One price: what steps lost since the fault is what throughput lost under it, but for the step in which it began.
    assert!(
        (of("time_lost_share") - of("throughput_loss")).abs() < 5e-3,
        "{} {}",
        of("time_lost_share"),
        of("throughput_loss")
    );
}

/// The flap of a cable: 29 steps of one length and one that takes the outage.
#[test]
fn a_flap_is_in_one_step_and_in_no_mean() {
    for run in &points("papers/link-flap-single-tor.toml")[1..3] {
        let of = |name: &str| run.figure(name).unwrap();
        assert!((of("step_time") - 1.0743).abs() < 1e-3, "{}", of("step_time"));
        assert!((of("step_time_hit") - 9.664).abs() < 1e-3, "{}", of("step_time_hit"));
        assert!((of("step_time_after_repair") - of("step_time")).abs() < 1e-9);
    }
}

/// A fault behind the engine's steps is said to be there; telemetry has figures of either side.
#[test]
fn a_fault_outside_the_simulated_steps_is_reported_as_such() {
    let run = &points("regressions/find-slow-gpu.toml")[0];
    let line = run
        .info
        .evidence
        .iter()
        .chain([&run.info.headline])
        .find(|line| line.contains("after the simulated steps"));
    assert!(line.is_some_and(|line| line.contains("begins at 3.000 s")), "{:?}", run.info.evidence);
    let of = |name: &str| run.figure(name).unwrap();
    let [before, under] = [of("telemetry_step_time_before_fault"), of("telemetry_step_time_under_fault")];
    assert!((before - 0.140).abs() < 2e-3 && (under - 0.238).abs() < 2e-3, "{before} {under}");
}
