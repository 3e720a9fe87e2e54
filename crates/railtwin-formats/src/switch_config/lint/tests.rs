//! One mistake at a time, each with its rule.
use railtwin_fabric::preset::Hpn;
use railtwin_units::{Bytes, SimTime};

use super::*;
use crate::switch_config::{FabricPlan, PlanOptions};

fn leaf(name: &str, set: &str, offset: u32) -> LeafSettings {
    LeafSettings {
        name: name.to_owned(),
        set: set.to_owned(),
        subnet: Some(format!("net of {set}")),
        system_id: Some("00:00:5E:00:01:01".to_owned()),
        port_offset: Some(offset),
        ports: 128,
        lacp_keys: vec![1, 2],
        stacked: false,
        version: None,
        arp_proxy: true,
        mac_aging: SimTime::from_ns(300_000_000_000),
    }
}

fn switch(name: &str, tier: u32, hash_seed: u32) -> HashSettings {
    HashSettings { name: name.to_owned(), tier, hash_seed, hash_policy: Some(3) }
}

fn qos(on: &str) -> QosSettings {
    QosSettings {
        on: on.to_owned(),
        lossless: vec![3],
        dscp: vec![26],
        watchdog: true,
        ecn_min: Some(Bytes(1_000)),
        ecn_max: Some(Bytes(2_000)),
        pfc: Some(Bytes(3_000)),
    }
}

fn good() -> ConfigSettings {
    ConfigSettings {
        daemons: DaemonSettings {
            dead: DeadDaemon::Lacp,
            bfd: Some(SimTime::from_ns(100_000_000)),
            ..DaemonSettings::default()
        },
        leaves: vec![leaf("a", "1", 300), leaf("b", "1", 600), leaf("c", "2", 300), leaf("d", "2", 600)],
        switches: vec![switch("a", 1, 7), switch("b", 1, 7), switch("s", 2, 8)],
        qos: vec![qos("switches"), qos("hosts")],
        hosts: HostSettings { arp_to_both: Some(true) },
        checklist: Checklist {
            pcie_credits: Some(true),
            relaxed_ordering: Some(true),
            topology_aware_ranks: Some(true),
            zero_byte_messages_eliminated: Some(true),
        },
        ..ConfigSettings::default()
    }
}

