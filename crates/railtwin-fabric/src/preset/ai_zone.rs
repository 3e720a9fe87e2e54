//! Meta's AI zone: racks under one leaf each, all of them on the same spines.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::ClosSpec;
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::section! {
    /// Meta's AI zone (Meta RoCE section 3.3): a rack of hosts under one leaf (RTSW) that serves all
    /// their NICs, one cable from each leaf to each spine (CTSW), cores (ATSW) over several zones.
    ///
    /// The number of uplinks is the stage of evolution (section 6.2): with 16 ports down, 16 are 1:1,
    /// 32 are 1:2 and 18 are 1:1.125, which leaves two links to lose.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AiZone "[fabric]" sparse {
        /// Zones.
        pub pods: u32 [whole(1..=SWITCHES)] = 1,
        /// Racks in a zone. Eight have the 128 GPUs of the paper's benchmarks; it prints no size of a zone.
        pub segments: u32 [whole(1..=SWITCHES)] = 8,
        /// Active hosts in a rack. Two are what 16 uplinks at 1:1 (Meta RoCE section 4.4.2) imply.
        pub hosts: u32 [whole(1..=HOSTS)] = 2,
        /// Uplinks of a leaf, one to each spine.
        pub uplinks: u32 [whole(1..=PORTS)] = 18,
        /// Ports of a spine towards the core; zones are oversubscribed towards each other, by how much is not
        /// printed.
        pub spine_up: u32 [whole(0..=PORTS)] = 0,
        /// Cores; default one for each spine of a zone.
        pub cores: Option<u32> [whole(1..=SWITCHES)] = None,
        /// Capacity of leaf-spine and spine-core cables; default that of a NIC port, so that ratios of ports are
        /// ratios of capacity.
        pub uplink: Option<Rate> = None,
        /// Capacity of a switch chip; default the largest that there are, as spines are modular.
        pub chip: Option<Rate> = None,
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a host is; default grand-teton.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Layout for AiZone {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::grand_teton())?;
        if self.pods > 1 && self.spine_up == 0 {
            let accepted = "several zones meet over cores: write a whole number from 1 up, at best up to the racks of a zone";
            return Err(FabricError::range("spine_up", self.spine_up, accepted));
        }
        let uplink = self.uplink.unwrap_or(host.nic.port_capacity);
        Ok(self.delays.over(ClosSpec {
            pods: self.pods,
            segments: self.segments,
            hosts: self.hosts,
            spines: self.uplinks,
            uplink,
            spine_up: self.spine_up,
            cores: self.cores.unwrap_or(self.uplinks),
            core_link: uplink,
            chip: self.chip.into(),
            ..ClosSpec::of("ai-zone", host)
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
    use crate::design::DesignReport;

    /// Meta RoCE section 6.2: the stages differ in uplinks alone.
    #[test]
    fn stages_have_the_ratios_of_the_paper() {
        for (uplinks, ratio) in [(16, 1.0), (32, 0.5), (18, 1.0 / 1.125)] {
            let report = DesignReport::of(&AiZone { uplinks, ..AiZone::default() }.build().unwrap());
            let leaf = &report.tiers[0];
            assert_eq!((leaf.switches, leaf.down_ports, leaf.up_ports), (8, 16, uplinks));
            assert!((leaf.oversubscription.unwrap() - ratio).abs() < 1e-12);
            assert_eq!((report.gpus_active, report.gpus_per_segment), (128, 16));
            assert_eq!((report.tiers[1].switches, report.tiers[1].down_ports), (uplinks, 8));
            assert_eq!((report.cables_access, report.cables_leaf_spine), (128, 8 * uplinks));
            assert_eq!(report.path_choices, uplinks);
        }
    }

    #[test]
    fn the_first_generation_has_links_of_200_gbps() {
        let zone = AiZone { host: HostSpec::named("zion-ex"), uplinks: 16, ..AiZone::default() };
        let report = DesignReport::of(&zone.build().unwrap());
        assert_eq!(report.tiers[0].up_capacity, Rate::from_gbps(200));
        assert_eq!(report.tiers[0].oversubscription, Some(1.0));
        assert_eq!(report.host_backend, Rate::from_gbps(8 * 200));
    }

    #[test]
    fn zones_meet_over_cores_with_less_than_they_have() {
        let zones = AiZone { pods: 3, segments: 4, spine_up: 2, ..AiZone::default() };
        let report = DesignReport::of(&zones.build().unwrap());
        assert_eq!((report.pods, report.gpus_active, report.tiers[1].oversubscription), (3, 192, Some(2.0)));
        assert_eq!((report.tiers[2].switches, report.tiers[2].down_ports), (18, 6));
        let error = AiZone { pods: 2, ..AiZone::default() }.build().unwrap_err().to_string();
        assert!(error.starts_with("spine_up = 0: several zones meet over cores"), "{error}");
    }
}
