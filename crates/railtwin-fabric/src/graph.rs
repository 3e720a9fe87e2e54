//! The columns of a fabric and how to read them.
use railtwin_units::{Rate, SimTime, dense_id};

use crate::host::HostModel;

dense_id!(
    /// One host.
    HostId
);
dense_id!(
    /// Anything with ports: GPU, NIC, NVSwitch, switch.
    DeviceId
);
dense_id!(
    /// One end point on a device where a cable may sit.
    PortId
);
dense_id!(
    /// The physical full-duplex piece between two ports; what breaks.
    CableId
);
dense_id!(
    /// One direction of a cable; what congests. Link `2c` runs from the cable's first port to its second.
    LinkId
);

/// «Does not apply» in columns of positions.
pub const NONE: u32 = u32::MAX;

impl CableId {
    /// The link from the cable's first port to its second.
    #[inline]
    pub const fn forward(self) -> LinkId {
        LinkId(self.0 * 2)
    }

    /// The link from the cable's second port to its first.
    #[inline]
    pub const fn backward(self) -> LinkId {
        LinkId(self.0 * 2 + 1)
    }
}

impl LinkId {
    /// The cable that carries the link.
    #[inline]
    pub const fn cable(self) -> CableId {
        CableId(self.0 / 2)
    }

    /// The other direction of the same cable.
    #[inline]
    pub const fn reverse(self) -> LinkId {
        LinkId(self.0 ^ 1)
    }
}

/// What a device is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DeviceKind {
    /// One accelerator.
    Gpu,
    /// The switch of a scale-up domain.
    NvSwitch,
    /// A network adapter.
    Nic,
    /// A PCIe switch of a host, or the root complex that joins them.
    PcieSwitch,
    /// A forwarding device; its [`SwitchPlace`] tells tier and position.
    Switch,
}

/// Which way a port looks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PortRole {
    /// Inside a host (NVLink, PCIe).
    Inside,
    /// From a NIC into the backend network.
    Backend,
    /// From a NIC into the frontend network.
    Frontend,
    /// From a switch towards the hosts.
    Down,
    /// From a switch away from the hosts.
    Up,
    /// From a switch to one of its own tier.
    Peer,
}

impl PortRole {
    /// Whether a port of a NIC looks into a network, be it the backend's or the frontend's.
    #[inline]
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Backend | Self::Frontend)
    }
}

/// What a cable joins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CableClass {
    /// GPU to NVSwitch.
    NvLink,
    /// GPU to NIC, or both to the PCIe switches of their host.
    Pcie,
    /// NIC to leaf.
    Access,
    /// Switch to switch of one tier, or NIC to NIC.
    Peer,
    /// Leaf to spine.
    LeafSpine,
    /// Spine to core.
    SpineCore,
    /// Frontend NIC to a leaf of the frontend network.
    FrontendAccess,
    /// Leaf to spine of the frontend network.
    FrontendLeafSpine,
    /// Spine to core of the frontend network.
    FrontendSpineCore,
}

impl CableClass {
    /// The name in tables.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NvLink => "nvlink",
            Self::Pcie => "pcie",
            Self::Access => "access",
            Self::Peer => "peer",
            Self::LeafSpine => "leaf-spine",
            Self::SpineCore => "spine-core",
            Self::FrontendAccess => "frontend-access",
            Self::FrontendLeafSpine => "frontend-leaf-spine",
            Self::FrontendSpineCore => "frontend-spine-core",
        }
    }
}

/// Where a switch stands; [`NONE`] in a field that does not apply.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SwitchPlace {
    /// 1 = leaf, 2 = spine, 3 = core; 4, 5 and 6 are those of the frontend network, which no cable joins with the others.
    pub tier: u8,
    /// Pod, none for cores.
    pub pod: u32,
    /// Segment in the pod, for leaves.
    pub segment: u32,
    /// Rail that the leaf serves; none where it serves all.
    pub rail: u32,
    /// Plane; none where the tier has only one.
    pub plane: u32,
    /// Index among its like.
    pub index: u32,
}

/// A host: where it stands and which devices are its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Host {
    /// Pod of the host.
    pub pod: u32,
    /// Segment in the pod.
    pub segment: u32,
    /// Index in the segment; spares come last.
    pub index: u32,
    /// A backup host: cabled, not counted as active.
    pub spare: bool,
    /// Row in [`Fabric::host_models`].
    pub model: u32,
    /// First device: the NVSwitch (when the model has one), then GPUs, then backend NICs, then frontend NICs.
    pub first_device: DeviceId,
}

