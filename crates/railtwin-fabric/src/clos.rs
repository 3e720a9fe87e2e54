//! One builder for every tiered fabric: segments of leaves, pods of spines, a core over the pods.
use railtwin_units::{Rate, SimTime};

use crate::builder::FabricBuilder;
use crate::error::FabricError;
use crate::frontend::{Network, service_model};
use crate::graph::HostId;
use crate::graph::{CableClass, DeviceId, Fabric, NONE, PortRole, SwitchPlace};
use crate::host::HostModel;

/// A place of a network where a host may stand: its NICs by their index there, as host and index of the NIC in the host.
pub(crate) type Place = Vec<(HostId, u32)>;

/// Which leaves share a set of spines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpineGroups {
    /// Every leaf of a pod reaches every spine of the pod.
    Single,
    /// One plane per leaf of a leaf set: the dual-plane of HPN section 6.1.
    PerTor,
    /// One plane per leaf of a segment: rail-only tier 2, HPN section 10.
    PerLeaf,
}

/// The largest switch chip that there is, held to by leaves of which nothing is said: 102.4 Tbps (Broadcom BCM78910
/// «Tomahawk 6», 2025; the generation before, BCM78900 «Tomahawk 5», has 51.2 Tbps).
pub const LARGEST_CHIP: Rate = Rate::from_gbps(102_400);

/// The largest modular switch that there is, held to by spines and cores of which nothing is said: 460.8 Tbps (576 ports
/// of 800 Gbps, Arista 7816R4, 2024).
pub const LARGEST_CHASSIS: Rate = Rate::from_gbps(460_800);

/// Which switches of one tier have cables to each other, and how many parallel ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peers {
    /// None.
    None,
    /// Every two leaves.
    Leaves(u32),
    /// Every two spines of one group and index in different pods.
    Spines(u32),
}

/// What the switches of a fabric can carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chip {
    /// So much, in every switch.
    Of(Rate),
    /// Nobody says: [`LARGEST_CHIP`] in a leaf, [`LARGEST_CHASSIS`] above.
    Largest,
    /// As the file of an imported fabric has it.
    Unchecked,
}

impl From<Option<Rate>> for Chip {
    fn from(said: Option<Rate>) -> Self {
        said.map_or(Self::Largest, Self::Of)
    }
}

/// 3 m of copper from NIC to leaf at 5 ns/m.
pub(crate) const ACCESS_DELAY: SimTime = SimTime::from_ns(15);
/// 60 m of fibre from leaf to spine at 5 ns/m; HPN section 10 keeps all fibres of a pod under 100 m.
pub(crate) const LEAF_SPINE_DELAY: SimTime = SimTime::from_ns(300);
/// 300 m of fibre between buildings at 5 ns/m.
pub(crate) const SPINE_CORE_DELAY: SimTime = SimTime::from_ns(1_500);
/// Port to port latency of a cut-through 51.2T-class chip.
pub(crate) const SWITCH_LATENCY: SimTime = SimTime::from_ns(700);

/// A tiered fabric, spelled out. The presets are recipes that fill it.
#[derive(Clone, PartialEq, Debug)]
pub struct ClosSpec {
    /// Name of the fabric.
    pub name: String,
    /// Model of every host.
    pub host: HostModel,
    /// Pods.
    pub pods: u32,
    /// Segments in a pod.
    pub segments: u32,
    /// Active hosts in a segment.
    pub hosts: u32,
    /// Backup hosts in a segment.
    pub spare_hosts: u32,
    /// Rails that share a leaf set: 1 = rail-optimised, all NICs = one leaf set for the segment.
    pub rails_per_leaf: u32,
    /// Leaves in a leaf set; port `p` of a NIC goes to leaf `p mod tors`.
    pub tors: u32,
    /// Which leaves share spines.
    pub groups: SpineGroups,
    /// Spines in a group; 0 = one tier only.
    pub spines: u32,
    /// Parallel cables between a leaf and each spine of its group.
    pub parallel: u32,
    /// Capacity of a leaf-spine cable.
    pub uplink: Rate,
    /// Ports of a spine towards the core.
    pub spine_up: u32,
    /// Cores in a core group (one group for each spine group); built when there are two pods or more.
    pub cores: u32,
    /// Capacity of a spine-core cable.
    pub core_link: Rate,
    /// What every switch can carry.
    pub chip: Chip,
    /// Delay of a cable from NIC to leaf.
    pub access_delay: SimTime,
    /// Delay of a cable from leaf to spine.
    pub leaf_spine_delay: SimTime,
    /// Delay of a cable from spine to core.
    pub spine_core_delay: SimTime,
    /// Time from a packet's arrival at an idle switch to its departure.
    pub switch_latency: SimTime,
    /// Storage hosts and gateways that stand in the fabric, each behind one NIC like those of hosts: as many as a host has
    /// NICs take the place of one active host, the last ones first.
    pub services: u32,
    /// Cables between switches of one tier.
    pub peers: Peers,
    /// Cables of the model that are one physical cable: 2 where a port of a switch is split in two; only counted.
    pub breakout: u32,
}

