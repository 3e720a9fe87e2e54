//! The traffic matrix: which NIC port wants to send how much to which NIC.

use railtwin_fabric::DeviceId;
use railtwin_routing::NicPort;
use railtwin_units::Rate;

/// What one NIC port wants to send to one NIC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Demand {
    /// Where it leaves.
    pub source: NicPort,
    /// The NIC that it goes to.
    pub target: DeviceId,
    /// How fast, over all queue pairs.
    pub rate: Rate,
}

/// Demands, one for each pair of NIC port and NIC, in order of pairs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TrafficMatrix {
    demands: Vec<Demand>,
}

impl TrafficMatrix {
    /// The demands, ordered by source and target; each pair once.
    pub fn demands(&self) -> &[Demand] {
        &self.demands
    }
}

/// Demands of the same pair add up; those of rate zero are dropped.
impl FromIterator<Demand> for TrafficMatrix {
    fn from_iter<I: IntoIterator<Item = Demand>>(demands: I) -> Self {
        let mut demands: Vec<Demand> =
            demands.into_iter().filter(|demand| demand.rate > Rate::ZERO).collect();
        demands.sort_unstable();
        demands.dedup_by(|next, kept| {
            let same = (next.source, next.target) == (kept.source, kept.target);
            if same {
                let sum = kept.rate.bits_per_s().saturating_add(next.rate.bits_per_s());
                kept.rate = Rate::from_bits_per_s(sum);
            }
            same
        });
        Self { demands }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_of_a_pair_add_up() {
        let source = |port| NicPort { nic: DeviceId(4), port };
        let demand = |port, target, gbps| Demand {
            source: source(port),
            target: DeviceId(target),
            rate: Rate::from_gbps(gbps),
        };
        let list = [demand(1, 9, 3), demand(0, 9, 1), demand(1, 9, 4), demand(0, 8, 0)];
        let matrix: TrafficMatrix = list.into_iter().collect();
        assert_eq!(matrix.demands(), [demand(0, 9, 1), demand(1, 9, 7)]);
    }
}
