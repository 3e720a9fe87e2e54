//! The second part of the score card: faults in packet runs, whose model the detectors do not share.
//!
//! The packet engine runs the job with the fault; ranks, queue pairs and ports tell what they did, and detectors at their
//! defaults read that. Nothing is drawn but the fault, who starts when, and how far clocks are off.
use railtwin_diagnosis::Detector;
use railtwin_diagnosis::wiring::WrongCables;
use railtwin_engine::{Case, Engine, RunLog};
use railtwin_fabric::LinkId;
use railtwin_flowsim::FlowEngine;
use railtwin_packetsim::PacketEngine;
use railtwin_records::Finding;
use railtwin_scenario::{FaultSpec, Scenario};
use railtwin_telemetry::{Jitter, Progress};
use railtwin_units::{SimTime, stream};
use railtwin_workload::{Axis, Work};
use rand::RngExt;
use rayon::prelude::*;

use super::broken::Broken;
use super::text::{TrialOutcome, head, line_of};
use super::trial::Signals;
use railtwin::Error;
use railtwin::Question;
use railtwin::telemetry_run::packets::PacketWatch;
use railtwin::wiring::plan_of;
use railtwin_diagnosis::verdict::{TruthMatch, judge};

const SCENARIO: (&str, &str) =
    ("packets-64.toml", include_str!("../../../../scenarios/score/packets-64.toml"));
/// Signals of a packet run: there is nobody to send probes that findings ask for.
pub const SIGNALS: [Signals; 3] = [Signals::Operations, Signals::Transport, Signals::Counters];
/// Share of a job's steps after which a fault begins, at some moment of the next step.
const BEGINS: f64 = 0.5;
/// Seconds for which a job that stands still is watched: twice what a hang takes to count as one.
const STUCK_S: f64 = 60.0;

/// The job without a fault.
#[derive(Debug)]
pub struct PacketBench {
    question: Question,
    scenario: Scenario,
    /// The case without faults.
    pub case: Case,
    /// What became of it.
    log: RunLog,
    /// Links that its queue pairs cross, ascending.
    used: Vec<LinkId>,
}

/// What came of one fault, or of none, for one set of signals.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketTrial {
    /// The fault; none of a healthy run.
    pub fault: Option<FaultSpec>,
    /// What counts of it.
    pub outcome: TrialOutcome,
    /// What was found, joined.
    pub findings: Vec<Finding>,
}

/// One row.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketRow {
    /// What is broken.
    pub what: Broken,
    /// What detectors looked at.
    pub signals: Signals,
    /// Its trials in the order of their seeds.
    pub trials: Vec<PacketTrial>,
}

/// Runs without a fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Quiet {
    /// What is told of them.
    pub name: &'static str,
    /// What was found in each, with all signals.
    pub runs: Vec<Vec<Finding>>,
    /// Steps of them together.
    pub steps: u64,
}

/// The card.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketCard {
    /// Ranks of the job.
    pub ranks: u32,
    /// Its rows.
    pub rows: Vec<PacketRow>,
    /// Runs without a fault.
    pub quiet: Vec<Quiet>,
}

impl PacketBench {
    /// The bench.
    ///
    /// # Errors
    /// What the scenario's own resolution says; none in a sound build.
    pub fn new() -> Result<Self, Error> {
        Self::of(SCENARIO.0, SCENARIO.1)
    }

    /// One of a scenario's own; its first job is looked at.
    ///
    /// # Errors
    /// What the scenario's resolution says.
    pub fn of(file: &str, text: &str) -> Result<Self, Error> {
        let question = Question::of_text(file, text, std::path::Path::new("."));
        let scenario = question.points()?.remove(0).scenario;
        let case = question.resolve(&scenario)?.case;
        let log = PacketEngine::default().run(&case, 0);
        let paths = FlowEngine::default().edge_rates(&case, 0, SimTime::ZERO);
        let mut used: Vec<LinkId> = paths.links.iter().map(|&link| LinkId(link)).collect();
        used.sort_unstable();
        used.dedup();
        Ok(Self { question, scenario, case, log, used })
    }

    /// When a fault begins: at some moment of the step after the middle one.
    fn begins(&self, seed: u64) -> SimTime {
        let job = &self.case.work.jobs[0];
        let step = (f64::from(job.steps) * BEGINS) as usize;
        let ends = |step: usize| self.step_end(&self.log, step).unwrap_or(SimTime::ZERO).ps();
        let (from, until) = (ends(step.saturating_sub(1)), ends(step));
        let part = stream::named(seed, "moment of a fault").random_range(0.0..1.0);
        SimTime::from_ps(from + (until.saturating_sub(from) as f64 * part) as u64)
    }

