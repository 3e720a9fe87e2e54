//! Figures of detectors: they are fed, and what they say is counted.
use railtwin_diagnosis::rules::{BufferAlarm, Limits, Pauses};
use railtwin_diagnosis::{Detector, Diagnosis, Settings};
use railtwin_records::directory::{Directory, EntityInfo};
use railtwin_records::{Batch, Component, Counter, FaultKind, Finding};
use railtwin_store::Figure;

use super::sweep::Set;
use crate::score::baselines::elastic;
use crate::score::bench::Bench;
use crate::score::detectors;
use crate::score::inject::Injected;
use crate::score::trial::{Signals, trial};

const MS: u64 = 1_000_000;

/// Meta RoCE, section 6.3.2: pauses of 1 to 400 ms, and shares of a buffer of 1 to 100 %, until something is told.
pub fn watchdogs() -> Vec<Figure> {
    let storm = |finding: &Finding| finding.faults.first() == Some(&FaultKind::PauseStorm);
    let lets_pass = (1..=400_u64).take_while(|&length| !paused(length).iter().any(storm)).count();
    let buffer = (1..=100_u32).take_while(|&percent| filled(f64::from(percent) / 100.0).is_empty()).count();
    vec![
        Figure::new("pause_let_pass", lets_pass as f64, "ms"),
        Figure::new("pause_told", (lets_pass + 1) as f64, "ms"),
        Figure::new("buffer_let_pass", buffer as f64, "%"),
        Figure::new("buffer_told", (buffer + 1) as f64, "%"),
    ]
}

/// What is found of a port that is read each millisecond and stands paused for so many of the second one.
fn paused(length: u64) -> Vec<Finding> {
    let readings = (0..=2_000_u64).map(|ms| {
        let paused = ms.saturating_sub(1_000).min(length);
        (ms * MS, Counter::PausedNs, (paused * MS) as f64)
    });
    fed(Box::new(Pauses::new(Limits::default())), Component::Cable("leaf-0:port-0".to_owned()), readings)
}

/// What is found of a switch that has used that share of its buffer at most.
fn filled(share: f64) -> Vec<Finding> {
    let readings =
        [0.1, share].into_iter().zip(0..).map(|(share, s)| (s * 1_000 * MS, Counter::BufferShare, share));
    fed(Box::new(BufferAlarm::new(Limits::default())), Component::Switch("leaf-0".to_owned()), readings)
}

fn fed(
    detector: Box<dyn Detector>,
    component: Component,
    readings: impl Iterator<Item = (u64, Counter, f64)>,
) -> Vec<Finding> {
    let entities = vec![EntityInfo { component, device: None, link: None }];
    let directory = Directory { entities, ..Directory::default() };
    let mut diagnosis = Diagnosis::with(Settings::default(), vec![detector]);
    let (mut batch, mut findings) = (Batch::default(), Vec::new());
    for (time_ns, counter, value) in readings {
        batch.clear();
        batch.until_ns = time_ns;
        batch.counters.push(time_ns, 0, counter, value);
        diagnosis.observe(&directory, None, &batch, &mut findings);
    }
    findings
}

/// Draws of each fault of [`response_time`].
const SEEDS: u64 = 5;

/// C4, section IV-B1: the longest time until a hang or a GPU error of a job of 128 ranks is found and located, whatever
/// signals there are, and until the elastic agent's timeout tells that the job stands still.
pub(super) fn response_time(set: &Set) -> Vec<Figure> {
    let bench =
        Bench::of(set.number("ranks", 128.0) as u32).ok().flatten().expect("a test resolves the bench");
    let (mut slowest, mut agent, mut located, mut trials) = (0.0_f64, 0.0_f64, 0, 0);
    for what in [Injected::Hang, Injected::GpuError] {
        for seed in 0..SEEDS {
            for signals in Signals::ALL {
                let done = trial(&bench, what, signals, seed, &detectors).ok().flatten();
                trials += 1;
                // Not found is found too late.
                let found = done.and_then(|trial| trial.verdict).filter(|verdict| verdict.top);
                located += u32::from(found.is_some());
                slowest = slowest.max(found.map_or(f64::INFINITY, |verdict| verdict.found_ns as f64 / 1e9));
            }
            agent = agent.max(elastic(&bench, what, seed).ok().flatten().unwrap_or(f64::INFINITY));
        }
    }
    vec![
        Figure::new("found_after_most", slowest, "s"),
        Figure::new("located_share", f64::from(located) / f64::from(trials), ""),
        Figure::new("elastic_timeout_most", agent, "s"),
    ]
}
