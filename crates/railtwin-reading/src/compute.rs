//! Who computes slower, from Kineto traces: each rank beside its peers.
use railtwin_diagnosis::Settings;
use railtwin_diagnosis::robust;
use railtwin_formats::telemetry::ComputeTime;
use railtwin_records::seen::ComputationSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

/// Fewest ranks among which whole traces are compared.
const TRACES_MIN: usize = 4;

fn slow(job: &str, rank: u32, ratio: f64, ranks: usize) -> Finding {
    let confidence = 0.6;
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::NonCommunicationSlow,
        faults: vec![FaultKind::SlowGpu],
        suspects: vec![Suspect { component: Component::Rank(format!("{job}/{rank}")), share: confidence }],
        confidence,
        severity: (ratio - 1.0).clamp(0.0, 1.0),
        cost: None,
        evidence: vec![Evidence::new(ComputationSeen::KernelMean { ranks }, ratio, 1.0)],
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
    let finding = |&(rank, mean): &(u32, f64)| slow(job, rank, mean / center, alike.len());
    (late.map(finding).collect(), Vec::new())
}
