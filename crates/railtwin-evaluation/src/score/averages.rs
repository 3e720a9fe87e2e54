//! What averages over time hide: how far a slow rank stands out in what its NIC sends, by the width of samples.
//!
//! All ranks of a synchronous job send the same bytes in every step, and all steps take as long as those of the slowest
//! rank. So its NIC's mean rate is that of all; only within the step is it late.
use std::fmt::Write;

use railtwin_diagnosis::{averaged, robust, separation};
use railtwin_records::{Batch, Directory, FaultKind, NOT_YET};
use railtwin_scenario::{FaultMeasure, FaultSpec, FaultSubject};
use railtwin_telemetry::{Jitter, Replay};
use railtwin_units::SimTime;
use railtwin_workload::Axis;
use rayon::prelude::*;

use super::bench::Bench;
use super::inject::Injection;
use railtwin::Error;

/// How many times as long the slow rank computes: a table each.
pub const FACTORS: [f64; 3] = [1.02, 1.05, 1.1];
/// Widths of samples in milliseconds; the first is sampled, the others are means of it.
pub const WIDTHS_MS: [usize; 5] = [1, 10, 100, 1_000, 10_000];
/// Milliseconds of a stretch, the longest width: each gives one figure, so that one late step of a healthy rank is not
/// held against it for good.
const STRETCH_MS: usize = 10_000;
/// Stretches after the first, in which the job begins.
const STRETCHES: usize = 5;

/// How far ranks stand out at one width.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Separation {
    /// Width of a sample in milliseconds.
    pub width_ms: usize,
    /// Plain deviations by which the slow rank stands out, median over stretches.
    pub slow: f64,
    /// The same of the median healthy rank.
    pub healthy: f64,
    /// The same of the healthy rank that stands out most.
    pub most: f64,
}

/// What came of one slow rank.
#[derive(Clone, PartialEq, Debug)]
pub struct Averages {
    /// How many times as long it computes.
    pub factor: f64,
    /// Mean time of a step in seconds.
    pub step_s: f64,
    /// By width.
    pub rows: Vec<Separation>,
}

/// Simulates the bench's job with one GPU that computes `factor` times as long, and samples what each NIC sends: the
/// bytes of an operation, evenly while its rank is within. Clocks agree, or fine samples could not be laid side by
/// side; nobody writes checkpoints. Widths are milliseconds.
///
/// # Errors
/// What the replay says of a case that it cannot go through.
pub fn averages(bench: &Bench, factor: f64, widths: &[usize], seed: u64) -> Result<Averages, Error> {
    let slow = bench.ranks / 3;
    let rank = FaultSubject::Rank(format!("{}/{slow}", bench.case.work.jobs[0].name));
    let measure = FaultMeasure { factor: Some(factor), ..FaultMeasure::default() };
    let fault = FaultSpec { measure, ..FaultSpec::new(SimTime::ZERO, rank, FaultKind::SlowGpu) };
    let (case, _) = Injection::Fault(fault).on(bench)?;
    let jitter = Jitter { clock_offset: 0.0, clock_drift: 0.0, checkpoint_steps: 0, ..Jitter::default() };
    let settings = railtwin_telemetry::Settings { axes: vec![Axis::Dp], messages: false, jitter, seed };
    let mut directory = Directory::default();
    let rates = vec![bench.rates.clone()];
    let mut replay = Replay::new(&case, 0, bench.durations.clone(), rates, settings, &mut directory)?;
    let mut samples = vec![vec![0.0; STRETCH_MS * (STRETCHES + 1)]; bench.ranks as usize];
    let mut batch = Batch::default();
    while replay.now_ns() < (STRETCH_MS * (STRETCHES + 1)) as u64 * 1_000_000 {
        batch.clear();
        replay.step(&mut batch);
        let rows = &batch.operations;
        for row in (0..rows.len()).filter(|&row| rows.end_ns[row] != NOT_YET) {
            let bytes = directory.shapes[rows.shape[row] as usize].bytes as f64;
            spread(&mut samples[rows.rank[row] as usize], rows.enter_ns[row], rows.end_ns[row], bytes);
        }
    }
    let step_s = replay.now_ns() as f64 / 1e9 / replay.steps().max(1) as f64;
    let rows = widths.iter().map(|&width| at_width(&samples, slow as usize, width)).collect();
    Ok(Averages { factor, step_s, rows })
}