impl ClosSpec {
    /// One segment of one host under leaves of all its NICs, of cables and switches as they are as a rule; presets say
    /// what they have instead.
    pub(crate) fn of(name: &str, host: HostModel) -> Self {
        let (rails_per_leaf, rate) = (host.nics, host.nic.port_capacity);
        Self {
            name: name.to_owned(),
            host,
            pods: 1,
            segments: 1,
            hosts: 1,
            spare_hosts: 0,
            rails_per_leaf,
            tors: 1,
            groups: SpineGroups::Single,
            spines: 0,
            parallel: 1,
            uplink: rate,
            spine_up: 0,
            cores: 0,
            core_link: rate,
            chip: Chip::Largest,
            access_delay: ACCESS_DELAY,
            leaf_spine_delay: LEAF_SPINE_DELAY,
            spine_core_delay: SPINE_CORE_DELAY,
            switch_latency: SWITCH_LATENCY,
            services: 0,
            peers: Peers::None,
            breakout: 1,
        }
    }

    pub(crate) fn leaf_sets(&self) -> u32 {
        self.host.nics / self.rails_per_leaf
    }

    pub(crate) fn leaves_per_segment(&self) -> u32 {
        self.leaf_sets() * self.tors
    }

    /// Ports of one host that end on one leaf.
    pub(crate) fn ports_per_host(&self) -> u32 {
        self.rails_per_leaf * (self.host.nic.ports / self.tors)
    }

    pub(crate) fn group_count(&self) -> u32 {
        match self.groups {
            SpineGroups::Single => 1,
            SpineGroups::PerTor => self.tors,
            SpineGroups::PerLeaf => self.leaves_per_segment(),
        }
    }

    pub(crate) fn group_of_leaf(&self, leaf_in_segment: u32) -> u32 {
        match self.groups {
            SpineGroups::Single => 0,
            SpineGroups::PerTor => leaf_in_segment % self.tors,
            SpineGroups::PerLeaf => leaf_in_segment,
        }
    }

    pub(crate) fn plane_of_group(&self, group: u32) -> u32 {
        if self.group_count() == 1 { NONE } else { group }
    }

    pub(crate) fn leaf_down(&self) -> u32 {
        (self.hosts + self.spare_hosts) * self.ports_per_host()
    }

    pub(crate) fn leaf_up(&self) -> u32 {
        self.spines * self.parallel
    }

    pub(crate) fn spine_down(&self) -> u32 {
        self.segments * self.leaves_per_segment() / self.group_count() * self.parallel
    }

    pub(crate) fn core_down(&self) -> u32 {
        self.pods * self.spines * self.spine_up / self.cores.max(1)
    }

    /// Builds the graph.
    ///
    /// # Errors
    /// As [`ClosSpec::check`].
    pub fn build(&self) -> Result<Fabric, FabricError> {
        self.check()?;
        let mut builder = FabricBuilder::new(&self.name);
        builder.set_switch_latency(self.switch_latency);
        builder.set_breakout(self.breakout);
        let model = builder.add_host_model(self.host.clone());
        let mut hosts = Vec::new();
        let mut given = Vec::new();
        // Active places that are left for hosts; those after them are given to storage.
        let mut left = self.pods * self.segments * self.hosts - self.services.div_ceil(self.host.nics);
        for pod in 0..self.pods {
            for segment in 0..self.segments {
                for index in 0..self.hosts + self.spare_hosts {
                    let spare = index >= self.hosts;
                    if !spare && left == 0 {
                        given.push((hosts.len(), pod, segment, index));
                        hosts.push(Vec::new());
                        continue;
                    }
                    left -= u32::from(!spare);
                    let host = builder.add_host(model, pod, segment, index, spare);
                    hosts.push((0..self.host.nics).map(|nic| (host, nic)).collect());
                }
            }
        }
        if self.services > 0 {
            let model = builder.add_host_model(service_model(&self.host.nic, Network::Backend));
            for service in 0..self.services {
                let (place, pod, segment, index) = given[(service / self.host.nics) as usize];
                hosts[place].push((builder.add_host(model, pod, segment, index, false), 0));
            }
        }
        self.add_switches(&mut builder, &hosts, Network::Backend);
        builder.finish()
    }

    /// Adds the switches and all cables of a network. `places` are those where hosts may stand, in the order of pods and
    /// segments: of each its NICs by their index there, as host and index of the NIC in the host.
    pub(crate) fn add_switches(&self, builder: &mut FabricBuilder, places: &[Place], network: Network) {
        let first = network.first_tier();
        let leaves = self.add_leaves(builder, first);
        let spines = self.add_spines(builder, first + 1);
        let cores = self.add_cores(builder, first + 2);
        let [access, leaf_spine, spine_core] = network.cables();
        self.cable_access(builder, places, &leaves, access);
        self.cable_spines(builder, &leaves, &spines, leaf_spine);
        self.cable_cores(builder, &spines, &cores, spine_core);
        self.cable_peers(builder, &leaves, &spines);
    }