    fn step_end(&self, log: &RunLog, step: usize) -> Option<SimTime> {
        let job = &self.case.work.jobs[0];
        let length = job.plan.operations.len();
        let first = job.first_operation as usize + step * length;
        let ends = log.times.end.get(first..first + length)?;
        ends.iter().max().copied().filter(|&end| end != SimTime::NEVER)
    }

    /// The case with a fault, and another seed.
    fn with(
        &self,
        fault: Option<&FaultSpec>,
        seed: u64,
        change: impl Fn(&mut Scenario),
    ) -> Result<Case, Error> {
        let mut scenario = self.scenario.clone();
        scenario.seed = self.scenario.seed + seed;
        scenario.faults.extend(fault.cloned());
        change(&mut scenario);
        Ok(self.question.resolve(&scenario)?.case)
    }

    /// Seconds that the longest communication of each step took.
    fn operation_s(&self, log: &RunLog) -> Vec<f64> {
        let job = &self.case.work.jobs[0];
        let length = job.plan.operations.len();
        let talks: Vec<usize> = (0..length)
            .filter(|&row| matches!(job.plan.operations[row].work, Work::Communicate { .. }))
            .collect();
        let took = |step: usize| {
            let rows = talks.iter().map(|row| job.first_operation as usize + step * length + row);
            let all = rows.map(|row| match (log.times.start.get(row), log.times.end.get(row)) {
                (Some(&start), Some(&end)) if end != SimTime::NEVER => end.since(start).seconds(),
                _ => f64::INFINITY,
            });
            all.fold(0.0, f64::max)
        };
        (0..job.steps as usize).map(took).collect()
    }

    /// How much longer communications took from the step after `from` on than in the healthy run.
    fn slowdown(&self, log: &RunLog, from: SimTime) -> f64 {
        let (with, without) = (self.operation_s(log), self.operation_s(&self.log));
        if with.contains(&f64::INFINITY) {
            return f64::INFINITY;
        }
        let begun = (0..with.len()).position(|step| self.step_end(log, step).is_some_and(|end| end > from));
        let rows = begun.unwrap_or(0)..with.len();
        let sum = |of: &[f64]| of[rows.clone()].iter().sum::<f64>();
        sum(&with) / sum(&without) - 1.0
    }

    /// What detectors find in a run.
    fn found(
        &self,
        case: &Case,
        log: &RunLog,
        (signals, seed): (Signals, u64),
        detectors: Vec<Box<dyn Detector>>,
    ) -> Result<(Vec<Finding>, Option<TruthMatch>), Error> {
        let settings = railtwin_telemetry::Settings {
            axes: Axis::ALL.into_iter().filter(|axis| !matches!(axis, Axis::Tp | Axis::Compute)).collect(),
            messages: signals >= Signals::Transport,
            jitter: Jitter::default(),
            seed,
        };
        let counters = signals >= Signals::Counters;
        let mut detectors = detectors;
        if counters && !detectors.is_empty() {
            detectors.push(Box::new(WrongCables::new(plan_of(&self.case.fabric, &[]))));
        }
        let with = (detectors, railtwin_diagnosis::Settings::default());
        let mut watch = PacketWatch::new(case, (0, 0), log, &settings, counters, with)?;
        let mut ends_at = f64::INFINITY;
        while watch.now < ends_at {
            let Some((progress, _)) = watch.turn() else { break };
            if progress == Progress::Stuck && ends_at == f64::INFINITY {
                ends_at = watch.now + STUCK_S;
            }
        }
        let findings = watch.joined();
        let truths = case.truths.iter();
        // Two cables are wrong where their ends are swapped: naming either is right, and naming the other one too is no
        // accusation of others.
        let verdicts = truths.clone().filter_map(|truth| judge(&watch.places(), truth, &findings));
        let verdict = verdicts.max_by_key(|verdict| (verdict.in_set, verdict.top, verdict.exact));
        let names = |finding: &Finding| {
            let of = |truth| judge(&watch.places(), truth, std::slice::from_ref(finding));
            truths.clone().filter_map(of).any(|verdict| verdict.in_set)
        };
        let wrong = findings.iter().filter(|finding| finding.accuses() && !names(finding)).count();
        let verdict = verdict.map(|verdict| TruthMatch { wrong, ..verdict });
        Ok((findings, verdict))
    }
}

