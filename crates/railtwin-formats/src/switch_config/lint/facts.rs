//! Settings of a plan, of folders of FRR, and of folders of SONiC.
use std::collections::BTreeMap;

use railtwin_units::{Bytes, SimTime};

use super::settings::{
    ConfigSettings, DaemonSettings, DeadDaemon, HashSettings, HostSettings, LeafSettings, QosSettings,
};
use crate::switch_config::frr::FrrSwitch;
use crate::switch_config::plan::{FabricPlan, LosslessClass, SwitchPlan};
use crate::switch_config::sonic::{SonicQos, SonicSwitch};

/// Time of so many milliseconds.
fn ms(ms: u32) -> SimTime {
    SimTime::from_ns(u64::from(ms) * 1_000_000)
}

/// Settings of a plan, as its exports have them: a watcher for dead daemons, ARP by both ports.
pub fn of_plan(plan: &FabricPlan, arp_proxy: bool) -> ConfigSettings {
    let mut settings = ConfigSettings {
        daemons: DaemonSettings { dead: DeadDaemon::Watcher, ..DaemonSettings::default() },
        hosts: HostSettings { arp_to_both: Some(true) },
        qos: vec![of_class("all switches", &plan.lossless)],
        ..ConfigSettings::default()
    };
    for switch in &plan.switches {
        add_switch(&mut settings, switch, arp_proxy);
    }
    settings
}

fn of_class(on: &str, class: &LosslessClass) -> QosSettings {
    QosSettings {
        on: on.to_owned(),
        lossless: vec![u32::from(class.priority)],
        dscp: vec![u32::from(class.dscp)],
        watchdog: true,
        ecn_min: Some(class.ecn_min),
        ecn_max: Some(class.ecn_max),
        pfc: Some(class.pfc_threshold),
    }
}

fn add_switch(settings: &mut ConfigSettings, switch: &SwitchPlan, arp_proxy: bool) {
    let bfd = switch.timers.bfd.map(|(interval, _)| ms(interval));
    settings.daemons.bfd = least(settings.daemons.bfd, bfd);
    settings.switches.push(HashSettings {
        name: switch.name.clone(),
        tier: u32::from(switch.tier),
        hash_seed: switch.hash_seed,
        hash_policy: None,
    });
    if switch.attachments.is_empty() {
        return;
    }
    let subnet = switch.subnets.first().map(ToString::to_string);
    let keys = switch.attachments.iter().filter_map(|one| one.lacp_key).map(u32::from);
    let last = switch.attachments.iter().flat_map(|one| &one.members).map(|member| member.0 + 1).max();
    settings.leaves.push(LeafSettings {
        system_id: switch.dual_tor.as_ref().map(|tor| tor.system_id.clone()),
        port_offset: switch.dual_tor.as_ref().map(|tor| u32::from(tor.port_offset)),
        ports: last.unwrap_or(1),
        lacp_keys: keys.collect(),
        arp_proxy,
        ..leaf(&switch.name, subnet)
    });
}

/// A leaf in the set of its network.
fn leaf(name: &str, subnet: Option<String>) -> LeafSettings {
    LeafSettings {
        name: name.to_owned(),
        set: subnet.clone().unwrap_or_else(|| name.to_owned()),
        subnet,
        system_id: None,
        port_offset: None,
        ports: 1,
        lacp_keys: Vec::new(),
        stacked: false,
        version: None,
        arp_proxy: true,
        mac_aging: SimTime::from_ns(300_000_000_000),
    }
}

fn least(known: Option<SimTime>, other: Option<SimTime>) -> Option<SimTime> {
    match (known, other) {
        (Some(known), Some(other)) => Some(known.min(other)),
        _ => known.or(other),
    }
}

