//! The only way to make a fabric: add hosts, switches and cables, then freeze the adjacency.
use railtwin_units::{Rate, SimTime};

use crate::error::FabricError;
use crate::graph::{
    CableClass, CableId, DeviceId, DeviceKind, Fabric, Host, HostId, NONE, PortId, PortRole, SwitchPlace,
};
use crate::host::HostModel;

/// A run of equal ports on a device: how many, how fast, which way they look.
pub type PortRun = (u32, Rate, PortRole);

/// Grows a fabric device by device; ports of one device are contiguous.
#[derive(Debug)]
pub struct FabricBuilder {
    fabric: Fabric,
}

impl FabricBuilder {
    /// An empty fabric called `name`.
    pub fn new(name: &str) -> Self {
        let fabric = Fabric {
            name: name.to_owned(),
            switch_latency: SimTime::ZERO,
            breakout: 1,
            host_models: Vec::new(),
            hosts: Vec::new(),
            gpu_hosts: 0,
            gateways: 0,
            device_kind: Vec::new(),
            device_owner: Vec::new(),
            device_first_port: vec![0],
            switches: Vec::new(),
            port_device: Vec::new(),
            port_capacity: Vec::new(),
            port_role: Vec::new(),
            port_cable: Vec::new(),
            cable_ports: Vec::new(),
            cable_class: Vec::new(),
            cable_capacity: Vec::new(),
            cable_delay: Vec::new(),
            adjacency_start: Vec::new(),
            adjacency: Vec::new(),
        };
        Self { fabric }
    }

    /// Goes on with a fabric that is built: what it has keeps its ids.
    pub(crate) fn over(fabric: Fabric) -> Self {
        Self { fabric }
    }

    /// What is built so far.
    pub(crate) fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Sets the time from a packet's arrival at an idle switch to its departure.
    pub fn set_switch_latency(&mut self, latency: SimTime) {
        self.fabric.switch_latency = latency;
    }

    /// Sets how many cables of the fabric are one physical cable.
    pub(crate) fn set_breakout(&mut self, breakout: u32) {
        self.fabric.breakout = breakout.max(1);
    }

    /// Registers a host model and returns its row.
    pub fn add_host_model(&mut self, model: HostModel) -> u32 {
        self.fabric.host_models.push(model);
        self.fabric.host_models.len() as u32 - 1
    }

    /// Adds a host with its GPUs, NVSwitch and NICs, cabled inside. Ports into networks stay free. A host without GPUs is a
    /// storage host, whose NICs have no PCIe cable: what feeds them is not in the graph.
    ///
    /// # Panics
    /// When one with GPUs comes after one without: recipes add storage hosts last.
    pub fn add_host(&mut self, model: u32, pod: u32, segment: u32, index: u32, spare: bool) -> HostId {
        let host = HostId::from_index(self.fabric.hosts.len());
        let first_device = DeviceId::from_index(self.fabric.device_kind.len());
        self.fabric.hosts.push(Host { pod, segment, index, spare, model, first_device });
        let m = self.fabric.host_models[model as usize].clone();
        if m.gpus > 0 {
            self.fabric.gpu_hosts += 1;
            assert_eq!(self.fabric.gpu_hosts, self.fabric.hosts.len(), "storage hosts come last");
        }
        let nvswitch = m.nvlink.map(|capacity| {
            self.add_device(DeviceKind::NvSwitch, host.0, &[(m.gpus, capacity, PortRole::Inside)])
        });
        let nvlink = m.nvlink.map(|capacity| (1, capacity, PortRole::Inside));
        for gpu in 0..m.gpus {
            let own = (0..m.nics).filter(|&nic| m.gpu_of_nic(nic) == gpu).count() as u32;
            let pcie = (if m.pcie_switches > 0 { 1 } else { own }, m.pcie, PortRole::Inside);
            let runs = [nvlink.unwrap_or((0, m.pcie, PortRole::Inside)), pcie];
            let device = self.add_device(DeviceKind::Gpu, host.0, &runs);
            if let Some(nvswitch) = nvswitch {
                let ports = [self.port(device, 0), self.port(nvswitch, gpu)];
                self.add_cable(ports, CableClass::NvLink, m.nvlink_delay);
            }
        }
        let gpu_of = |nic: u32| DeviceId(first_device.0 + u32::from(nvswitch.is_some()) + m.gpu_of_nic(nic));
        for nic in 0..m.nics {
            let pcie = (u32::from(m.gpus > 0), m.pcie, PortRole::Inside);
            let runs = [pcie, (m.nic.ports, m.nic.port_capacity, PortRole::Backend)];
            let device = self.add_device(DeviceKind::Nic, host.0, &runs);
            if m.pcie_switches > 0 || m.gpus == 0 {
                continue;
            }
            let rank = (0..nic).filter(|&other| m.gpu_of_nic(other) == m.gpu_of_nic(nic)).count() as u32;
            let gpu_port = self.port(gpu_of(nic), u32::from(nvswitch.is_some()) + rank);
            self.add_cable([gpu_port, self.port(device, 0)], CableClass::Pcie, m.pcie_delay);
        }
        for _ in 0..m.frontend_nics {
            let runs = [(m.frontend.ports, m.frontend.port_capacity, PortRole::Frontend)];
            self.add_device(DeviceKind::Nic, host.0, &runs);
        }
        self.add_pcie_switches(host, &m);
        host
    }

