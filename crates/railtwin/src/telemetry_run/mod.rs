//! What the ranks of a run record, and what diagnosis makes of it: `[telemetry]` of a scenario.
//!
//! Under packets it is what the devices of the run told. Under flows, and where more steps are asked for than packets
//! ran, the engine runs once without faults; from its durations the job is replayed rank by rank, with the rates of its
//! queue pairs in every state that faults bring the network into.
//!
//! * [`packets`]: what packets told; [`states`]: those states; [`traffic`]: what queue pairs and ranks of rings took, for the page;
//!   [`moment`]: the operations of one step; [`steps`]: its times by the state of faults; [`cost`]: what findings cost the
//!   job.
pub mod cost;
pub mod moment;
pub mod packets;
pub mod states;
pub mod steps;
pub mod traffic;

use std::collections::BTreeSet;

use railtwin_diagnosis::rules::actions::{Safeguard, actions_of};
use railtwin_diagnosis::wiring::WrongCables;
use railtwin_engine::{Case, RunLog};
use railtwin_records::{Action, Batch, Component, Directory, Finding, Observation, Table, Truth};
use railtwin_records::{finding_tables, telemetry_tables};
use railtwin_reliability::lifetime::{Finder, Lifetimes};
use railtwin_scenario::{JitterSpec, TelemetrySpec};
use railtwin_store::Figure;
use railtwin_telemetry::{Durations, Jitter, Progress};
use railtwin_units::SimTime;

use crate::engines::engine_of;
use crate::error::Error;
use crate::exposed::steps_of;
use crate::figures::declared::network as declared;
use crate::probe_tables;
use crate::question::Resolved;
use crate::simulate::Simulation;
use crate::stops::{Cause, Stop};
use crate::watch::{IDLE_S, Rhythm, Watch};
use crate::wiring::plan_of;
use cost::StepTimes;
use moment::{Moment, Turn};
use packets::PacketWatch;
use railtwin_diagnosis::verdict::judge;
use traffic::Traffic;

/// Rows of a table that are kept; detectors see the others too.
const ROWS_MAX: usize = 2_000_000;
/// Seconds for which a job that stands still is watched: twice what a hang takes to count as one.
const STUCK_S: f64 = 60.0;
/// The source of records that repeat durations of packets with rates and counters of flows.
const REPLAY: &str = "packet-replay";

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
    /// Begin and end of each of them, in nanoseconds.
    pub step_spans: Vec<(u64, u64)>,
    /// Operations of the steps asked for that never end in a replay; those of a run of packets are the run's own.
    pub unfinished: u64,
    /// The row of the job, and since when it could not end, where the replay stands still.
    pub stop: Option<(usize, Stop)>,
    /// What queue pairs and ranks took.
    pub traffic: Traffic,
    /// The operations of one step.
    pub moment: Moment,
    /// What the records are of: a run of packets, a replay of flows, or a replay of what packets took.
    pub source: &'static str,
    /// What people should know.
    pub warnings: Vec<String>,
}

/// Replays what the scenario asks for; none where it asks for nothing. Of a job that was followed through its faults
/// (`life`) that is one of the times that its processes ran.
///
/// # Errors
/// What the replay says of a case that it cannot go through; [`Error::Argument`] where no job has the name.
pub fn telemetry_of(
    resolved: &Resolved,
    simulation: &Simulation,
    life: Option<&Lifetimes>,
) -> Result<Option<TelemetryRun>, Error> {
    let Some(spec) = &resolved.scenario.telemetry else { return Ok(None) };
    let case = &resolved.case;
    let wanted = spec.job.as_deref();
    let job = case.work.jobs.iter().position(|job| wanted.is_none_or(|name| job.name == name));
    let Some(job) = job else {
        let name = wanted.unwrap_or_default();
        let times = life.map(|life| life.lives[life.shown].standstills.iter());
        let times = times.map_or(0, |all| all.filter(|one| one.restarted.is_some()).count());
        return Err(Error::Argument(format!(
            "no job is called `{name}`: the first started again {times} times"
        )));
    };
    let settings = railtwin_telemetry::Settings {
        axes: spec.axes.clone(),
        messages: spec.messages,
        jitter: match spec.jitter {
            JitterSpec::Measured => Jitter::default(),
            JitterSpec::None => Jitter::NONE,
        },
        seed: case.seed,
    };
    let simulated = u64::from(case.work.jobs[job].steps);
    let stood_still = life.is_some_and(|life| stood_still(case, job, life));
    let asked = asked(case, (job, simulation), spec, stood_still);
    let of_packets = simulation.log.packets.as_ref().is_some_and(|packets| packets.records.is_some());
    let mut told = if of_packets && asked <= simulated {
        told_by_packets((resolved, spec), (job, simulation), &settings, asked)?
    } else {
        replayed((resolved, spec), (job, simulation), settings, asked)?
    };
    if told.steps < asked {
        let stop = stop_of(case, job, &told);
        told.stop = Some((job, stop)).filter(|_| stop.at < case.work.jobs[job].until);
    }
    Ok(Some(told))
}

