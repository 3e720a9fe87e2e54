//! Alibaba DCN+.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::{Chip, ClosSpec};
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::section! {
    /// Alibaba DCN+: the 3-tier Clos with dual-ToR before HPN (HPN appendix C).
    #[derive(Clone, PartialEq, Debug)]
    pub struct DcnPlus "[fabric]" sparse {
        /// Pods.
        pub pods: u32 [whole(1..=SWITCHES)] = 32,
        /// Segments in a pod.
        pub segments: u32 [whole(1..=SWITCHES)] = 4,
        /// Active hosts in a segment.
        pub hosts: u32 [whole(1..=HOSTS)] = 16,
        /// Spines in a pod.
        pub spines: u32 [whole(0..=SWITCHES)] = 8,
        /// Parallel cables between a leaf and each spine. HPN's appendix C prints one, which contradicts its
        /// «full bisection»; eight give it and fill the chip exactly.
        pub parallel: u32 [whole(1..=PORTS)] = 8,
        /// Cores.
        pub cores: u32 [whole(1..=SWITCHES)] = 128,
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

/// One leaf set serves all rails; spines have as many ports up as down.
impl Layout for DcnPlus {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::hgx_h800())?;
        let tors = host.nic.ports.min(2);
        let ports = self.segments.checked_mul(tors).and_then(|leaves| leaves.checked_mul(self.parallel));
        let spine_up = ports.ok_or(FabricError::TooLarge { what: "ports" })?;
        Ok(self.delays.over(ClosSpec {
            pods: self.pods,
            segments: self.segments,
            hosts: self.hosts,
            tors,
            spines: self.spines,
            parallel: self.parallel,
            uplink: self.uplink,
            spine_up,
            cores: self.cores,
            core_link: self.uplink,
            chip: Chip::Of(self.chip),
            ..ClosSpec::of("dcn-plus", host)
        }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }

    fn chip(&self) -> Option<Rate> {
        Some(self.chip)
    }
}
