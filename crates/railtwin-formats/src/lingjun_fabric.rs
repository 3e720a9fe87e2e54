//! From the Lingjun topology to a fabric: the file says which host hangs where, a design says the rest.

use railtwin_fabric::builder::FabricBuilder;
use railtwin_fabric::error::ChipNeeds;
use railtwin_fabric::{
    CableClass, DeviceId, Fabric, FabricError, HostId, HostModel, NONE, PortRole, SwitchPlace,
};
use railtwin_units::{Rate, SimTime};

use crate::lingjun::LingjunTopology;

/// Most ports of a fabric: what dense ids and the memory of a normal machine hold.
const PORTS_MAX: u64 = 1_000_000_000;

/// What the file does not say: host model, numbers of spines and cores, capacities, delays.
///
/// The default is a fabric without oversubscription out of 51.2T chips (the chip of HPN, SIGCOMM 2024): a
/// full leaf of the published file has 8 hosts with 128 ports of 200 Gbps and 64 uplinks of 400 Gbps.
/// What is congested in it comes from placement and hashing, not from a guess about missing uplinks.
#[derive(Clone, PartialEq, Debug)]
pub struct LingjunDesign {
    /// Model of every host; all ports of its NICs go to the host's one leaf. Default
    /// [`HostModel::hgx_h800`]: the file says nothing of hosts, and this is the host of HPN section 9.
    pub host: HostModel,
    /// Spines of a spine group (PSW). Default 64: one uplink of 400 Gbps to each carries a leaf of 8 hosts.
    pub spines: u32,
    /// Parallel cables between a leaf and each spine of its group. Default 1: most paths, least blast radius.
    pub parallel: u32,
    /// Capacity of a leaf-spine cable. Default 400 Gbps.
    pub uplink: Rate,
    /// Ports of a spine towards the core. Default none: as many as it has towards the leaves.
    pub spine_up: Option<u32>,
    /// Cores of a core group (DSW). Default 64: 119 leaves over three spine groups then give every core
    /// 119 of the 128 ports of its chip, equally many from each spine of a group.
    pub cores: u32,
    /// Capacity of a spine-core cable. Default 400 Gbps.
    pub core_link: Rate,
    /// Capacity of the chip in every switch; none = unchecked. Default 51.2 Tbps.
    pub chip: Option<Rate>,
    /// Delay of a cable from NIC to leaf. Default 15 ns: 3 m at 5 ns/m.
    pub access_delay: SimTime,
    /// Delay of a cable from leaf to spine. Default 300 ns: 60 m at 5 ns/m.
    pub leaf_spine_delay: SimTime,
    /// Delay of a cable from spine to core. Default 1500 ns: 300 m at 5 ns/m.
    pub spine_core_delay: SimTime,
    /// Time from a packet's arrival at an idle switch to its departure. Default 700 ns, cut-through.
    pub switch_latency: SimTime,
}

impl Default for LingjunDesign {
    fn default() -> Self {
        Self {
            host: HostModel::hgx_h800(),
            spines: 64,
            parallel: 1,
            uplink: Rate::from_gbps(400),
            spine_up: None,
            cores: 64,
            core_link: Rate::from_gbps(400),
            chip: Some(Rate::from_gbps(51_200)),
            access_delay: SimTime::from_ns(15),
            leaf_spine_delay: SimTime::from_ns(300),
            spine_core_delay: SimTime::from_ns(1_500),
            switch_latency: SimTime::from_ns(700),
        }
    }
}

impl LingjunTopology {
    /// Rows of [`LingjunTopology::hosts`] in the order of the fabric's hosts: leaf by leaf, in each leaf as
    /// in the file. `HostId(i)` is the host in row `hosts_by_leaf()[i]`.
    pub fn hosts_by_leaf(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.hosts.len()).collect();
        rows.sort_by_key(|&row| self.hosts[row].leaf);
        rows
    }

    /// Builds the fabric. Spine groups are pods, a leaf's index in its pod is its segment: `leaf-i` is row
    /// `i` of [`LingjunTopology::leaves`]. Leaves have as many ports down as their hosts need. Every leaf
    /// reaches every spine of its pod; cores join the pods of one core group, where it has two or more.
    ///
    /// # Errors
    /// [`FabricError`] for a topology without hosts, a count of zero, a switch that needs more than its
    /// chip has, or more ports than fit.
    pub fn fabric(&self, design: &LingjunDesign) -> Result<Fabric, FabricError> {
        Layout::new(self, design)?.build()
    }
}