/// Whether processes of a followed job were ended because they stood still, and not while they were at work.
fn stood_still(case: &Case, job: usize, life: &Lifetimes) -> bool {
    let next = |row: &usize| case.work.jobs[*row].goes_on_as.map(|row| row as usize);
    let Some(number) = std::iter::successors(Some(0), next).position(|row| row == job) else { return false };
    let standstill = life.lives[life.shown].standstills.get(number);
    standstill.is_some_and(|one| one.finder != Finder::Controller)
}

/// Steps that are to be told of: as many as there are, or were asked for; of a job whose processes were ended no more than
/// ended before, and the one in which they stood still.
fn asked(
    case: &Case,
    (job, simulation): (usize, &Simulation),
    spec: &TelemetrySpec,
    stood_still: bool,
) -> u64 {
    let asked = u64::from(spec.steps.unwrap_or(case.work.jobs[job].steps));
    let goes_on = case.work.jobs[job].goes_on_as.is_some();
    if !stood_still && !goes_on && !Stop::was_asked_for(case, job, &simulation.log) {
        return asked;
    }
    let ended = steps_of(&case.work.jobs[job], &simulation.log.times).len() as u64;
    asked.min(ended + u64::from(stood_still))
}

/// Seconds up to which a job is watched that stands still from `now` on: as long as it takes to notice, and not beyond
/// the end of its processes.
fn watched_until(case: &Case, job: usize, now: f64) -> f64 {
    let until = case.work.jobs[job].until;
    let end = if until < SimTime::NEVER { until.seconds() } else { f64::INFINITY };
    // The last second of standing still lies within that time, too.
    (now + STUCK_S).min(end - IDLE_S).max(now)
}

/// The job gone through rank by rank, with the durations of a run without faults.
fn replayed(
    (resolved, spec): (&Resolved, &TelemetrySpec),
    (job, simulation): (usize, &Simulation),
    settings: railtwin_telemetry::Settings,
    asked: u64,
) -> Result<TelemetryRun, Error> {
    let case = &resolved.case;
    let base = states::without_faults(case);
    let engine = engine_of(resolved);
    let log = base.as_ref().map(|base| engine.run(base, simulation.chosen));
    let log: &RunLog = log.as_ref().unwrap_or(&simulation.log);
    let durations = Durations::from_log(&case.work, job, log)?;
    let mut warnings = Vec::new();
    let of_packets = log.packets.is_some();
    if of_packets {
        warnings.push(format!(
            "telemetry of {asked} steps repeats the last of {} that packets ran: rates of queue pairs, counters and \
             what faults do to them are those of flows",
            case.work.jobs[job].steps
        ));
    }
    let rates = states::rates(base.as_ref().unwrap_or(case), case, simulation.chosen, &mut warnings);
    let rhythm = Rhythm {
        counters: spec.counters.map(SimTime::seconds),
        probes: spec.probes.map(SimTime::seconds),
        asked_from: spec.probes.map(|_| 0.0),
    };
    let watch = Watch::new(case, job, durations, rates, settings, rhythm, detectors_of(resolved, spec))?;
    let source = if of_packets { REPLAY } else { engine.name() };
    Ok(watched(watch.at(spec.detectors), (resolved, spec, job), asked, source, warnings))
}

fn detectors_of(resolved: &Resolved, spec: &TelemetrySpec) -> Vec<Box<dyn railtwin_diagnosis::Detector>> {
    if !spec.diagnose {
        return Vec::new();
    }
    let mut all = railtwin_diagnosis::all_detectors();
    if spec.counters.is_some() {
        let plan = plan_of(&resolved.case.fabric, &resolved.scenario.faults);
        all.push(Box::new(WrongCables::new(plan)));
    }
    all
}

