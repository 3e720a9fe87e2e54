//! Hours in which nothing is wrong: jitter, stalls of checkpoints, collisions with other jobs, and nobody to accuse.
use railtwin_diagnosis::join::{Places, join};
use railtwin_diagnosis::{Detector, Diagnosis, Settings};
use railtwin_records::{Batch, Directory, Finding, Syndrome};
use railtwin_telemetry::{CounterSettings, Counters, Jitter, Replay};
use railtwin_workload::Axis;

use super::bench::Bench;
use super::verdict::accuses;
use crate::error::Error;

/// What a run without faults came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Healthy {
    /// Simulated hours.
    pub hours: f64,
    /// Operation records that went through the detectors.
    pub operations: u64,
    /// Message records that did.
    pub messages: u64,
    /// Steps.
    pub steps: u64,
    /// Collisions told: they are there, and are no accusation.
    pub collisions: usize,
    /// Findings that accuse somebody: false alarms.
    pub accusations: Vec<Finding>,
}

/// Seconds between readings of counters.
const COUNTERS_S: f64 = 60.0;

/// Runs so many hours of the bench's job with all signals.
///
/// # Errors
/// What the replay says of a case that it cannot go through.
pub fn healthy(
    bench: &Bench,
    hours: f64,
    detectors: &dyn Fn() -> Vec<Box<dyn Detector>>,
) -> Result<Healthy, Error> {
    let mut directory = Directory::default();
    let settings = railtwin_telemetry::Settings {
        axes: vec![Axis::Dp],
        messages: true,
        jitter: Jitter::default(),
        seed: bench.case.seed,
    };
    let rates = vec![bench.rates.clone()];
    let mut replay = Replay::new(&bench.case, 0, bench.durations.clone(), rates, settings, &mut directory)?;
    let mut counters = Counters::new(&bench.case, &replay, CounterSettings::default(), &mut directory);
    let mut diagnosis = Diagnosis::with(Settings::default(), detectors());
    let fabric = Some(&*bench.case.fabric);
    let (mut batch, mut findings) = (Batch::default(), Vec::new());
    let (mut operations, mut messages, mut counters_at) = (0, 0, 0.0);
    let until_ns = (hours * 3600e9) as u64;
    while replay.now_ns() < until_ns {
        batch.clear();
        replay.step(&mut batch);
        operations += batch.operations.len() as u64;
        messages += batch.messages.len() as u64;
        let now = batch.until_ns as f64 / 1e9;
        if now >= counters_at {
            counters_at = now + COUNTERS_S;
            counters.read(&replay, batch.until_ns, &mut batch.counters);
        }
        diagnosis.observe(&directory, fabric, &batch, &mut findings);
    }
    let places = Places { directory: &directory, fabric };
    let joined = join(&places, &findings);
    let collisions = joined.iter().filter(|finding| finding.syndrome == Syndrome::Collision).count();
    let accusations = joined.into_iter().filter(accuses).collect();
    Ok(Healthy { hours, operations, messages, steps: replay.steps(), collisions, accusations })
}
