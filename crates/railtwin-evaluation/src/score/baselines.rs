//! What clusters have without detectors, beside which ours stand: ranking ranks by kernel time, and the timeout of the
//! elastic agent.
use railtwin_diagnosis::rules::{ElasticTimeout, Limits};
use railtwin_diagnosis::{Detector, Diagnosis, KernelTime, Settings, robust};
use railtwin_records::{Batch, Directory};
use railtwin_telemetry::{Jitter, Progress, Replay};
use railtwin_workload::Axis;

use super::bench::Bench;
use super::inject::{Injected, draw};
use super::trial::fault_at;
use railtwin::Error;

/// One baseline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Baseline {
    /// Ranks by the time of their collective kernels.
    KernelTime,
    /// No operation has ended for half an hour.
    ElasticTimeout,
}

impl Baseline {
    /// Both.
    pub const ALL: [Self; 2] = [Self::KernelTime, Self::ElasticTimeout];

    /// The name above its card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KernelTime => "ranking by kernel time",
            Self::ElasticTimeout => "timeout of the elastic agent",
        }
    }

    /// It alone, as a set of detectors.
    pub fn detectors(self) -> Vec<Box<dyn Detector>> {
        match self {
            Self::KernelTime => vec![Box::new(KernelTime::default())],
            Self::ElasticTimeout => vec![Box::new(ElasticTimeout::new(Limits::default()))],
        }
    }
}

/// Seconds that a job is watched for the elastic agent's timeout.
const WATCHED_S: u64 = 3_600;

/// Seconds from a fault that stops the job until the elastic agent's timeout tells of it. None where it does not within
/// an hour, or the case has no place for the fault.
///
/// # Errors
/// What the replay says of a case that it cannot go through.
pub fn elastic(bench: &Bench, what: Injected, seed: u64) -> Result<Option<f64>, Error> {
    let Some(injection) = draw(bench, what, fault_at(), seed) else { return Ok(None) };
    let (case, _) = injection.on(bench)?;
    let mut directory = Directory::default();
    let settings = railtwin_telemetry::Settings {
        axes: vec![Axis::Dp],
        messages: false,
        jitter: Jitter::default(),
        seed,
    };
    let rates = vec![bench.rates.clone()];
    let mut replay = Replay::new(&case, 0, bench.durations.clone(), rates, settings, &mut directory)?;
    let mut diagnosis = Diagnosis::with(Settings::default(), Baseline::ElasticTimeout.detectors());
    let (mut batch, mut findings) = (Batch::default(), Vec::new());
    let fault_ns = fault_at().ps() / 1_000;
    let until_ns = fault_ns + WATCHED_S * 1_000_000_000;
    let mut stuck = false;
    while !stuck && replay.now_ns() < until_ns {
        batch.clear();
        stuck = replay.step(&mut batch) == Progress::Stuck;
        diagnosis.observe(&directory, None, &batch, &mut findings);
    }
    let mut now_ns = replay.now_ns();
    while findings.is_empty() && now_ns < until_ns {
        now_ns += 1_000_000_000;
        diagnosis.wait_until(&directory, None, now_ns, &mut findings);
    }
    Ok(findings.first().map(|finding| finding.at_ns.saturating_sub(fault_ns) as f64 / 1e9))
}

/// What the elastic agent's timeout says of faults that stop the job: its median time over `seeds` draws of each.
///
/// # Errors
/// What replaying the scenario says.
pub fn elastic_text(bench: &Bench, faults: &[Injected], seeds: u32) -> Result<String, Error> {
    let mut text = String::new();
    for &what in faults.iter().filter(|what| what.stops()) {
        let mut seconds = Vec::new();
        for seed in 0..u64::from(seeds) {
            seconds.extend(elastic(bench, what, seed)?);
        }
        let told = seconds.len();
        let after = robust::median(&mut seconds).map_or("–".to_owned(), |median| format!("{median:.0} s"));
        text += &format!("- {}: told in {told} of {seeds}, after {after}; it names nobody.\n", what.name());
    }
    Ok(text)
}
