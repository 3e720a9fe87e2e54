//! Shapes of causes: the sets of flows that a fault at one place touches, and their price in bits.
use std::collections::BTreeSet;

/// Place of a fault, as the set of flows that it touches. Hosts and places are indices of
/// [`TrialSet`](crate::TrialSet).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FaultShape {
    /// All flows of a host.
    Host(usize),
    /// All flows of the port of a host, as host and place.
    Port(usize, usize),
    /// All flows with an end at this place.
    Rail(usize),
    /// All flows with one end at this place and the other at another place.
    RailCut(usize),
    /// All flows between two hosts.
    Pair([usize; 2]),
    /// All flows between the first host and each of the others.
    Star(usize, BTreeSet<usize>),
    /// Flows of a group of hosts.
    Group {
        /// Whether only flows count that have one end in the group and the other outside.
        cut: bool,
        /// The place of the ports in the group; none for all ports of its hosts.
        rail: Option<usize>,
        /// Hosts of the group.
        hosts: BTreeSet<usize>,
    },
    /// All flows that a host sends.
    Sends(usize),
    /// All flows that a host receives.
    Receives(usize),
    /// All flows from the first host to the second.
    OneWay([usize; 2]),
}

/// Counts that prices depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub hosts: usize,
    pub ports: usize,
    pub rails: usize,
    /// Kinds of [`FaultShape`] that the tests could tell.
    pub kinds: usize,
}

impl FaultShape {
    /// Price in bits: the kind, and which one of its kind.
    pub(crate) fn price(&self, of: Counts) -> f64 {
        let hosts = of.hosts.max(1) as f64;
        let pairs = (hosts * (hosts - 1.0) / 2.0).max(1.0);
        (of.kinds.max(1) as f64).log2()
            + match self {
                Self::Host(_) | Self::Sends(_) | Self::Receives(_) => hosts.log2(),
                Self::Port(..) => (of.ports.max(1) as f64).log2(),
                Self::Rail(_) | Self::RailCut(_) => (of.rails.max(1) as f64).log2(),
                Self::Pair(_) => pairs.log2(),
                Self::OneWay(_) => 1.0 + pairs.log2(),
                Self::Star(_, others) => 2.0 * hosts.log2() + log2_choose(of.hosts.max(1) - 1, others.len()),
                Self::Group { hosts: own, .. } => group_price(of, own.len()),
            }
    }

    /// Hosts that the shape names, in the order of their indices.
    pub fn hosts(&self) -> Vec<usize> {
        match self {
            Self::Host(host) | Self::Port(host, _) | Self::Sends(host) | Self::Receives(host) => vec![*host],
            Self::Rail(_) | Self::RailCut(_) => Vec::new(),
            Self::Pair(hosts) | Self::OneWay(hosts) => hosts.to_vec(),
            Self::Star(hub, others) => {
                let mut hosts: Vec<usize> = others.iter().copied().chain([*hub]).collect();
                hosts.sort_unstable();
                hosts
            }
            Self::Group { hosts, .. } => hosts.iter().copied().collect(),
        }
    }
}

/// Price of a group beside the kind: cut or touch, rail or all, number of hosts, which hosts.
pub(crate) fn group_price(of: Counts, members: usize) -> f64 {
    (2.0 * (of.rails as f64 + 1.0)).log2() + (of.hosts.max(1) as f64).log2() + log2_choose(of.hosts, members)
}

/// Binary logarithm of a binomial coefficient.
fn log2_choose(all: usize, some: usize) -> f64 {
    let some = some.min(all);
    (0..some.min(all - some)).map(|at| ((all - at) as f64 / (at + 1) as f64).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_count_the_shapes_of_a_kind() {
        let of = Counts { hosts: 16, ports: 128, rails: 8, kinds: 4 };
        let price = |shape: FaultShape| shape.price(of) - 2.0;
        assert_eq!(price(FaultShape::Host(3)), 4.0);
        assert_eq!(price(FaultShape::Port(3, 1)), 7.0);
        assert!((price(FaultShape::Pair([0, 1])) - 120.0_f64.log2()).abs() < 1e-12);
        let group = FaultShape::Group { cut: true, rail: None, hosts: BTreeSet::from([1, 2]) };
        assert!((price(group) - 18.0_f64.log2() - 4.0 - 120.0_f64.log2()).abs() < 1e-12);
    }
}