/// A built fabric. Immutable: faults are masks beside it, never edits.
#[derive(Clone, PartialEq, Debug)]
pub struct Fabric {
    pub(crate) name: String,
    pub(crate) switch_latency: SimTime,
    pub(crate) breakout: u32,
    pub(crate) host_models: Vec<HostModel>,
    /// Hosts with GPUs, then storage hosts, then gateways.
    pub(crate) hosts: Vec<Host>,
    /// How many of them have GPUs.
    pub(crate) gpu_hosts: usize,
    /// How many of them are gateways.
    pub(crate) gateways: usize,
    pub(crate) device_kind: Vec<DeviceKind>,
    /// Host of a GPU, NIC or NVSwitch; row of `switches` for a switch.
    pub(crate) device_owner: Vec<u32>,
    pub(crate) device_first_port: Vec<u32>,
    pub(crate) switches: Vec<(DeviceId, SwitchPlace)>,
    pub(crate) port_device: Vec<DeviceId>,
    pub(crate) port_capacity: Vec<Rate>,
    pub(crate) port_role: Vec<PortRole>,
    pub(crate) port_cable: Vec<u32>,
    pub(crate) cable_ports: Vec<[PortId; 2]>,
    pub(crate) cable_class: Vec<CableClass>,
    pub(crate) cable_capacity: Vec<Rate>,
    pub(crate) cable_delay: Vec<SimTime>,
    pub(crate) adjacency_start: Vec<u32>,
    pub(crate) adjacency: Vec<(LinkId, DeviceId)>,
}

impl Fabric {
    /// The fabric's name, such as `hpn`.
    #[inline]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Time from a packet's arrival at an idle switch to its departure.
    #[inline]
    pub fn switch_latency(&self) -> SimTime {
        self.switch_latency
    }

    /// How many cables of the fabric are one physical cable: 2 where ports of switches are split in two.
    #[inline]
    pub fn breakout(&self) -> u32 {
        self.breakout
    }

