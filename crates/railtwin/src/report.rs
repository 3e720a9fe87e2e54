//! The report: the page with the data of one or two runs in it.
use railtwin_engine::lower::FlowPath;
use railtwin_engine::{ActionRow, BundleTable, Case, RunLog};
use railtwin_records::Table;
use railtwin_reliability::lifetime::Lifetimes;
use railtwin_units::SimTime;
use railtwin_workload::OperationId;
use serde_json::{Value, json};

use crate::balance::by_tier;
use crate::capacity::Capacities;
use crate::columns::PageTable;
use crate::control_page::control;
use crate::diagnosis_page::diagnosis;
use crate::error::Error;
use crate::events::Events;
use crate::exposed::axis_name;
use crate::figures::declared::tell;
use crate::map::Map;
use crate::moves::Moves;
use crate::paths::Paths;
use crate::simulate::{Simulation, mean_step};
use crate::telemetry_run::TelemetryRun;
use crate::{balance, link_bins, packet_page, progress};

/// The page as built by `npm run build`, or the stand-in that says how.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.html"));
/// The line that the data replaces.
const SLOT: &str = "<script id=\"railtwin-data\" type=\"application/json\">null</script>";
/// Version of the payload that pages carry (docs/reference/report-payload.md).
const SCHEMA: u64 = 1;
/// Spans closer than this share of the run are drawn as one.
const FINEST: f64 = 1.0 / 4_000.0;
/// Spans that a page draws at most.
const SPANS_MAX: usize = 100_000;

/// What the page needs of a run beside its tables.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    /// The case.
    pub case: &'a Case,
    /// All replicates.
    pub simulation: &'a Simulation,
    /// Bundles of the chosen replicate, before any fault.
    pub table: &'a BundleTable,
    /// Queue pairs by link.
    pub flows: &'a [u32],
    /// Every queue pair's path before any fault.
    pub paths: &'a [FlowPath],
    /// What incidents did to them.
    pub moves: &'a Moves,
    /// The run's table `throughput`, where it has one.
    pub throughput: Option<&'a Table>,
    /// Its telemetry, where the scenario asks for it.
    pub telemetry: Option<&'a TelemetryRun>,
    /// The life of its job, where the scenario asks for it.
    pub life: Option<&'a Lifetimes>,
    /// What controllers decided in the run and in that life.
    pub decisions: &'a [ActionRow],
    /// What stands in `run.json`.
    pub info: &'a railtwin_store::RunInfo,
    /// What the scenario says of itself.
    pub description: &'a str,
}

/// One run as the page reads it.
pub fn run_payload(input: &ReportInput<'_>) -> Value {
    let ReportInput { case, simulation, info, .. } = *input;
    let log = &simulation.log;
    let capacities = Capacities::of(case, simulation.chosen, log);
    let map = Map::new(case, log, &capacities);
    let facts: Vec<Value> =
        info.facts.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let jobs: Vec<&str> = case.work.jobs.iter().map(|job| job.name.as_str()).collect();
    let mut figures = json!(info.figures);
    tell(&mut figures);
    let events = Events::of(case, simulation, input.telemetry);
    let mut payload = json!({
        "name": info.name, "fabric_name": case.fabric.name(), "description": input.description,
        "engine": info.engine, "seed": info.seed, "case_hash": info.case_hash, "version": info.version,
        "headline": info.headline, "evidence": info.evidence, "warnings": info.warnings, "figures": figures,
        "exposed": exposed(case, simulation), "seeds": seeds(case, simulation), "duration_ps": log.end.ps() as f64,
        "observed_ps": events.end.ps() as f64, "facts": facts,
        "devices": map.devices(), "links": map.links(input.flows), "timeline": timeline(case, log),
        "incidents": events.page(case, log),
        "jobs": jobs, "steps": progress::steps(&simulation.replicates[simulation.chosen as usize]),
        "balance": balance::page(case, &by_tier(case, log, input.flows)),
    });
    let link_rows = map.link_rows();
    let paths = Paths::new(case, log, input.paths, input.moves, &link_rows);
    payload["flows"] = paths.flows();
    if let Some(moves) = paths.moves() {
        payload["moves"] = moves;
    }
    // Decisions of lives by lot have times of their own.
    let is_of_run = input.life.is_none_or(|life| life.is_followed);
    let decided = if is_of_run { input.decisions } else { &log.actions };
    if let Some(told) = control(case, log, decided, simulation.chosen, &link_rows) {
        payload["control"] = told;
    }
    if let Some(throughput) = input.throughput.and_then(|table| progress::throughput(table, &jobs)) {
        payload["throughput"] = throughput;
    }
    if let Some(transfers) = packet_page::operations(case, log) {
        payload["operations"] = transfers;
    }
    if let Some(packets) = &log.packets {
        payload["packets"] = packet_page::packets(case, log, packets, &link_rows);
    }
    if let Some(diagnosis) = input.telemetry.and_then(|run| diagnosis(case, run)) {
        payload["diagnosis"] = diagnosis;
    }
    if let Some(life) = input.life {
        payload["life"] = crate::life::page::page(case, life);
    }
    if log.end > SimTime::ZERO {
        let shapes = link_bins::shapes(case, log, input.table, input.paths, input.moves);
        payload["link_bins"] = link_bins::page(case, log, (&capacities, &shapes), &map.rows());
    }
    payload
}

