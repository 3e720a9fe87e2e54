//! An hour without a fault: no rule finds anything.
use railtwin_records::{Batch, Component, Counter, NOT_YET};

use crate::rules::fixture::{SECOND, small};

/// Chance without a library: the same in every run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// An hour of a cluster at work in which nothing is wrong: counters that trickle, short pauses, boost clocks that differ
/// from chip to chip, probes with a long tail, a lost probe now and then.
#[test]
fn an_hour_without_a_fault_accuses_nobody() {
    let world = small();
    let mut chance = Chance(7);
    let mut totals = vec![[0.0; 21]; world.directory.entities.len()];
    let mut detectors = railtwin_diagnosis::rule_detectors();
    let mut found = Vec::new();
    for second in 0..3600u64 {
        let time_ns = second * SECOND;
        let mut batch = Batch { until_ns: time_ns, ..Batch::default() };
        for (row, info) in world.directory.entities.iter().enumerate() {
            let entity = row as u32;
            let mut total = |counter: Counter, grown: f64| {
                totals[row][counter as usize] += grown;
                batch.counters.push(time_ns, entity, counter, totals[row][counter as usize]);
            };
            match info.component {
                Component::Nic(_) => {
                    total(Counter::OutOfSequence, (chance.next() < 0.02).into());
                    total(Counter::AckTimeouts, (chance.next() < 0.001).into());
                }
                Component::Gpu(_) => {
                    total(Counter::EccErrors, 0.0);
                    total(Counter::NvlinkErrors, (chance.next() < 0.05).into());
                    let clock = 1960.0 + 2.0 * f64::from(entity % 16) - 30.0 * chance.next();
                    batch.counters.push(time_ns, entity, Counter::GpuClockMhz, clock);
                    batch.counters.push(
                        time_ns,
                        entity,
                        Counter::GpuTemperature,
                        60.0 + 20.0 * chance.next(),
                    );
                    batch.counters.push(time_ns, entity, Counter::Xid, 0.0);
                }
                Component::Switch(_) => {
                    total(Counter::Drops, 0.0);
                    batch.counters.push(time_ns, entity, Counter::BufferShare, 0.5 * chance.next());
                }
                Component::Rank(_) => batch.counters.push(time_ns, entity, Counter::ProcessAlive, 1.0),
                Component::Host(_) => batch.counters.push(time_ns, entity, Counter::OutOfMemoryKills, 0.0),
                _ => {}
            }
            if info.link.is_some() {
                totals[row][Counter::PausedNs as usize] += 0.03 * SECOND as f64 * chance.next();
                let paused = totals[row][Counter::PausedNs as usize];
                batch.counters.push(time_ns, entity, Counter::PausedNs, paused);
                batch.counters.push(time_ns, entity, Counter::LinkUp, 1.0);
                batch.counters.push(time_ns, entity, Counter::LinkDowns, 2.0);
                totals[row][Counter::ReceiveErrors as usize] += f64::from(u8::from(chance.next() < 0.01));
                let errors = totals[row][Counter::ReceiveErrors as usize];
                batch.counters.push(time_ns, entity, Counter::ReceiveErrors, errors);
            }
        }
        for flow in 0..world.directory.flows.len() as u32 {
            let tail = if chance.next() < 0.02 { 20_000.0 * chance.next() } else { 300.0 * chance.next() };
            let lost = u32::from(chance.next() < 0.0005);
            batch.probes.push(time_ns, flow, second % 2 == 0, 10, lost, 5000 + tail as u64, 0.0);
        }
        for rank in 0..16 {
            batch.operations.push(0, rank, second as u32, 0, time_ns, time_ns + SECOND / 2);
        }
        batch.operations.push(0, 0, second as u32 + 1, 0, time_ns, NOT_YET);
        for detector in &mut detectors {
            found.extend(world.feed(detector.as_mut(), &batch));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
