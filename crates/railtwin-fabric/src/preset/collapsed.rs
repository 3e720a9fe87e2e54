//! Few leaves and nothing above them.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::{ClosSpec, Peers};
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::section! {
    /// A collapsed fabric: all NICs on one pair of leaves or a few, without spines. Ports of a NIC go to different leaves where
    /// it has several; else leaves share the NICs of a host.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Collapsed "[fabric]" sparse {
        /// Leaves.
        pub leaves: u32 [whole(1..=SWITCHES)] = 2,
        /// Active hosts.
        pub hosts: u32 [whole(1..=HOSTS)] = 8,
        /// Cables between every two leaves; none where leaves are not joined.
        pub joined: u32 [whole(0..=PORTS)] = 0,
        /// Capacity of a cable between leaves; default that of a NIC port.
        pub uplink: Option<Rate> = None,
        /// Capacity of a switch chip; default the largest that there are.
        pub chip: Option<Rate> = None,
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a host is; default dgx-h100.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Layout for Collapsed {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::dgx_h100())?;
        // As many leaves for a NIC as it has ports and leaves come in sets of.
        let ports = host.nic.ports.max(1);
        let both = |count: &u32| ports.is_multiple_of(*count) && self.leaves.is_multiple_of(*count);
        let tors = (1..=ports).rev().find(both).unwrap_or(1);
        let sets = self.leaves / tors;
        if sets == 0 || !host.nics.is_multiple_of(sets) {
            let accepted = format!(
                "leaves share the {} NICs of a host and the {ports} ports of a NIC: write a divisor of their product",
                host.nics
            );
            return Err(FabricError::range("leaves", self.leaves, accepted));
        }
        let is_joined = self.joined > 0 && self.leaves > 1;
        Ok(self.delays.over(ClosSpec {
            hosts: self.hosts,
            rails_per_leaf: host.nics / sets,
            tors,
            uplink: self.uplink.unwrap_or(host.nic.port_capacity),
            peers: if is_joined { Peers::Leaves(self.joined) } else { Peers::None },
            chip: self.chip.into(),
            ..ClosSpec::of("collapsed", host)
        }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }

    fn chip(&self) -> Option<Rate> {
        self.chip
    }

    fn cannot_run(&self) -> Option<&'static str> {
        let is_joined = self.joined > 0 && self.leaves > 1;
        is_joined.then_some(
            "routes go up and down tiers, and leaves that are joined need routes from leaf to leaf",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DesignReport;
    use crate::reach::Reach;

    #[test]
    fn leaves_share_nics_or_their_ports() {
        // H hosts of 8 NICs: H × 8 / leaves ports on each leaf, or all of them where NICs reach both.
        let report = DesignReport::of(&Collapsed::default().build().unwrap());
        assert_eq!((report.tiers.len(), report.tiers[0].switches, report.tiers[0].down_ports), (1, 2, 32));
        assert_eq!(report.leaf_single_points_of_failure, 2);
        let dual = Collapsed { host: HostSpec::named("hgx-h100"), ..Collapsed::default() };
        let fabric = dual.build().unwrap();
        let report = DesignReport::of(&fabric);
        assert_eq!((report.tiers[0].down_ports, report.leaf_single_points_of_failure), (64, 0));
        assert!(Reach::of(&fabric).is_whole());
        assert!(Collapsed { leaves: 3, ..Collapsed::default() }.build().is_err());
    }

    #[test]
    fn joined_leaves_reach_each_other() {
        let apart = Collapsed { leaves: 4, ..Collapsed::default() };
        assert!(!Reach::of(&apart.build().unwrap()).is_whole() && apart.cannot_run().is_none());
        let joined = Collapsed { joined: 3, ..apart };
        let fabric = joined.build().unwrap();
        assert!(Reach::of(&fabric).is_whole() && joined.cannot_run().is_some());
        assert_eq!(DesignReport::of(&fabric).cables_peer, 3 * 4 * 3 / 2);
    }
}
