//! The score card of the detectors: faults injected by lot into simulated jobs, and what detectors say of them.
//!
//! * [`inject`]: what is injected; [`bench`]: the job that it is injected into.
//! * [`mod@trial`]: one fault, one job, one set of signals; [`verdict`]: whether findings name the truth.
//! * [`probe`]: pairwise probes that findings ask for.
//! * [`mod@packets`]: the second part of the card, on packet runs; [`broken`]: what is broken in them.
//! * [`files`]: the third part: judges of files, on files that the ranks of the job would leave.
//! * [`healthy`]: hours without a fault, in which nobody may be accused.
//! * [`mod@curve`]: sensitivity against false alarms over a row of settings.
//! * [`text`], [`curve_text`]: both as Markdown.
//! * [`errors`]: the four causes behind one error; [`baselines`]: what stands beside our detectors; [`averages`]: what
//!   averages over time hide.
pub mod averages;
pub mod baselines;
pub mod bench;
pub mod broken;
pub mod cost;
pub mod curve;
pub mod curve_text;
pub mod errors;
pub mod files;
pub mod healthy;
pub mod inject;
pub mod packets;
pub mod text;
pub mod trial;

use railtwin_diagnosis::Detector;
use rayon::prelude::*;

use bench::Bench;
use healthy::Healthy;
use inject::Injected;
use railtwin::Error;
use trial::{Signals, Trial, trial};

/// What is scored.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Numbers of ranks, of [`Bench::sizes`].
    pub ranks: Vec<u32>,
    /// Draws of each fault.
    pub seeds: u32,
    /// Hours without a fault.
    pub healthy_hours: f64,
    /// Faults; all of them where none is named.
    pub faults: Vec<Injected>,
}

/// One row: one kind of fault, one set of signals.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// What was injected.
    pub what: Injected,
    /// What detectors looked at.
    pub signals: Signals,
    /// Its trials in the order of their seeds.
    pub trials: Vec<Trial>,
}

/// The card of one number of ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Card {
    /// Ranks.
    pub ranks: u32,
    /// Its rows.
    pub rows: Vec<Row>,
    /// The run without faults; none where no hours are asked for.
    pub healthy: Option<Healthy>,
}

/// All detectors that are scored.
pub fn detectors() -> Vec<Box<dyn Detector>> {
    railtwin_diagnosis::all_detectors()
}

/// Scores one number of ranks. `progress` hears of every trial that is done.
///
/// # Errors
/// What resolving or replaying the scenario says.
pub fn score(options: &Options, ranks: u32, progress: &(dyn Fn(&str) + Sync)) -> Result<Option<Card>, Error> {
    score_with(options, ranks, &detectors, progress)
}

/// Scores other detectors in the same way.
///
/// # Errors
/// What resolving or replaying the scenario says.
pub fn score_with(
    options: &Options,
    ranks: u32,
    detectors: &(dyn Fn() -> Vec<Box<dyn Detector>> + Sync),
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Option<Card>, Error> {
    let Some(bench) = Bench::of(ranks)? else { return Ok(None) };
    let faults = if options.faults.is_empty() { &Injected::ALL[..] } else { &options.faults };
    let asked: Vec<(Injected, Signals, u64)> = faults
        .iter()
        .flat_map(|&what| Signals::ALL.map(|signals| (what, signals)))
        .flat_map(|(what, signals)| (0..options.seeds).map(move |seed| (what, signals, u64::from(seed))))
        .collect();
    let done: Vec<Result<Option<Trial>, Error>> = asked
        .par_iter()
        .map(|&(what, signals, seed)| {
            let done = trial(&bench, what, signals, seed, detectors);
            progress(what.name());
            done
        })
        .collect();
    let mut rows: Vec<Row> = Vec::new();
    for ((what, signals, _), trial) in asked.into_iter().zip(done) {
        let Some(trial) = trial? else { continue };
        match rows.last_mut().filter(|row| (row.what, row.signals) == (what, signals)) {
            Some(row) => row.trials.push(trial),
            None => rows.push(Row { what, signals, trials: vec![trial] }),
        }
    }
    let healthy = (options.healthy_hours > 0.0)
        .then(|| healthy::healthy(&bench, options.healthy_hours, detectors))
        .transpose()?;
    Ok(Some(Card { ranks, rows, healthy }))
}
