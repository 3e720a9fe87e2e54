//! One trial: a job that is healthy, then has a fault, watched by detectors until they accuse somebody.
use railtwin_diagnosis::Detector;
use railtwin_engine::{Case, EdgeRates};
use railtwin_flowsim::FlowEngine;
use railtwin_records::{Finding, Syndrome};
use railtwin_telemetry::{Collision, Jitter};
use railtwin_units::SimTime;
use railtwin_workload::Work;

use super::bench::Bench;
use super::inject::{Injected, Injection, draw};
use railtwin::Error;
use railtwin::watch::{Rhythm, Watch};
use railtwin_diagnosis::verdict::{TruthMatch, judge, judge_collision};

/// What detectors may look at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Signals {
    /// Who entered and left which operation when.
    Operations,
    /// And pairwise probes where a finding asks for them: nothing more that ranks would have to tell.
    Probes,
    /// And what queue pairs sent, and a mesh of pings.
    Transport,
    /// And counters of NICs, ports, GPUs and processes, and what ports hear of their neighbors.
    Counters,
}

impl Signals {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Operations, Self::Probes, Self::Transport, Self::Counters];

    /// The name on the score card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Probes => "with probes",
            Self::Transport => "with transport",
            Self::Counters => "with counters",
        }
    }
}

/// When the fault begins, seconds: long enough for windows of healthy steps.
pub(super) const FAULT_AT_S: f64 = 40.0;
/// Seconds after the fault in which it must be found.
pub(super) const WITHIN_S: f64 = 120.0;
/// Seconds that go on after the first accusation, for other signals to join it.
const GRACE_S: f64 = 40.0;
/// How often the reachability mesh is probed.
const MESH_S: f64 = 2.0;
/// How often counters are read.
const COUNTERS_S: f64 = 10.0;

/// What a trial came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// What was injected.
    pub what: Injected,
    /// How much longer the job's longest operation took with it; infinite where it stood still.
    pub slowdown: f64,
    /// The verdict; none where nobody was accused.
    pub verdict: Option<TruthMatch>,
    /// Whether it was told of: the truth was named, or a finding without suspects came after it.
    pub told: bool,
    /// What was found, joined.
    pub findings: Vec<Finding>,
}

/// When the fault of every trial begins.
pub fn fault_at() -> SimTime {
    SimTime::from_seconds(FAULT_AT_S)
}

/// Runs one trial. None where the case has no place for the fault.
///
/// # Errors
/// What the replay says of a case that it cannot go through.
pub fn trial(
    bench: &Bench,
    what: Injected,
    signals: Signals,
    seed: u64,
    detectors: &dyn Fn() -> Vec<Box<dyn Detector>>,
) -> Result<Option<Trial>, Error> {
    let from = fault_at();
    let Some(injection) = draw(bench, what, from, seed) else { return Ok(None) };
    trial_of(bench, what, &injection, signals, seed, detectors).map(Some)
}

/// Runs one trial of a fault that was drawn to begin at [`fault_at`].
///
/// # Errors
/// What the replay says of a case that it cannot go through.
pub fn trial_of(
    bench: &Bench,
    what: Injected,
    injection: &Injection,
    signals: Signals,
    seed: u64,
    detectors: &dyn Fn() -> Vec<Box<dyn Detector>>,
) -> Result<Trial, Error> {
    let (case, truth) = injection.on(bench)?;
    let rates = states(bench, &case);
    let slow = rates[1].clone();
    let settings = railtwin_telemetry::Settings {
        axes: bench.axes(),
        messages: signals >= Signals::Transport,
        jitter: Jitter::default(),
        seed,
    };
    let rhythm = Rhythm {
        counters: (signals >= Signals::Counters).then_some(COUNTERS_S),
        probes: (signals >= Signals::Transport).then_some(MESH_S),
        asked_from: (signals >= Signals::Probes).then_some(FAULT_AT_S),
    };
    let mut watch = Watch::new(&case, 0, bench.durations.clone(), rates, settings, rhythm, detectors())?;
    if let Some(&visit) = injection.visit() {
        watch.replay.add_collision(visit);
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut ends_at = FAULT_AT_S + WITHIN_S;
    while watch.now < ends_at {
        let stuck = watch.replay.is_stuck();
        let (_, told) = watch.turn();
        if !stuck {
            let steps = if watch.now < FAULT_AT_S { &mut before } else { &mut after };
            steps.push(watch.replay.last_step_ns());
        }
        // A visit that chance brings along is not what is looked for.
        let sought =
            |finding: &Finding| injection.visit().is_some() || finding.syndrome != Syndrome::Collision;
        let named =
            watch.findings[told..].iter().any(|finding| sought(finding) && !finding.suspects.is_empty());
        if named && watch.now >= FAULT_AT_S {
            ends_at = ends_at.min(watch.now + GRACE_S);
        }
    }
    let findings = watch.joined();
    let stuck = watch.replay.is_stuck();
    let mean = |steps: &[u64]| steps.iter().sum::<u64>() as f64 / steps.len().max(1) as f64;
    let of_step = (mean(&after) / mean(&before) - 1.0) * mean(&before) / 1e9;
    let slowdown = match (stuck, case.rank_faults.is_empty()) {
        (true, _) => f64::INFINITY,
        // What ranks wait for a late one, they wait within the operation.
        (false, false) => of_step / operation_s(&bench.rates, &bench.case, None),
        (false, true) => {
            let healthy = operation_s(&bench.rates, &bench.case, None);
            operation_s(&slow, &bench.case, injection.visit()) / healthy - 1.0
        }
    };
    let judge = if injection.visit().is_some() { judge_collision } else { judge };
    let verdict = judge(&watch.places(), &truth, &findings);
    let from_ns = fault_at().ps() / 1_000;
    let open = |finding: &Finding| finding.suspects.is_empty() && finding.at_ns >= from_ns;
    let told = verdict.is_some_and(|verdict| verdict.in_set) || findings.iter().any(open);
    Ok(Trial { what, slowdown, verdict, told, findings })
}

/// The network before the fault and with it.
pub(super) fn states(bench: &Bench, case: &Case) -> Vec<EdgeRates> {
    // Switches and hosts have reacted to what is down within a second (docs/models/faults.md).
    let settled = SimTime::from_seconds(FAULT_AT_S + 1.0);
    let mut rates = vec![bench.rates.clone(), FlowEngine::default().edge_rates(case, 0, settled)];
    rates[1].at = fault_at();
    rates
}

/// Seconds of the longest operation of a step by the rates of one state of the network, with another job's visit.
fn operation_s(rates: &EdgeRates, case: &Case, visit: Option<&Collision>) -> f64 {
    let plan = &case.work.jobs[0].plan;
    let met = |bundle: usize| {
        let visit = visit?;
        let rows = rates.rows_of(bundle).filter(|&row| rates.links_of(row).contains(&visit.link));
        Some(rows.map(|row| rates.share[row] / rates.rate[row] * visit.factor).fold(0.0, f64::max))
    };
    let of_bundle = |bundle: usize| rates.seconds_per_byte[bundle].max(met(bundle).unwrap_or(0.0));
    let seconds = plan.operations.iter().map(|operation| match operation.work {
        Work::Communicate { pattern, bytes } => {
            rates.bundles_of(pattern.index()).map(of_bundle).fold(0.0, f64::max) * bytes as f64
        }
        Work::Compute(_) => 0.0,
    });
    seconds.fold(0.0, f64::max)
}
