//! Rules of dual-ToR sets: LACP, ARP, versions.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_routing::protocol::set::REAL_PORTS;
use railtwin_units::SimTime;

use super::settings::{ConfigSettings, LeafSettings};
use super::{ConfigFinding, ConfigRule};

pub(super) fn findings(settings: &ConfigSettings) -> Vec<ConfigFinding> {
    let mut findings = Vec::new();
    let mut sets: BTreeMap<&str, Vec<&LeafSettings>> = BTreeMap::new();
    for leaf in &settings.leaves {
        sets.entry(&leaf.set).or_default().push(leaf);
    }
    for (set, leaves) in &sets {
        if leaves.len() > 1 {
            of_set(set, leaves, &mut findings);
        }
    }
    shared_subnets(&sets, &mut findings);
    for leaf in settings.leaves.iter().filter(|leaf| !leaf.arp_proxy && leaf.mac_aging > SimTime::ZERO) {
        let value = format!("no ARP proxy, MAC addresses live {}", leaf.mac_aging);
        findings.push(ConfigFinding::new(ConfigRule::ArpProxy, &leaf.name, value, "an ARP proxy"));
    }
    findings
}

fn of_set(set: &str, leaves: &[&LeafSettings], findings: &mut Vec<ConfigFinding>) {
    let place = format!("set {set}");
    let stacked = leaves.iter().filter(|leaf| leaf.stacked).count();
    if stacked > 0 {
        versions(&place, leaves, findings);
    }
    // Stacked leaves agree on their ids by their link.
    if stacked == leaves.len() {
        return;
    }
    for leaf in leaves {
        offset(leaf, findings);
        match &leaf.system_id {
            None => findings.push(ConfigFinding::new(
                ConfigRule::LacpSystemId,
                &leaf.name,
                "no system id, so its own address",
                "one system id for the set, such as 00:00:5e:00:01:01",
            )),
            Some(id) if !is_free(id) => findings.push(ConfigFinding::new(
                ConfigRule::LacpReserved,
                &leaf.name,
                id,
                "00:00:5e:00:01:01 to 00:00:5e:00:01:ff, or a locally administered address such as 02:00:00:00:00:01",
            )),
            Some(_) => {}
        }
    }
    let ids: BTreeSet<String> =
        leaves.iter().filter_map(|leaf| leaf.system_id.as_ref()).map(|id| id.to_lowercase()).collect();
    if ids.len() > 1 {
        let value = ids.into_iter().collect::<Vec<_>>().join(", ");
        findings.push(ConfigFinding::new(
            ConfigRule::LacpSystemId,
            &place,
            value,
            "one system id for the set",
        ));
    }
    let first = &leaves[0].lacp_keys;
    if let Some(other) = leaves.iter().find(|leaf| leaf.lacp_keys != *first) {
        let value =
            format!("{} in {}, {} in {}", keys(first), leaves[0].name, keys(&other.lacp_keys), other.name);
        findings.push(ConfigFinding::new(
            ConfigRule::LacpKey,
            &place,
            value,
            "the same keys in all leaves of the set",
        ));
    }
    for (at, one) in leaves.iter().enumerate() {
        for other in &leaves[at + 1..] {
            port_ids(&place, one, other, findings);
        }
    }
}

fn offset(leaf: &LeafSettings, findings: &mut Vec<ConfigFinding>) {
    let offset = leaf.port_offset.unwrap_or(0);
    if offset <= REAL_PORTS {
        let said = if leaf.port_offset.is_some() { "port_offset" } else { "no port_offset:" };
        let accepted = "above 256, and other in each leaf of the set, such as 300 and 600";
        findings.push(ConfigFinding::new(
            ConfigRule::LacpOffset,
            &leaf.name,
            format!("{said} {offset}"),
            accepted,
        ));
    }
    if offset.saturating_add(leaf.ports) > u32::from(u16::MAX) {
        let value = format!("port_offset {offset} and {} ports", leaf.ports);
        findings.push(ConfigFinding::new(ConfigRule::LacpOffset, &leaf.name, value, "port ids up to 65535"));
    }
}

/// Ids of two leaves are two ranges; where these meet, one id stands twice.
fn port_ids(place: &str, one: &LeafSettings, other: &LeafSettings, findings: &mut Vec<ConfigFinding>) {
    let range = |leaf: &LeafSettings| {
        let offset = leaf.port_offset.unwrap_or(0);
        (offset + 1, offset.saturating_add(leaf.ports))
    };
    let ((first_a, last_a), (first_b, last_b)) = (range(one), range(other));
    let same = |a: &Option<String>, b: &Option<String>| {
        a.as_deref().map(str::to_lowercase) == b.as_deref().map(str::to_lowercase)
    };
    if first_a.max(first_b) <= last_a.min(last_b) && same(&one.system_id, &other.system_id) {
        let value =
            format!("{} has {first_a} to {last_a}, {} has {first_b} to {last_b}", one.name, other.name);
        let accepted =
            "port ids that no other leaf of the set has: offsets that differ by the number of ports";
        findings.push(ConfigFinding::new(ConfigRule::LacpPortId, place, value, accepted));
    }
}

fn keys(keys: &[u32]) -> String {
    match keys {
        [] => "no key".to_owned(),
        [only] => format!("key {only}"),
        [first, .., last] => format!("{} keys from {first} to {last}", keys.len()),
    }
}

fn versions(place: &str, leaves: &[&LeafSettings], findings: &mut Vec<ConfigFinding>) {
    let versions: BTreeSet<&str> =
        leaves.iter().map(|leaf| leaf.version.as_deref().unwrap_or("unknown")).collect();
    if versions.len() > 1 || versions.contains("unknown") {
        let value = versions.into_iter().collect::<Vec<_>>().join(", ");
        let accepted = "one known version in both leaves, or leaves that are not stacked";
        findings.push(ConfigFinding::new(ConfigRule::StackedVersion, place, value, accepted));
    }
}

fn shared_subnets(sets: &BTreeMap<&str, Vec<&LeafSettings>>, findings: &mut Vec<ConfigFinding>) {
    let mut of_subnet: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for (set, leaves) in sets {
        for leaf in leaves {
            if let (Some(subnet), Some(id)) = (&leaf.subnet, &leaf.system_id) {
                of_subnet.entry((subnet.clone(), id.to_lowercase())).or_default().insert(set);
            }
        }
    }
    for ((subnet, id), sets) in of_subnet.into_iter().filter(|(_, sets)| sets.len() > 1) {
        let sets = sets.into_iter().collect::<Vec<_>>().join(", ");
        let accepted = "a system id of its own for each set of a network, or a network for each set";
        findings.push(ConfigFinding::new(
            ConfigRule::LacpSubnet,
            subnet,
            format!("{id} in sets {sets}"),
            accepted,
        ));
    }
}

/// Whether an address is of a virtual router or locally administered, and no group's.
fn is_free(id: &str) -> bool {
    let parts: Vec<&str> = id.split([':', '-']).collect();
    let bytes: Option<Vec<u8>> = parts
        .iter()
        .map(|part| (part.len() == 2).then(|| u8::from_str_radix(part, 16).ok()).flatten())
        .collect();
    match bytes.as_deref() {
        Some([0, 0, 0x5e, 0, 1, router]) => *router > 0,
        Some([first, _, _, _, _, _]) => first & 0b11 == 0b10,
        _ => false,
    }
}