/// A topology with a design: counts of everything before it is built.
struct Layout<'a> {
    topology: &'a LingjunTopology,
    design: &'a LingjunDesign,
    /// Hosts of each leaf.
    hosts: Vec<u32>,
    /// Leaves of each spine group.
    leaves: Vec<u32>,
    /// Spine groups of each core group.
    pods: Vec<u32>,
}

impl<'a> Layout<'a> {
    fn new(topology: &'a LingjunTopology, design: &'a LingjunDesign) -> Result<Self, FabricError> {
        let mut layout = Self {
            topology,
            design,
            hosts: vec![0; topology.leaves.len()],
            leaves: vec![0; topology.spine_groups.len()],
            pods: vec![0; topology.core_groups.len()],
        };
        for host in &topology.hosts {
            layout.hosts[host.leaf] += 1;
        }
        for leaf in &topology.leaves {
            layout.leaves[leaf.spine_group] += 1;
        }
        for group in &topology.spine_groups {
            layout.pods[group.core_group] += 1;
        }
        layout.check()?;
        Ok(layout)
    }

    fn check(&self) -> Result<(), FabricError> {
        let design = self.design;
        design.host.check()?;
        if self.topology.hosts.is_empty() {
            return Err(FabricError::range("lingjun.hosts", 0, "give a topology of at least one host"));
        }
        let joined = self.pods.iter().any(|&pods| pods > 1);
        for (field, value, needed) in [
            ("lingjun.spines", design.spines, true),
            ("lingjun.parallel", design.parallel, true),
            ("lingjun.cores", design.cores, joined),
            ("lingjun.spine_up", design.spine_up.unwrap_or(1), joined),
        ] {
            if needed && value == 0 {
                return Err(FabricError::range(field, value, "write a whole number from 1 up"));
            }
        }
        self.check_size()?;
        self.check_chips()
    }

    /// Refuses what would not fit, before any other count is trusted to fit 32 bits.
    fn check_size(&self) -> Result<(), FabricError> {
        let wide = |value: u32| u128::from(value);
        let (design, model) = (self.design, &self.design.host);
        let nics = wide(model.nics) * (2 + 2 * wide(model.nic.ports));
        let frontend = wide(model.frontend_nics) * wide(model.frontend.ports);
        let hosts = self.topology.hosts.len() as u128 * (2 * wide(model.gpus) + nics + frontend);
        let leaves = self.topology.leaves.len() as u128;
        let groups = self.topology.spine_groups.len() as u128;
        let below = wide(design.spines) * wide(design.parallel) * leaves * 2;
        let above = match design.spine_up {
            Some(up) => wide(design.spines) * wide(up) * groups * 2,
            None => below,
        };
        let devices = wide(design.spines) * groups + wide(design.cores) * self.pods.len() as u128;
        match hosts + below + above + devices {
            total if total <= u128::from(PORTS_MAX) => Ok(()),
            _ => Err(FabricError::TooLarge { what: "ports" }),
        }
    }

