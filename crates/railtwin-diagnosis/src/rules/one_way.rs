//! Faults of one direction: one end cannot hear, and the other does not know (HPN section 10).
//!
//! The end that receives damaged signals should tell the other by link fault signalling, which then stops sending. A
//! NIC's firmware that leaves the signal unanswered goes on sending into a link that loses packets.
use std::collections::BTreeMap;

use railtwin_records::seen::CounterSeen;
use railtwin_records::{Batch, Component, Counter, Evidence, FaultKind, Finding, Since, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use crate::rules::limits::Limits;
use crate::rules::link::{Ends, Verdict};
use crate::rules::place::{link_component, link_in, suspects};
use crate::rules::told::Told;
use crate::rules::track::{Growth, component_of, outliers};

/// Tells links of which the receiving end counts errors, or says down, while the sending end says up.
#[derive(Debug)]
pub struct OneWay {
    limits: Limits,
    ends: Ends,
    errors: Growth,
    told: Told,
}

impl OneWay {
    /// At the given limits.
    pub fn new(limits: Limits) -> Self {
        let (ends, errors) = (Ends::new(limits.outlive_ns), Growth::new(limits.window_ns));
        Self { limits, ends, errors, told: Told::default() }
    }
}

/// What a receiving end shows.
#[derive(Default)]
struct Shown {
    evidence: Vec<Evidence>,
    since: Since,
    confidence: f64,
}

impl Detector for OneWay {
    fn name(&self) -> &'static str {
        "one-way"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        self.ends.observe(context, batch);
        let rows = &batch.counters;
        for row in (0..rows.len()).filter(|&row| rows.counter[row] == Counter::ReceiveErrors) {
            self.errors.read(rows.entity[row], rows.time_ns[row], rows.value[row]);
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let mut shown = self.damaged(context, now_ns);
        self.add_one_way(context, now_ns, &mut shown);
        for (&entity, row) in &shown {
            let far = self.ends.far(context, entity).filter(|far| shown.contains_key(far));
            if far.is_some_and(|far| far < entity) {
                continue;
            }
            let mut evidence = row.evidence.clone();
            let both = far.and_then(|far| shown.get(&far));
            evidence.extend(both.map(|other| other.evidence.clone()).into_iter().flatten());
            let Some(info) = context.directory.entities.get(entity as usize) else { continue };
            let component = match info.link.and_then(|link| link_in(context, link)) {
                Some((_, link)) if both.is_some() => context.cable_of(link.0),
                // What a port receives is the other link of its cable.
                Some((fabric, link)) => Some(link_component(fabric, link.reverse())),
                None => None,
            };
            let finding = Finding {
                at_ns: now_ns,
                since: row.since,
                syndrome: Syndrome::Counter,
                faults: vec![FaultKind::Lossy],
                suspects: suspects(vec![(component.unwrap_or_else(|| info.component.clone()), 1.0)]),
                confidence: row.confidence,
                severity: 0.0,
                cost: None,
                evidence,
                advice:
                    "drain it: the end that sends may ignore link fault signals and goes on sending; see the \
                         firmware of its NIC"
                        .to_owned(),
            };
            self.told.tell(0, finding, findings);
        }
        self.told.forget(now_ns);
    }
}

impl OneWay {
    /// Receiving ends that count more errors than their like and are not down.
    fn damaged(&mut self, context: &Context<'_>, now_ns: u64) -> BTreeMap<u32, Shown> {
        let mut shown: BTreeMap<u32, Shown> = BTreeMap::new();
        let floor = self.limits.receive_errors;
        for outlier in outliers(&self.errors, context.directory, floor, context.settings.deviations) {
            let entity = outlier.entity;
            let verdict = self.ends.verdict(context, entity, now_ns);
            if matches!(verdict, Verdict::Down | Verdict::Wait) {
                // A link that is down is LinkState's.
                continue;
            }
            let name = component_of(context.directory, entity).map_or("", Component::name);
            let far_up =
                self.ends.far(context, entity).and_then(|far| self.ends.at(far)).map(|cell| cell.value);
            let mut row = Shown {
                since: self.errors.since(entity),
                confidence: match (self.ends.at(entity), far_up) {
                    (_, Some(up)) if up != 0.0 => 0.9,
                    (Some(cell), None) if cell.value != 0.0 => 0.75,
                    _ => 0.65,
                },
                evidence: Vec::new(),
            };
            let port = || name.to_owned();
            let seen = CounterSeen::DamagedPackets { port: port() };
            row.evidence.push(Evidence::new(seen, outlier.grown, outlier.expected));
            if let Some(up) = far_up {
                row.evidence.push(Evidence::new(CounterSeen::FarLinkUp { port: port() }, up, up));
            }
            shown.insert(entity, row);
        }
        shown
    }

    /// Adds ends that say down while the other end goes on saying up.
    fn add_one_way(&mut self, context: &Context<'_>, now_ns: u64, shown: &mut BTreeMap<u32, Shown>) {
        for entity in 0..context.directory.entities.len() as u32 {
            if self.ends.verdict(context, entity, now_ns) != Verdict::OneWay {
                continue;
            }
            let name = component_of(context.directory, entity).map_or("", Component::name);
            let since = self.ends.at(entity).map_or(Since::at(now_ns), |cell| cell.since);
            let row =
                shown.entry(entity).or_insert_with(|| Shown { since, confidence: 0.9, ..Shown::default() });
            let seen = CounterSeen::LinkDownFarUp { port: name.to_owned() };
            row.evidence.push(Evidence::new(seen, 0.0, 1.0));
            row.confidence = row.confidence.max(0.9);
        }
    }
}