/// Settings of folders of SONiC.
pub fn of_sonic(switches: &[SonicSwitch]) -> ConfigSettings {
    let mut settings = ConfigSettings::default();
    let mut kinds: BTreeMap<String, QosSettings> = BTreeMap::new();
    let mut watched = true;
    for one in switches {
        let name = &one.switch.name;
        add_switch(&mut settings, &one.switch, one.arp_proxy);
        watched &= one.has_watcher || one.switch.attachments.is_empty();
        let qos = of_qos(&one.qos);
        // Switches that have it alike are one row, under the name of the first.
        kinds.entry(format!("{qos:?}")).or_insert(QosSettings { on: name.clone(), ..qos });
    }
    settings.daemons.dead = if watched { DeadDaemon::Watcher } else { DeadDaemon::Nothing };
    settings.qos = kinds.into_values().collect();
    let row = |on: &str| switches.iter().position(|one| one.switch.name == on);
    settings.qos.sort_by_key(|qos| row(&qos.on));
    settings
}

fn of_qos(qos: &SonicQos) -> QosSettings {
    let dscp = qos.class_of_dscp.iter().filter(|(_, class)| qos.paused.contains(class));
    QosSettings {
        on: String::new(),
        lossless: qos.paused.iter().map(|class| u32::from(*class)).collect(),
        dscp: dscp.map(|(dscp, _)| u32::from(*dscp)).collect(),
        watchdog: qos.unwatched.is_empty(),
        ecn_min: qos.ecn.map(|ecn| Bytes(ecn.0)),
        ecn_max: qos.ecn.map(|ecn| Bytes(ecn.1)),
        pfc: qos.pfc_threshold.map(Bytes),
    }
}

/// Settings of folders of FRR. Leaves that announce one network are a set; tiers follow from the names of switches, and from
/// the ports that lead to hosts.
pub fn of_frr(switches: &[FrrSwitch]) -> ConfigSettings {
    let mut settings = ConfigSettings::default();
    let mut watched = true;
    for one in switches {
        let daemons = &mut settings.daemons;
        daemons.bfd = least(daemons.bfd, one.bfd_ms.map(ms));
        daemons.graceful_restart |= one.graceful_restart;
        daemons.next_hop_objects |= !one.classic_next_hops;
        if let Some(hash_seed) = one.hash_seed {
            let (name, hash_policy) = (one.name.clone(), one.hash_policy);
            settings.switches.push(HashSettings { name, tier: tier(one), hash_seed, hash_policy });
        }
        if one.host_interfaces == 0 {
            continue;
        }
        watched &= one.has_watcher;
        // `down3` is port 4, so its id less 4 is the offset.
        let number = |name: &str| {
            name.trim_start_matches("down").parse::<u32>().ok().map(|index| index.saturating_add(1))
        };
        let offsets = one.port_ids.iter().filter_map(|(name, id)| id.checked_sub(number(name)?));
        let last = one.port_ids.keys().filter_map(|name| number(name)).max();
        let mut keys: Vec<(u32, u32)> =
            one.keys.iter().filter_map(|(name, key)| Some((number(name)?, *key))).collect();
        keys.sort_unstable();
        keys.dedup_by_key(|(_, key)| *key);
        settings.leaves.push(LeafSettings {
            system_id: (!one.system_ids.is_empty()).then(|| one.system_ids.join(", ")),
            port_offset: offsets.min(),
            ports: last.unwrap_or(1),
            lacp_keys: keys.into_iter().map(|(_, key)| key).collect(),
            arp_proxy: one.arp_proxy,
            ..leaf(&one.name, one.subnets.first().cloned())
        });
    }
    settings.daemons.dead = if watched { DeadDaemon::Watcher } else { DeadDaemon::Nothing };
    settings
}

/// Tier of a switch by its name, else 1 where hosts are attached and 2 where not.
fn tier(switch: &FrrSwitch) -> u32 {
    match switch.name.rsplit_once('-').map(|(tier, _)| tier) {
        Some("leaf") => 1,
        Some("spine") => 2,
        Some("core") => 3,
        Some("frontend-leaf") => 4,
        Some("frontend-spine") => 5,
        Some("frontend-core") => 6,
        _ => u32::from(switch.host_interfaces == 0) + 1,
    }
}
