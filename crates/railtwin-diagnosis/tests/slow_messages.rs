//! Slow queue pairs lead to the cable, NIC or switch that they share; shared traffic is no fault.
use crate::common;
use common::fabric::{Rings, Slow};
use common::{Lot, names};
use railtwin_fabric::{DeviceKind, LinkId};
use railtwin_records::{Counter, Finding, Syndrome};

const TWO_ORDERS: [usize; 3] = [1, 3, 5];

fn only(findings: &[Finding]) -> &Finding {
    assert_eq!(findings.len(), 1, "{findings:#?}");
    &findings[0]
}

#[test]
fn an_access_cable_is_told_from_its_nic_by_the_other_port() {
    let rings = Rings::new(2, 8, &TWO_ORDERS, true);
    let link = rings.access(3, 2, 1);
    let findings = rings.found(64, &[Slow::Links(vec![link], 1.5)], 0.02, 1);
    let finding = only(&findings);
    assert_eq!(finding.syndrome, Syndrome::CommunicationSlow);
    assert_eq!(names(finding), ["host-3/nic-2:port-1"]);
    assert!(finding.evidence[0].words().ends_with("row"), "{finding:#?}");
    let receiving = rings.found(64, &[Slow::Links(vec![link.reverse()], 1.5)], 0.02, 1);
    assert_eq!(names(only(&receiving)), ["host-3/nic-2:port-1"]);
    assert!(receiving[0].evidence[0].words().ends_with("column"));
}

#[test]
fn both_ports_slow_is_the_nic() {
    let rings = Rings::new(2, 8, &TWO_ORDERS, true);
    let links = vec![rings.access(9, 0, 0), rings.access(9, 0, 1)];
    let out = rings.found(64, &[Slow::Links(links.clone(), 1.3)], 0.02, 2);
    assert_eq!(names(only(&out)), ["host-9/nic-0"]);
    let both = links.iter().flat_map(|&link| [link, link.reverse()]).collect();
    let findings = rings.found(64, &[Slow::Links(both, 1.3)], 0.02, 2);
    assert_eq!(names(only(&findings)), ["host-9/nic-0"]);
}

#[test]
fn a_fabric_cable_is_acquitted_by_nobody_and_acquits_nics() {
    let rings = Rings::new(2, 8, &[8, 7, 9, 6, 5], true);
    // The uplink that the most flows share.
    let mut uses = vec![0; rings.fabric.link_count()];
    for flow in &rings.directory.flows {
        if flow.links.len() == 4 {
            uses[flow.links[1] as usize] += 1;
        }
    }
    let most = (0..uses.len()).max_by_key(|&link| uses[link]).unwrap();
    assert!(uses[most] > 1, "the test needs a shared uplink");
    let link = LinkId(most as u32);
    let findings = rings.found(64, &[Slow::Links(vec![link], 1.6)], 0.02, 3);
    let finding = only(&findings);
    // With 60 spines, flows that share an uplink here also share what follows it: the set has few parts.
    assert!(names(finding).contains(&rings.fabric.cable_name(link.cable())), "{finding:#?}");
    assert!(finding.suspects.len() <= 3, "{finding:#?}");
}

#[test]
fn a_slow_switch_is_one_finding() {
    let rings = Rings::new(1, 8, &TWO_ORDERS, true);
    let leaf = rings.fabric.target(rings.access(0, 0, 0));
    assert_eq!(rings.fabric.kind(leaf), DeviceKind::Switch);
    let links = rings.fabric.neighbors(leaf).iter().map(|&(link, _)| link).collect();
    let findings = rings.found(64, &[Slow::Links(links, 1.4)], 0.02, 4);
    assert_eq!(names(only(&findings)), [rings.fabric.device_name(leaf)]);
}

#[test]
fn one_order_without_paths_names_the_set_and_asks_for_probes() {
    let rings = Rings::new(1, 8, &[1], false);
    let findings = rings.found(64, &[Slow::Flows(vec![4, 5], 1.5)], 0.02, 5);
    let finding = only(&findings);
    let set = names(finding);
    assert!(set.contains(&"host-2/nic-0".into()) && set.contains(&"host-3/nic-0".into()), "{set:?}");
    assert!(set.contains(&"host-2/nic-0 > host-3/nic-0".into()), "{set:?}");
    assert!(finding.advice.contains("probes"), "{}", finding.advice);
}

