//! Names that SONiC gives to ports, bonds and kinds of switches.
use crate::switch_config::plan::Attachment;

/// Name of port `port` of a switch.
pub(super) fn ethernet(port: u32) -> String {
    format!("Ethernet{port}")
}

/// Index of a port by its name.
pub(super) fn port_of(name: &str) -> Option<u32> {
    name.strip_prefix("Ethernet")?.parse().ok()
}

/// Interface of a NIC: its bond, or its only port.
pub(super) fn interface(one: &Attachment) -> String {
    let first = one.members.first().map_or(0, |member| member.0);
    match one.lacp_key {
        Some(_) => format!("PortChannel{}", first + 1),
        None => ethernet(first),
    }
}

/// VLAN of a leaf's network.
pub(super) fn vlan(index: usize) -> u32 {
    1_000 + index as u32
}

/// SONiC's kind of a switch of a tier.
pub(super) fn kind(tier: u8) -> &'static str {
    match tier {
        1 | 4 => "ToRRouter",
        2 | 5 => "LeafRouter",
        _ => "SpineRouter",
    }
}

/// Tier of a kind of switch; those of the frontend are told by their names.
pub(super) fn tier(kind: &str, name: &str) -> Option<u8> {
    let tier = match kind {
        "ToRRouter" => 1,
        "LeafRouter" => 2,
        "SpineRouter" => 3,
        _ => return None,
    };
    Some(if name.starts_with("frontend-") { tier + 3 } else { tier })
}
