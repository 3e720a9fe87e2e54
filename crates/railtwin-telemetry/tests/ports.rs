//! What ports of switches count: the bytes of flows and of other jobs, marks at bottlenecks alone, pauses of slow switches.
#![allow(clippy::unwrap_used, reason = "a test")]
use crate::kit;
use std::collections::{BTreeMap, BTreeSet};

use kit::{Job, replay, throttled};
use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::{Balancer, Case};
use railtwin_fabric::{DeviceKind, Fabric, LinkId};
use railtwin_records::telemetry::{Batch, Counter};
use railtwin_records::{Component, Directory, FaultKind, Truth};
use railtwin_telemetry::{Collision, CounterSettings, Counters, Jitter, Replay, Settings};
use railtwin_units::SimTime;

/// A ring whose hosts are in turn of two segments: every hop crosses a spine.
fn case() -> Case {
    let mut case = kit::case(Job::new(1, 1, 64, 1), 1);
    case.routing.balancer = Balancer::C4p;
    case.routing.queue_pairs = 2;
    case.placements = vec![Placer::new(&case.fabric, 1).place("job", 64, &PlacementPolicy::Spread).unwrap()];
    case
}

fn quiet() -> Settings {
    Settings { jitter: Jitter::NONE, ..Settings::default() }
}

/// What each port counted in some steps, by counter and link that leaves it; and the records.
struct Counted {
    ports: BTreeMap<(Counter, u32), f64>,
    batch: Batch,
    directory: Directory,
    span_s: f64,
}

impl Counted {
    fn of(case: &Case, changes: &[SimTime], steps: usize, meet: impl FnOnce(&mut Replay)) -> Self {
        let (mut replay, mut directory) = replay(case, quiet(), changes);
        let mut counters = Counters::new(case, &replay, CounterSettings::default(), &mut directory);
        let mut batch = Batch::default();
        counters.read(&replay, 0, &mut batch.counters);
        meet(&mut replay);
        for _ in 0..steps {
            replay.step(&mut batch);
            counters.read(&replay, replay.now_ns(), &mut batch.counters);
        }
        let (mut ports, rows) = (BTreeMap::new(), &batch.counters);
        for row in 0..rows.len() {
            if let Some(link) = directory.entities[rows.entity[row] as usize].link {
                ports.insert((rows.counter[row], link), rows.value[row]);
            }
        }
        Self { ports, span_s: replay.now_ns() as f64 / 1e9, batch, directory }
    }

    /// Links whose leaving port counted something.
    fn grown(&self, counter: Counter) -> BTreeSet<u32> {
        let rows = self.ports.iter().filter(|((of, _), value)| *of == counter && **value > 0.0);
        rows.map(|((_, link), _)| *link).collect()
    }

    /// Bytes of messages over each link.
    fn recorded(&self) -> BTreeMap<u32, f64> {
        let (mut bytes, rows) = (BTreeMap::new(), &self.batch.messages);
        for row in 0..rows.len() {
            for &link in &self.directory.flows[rows.flow[row] as usize].links {
                *bytes.entry(link).or_default() += rows.bytes[row] as f64;
            }
        }
        bytes
    }
}

fn is_switch(fabric: &Fabric, device: railtwin_fabric::DeviceId) -> bool {
    fabric.kind(device) == DeviceKind::Switch
}

fn joins_switches(fabric: &Fabric, link: u32) -> bool {
    [fabric.source(LinkId(link)), fabric.target(LinkId(link))].into_iter().all(|at| is_switch(fabric, at))
}

/// Bytes on the wire for each of payload.
fn wire(case: &Case) -> f64 {
    1.0 + f64::from(case.packets.keys.wire().header) / f64::from(case.packets.keys.wire().payload)
}

#[test]
fn healthy_ports_send_what_messages_carry_and_mark_nothing() {
    let case = case();
    let counted = Counted::of(&case, &[], 3, |_| ());
    assert!(counted.grown(Counter::EcnMarks).is_empty(), "{:?}", counted.grown(Counter::EcnMarks));
    assert!(counted.grown(Counter::PausedNs).is_empty());
    let told: BTreeSet<u32> =
        counted.ports.keys().filter(|key| key.0 == Counter::EcnMarks).map(|key| key.1).collect();
    assert!(!told.is_empty(), "ports that never mark say so");
    let recorded = counted.recorded();
    let between: BTreeSet<u32> =
        recorded.keys().copied().filter(|&link| joins_switches(&case.fabric, link)).collect();
    assert!(!between.is_empty());
    assert_eq!(counted.grown(Counter::BytesSent), between);
    for link in between {
        let sent = counted.ports[&(Counter::BytesSent, link)];
        let expected = recorded[&link] * wire(&case);
        assert!((sent / expected - 1.0).abs() < 1e-4, "link {link}: {sent} of {expected}");
    }
}