/// Mean step time of each job under each seed.
fn seeds(case: &Case, simulation: &Simulation) -> Vec<Value> {
    let seeds = (0..case.work.jobs.len()).flat_map(|row| {
        let steps = simulation.replicates.iter().map(move |replicate| mean_step(replicate, row)).enumerate();
        let ended = steps.filter_map(|(seed, step)| Some((seed, step?)));
        ended.map(move |(seed, step)| json!({ "job": row, "seed": seed, "step_time_ps": step * 1e12 }))
    });
    seeds.collect()
}

/// Time of a step that each axis alone kept lanes waiting, by job.
fn exposed(case: &Case, simulation: &Simulation) -> Vec<Value> {
    let exposed = (0..case.work.jobs.len()).flat_map(|row| {
        let parts = simulation.replicates[simulation.chosen as usize].exposed[row].iter();
        parts.map(move |part| {
            json!({
                "job": row,
                "axis": axis_name(part.axis),
                "exposed_ps": part.exposed * 1e12,
                "busy_ps": part.busy * 1e12,
                "bytes": part.bytes,
            })
        })
    });
    exposed.collect()
}

/// Operations as spans, neighbors of the same axis joined.
fn timeline(case: &Case, log: &RunLog) -> Value {
    let gap = (log.end.ps() as f64 * FINEST) as u64;
    let mut open: std::collections::BTreeMap<(usize, u32, u8), usize> = std::collections::BTreeMap::new();
    let mut order: Vec<OperationId> = (0..case.work.operations).map(OperationId::from_index).collect();
    order.retain(|&id| log.times.end[id.index()] != SimTime::NEVER && case.work.is_due(id));
    order.sort_by_key(|id| (log.times.start[id.index()], id.0));
    let mut spans: Vec<(OperationId, u64, u64, f64, u32)> = Vec::new();
    for id in order {
        let operation = case.work.operation(id);
        let (start, end) = (log.times.start[id.index()].ps(), log.times.end[id.index()].ps());
        let bytes = match operation.work {
            railtwin_workload::Work::Communicate { bytes, .. } => bytes as f64,
            railtwin_workload::Work::Compute(_) => 0.0,
        };
        let key = (case.work.job_of(id), operation.lane, operation.axis as u8);
        if let Some(&last) = open.get(&key)
            && start <= spans[last].2 + gap
        {
            let span = &mut spans[last];
            (span.2, span.3, span.4) = (span.2.max(end), span.3 + bytes, span.4 + 1);
            continue;
        }
        if spans.len() < SPANS_MAX {
            open.insert(key, spans.len());
            spans.push((id, start, end, bytes, 1));
        }
    }
    let job = |id: OperationId| &case.work.jobs[case.work.job_of(id)];
    let several = case.work.jobs.len() > 1;
    let lanes: Vec<String> = spans
        .iter()
        .map(|span| {
            let lane = &job(span.0).plan.lanes[case.work.operation(span.0).lane as usize];
            if several { format!("{} {lane}", job(span.0).name) } else { lane.clone() }
        })
        .collect();
    let names: Vec<String> = spans
        .iter()
        .map(|span| {
            let name = &job(span.0).plan.names[case.work.operation(span.0).name as usize];
            if span.4 > 1 { format!("{name} and {} more", span.4 - 1) } else { name.clone() }
        })
        .collect();
    let axis = |span: &(OperationId, u64, u64, f64, u32)| case.work.operation(span.0).axis.name();
    PageTable::new(spans.len())
        .text("lane", lanes.iter().map(String::as_str))
        .text("axis", spans.iter().map(axis))
        .text("kind", spans.iter().map(axis))
        .text("name", names.iter().map(String::as_str))
        .f64("start_ps", &spans.iter().map(|span| span.1 as f64).collect::<Vec<_>>())
        .f64("end_ps", &spans.iter().map(|span| span.2 as f64).collect::<Vec<_>>())
        .f64("bytes", &spans.iter().map(|span| span.3).collect::<Vec<_>>())
        .finish()
}

