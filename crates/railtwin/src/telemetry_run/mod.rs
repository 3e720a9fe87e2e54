//! What the ranks of a run record, and what diagnosis makes of it: `[telemetry]` of a scenario.
//!
//! The engine of the scenario runs once without faults; from its durations the job is replayed rank by rank, with
//! the rates of its queue pairs in every state that faults bring the network into.
//!
//! * [`states`]: those states; [`traffic`]: what queue pairs and ranks of rings took, for the page;
//!   [`moment`]: the operations of one step.
pub mod moment;
pub mod states;
pub mod traffic;

use railtwin_diagnosis::rules::actions::{Safeguard, actions_of};
use railtwin_engine::{Case, RunLog};
use railtwin_records::{Action, Batch, Directory, Finding, Observation, Table};
use railtwin_records::{finding_tables, telemetry_tables};
use railtwin_scenario::{JitterSpec, TelemetrySpec};
use railtwin_store::Figure;
use railtwin_telemetry::{Durations, Jitter, Progress};
use railtwin_units::SimTime;

use crate::engines::engine_of;
use crate::error::Error;
use crate::figures::declared::network as declared;
use crate::probe_tables;
use crate::question::Resolved;
use crate::score::verdict::judge;
use crate::simulate::Simulation;
use crate::stops::{Cause, Stop};
use crate::watch::{Rhythm, Watch};
use moment::Moment;
use traffic::Traffic;

/// Rows of a table that are kept; detectors see the others too.
const ROWS_MAX: usize = 2_000_000;
/// Seconds for which a job that stands still is watched: twice what a hang takes to count as one.
const STUCK_S: f64 = 60.0;

/// Telemetry of a run and what was found in it.
#[derive(Debug)]
pub struct TelemetryRun {
    /// Who is who.
    pub directory: Directory,
    /// The records, as far as they are kept.
    pub records: Batch,
    /// When observation began and ended, and what was known when.
    pub observation: Observation,
    /// What was found, joined.
    pub findings: Vec<Finding>,
    /// What findings ask for.
    pub actions: Vec<Action>,
    /// The thresholds of the detectors.
    pub thresholds: railtwin_diagnosis::Settings,
    /// Whether detectors looked.
    pub diagnosed: bool,
    /// Records of operations and messages that there were, kept or not.
    pub seen: [u64; 2],
    /// When the job began, and up to when it was replayed, in nanoseconds.
    pub span_ns: [u64; 2],
    /// Steps that ended.
    pub steps: u64,
    /// The row of the job, and since when it could not end, where the replay stands still.
    pub stop: Option<(usize, Stop)>,
    /// What queue pairs and ranks took.
    pub traffic: Traffic,
    /// The operations of one step.
    pub moment: Moment,
    /// Name of the engine that durations come from.
    pub source: &'static str,
    /// What people should know.
    pub warnings: Vec<String>,
}

