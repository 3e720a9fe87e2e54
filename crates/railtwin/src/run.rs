//! One run: a resolved point, simulated, as figures, tables, run folder and report.
use std::path::Path;

use railtwin_engine::lower::{FlowPath, Lowering};
use railtwin_engine::{BundleTable, Engine};
use railtwin_fabric::design::DesignReport;
use railtwin_flowsim::FlowEngine;
use railtwin_records::Table;
use railtwin_routing::LinkMask;
use railtwin_scenario::{Amount, Bounds};
use railtwin_store::{Figure, RunFolder, RunInfo, Status, run_id};
use serde_json::Value;

use crate::error::Error;
use crate::question::Resolved;
use crate::report::{ReportInput, page, run_payload};
use crate::simulate::{Simulation, simulate};
use crate::{figures, tables};

/// Queue pairs beyond which the `flows` table is left out and the balance of flows is not counted.
const FLOWS_MAX: usize = 2_000_000;
/// Rows of the `operations` table that are made at a time.
const CHUNK: usize = 1 << 16;

/// A run in memory.
#[derive(Debug)]
pub struct Run {
    /// What was run.
    pub resolved: Resolved,
    /// What stands in `run.json`.
    pub info: RunInfo,
    /// All replicates; none for a scenario without jobs.
    pub simulation: Option<Simulation>,
    table: BundleTable,
    flows: Vec<FlowPath>,
}

/// A figure that is not what the scenario expects.
#[derive(Clone, PartialEq, Debug)]
pub struct Unexpected {
    /// Name of the figure.
    pub figure: String,
    /// What came out; none when the run has no such figure.
    pub value: Option<f64>,
    /// What was expected, in words.
    pub expected: String,
}

impl Run {
    /// Runs a resolved point. `progress` hears of each replicate that is done.
    pub fn of(resolved: Resolved, progress: &(dyn Fn() + Sync)) -> Self {
        let case = &resolved.case;
        let engine = FlowEngine::default();
        let mut info = starting_info(&resolved, engine.name());
        let design = DesignReport::of(&case.fabric);
        info.facts = facts(&design, &resolved);
        info.figures = figures::of_design(&design);
        info.figures.extend(crate::balance::paths_after_spine_loss(&resolved));
        info.warnings = case.work.jobs.iter().flat_map(|job| job.plan.notes.clone()).collect();
        let (mut table, mut flows, mut simulation) = (BundleTable::default(), Vec::new(), None);
        if !case.work.jobs.is_empty() {
            let done = simulate(case, &engine, resolved.scenario.run.replicates, progress);
            let of_fabric = std::mem::replace(&mut info.figures, figures::of_simulation(case, &done));
            info.figures.extend(of_fabric);
            info.counters.insert("events".into(), done.log.events);
            info.counters.insert("max_min_solves".into(), done.log.solves);
            info.counters.insert("max_min_bundles".into(), done.log.solved_bundles);
            (table, flows) = Lowering::new(case, done.chosen).table(&LinkMask::none(&case.fabric), true);
            info.counters.insert("queue_pair_paths".into(), flows.len() as u64);
            info.counters.insert("bundles".into(), table.bundles() as u64);
            if let Some(figure) = crate::balance::leaf_uplinks(&resolved, &flows) {
                info.figures.push(figure);
            }
            if flows.len() > FLOWS_MAX {
                info.warnings
                    .push(format!("the flows table is left out: it would have {} rows", flows.len()));
            }
            simulation = Some(done);
        }
        info.status = Status::Complete;
        Self { resolved, info, simulation, table, flows }
    }