/// The page with one or two runs in it; of two the second carries the headline of both.
pub fn page(title: &str, runs: &[Value]) -> String {
    filled(title, "runs", json!(runs))
}

/// The page with `data` in it, as the field `what` of its payload.
pub(crate) fn filled(title: &str, what: &str, data: Value) -> String {
    let generator = concat!("railtwin ", env!("CARGO_PKG_VERSION"));
    let mut payload = json!({ "schema": SCHEMA, "title": title, "generator": generator });
    payload[what] = data;
    let text = payload.to_string().replace('<', "\\u003c");
    PAGE.replacen(SLOT, &SLOT.replace("null", &text), 1)
}

/// What a page carries.
#[derive(Clone, PartialEq, Debug)]
pub struct Payload {
    /// Title of the page.
    pub title: String,
    /// One or two runs, as [`run_payload`] makes them; none of weeks of jobs.
    pub runs: Vec<Value>,
    /// Weeks of jobs, as [`crate::cluster::page`] has them.
    pub cluster: Option<Value>,
}

impl Payload {
    /// The page with it.
    pub fn page(self) -> String {
        match self.cluster {
            Some(cluster) => filled(&self.title, "cluster", cluster),
            None => page(&self.title, &self.runs),
        }
    }
}

/// Whether a text is a page of railtwin, with or without data, of whatever version.
pub fn is_page(text: &str) -> bool {
    let (open, _) = SLOT.split_once("null").expect("the slot holds null");
    text.starts_with("<!doctype html>") && text.contains(open)
}

/// What [`page`] put into a page, whatever version of the page it was.
///
/// # Errors
/// [`Error::Report`] for a text that is no report, a page without data, data that is cut off or damaged, and data
/// of another version.
pub fn payload_of(page_text: &str) -> Result<Payload, Error> {
    let wrong = |problem: &str| Error::Report(problem.to_owned());
    let (open, close) = SLOT.split_once("null").expect("the slot holds null");
    // The payload has no `<`, so the first closing tag ends it.
    let (_, rest) = page_text.split_once(open).ok_or_else(|| wrong("it has no data element of a report"))?;
    let (text, _) = rest.split_once(close).ok_or_else(|| wrong("its data is cut off"))?;
    let mut payload: Value = serde_json::from_str(text)
        .map_err(|error| Error::Report(format!("its data is damaged: {error} of the data")))?;
    if payload.is_null() {
        return Err(wrong("it is the empty page, without data"));
    }
    match payload["schema"].as_u64() {
        Some(SCHEMA) => {}
        Some(other) => {
            let problem = format!("its data has schema {other}, and this railtwin reads {SCHEMA}");
            return Err(Error::Report(problem));
        }
        None => return Err(wrong("its data has no schema")),
    }
    let title = payload["title"].as_str().ok_or_else(|| wrong("its data has no title"))?.to_owned();
    let shown = |run: &Value| run["name"].is_string() && run["figures"].is_array();
    if payload.get("cluster").is_some() {
        let cluster = payload["cluster"].take();
        if !shown(&cluster) {
            return Err(wrong("its data does not have weeks of jobs with name and figures"));
        }
        return Ok(Payload { title, runs: Vec::new(), cluster: Some(cluster) });
    }
    let Value::Array(mut runs) = payload["runs"].take() else { return Err(wrong("its data has no runs")) };
    if !(1..=2).contains(&runs.len()) || !runs.iter().all(shown) {
        return Err(wrong("its data does not have one or two runs with name and figures"));
    }
    // Reports of older programs do not say which way a figure is better.
    runs.iter_mut().for_each(|run| tell(&mut run["figures"]));
    Ok(Payload { title, runs, cluster: None })
}

