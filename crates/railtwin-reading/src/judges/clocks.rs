//! GPUs whose clock is held down by heat, power or their board, by the reasons that they give themselves.
//!
//! A single reading suffices where the GPU gives its reason; a clock that is low for no reason needs several, which the rule
//! `gpu-health` waits for.
use std::collections::BTreeMap;

use railtwin_diagnosis::robust::median;
use railtwin_diagnosis::rules::Limits;
use railtwin_records::seen::CounterSeen;
use railtwin_records::{Component, Counter, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use super::view::{Judgement, RowsView};

/// Reasons that are faults, by the bits of NVML: slowdown by software for heat, by hardware for heat, by a power brake, and by
/// hardware for one of the two. Idle (1), set clocks (2), power cap (4), sync boost (16) and display (256) are normal.
const FAULTS: [(u64, &str); 4] = [
    (0x20, "heat (software)"),
    (0x40, "heat (hardware)"),
    (0x80, "a power brake"),
    (0x08, "hardware slowdown"),
];
/// Reasons that are heat.
const HEAT: u64 = 0x60;
/// The reason of a GPU without work.
const IDLE: u64 = 0x01;
/// Clocks below which no median is formed.
const PEERS: usize = 3;

/// The last readings of a GPU.
#[derive(Clone, Copy, Default)]
struct Gpu {
    reasons: Option<f64>,
    clock: Option<f64>,
    celsius: Option<f64>,
    time_ns: u64,
}

/// Findings about GPUs that slow down, or about the host of which most do.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let gpus = last_readings(view);
    let mut clocks: Vec<f64> = gpus.values().filter_map(|gpu| gpu.clock).collect();
    let usual = if clocks.len() >= PEERS { median(&mut clocks) } else { None };
    let limits = Limits::default();
    let slowed: Vec<(&Component, Finding)> = gpus
        .iter()
        .filter_map(|(component, gpu)| Some((*component, finding(component, gpu, usual, &limits)?)))
        .collect();
    let mut by_host: BTreeMap<&str, Vec<(&Component, Finding)>> = BTreeMap::new();
    for (component, finding) in slowed {
        by_host.entry(host_of(component)).or_default().push((component, finding));
    }
    let mut findings = Vec::new();
    for (host, of_host) in by_host {
        let all = gpus.keys().filter(|component| host_of(component) == host).count();
        let accused = of_host.iter().filter(|(_, finding)| finding.accuses()).count();
        // Two GPUs that overheat together have their cooling or power in common.
        if accused >= 2 && accused * 2 >= all {
            findings.extend(of_whole_host(host, of_host));
        } else {
            findings.extend(of_host.into_iter().map(|(_, finding)| finding));
        }
    }
    findings.into()
}

fn host_of(component: &Component) -> &str {
    component.name().split('/').next().unwrap_or_default()
}

fn last_readings<'a>(view: &'a RowsView<'_>) -> BTreeMap<&'a Component, Gpu> {
    let mut gpus: BTreeMap<&Component, Gpu> = BTreeMap::new();
    // Runs of railtwin have no reasons.
    if view.engine.is_some() {
        return gpus;
    }
    let counters = &view.batch.counters;
    for row in 0..counters.len() {
        let Some(info) = view.directory.entities.get(counters.entity[row] as usize) else { continue };
        if !matches!(info.component, Component::Gpu(_)) {
            continue;
        }
        let (time_ns, value) = (counters.time_ns[row], counters.value[row]);
        let gpu = gpus.entry(&info.component).or_default();
        match counters.counter[row] {
            Counter::ClockReasons => gpu.reasons = Some(value),
            Counter::GpuClockMhz => gpu.clock = Some(value),
            Counter::GpuTemperature => gpu.celsius = Some(value),
            _ => continue,
        }
        gpu.time_ns = gpu.time_ns.max(time_ns);
    }
    gpus
}

/// A finding about one GPU; none where it gives no reason that is a fault.
fn finding(component: &Component, gpu: &Gpu, usual: Option<f64>, limits: &Limits) -> Option<Finding> {
    let bits = gpu.reasons.filter(|bits| (0.0..1e15).contains(bits)).map(|bits| bits as u64);
    let named: Vec<&str> = FAULTS
        .iter()
        .filter(|(bit, _)| bits.is_some_and(|bits| bits & bit != 0))
        .map(|(_, name)| *name)
        .collect();
    let low = gpu.clock.zip(usual).map(|(clock, usual)| clock < usual * (1.0 - limits.clock_share));
    let is_hot = gpu.celsius.is_some_and(|celsius| celsius >= limits.hot_celsius);
    let confidence = match (named.is_empty(), low) {
        (false, Some(true)) => 0.85,
        (false, None) => 0.6,
        // It says so, and runs like the others.
        (false, Some(false)) => 0.45,
        // Without its reasons heat and a low clock together tell; an idle GPU is not hot.
        (true, Some(true)) if is_hot && bits.is_none() => 0.6,
        _ => return None,
    };
    if bits.is_some_and(|bits| bits & IDLE != 0) && !is_hot {
        return None;
    }
    let name = || component.name().to_owned();
    let mut evidence = Vec::new();
    if !named.is_empty() {
        let seen = CounterSeen::ClockReasons { gpu: name(), reasons: named.join(", ") };
        evidence.push(Evidence::new(seen, bits.unwrap_or(0) as f64, 0.0));
    }
    if let Some(clock) = gpu.clock {
        evidence.push(Evidence::new(CounterSeen::Clock { gpu: name() }, clock, usual.unwrap_or(clock)));
    }
    if let Some(celsius) = gpu.celsius {
        evidence.push(Evidence::new(CounterSeen::Temperature { gpu: name() }, celsius, limits.hot_celsius));
    }
    let is_heat = is_hot || bits.is_some_and(|bits| bits & HEAT != 0);
    let advice = if is_heat {
        "see fans, liquid cooling, thermal paste and the air around its host; take it out of the job until it is cool"
    } else {
        "see the power supplies and power cables of its host, and its power limits (nvidia-smi -q -d POWER)"
    };
    Some(Finding {
        at_ns: gpu.time_ns,
        since: Since::at(gpu.time_ns),
        syndrome: Syndrome::Counter,
        faults: vec![FaultKind::SlowGpu],
        suspects: vec![Suspect { component: component.clone(), share: 1.0 }],
        confidence,
        severity: gpu.clock.zip(usual).map_or(0.0, |(clock, usual)| (1.0 - clock / usual).clamp(0.0, 1.0)),
        cost: None,
        evidence,
        advice: advice.to_owned(),
    })
}

fn of_whole_host(host: &str, of_host: Vec<(&Component, Finding)>) -> Option<Finding> {
    let mut all = of_host.into_iter().map(|(_, finding)| finding);
    let mut whole = all.next()?;
    for finding in all {
        whole.confidence = whole.confidence.max(finding.confidence);
        whole.severity = whole.severity.max(finding.severity);
        whole.evidence.extend(finding.evidence.into_iter().take(1));
    }
    whole.evidence.truncate(8);
    whole.suspects = vec![Suspect { component: Component::Host(host.to_owned()), share: 1.0 }];
    Some(whole)
}