    fn check_chips(&self) -> Result<(), FabricError> {
        let Some(chip) = self.design.chip else { return Ok(()) };
        let (uplink, core_link) = (self.design.uplink, self.design.core_link);
        let access = self.design.host.nic.port_capacity;
        let hosts = self.hosts.iter().copied().max().unwrap_or_default();
        let pod = (0..self.leaves.len()).max_by_key(|&pod| self.leaves[pod]).unwrap_or_default();
        let core = (0..self.pods.len()).filter(|&group| self.pods[group] > 1);
        let core = core.flat_map(|group| self.core_down(group)).max().unwrap_or_default();
        for (role, down, up, remedy) in [
            (
                "leaf",
                (hosts * self.ports_per_host(), access),
                (self.leaf_up(), uplink),
                "lower spines or parallel, or give the chip more capacity",
            ),
            (
                "spine",
                (self.spine_down(pod), uplink),
                (self.spine_up(pod), core_link),
                "lower parallel or spine_up, or give the chip more capacity",
            ),
            (
                "core",
                (core, core_link),
                (0, core_link),
                "raise cores, or lower spine_up, or give the chip more capacity",
            ),
        ] {
            let bits = |(count, rate): (u32, Rate)| u128::from(count) * u128::from(rate.bits_per_s());
            let needed = bits(down) + bits(up);
            if needed > u128::from(chip.bits_per_s()) {
                let needed = Rate::from_bits_per_s(u64::try_from(needed).unwrap_or(u64::MAX));
                let needs = ChipNeeds { role, down, up, needed, limit: chip, said: true, remedy };
                return Err(FabricError::ChipTooSmall(Box::new(needs)));
            }
        }
        Ok(())
    }

    fn ports_per_host(&self) -> u32 {
        self.design.host.nics * self.design.host.nic.ports
    }

    fn leaf_up(&self) -> u32 {
        self.design.spines * self.design.parallel
    }

    fn spine_down(&self, pod: usize) -> u32 {
        self.leaves[pod] * self.design.parallel
    }

    fn spine_up(&self, pod: usize) -> u32 {
        self.design.spine_up.unwrap_or(self.spine_down(pod))
    }