/// Whether the page was built into this program; otherwise reports hold the stand-in.
pub fn has_page() -> bool {
    !PAGE.contains("railtwin-stand-in")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(text: &str) -> String {
        payload_of(text).unwrap_err().to_string()
    }

    #[test]
    fn a_page_gives_back_what_was_put_in() {
        let run = json!({ "name": "</script><b>", "figures": [{ "value": 0.1 }], "headline": "a < b" });
        let text = page("A & \"B\"", &[run.clone(), run.clone()]);
        let payload = payload_of(&text).unwrap();
        assert_eq!(
            payload,
            Payload { title: "A & \"B\"".to_owned(), runs: vec![run.clone(), run], cluster: None }
        );
        assert_eq!(payload.page(), text);
        let weeks = filled("weeks", "cluster", json!({ "name": "w", "figures": [] }));
        assert_eq!(payload_of(&weeks).unwrap().page(), weeks);
        assert!(problem(&weeks.replace("\"figures\":[]", "\"figures\":1")).contains("weeks of jobs"));
    }

    /// Reports of older programs are shown again with the page of this one.
    #[test]
    fn which_way_is_better_is_added_where_a_report_does_not_say() {
        let figures = json!([
            { "name": "train.step_time" }, { "name": "jobs.busbw_mean" }, { "name": "max_mean_ratio_leaf_up" },
            { "name": "hosts_active" }, { "name": "of_another_program" }, { "name": "mfu", "better": "less" },
        ]);
        let told = payload_of(&page("t", &[json!({ "name": "n", "figures": figures })])).unwrap();
        let figures = told.runs[0]["figures"].as_array().unwrap();
        let better: Vec<Option<&str>> = figures.iter().map(|figure| figure["better"].as_str()).collect();
        assert_eq!(better, [Some("less"), Some("more"), Some("less"), None, None, Some("less")]);
        let plain: Vec<bool> = figures.iter().map(|figure| figure["plain"] == true).collect();
        assert_eq!(plain, [false, false, true, false, false, false]);
    }

    #[test]
    fn what_is_no_report_is_said() {
        assert!(problem("<html></html>").contains("no data element"));
        assert!(problem(PAGE).contains("without data"));
        let whole = page("t", &[json!({ "name": "n", "figures": [] })]);
        let end = whole.find("\"name\"").unwrap();
        assert!(problem(&whole[..end]).contains("cut off"));
        assert!(problem(&whole.replace("\"name\"", "name")).contains("damaged"));
        assert!(problem(&whole.replace("\"schema\":1", "\"schema\":9")).contains("schema 9"));
        assert!(problem(&whole.replace("\"figures\":[]", "\"figures\":1")).contains("one or two runs"));
        assert!(problem(&page("t", &[])).contains("one or two runs"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*", cut in 0_usize..2_000) {
            let _ = payload_of(&text);
            let whole = page(&text, &[json!({ "name": text, "figures": [] })]);
            prop_assert_eq!(&payload_of(&whole).unwrap().title, &text);
            let (at, _) = whole.char_indices().rev().nth(cut).unwrap_or((0, ' '));
            let _ = payload_of(&whole[..at]);
        }
    }
}
