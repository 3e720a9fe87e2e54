//! The presets: recipes that fill a [`ClosSpec`] with the counts of a known design.
use railtwin_units::{Rate, SimTime};

pub use crate::ai_zone::AiZone;
use crate::clos::{Chip, ClosSpec, LARGEST_CHIP, SpineGroups};
use crate::error::FabricError;
use crate::graph::Fabric;
use crate::host::{HostModel, NicModel};

/// 3 m of copper from NIC to leaf at 5 ns/m.
pub(crate) const ACCESS_DELAY: SimTime = SimTime::from_ns(15);
/// 60 m of fibre from leaf to spine at 5 ns/m; HPN section 10 keeps all fibres of a pod under 100 m.
pub(crate) const LEAF_SPINE_DELAY: SimTime = SimTime::from_ns(300);
/// 300 m of fibre between buildings at 5 ns/m.
pub(crate) const SPINE_CORE_DELAY: SimTime = SimTime::from_ns(1_500);
/// Port to port latency of a cut-through 51.2T-class chip.
pub(crate) const SWITCH_LATENCY: SimTime = SimTime::from_ns(700);

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

/// Alibaba HPN: rail-optimised, dual-ToR, dual-plane, 51.2T single-chip switches (HPN sections 4 to 7).
/// A field that is `None` takes what the other fields imply.
#[derive(Clone, PartialEq, Debug)]
pub struct Hpn {
    /// Host model.
    pub host: HostModel,
    /// Pods.
    pub pods: u32,
    /// Segments in a pod: 15 with planes, 7 without, 120 rail-only.
    pub segments: Option<u32>,
    /// Active hosts in a segment: 128, or 64 with a single ToR.
    pub hosts: Option<u32>,
    /// Backup hosts in a segment: 8, or 4 with a single ToR.
    pub spare_hosts: Option<u32>,
    /// Whether the two leaves of a set stand in separate planes.
    pub planes: bool,
    /// Whether a NIC reaches two leaves; otherwise all its ports end on one.
    pub dual_tor: bool,
    /// What tier 2 connects.
    pub tier2: Tier2,
    /// Spines in a plane.
    pub spines: u32,
    /// Ports of a spine towards the core.
    pub spine_up: u32,
    /// Cores in a plane.
    pub cores: u32,
    /// Capacity of leaf-spine and spine-core cables.
    pub uplink: Rate,
    /// Capacity of a switch chip.
    pub chip: Rate,
}

impl Default for Hpn {
    fn default() -> Self {
        Self {
            host: HostModel::hgx_h800(),
            pods: 1,
            segments: None,
            hosts: None,
            spare_hosts: None,
            planes: true,
            dual_tor: true,
            tier2: Tier2::AnyToAny,
            spines: 60,
            spine_up: 8,
            cores: 60,
            uplink: Rate::from_gbps(400),
            chip: Rate::from_gbps(51_200),
        }
    }
}

impl Hpn {
    /// The spelled-out fabric.
    pub fn spec(&self) -> ClosSpec {
        let tors = if self.dual_tor { self.host.nic.ports.min(2) } else { 1 };
        let groups = match (self.tier2, self.planes) {
            (Tier2::RailOnly, _) => SpineGroups::PerLeaf,
            (Tier2::AnyToAny, true) => SpineGroups::PerTor,
            (Tier2::AnyToAny, false) => SpineGroups::Single,
        };
        // Ports of a spine chip left for leaves, over the leaves that a segment puts under one spine.
        let leaves = self.host.nics * tors;
        let under_one_spine = match groups {
            SpineGroups::Single => leaves,
            SpineGroups::PerTor => self.host.nics,
            SpineGroups::PerLeaf => 1,
        };
        let ports = (self.chip.bits_per_s() / self.uplink.bits_per_s().max(1)) as u32;
        let segments = ports.saturating_sub(self.spine_up) / under_one_spine.max(1);
        let share = if self.dual_tor { 1 } else { self.host.nic.ports.max(1) };
        ClosSpec {
            name: "hpn".to_owned(),
            host: self.host.clone(),
            pods: self.pods,
            segments: self.segments.unwrap_or(segments),
            hosts: self.hosts.unwrap_or(128 / share),
            spare_hosts: self.spare_hosts.unwrap_or(8 / share),
            rails_per_leaf: 1,
            tors,
            groups,
            spines: self.spines,
            parallel: 1,
            uplink: self.uplink,
            spine_up: self.spine_up,
            cores: self.cores,
            core_link: self.uplink,
            chip: Chip::Of(self.chip),
            access_delay: ACCESS_DELAY,
            leaf_spine_delay: LEAF_SPINE_DELAY,
            spine_core_delay: SPINE_CORE_DELAY,
            switch_latency: SWITCH_LATENCY,
        }
    }

