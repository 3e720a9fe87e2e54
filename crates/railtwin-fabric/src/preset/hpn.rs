//! Alibaba HPN.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::{Chip, ClosSpec, SpineGroups};
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::choice! {
    /// What tier 2 of [`Hpn`] connects.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Tier2 {
        /// Any GPU to any GPU.
        AnyToAny = "any-to-any",
        /// Only GPUs of the same rail, one plane per leaf of a segment (HPN section 10, table 4).
        RailOnly = "rail-only",
    }
}

railtwin_units::section! {
    /// Alibaba HPN: rail-optimised, dual-ToR, dual-plane, 51.2T single-chip switches (HPN sections 4 to 7).
    /// A field that is `None` takes what the other fields imply: with a chip of twice the capacity (HPN section 10) every switch
    /// has twice the ports, and a pod four times the GPUs.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Hpn "[fabric]" sparse {
        /// Pods.
        pub pods: u32 [whole(1..=SWITCHES)] = 1,
        /// Segments in a pod; default what fills a spine: 15 with planes, 7 without, 120 rail-only.
        pub segments: Option<u32> [whole(1..=SWITCHES)] = None,
        /// Active hosts in a segment; default 128, or 64 with a single ToR; more or fewer as the chip has more or less than
        /// 51.2 Tbps.
        pub hosts: Option<u32> [whole(1..=HOSTS)] = None,
        /// Backup hosts in a segment; default 8, or 4 with a single ToR; more or fewer with the chip.
        pub spare_hosts: Option<u32> [whole(0..=HOSTS)] = None,
        /// Whether the two leaves of a set stand in separate planes.
        pub planes: bool = true,
        /// Whether a NIC reaches two leaves. Without it all its ports end on one.
        pub dual_tor: bool = true,
        /// What tier 2 connects.
        pub tier2: Tier2 = Tier2::AnyToAny,
        /// Spines in a pod, or in a plane of it; default 60; more or fewer with the chip.
        pub spines: Option<u32> [whole(0..=SWITCHES)] = None,
        /// Ports of a spine towards the core; default 8; more or fewer with the chip.
        pub spine_up: Option<u32> [whole(0..=PORTS)] = None,
        /// Cores, or cores in a plane; default 60; more or fewer with the chip.
        pub cores: Option<u32> [whole(1..=SWITCHES)] = None,
        /// Capacity of leaf-spine and spine-core cables.
        pub uplink: Rate = Rate::from_gbps(400),
        /// Capacity of a switch chip.
        pub chip: Rate = CHIP,
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a host is; default hgx-h800.
        pub host: HostSpec = HostSpec::default(),
    }
}

/// The chip for which HPN prints its counts.
const CHIP: Rate = Rate::from_gbps(51_200);

impl Hpn {
    /// A count of ports or of what they lead to, for the chip: as much more or less as the chip has.
    fn of_chip(&self, printed: u32) -> u32 {
        let ports = u128::from(printed) * u128::from(self.chip.bits_per_s()) / u128::from(CHIP.bits_per_s());
        u32::try_from(ports).unwrap_or(u32::MAX)
    }
}

impl Layout for Hpn {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::hgx_h800())?;
        let tors = if self.dual_tor { host.nic.ports.min(2) } else { 1 };
        let groups = match (self.tier2, self.planes) {
            (Tier2::RailOnly, _) => SpineGroups::PerLeaf,
            (Tier2::AnyToAny, true) => SpineGroups::PerTor,
            (Tier2::AnyToAny, false) => SpineGroups::Single,
        };
        // Ports of a spine chip left for leaves, over the leaves that a segment puts under one spine.
        let leaves = host.nics * tors;
        let under_one_spine = match groups {
            SpineGroups::Single => leaves,
            SpineGroups::PerTor => host.nics,
            SpineGroups::PerLeaf => 1,
        };
        let ports = (self.chip.bits_per_s() / self.uplink.bits_per_s().max(1)) as u32;
        let spine_up = self.spine_up.unwrap_or_else(|| self.of_chip(8));
        let segments = ports.saturating_sub(spine_up) / under_one_spine.max(1);
        let share = if self.dual_tor { 1 } else { host.nic.ports.max(1) };
        Ok(self.delays.over(ClosSpec {
            pods: self.pods,
            segments: self.segments.unwrap_or(segments),
            hosts: self.hosts.unwrap_or_else(|| self.of_chip(128) / share),
            spare_hosts: self.spare_hosts.unwrap_or_else(|| self.of_chip(8) / share),
            rails_per_leaf: 1,
            tors,
            groups,
            spines: self.spines.unwrap_or_else(|| self.of_chip(60)),
            uplink: self.uplink,
            spine_up,
            cores: self.cores.unwrap_or_else(|| self.of_chip(60)),
            core_link: self.uplink,
            chip: Chip::Of(self.chip),
            ..ClosSpec::of("hpn", host)
        }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }

    fn chip(&self) -> Option<Rate> {
        Some(self.chip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DesignReport;

    /// HPN section 10: chips double every two years. Twice the ports down of a leaf and of a spine are four times the GPUs of a
    /// pod, at the same ratios.
    #[test]
    fn a_chip_of_twice_the_capacity_makes_pods_of_four_times_the_gpus() {
        for (chip, times) in [(25_600, 0.5), (51_200, 1.0), (102_400, 2.0)] {
            let hpn = Hpn { chip: Rate::from_gbps(chip), ..Hpn::default() };
            let report = DesignReport::of(&hpn.build().unwrap());
            let of = |printed: f64| (printed * times) as u32;
            let leaf = &report.tiers[0];
            assert_eq!((leaf.down_ports, leaf.spare_ports, leaf.up_ports), (of(128.0), of(8.0), of(60.0)));
            assert_eq!(leaf.chip_used, Rate::from_gbps(chip));
            assert_eq!((report.spines_per_plane, report.tiers[1].up_ports), (of(60.0), of(8.0)));
            assert_eq!((report.segments, report.gpus_per_segment), (of(15.0), of(1024.0)));
            assert_eq!(report.gpus_active, of(15.0) * of(1024.0));
        }
        let single = Hpn { dual_tor: false, planes: false, chip: Rate::from_gbps(102_400), ..Hpn::default() };
        let spec = single.spec().unwrap();
        assert_eq!((spec.hosts, spec.spare_hosts, spec.segments), (128, 8, 30));
        let rails = Hpn { tier2: Tier2::RailOnly, chip: Rate::from_gbps(102_400), ..Hpn::default() };
        let spec = rails.spec().unwrap();
        assert_eq!((spec.segments, spec.segments * spec.hosts * 8), (240, 491_520));
    }

    #[test]
    fn pods_of_larger_chips_meet_in_cores_of_as_many_ports() {
        let hpn = Hpn {
            pods: 4,
            chip: Rate::from_gbps(102_400),
            segments: Some(1),
            hosts: Some(1),
            ..Hpn::default()
        };
        let report = DesignReport::of(&hpn.build().unwrap());
        assert_eq!((report.tiers[2].switches, report.tiers[2].down_ports), (2 * 120, 4 * 16));
    }
}