#[test]
fn probes_split_the_set() {
    let mut rings = Rings::new(1, 8, &[1], false);
    let (slow, flows) = (vec![4_u32, 5], (0..rings.directory.flows.len() as u32).collect::<Vec<_>>());
    // NIC host-3/nic-0 receives slowly, from wherever; it sends as it should.
    let mut probes = Vec::new();
    for host in (0..8).filter(|&host| host != 3) {
        probes.push((rings.connect(host, 3, 0, 0, 0, false), 100e9));
        probes.push((rings.connect(host, (host + 2) % 8, 1, 0, 0, false), 200e9));
    }
    for (from, to) in [(2, 5), (2, 6), (4, 2), (5, 2), (3, 1)] {
        probes.push((rings.connect(from, to, 0, 0, 0, false), 200e9));
    }
    let mut lot = Lot(6);
    let batches = (0..64).map(|step| {
        let mut batch = rings.batch(step, &flows, &[Slow::Flows(slow.clone(), 2.0)], 0.02, &mut lot);
        if step == 40 {
            for &(flow, rate) in &probes {
                batch.probes.push(batch.until_ns, flow, true, 1, 0, 1000, rate);
            }
        }
        batch
    });
    let findings = rings.diagnose(batches.collect::<Vec<_>>().into_iter());
    assert_eq!(findings.len(), 2, "{findings:#?}");
    assert_eq!(names(&findings[1]), ["host-3/nic-0"]);
}

#[test]
fn counters_break_the_tie() {
    let mut rings = Rings::new(1, 8, &[1], true);
    let link = rings.access(2, 0, 0);
    // Only one port is used, so cable and NIC look the same at either end.
    let flows: Vec<u32> = (0..rings.directory.flows.len() as u32).filter(|flow| flow % 2 == 0).collect();
    let entities =
        [rings.count_at(link), rings.count_at(rings.access(3, 0, 0)), rings.count_at(rings.access(4, 0, 0))];
    let found = |errors: f64| {
        let mut lot = Lot(7);
        let batches: Vec<_> = (0..32)
            .map(|step| {
                let mut batch = rings.batch(step, &flows, &[Slow::Links(vec![link], 1.5)], 0.02, &mut lot);
                for (row, &entity) in entities.iter().enumerate() {
                    let value = if row == 0 { errors * f64::from(step) } else { 0.0 };
                    batch.counters.push(batch.until_ns, entity, Counter::ReceiveErrors, value);
                }
                batch
            })
            .collect();
        rings.diagnose(batches.into_iter())
    };
    let blind = found(0.0);
    assert!(only(&blind).suspects.len() > 2 && blind[0].suspects[0].share < 0.5, "{blind:#?}");
    let told = found(100.0);
    assert_eq!(names(only(&told))[0], "host-2/nic-0:port-0");
    assert!(told[0].suspects[0].share > 0.7, "{told:#?}");
}

#[test]
fn two_faults_are_two_findings() {
    let rings = Rings::new(2, 8, &TWO_ORDERS, true);
    let slow =
        [Slow::Links(vec![rings.access(3, 2, 1)], 1.5), Slow::Links(vec![rings.access(12, 6, 0)], 1.3)];
    let findings = rings.found(64, &slow, 0.02, 8);
    let mut named: Vec<_> = findings.iter().map(names).collect();
    named.sort();
    assert_eq!(named, [["host-12/nic-6:port-0"], ["host-3/nic-2:port-1"]]);
}

#[test]
fn queue_pairs_that_others_of_their_connection_hold_up_accuse_nobody() {
    let rings = Rings::new(2, 8, &TWO_ORDERS, true);
    let found = |other: f64| {
        let ports = [(0, 1.9), (1, other)];
        let slow = ports.map(|(port, times)| Slow::Links(vec![rings.access(3, 2, port)], times));
        rings.found(64, &slow, 0.02, 8)
    };
    // They share the window: at 1.3 the other port's are held up, at 1.7 they are slow themselves, and it is the NIC.
    let held = found(1.3);
    assert_eq!((held.len(), names(&held[0])[0].as_str()), (1, "host-3/nic-2:port-0"), "{held:#?}");
    let both = found(1.7);
    assert!(both.iter().flat_map(names).any(|name| name != "host-3/nic-2:port-0"), "{both:#?}");
}

