//! The settings of the leaves that hosts are bonded to: `[dual_tor]`.
use std::fmt;

use railtwin_units::SimTime;
use railtwin_units::keys::{Keyed, Kind, TextForm, whole};
use railtwin_units::serde::de::Error as _;
use railtwin_units::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::arp::Announce;
use super::lacp::{Cables, LacpRate, Mac, Machine, PortInfo, SelectionRule, Wire};
use super::stack::Version;

/// Ports of a leaf have numbers below this, so an offset above it never makes two leaves' ports alike (HPN section 4.2).
pub const REAL_PORTS: u32 = 256;

railtwin_units::choice! {
    /// How the leaves of a set make one partner for a host's bond.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum SetKind {
        /// Each for itself, by settings alone (HPN section 4.2).
        NonStacked = "non-stacked",
        /// By a peer link and one control plane (HPN section 4.1).
        Stacked = "stacked",
    }
}

railtwin_units::choice! {
    /// How a leaf whose control plane died lets its hosts know.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Remedy {
        /// Not at all: its ports stay up, and what hosts send by them is lost.
        Nothing = "none",
        /// LACP stops with it, so bonds give the leaf up.
        Lacp = "lacp",
        /// A watcher on the leaf takes host ports down when no BGP session is established.
        Watcher = "watcher",
        /// A supervisor starts it again.
        Restart = "restart",
    }
}

railtwin_units::section! {
    /// The leaves that hosts are bonded to: how they make one partner, what hosts accept, and what happens when their
    /// software dies or is upgraded.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct DualTor "[dual_tor]" sparse {
        /// How the leaves of a set make one partner.
        pub kind: SetKind = SetKind::NonStacked,
        /// Which ports a host takes into one bond.
        pub selection: SelectionRule = SelectionRule::Strict,
        /// By which ports of its bond a host announces its address.
        pub announce: Announce = Announce::Both,
        /// LACP system id of the first leaf of a set.
        pub system: Mac = Mac::SET,
        /// That of the others; default the same.
        pub other_system: Option<Mac> = None,
        /// LACP key of the first leaf's ports.
        pub key: u32 [whole(1..=65_535)] = 1,
        /// That of the others; default the same.
        pub other_key: Option<u32> [whole(1..=65_535)] = None,
        /// Added to the numbers of the first leaf's ports.
        pub port_offset: u32 [whole(0..=32_767)] = 300,
        /// Added to those of the second leaf, and once more for each further one; default twice `port_offset`.
        pub other_port_offset: Option<u32> [whole(0..=32_767)] = None,
        /// How a leaf whose control plane died lets its hosts know.
        pub remedy: Remedy = Remedy::Nothing,
        /// From that death until the watcher takes host ports down, or the software runs again.
        pub remedy_after: SimTime = SimTime::from_ns(5_000_000_000),
        /// After how long without a word by the peer link the secondary of a stacked pair acts.
        pub peer_timeout: SimTime = SimTime::from_ns(3_000_000_000),
        /// Software of the leaves.
        pub version: Version = Version { major: 1, minor: 0 },
        /// Software that `kind = "upgrade"` brings.
        pub next_version: Version = Version { major: 2, minor: 0 },
    }
}

/// A mistake in the settings of a set: hosts that go by [`SelectionRule::Strict`] do not bond both leaves, or could not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// Two leaves have different system ids.
    Systems(Mac, Mac),
    /// Two leaves have different keys.
    Keys(u32, u32),
    /// A port of the first leaf and one of another have one number, the first at this offset.
    PortNumbers(u32),
    /// An offset leaves the numbers of real ports in use.
    Offset(u32),
    /// The system id is a group address, or none.
    NoSystem(Mac),
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Systems(one, other) => {
                write!(
                    f,
                    "two leaves of a set have system ids {one} and {other}: a host bonds one system, so write one"
                )
            }
            Self::Keys(one, other) => {
                write!(
                    f,
                    "two leaves of a set have keys {one} and {other}: a host bonds ports of one key, so write one"
                )
            }
            Self::PortNumbers(offset) => {
                write!(
                    f,
                    "two leaves of a set add {offset} to the numbers of their ports: two ports are one, so write two offsets"
                )
            }
            Self::Offset(offset) => {
                write!(
                    f,
                    "the port offset {offset} is not above {REAL_PORTS}: it may meet the number of a real port"
                )
            }
            Self::NoSystem(mac) => {
                write!(f, "{mac} is no system id: write the address of one station, such as {}", Mac::SET)
            }
        }
    }
}

impl DualTor {
    /// Who the port `number` (from 1) of leaf `member` (from 0) of a set says that it is.
    pub fn port(&self, member: u32, number: u32) -> PortInfo {
        let first = member == 0;
        let (system, key) = match first {
            true => (self.system, self.key),
            false => (self.other_system.unwrap_or(self.system), self.other_key.unwrap_or(self.key)),
        };
        let port = number.saturating_add(self.offset(member));
        PortInfo {
            system_priority: 32_768,
            system,
            key: key as u16,
            port_priority: 32_768,
            port: u16::try_from(port).unwrap_or(u16::MAX),
            state: Default::default(),
        }
    }

    /// What leaf `member` of a set adds to the numbers of its ports.
    pub fn offset(&self, member: u32) -> u32 {
        let other = self.other_port_offset.unwrap_or(2 * self.port_offset);
        match member {
            0 => self.port_offset,
            1 => other,
            _ => other.saturating_add((member - 1).saturating_mul(other.abs_diff(self.port_offset))),
        }
    }

