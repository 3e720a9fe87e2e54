//! One run: a resolved point, simulated, as figures, tables, run folder and report.
use std::collections::BTreeMap;
use std::path::Path;

use railtwin_engine::lower::{FlowPath, Lowering};
use railtwin_engine::own::guarded;
use railtwin_engine::{ActionRow, BundleTable};
use railtwin_fabric::LinkId;
use railtwin_fabric::design::DesignReport;
use railtwin_records::Table;
use railtwin_reliability::lifetime::Lifetimes;
use railtwin_routing::LinkMask;
use railtwin_scenario::{Amount, Bounds};
use railtwin_store::{Figure, RunFolder, RunInfo, Status, run_id};
use serde_json::Value;

use crate::capacity::Capacities;
use crate::engines::engine_of;
use crate::error::Error;
use crate::events::Events;
use crate::life::{Followed, follow};
use crate::moves::Moves;
use crate::question::Resolved;
use crate::report::{ReportInput, page, run_payload};
use crate::simulate::Simulation;
use crate::telemetry_run::{TelemetryRun, telemetry_of};
use crate::{faults, figures, headline, link_bins, packet_tables, probe_tables, tables, time_up};

mod stages;

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
    /// What its ranks recorded and what was found in it; none where the scenario does not ask.
    pub telemetry: Option<TelemetryRun>,
    /// The lives of its job; none where the scenario does not ask, or the job does not end.
    pub life: Option<Lifetimes>,
    table: BundleTable,
    flows: Vec<FlowPath>,
    moves: Moves,
}

impl std::fmt::Display for Unexpected {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { figure, expected, reason, .. } = self;
        match self.value {
            Some(value) => write!(out, "{figure} is {value}, expected {expected}"),
            None => write!(out, "{figure} is missing ({reason}), expected {expected}"),
        }
    }
}

/// A figure that is not what the scenario expects.
#[derive(Clone, PartialEq, Debug)]
pub struct Unexpected {
    /// Name of the figure.
    pub figure: String,
    /// What came out; none when the run has no such figure, or the figure no value.
    pub value: Option<f64>,
    /// Why there is no value; empty where there is one.
    pub reason: String,
    /// What was expected, in words.
    pub expected: String,
}

impl Run {
    /// Runs a resolved point. `progress` hears of each replicate that is done.
    ///
    /// # Panics
    /// Where a controller of one's own cannot go on: [`Run::of_into`] tells of it.
    pub fn of(resolved: Resolved, progress: &(dyn Fn() + Sync)) -> Self {
        Self::of_into(resolved, None, progress).expect("without a folder nothing is written that could fail")
    }

    /// Runs a resolved point whose folder [`begin`] made: its `steps` can be read while the run goes on.
    ///
    /// # Errors
    /// [`Error::Store`] when the steps cannot be written, [`Error::Controller`] where a controller of one's own cannot
    /// go on.
    pub fn of_into(
        resolved: Resolved,
        folder: Option<&RunFolder>,
        progress: &(dyn Fn() + Sync),
    ) -> Result<Self, Error> {
        guarded(|| Self::worked_off(resolved, folder, progress))
            .unwrap_or_else(|halt| Err(Error::Controller { halt, replicate: None }))
    }

