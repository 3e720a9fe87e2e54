//! Attributes of nodes and edges, by the names that tools give them.
//!
//! Learned from: PTM and NetQ of Cumulus Linux (`function`, `role`), the UFM cable validation tool (`role`), containerlab
//! (`kind`), the Internet Topology Zoo (`LinkSpeedRaw`, `label`), networkx and yEd.
use railtwin_fabric::cable_list::{CableNetwork, DeviceRole, role_of};
use railtwin_units::{Rate, SimTime, decimal};

use super::Marks;
use crate::tiers;

/// Attributes that say what a node is, the most telling first.
const ROLES: [&str; 12] = [
    "role",
    "function",
    "devicerole",
    "noderole",
    "nodetype",
    "devicetype",
    "type",
    "kind",
    "class",
    "layer",
    "group",
    "category",
];
const TIERS: [&str; 2] = ["tier", "level"];
/// What a node may say beside its role.
const OTHERS: [&str; 11] = [
    "label",
    "name",
    "hostname",
    "rack",
    "network",
    "domain",
    "subdomain",
    "gpus",
    "adapters",
    "model",
    "istree",
];
const RATES: [&str; 16] = [
    "rate",
    "ratebps",
    "speed",
    "linkspeed",
    "linkspeedraw",
    "bandwidth",
    "bw",
    "capacity",
    "linkbandwidth",
    "portspeed",
    "ratemax",
    "speedgbps",
    "bandwidthgbps",
    "bandwidthmbps",
    "capacitygbps",
    "gbps",
];
const DELAYS: [&str; 10] = [
    "delay",
    "latency",
    "delayps",
    "delayns",
    "delayus",
    "delayms",
    "latencyns",
    "latencyus",
    "latencyms",
    "propagationdelay",
];
const STATES: [&str; 5] = ["state", "status", "operstatus", "linkstate", "oper"];
/// Attributes with the ports of both ends.
const PORTS: [(&str, &str); 21] = [
    ("sourceport", "targetport"),
    ("srcport", "dstport"),
    ("fromport", "toport"),
    ("tailport", "headport"),
    ("taillabel", "headlabel"),
    ("porta", "portb"),
    ("aport", "bport"),
    ("port1", "port2"),
    ("sourceinterface", "targetinterface"),
    ("sourceinterface", "destinationinterface"),
    ("srcinterface", "dstinterface"),
    ("interfacea", "interfaceb"),
    ("ainterface", "binterface"),
    ("localport", "remoteport"),
    ("localinterface", "remoteinterface"),
    ("sourceif", "targetif"),
    ("srcif", "dstif"),
    ("srcintf", "dstintf"),
    ("intf1", "intf2"),
    ("sourcelabel", "targetlabel"),
    ("lport", "rport"),
];
/// Node operating systems and kinds of images of switches, as containerlab names them.
const SWITCH_KINDS: [&str; 12] = [
    "srl",
    "srlinux",
    "ceos",
    "veos",
    "sonic",
    "cumulus",
    "cvx",
    "crpd",
    "nxos",
    "vjunos",
    "dell",
    "ipinfusion",
];

/// A name of an attribute in lower case without `_`, `-`, `.` and blanks.
pub(in crate::forms) fn plain_key(key: &str) -> String {
    key.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether an attribute of a plain name says anything here.
pub(in crate::forms) fn is_known(key: &str) -> bool {
    let ports = || PORTS.iter().any(|(a, b)| *a == key || *b == key);
    [&ROLES[..], &TIERS, &OTHERS, &RATES, &DELAYS, &STATES].iter().any(|keys| keys.contains(&key)) || ports()
}

/// Role that a node states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeRole {
    /// A host, or a switch of a known tier.
    Role(DeviceRole),
    /// A switch of this tier, where one is said.
    Switch(Option<u8>),
}

/// What the attributes of a node say that it is.
pub(super) fn role(marks: &Marks) -> Option<NodeRole> {
    let tier = TIERS.iter().find_map(|key| marks.get(*key)?.trim().parse::<u8>().ok());
    // `type="node"` says nothing.
    let is_telling = |word: &&String| !word.trim().to_ascii_lowercase().ends_with("node");
    let told = ROLES.iter().find_map(|key| role_of_word(marks.get(*key).filter(is_telling)?));
    match (told, tier) {
        (Some(NodeRole::Switch(None)), Some(tier)) if tier > 0 => Some(NodeRole::Switch(Some(tier))),
        (Some(told), _) => Some(told),
        (None, Some(0)) => Some(NodeRole::Role(DeviceRole::Host)),
        (None, Some(tier)) => Some(NodeRole::Switch(Some(tier))),
        (None, None) => None,
    }
}