    /// What is wrong with it.
    pub fn mistakes(&self) -> Vec<Mistake> {
        let mut found = Vec::new();
        let system = self.other_system.unwrap_or(self.system);
        for mac in [self.system, system] {
            if (mac.0[0] & 1 == 1 || mac == Mac::default()) && !found.contains(&Mistake::NoSystem(mac)) {
                found.push(Mistake::NoSystem(mac));
            }
        }
        if system != self.system {
            found.push(Mistake::Systems(self.system, system));
        }
        let key = self.other_key.unwrap_or(self.key);
        if key != self.key {
            found.push(Mistake::Keys(self.key, key));
        }
        let (one, other) = (self.offset(0), self.offset(1));
        found.extend([one, other].into_iter().filter(|&offset| offset <= REAL_PORTS).map(Mistake::Offset));
        if one.abs_diff(other) < REAL_PORTS && self.kind == SetKind::NonStacked {
            found.push(Mistake::PortNumbers(one));
        }
        found
    }

    /// The cables of a host's bond, each with the leaf of the set and the port number there that it ends at, without
    /// carrier. `wait` is from the moment in which two ends know each other until they use the cable.
    pub fn cables(&self, host: Mac, ends: &[(u32, u32)], rate: LacpRate, wait: SimTime) -> Cables {
        let own = |row: usize| PortInfo {
            system_priority: 65_535,
            system: host,
            key: 1,
            port_priority: 255,
            port: row as u16 + 1,
            state: Default::default(),
        };
        let ports = ends.iter().enumerate().map(|(row, &(member, number))| {
            let leaf = self.port(member, number);
            (Machine::new(own(row), rate, wait), Machine::new(leaf, rate, wait))
        });
        Cables::new(self.selection, ports)
    }

    /// Which cables of a bond are used when all are well.
    pub fn bonded(&self, ends: &[(u32, u32)]) -> Vec<bool> {
        let mut cables = self.cables(Mac([2, 0, 0, 0, 0, 1]), ends, LacpRate::Fast, SimTime::from_ns(1));
        for port in 0..ends.len() {
            cables.set(port, Wire::WELL, || [SimTime::ZERO; 2]);
        }
        cables.pass(SimTime::from_ns(10_000_000_000));
        cables.host().ports.iter().map(Machine::is_distributing).collect()
    }
}

macro_rules! keyed_text {
    ($type:ty, $what:literal, $example:literal, $pattern:literal) => {
        impl Keyed for $type {
            const KIND: Kind = Kind::Like(TextForm {
                what: $what,
                example: $example,
                pattern: $pattern,
                is_one: |text| text.parse::<$type>().is_ok(),
            });

            fn shown(&self) -> Option<String> {
                Some(self.to_string())
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
                output.serialize_str(&self.to_string())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                String::deserialize(input)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

keyed_text!(Mac, "a MAC address", "00:00:5e:00:01:01", "^[0-9a-f]{2}(:[0-9a-f]{2}){5}$");
keyed_text!(Version, "a version", "4.2", "^[0-9]{1,4}[.][0-9]{1,4}$");

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: [(u32, u32); 2] = [(0, 7), (1, 7)];

    fn with(change: impl FnOnce(&mut DualTor)) -> DualTor {
        let mut set = DualTor::default();
        change(&mut set);
        set
    }

    /// The cables that hosts of each rule use, and the mistakes.
    fn judged(set: DualTor) -> ([Vec<bool>; 2], Vec<Mistake>) {
        let rules = [SelectionRule::Strict, SelectionRule::LagId];
        (rules.map(|selection| DualTor { selection, ..set }.bonded(&ENDS)), set.mistakes())
    }

    #[test]
    fn two_leaves_with_one_system_and_different_ports_are_one_bond() {
        let both = vec![true, true];
        assert_eq!(judged(DualTor::default()), ([both.clone(), both], vec![]));
        let set = DualTor::default();
        assert_eq!((set.port(0, 7).port, set.port(1, 7).port, set.port(0, 7).system), (307, 607, Mac::SET));
    }

    #[test]
    fn each_rule_rejects_what_it_does() {
        let (both, one) = (vec![true, true], vec![true, false]);
        let other = Mac([0, 0, 0x5e, 0, 1, 2]);
        assert_eq!(
            judged(with(|set| set.other_system = Some(other))),
            ([one.clone(), one.clone()], vec![Mistake::Systems(Mac::SET, other)])
        );
        assert_eq!(
            judged(with(|set| set.other_key = Some(2))),
            ([one.clone(), one.clone()], vec![Mistake::Keys(1, 2)])
        );
        // One number at both leaves: the paper's hosts refuse the second port, Open vSwitch does not look.
        assert_eq!(
            judged(with(|set| set.other_port_offset = Some(300))),
            ([one, both.clone()], vec![Mistake::PortNumbers(300)])
        );
        let low = with(|set| (set.port_offset, set.other_port_offset) = (100, Some(600)));
        assert_eq!(judged(low), ([both.clone(), both], vec![Mistake::Offset(100)]));
        let group = with(|set| set.system = Mac([1, 0, 0, 0, 0, 0]));
        assert_eq!(group.mistakes(), [Mistake::NoSystem(group.system)]);
    }

    #[test]
    fn no_two_ports_of_a_set_are_one() {
        let set = DualTor::default();
        let mut seen = std::collections::BTreeSet::new();
        for member in 0..4 {
            for number in 1..=REAL_PORTS {
                let info = set.port(member, number);
                assert!(seen.insert((info.system, info.port)), "port {number} of leaf {member}");
                assert!(u32::from(info.port) > REAL_PORTS);
            }
        }
    }
}
