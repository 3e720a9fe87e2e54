//! One trial: a job that is healthy, then has a fault, watched by detectors until they accuse somebody.
use railtwin_diagnosis::Detector;
use railtwin_flowsim::FlowEngine;
use railtwin_records::Finding;
use railtwin_telemetry::Jitter;
use railtwin_units::SimTime;
use railtwin_workload::Axis;

use super::bench::Bench;
use super::inject::{Injected, draw};
use super::verdict::{Verdict, accuses, judge};
use crate::error::Error;
use crate::watch::{Rhythm, Watch};

/// What detectors may look at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Signals {
    /// Who entered and left which operation when.
    Operations,
    /// And what queue pairs sent, with pairwise probes where a finding asks for them.
    Transport,
    /// And counters of NICs, ports, GPUs and processes.
    Counters,
}

impl Signals {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Operations, Self::Transport, Self::Counters];

    /// The name on the score card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Transport => "with transport",
            Self::Counters => "with counters",
        }
    }
}

/// When the fault begins, seconds: long enough for windows of healthy steps.
const FAULT_AT_S: f64 = 40.0;
/// Seconds after the fault in which it must be found.
const WITHIN_S: f64 = 240.0;
/// Seconds that go on after the first accusation, for other signals to join it.
const GRACE_S: f64 = 40.0;
/// How often the reachability mesh is probed.
const MESH_S: f64 = 5.0;
/// How often counters are read.
const COUNTERS_S: f64 = 10.0;

/// What a trial came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// What was injected.
    pub what: Injected,
    /// How much longer the job's steps took with it; infinite where it stood still.
    pub slowdown: f64,
    /// The verdict; none where nobody was accused.
    pub verdict: Option<Verdict>,
    /// What was found, joined.
    pub findings: Vec<Finding>,
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
    let from = SimTime::from_seconds(FAULT_AT_S);
    let Some(injection) = draw(&bench.case, what, &bench.used, from, seed) else { return Ok(None) };
    let case = injection.into_case(&bench.case);
    let engine = FlowEngine::default();
    // Switches and hosts have reacted to what is down within a second (docs/models/faults.md).
    let settled = SimTime::from_seconds(FAULT_AT_S + 1.0);
    let mut rates = vec![bench.rates.clone(), engine.edge_rates(&case, 0, settled)];
    rates[1].at = from;
    let settings = railtwin_telemetry::Settings {
        axes: vec![Axis::Dp],
        messages: signals >= Signals::Transport,
        jitter: Jitter::default(),
        seed,
    };
    let rhythm = Rhythm {
        counters: (signals >= Signals::Counters).then_some(COUNTERS_S),
        probes: (signals >= Signals::Transport).then_some(MESH_S),
        asked_from: FAULT_AT_S,
    };
    let mut watch = Watch::new(&case, 0, bench.durations.clone(), rates, settings, rhythm, detectors())?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut ends_at = FAULT_AT_S + WITHIN_S;
    while watch.now < ends_at {
        let stuck = watch.replay.is_stuck();
        let (_, told) = watch.turn();
        if !stuck {
            let steps = if watch.now < FAULT_AT_S { &mut before } else { &mut after };
            steps.push(watch.replay.last_step_ns());
        }
        if watch.findings[told..].iter().any(accuses) && watch.now >= FAULT_AT_S {
            ends_at = ends_at.min(watch.now + GRACE_S);
        }
    }
    let findings = watch.joined();
    let mean = |steps: &[u64]| steps.iter().sum::<u64>() as f64 / steps.len().max(1) as f64;
    let slowdown = if watch.replay.is_stuck() { f64::INFINITY } else { mean(&after) / mean(&before) - 1.0 };
    let verdict = judge(&watch.places(), &injection.truth, &findings);
    Ok(Some(Trial { what, slowdown, verdict, findings }))
}
