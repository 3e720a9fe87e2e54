//! GPUs that say what is wrong with them: ECC, NVLink, Xid, a clock below that of their peers.
use std::collections::BTreeMap;

use railtwin_records::seen::{CounterSeen, Period};
use railtwin_records::{Batch, Component, Counter, Directory, Evidence, FaultKind, Finding, Since, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use crate::robust::spread;
use crate::rules::limits::Limits;
use crate::rules::place::{host_of, suspects};
use crate::rules::told::Told;
use crate::rules::track::{Gauge, Growth, component_of, outliers};
use crate::rules::xid::{Xid, xid_meaning};

/// Tells GPUs in trouble.
#[derive(Debug)]
pub struct GpuHealth {
    limits: Limits,
    ecc: Growth,
    nvlink: Growth,
    xid: Gauge,
    clock: Gauge,
    low: Vec<u32>,
    /// Between which readings of its clock each became low.
    low_since: Vec<Since>,
    clock_read: bool,
    temperature: Gauge,
    told: Told,
}

impl GpuHealth {
    /// At the given limits.
    pub fn new(limits: Limits) -> Self {
        let growth = || Growth::new(limits.window_ns);
        Self {
            limits,
            ecc: growth(),
            nvlink: growth(),
            xid: Gauge::default(),
            clock: Gauge::default(),
            low: Vec::new(),
            low_since: Vec::new(),
            clock_read: false,
            temperature: Gauge::default(),
            told: Told::default(),
        }
    }
}

/// Topics, so that one GPU can have several findings.
const ECC: u64 = 1;
const NVLINK: u64 = 2;
const CLOCK: u64 = 3;
const XID: u64 = 1000;

/// Clocks below which no median is formed.
const PEERS: usize = 3;

/// GPUs of one host with NVLink errors that make it what joins them.
const SHARED: usize = 2;

fn finding(
    now_ns: u64,
    since: Since,
    kind: FaultKind,
    weights: Vec<(Component, f64)>,
    confidence: f64,
) -> Finding {
    Finding {
        at_ns: now_ns,
        since,
        syndrome: Syndrome::Counter,
        faults: vec![kind],
        suspects: suspects(weights),
        confidence,
        severity: 0.0,
        cost: None,
        evidence: Vec::new(),
        advice: String::new(),
    }
}

impl Detector for GpuHealth {
    fn name(&self) -> &'static str {
        "gpu-health"
    }

    fn observe(&mut self, _context: &Context<'_>, batch: &Batch) {
        let rows = &batch.counters;
        for row in 0..rows.len() {
            let (entity, time_ns, value) = (rows.entity[row], rows.time_ns[row], rows.value[row]);
            match rows.counter[row] {
                Counter::EccErrors => self.ecc.read(entity, time_ns, value),
                Counter::NvlinkErrors => self.nvlink.read(entity, time_ns, value),
                Counter::Xid => {
                    self.xid.read(entity, time_ns, value);
                }
                Counter::GpuClockMhz => {
                    self.clock.read(entity, time_ns, value);
                    self.clock_read = true;
                }
                Counter::GpuTemperature => {
                    self.temperature.read(entity, time_ns, value);
                }
                _ => {}
            }
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let directory = context.directory;
        for (entity, grown) in self.ecc.all().filter(|&(_, grown)| grown > 0.0) {
            let Some(gpu) = component_of(directory, entity) else { continue };
            let mut found =
                finding(now_ns, self.ecc.since(entity), FaultKind::GpuError, vec![(gpu.clone(), 1.0)], 0.9);
            let seen = CounterSeen::EccErrors { gpu: gpu.name().to_owned(), period: Period::TwoWindows };
            found.evidence.push(Evidence::new(seen, grown, 0.0));
            self.told.tell(ECC, found, findings);
        }
        self.judge_nvlink(context, now_ns, findings);
        self.judge_xid(directory, now_ns, findings);
        if std::mem::take(&mut self.clock_read) {
            self.count_low(context.settings.deviations);
        }
        self.judge_clock(directory, now_ns, findings);
        self.told.forget(now_ns);
    }
}

impl GpuHealth {
    fn judge_nvlink(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let directory = context.directory;
        let mut by_host: BTreeMap<Option<Component>, Vec<(Component, Since, Evidence)>> = BTreeMap::new();
        let floor = self.limits.nvlink_errors;
        for outlier in outliers(&self.nvlink, directory, floor, context.settings.deviations) {
            let Some(gpu) = component_of(directory, outlier.entity) else { continue };
            let seen = CounterSeen::NvlinkErrors { gpu: gpu.name().to_owned(), period: Period::TwoWindows };
            let row = Evidence::new(seen, outlier.grown, outlier.expected);
            let since = self.nvlink.since(outlier.entity);
            by_host.entry(host_of(directory, gpu)).or_default().push((gpu.clone(), since, row));
        }
        for (host, gpus) in by_host {
            let since = Since::earliest(gpus.iter().map(|(_, since, _)| *since), now_ns);
            let mut weights: Vec<(Component, f64)> = Vec::new();
            // Two GPUs of a host with errors share a link or the NVSwitch.
            match host.filter(|_| gpus.len() >= SHARED) {
                Some(host) => weights.push((host, 1.0)),
                None => weights.extend(gpus.iter().map(|(gpu, ..)| (gpu.clone(), 1.0))),
            }
            let mut found = finding(now_ns, since, FaultKind::GpuError, weights, 0.75);
            found.evidence.extend(gpus.into_iter().map(|(_, _, row)| row));
            self.told.tell(NVLINK, found, findings);
        }
    }

    fn judge_xid(&mut self, directory: &Directory, now_ns: u64, findings: &mut Vec<Finding>) {
        for (entity, cell) in self.xid.all() {
            let number = if (0.0..1e6).contains(&cell.value) { cell.value as u32 } else { 0 };
            let Some(meaning) = xid_meaning(number) else { continue };
            let Some(gpu) = component_of(directory, entity) else { continue };
            let mut found = match meaning {
                Xid::Follows => continue,
                Xid::Application => {
                    let mut weights = vec![(gpu.clone(), meaning.hardware())];
                    let mut ranks = 0..directory.ranks.len() as u32;
                    if let Some(rank) = ranks.find(|&rank| directory.gpu_component(rank) == *gpu) {
                        let job = &directory.jobs[directory.ranks[rank as usize].job as usize];
                        weights.push((Component::Job(job.clone()), 1.0 - meaning.hardware()));
                    }
                    let alone = weights.len() == 1;
                    let confidence = if alone { 0.3 } else { 0.7 };
                    let mut found = finding(now_ns, cell.since, FaultKind::Crash, weights, confidence);
                    found.syndrome = Syndrome::Counter;
                    found.advice =
                        "see the program first; run it on another GPU to clear this one".to_owned();
                    found
                }
                _ => {
                    let confidence = meaning.hardware();
                    let weights = vec![(gpu.clone(), 1.0)];
                    finding(now_ns, cell.since, FaultKind::GpuError, weights, confidence)
                }
            };
            if cell.same == cell.readings {
                // The gauge keeps the last error for ever, so one that stood there at first may be of long ago.
                found.confidence = found.confidence.min(0.5);
                found.advice = "it was logged before telemetry began: see when".to_owned();
            }
            let (gpu, meaning) = (gpu.name().to_owned(), meaning.words());
            found.evidence.push(Evidence::new(CounterSeen::Xid { gpu, number, meaning }, cell.value, 0.0));
            self.told.tell(XID + u64::from(number), found, findings);
        }
    }

    /// Median and robust deviation of all clocks.
    fn clocks(&self) -> Option<(f64, f64)> {
        let mut values: Vec<f64> = self.clock.all().map(|(_, cell)| cell.value).collect();
        if values.len() < PEERS { None } else { spread(&mut values) }
    }

    /// Whether a clock is below its peers', and not that of an idle GPU unless it is hot.
    fn is_low(&self, hot: bool, value: f64, median: f64, margin: f64) -> bool {
        let bound = median - margin.max(median * self.limits.clock_share);
        value < bound && (hot || value >= median * self.limits.idle_clock_share)
    }

    fn is_hot(&self, entity: u32) -> bool {
        self.temperature.value(entity).is_some_and(|celsius| celsius >= self.limits.hot_celsius)
    }

    fn count_low(&mut self, deviations: f64) {
        let Some((median, deviation)) = self.clocks() else { return };
        for entity in 0..self.low.len().max(self.clock.all().last().map_or(0, |(row, _)| row as usize + 1)) {
            if self.low.len() <= entity {
                self.low.push(0);
                self.low_since.push(Since::default());
            }
            let low = self.clock.value(entity as u32).is_some_and(|value| {
                self.is_low(self.is_hot(entity as u32), value, median, deviations * deviation)
            });
            let read_ns = self.clock.of(entity as u32).map_or(0, |cell| cell.time_ns);
            let since = &mut self.low_since[entity];
            if !low {
                *since = Since::between(read_ns, 0);
            } else if since.until_ns == 0 {
                since.until_ns = read_ns;
            }
            self.low[entity] = if low { self.low[entity].saturating_add(1) } else { 0 };
        }
    }

    fn judge_clock(&mut self, directory: &Directory, now_ns: u64, findings: &mut Vec<Finding>) {
        if !self.low.iter().any(|&readings| readings >= self.limits.clock_readings) {
            return;
        }
        let Some((median, _)) = self.clocks() else { return };
        for (row, _) in self.low.iter().enumerate().filter(|(_, low)| **low >= self.limits.clock_readings) {
            let entity = row as u32;
            let (Some(gpu), Some(cell)) = (component_of(directory, entity), self.clock.of(entity)) else {
                continue;
            };
            let hot = self.is_hot(entity);
            let confidence = if hot { 0.85 } else { 0.7 };
            let weights = vec![(gpu.clone(), 1.0)];
            let mut found = finding(now_ns, self.low_since[row], FaultKind::SlowGpu, weights, confidence);
            found.severity = 1.0 - cell.value / median;
            let name = || gpu.name().to_owned();
            found.evidence.push(Evidence::new(CounterSeen::Clock { gpu: name() }, cell.value, median));
            if let Some(celsius) = self.temperature.value(entity) {
                let seen = CounterSeen::Temperature { gpu: name() };
                found.evidence.push(Evidence::new(seen, celsius, self.limits.hot_celsius));
            }
            if !hot {
                found.advice =
                    "no heat explains it: see power limits and whether the GPU has work".to_owned();
            }
            self.told.tell(CLOCK, found, findings);
        }
    }
}