    /// A figure's value by name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.info.figure(name).and_then(|figure| figure.value)
    }

    /// All tables of the run, by name. `operations` is whole.
    pub fn tables(&self) -> Vec<Table> {
        let Some(simulation) = &self.simulation else { return Vec::new() };
        let (case, log) = (&self.resolved.case, &simulation.log);
        let mut all = vec![
            tables::steps(case, simulation),
            tables::exposed_table(case, log),
            tables::operations(case, log, 0..case.work.operations),
            tables::links(case, log, &tables::flows_by_link(case, &self.flows)),
            tables::incidents(case, log),
        ];
        if self.flows.len() <= FLOWS_MAX {
            all.push(tables::flows(case, log, &self.flows));
        }
        all
    }

    /// The run as the page reads it; none without a simulation.
    pub fn payload(&self) -> Option<Value> {
        let simulation = self.simulation.as_ref()?;
        let flows = tables::flows_by_link(&self.resolved.case, &self.flows);
        Some(run_payload(&ReportInput {
            case: &self.resolved.case,
            simulation,
            table: &self.table,
            flows: &flows,
            info: &self.info,
            description: self.resolved.scenario.description.as_deref().unwrap_or_default(),
        }))
    }

    /// Writes the run folder: tables first, the report, then the information that it is complete.
    ///
    /// # Errors
    /// [`Error::Store`] naming what could not be written.
    pub fn write(&self, path: &Path) -> Result<RunFolder, Error> {
        let fabric = fabric_text(&self.info);
        let running = RunInfo { status: Status::Running, ..self.info.clone() };
        let folder = RunFolder::create(path, &running, &self.resolved.scenario.to_toml(), &fabric)?;
        if let Some(simulation) = &self.simulation {
            let (case, log) = (&self.resolved.case, &simulation.log);
            let mut operations = folder.table_writer("operations")?;
            let total = case.work.operations;
            for start in (0..total).step_by(CHUNK) {
                operations.append(&tables::operations(case, log, start..(start + CHUNK).min(total)))?;
                operations.flush()?;
            }
            operations.finish()?;
            for table in self.tables().iter().filter(|table| table.name != "operations") {
                folder.write_table(table)?;
            }
            if let Some(payload) = self.payload() {
                folder.write_report(page(&self.info.name, &[payload]).as_bytes())?;
            }
        }
        folder.write_info(&self.info)?;
        Ok(folder)
    }

    /// Figures that are not what the scenario expects.
    pub fn unexpected(&self) -> Vec<Unexpected> {
        unexpected(&self.resolved.scenario.expect, &self.info.figures)
    }
}

/// Figures outside their bounds.
pub fn unexpected(
    expect: &std::collections::BTreeMap<String, Bounds>,
    figures: &[Figure],
) -> Vec<Unexpected> {
    let value = |name: &str| figures.iter().find(|figure| figure.name == name).and_then(|f| f.value);
    expect
        .iter()
        .filter(|(name, bounds)| !value(name).is_some_and(|value| bounds.accepts(value)))
        .map(|(name, bounds)| Unexpected {
            figure: name.clone(),
            value: value(name),
            expected: in_words(bounds),
        })
        .collect()
}

fn in_words(bounds: &Bounds) -> String {
    let part = |word: &str, amount: Option<Amount>| amount.map(|amount| format!("{word} {amount}"));
    let parts = [
        part("at least", bounds.at_least),
        part("at most", bounds.at_most),
        part("equal to", bounds.equals),
        bounds.tolerance.map(|share| format!("within {} %", 100.0 * share)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `run.json` of a run that begins.
fn starting_info(resolved: &Resolved, engine: &str) -> RunInfo {
    let id = run_id(&resolved.case_text, engine, env!("CARGO_PKG_VERSION"));
    RunInfo::starting(&id, &resolved.case_hash, &resolved.scenario.name, engine, resolved.scenario.seed)
}

/// The id that a point's run will have.
pub fn id_of(resolved: &Resolved) -> String {
    starting_info(resolved, FlowEngine::default().name()).run_id
}

fn facts(design: &DesignReport, resolved: &Resolved) -> std::collections::BTreeMap<String, String> {
    let mut facts = std::collections::BTreeMap::new();
    let mut say = |name: &str, value: String| {
        facts.insert(name.to_owned(), value);
    };
    say("fabric", design.fabric.clone());
    say("GPUs active", design.gpus_active.to_string());
    say("GPUs spare", design.gpus_spare.to_string());
    say("pods", design.pods.to_string());
    say("segments", design.segments.to_string());
    say("planes", design.planes.to_string());
    for tier in &design.tiers {
        let words = format!(
            "{} × ({} × {} down, {} × {} up)",
            tier.switches, tier.down_ports, tier.down_capacity, tier.up_ports, tier.up_capacity
        );
        say(&format!("{} switches", tier.tier), words);
    }
    let routing = &resolved.scenario.routing;
    say("queue pairs per NIC port", routing.queue_pairs.to_string());
    say("hash", routing.hash.name().to_owned());
    for job in &resolved.case.work.jobs {
        say(&format!("job {}", job.name), format!("{} GPUs", job.plan.ranks));
    }
    facts
}

/// The fabric in words, for `fabric.toml`.
fn fabric_text(info: &RunInfo) -> String {
    let line = |(name, value): (&String, &String)| format!("{:?} = {value:?}\n", name);
    info.facts.iter().map(line).collect()
}
