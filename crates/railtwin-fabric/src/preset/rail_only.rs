//! Rails alone between scale-up domains.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::{ClosSpec, SpineGroups};
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::section! {
    /// Scale-up domains whose GPUs of one index share a rail, and no cable between rails: what crosses rails crosses NVLink
    /// (Wang et al. 2023; HPN section 10). Domains of 72 or 256 GPUs are made of many hosts.
    #[derive(Clone, PartialEq, Debug)]
    pub struct RailOnly "[fabric]" sparse {
        /// Scale-up domains in a segment, which is as many as share the leaves of their rails.
        pub domains: u32 [whole(1..=HOSTS)] = 8,
        /// Segments; with several, each rail needs spines of its own.
        pub segments: u32 [whole(1..=SWITCHES)] = 1,
        /// Spines of a rail.
        pub spines: u32 [whole(0..=SWITCHES)] = 0,
        /// Parallel cables between a leaf and each spine of its rail.
        pub parallel: u32 [whole(1..=PORTS)] = 1,
        /// Capacity of leaf-spine cables; default that of a NIC port.
        pub uplink: Option<Rate> = None,
        /// Capacity of a switch chip; default the largest that there are.
        pub chip: Option<Rate> = None,
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a scale-up domain is; default gb200-nvl72.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Layout for RailOnly {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::gb200_nvl72())?;
        let uplink = self.uplink.unwrap_or(host.nic.port_capacity);
        Ok(self.delays.over(ClosSpec {
            segments: self.segments,
            hosts: self.domains,
            rails_per_leaf: 1,
            groups: SpineGroups::PerLeaf,
            spines: self.spines,
            parallel: self.parallel,
            uplink,
            chip: self.chip.into(),
            ..ClosSpec::of("rail-only", host)
        }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }

    fn chip(&self) -> Option<Rate> {
        self.chip
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostId;
    use crate::design::DesignReport;
    use crate::reach::Reach;

    /// D domains of G GPUs in t trays: D × t hosts, D × G GPUs and access cables, G leaves of D ports.
    #[test]
    fn domains_of_several_hosts_are_counted_by_both() {
        for (model, gpus, trays) in [("gb200-nvl72", 72, 18), ("dgx-gh200", 256, 32)] {
            let fabric = RailOnly { host: HostSpec::named(model), ..RailOnly::default() }.build().unwrap();
            let report = DesignReport::of(&fabric);
            assert_eq!((report.domains_active, report.hosts_active), (Some(8), 8 * trays));
            assert_eq!((report.gpus_active, report.cables_access), (8 * gpus, 8 * gpus));
            assert_eq!((report.tiers[0].switches, report.tiers[0].down_ports), (gpus, 8));
            assert_eq!(report.bgp_speakers_with_hosts, gpus + 8 * trays);
        }
    }

    #[test]
    fn rails_reach_themselves_alone() {
        let rails = RailOnly { segments: 2, spines: 4, domains: 2, ..RailOnly::default() };
        let fabric = rails.build().unwrap();
        let reach = Reach::of(&fabric);
        assert!(!reach.is_whole());
        for (a, b) in [(0, 0), (0, 1), (71, 71), (71, 0)] {
            assert_eq!(reach.meets(fabric.nic(HostId(0), a), fabric.nic(HostId(3), b)), a == b);
        }
        let report = DesignReport::of(&fabric);
        assert_eq!(
            (report.planes, report.tiers[1].switches, report.cables_leaf_spine),
            (72, 72 * 4, 2 * 72 * 4)
        );
    }
}
