//! Who computes slower, from traces that hold computation: each rank beside its peers.
use std::collections::BTreeMap;

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::robust;
use railtwin_formats::telemetry::{ComputeTime, MegatronCompute};
use railtwin_records::{Component, Evidence, FaultKind, Finding, Suspect, Syndrome};

/// Share of steps in which a rank must be the slower one.
const STEADY: f64 = 0.75;
/// Fewest steps that tell steadiness.
const STEPS_MIN: usize = 8;
/// Fewest ranks among which whole traces are compared.
const TRACES_MIN: usize = 4;

/// Ranks whose forward and backward computation takes longer than that of the other ranks of their pipeline stage, and
/// notes on the stages.
///
/// A rank is slow when the median over steps of its time over that of its peers' median exceeds 1 by
/// [`Settings::slow_share`], and it is slower in three quarters of the steps. Stages are not compared as faults: they hold
/// other layers, and a note says how they differ.
pub fn of_megatron(rows: &[MegatronCompute], job: &str, settings: &Settings) -> (Vec<Finding>, Vec<String>) {
    // stage -> step -> rank -> nanoseconds
    let mut stages: BTreeMap<u32, BTreeMap<u64, BTreeMap<u32, f64>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.kind.ends_with("-compute")) {
        let step = stages.entry(row.stage).or_default().entry(row.step).or_default();
        *step.entry(row.rank).or_default() += row.duration_ns as f64;
    }
    let mut findings = Vec::new();
    let mut usual: BTreeMap<u32, f64> = BTreeMap::new();
    let mut worst = (0.0_f64, 0_u32);
    for (&stage, steps) in &stages {
        let mut ratios: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let mut all = Vec::new();
        for of_rank in steps.values() {
            all.extend(of_rank.values().copied());
            for (&rank, &own) in of_rank {
                let others = of_rank.iter().filter(|(other, _)| **other != rank);
                let mut others: Vec<f64> = others.map(|(_, time)| *time).collect();
                if let Some(peers) = robust::median(&mut others).filter(|time| *time > 0.0) {
                    ratios.entry(rank).or_default().push(own / peers);
                }
            }
        }
        usual.extend(robust::median(&mut all).map(|time| (stage, time)));
        for (rank, mut of_steps) in ratios {
            let slower = of_steps.iter().filter(|ratio| **ratio > 1.0 + settings.slow_share).count();
            let steps = of_steps.len();
            let Some(ratio) = robust::median(&mut of_steps) else { continue };
            if ratio - 1.0 > worst.0 {
                worst = (ratio - 1.0, rank);
            }
            let steady = slower as f64 >= STEADY * steps as f64 && steps >= STEPS_MIN;
            if steady && ratio > 1.0 + settings.slow_share {
                findings.push(slow(job, rank, stage, ratio, steps));
            }
        }
    }
    let mut notes = Vec::new();
    if let Some(stage) = usual.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(stage, _)| *stage) {
        let mut others: Vec<f64> =
            usual.iter().filter(|(other, _)| **other != stage).map(|(_, t)| *t).collect();
        if let Some(other) = robust::median(&mut others).filter(|time| *time > 0.0) {
            let share = 100.0 * (usual[&stage] / other - 1.0);
            notes.push(format!(
                "computation of a step takes longest in pipeline stage {stage}, by {share:.1} % over the other stages: \
                 that is how layers are split, and no fault of a component"
            ));
        }
        let (share, rank) = (100.0 * worst.0, worst.1);
        notes.push(format!(
            "the rank whose computation takes longest beside its stage is rank {rank}, by {share:.2} %; {:.0} % make a \
             finding",
            100.0 * settings.slow_share
        ));
    }
    (findings, notes)
}

fn slow(job: &str, rank: u32, stage: u32, ratio: f64, steps: usize) -> Finding {
    let confidence = 0.9;
    Finding {
        at_ns: 0,
        since_ns: 0,
        syndrome: Syndrome::NonCommunicationSlow,
        faults: vec![FaultKind::SlowGpu],
        suspects: vec![Suspect { component: Component::Rank(format!("{job}/{rank}")), share: confidence }],
        confidence,
        severity: (ratio - 1.0).clamp(0.0, 1.0),
        evidence: vec![Evidence {
            table: "computation",
            what: format!(
                "time of a step in computation, beside the other ranks of stage {stage}, median of {steps} steps"
            ),
            value: ratio,
            expected: 1.0,
            unit: "times",
        }],
        advice: "clocks and temperature of its GPU tell whether it is throttled".into(),
    }
}

/// Ranks whose kernels besides NCCL's take longer than those of most, from whole traces. Only ranks with about as many
/// kernels as most are compared: others do other work.
pub fn of_kineto(
    ranks: &[(u32, ComputeTime)],
    job: &str,
    settings: &Settings,
) -> (Vec<Finding>, Vec<String>) {
    let mut counts: Vec<f64> = ranks.iter().map(|(_, time)| time.kernels as f64).collect();
    let Some(usual) = robust::median(&mut counts).filter(|count| *count > 0.0) else {
        return (Vec::new(), Vec::new());
    };
    let alike: Vec<(u32, f64)> = ranks
        .iter()
        .filter(|(_, time)| (time.kernels as f64 / usual - 1.0).abs() < 0.1)
        .map(|(rank, time)| (*rank, time.total_ns as f64 / time.kernels as f64))
        .collect();
    if alike.len() < TRACES_MIN {
        let note = format!(
            "computation: traces of {} ranks with about as many kernels; from {TRACES_MIN} on they are compared",
            alike.len()
        );
        return (Vec::new(), vec![note]);
    }
    let mut values: Vec<f64> = alike.iter().map(|(_, mean)| *mean).collect();
    let Some((center, deviation)) = robust::spread(&mut values) else { return (Vec::new(), Vec::new()) };
    let limit = (settings.slow_share * center).max(settings.deviations * deviation);
    let late = alike.iter().filter(|(_, mean)| mean - center > limit);
    let finding = |&(rank, mean): &(u32, f64)| {
        let mut told = slow(job, rank, 0, mean / center, 1);
        told.confidence = 0.6;
        told.suspects[0].share = 0.6;
        told.evidence[0].what =
            format!("mean time of a kernel of computation beside that of {} ranks", alike.len());
        told
    };
    (late.map(finding).collect(), Vec::new())
}