    /// All hosts with GPUs in order of their ids, which are the first.
    #[inline]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts[..self.gpu_hosts]
    }

    /// Pods of the backend, also those in which no host has a GPU; those of a frontend are counted apart.
    pub fn pods(&self) -> u32 {
        let backend = self.switches().iter().map(|(_, place)| place).filter(|place| place.tier <= 3);
        let of_switches = backend.map(|place| place.pod).filter(|&pod| pod != NONE);
        self.hosts().iter().map(|host| host.pod).chain(of_switches).max().map_or(0, |last| last + 1)
    }

    /// All hosts in order of their ids: those with GPUs, then storage hosts, then gateways.
    #[inline]
    pub fn all_hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The storage hosts, which have a NIC and no GPU.
    #[inline]
    pub fn storage_hosts(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        (self.gpu_hosts as u32..self.first_gateway() as u32).map(HostId)
    }

    /// The gateways, by which requests from outside come and answers go: a NIC and no GPU.
    #[inline]
    pub fn gateways(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        (self.first_gateway() as u32..self.hosts.len() as u32).map(HostId)
    }

    #[inline]
    pub(crate) fn first_gateway(&self) -> usize {
        self.hosts.len() - self.gateways
    }

    /// Whether a host has a NIC and no GPU: storage, or a gateway.
    #[inline]
    pub fn is_service(&self, host: HostId) -> bool {
        host.index() >= self.gpu_hosts
    }

    /// One host.
    #[inline]
    pub fn host(&self, host: HostId) -> &Host {
        &self.hosts[host.index()]
    }

    /// The model of a host.
    #[inline]
    pub fn host_model(&self, host: HostId) -> &HostModel {
        &self.host_models[self.hosts[host.index()].model as usize]
    }

    /// All host models in use.
    #[inline]
    pub fn host_models(&self) -> &[HostModel] {
        &self.host_models
    }

    /// GPU `index` of a host.
    #[inline]
    pub fn gpu(&self, host: HostId, index: u32) -> DeviceId {
        let model = self.host_model(host);
        debug_assert!(index < model.gpus);
        DeviceId(self.hosts[host.index()].first_device.0 + u32::from(model.has_nvswitch()) + index)
    }

    /// NIC `index` of a host: its backend NICs come first, whose index is their rail, then those of the frontend.
    #[inline]
    pub fn nic(&self, host: HostId, index: u32) -> DeviceId {
        let model = self.host_model(host);
        debug_assert!(index < model.nics + model.frontend_nics);
        let first = self.hosts[host.index()].first_device.0 + u32::from(model.has_nvswitch());
        DeviceId(first + model.gpus + index)
    }

    /// The NVSwitch of a host, where it has one.
    #[inline]
    pub fn nvswitch(&self, host: HostId) -> Option<DeviceId> {
        self.host_model(host).has_nvswitch().then(|| self.hosts[host.index()].first_device)
    }

    /// Number of devices.
    #[inline]
    pub fn device_count(&self) -> usize {
        self.device_kind.len()
    }

    /// All device ids.
    #[inline]
    pub fn devices(&self) -> impl Iterator<Item = DeviceId> + use<> {
        (0..self.device_kind.len() as u32).map(DeviceId)
    }

    /// What a device is.
    #[inline]
    pub fn kind(&self, device: DeviceId) -> DeviceKind {
        self.device_kind[device.index()]
    }

    /// The host that a device belongs to; none for switches.
    #[inline]
    pub fn host_of(&self, device: DeviceId) -> Option<HostId> {
        (self.kind(device) != DeviceKind::Switch).then(|| HostId(self.device_owner[device.index()]))
    }

    /// The place of a switch; none for devices of a host.
    #[inline]
    pub fn place(&self, device: DeviceId) -> Option<&SwitchPlace> {
        (self.kind(device) == DeviceKind::Switch)
            .then(|| &self.switches[self.device_owner[device.index()] as usize].1)
    }

    /// Row of a switch in [`Fabric::switches`]; none for devices of a host.
    #[inline]
    pub fn switch_row(&self, device: DeviceId) -> Option<u32> {
        (self.kind(device) == DeviceKind::Switch).then(|| self.device_owner[device.index()])
    }

    /// All switches with their places, in order of their device ids.
    #[inline]
    pub fn switches(&self) -> &[(DeviceId, SwitchPlace)] {
        &self.switches
    }

    /// The ports of a device, contiguous.
    #[inline]
    pub fn ports(&self, device: DeviceId) -> impl Iterator<Item = PortId> + use<> {
        let first = self.device_first_port[device.index()];
        let end = self.device_first_port[device.index() + 1];
        (first..end).map(PortId)
    }

    /// Number of ports in the fabric.
    #[inline]
    pub fn port_count(&self) -> usize {
        self.port_device.len()
    }

    /// The device of a port.
    #[inline]
    pub fn port_device(&self, port: PortId) -> DeviceId {
        self.port_device[port.index()]
    }

    /// Capacity of a port.
    #[inline]
    pub fn port_capacity(&self, port: PortId) -> Rate {
        self.port_capacity[port.index()]
    }

    /// Which way a port looks.
    #[inline]
    pub fn port_role(&self, port: PortId) -> PortRole {
        self.port_role[port.index()]
    }

    /// Index of a port on its device.
    #[inline]
    pub fn port_index(&self, port: PortId) -> u32 {
        port.0 - self.device_first_port[self.port_device(port).index()]
    }

    /// The cable in a port; none where the port is free.
    #[inline]
    pub fn cable_at(&self, port: PortId) -> Option<CableId> {
        let cable = self.port_cable[port.index()];
        (cable != NONE).then_some(CableId(cable))
    }

    /// Number of cables.
    #[inline]
    pub fn cable_count(&self) -> usize {
        self.cable_ports.len()
    }

    /// Number of links, twice the cables.
    #[inline]
    pub fn link_count(&self) -> usize {
        self.cable_ports.len() * 2
    }

    /// All cable ids.
    #[inline]
    pub fn cables(&self) -> impl Iterator<Item = CableId> + use<> {
        (0..self.cable_ports.len() as u32).map(CableId)
    }

    /// The two ports of a cable; the first is the one nearer to the hosts.
    #[inline]
    pub fn cable_ports(&self, cable: CableId) -> [PortId; 2] {
        self.cable_ports[cable.index()]
    }

    /// What a cable joins.
    #[inline]
    pub fn cable_class(&self, cable: CableId) -> CableClass {
        self.cable_class[cable.index()]
    }

    /// Capacity of a link in each direction of its cable.
    #[inline]
    pub fn capacity(&self, link: LinkId) -> Rate {
        self.cable_capacity[link.cable().index()]
    }

    /// Whether a link enters or leaves a switch of the network: it carries packets with their headers.
    #[inline]
    pub fn is_network(&self, link: LinkId) -> bool {
        !matches!(self.cable_class(link.cable()), CableClass::NvLink | CableClass::Pcie)
    }

    /// Propagation delay of a link.
    #[inline]
    pub fn delay(&self, link: LinkId) -> SimTime {
        self.cable_delay[link.cable().index()]
    }

    /// The device that a link leaves.
    #[inline]
    pub fn source(&self, link: LinkId) -> DeviceId {
        self.port_device(self.cable_ports[link.cable().index()][(link.0 & 1) as usize])
    }

    /// The device that a link enters.
    #[inline]
    pub fn target(&self, link: LinkId) -> DeviceId {
        self.source(link.reverse())
    }

    /// Swaps the ends of two cables that are farther from the hosts, as someone did who plugged them in wrongly.
    /// Names follow the near ends; the slower port of each cable sets its capacity anew.
    pub fn swap_far_ends(&mut self, a: CableId, b: CableId) {
        let [far_a, far_b] = [a, b].map(|cable| self.cable_ports[cable.index()][1]);
        for (cable, far) in [(a, far_b), (b, far_a)] {
            let ports = &mut self.cable_ports[cable.index()];
            ports[1] = far;
            let [near, far] = *ports;
            self.port_cable[far.index()] = cable.0;
            self.cable_capacity[cable.index()] =
                self.port_capacity[near.index()].min(self.port_capacity[far.index()]);
        }
        self.freeze();
    }

    /// Finds the adjacency of all devices.
    pub(crate) fn freeze(&mut self) {
        let devices = self.device_kind.len();
        self.adjacency_start = Vec::with_capacity(devices + 1);
        self.adjacency = Vec::with_capacity(self.cable_ports.len() * 2);
        for device in 0..devices {
            self.adjacency_start.push(self.adjacency.len() as u32);
            for port in self.device_first_port[device]..self.device_first_port[device + 1] {
                let cable = self.port_cable[port as usize];
                if cable == NONE {
                    continue;
                }
                let link = self.link_from(CableId(cable), PortId(port));
                self.adjacency.push((link, self.target(link)));
            }
        }
        self.adjacency_start.push(self.adjacency.len() as u32);
        self.device_kind.shrink_to_fit();
        self.device_owner.shrink_to_fit();
        self.device_first_port.shrink_to_fit();
        self.port_device.shrink_to_fit();
        self.port_capacity.shrink_to_fit();
        self.port_role.shrink_to_fit();
        self.port_cable.shrink_to_fit();
        self.cable_ports.shrink_to_fit();
        self.cable_class.shrink_to_fit();
        self.cable_capacity.shrink_to_fit();
        self.cable_delay.shrink_to_fit();
        self.adjacency.shrink_to_fit();
    }

    /// Links that leave a device with the device at their other end, in order of ports.
    #[inline]
    pub fn neighbors(&self, device: DeviceId) -> &[(LinkId, DeviceId)] {
        let start = self.adjacency_start[device.index()] as usize;
        let end = self.adjacency_start[device.index() + 1] as usize;
        &self.adjacency[start..end]
    }

    /// The link from a NIC's port into its leaf; none where no cable sits there.
    #[inline]
    pub fn access_link(&self, nic: DeviceId, port: u32) -> Option<LinkId> {
        let first = self.device_first_port[nic.index()];
        let ports = (first..self.device_first_port[nic.index() + 1]).map(PortId);
        let port = ports.filter(|&p| self.port_role(p).is_network()).nth(port as usize)?;
        self.cable_at(port).map(|cable| self.link_from(cable, port))
    }

    /// The link of `cable` that leaves `port`.
    #[inline]
    pub fn link_from(&self, cable: CableId, port: PortId) -> LinkId {
        if self.cable_ports[cable.index()][0] == port { cable.forward() } else { cable.backward() }
    }

    /// Bytes that the columns hold in memory, spare capacity included; names of host models are left out.
    pub fn memory_bytes(&self) -> usize {
        fn of<T>(column: &Vec<T>) -> usize {
            column.capacity() * size_of::<T>()
        }
        of(&self.host_models)
            + of(&self.hosts)
            + of(&self.device_kind)
            + of(&self.device_owner)
            + of(&self.device_first_port)
            + of(&self.switches)
            + of(&self.port_device)
            + of(&self.port_capacity)
            + of(&self.port_role)
            + of(&self.port_cable)
            + of(&self.cable_ports)
            + of(&self.cable_class)
            + of(&self.cable_capacity)
            + of(&self.cable_delay)
            + of(&self.adjacency_start)
            + of(&self.adjacency)
    }
}