    fn worked_off(
        resolved: Resolved,
        folder: Option<&RunFolder>,
        progress: &(dyn Fn() + Sync),
    ) -> Result<Self, Error> {
        crate::life::ready(&resolved)?;
        let (resolved, followed) = if crate::life::is_followed(&resolved) {
            let Followed { resolved, life } = follow(&resolved)?;
            (resolved, Some(life))
        } else {
            (resolved, None)
        };
        let case = &resolved.case;
        let engine = engine_of(&resolved);
        let mut info = designed_info(&resolved);
        if case.work.jobs.is_empty() {
            info.status = Status::Complete;
            return Ok(Self::unsimulated(resolved, info));
        }
        let (mut done, lowering) = stages::simulated(case, engine.as_ref(), &resolved, folder, progress)?;
        let (telemetry, untold) = match telemetry_of(&resolved, &done, followed.as_ref()) {
            Ok(told) => (told, None),
            Err(error) => (None, Some(format!("no telemetry: {error}"))),
        };
        let hung = stages::stop_with_the_replay(case, telemetry.as_ref(), &mut done);
        let of_fabric = std::mem::replace(&mut info.figures, figures::of_simulation(case, &done));
        hung.into_iter().for_each(|count| figures::add_of_replay(&mut info.figures, count));
        info.figures.extend(faults::drawn(&resolved.scenario, case));
        let life = stages::lived(&resolved, &done, followed, &mut info)?;
        info.figures.extend(crate::storage::figures(case, engine.as_ref(), &done)?);
        info.figures.extend(crate::memory_figures::figures(case));
        info.figures.extend(of_fabric);
        crate::assumed::note_mfu(&resolved, &mut info.figures);
        let lowering = lowering.unwrap_or_else(|| Lowering::new(case, done.chosen));
        let lowering = lowering.with_ends(&done.log.job_ends(&case.work));
        let (table, flows) = lowering.table(&LinkMask::none(&case.fabric), true);
        drop(lowering);
        stages::count(&mut info.counters, &done.log, &table, &flows);
        if let Some(warning) = time_up::warning(case, &done, &table) {
            let out = done.replicates.iter().filter(|replicate| replicate.time_up).count();
            info.counters.insert(time_up::COUNTER.into(), out as u64);
            // The first warning is that of the time (`time_up::of`).
            info.warnings.insert(0, warning);
        }
        info.warnings.extend(stages::searches(&done.log));
        info.warnings.extend(stages::idle_weights(case, &done.log));
        stages::add_network_figures(&resolved, &done, &table, &flows, &mut info.figures);
        let moves = Moves::of(case, &done.log, done.chosen, &flows);
        if flows.len() > FLOWS_MAX {
            info.warnings.push(format!("the flows table is left out: it would have {} rows", flows.len()));
        }
        info.warnings.extend(untold);
        if let Some(run) = &telemetry {
            stages::add_telemetry(run, case, &mut info);
        }
        let answer = headline::of_run(&info.name, &info.figures, case, &done, telemetry.as_ref());
        (info.headline, info.evidence) = (answer.text, answer.evidence);
        info.status = Status::Complete;
        Ok(Self { resolved, info, simulation: Some(done), telemetry, life, table, flows, moves })
    }

    /// The run of a scenario without jobs: its fabric alone.
    fn unsimulated(resolved: Resolved, info: RunInfo) -> Self {
        let (table, flows, moves) = (BundleTable::default(), Vec::new(), Moves::default());
        Self { resolved, info, simulation: None, telemetry: None, life: None, table, flows, moves }
    }