/// A link from a leaf to a spine that flows cross, and the one that they take after it.
fn uplink(counted: &Counted) -> [LinkId; 2] {
    let flow = counted.directory.flows.iter().find(|flow| flow.links.len() == 4).unwrap();
    [LinkId(flow.links[1]), LinkId(flow.links[2])]
}

#[test]
fn only_the_first_port_before_a_narrow_link_marks() {
    let mut case = case();
    let links = uplink(&Counted::of(&case, &[], 1, |_| ()));
    // The second is as narrow as the first: what comes over the first never queues there.
    case.impairments = links.map(|link| throttled(link, 0.1)).to_vec();
    let counted = Counted::of(&case, &[SimTime::ZERO], 3, |_| ());
    assert_eq!(counted.grown(Counter::EcnMarks), BTreeSet::from([links[0].0]));
    let marks = counted.ports[&(Counter::EcnMarks, links[0].0)];
    let packets = counted.recorded()[&links[0].0] / f64::from(case.packets.keys.wire().payload);
    assert!(marks > 1e-4 * packets && marks < 0.1 * packets, "{marks} of {packets}");
    assert!(counted.grown(Counter::PausedNs).is_empty(), "a cable pauses nobody");
}

#[test]
fn a_slow_leaf_marks_at_its_own_ports_and_pauses_its_own_hosts() {
    let mut case = case();
    let fabric = std::sync::Arc::clone(&case.fabric);
    let leaf = fabric.source(uplink(&Counted::of(&case, &[], 1, |_| ()))[0]);
    let around = fabric.neighbors(leaf).iter().flat_map(|&(link, _)| [link, link.reverse()]);
    case.impairments = around.map(|link| throttled(link, 0.3)).collect();
    let component = Component::Switch(fabric.device_name(leaf));
    let kind = FaultKind::Slow;
    case.truths = vec![Truth {
        from_ns: 0,
        until_ns: u64::MAX,
        kind,
        component,
        severity: 0.3,
        cause: None,
        source: Truth::WRITTEN.into(),
    }];
    let counted = Counted::of(&case, &[SimTime::ZERO], 3, |_| ());
    let marking = counted.grown(Counter::EcnMarks);
    assert!(
        marking.len() > 1 && marking.iter().all(|&link| fabric.source(LinkId(link)) == leaf),
        "{marking:?}"
    );
    let paused = counted.grown(Counter::PausedNs);
    assert!(!paused.is_empty() && paused.iter().all(|&link| fabric.target(LinkId(link)) == leaf));
    for link in paused {
        let share = counted.ports[&(Counter::PausedNs, link)] / 1e9 / counted.span_s;
        assert!(share > 0.05 && share < 0.7, "a third passes, so at most 0.7 of the time: {share}");
        assert!(counted.ports[&(Counter::PauseFramesSent, LinkId(link).reverse().0)] > 0.0);
    }
}

#[test]
fn another_job_fills_its_link_and_has_it_mark() {
    let case = case();
    let calm = Counted::of(&case, &[], 1, |_| ());
    let [link, _] = uplink(&calm);
    let visit = Collision { link: link.0, from_ns: 0, until_ns: u64::MAX, factor: 2.0 };
    let counted = Counted::of(&case, &[], 3, |replay| replay.add_collision(visit));
    assert_eq!(counted.grown(Counter::EcnMarks), BTreeSet::from([link.0]));
    let recorded = counted.recorded();
    let more = |link: u32| counted.ports[&(Counter::BytesSent, link)] - recorded[&link] * wire(&case);
    // Ours gets half of the rate at which it sent before, and the other job has the rest of the link.
    let rows = &calm.batch.messages;
    let crosses = |row: &usize| calm.directory.flows[rows.flow[*row] as usize].links.contains(&link.0);
    let ours: Vec<usize> = (0..rows.len()).filter(crosses).collect();
    assert_eq!(ours.len(), 1, "one queue pair of ours");
    let rate = rows.bytes[ours[0]] as f64 / rows.network_ns[ours[0]] as f64 * 1e9;
    let expected = (case.fabric.capacity(link).bytes_per_s() - rate / 2.0) * counted.span_s;
    assert!((more(link.0) / expected - 1.0).abs() < 0.01, "{} of {expected}", more(link.0));
    for other in counted.grown(Counter::BytesSent).into_iter().filter(|&other| other != link.0) {
        assert!(more(other).abs() < 1e-4 * recorded[&other], "link {other}");
    }
}
