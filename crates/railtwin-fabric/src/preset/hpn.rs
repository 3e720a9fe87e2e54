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
    /// A field that is `None` takes what the other fields imply.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Hpn "[fabric]" sparse {
        /// Pods.
        pub pods: u32 [whole(1..=SWITCHES)] = 1,
        /// Segments in a pod; default what fills a spine: 15 with planes, 7 without, 120 rail-only.
        pub segments: Option<u32> [whole(1..=SWITCHES)] = None,
        /// Active hosts in a segment; default 128, or 64 with a single ToR.
        pub hosts: Option<u32> [whole(1..=HOSTS)] = None,
        /// Backup hosts in a segment; default 8, or 4 with a single ToR.
        pub spare_hosts: Option<u32> [whole(0..=HOSTS)] = None,
        /// Whether the two leaves of a set stand in separate planes.
        pub planes: bool = true,
        /// Whether a NIC reaches two leaves. Without it all its ports end on one.
        pub dual_tor: bool = true,
        /// What tier 2 connects.
        pub tier2: Tier2 = Tier2::AnyToAny,
        /// Spines in a pod, or in a plane of it.
        pub spines: u32 [whole(0..=SWITCHES)] = 60,
        /// Ports of a spine towards the core.
        pub spine_up: u32 [whole(0..=PORTS)] = 8,
        /// Cores, or cores in a plane.
        pub cores: u32 [whole(1..=SWITCHES)] = 60,
        /// Capacity of leaf-spine and spine-core cables.
        pub uplink: Rate = Rate::from_gbps(400),
        /// Capacity of a switch chip.
        pub chip: Rate = Rate::from_gbps(51_200),
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a host is; default hgx-h800.
        pub host: HostSpec = HostSpec::default(),
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
        let segments = ports.saturating_sub(self.spine_up) / under_one_spine.max(1);
        let share = if self.dual_tor { 1 } else { host.nic.ports.max(1) };
        Ok(self.delays.over(ClosSpec {
            pods: self.pods,
            segments: self.segments.unwrap_or(segments),
            hosts: self.hosts.unwrap_or(128 / share),
            spare_hosts: self.spare_hosts.unwrap_or(8 / share),
            rails_per_leaf: 1,
            tors,
            groups,
            spines: self.spines,
            uplink: self.uplink,
            spine_up: self.spine_up,
            cores: self.cores,
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