/// Whether what the attributes of a node say that it is speaks of the network of management.
pub(super) fn is_out_of_band(marks: &Marks) -> bool {
    ROLES.iter().filter_map(|key| marks.get(*key)).any(|word| tiers::is_out_of_band(word))
}

/// The role that a word means: `spine`, `super_spine`, `oob-switch`, `linux`, `h1`.
pub(super) fn role_of_word(word: &str) -> Option<NodeRole> {
    let word = word.trim();
    if let Some(role) = DeviceRole::named(word).or_else(|| role_of(word)) {
        return Some(NodeRole::Role(role));
    }
    let lower = word.to_ascii_lowercase();
    let is_numbered = |letter: char| {
        lower
            .strip_prefix(letter)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let has = |words: &[&str]| words.iter().any(|known| lower.contains(known));
    if has(&["switch", "router"]) || ["sw", "s", "r"].contains(&lower.as_str()) || has(&SWITCH_KINDS) {
        return Some(NodeRole::Switch(None));
    }
    // Mininet numbers its switches and hosts so.
    if ['s', 'r'].into_iter().any(is_numbered) {
        return Some(NodeRole::Switch(None));
    }
    (is_numbered('h') || ["h", "linux", "endpoint", "vm", "container"].contains(&lower.as_str()))
        .then_some(NodeRole::Role(DeviceRole::Host))
}

/// The network that a node is said to be of.
pub(super) fn network(marks: &Marks) -> Option<CableNetwork> {
    CableNetwork::named(marks.get("network")?.trim())
}

/// Ports that the attributes of an edge name: each in one of its own, or both in the label, `swp1 - eth3`.
pub(super) fn ports(marks: &Marks) -> [Option<String>; 2] {
    let clean = |text: &String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    for (a, b) in PORTS {
        let found = [a, b].map(|key| marks.get(key).and_then(clean));
        if found.iter().any(Option::is_some) {
            return found;
        }
    }
    let Some(label) = marks.get("label") else { return [None, None] };
    for separator in [" - ", " -- ", " <-> ", " <--> ", " -> ", "\\n", "\n", " to "] {
        if let Some((a, b)) = label.split_once(separator)
            && ![a, b].iter().any(|part| part.contains(separator) || is_rate(part))
        {
            return [a, b].map(|part| clean(&part.to_owned()));
        }
    }
    [None, None]
}

/// Whether part of a label is a rate or a length with its unit, not a port.
fn is_rate(part: &str) -> bool {
    part.contains(char::is_alphabetic) && rate_of("rate", part).is_some()
}

/// The rate that the attributes of an edge say.
pub(super) fn rate(marks: &Marks) -> Option<Rate> {
    // The raw value says bits per second, the rounded one stands beside its unit in another attribute.
    let raw = marks.get("linkspeedraw").and_then(|value| rate_of("linkspeedraw", value));
    raw.or_else(|| RATES.iter().find_map(|key| rate_of(key, marks.get(*key)?)))
}

/// A rate in words: `400G`, `400 Gbps`, `400GbE`, `50 GB/s`, or a bare number. A bare number is of the unit in the key, else
/// of bit/s from a million on, else of Gb/s up to 3200 and of Mb/s above.
fn rate_of(key: &str, value: &str) -> Option<Rate> {
    let value = value.trim();
    let split = value.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(value.len());
    let (number, unit) = (&value[..split], value[split..].trim());
    let scale = match unit.chars().next().map(|letter| letter.to_ascii_lowercase()) {
        None => bare_scale(key, number)?,
        Some('b') => 1,
        Some('k') => 1_000,
        Some('m') => 1_000_000,
        Some('g') => 1_000_000_000,
        Some('t') => 1_000_000_000_000,
        Some(_) => return None,
    };
    let is_unit = unit.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-".contains(&byte));
    let scale = if unit.ends_with("B/s") || unit.ends_with("Bps") { scale * 8 } else { scale };
    decimal::scaled(number, scale).ok().filter(|&rate| rate > 0 && is_unit).map(Rate::from_bits_per_s)
}

/// Bits per second of 1 of a number without a unit.
fn bare_scale(key: &str, number: &str) -> Option<u64> {
    let value: f64 = number.parse().ok()?;
    Some(match key {
        _ if key.ends_with("gbps") => 1_000_000_000,
        _ if key.ends_with("mbps") => 1_000_000,
        _ if key.ends_with("bps") || key.ends_with("raw") || value >= 1e6 => 1,
        _ if value <= 3_200.0 => 1_000_000_000,
        _ => 1_000_000,
    })
}

/// The delay that the attributes of an edge say: with a unit in the value or in the key.
pub(super) fn delay(marks: &Marks) -> Option<SimTime> {
    DELAYS.iter().find_map(|key| {
        let value = marks.get(*key)?.trim();
        let split =
            value.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(value.len());
        let (number, unit) = (&value[..split], value[split..].trim());
        let unit = if unit.is_empty() { &key[key.len() - 2..] } else { unit };
        let scale = match unit {
            "ps" => 1,
            "ns" => 1_000,
            "us" | "µs" | "usec" => 1_000_000,
            "ms" | "msec" => 1_000_000_000,
            "s" | "sec" => 1_000_000_000_000,
            _ => return None,
        };
        decimal::scaled(number, scale).ok().map(SimTime::from_ps)
    })
}

/// Whether an edge is said to be down.
pub(super) fn is_down(marks: &Marks) -> bool {
    let words = ["down", "offline", "disconnected", "failed", "unplugged"];
    STATES
        .iter()
        .filter_map(|key| marks.get(*key))
        .any(|state| words.contains(&state.trim().to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_many_forms() {
        for (key, value, expected) in [
            ("speed", "400G", 400_000_000_000),
            ("speed", "400 Gbps", 400_000_000_000),
            ("speed", "100GbE", 100_000_000_000),
            ("speed", "400GBASE-DR4", 400_000_000_000),
            ("speed", "50 GB/s", 400_000_000_000),
            ("bandwidth", "2.5Gbit/s", 2_500_000_000),
            ("bandwidth", "100000", 100_000_000_000),
            ("bandwidth", "400", 400_000_000_000),
            ("linkspeedraw", "155000000.0", 155_000_000),
            ("ratebps", "400", 400),
            ("bandwidthmbps", "400000", 400_000_000_000),
        ] {
            assert_eq!(rate_of(key, value), Some(Rate::from_bits_per_s(expected)), "{key}={value}");
        }
        for value in ["", "fast", "-4G", "4.4.4G", "0", "1 lane", "eth1", "swp1"] {
            assert_eq!(rate_of("speed", value), None, "{value}");
        }
    }

    #[test]
    fn ports_stand_in_attributes_or_in_the_label() {
        let marks = |all: &[(&str, &str)]| -> Marks {
            all.iter().map(|(key, value)| (plain_key(key), (*value).to_owned())).collect()
        };
        let both = |a: &str, b: &str| [a, b].map(|port| Some(port.to_owned()));
        assert_eq!(ports(&marks(&[("taillabel", "swp1"), ("headlabel", "eth3")])), both("swp1", "eth3"));
        assert_eq!(ports(&marks(&[("source_port", "swp1"), ("target-port", "eth3")])), both("swp1", "eth3"));
        assert_eq!(ports(&marks(&[("label", "swp1 - eth3")])), both("swp1", "eth3"));
        for label in ["400G", "400G - 2 km", "a - b - c"] {
            assert_eq!(ports(&marks(&[("label", label)])), [None, None], "{label}");
        }
    }

    #[test]
    fn roles_are_words_of_the_field() {
        for (word, expected) in [
            ("super_spine", NodeRole::Role(DeviceRole::Core)),
            ("leaf", NodeRole::Role(DeviceRole::Leaf)),
            ("spare-host", NodeRole::Role(DeviceRole::SpareHost)),
            ("oob-switch", NodeRole::Switch(None)),
            ("h12", NodeRole::Role(DeviceRole::Host)),
            ("s3", NodeRole::Switch(None)),
            ("linux", NodeRole::Role(DeviceRole::Host)),
        ] {
            assert_eq!(role_of_word(word), Some(expected), "{word}");
        }
        assert_eq!(role_of_word("Berlin"), None);
    }
}