#[test]
fn too_many_flows_on_a_link_are_a_collision() {
    let mut rings = Rings::new(2, 8, &[8], true);
    // Two queue pairs of other NICs of the same leaf take the same uplink: each gets half of its share.
    let (path, mut slow) = (rings.path(0, 8, 0, 0, 8), Vec::new());
    let uplink = path[1].0;
    for flow in 0..rings.directory.flows.len() {
        let links = rings.directory.flows[flow].links.clone();
        let same_leaf = rings.fabric.target(LinkId(links[0])) == rings.fabric.target(path[0]);
        let same_end = rings.fabric.source(LinkId(links[3])) == rings.fabric.source(path[3]);
        if same_leaf && same_end && slow.len() < 4 {
            (rings.directory.flows[flow].links[1], rings.directory.flows[flow].links[2]) =
                (uplink, path[2].0);
            slow.push(flow as u32);
        }
    }
    assert_eq!(slow.len(), 4);
    // Uplinks have twice the capacity of access links: four flows at once get half of what they could.
    let times = 4.0 * rings.fabric.capacity(path[0]).bits_per_s() as f64
        / rings.fabric.capacity(path[1]).bits_per_s() as f64;
    assert!(times > 1.2, "{times}");
    let findings = rings.found(64, &[Slow::Flows(slow.clone(), times)], 0.02, 9);
    assert_eq!(only(&findings).syndrome, Syndrome::Collision);
    let broken = rings.found(64, &[Slow::Flows(slow, 3.0 * times)], 0.02, 9);
    assert_eq!(only(&broken).syndrome, Syndrome::CommunicationSlow);
}

#[test]
fn slowness_that_goes_with_the_path_was_a_collision() {
    let mut rings = Rings::new(2, 8, &[8, 4, 7], true);
    let slow: Vec<u32> = vec![0];
    let before: Vec<u32> = (0..rings.directory.flows.len() as u32).collect();
    let old = rings.path(0, 8, 0, 0, 40);
    rings.directory.flows[0].links = old.iter().map(|link| link.0).collect();
    let again = rings.connect(0, 8, 0, 0, 30, true);
    // Another pair's new queue pair goes over the old links at full speed.
    let later = rings.connect(1, 9, 0, 0, 31, true) as usize;
    let between = old[1..3].iter().map(|link| link.0);
    rings.directory.flows[later].links.splice(1..3, between);
    let mut lot = Lot(10);
    let mut batches: Vec<_> = (0..40)
        .map(|step| rings.batch(step, &before, &[Slow::Flows(slow.clone(), 2.0)], 0.02, &mut lot))
        .collect();
    let after: Vec<u32> =
        before.iter().copied().filter(|&flow| flow != 0).chain([again, later as u32]).collect();
    batches.extend((40..120).map(|step| rings.batch(step, &after, &[], 0.02, &mut lot)));
    let findings = rings.diagnose(batches.into_iter());
    let syndromes: Vec<_> = findings.iter().map(|finding| finding.syndrome).collect();
    assert_eq!(syndromes, [Syndrome::CommunicationSlow, Syndrome::Collision], "{findings:#?}");
}

#[test]
fn healthy_rings_are_left_alone() {
    for (orders, jitter) in [(&TWO_ORDERS[..], 0.02), (&[1][..], 0.1), (&TWO_ORDERS[..], 0.3)] {
        for seed in 0..4 {
            let rings = Rings::new(2, 8, orders, seed % 2 == 0);
            assert_eq!(rings.found(200, &[], jitter, seed), [], "{orders:?} {jitter} {seed}");
        }
    }
}

#[test]
fn single_bad_operations_are_chance() {
    let rings = Rings::new(2, 8, &TWO_ORDERS, true);
    let flows: Vec<u32> = (0..rings.directory.flows.len() as u32).collect();
    let mut lot = Lot(11);
    let batches: Vec<_> = (0..400)
        .map(|step| {
            let bad: Vec<u32> = flows.iter().copied().filter(|_| lot.uniform() < 2e-4).collect();
            rings.batch(step, &flows, &[Slow::Flows(bad, 20.0)], 0.02, &mut lot)
        })
        .collect();
    assert_eq!(rings.diagnose(batches.into_iter()), []);
}
