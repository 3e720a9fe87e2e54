//! Laws of all rules: no panic, no name from nowhere, no matter of order.
use proptest::prelude::*;
use railtwin_diagnosis::rule_detectors;
use railtwin_diagnosis::rules::{ElasticTimeout, Limits, rule_detectors_with};
use railtwin_records::{Batch, Component, Counter, Directory, Finding};

use crate::rules::fixture::{SECOND, World, small};

fn run(world: &World, batches: &[Batch]) -> Vec<Finding> {
    let mut detectors = rule_detectors();
    detectors.push(Box::new(ElasticTimeout::new(Limits::default())));
    let mut found = Vec::new();
    for batch in batches {
        for detector in &mut detectors {
            found.extend(world.feed(detector.as_mut(), batch));
        }
    }
    found
}

/// Whether a name stands in the fabric or the directory.
fn exists(world: &World, component: &Component) -> bool {
    let (fabric, directory): (_, &Directory) = (&world.fabric, &world.directory);
    let device = |name: &str| fabric.devices().any(|device| fabric.device_name(device) == name);
    let nic = |name: &str| {
        device(name) || directory.flows.iter().any(|f| f.source_nic == name || f.target_nic == name)
    };
    match component {
        Component::Switch(name) => fabric.switch_named(name).is_some(),
        Component::Cable(name) => fabric.cable_named(name).is_some(),
        Component::Link(name) => name.split_once(" > ").is_some_and(|(from, to)| {
            let cable = fabric.cable_named(from);
            cable.is_some() && cable == fabric.cable_named(to) && from != to
        }),
        Component::Connection(name) => name.split_once(" > ").is_some_and(|(from, to)| nic(from) && nic(to)),
        Component::Nic(name) => nic(name),
        Component::Gpu(name) => device(name),
        Component::Host(name) => directory.hosts.iter().any(|host| host.name == *name),
        Component::Job(name) => directory.jobs.contains(name),
        Component::Rank(name) => directory.entities.iter().any(|e| e.component.name() == name),
        _ => false,
    }
}

/// Any reading at all, of any entity, that need not make sense.
fn any_reading() -> impl Strategy<Value = (u64, u32, usize, f64)> {
    let value = prop_oneof![
        4 => 0.0..2000.0f64,
        2 => (0u32..130).prop_map(f64::from),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => 0.0..1e12f64,
    ];
    (0..40 * SECOND, 0u32..120, 0..Counter::ALL.len(), value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_read_no_rule_panics_or_names_what_is_not_there(
        rows in prop::collection::vec(any_reading(), 1..400),
        probes in prop::collection::vec((0u32..600, 0u32..20, 0u32..30, 0u64..100_000), 0..200),
        ways in prop::collection::vec((0u32..3, 0u32..20, 0u32..4, 0u32..3, any::<bool>()), 0..60),
        known in any::<bool>(),
    ) {
        let world = small();
        let mut batches = Vec::new();
        for part in 0..4u64 {
            let mut batch = Batch { until_ns: (part + 1) * 10 * SECOND, ..Batch::default() };
            for &(time_ns, entity, counter, value) in rows.iter().filter(|row| row.0 / (10 * SECOND) == part) {
                batch.counters.push(time_ns, entity, Counter::ALL[counter], value);
            }
            for &(flow, sent, lost, delay_ns) in &probes {
                batch.probes.push(part * SECOND, flow, false, sent, lost, delay_ns, 0.0);
            }
            for &(communicator, rank, sequence, shape, ended) in &ways {
                let end_ns = if ended { (part + 1) * SECOND } else { u64::MAX };
                batch.operations.push(communicator, rank, sequence, shape, part * SECOND, end_ns);
            }
            batches.push(batch);
        }
        let mut found = run(&world, &batches);
        if known {
            // And the same without the fabric.
            let context = railtwin_diagnosis::Context { fabric: None, ..world.context() };
            for mut detector in rule_detectors() {
                for batch in &batches {
                    detector.observe(&context, batch);
                    detector.judge(&context, batch.until_ns, &mut found);
                }
            }
        }
        for finding in &found {
            for suspect in &finding.suspects {
                prop_assert!(exists(&world, &suspect.component), "{finding:?}");
            }
            let shares: f64 = finding.suspects.iter().map(|suspect| suspect.share).sum();
            prop_assert!(shares <= 1.0 + 1e-9);
            prop_assert!((0.0..=1.0).contains(&finding.confidence));
            prop_assert!((0.0..=1.0).contains(&finding.severity), "{finding:?}");
            prop_assert!(!finding.evidence.is_empty());
            prop_assert!(finding.since.from_ns <= finding.since.until_ns && finding.since.until_ns <= finding.at_ns);
        }
    }

    #[test]
    fn constant_totals_and_resets_are_no_growth(
        values in prop::collection::vec(0.0..1e9f64, 120),
        reset in 1u64..30,
    ) {
        let world = small();
        let totals = [
            Counter::OutOfSequence, Counter::AckTimeouts, Counter::LinkDowns, Counter::ReceiveErrors,
            Counter::Drops, Counter::PausedNs, Counter::PauseFramesSent, Counter::EccErrors,
            Counter::NvlinkErrors, Counter::OutOfMemoryKills,
        ];
        let mut batches = Vec::new();
        for second in 0..30u64 {
            let mut batch = Batch { until_ns: second * SECOND, ..Batch::default() };
            for (entity, &value) in values.iter().enumerate() {
                for counter in totals {
                    // After the reset the total falls to half of what it was and stays there.
                    let value = if second < reset { value } else { value / 2.0 };
                    batch.counters.push(second * SECOND, entity as u32, counter, value);
                }
            }
            batches.push(batch);
        }
        prop_assert!(run(&world, &batches).is_empty());
    }

    #[test]
    fn the_order_of_entities_in_a_batch_changes_nothing(
        grown in prop::collection::vec((0u32..120, 0..Counter::ALL.len(), 0.0..200.0f64), 1..40),
        seed in any::<u64>(),
    ) {
        let world = small();
        let build = |seed: Option<u64>| -> Vec<Batch> {
            (0..5u64).map(|second| {
                let mut rows: Vec<(u32, Counter, f64)> = Vec::new();
                for entity in 0..120u32 {
                    for counter in Counter::ALL {
                        let more = grown.iter().find(|row| row.0 == entity && row.1 == counter as usize);
                        let base = match counter {
                            Counter::LinkUp | Counter::ProcessAlive => 1.0,
                            _ => 0.0,
                        };
                        let value = more.map_or(base, |row| if second < 2 { base } else { (row.2 - base).abs() * second as f64 });
                        rows.push((entity, counter, value));
                    }
                }
                if let Some(seed) = seed {
                    rows.sort_by_key(|row| (u64::from(row.0) ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17));
                }
                let mut batch = Batch { until_ns: second * SECOND, ..Batch::default() };
                for (entity, counter, value) in rows {
                    batch.counters.push(second * SECOND, entity, counter, value);
                }
                batch
            }).collect()
        };
        prop_assert_eq!(run(&world, &build(None)), run(&world, &build(Some(seed))));
    }
}

#[test]
fn every_rule_has_a_name_of_its_own() {
    let detectors = rule_detectors_with(Limits::default());
    let mut names: Vec<&str> = detectors.iter().map(|detector| detector.name()).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!((names.len(), count), (11, 11));
}
