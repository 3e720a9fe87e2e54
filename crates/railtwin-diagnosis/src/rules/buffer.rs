//! Buffers of switches: nearly full, or overflowing where others with the like load do not (Meta RoCE 6.3.2, 6.4.2).
use std::collections::BTreeMap;

use railtwin_records::seen::CounterSeen;
use railtwin_records::{Batch, Component, Counter, Evidence, FaultKind, Finding, Since, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use crate::robust::spread;
use crate::rules::limits::Limits;
use crate::rules::place::{component_of_device, device_of, suspects};
use crate::rules::told::Told;
use crate::rules::track::{Gauge, Growth, component_of};

/// Alarms when a switch uses more of its buffer than [`crate::Settings::buffer_share`].
#[derive(Debug)]
pub struct BufferAlarm {
    share: Gauge,
    /// Between which readings each entity came to use more.
    above: Vec<Since>,
    told: Told,
}

impl BufferAlarm {
    /// At the given limits; the share itself is one of [`crate::Settings`].
    pub fn new(_limits: Limits) -> Self {
        Self { share: Gauge::default(), above: Vec::new(), told: Told::default() }
    }
}

impl Detector for BufferAlarm {
    fn name(&self) -> &'static str {
        "buffer-alarm"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        let rows = &batch.counters;
        for row in (0..rows.len()).filter(|&row| rows.counter[row] == Counter::BufferShare) {
            let (entity, time_ns, value) = (rows.entity[row], rows.time_ns[row], rows.value[row]);
            self.share.read(entity, time_ns, value);
            let entity = entity as usize;
            self.above.resize(self.above.len().max(entity + 1), Since::default());
            let since = &mut self.above[entity];
            if value <= context.settings.buffer_share {
                *since = Since::between(time_ns, 0);
            } else if since.until_ns == 0 {
                since.until_ns = time_ns;
            }
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        for (entity, cell) in self.share.all().filter(|(_, cell)| cell.value > context.settings.buffer_share)
        {
            let device = device_of(context, entity).and_then(|device| component_of_device(context, device));
            let Some(component) = device.or_else(|| component_of(context.directory, entity).cloned()) else {
                continue;
            };
            let seen = CounterSeen::BufferShare { device: component.name().to_owned() };
            let finding = Finding {
                at_ns: now_ns,
                since: self.above.get(entity as usize).copied().unwrap_or_default(),
                syndrome: Syndrome::Counter,
                faults: vec![FaultKind::SmallBuffer],
                suspects: suspects(vec![(component, 1.0)]),
                confidence: 0.5,
                severity: 0.0,
                cost: None,
                evidence: vec![Evidence::new(seen, cell.value, context.settings.buffer_share)],
                advice: "lasting congestion and a switch that is set up wrongly look alike: see drops and load of \
                         its peers"
                    .to_owned(),
            };
            self.told.tell(0, finding, findings);
        }
        self.told.forget(now_ns);
    }
}

/// Finds the switch that drops for want of buffer while others under the like load do not.
#[derive(Debug)]
pub struct CongestionDrops {
    limits: Limits,
    drops: Growth,
    sent: Growth,
    told: Told,
}

/// Share of a switch's load from which another one bears the like.
const ALIKE: f64 = 0.5;

/// Peers that must bear the like load before one can stand out.
const PEERS: usize = 2;

impl CongestionDrops {
    /// At the given limits.
    pub fn new(limits: Limits) -> Self {
        let growth = || Growth::new(limits.window_ns);
        Self { limits, drops: growth(), sent: growth(), told: Told::default() }
    }
}

/// A switch's counters, summed over its ports.
#[derive(Clone, Copy, Default)]
struct Sums {
    drops: f64,
    sent: Option<f64>,
    since: Since,
}

impl Detector for CongestionDrops {
    fn name(&self) -> &'static str {
        "congestion-drops"
    }

    fn observe(&mut self, _context: &Context<'_>, batch: &Batch) {
        let rows = &batch.counters;
        for row in 0..rows.len() {
            let growth = match rows.counter[row] {
                Counter::Drops => &mut self.drops,
                Counter::BytesSent => &mut self.sent,
                _ => continue,
            };
            growth.read(rows.entity[row], rows.time_ns[row], rows.value[row]);
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        self.told.forget(now_ns);
        if !self.drops.all().any(|(_, grown)| grown > 0.0) {
            return;
        }
        let mut switches: BTreeMap<Component, Sums> = BTreeMap::new();
        for (entity, grown) in self.drops.all() {
            let device = device_of(context, entity).and_then(|device| component_of_device(context, device));
            let component = device.or_else(|| component_of(context.directory, entity).cloned());
            if let Some(component @ Component::Switch(_)) = component {
                let sums = switches.entry(component).or_default();
                if grown > 0.0 {
                    let since = self.drops.since(entity);
                    sums.since = if sums.drops == 0.0 { since } else { sums.since.earlier(since) };
                }
                sums.drops += grown;
            }
        }
        for (entity, grown) in self.sent.all() {
            let device = device_of(context, entity).and_then(|device| component_of_device(context, device));
            let component = device.or_else(|| component_of(context.directory, entity).cloned());
            if let Some(sums) = component.and_then(|component| switches.get_mut(&component)) {
                *sums.sent.get_or_insert(0.0) += grown;
            }
        }
        for (component, sums) in &switches {
            if sums.drops < self.limits.drops {
                continue;
            }
            // Switches of one tier share the first word of their names.
            let tier = |component: &Component| component.name().split('-').next().map(str::to_owned);
            let like = switches.iter().filter(|(other, load)| {
                *other != component
                    && (context.fabric.is_none() || tier(other) == tier(component))
                    && match (load.sent, sums.sent) {
                        (Some(theirs), Some(own)) => theirs >= ALIKE * own,
                        _ => true,
                    }
            });
            let mut peers: Vec<f64> = like.map(|(_, load)| load.drops).collect();
            let count = peers.len();
            let (median, deviation) = spread(&mut peers).unwrap_or_default();
            let bound = median + context.settings.deviations * deviation.max(median.sqrt()).max(1.0);
            if count < PEERS || sums.drops <= bound {
                continue;
            }
            let name = || component.name().to_owned();
            let seen = CounterSeen::Drops { device: name(), peers: count };
            let mut evidence = vec![Evidence::new(seen, sums.drops, median)];
            evidence.extend(sums.sent.map(|sent| {
                Evidence::new(CounterSeen::SentMeanwhile { device: name() }, sent, ALIKE * sent)
            }));
            let finding = Finding {
                at_ns: now_ns,
                since: sums.since,
                syndrome: Syndrome::Counter,
                faults: vec![FaultKind::SmallBuffer, FaultKind::Lossy],
                suspects: suspects(vec![(component.clone(), 1.0)]),
                confidence: if sums.sent.is_some() { 0.75 } else { 0.5 },
                severity: 0.0,
                cost: None,
                evidence,
                advice: "compare its buffer and queue settings and its image with those of its peers"
                    .to_owned(),
            };
            self.told.tell(0, finding, findings);
        }
    }
}