/// Rules that settings break after a change.
fn broken(change: impl FnOnce(&mut ConfigSettings)) -> Vec<ConfigRule> {
    let mut settings = good();
    change(&mut settings);
    let mut findings = lint(&settings);
    findings.extend(lint_hosts(&settings));
    findings.into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn good_settings_break_no_rule() {
    assert_eq!(broken(|_| {}), []);
}

#[test]
fn each_mistake_of_lacp_has_its_rule() {
    use ConfigRule::*;
    assert_eq!(broken(|all| all.leaves[1].port_offset = Some(300)), [LacpPortId]);
    assert_eq!(broken(|all| all.leaves[1].port_offset = Some(400)), [LacpPortId], "ranges of 128 ports meet");
    assert_eq!(broken(|all| all.leaves[1].port_offset = Some(100)), [LacpOffset]);
    assert_eq!(broken(|all| all.leaves[1].port_offset = Some(256)), [LacpPortId, LacpOffset]);
    assert_eq!(broken(|all| all.leaves[1].port_offset = Some(65_500)), [LacpOffset]);
    assert_eq!(broken(|all| all.leaves[1].system_id = Some("00:00:5e:00:01:02".to_owned())), [LacpSystemId]);
    assert_eq!(broken(|all| all.leaves[1].system_id = None), [LacpSystemId]);
    assert_eq!(broken(|all| all.leaves[1].lacp_keys = vec![1, 3]), [LacpKey]);
    assert_eq!(
        broken(|all| all.leaves[2..].iter_mut().for_each(|leaf| leaf.subnet = all_one())),
        [LacpSubnet]
    );
    let host = |all: &mut ConfigSettings| {
        all.leaves[..2].iter_mut().for_each(|leaf| leaf.system_id = Some("0c:42:a1:00:00:01".to_owned()));
    };
    assert_eq!(broken(host), [LacpReserved, LacpReserved]);
}

fn all_one() -> Option<String> {
    Some("net of 1".to_owned())
}

#[test]
fn a_stacked_pair_needs_one_version_and_no_ids() {
    let stack = |all: &mut ConfigSettings, versions: [&str; 2]| {
        for (leaf, version) in all.leaves.iter_mut().zip(versions) {
            (leaf.stacked, leaf.version, leaf.port_offset) = (true, Some(version.to_owned()), None);
        }
    };
    assert_eq!(broken(|all| stack(all, ["4.2", "4.2"])), []);
    assert_eq!(broken(|all| stack(all, ["4.2", "4.3"])), [ConfigRule::StackedVersion]);
}

#[test]
fn each_mistake_of_daemons_and_hashes_has_its_rule() {
    use ConfigRule::*;
    assert_eq!(broken(|all| all.leaves[0].arp_proxy = false), [ArpProxy]);
    assert_eq!(broken(|all| all.daemons.dead = super::DeadDaemon::Nothing), [DeadDaemon]);
    assert_eq!(broken(|all| all.daemons.dead = super::DeadDaemon::Restart), [DeadDaemon]);
    let restart = |all: &mut ConfigSettings| {
        (all.daemons.dead, all.daemons.restart) =
            (super::DeadDaemon::Restart, Some(SimTime::from_ns(10_000_000_000)));
    };
    assert_eq!(broken(restart), []);
    assert_eq!(broken(|all| all.daemons.bfd = Some(SimTime::from_ns(50_000_000))), [BfdInterval]);
    assert_eq!(broken(|all| all.daemons.graceful_restart = true), [GracefulRestart]);
    assert_eq!(broken(|all| all.daemons.next_hop_objects = true), [NextHopObjects]);
    assert_eq!(broken(|all| all.switches[2].hash_seed = 7), [HashSeeds]);
    assert_eq!(broken(|all| all.switches[2].hash_policy = Some(1)), [HashPolicy]);
}

#[test]
fn each_mistake_of_the_lossless_class_has_its_rule() {
    use ConfigRule::*;
    let two = |all: &mut ConfigSettings| all.qos.iter_mut().for_each(|qos| qos.lossless = vec![3, 4]);
    assert_eq!(broken(two), [OneLosslessClass, OneLosslessClass]);
    assert_eq!(broken(|all| all.qos[1].lossless = vec![4]), [OneLosslessClass]);
    assert_eq!(broken(|all| all.qos[1].dscp = vec![26, 34]), [SameDscp]);
    assert_eq!(broken(|all| all.qos[0].watchdog = false), [PfcWatchdog]);
    assert_eq!(broken(|all| all.qos[0].ecn_max = Some(Bytes(3_000))), [EcnBelowPfc]);
}

#[test]
fn each_item_of_hosts_has_its_rule() {
    use ConfigRule::*;
    assert_eq!(broken(|all| all.hosts.arp_to_both = None), [ArpBoth]);
    assert_eq!(broken(|all| all.checklist.pcie_credits = Some(false)), [PcieCredits]);
    assert_eq!(
        broken(|all| all.checklist = Checklist::default()),
        [PcieCredits, RelaxedOrdering, TopologyAwareRanks, ZeroByteMessages]
    );
}

#[test]
fn every_rule_gives_a_reason() {
    for rule in ConfigRule::ALL {
        assert!(
            rule.why().contains("HPN") || rule.why().contains("Meta RoCE") || rule.why().len() > 40,
            "{rule}"
        );
    }
}

#[test]
fn exports_break_no_rule() {
    let fabric =
        Hpn { segments: Some(2), hosts: Some(2), spines: Some(3), ..Hpn::default() }.build().expect("small");
    let plan = FabricPlan::new(&fabric, &PlanOptions::default()).expect("small");
    assert_eq!(lint(&of_plan(&plan, true)), []);
    assert_eq!(lint(&of_plan(&plan, false)).len(), 32, "a leaf without a proxy each");
}