    /// A figure's value by name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.info.figure(name).and_then(|figure| figure.value)
    }

    /// What each incident of the chosen replicate did to paths.
    pub fn moves(&self) -> &Moves {
        &self.moves
    }

    /// Bytes that some links carried together in the chosen replicate, by bin, and the seconds of a bin; none without a
    /// simulation.
    pub fn carried(&self, links: &[LinkId]) -> Option<(link_bins::Series, f64)> {
        let (case, log) = (&self.resolved.case, &self.simulation.as_ref()?.log);
        let shapes = link_bins::shapes(case, log, &self.table, &self.flows, &self.moves);
        let capacities = Capacities::of(case, self.simulation.as_ref()?.chosen, log);
        let mut sums = [0.0; link_bins::BINS];
        for link in links {
            let Some(shape) = shapes.get(&link.0) else { continue };
            let own = link_bins::series(case, log, (&capacities, shape), *link);
            sums.iter_mut().zip(own).for_each(|(sum, bytes)| *sum += bytes);
        }
        Some((sums, log.end.seconds() / link_bins::BINS as f64))
    }

    /// All tables of the run, by name. `operations` is whole.
    pub fn tables(&self) -> Vec<Table> {
        let Some(simulation) = &self.simulation else { return Vec::new() };
        let (case, log) = (&self.resolved.case, &simulation.log);
        let capacities = Capacities::of(case, simulation.chosen, log);
        let mut all = vec![
            tables::steps(case, 0, &simulation.replicates),
            tables::exposed_table(case, &simulation.replicates[simulation.chosen as usize]),
            tables::operations(case, log, 0..case.work.operations),
            tables::links(case, log, &capacities, &tables::flows_by_link(case, &self.flows)),
            Events::of(case, simulation, self.telemetry.as_ref()).table(case),
            tables::actions(case, &self.decisions()),
        ];
        if !case.truths.is_empty() {
            all.push(railtwin_records::finding_tables::faults(&case.truths));
        }
        all.extend(tables::throughput(case, log));
        if let Some(packets) = &log.packets {
            all.extend(packet_tables::all(case, log, packets));
        }
        match &self.telemetry {
            Some(run) => all.extend(run.tables(case, log)),
            None => all.extend(probe_tables::tables(case, log, engine_of(&self.resolved).name())),
        }
        if let Some(life) = &self.life {
            all.extend(crate::life::tables::of(life));
        }
        if self.flows.len() <= FLOWS_MAX {
            all.push(tables::flows(case, log, &self.flows));
        }
        all
    }

    /// What controllers decided in the run, those about hosts of a job that is followed among them, in the order of time;
    /// behind them what they decided in the life of a job by lot, whose times are its own.
    pub fn decisions(&self) -> Vec<ActionRow> {
        let mut all =
            self.simulation.as_ref().map(|simulation| simulation.log.actions.clone()).unwrap_or_default();
        if let Some(life) = &self.life {
            all.extend(crate::life::tables::decisions(life));
            if life.is_followed {
                all.sort_by_key(|row| row.decided);
            }
        }
        all
    }

    /// The run as the page reads it; none without a simulation.
    pub fn payload(&self) -> Option<Value> {
        let simulation = self.simulation.as_ref()?;
        let flows = tables::flows_by_link(&self.resolved.case, &self.flows);
        let throughput = tables::throughput(&self.resolved.case, &simulation.log);
        let decisions = self.decisions();
        Some(run_payload(&ReportInput {
            case: &self.resolved.case,
            simulation,
            table: &self.table,
            flows: &flows,
            paths: &self.flows,
            moves: &self.moves,
            throughput: throughput.as_ref(),
            telemetry: self.telemetry.as_ref(),
            life: self.life.as_ref(),
            decisions: &decisions,
            info: &self.info,
            description: self.resolved.scenario.description.as_deref().unwrap_or_default(),
        }))
    }

    /// Writes a new run folder: [`begin`] and [`Run::write_into`].
    ///
    /// # Errors
    /// [`Error::Store`] naming what could not be written.
    pub fn write(&self, path: &Path) -> Result<RunFolder, Error> {
        let folder = begin(&self.resolved, path)?;
        self.write_into(&folder)?;
        Ok(folder)
    }

    /// Fills a run folder that [`begin`] made: tables first, the report, then the information that it is complete.
    ///
    /// # Errors
    /// [`Error::Store`] naming what could not be written.
    pub fn write_into(&self, folder: &RunFolder) -> Result<(), Error> {
        if let Some(simulation) = &self.simulation {
            let (case, log) = (&self.resolved.case, &simulation.log);
            let mut operations = folder.table_writer("operations")?;
            let total = case.work.operations;
            for start in (0..total).step_by(CHUNK) {
                operations.append(&tables::operations(case, log, start..(start + CHUNK).min(total)))?;
                operations.flush()?;
            }
            operations.finish()?;
            // Operations went in parts just now, steps while the run went on.
            let there = folder.table_names()?;
            for table in self.tables().iter().filter(|table| !there.contains(&table.name)) {
                folder.write_table(table)?;
            }
            if let Some(payload) = self.payload() {
                folder.write_report(page(&self.info.name, &[payload]).as_bytes())?;
            }
        }
        folder.write_info(&self.info)?;
        Ok(())
    }

    /// Figures that are not what the scenario expects.
    pub fn unexpected(&self) -> Vec<Unexpected> {
        unexpected(&self.resolved.scenario.expect, &self.info.figures)
    }
}

