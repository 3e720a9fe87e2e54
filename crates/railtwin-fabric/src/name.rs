//! Names for people: `host-17`, `host-17/nic-3`, `leaf-5`, `leaf-5:uplink-2`, and back to ids.
use crate::graph::{CableId, DeviceId, DeviceKind, Fabric, HostId, LinkId, PortId, PortRole};

/// Names of tiers, from the hosts up.
const TIERS: [&str; 3] = ["leaf", "spine", "core"];

impl Fabric {
    /// Name of a device. Switches count from 0 within their tier.
    pub fn device_name(&self, device: DeviceId) -> String {
        match self.place(device) {
            Some(place) => {
                let first = self.first_of_tier(place.tier);
                format!("{}-{}", TIERS[usize::from(place.tier - 1)], device.0 - first.0)
            }
            None => {
                let host = self.host_of(device).expect("a device is a switch or stands in a host");
                let first = self.host(host).first_device.0;
                let model = self.host_model(host);
                let slot = device.0 - first - u32::from(model.has_nvswitch()).min(device.0 - first);
                match self.kind(device) {
                    DeviceKind::Gpu => format!("host-{}/gpu-{slot}", host.0),
                    DeviceKind::Nic if slot - model.gpus < model.nics => {
                        format!("host-{}/nic-{}", host.0, slot - model.gpus)
                    }
                    DeviceKind::Nic => {
                        format!("host-{}/frontend-nic-{}", host.0, slot - model.gpus - model.nics)
                    }
                    DeviceKind::PcieSwitch => match slot - model.gpus - model.nics - model.frontend_nics {
                        root if root == model.pcie_switches => format!("host-{}/pcie-root", host.0),
                        switch => format!("host-{}/pcie-{switch}", host.0),
                    },
                    _ => format!("host-{}/nvswitch", host.0),
                }
            }
        }
    }

    /// The first switch of a tier; switches of a tier are contiguous.
    fn first_of_tier(&self, tier: u8) -> DeviceId {
        let row = self.switches.partition_point(|(_, place)| place.tier < tier);
        self.switches.get(row).map_or(DeviceId(u32::MAX), |(device, _)| *device)
    }

    /// The switch called `leaf-3`, `spine-0` or `core-7`.
    pub fn switch_named(&self, name: &str) -> Option<DeviceId> {
        let (tier, index) = name.rsplit_once('-')?;
        let tier = TIERS.iter().position(|&known| known == tier)? as u8 + 1;
        let device = DeviceId(self.first_of_tier(tier).0.checked_add(index.parse().ok()?)?);
        (device.index() < self.device_count() && self.place(device)?.tier == tier).then_some(device)
    }

    /// The host called `host-3`.
    pub fn host_named(&self, name: &str) -> Option<HostId> {
        let index: u32 = name.strip_prefix("host-")?.parse().ok()?;
        ((index as usize) < self.hosts.len()).then_some(HostId(index))
    }

    /// The cable in a named port: `leaf-5:uplink-2`, `leaf-5:downlink-0`, `host-3/nic-1:port-0`.
    pub fn cable_named(&self, name: &str) -> Option<CableId> {
        let (device, port) = name.split_once(':')?;
        let (kind, index) = port.rsplit_once('-')?;
        let index: usize = index.parse().ok()?;
        let (device, role) = match (device.split_once('/'), kind) {
            (Some((host, nic)), "port") => {
                let host = self.host_named(host)?;
                let nic: u32 = nic.strip_prefix("nic-")?.parse().ok()?;
                (nic < self.host_model(host).nics).then(|| (self.nic(host, nic), PortRole::Backend))?
            }
            (None, "uplink") => (self.switch_named(device)?, PortRole::Up),
            (None, "downlink") => (self.switch_named(device)?, PortRole::Down),
            _ => return None,
        };
        let port = self.ports(device).filter(|&p| self.port_role(p) == role).nth(index)?;
        self.cable_at(port)
    }

    /// Name of a cable by the port nearer to the hosts.
    pub fn cable_name(&self, cable: CableId) -> String {
        let [near, _] = self.cable_ports(cable);
        self.port_name(near)
    }

    /// Name of a link by the ports that it leaves and enters: `leaf-5:uplink-2 > spine-2:downlink-5`.
    pub fn link_name(&self, link: LinkId) -> String {
        let [near, far] = self.cable_ports(link.cable());
        let (from, to) = if self.link_from(link.cable(), near) == link { (near, far) } else { (far, near) };
        format!("{} > {}", self.port_name(from), self.port_name(to))
    }

    /// Name of a port, such as `leaf-5:uplink-2`.
    pub fn port_name(&self, port: PortId) -> String {
        let device = self.port_device(port);
        let role = self.port_role(port);
        let index = self.ports(device).filter(|&p| self.port_role(p) == role).position(|p| p == port);
        let kind = match role {
            PortRole::Up => "uplink",
            PortRole::Down => "downlink",
            _ => "port",
        };
        format!("{}:{kind}-{}", self.device_name(device), index.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use crate::preset::{DcnPlus, FatTree, Hpn};

    #[test]
    fn names_lead_back_to_the_same_device_and_cable() {
        let fabrics = [
            Hpn { segments: Some(2), hosts: Some(3), spare_hosts: Some(1), ..Hpn::default() }
                .build()
                .unwrap(),
            DcnPlus { pods: 2, hosts: 2, ..DcnPlus::default() }.build().unwrap(),
            FatTree { k: 4, ..FatTree::default() }.build().unwrap(),
        ];
        for fabric in fabrics {
            for &(device, _) in fabric.switches() {
                assert_eq!(fabric.switch_named(&fabric.device_name(device)), Some(device));
            }
            for cable in fabric.cables().filter(|&c| fabric.cable_class(c) >= crate::CableClass::Access) {
                assert_eq!(fabric.cable_named(&fabric.cable_name(cable)), Some(cable));
            }
            for name in [
                "",
                "leaf",
                "leaf-x",
                "leaf-99999",
                "host-1:port-0",
                "host-0/nic-99:port-0",
                "leaf-0:uplink-999",
            ] {
                assert_eq!(fabric.cable_named(name), None, "{name}");
            }
        }
    }
}