/// Scores all faults `seeds` times each, and as many runs without a fault. `progress` hears of what is done.
///
/// # Errors
/// What resolving the scenario with a fault says.
pub fn score_packets(
    bench: &PacketBench,
    (faults, seeds): (&[Broken], u32),
    detectors: &(dyn Fn() -> Vec<Box<dyn Detector>> + Sync),
    progress: &(dyn Fn(&str) + Sync),
) -> Result<PacketCard, Error> {
    let asked: Vec<(Broken, u64)> =
        faults.iter().flat_map(|&what| (0..u64::from(seeds)).map(move |seed| (what, seed))).collect();
    let done: Vec<Result<Option<Vec<PacketTrial>>, Error>> = asked
        .par_iter()
        .map(|&(what, seed)| {
            let trials = trials_of(bench, what, seed, detectors);
            progress(what.name());
            trials
        })
        .collect();
    let mut rows: Vec<PacketRow> = Vec::new();
    for (&(what, _), trials) in asked.iter().zip(done) {
        let Some(trials) = trials? else { continue };
        for (signals, trial) in SIGNALS.into_iter().zip(trials) {
            match rows.iter_mut().find(|row| (row.what, row.signals) == (what, signals)) {
                Some(row) => row.trials.push(trial),
                None => rows.push(PacketRow { what, signals, trials: vec![trial] }),
            }
        }
    }
    rows.sort_by_key(|row| (row.what, row.signals));
    let quiet = [("paths that are laid out", false), ("paths by hash, which crowd some cables", true)]
        .into_iter()
        .map(|(name, hashed)| quiet(bench, (name, hashed), seeds, detectors))
        .collect::<Result<_, Error>>()?;
    let ranks = bench.case.work.jobs[0].plan.ranks;
    Ok(PacketCard { ranks, rows, quiet })
}

fn trials_of(
    bench: &PacketBench,
    what: Broken,
    seed: u64,
    detectors: &dyn Fn() -> Vec<Box<dyn Detector>>,
) -> Result<Option<Vec<PacketTrial>>, Error> {
    let from = bench.begins(seed);
    let Some(fault) = what.draw(&bench.case.fabric, &bench.used, from, seed) else { return Ok(None) };
    let case = bench.with(Some(&fault), 0, |_| ())?;
    let log = PacketEngine::default().run(&case, 0);
    let slowdown = bench.slowdown(&log, fault.at);
    let trials = SIGNALS.map(|signals| {
        let (findings, verdict) = bench.found(&case, &log, (signals, seed), detectors())?;
        let from_ns = fault.at.ps() / 1_000;
        let open = |finding: &Finding| finding.suspects.is_empty() && finding.at_ns >= from_ns;
        let told = verdict.is_some_and(|verdict| verdict.in_set) || findings.iter().any(open);
        Ok(PacketTrial {
            fault: Some(fault.clone()),
            outcome: TrialOutcome { slowdown, verdict, told },
            findings,
        })
    });
    trials.into_iter().collect::<Result<Vec<_>, Error>>().map(Some)
}

fn quiet(
    bench: &PacketBench,
    (name, hashed): (&'static str, bool),
    seeds: u32,
    detectors: &(dyn Fn() -> Vec<Box<dyn Detector>> + Sync),
) -> Result<Quiet, Error> {
    let runs: Vec<Result<(Vec<Finding>, u64), Error>> = (0..u64::from(seeds))
        .into_par_iter()
        .map(|seed| {
            let case = bench.with(None, seed, |scenario| {
                if hashed {
                    scenario.routing.balancer = railtwin_engine::Balancer::Ecmp;
                }
            })?;
            let log = PacketEngine::default().run(&case, 0);
            let (findings, _) = bench.found(&case, &log, (Signals::Counters, seed), detectors())?;
            Ok((findings, u64::from(case.work.jobs[0].steps)))
        })
        .collect();
    let runs = runs.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let steps = runs.iter().map(|(_, steps)| steps).sum();
    Ok(Quiet { name, runs: runs.into_iter().map(|(findings, _)| findings).collect(), steps })
}

/// The card as Markdown.
pub fn markdown(card: &PacketCard) -> String {
    let mut text = format!("## {} ranks, packets\n\n{}", card.ranks, head());
    for row in &card.rows {
        let outcomes: Vec<TrialOutcome> = row.trials.iter().map(|trial| trial.outcome).collect();
        text += &line_of(row.what.name(), row.signals.name(), &outcomes, (1e3, " ms"));
    }
    for quiet in &card.quiet {
        let accusing: usize = quiet.runs.iter().flatten().filter(|finding| finding.accuses()).count();
        let told: usize = quiet.runs.iter().map(Vec::len).sum();
        text += &format!(
            "\nWithout a fault, {}: {} runs, {} steps; **{accusing} accusations**, {} findings that accuse nobody.\n",
            quiet.name,
            quiet.runs.len(),
            quiet.steps,
            told - accusing
        );
    }
    text
}