/// What the devices of a packet run told.
fn told_by_packets(
    (resolved, spec): (&Resolved, &TelemetrySpec),
    (job, simulation): (usize, &Simulation),
    settings: &railtwin_telemetry::Settings,
    asked: u64,
) -> Result<TelemetryRun, Error> {
    let (case, log) = (&resolved.case, &simulation.log);
    let which = (job, simulation.chosen);
    let counters = spec.counters.is_some();
    let with = (detectors_of(resolved, spec), spec.detectors);
    let mut watch = PacketWatch::new(case, which, log, settings, counters, with)?;
    let mut gathered = Gathered::from(watch.told.start_ns(), asked);
    if spec.probes.is_some() {
        gathered.warnings.push(
            "telemetry.probes: no pings are told: packets carry those that controllers send (control.probes), and what \
             findings ask for comes too late for a run that is over"
                .to_owned(),
        );
    }
    let mut ends_at = f64::INFINITY;
    while watch.told.steps() < asked || ends_at == f64::INFINITY && !watch.told.is_stuck() {
        let step = watch.told.steps().min(asked.saturating_sub(1));
        let Some((progress, new)) = watch.turn() else { break };
        if progress == Progress::Stuck && ends_at == f64::INFINITY {
            ends_at = watched_until(case, job, watch.now);
        }
        let accused = watch.findings[new..].iter().any(Finding::accuses);
        let host_clock = |rank, at_ns| watch.told.host_clock(rank, at_ns);
        let turn = Turn {
            batch: &watch.batch,
            last_step_ns: watch.told.last_step_ns(),
            ranks: watch.directory.ranks.len(),
            host_clock: &host_clock,
        };
        gathered.take(&watch.directory, &turn, step, accused);
        if watch.now >= ends_at {
            break;
        }
    }
    let findings = watch.joined();
    let (steps, stuck) = (watch.told.steps(), watch.told.is_stuck());
    let ended = steps_of(&case.work.jobs[job], &log.times);
    let ns = |at: SimTime| at.ps() / 1_000;
    gathered.steps = ended.iter().take(steps as usize).map(|step| (ns(step.1), ns(step.2))).collect();
    let span_ns = [watch.told.start_ns(), (watch.now * 1e9) as u64];
    Ok(gathered.done(
        (resolved, spec),
        watch.directory,
        findings,
        (steps, stuck && steps < asked),
        span_ns,
        "packet",
    ))
}

/// What stopped a replay: the first fault of ranks that stays, else the last step that ended.
fn stop_of(case: &Case, job: usize, told: &TelemetryRun) -> Stop {
    let until = SimTime::from_ns(told.span_ns[1]);
    let stays = Stop::for_good(case, job).filter(|&at| at <= until);
    Stop { at: stays.unwrap_or(until), cause: Cause::Hung }
}

/// What is kept of a job while it is gone through.
struct Gathered {
    records: Batch,
    observation: Observation,
    traffic: Traffic,
    moment: Moment,
    seen: [u64; 2],
    full: [bool; 4],
    /// Begins and ends of the steps that ended.
    steps: Vec<(u64, u64)>,
    warnings: Vec<String>,
}