    /// Pods under a core group, in order.
    fn pods_of(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.leaves.len()).filter(move |&pod| self.topology.spine_groups[pod].core_group == group)
    }

    /// The core, within its group, that uplink `lane` of spine `index` of `pod` goes to: consecutive
    /// uplinks of a pod go round the cores, so that no core has two more of a pod than another.
    fn core_of(&self, pod: usize, index: u32, lane: u32) -> u32 {
        let uplink = u64::from(index) * u64::from(self.spine_up(pod)) + u64::from(lane);
        (uplink % u64::from(self.design.cores)) as u32
    }

    /// Ports down of each core of a group.
    fn core_down(&self, group: usize) -> Vec<u32> {
        let mut ports = vec![0; self.design.cores as usize];
        for pod in self.pods_of(group) {
            for index in 0..self.design.spines {
                for lane in 0..self.spine_up(pod) {
                    ports[self.core_of(pod, index, lane) as usize] += 1;
                }
            }
        }
        ports
    }

    fn build(&self) -> Result<Fabric, FabricError> {
        let mut builder = FabricBuilder::new("lingjun");
        builder.set_switch_latency(self.design.switch_latency);
        let hosts = self.add_hosts(&mut builder);
        let leaves = self.add_leaves(&mut builder);
        let spines = self.add_spines(&mut builder);
        self.cable_access(&mut builder, &hosts, &leaves);
        self.cable_spines(&mut builder, &leaves, &spines);
        self.add_cores(&mut builder, &spines);
        builder.finish()
    }

    /// Hosts with the row of their leaf, in order of leaves.
    fn add_hosts(&self, builder: &mut FabricBuilder) -> Vec<(HostId, usize)> {
        let model = builder.add_host_model(self.design.host.clone());
        let segment_of = self.segments();
        let mut next = vec![0; self.hosts.len()];
        let rows = self.topology.hosts_by_leaf().into_iter();
        rows.map(|row| {
            let host = &self.topology.hosts[row];
            let index = next[host.leaf];
            next[host.leaf] += 1;
            (builder.add_host(model, host.spine_group as u32, segment_of[host.leaf], index, false), host.leaf)
        })
        .collect()
    }

    /// Index of each leaf within its pod.
    fn segments(&self) -> Vec<u32> {
        let mut next = vec![0; self.leaves.len()];
        let leaves = self.topology.leaves.iter();
        leaves
            .map(|leaf| {
                next[leaf.spine_group] += 1;
                next[leaf.spine_group] - 1
            })
            .collect()
    }

    fn add_leaves(&self, builder: &mut FabricBuilder) -> Vec<DeviceId> {
        let access = self.design.host.nic.port_capacity;
        let segments = self.segments();
        let leaves = self.topology.leaves.iter().enumerate();
        leaves
            .map(|(row, leaf)| {
                let (pod, segment) = (leaf.spine_group as u32, segments[row]);
                let place = SwitchPlace { tier: 1, pod, segment, rail: NONE, plane: NONE, index: 0 };
                let down = (self.hosts[row] * self.ports_per_host(), access, PortRole::Down);
                builder.add_switch(place, &[down, (self.leaf_up(), self.design.uplink, PortRole::Up)])
            })
            .collect()
    }

    /// Spines in order of pod and index.
    fn add_spines(&self, builder: &mut FabricBuilder) -> Vec<DeviceId> {
        let mut spines = Vec::new();
        for pod in 0..self.leaves.len() {
            let down = (self.spine_down(pod), self.design.uplink, PortRole::Down);
            let up = (self.spine_up(pod), self.design.core_link, PortRole::Up);
            for index in 0..self.design.spines {
                let (segment, rail, plane) = (NONE, NONE, NONE);
                let place = SwitchPlace { tier: 2, pod: pod as u32, segment, rail, plane, index };
                spines.push(builder.add_switch(place, &[down, up]));
            }
        }
        spines
    }

    fn cable_access(&self, builder: &mut FabricBuilder, hosts: &[(HostId, usize)], leaves: &[DeviceId]) {
        let mut next_down = vec![0; leaves.len()];
        for &(host, leaf) in hosts {
            for nic in 0..self.design.host.nics {
                for port in 0..self.design.host.nic.ports {
                    let down = builder.port(leaves[leaf], next_down[leaf]);
                    next_down[leaf] += 1;
                    let ports = [builder.nic_port(host, nic, port), down];
                    builder.add_cable(ports, CableClass::Access, self.design.access_delay);
                }
            }
        }
    }

    fn cable_spines(&self, builder: &mut FabricBuilder, leaves: &[DeviceId], spines: &[DeviceId]) {
        let segments = self.segments();
        for (row, &leaf) in leaves.iter().enumerate() {
            let first_up = self.hosts[row] * self.ports_per_host();
            let pod = self.topology.leaves[row].spine_group;
            for index in 0..self.design.spines {
                let spine = spines[pod * self.design.spines as usize + index as usize];
                for lane in 0..self.design.parallel {
                    let up = builder.port(leaf, first_up + index * self.design.parallel + lane);
                    let down = builder.port(spine, segments[row] * self.design.parallel + lane);
                    builder.add_cable([up, down], CableClass::LeafSpine, self.design.leaf_spine_delay);
                }
            }
        }
    }

    /// Adds the cores of every core group of two pods or more, with their cables.
    fn add_cores(&self, builder: &mut FabricBuilder, spines: &[DeviceId]) {
        let mut added = 0;
        for group in (0..self.pods.len()).filter(|&group| self.pods[group] > 1) {
            let mut cores = Vec::new();
            for ports in self.core_down(group) {
                let (segment, rail, plane) = (NONE, NONE, NONE);
                let place = SwitchPlace { tier: 3, pod: NONE, segment, rail, plane, index: added };
                cores.push(builder.add_switch(place, &[(ports, self.design.core_link, PortRole::Down)]));
                added += 1;
            }
            let mut next_down = vec![0; cores.len()];
            for pod in self.pods_of(group) {
                for index in 0..self.design.spines {
                    let spine = spines[pod * self.design.spines as usize + index as usize];
                    for lane in 0..self.spine_up(pod) {
                        let core = self.core_of(pod, index, lane) as usize;
                        let up = builder.port(spine, self.spine_down(pod) + lane);
                        let down = builder.port(cores[core], next_down[core]);
                        next_down[core] += 1;
                        builder.add_cable([up, down], CableClass::SpineCore, self.design.spine_core_delay);
                    }
                }
            }
        }
    }
}