/// Replays what the scenario asks for; none where it asks for nothing.
///
/// # Errors
/// What the replay says of a case that it cannot go through.
pub fn telemetry_of(resolved: &Resolved, simulation: &Simulation) -> Result<Option<TelemetryRun>, Error> {
    let Some(spec) = &resolved.scenario.telemetry else { return Ok(None) };
    let case = &resolved.case;
    let wanted = spec.job.as_deref();
    let job = case.work.jobs.iter().position(|job| wanted.is_none_or(|name| job.name == name));
    let Some(job) = job else {
        let name = wanted.unwrap_or_default();
        return Err(Error::Argument(format!("telemetry: no job is called `{name}`")));
    };
    let base = without_faults(case);
    let engine = engine_of(resolved);
    let log = base.as_ref().map(|base| engine.run(base, simulation.chosen));
    let log: &RunLog = log.as_ref().unwrap_or(&simulation.log);
    let durations = Durations::from_log(&case.work, job, log)?;
    let mut warnings = Vec::new();
    let rates = states::rates(base.as_ref().unwrap_or(case), case, simulation.chosen, &mut warnings);
    let settings = railtwin_telemetry::Settings {
        axes: spec.axes.clone(),
        messages: spec.messages,
        jitter: match spec.jitter {
            JitterSpec::Measured => Jitter::default(),
            JitterSpec::None => Jitter::NONE,
        },
        seed: case.seed,
    };
    let rhythm = Rhythm {
        counters: spec.counters.map(SimTime::seconds),
        probes: spec.probes.map(SimTime::seconds),
        asked_from: spec.probes.map(|_| 0.0),
    };
    let detectors = if spec.diagnose { railtwin_diagnosis::all_detectors() } else { Vec::new() };
    let watch = Watch::new(case, job, durations, rates, settings, rhythm, detectors)?.at(spec.detectors);
    let asked = u64::from(spec.steps.unwrap_or(case.work.jobs[job].steps));
    let mut told = watched(watch, (resolved, spec), asked, engine.name(), warnings);
    if told.steps < asked {
        told.stop = Some((job, stop_of(case, job, &told)));
    }
    Ok(Some(told))
}

/// What stopped a replay: the first fault of ranks that stays, else the last step that ended.
fn stop_of(case: &Case, job: usize, told: &TelemetryRun) -> Stop {
    let until = SimTime::from_ns(told.span_ns[1]);
    let stays = Stop::for_good(case, job).filter(|&at| at <= until);
    Stop { at: stays.unwrap_or(until), cause: Cause::Hung }
}

fn watched(
    mut watch: Watch<'_>,
    (resolved, spec): (&Resolved, &TelemetrySpec),
    steps: u64,
    source: &'static str,
    mut warnings: Vec<String>,
) -> TelemetryRun {
    let start_ns = watch.replay.now_ns();
    let mut records = Batch::default();
    let mut observation = Observation::from(start_ns);
    let mut traffic = Traffic::new(steps);
    let mut moment = Moment::default();
    let mut seen = [0; 2];
    let mut full = [false; 4];
    let mut ends_at = f64::INFINITY;
    while watch.replay.steps() < steps && watch.now < ends_at {
        let step = watch.replay.steps();
        let (progress, told) = watch.turn();
        if progress == Progress::Stuck && ends_at == f64::INFINITY {
            ends_at = watch.now + STUCK_S;
        }
        seen[0] += watch.batch.operations.len() as u64;
        seen[1] += watch.batch.messages.len() as u64;
        traffic.observe(&watch.directory, &watch.batch, step);
        moment.observe(&watch, step, watch.findings[told..].iter().any(Finding::accuses));
        keep(&mut records, &watch.batch, &mut full);
        observation.look(watch.batch.until_ns, &records, full);
    }
    for (name, _) in ["rank_operations", "messages", "counters", "probes"].iter().zip(full).filter(|f| f.1) {
        warnings.push(format!("the table {name} ends early: it holds {ROWS_MAX} rows at most"));
    }
    if watch.replay.is_stuck() && watch.replay.steps() < steps {
        warnings
            .push(format!("telemetry ends in step {}, in which the job stands still", watch.replay.steps()));
    }
    let findings = watch.joined();
    let safeguard = Safeguard::of_cluster(resolved.case.fabric.hosts().len());
    TelemetryRun {
        actions: actions_of(&findings, &watch.directory, &safeguard),
        span_ns: [start_ns, (watch.now * 1e9) as u64],
        steps: watch.replay.steps(),
        stop: None,
        directory: watch.directory,
        records,
        observation,
        findings,
        thresholds: spec.detectors,
        diagnosed: spec.diagnose,
        seen,
        traffic,
        moment,
        source,
        warnings,
    }
}