    /// Builds the graph.
    ///
    /// # Errors
    /// As [`ClosSpec::check`].
    pub fn build(&self) -> Result<Fabric, FabricError> {
        self.spec().build()
    }
}

/// Alibaba DCN+: the 3-tier Clos with dual-ToR before HPN (HPN appendix C).
#[derive(Clone, PartialEq, Debug)]
pub struct DcnPlus {
    /// Host model.
    pub host: HostModel,
    /// Pods.
    pub pods: u32,
    /// Segments in a pod.
    pub segments: u32,
    /// Hosts in a segment.
    pub hosts: u32,
    /// Spines in a pod.
    pub spines: u32,
    /// Parallel cables between a leaf and each spine. Appendix C prints one, which contradicts its
    /// «full bisection»; eight give it and fill the chip exactly.
    pub parallel: u32,
    /// Cores.
    pub cores: u32,
    /// Capacity of leaf-spine and spine-core cables.
    pub uplink: Rate,
    /// Capacity of a switch chip.
    pub chip: Rate,
}

impl Default for DcnPlus {
    fn default() -> Self {
        Self {
            host: HostModel::hgx_h800(),
            pods: 32,
            segments: 4,
            hosts: 16,
            spines: 8,
            parallel: 8,
            cores: 128,
            uplink: Rate::from_gbps(400),
            chip: Rate::from_gbps(51_200),
        }
    }
}

impl DcnPlus {
    /// The spelled-out fabric: one leaf set serves all rails; spines have as many ports up as down.
    pub fn spec(&self) -> ClosSpec {
        let tors = self.host.nic.ports.min(2);
        ClosSpec {
            name: "dcn-plus".to_owned(),
            host: self.host.clone(),
            pods: self.pods,
            segments: self.segments,
            hosts: self.hosts,
            spare_hosts: 0,
            rails_per_leaf: self.host.nics,
            tors,
            groups: SpineGroups::Single,
            spines: self.spines,
            parallel: self.parallel,
            uplink: self.uplink,
            spine_up: self.segments * tors * self.parallel,
            cores: self.cores,
            core_link: self.uplink,
            chip: Chip::Of(self.chip),
            access_delay: ACCESS_DELAY,
            leaf_spine_delay: LEAF_SPINE_DELAY,
            spine_core_delay: SPINE_CORE_DELAY,
            switch_latency: SWITCH_LATENCY,
        }
    }

    /// Builds the graph.
    ///
    /// # Errors
    /// As [`ClosSpec::check`].
    pub fn build(&self) -> Result<Fabric, FabricError> {
        self.spec().build()
    }
}

/// Two tiers, every leaf to every spine. With dual-port NICs leaves come in pairs.
#[derive(Clone, PartialEq, Debug)]
pub struct LeafSpine {
    /// Host model.
    pub host: HostModel,
    /// Leaves.
    pub leaves: u32,
    /// Hosts under a leaf (under a leaf pair with dual-port NICs).
    pub hosts_per_leaf: u32,
    /// NICs of a host that share leaves; all when none. With fewer, groups of hosts have a set of leaves for each
    /// share of their NICs, as C4's testbed has (C4 table II).
    pub rails_per_leaf: Option<u32>,
    /// Uplinks of a leaf, one to each spine.
    pub uplinks: u32,
    /// Parallel cables between a leaf and each spine.
    pub parallel: u32,
    /// Capacity of an uplink cable.
    pub uplink_capacity: Rate,
    /// Capacity of a switch chip; none = the largest that there are.
    pub chip: Option<Rate>,
    /// Delay of every cable of the network.
    pub delay: SimTime,
    /// Time from a packet's arrival at an idle switch to its departure.
    pub switch_latency: SimTime,
}