/// Figures outside their bounds.
pub fn unexpected(expect: &BTreeMap<String, Bounds>, figures: &[Figure]) -> Vec<Unexpected> {
    let missed = |(name, bounds): (&String, &Bounds)| {
        let figure = figures.iter().find(|figure| figure.name == *name);
        let value = figure.and_then(|figure| figure.value);
        if value.is_some_and(|value| bounds.accepts(value)) {
            return None;
        }
        let reason = match (value, figure) {
            (Some(_), _) => String::new(),
            (None, Some(figure)) => figure.reason.clone(),
            (None, None) => "the run has no such figure".to_owned(),
        };
        Some(Unexpected { figure: name.clone(), value, reason, expected: in_words(bounds) })
    };
    expect.iter().filter_map(missed).collect()
}

fn in_words(bounds: &Bounds) -> String {
    let part = |word: &str, amount: Option<Amount>| amount.map(|amount| format!("{word} {amount}"));
    let parts = [
        part("at least", bounds.at_least),
        part("at most", bounds.at_most),
        part("equal to", bounds.equals),
        // To nine digits after the point, as 1e-6 is not 0.00009999999999999999 %.
        bounds.tolerance.map(|share| format!("within {} %", (1e11 * share).round() / 1e9)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Makes the run folder of a point that is about to be simulated, for readers to find: status running, with the
/// facts of its fabric and without tables.
///
/// # Errors
/// [`Error::Store`]: there is something at `path`, or it cannot be written.
pub fn begin(resolved: &Resolved, path: &Path) -> Result<RunFolder, Error> {
    let design = DesignReport::of(&resolved.case.fabric);
    let info = starting_info(resolved, &design);
    Ok(RunFolder::create(path, &info, &resolved.scenario.to_toml(), &fabric_text(&info))?)
}

/// `run.json` of a run that begins.
fn starting_info(resolved: &Resolved, design: &DesignReport) -> RunInfo {
    let (id, scenario) = (id_of(resolved), &resolved.scenario);
    let engine = engine_of(resolved).name();
    let info = RunInfo::starting(&id, &resolved.case_hash, &scenario.name, engine, scenario.seed);
    RunInfo { facts: facts(design, resolved), ..info }
}

/// `run.json` of a run with the figures of its fabric and the warnings of its case.
fn designed_info(resolved: &Resolved) -> RunInfo {
    let design = DesignReport::of(&resolved.case.fabric);
    let mut info = starting_info(resolved, &design);
    info.figures = figures::of_design(&design);
    info.figures.extend(crate::balance::after_spine_loss(resolved));
    info.warnings = resolved.case.all_warnings();
    // Copies of a job say the same.
    info.warnings.dedup();
    info
}

/// The id that a point's run will have.
pub fn id_of(resolved: &Resolved) -> String {
    run_id(&resolved.case_text, engine_of(resolved).name(), env!("CARGO_PKG_VERSION"))
}

/// Words about a fabric.
pub(crate) fn facts_of_design(design: &DesignReport) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
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
    facts
}

fn facts(design: &DesignReport, resolved: &Resolved) -> BTreeMap<String, String> {
    let mut facts = facts_of_design(design);
    let mut say = |name: &str, value: String| {
        facts.insert(name.to_owned(), value);
    };
    let routing = &resolved.scenario.routing;
    say("queue pairs per NIC port", routing.queue_pairs.to_string());
    say("hash", routing.hash.name().to_owned());
    say(headline::comparison::DRAWS, resolved.scenario.run.replicates.to_string());
    if let Some(own) = &resolved.case.own {
        say("controllers", own.names().join(", "));
    }
    if let Some(assumed) = crate::assumed::fact(resolved) {
        say(crate::assumed::FACT, assumed);
    }
    let jobs = &resolved.case.work.jobs;
    for (row, job) in jobs.iter().enumerate() {
        let begun = jobs.iter().find(|other| other.goes_on_as == Some(row as u32));
        let text = begun.map_or_else(
            || headline::comparison::asked(&job.plan),
            |begun| format!("{}{}", headline::comparison::RESTART, begun.name),
        );
        say(&format!("{}{}", headline::comparison::JOB, job.name), text);
    }
    facts
}

/// The fabric in words, for `fabric.toml`.
pub(crate) fn fabric_text(info: &RunInfo) -> String {
    let line = |(name, value): (&String, &String)| format!("{:?} = {value:?}\n", name);
    info.facts.iter().map(line).collect()
}