/// The case without anything wrong; none where nothing is.
fn without_faults(case: &Case) -> Option<Case> {
    let troubles = &case.packets.troubles;
    if case.faults.is_empty()
        && case.impairments.is_empty()
        && case.rank_faults.is_empty()
        && troubles.is_empty()
    {
        return None;
    }
    let mut base = case.clone();
    base.faults.clear();
    base.impairments.clear();
    base.rank_faults.clear();
    base.truths.clear();
    base.packets.troubles.clear();
    Some(base)
}

/// Adds the records of a batch to those that are kept, table by table while there is room.
fn keep(records: &mut Batch, batch: &Batch, full: &mut [bool; 4]) {
    let rows = [
        (records.operations.len(), batch.operations.len()),
        (records.messages.len(), batch.messages.len()),
        (records.counters.len(), batch.counters.len()),
        (records.probes.len(), batch.probes.len()),
    ];
    for (full, (had, more)) in full.iter_mut().zip(rows) {
        *full |= had + more > ROWS_MAX;
    }
    records.until_ns = batch.until_ns;
    if !full[0] {
        records.operations.append(&batch.operations);
    }
    if !full[1] {
        records.messages.append(&batch.messages);
    }
    if !full[2] {
        records.counters.append(&batch.counters);
    }
    if !full[3] {
        records.probes.append(&batch.probes);
    }
}

impl TelemetryRun {
    /// The tables of telemetry, and of findings where detectors looked.
    ///
    /// What controllers probed in the run stands behind the probes of the replay, whose time goes on beyond the run.
    pub fn tables(&self, case: &Case, log: &RunLog) -> Vec<Table> {
        let mut all = if log.surveys.is_empty() {
            let mut all = telemetry_tables::tables(&self.directory, &self.records, self.source);
            all.push(self.observation.table(self.source));
            all
        } else {
            let (mut directory, mut records) = (self.directory.clone(), self.records.clone());
            let mut observation = self.observation.clone();
            probe_tables::add(case, log, (&mut directory, &mut records, &mut observation));
            let mut all = telemetry_tables::tables(&directory, &records, self.source);
            all.push(observation.table(self.source));
            all
        };
        if self.diagnosed {
            all.extend(finding_tables::tables(&self.findings, &self.actions));
        }
        all
    }

    /// What was found, held against the faults of the case.
    pub fn figures(&self, case: &Case) -> Vec<Figure> {
        if !self.diagnosed {
            return Vec::new();
        }
        let accusing = self.findings.iter().filter(|finding| finding.accuses()).count();
        let found = self.findings.len() as f64;
        let mut figures = vec![
            declared::FINDINGS.figure(found, "of diagnosis in the telemetry of the run"),
            declared::ACCUSATIONS.figure(accusing as f64, "findings that name somebody and are no collision"),
        ];
        let fabric = Some(&*case.fabric);
        let places = railtwin_diagnosis::join::Places { directory: &self.directory, fabric };
        let begun: Vec<_> = case.truths.iter().filter(|truth| truth.from_ns < self.span_ns[1]).collect();
        if begun.is_empty() {
            return figures;
        }
        let (mut named, mut found) = (0_usize, None::<f64>);
        for truth in &begun {
            let later = self.findings.iter().filter(|finding| finding.at_ns >= truth.from_ns);
            let later: Vec<Finding> = later.cloned().collect();
            if let Some(verdict) = judge(&places, truth, &later).filter(|verdict| verdict.in_set) {
                named += 1;
                let after = verdict.found_ns as f64 / 1e9;
                found = Some(found.map_or(after, |found| found.max(after)));
            }
        }
        let share = named as f64 / begun.len() as f64;
        let note = "of the injected faults, those that an accusation names";
        figures.push(declared::TRUTH_IN_SET.figure(share, note));
        let note = "from a fault to its accusation; the last of several";
        let found = found.ok_or_else(|| "no accusation names an injected fault".to_owned());
        figures.push(declared::FOUND_AFTER.given(found, note));
        figures
    }
}