impl Default for LeafSpine {
    fn default() -> Self {
        Self {
            host: HostModel::hgx_h800(),
            leaves: 8,
            hosts_per_leaf: 4,
            rails_per_leaf: None,
            uplinks: 8,
            parallel: 1,
            uplink_capacity: Rate::from_gbps(400),
            chip: None,
            delay: LEAF_SPINE_DELAY,
            switch_latency: SWITCH_LATENCY,
        }
    }
}

impl LeafSpine {
    /// The spelled-out fabric.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] when leaves do not come in whole sets.
    pub fn spec(&self) -> Result<ClosSpec, FabricError> {
        let tors = self.host.nic.ports.max(1);
        let nics = self.host.nics.max(1);
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
        Ok(ClosSpec {
            name: "leaf-spine".to_owned(),
            host: self.host.clone(),
            pods: 1,
            segments: self.leaves / set,
            hosts: self.hosts_per_leaf,
            spare_hosts: 0,
            rails_per_leaf: rails,
            tors,
            groups: SpineGroups::Single,
            spines: self.uplinks,
            parallel: self.parallel,
            uplink: self.uplink_capacity,
            spine_up: 0,
            cores: 0,
            core_link: self.uplink_capacity,
            chip: self.chip.into(),
            access_delay: self.delay,
            leaf_spine_delay: self.delay,
            spine_core_delay: self.delay,
            switch_latency: self.switch_latency,
        })
    }

    /// Builds the graph.
    ///
    /// # Errors
    /// As [`LeafSpine::spec`] and [`ClosSpec::check`].
    pub fn build(&self) -> Result<Fabric, FabricError> {
        self.spec()?.build()
    }
}

/// The k-ary fat-tree: k pods of k/2 leaves and k/2 spines, (k/2)² cores, k³/4 hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct FatTree {
    /// Ports of a switch; even.
    pub k: u32,
    /// Capacity of every cable.
    pub capacity: Rate,
}

impl Default for FatTree {
    fn default() -> Self {
        Self { k: 8, capacity: Rate::from_gbps(400) }
    }
}

impl FatTree {
    /// The spelled-out fabric.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] when `k` is odd or too small.
    pub fn spec(&self) -> Result<ClosSpec, FabricError> {
        if self.k < 2 || !self.k.is_multiple_of(2) || self.k > 256 {
            return Err(FabricError::range("k", self.k, "write an even number from 2 to 256"));
        }
        // One chip for every switch of it: that is what a fat-tree is for (Al-Fares et al. 2008).
        let needed = self.capacity * u64::from(self.k);
        if needed > LARGEST_CHIP {
            let accepted = format!(
                "a switch of {} ports of {} needs {needed}, but the largest chip that there is has {LARGEST_CHIP}; \
                 lower k, or capacity",
                self.k, self.capacity
            );
            return Err(FabricError::range("k", self.k, accepted));
        }
        let half = self.k / 2;
        let mut host = HostModel::plain(self.capacity);
        host.nic = NicModel { ports: 1, port_capacity: self.capacity };
        Ok(ClosSpec {
            name: "fat-tree".to_owned(),
            host,
            pods: self.k,
            segments: half,
            hosts: half,
            spare_hosts: 0,
            rails_per_leaf: 1,
            tors: 1,
            groups: SpineGroups::Single,
            spines: half,
            parallel: 1,
            uplink: self.capacity,
            spine_up: half,
            cores: half * half,
            core_link: self.capacity,
            chip: Chip::Of(LARGEST_CHIP),
            access_delay: ACCESS_DELAY,
            leaf_spine_delay: LEAF_SPINE_DELAY,
            spine_core_delay: LEAF_SPINE_DELAY,
            switch_latency: SWITCH_LATENCY,
        })
    }

    /// Builds the graph.
    ///
    /// # Errors
    /// As [`FatTree::spec`] and [`ClosSpec::check`].
    pub fn build(&self) -> Result<Fabric, FabricError> {
        self.spec()?.build()
    }
}
