//! Leaves with cables to each other.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::{ClosSpec, Peers};
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::section! {
    /// A full mesh: every leaf with hosts of its own and cables to every other leaf, without spines.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Mesh "[fabric]" sparse {
        /// Leaves.
        pub leaves: u32 [whole(2..=SWITCHES)] = 8,
        /// Active hosts under a leaf.
        pub hosts_per_leaf: u32 [whole(1..=HOSTS)] = 4,
        /// Cables between every two leaves.
        pub parallel: u32 [whole(1..=PORTS)] = 4,
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

impl Layout for Mesh {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::dgx_h100())?;
        Ok(self.delays.over(ClosSpec {
            segments: self.leaves,
            hosts: self.hosts_per_leaf,
            uplink: self.uplink.unwrap_or(host.nic.port_capacity),
            peers: Peers::Leaves(self.parallel),
            chip: self.chip.into(),
            ..ClosSpec::of("mesh", host)
        }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }

    fn chip(&self) -> Option<Rate> {
        self.chip
    }

    fn cannot_run(&self) -> Option<&'static str> {
        Some("routes go up and down tiers, and a mesh needs routes from leaf to leaf")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DesignReport;
    use crate::graph::CableClass;
    use crate::reach::Reach;

    /// n leaves with c cables between every two: c n (n - 1) / 2 of them, c (n - 1) ports on each.
    #[test]
    fn every_leaf_reaches_every_other_in_one_hop() {
        let fabric = Mesh::default().build().unwrap();
        let report = DesignReport::of(&fabric);
        assert_eq!((report.gpus_active, report.cables_access, report.cables_peer), (256, 256, 4 * 8 * 7 / 2));
        assert_eq!((report.tiers.len(), report.tiers[0].switches, report.tiers[0].down_ports), (1, 8, 32));
        assert_eq!(report.tiers[0].chip_used, Rate::from_gbps(400 * (32 + 4 * 7)));
        assert!(Reach::of(&fabric).is_whole());
        for &(leaf, _) in fabric.switches() {
            let is_peer = |link: crate::LinkId| fabric.cable_class(link.cable()) == CableClass::Peer;
            let mut others: Vec<_> =
                fabric.neighbors(leaf).iter().filter(|(link, _)| is_peer(*link)).collect();
            assert_eq!(others.len(), 28);
            others.dedup_by_key(|(_, other)| *other);
            assert_eq!(others.len(), 7, "ports of a leaf are in the order of the others");
        }
        for cable in fabric.cables().filter(|&cable| fabric.cable_class(cable) == CableClass::Peer) {
            assert_eq!(fabric.cable_named(&fabric.cable_name(cable)), Some(cable));
        }
    }
}
