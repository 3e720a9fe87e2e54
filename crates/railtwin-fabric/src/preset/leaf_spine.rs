//! Two tiers.
use railtwin_units::keys::whole;
use railtwin_units::{Rate, SimTime};

use crate::clos::{ClosSpec, LEAF_SPINE_DELAY, SWITCH_LATENCY};
use crate::delays::CableDelays;
use crate::error::FabricError;
use crate::host::{HostModel, MOST_NICS};
use crate::host_spec::HostSpec;
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::section! {
    /// Two tiers, every leaf to every spine. With dual-port NICs leaves come in pairs.
    #[derive(Clone, PartialEq, Debug)]
    pub struct LeafSpine "[fabric]" sparse {
        /// Leaves.
        pub leaves: u32 [whole(1..=SWITCHES)] = 8,
        /// Hosts under a leaf, or under a leaf pair with dual-port NICs.
        pub hosts_per_leaf: u32 [whole(1..=HOSTS)] = 4,
        /// NICs of a host that share leaves; default all. With fewer, groups of hosts have a set of leaves for each
        /// share of their NICs, as C4's testbed has (C4 table II).
        pub rails_per_leaf: Option<u32> [whole(1..=MOST_NICS)] = None,
        /// Uplinks of a leaf, one to each spine.
        pub uplinks: u32 [whole(1..=PORTS)] = 8,
        /// Parallel cables between a leaf and each spine.
        pub parallel: u32 [whole(1..=PORTS)] = 1,
        /// Capacity of an uplink cable.
        pub uplink_capacity: Rate = Rate::from_gbps(400),
        /// Capacity of a switch chip; default the largest that there are.
        pub chip: Option<Rate> = None,
        /// Delay of every cable of the network.
        pub delay: SimTime = LEAF_SPINE_DELAY,
        /// Time from a packet's arrival at an idle switch to its departure.
        pub switch_latency: SimTime = SWITCH_LATENCY,
        /// Delays of cables, by class.
        pub delays: CableDelays [flat] = CableDelays::default(),
        /// What a host is; default hgx-h800.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Layout for LeafSpine {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::hgx_h800())?;
        let tors = host.nic.ports.max(1);
        let nics = host.nics.max(1);
        let rails = self.rails_per_leaf.unwrap_or(nics);
        if rails == 0 || !nics.is_multiple_of(rails) {
            let accepted = format!("leaves share the {nics} NICs of a host: write a divisor of {nics}");
            return Err(FabricError::range("rails_per_leaf", rails, accepted));
        }
        let set = tors * (nics / rails);
        if self.leaves == 0 || !self.leaves.is_multiple_of(set) {
            let accepted = format!("the ports of a host go to {set} leaves: write a multiple of {set}");
            return Err(FabricError::range("leaves", self.leaves, accepted));
        }
        Ok(self.delays.over(ClosSpec {
            segments: self.leaves / set,
            hosts: self.hosts_per_leaf,
            rails_per_leaf: rails,
            tors,
            spines: self.uplinks,
            parallel: self.parallel,
            uplink: self.uplink_capacity,
            core_link: self.uplink_capacity,
            chip: self.chip.into(),
            access_delay: self.delay,
            leaf_spine_delay: self.delay,
            spine_core_delay: self.delay,
            switch_latency: self.switch_latency,
            ..ClosSpec::of("leaf-spine", host)
        }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }

    fn chip(&self) -> Option<Rate> {
        self.chip
    }
}