impl Gathered {
    fn from(start_ns: u64, steps: u64) -> Self {
        Self {
            records: Batch::default(),
            observation: Observation::from(start_ns),
            traffic: Traffic::new(steps),
            moment: Moment::default(),
            seen: [0; 2],
            full: [false; 4],
            steps: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn take(&mut self, directory: &Directory, turn: &Turn<'_>, step: u64, accused: bool) {
        let batch = turn.batch;
        self.seen[0] += batch.operations.len() as u64;
        self.seen[1] += batch.messages.len() as u64;
        self.traffic.observe(directory, batch, step);
        self.moment.observe(turn, step, accused);
        keep(&mut self.records, batch, &mut self.full);
        self.observation.look(batch.until_ns, &self.records, self.full);
    }

    fn done(
        mut self,
        (resolved, spec): (&Resolved, &TelemetrySpec),
        directory: Directory,
        mut findings: Vec<Finding>,
        (steps, stuck): (u64, bool),
        span_ns: [u64; 2],
        source: &'static str,
    ) -> TelemetryRun {
        let names = ["rank_operations", "messages", "counters", "probes"];
        for (name, _) in names.iter().zip(self.full).filter(|full| full.1) {
            self.warnings.push(format!("the table {name} ends early: it holds {ROWS_MAX} rows at most"));
        }
        if stuck {
            self.warnings.push(format!("telemetry ends in step {steps}, in which the job stands still"));
        }
        StepTimes::new(self.steps.clone(), stuck.then_some(span_ns[1])).price(&mut findings);
        let safeguard = Safeguard::of_cluster(resolved.case.fabric.hosts().len());
        TelemetryRun {
            actions: actions_of(&findings, &directory, &safeguard),
            span_ns,
            steps,
            step_spans: self.steps,
            unfinished: 0,
            stop: None,
            directory,
            records: self.records,
            observation: self.observation,
            findings,
            thresholds: spec.detectors,
            diagnosed: spec.diagnose,
            seen: self.seen,
            traffic: self.traffic,
            moment: self.moment,
            source,
            warnings: self.warnings,
        }
    }
}

fn watched(
    mut watch: Watch<'_>,
    (resolved, spec, job): (&Resolved, &TelemetrySpec, usize),
    steps: u64,
    source: &'static str,
    warnings: Vec<String>,
) -> TelemetryRun {
    let case = &resolved.case;
    let start_ns = watch.replay.now_ns();
    let mut gathered = Gathered { warnings, ..Gathered::from(start_ns, steps) };
    let mut ends_at = f64::INFINITY;
    while watch.replay.steps() < steps && watch.now < ends_at {
        let (step, begin_ns) = (watch.replay.steps(), (watch.now * 1e9) as u64);
        let (progress, told) = watch.turn();
        if watch.replay.steps() > step {
            gathered.steps.push((begin_ns, watch.batch.until_ns));
        }
        if progress == Progress::Stuck && ends_at == f64::INFINITY {
            ends_at = watched_until(case, job, watch.now);
        }
        let accused = watch.findings[told..].iter().any(Finding::accuses);
        let host_clock = |rank, at_ns| watch.replay.host_clock(rank, at_ns);
        let turn = Turn {
            batch: &watch.batch,
            last_step_ns: watch.replay.last_step_ns(),
            ranks: watch.directory.ranks.len(),
            host_clock: &host_clock,
        };
        gathered.take(&watch.directory, &turn, step, accused);
    }
    let findings = watch.joined();
    let stuck = watch.replay.is_stuck() && watch.replay.steps() < steps;
    let ended = (watch.replay.steps(), stuck);
    let span_ns = [start_ns, (watch.now * 1e9) as u64];
    let unfinished = watch.replay.unended_of(steps);
    let done = gathered.done((resolved, spec), watch.directory, findings, ended, span_ns, source);
    TelemetryRun { unfinished, ..done }
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

    /// Whether a fault is in a host that has no rank of the job.
    fn is_of_others(
        &self,
        case: &Case,
        places: &railtwin_diagnosis::join::Places<'_>,
        truth: &Truth,
    ) -> bool {
        let Directory { ranks, hosts, .. } = &self.directory;
        let own: BTreeSet<&str> = ranks.iter().map(|rank| hosts[rank.host as usize].name.as_str()).collect();
        let all = (0..case.fabric.hosts().len()).map(|host| format!("host-{host}"));
        let mut others = all.filter(|host| !own.contains(host.as_str()));
        others.any(|host| places.within(&truth.component, &Component::Host(host)))
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
        figures.extend(steps::figures(self.span_ns[1], &self.step_spans, &case.truths));
        let fabric = Some(&*case.fabric);
        let places = railtwin_diagnosis::join::Places { directory: &self.directory, fabric };
        let [from_ns, until_ns] = self.span_ns;
        let holds = |truth: &&Truth| truth.from_ns < until_ns && truth.until_ns > from_ns;
        // What broke before is nothing to a job without the host that it is in.
        let met = |truth: &&Truth| truth.from_ns >= from_ns || !self.is_of_others(case, &places, truth);
        let begun: Vec<&Truth> = case.truths.iter().filter(holds).filter(met).collect();
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