    /// The PCIe switches of a host with their GPUs and NICs, and the root complex above them.
    fn add_pcie_switches(&mut self, host: HostId, m: &HostModel) {
        if m.pcie_switches == 0 {
            return;
        }
        let (gpu, nic) = (self.fabric.gpu(host, 0), self.fabric.nic(host, 0));
        let mut uplinks = Vec::with_capacity(m.pcie_switches as usize);
        for switch in 0..m.pcie_switches {
            let gpus: Vec<u32> = (0..m.gpus).filter(|&gpu| m.switch_of_gpu(gpu) == switch).collect();
            let nics: Vec<u32> = (0..m.nics).filter(|&nic| m.switch_of_nic(nic) == switch).collect();
            let ports = (gpus.len() + nics.len()) as u32 + 1;
            let device =
                self.add_device(DeviceKind::PcieSwitch, host.0, &[(ports, m.pcie, PortRole::Inside)]);
            for (row, &of) in (0..).zip(&gpus) {
                let near = self.port(DeviceId(gpu.0 + of), u32::from(m.has_nvswitch()));
                self.add_cable([near, self.port(device, row)], CableClass::Pcie, SimTime::ZERO);
            }
            for (row, &of) in (gpus.len() as u32..).zip(&nics) {
                let far = self.port(DeviceId(nic.0 + of), 0);
                self.add_cable([self.port(device, row), far], CableClass::Pcie, m.pcie_delay);
            }
            uplinks.push(self.port(device, ports - 1));
        }
        let run = (m.pcie_switches, m.pcie, PortRole::Inside);
        let root = self.add_device(DeviceKind::PcieSwitch, host.0, &[run]);
        for (row, near) in (0..).zip(uplinks) {
            self.add_cable([near, self.port(root, row)], CableClass::Pcie, m.pcie_delay);
        }
    }

    /// Adds a switch with its runs of ports.
    pub fn add_switch(&mut self, place: SwitchPlace, runs: &[PortRun]) -> DeviceId {
        let row = self.fabric.switches.len() as u32;
        let device = self.add_device(DeviceKind::Switch, row, runs);
        self.fabric.switches.push((device, place));
        device
    }

    fn add_device(&mut self, kind: DeviceKind, owner: u32, runs: &[PortRun]) -> DeviceId {
        let fabric = &mut self.fabric;
        let device = DeviceId::from_index(fabric.device_kind.len());
        fabric.device_kind.push(kind);
        fabric.device_owner.push(owner);
        for &(count, capacity, role) in runs {
            for _ in 0..count {
                fabric.port_device.push(device);
                fabric.port_capacity.push(capacity);
                fabric.port_role.push(role);
                fabric.port_cable.push(NONE);
            }
        }
        fabric.device_first_port.push(fabric.port_device.len() as u32);
        device
    }

    /// Port `index` of a device.
    ///
    /// # Panics
    /// When the device has no such port: recipes know how many they made.
    pub fn port(&self, device: DeviceId, index: u32) -> PortId {
        let port = self.fabric.device_first_port[device.index()] + index;
        assert!(port < self.fabric.device_first_port[device.index() + 1], "{device:?} has no port {index}");
        PortId(port)
    }

    /// Port `port` of NIC `nic` of `host` into its network, the backend's or the frontend's.
    pub fn nic_port(&self, host: HostId, nic: u32, port: u32) -> PortId {
        let model = self.fabric.host_model(host);
        let inside = u32::from(model.gpus > 0 && nic < model.nics);
        self.port(self.fabric.nic(host, nic), inside + port)
    }

    /// Joins two free ports, the one nearer to the hosts first; the slower port sets the capacity.
    ///
    /// # Panics
    /// When a port is taken: recipes place each cable once.
    pub fn add_cable(&mut self, ports: [PortId; 2], class: CableClass, delay: SimTime) -> CableId {
        let fabric = &mut self.fabric;
        let cable = CableId::from_index(fabric.cable_ports.len());
        for port in ports {
            assert_eq!(fabric.port_cable[port.index()], NONE, "{port:?} holds a cable already");
            fabric.port_cable[port.index()] = cable.0;
        }
        let [a, b] = ports.map(|port| fabric.port_capacity[port.index()]);
        fabric.cable_ports.push(ports);
        fabric.cable_class.push(class);
        fabric.cable_capacity.push(a.min(b));
        fabric.cable_delay.push(delay);
        cable
    }

    /// Freezes the adjacency.
    ///
    /// # Errors
    /// [`FabricError::TooLarge`] when links do not fit 32 bits.
    pub fn finish(mut self) -> Result<Fabric, FabricError> {
        let fabric = &mut self.fabric;
        if fabric.cable_ports.len() >= (u32::MAX / 2) as usize {
            return Err(FabricError::TooLarge { what: "links" });
        }
        fabric.freeze();
        Ok(self.fabric)
    }
}