/// Adds bytes that go evenly between two moments to samples of a millisecond each.
fn spread(samples: &mut [f64], from_ns: u64, until_ns: u64, bytes: f64) {
    const MS: u64 = 1_000_000;
    let per_ns = bytes / (until_ns.saturating_sub(from_ns)).max(1) as f64;
    for ms in from_ns / MS..=until_ns / MS {
        let within = until_ns.min((ms + 1) * MS).saturating_sub(from_ns.max(ms * MS));
        if let Some(sample) = samples.get_mut(ms as usize) {
            *sample += per_ns * within as f64;
        }
    }
}

fn at_width(samples: &[Vec<f64>], slow: usize, width_ms: usize) -> Separation {
    let stretches: Vec<Vec<Vec<f64>>> = (1..=STRETCHES)
        .map(|stretch| {
            let span = stretch * STRETCH_MS..(stretch + 1) * STRETCH_MS;
            let cut: Vec<Vec<f64>> = samples.iter().map(|row| row[span.clone()].to_vec()).collect();
            averaged(&cut, width_ms)
        })
        .collect();
    let of = |rank: usize| {
        let mut all: Vec<f64> = stretches.iter().map(|stretch| separation(stretch, rank)).collect();
        robust::median(&mut all).unwrap_or(0.0)
    };
    let all: Vec<f64> = (0..samples.len()).into_par_iter().map(of).collect();
    let mut others: Vec<f64> =
        all.iter().enumerate().filter(|(rank, _)| *rank != slow).map(|(_, &value)| value).collect();
    let most = others.iter().copied().fold(0.0, f64::max);
    Separation { width_ms, slow: all[slow], healthy: robust::median(&mut others).unwrap_or(0.0), most }
}

/// The table as Markdown.
pub fn markdown(ranks: u32, found: &Averages) -> String {
    let Averages { factor, step_s, rows } = found;
    let mut text =
        format!("## One GPU of {ranks} takes {factor} times as long; a step takes {step_s:.2} s\n\n");
    let mut line = |words: String| writeln!(text, "{words}").expect("text grows");
    line(
        "| width of samples | slow rank stands out by | median healthy rank | most of a healthy rank |"
            .into(),
    );
    line("| ---: | ---: | ---: | ---: |".into());
    for row in rows {
        let width = match row.width_ms {
            ms if ms >= 1_000 => format!("{} s", ms / 1_000),
            ms => format!("{ms} ms"),
        };
        line(format!("| {width} | {:.1} | {:.1} | {:.1} |", row.slow, row.healthy, row.most));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spread_over_the_time_that_they_take() {
        let mut samples = vec![0.0; 4];
        spread(&mut samples, 500_000, 2_500_000, 8.0);
        assert_eq!(samples, [2.0, 4.0, 2.0, 0.0]);
        spread(&mut samples, 3_900_000, 4_100_000, 2.0);
        assert_eq!(samples[3], 1.0, "what comes after the samples is dropped");
    }

    #[test]
    fn what_fine_samples_show_goes_under_in_averages_over_steps() {
        let bench = Bench::of(128).unwrap().unwrap();
        let found = averages(&bench, 1.1, &[100, 10_000], 1).unwrap();
        let [fine, coarse] = found.rows[..] else { panic!("{found:?}") };
        assert!(found.step_s < 2.0, "{found:?}");
        assert!(fine.slow > 10.0 && fine.slow > 3.0 * fine.most, "{found:?}");
        assert!(coarse.slow < 2.0, "{found:?}");
    }
}
