//! What a few ranks did in one step: computed, waited, communicated.
use std::collections::BTreeMap;

use railtwin_records::NOT_YET;
use serde_json::{Value, json};

use super::chain::Chain;
use crate::columns::PageTable;
use crate::telemetry_run::TelemetryRun;

/// Spans of a lane.
const SPANS_MAX: usize = 2_000;
/// Accused ranks that are shown, and others to hold them against.
const CULPRITS: usize = 2;
const TYPICAL: usize = 3;

/// What a step that never ends is drawn to, as a multiple of the time in which the last rank entered an operation.
const STAND: f64 = 1.5;

struct Span {
    lane: u32,
    kind: &'static str,
    name: String,
    start_ms: f64,
    end_ms: f64,
}

/// The lanes; none without operations.
pub(super) fn lanes(run: &TelemetryRun, accused: &[u32], chain: Option<&Chain>) -> Option<Value> {
    let (moment, directory) = (&run.moment, &run.directory);
    let operations = &moment.operations;
    if operations.is_empty() {
        return None;
    }
    let lanes = chosen(run, accused, chain);
    // All of a group wait for the last that enters.
    let mut last: BTreeMap<(u32, u32), (f64, usize)> = BTreeMap::new();
    for row in 0..operations.len() {
        let entered = moment.aligned_ns(operations.rank[row], operations.enter_ns[row]);
        let key = (operations.communicator[row], operations.sequence[row]);
        let (latest, count) = last.entry(key).or_insert((entered, 0));
        (*latest, *count) = (latest.max(entered), *count + 1);
    }
    // Who never enters keeps the others waiting to the end.
    let latest = last.values().map(|one| one.0).fold(f64::NEG_INFINITY, f64::max);
    for ((communicator, _), (latest, count)) in &mut last {
        if *count < directory.communicators[*communicator as usize].ranks.len() {
            *latest = f64::INFINITY;
        }
    }
    let [from, mut until] = moment.span_ns.map(|ns| ns as f64);
    if operations.end_ns.contains(&NOT_YET) {
        until = until.max(from + STAND * (latest - from));
    }
    let mut spans: Vec<Span> = Vec::new();
    for (lane, (rank, _)) in (0..).zip(&lanes) {
        let mut rows: Vec<usize> =
            (0..operations.len()).filter(|&row| operations.rank[row] == *rank).collect();
        rows.sort_by_key(|&row| (operations.enter_ns[row], row));
        let mut free = from;
        let before = spans.len();
        let mut push = |kind, name: &str, start: f64, end: f64| {
            let [start_ms, end_ms] = [start, end].map(|ns| (ns - from) / 1e6);
            if end_ms - start_ms > 1e-3 && spans.len() < before + SPANS_MAX {
                spans.push(Span { lane, kind, name: name.to_owned(), start_ms, end_ms });
            }
        };
        for row in rows {
            let name = &directory.shapes[operations.shape[row] as usize].kind;
            let enter = moment.aligned_ns(*rank, operations.enter_ns[row]);
            let end = match operations.end_ns[row] {
                NOT_YET => until.max(enter),
                end => moment.aligned_ns(*rank, end),
            };
            let key = (operations.communicator[row], operations.sequence[row]);
            let all = last.get(&key).map_or(enter, |one| one.0).clamp(enter, end.max(enter));
            push("compute", "between operations", free, enter);
            push("wait", name, enter.max(free), all.max(free));
            push("communicate", name, all.max(free), end);
            free = free.max(end);
        }
        push("compute", "between operations", free, until);
    }
    let name = |rank: u32| format!("rank {}", directory.ranks[rank as usize].rank);
    let names: Vec<String> = lanes.iter().map(|(rank, _)| name(*rank)).collect();
    let lane_table = PageTable::new(lanes.len())
        .text("name", names.iter().map(String::as_str))
        .text("role", lanes.iter().map(|(_, role)| *role));
    let numbers = |of: fn(&Span) -> f64| spans.iter().map(of).collect::<Vec<f64>>();
    let span_table = PageTable::new(spans.len())
        .u32("lane", &spans.iter().map(|span| span.lane).collect::<Vec<_>>())
        .text("kind", spans.iter().map(|span| span.kind))
        .text("name", spans.iter().map(|span| span.name.as_str()))
        .f64("start_ms", &numbers(|span| span.start_ms))
        .f64("end_ms", &numbers(|span| span.end_ms));
    let job = directory.ranks.first().map_or("", |info| &directory.jobs[info.job as usize]);
    let who =
        if accused.is_empty() { "a few ranks" } else { "accused ranks, their neighbours and typical ones" };
    Some(json!({
        "start_s": (from - run.span_ns[0] as f64).max(0.0) / 1e9,
        "what": format!("step {} of job {job}: {who}", moment.step),
        "lanes": lane_table.finish(),
        "spans": span_table.finish(),
    }))
}

/// Ranks to show with their roles: the accused or the culprit of the chain, its neighbours, and some from elsewhere.
fn chosen(run: &TelemetryRun, accused: &[u32], chain: Option<&Chain>) -> Vec<(u32, &'static str)> {
    let in_ring = |rank: &u32| chain.is_some_and(|chain| chain.ring.contains(rank));
    let mut culprits: Vec<u32> = accused.to_vec();
    // Those with neighbours in the ring first; the order is kept otherwise.
    culprits.sort_by_key(|rank| !in_ring(rank));
    if culprits.is_empty() {
        culprits.extend(chain.and_then(|chain| Some(chain.ring[chain.culprit?])));
    }
    culprits.truncate(CULPRITS);
    let mut lanes: Vec<(u32, &'static str)> = Vec::new();
    let around = culprits.first().and_then(|&rank| chain?.neighbours(rank));
    lanes.extend(around.map(|[before, _]| (before, "predecessor")));
    lanes.extend(culprits.iter().map(|&rank| (rank, "culprit")));
    lanes.extend(around.map(|[_, behind]| (behind, "successor")));
    lanes.retain(|(rank, role)| *role == "culprit" || !culprits.contains(rank));
    let ranks: Vec<u32> = match chain {
        Some(chain) => chain.ring.clone(),
        None => (0..run.directory.ranks.len() as u32).collect(),
    };
    let first = culprits.first().and_then(|rank| ranks.iter().position(|other| other == rank)).unwrap_or(0);
    for part in 1..=TYPICAL {
        let rank = ranks[(first + part * ranks.len() / (TYPICAL + 1)) % ranks.len()];
        if lanes.iter().all(|(other, _)| *other != rank) {
            lanes.push((rank, "typical"));
        }
    }
    // The same rank before and behind: a ring of two.
    let mut seen = std::collections::BTreeSet::new();
    lanes.retain(|(rank, _)| seen.insert(*rank));
    lanes
}