    fn add_leaves(&self, builder: &mut FabricBuilder, tier: u8) -> Vec<DeviceId> {
        let mut leaves = Vec::new();
        let access = self.host.nic.port_capacity;
        let runs = [
            (self.leaf_down(), access, PortRole::Down),
            (self.leaf_up(), self.uplink, PortRole::Up),
            (self.leaf_peers(), self.uplink, PortRole::Peer),
        ];
        for pod in 0..self.pods {
            for segment in 0..self.segments {
                for index in 0..self.leaves_per_segment() {
                    let rail = if self.leaf_sets() == 1 { NONE } else { index / self.tors };
                    let plane = match self.groups {
                        SpineGroups::Single if self.tors > 1 => index % self.tors,
                        SpineGroups::Single => NONE,
                        _ => self.plane_of_group(self.group_of_leaf(index)),
                    };
                    let place = SwitchPlace { tier, pod, segment, rail, plane, index };
                    leaves.push(builder.add_switch(place, &runs));
                }
            }
        }
        leaves
    }

    /// Spines in order of pod, group, index.
    fn add_spines(&self, builder: &mut FabricBuilder, tier: u8) -> Vec<DeviceId> {
        let mut spines = Vec::new();
        let down = (self.spine_down(), self.uplink, PortRole::Down);
        let up = (self.spine_up, self.core_link, PortRole::Up);
        let runs = [down, up, (self.spine_peers(), self.core_link, PortRole::Peer)];
        for pod in 0..self.pods {
            for group in 0..self.group_count() {
                for index in 0..self.spines {
                    let plane = self.plane_of_group(group);
                    let place = SwitchPlace { tier, pod, segment: NONE, rail: NONE, plane, index };
                    spines.push(builder.add_switch(place, &runs));
                }
            }
        }
        spines
    }

    /// Cores in order of group, index; none for a single pod and where there are none.
    fn add_cores(&self, builder: &mut FabricBuilder, tier: u8) -> Vec<DeviceId> {
        let mut cores = Vec::new();
        if self.pods > 1 {
            for group in 0..self.group_count() {
                for index in 0..self.cores {
                    let plane = self.plane_of_group(group);
                    let place = SwitchPlace { tier, pod: NONE, segment: NONE, rail: NONE, plane, index };
                    let runs = [(self.core_down(), self.core_link, PortRole::Down)];
                    cores.push(builder.add_switch(place, &runs));
                }
            }
        }
        cores
    }

    fn cable_access(
        &self,
        builder: &mut FabricBuilder,
        places: &[Place],
        leaves: &[DeviceId],
        class: CableClass,
    ) {
        let per_segment = self.hosts + self.spare_hosts;
        for (row, nics) in places.iter().enumerate() {
            let (segment, index) = (row as u32 / per_segment, row as u32 % per_segment);
            for (nic, &(host, of_host)) in (0..).zip(nics) {
                for port in 0..self.host.nic.ports {
                    let set = nic / self.rails_per_leaf;
                    let leaf = segment * self.leaves_per_segment() + set * self.tors + port % self.tors;
                    let slot =
                        (nic % self.rails_per_leaf) * (self.host.nic.ports / self.tors) + port / self.tors;
                    let down = builder.port(leaves[leaf as usize], index * self.ports_per_host() + slot);
                    let ports = [builder.nic_port(host, of_host, port), down];
                    builder.add_cable(ports, class, self.access_delay);
                }
            }
        }
    }

    fn cable_spines(
        &self,
        builder: &mut FabricBuilder,
        leaves: &[DeviceId],
        spines: &[DeviceId],
        class: CableClass,
    ) {
        let per_pod = self.segments * self.leaves_per_segment();
        let mut next_down = vec![0; spines.len()];
        for (row, &leaf) in leaves.iter().enumerate() {
            let pod = row as u32 / per_pod;
            let group = self.group_of_leaf(row as u32 % self.leaves_per_segment());
            for index in 0..self.spines {
                let spine = ((pod * self.group_count() + group) * self.spines + index) as usize;
                for lane in 0..self.parallel {
                    let up = builder.port(leaf, self.leaf_down() + index * self.parallel + lane);
                    let down = builder.port(spines[spine], next_down[spine]);
                    next_down[spine] += 1;
                    builder.add_cable([up, down], class, self.leaf_spine_delay);
                }
            }
        }
    }

    /// Spreads the uplinks of each spine over consecutive cores: every core meets every pod equally often.
    fn cable_cores(
        &self,
        builder: &mut FabricBuilder,
        spines: &[DeviceId],
        cores: &[DeviceId],
        class: CableClass,
    ) {
        if cores.is_empty() {
            return;
        }
        let mut next_down = vec![0; cores.len()];
        for (row, &spine) in spines.iter().enumerate() {
            let (group, index) = (row as u32 / self.spines % self.group_count(), row as u32 % self.spines);
            for lane in 0..self.spine_up {
                let core = (group * self.cores + (index * self.spine_up + lane) % self.cores) as usize;
                let up = builder.port(spine, self.spine_down() + lane);
                let down = builder.port(cores[core], next_down[core]);
                next_down[core] += 1;
                builder.add_cable([up, down], class, self.spine_core_delay);
            }
        }
    }
}
