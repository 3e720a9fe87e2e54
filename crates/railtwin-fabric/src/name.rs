//! Names for people: `host-17`, `host-17/nic-3`, `leaf-5`, `leaf-5:uplink-2`, and back to ids.
#[cfg(doc)]
use crate::graph::SwitchPlace;
use crate::graph::{CableId, DeviceId, DeviceKind, Fabric, HostId, LinkId, PortId, PortRole};

/// Names of tiers by their number, from 1: of the backend from the hosts up, then of the frontend.
const TIERS: [&str; 6] = ["leaf", "spine", "core", "frontend-leaf", "frontend-spine", "frontend-core"];

/// Name of a tier by its number in [`SwitchPlace`].
///
/// # Panics
/// When there is no such tier.
pub fn tier_name(tier: u8) -> &'static str {
    TIERS[usize::from(tier - 1)]
}

impl Fabric {
    /// Name of a host: `host-17`, or `storage-3` and `gateway-0` of those without GPUs, which count from 0 each.
    pub fn host_name(&self, host: HostId) -> String {
        let (storage, gateway) = (self.gpu_hosts, self.first_gateway());
        match host.index() {
            row if row >= gateway && self.gateways > 0 => format!("gateway-{}", row - gateway),
            row if row >= storage => format!("storage-{}", row - storage),
            row => format!("host-{row}"),
        }
    }

    /// Name of a device. Switches count from 0 within their tier.
    pub fn device_name(&self, device: DeviceId) -> String {
        match self.place(device) {
            Some(place) => {
                let first = self.first_of_tier(place.tier);
                format!("{}-{}", tier_name(place.tier), device.0 - first.0)
            }
            None => {
                let host = self.host_of(device).expect("a device is a switch or stands in a host");
                let first = self.host(host).first_device.0;
                let model = self.host_model(host);
                let slot = device.0 - first - u32::from(model.has_nvswitch()).min(device.0 - first);
                if self.is_service(host) {
                    return format!("{}/nic-{slot}", self.host_name(host));
                }
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
        ((index as usize) < self.gpu_hosts).then_some(HostId(index))
    }

    /// NIC `nic-1` or `frontend-nic-0` of a host, `nic-0` of a storage host or gateway.
    pub fn nic_named(&self, host: &str, nic: &str) -> Option<DeviceId> {
        let storage = host.strip_prefix("storage-").map(|row| (self.gpu_hosts, self.first_gateway(), row));
        let gateway = host.strip_prefix("gateway-").map(|row| (self.first_gateway(), self.hosts.len(), row));
        if let Some((first, end, row)) = storage.or(gateway) {
            let row = first.checked_add(row.parse().ok()?).filter(|&row| row < end)?;
            let model = self.host_models.get(self.hosts.get(row)?.model as usize)?;
            let nic: u32 = nic.strip_prefix("nic-")?.parse().ok()?;
            return (nic < model.nics + model.frontend_nics).then(|| self.nic(HostId::from_index(row), nic));
        }
        let host = self.host_named(host)?;
        let model = self.host_model(host);
        if let Some(nic) = nic.strip_prefix("frontend-nic-") {
            let nic: u32 = nic.parse().ok()?;
            return (nic < model.frontend_nics).then(|| self.nic(host, model.nics + nic));
        }
        let nic: u32 = nic.strip_prefix("nic-")?.parse().ok()?;
        (nic < model.nics).then(|| self.nic(host, nic))
    }

    /// The cable in a named port: `leaf-5:uplink-2`, `leaf-5:downlink-0`, `host-3/nic-1:port-0`.
    pub fn cable_named(&self, name: &str) -> Option<CableId> {
        let (device, port) = name.split_once(':')?;
        let (kind, index) = port.rsplit_once('-')?;
        let index: usize = index.parse().ok()?;
        let (device, role) = match (device.split_once('/'), kind) {
            (Some((host, nic)), "port") => {
                let nic = self.nic_named(host, nic)?;
                let cable = |port: PortId| self.port_role(port).is_network();
                let port = self.ports(nic).filter(|&port| cable(port)).nth(index)?;
                return self.cable_at(port);
            }
            (None, "uplink") => (self.switch_named(device)?, PortRole::Up),
            (None, "downlink") => (self.switch_named(device)?, PortRole::Down),
            (None, "peer") => (self.switch_named(device)?, PortRole::Peer),
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
            PortRole::Peer => "peer",
            _ => "port",
        };
        format!("{}:{kind}-{}", self.device_name(device), index.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::{Frontend, Storage};
    use crate::preset::{DcnPlus, FatTree, Hpn, Layout as _};

    #[test]
    fn names_lead_back_to_the_same_device_and_cable() {
        let fabrics = [
            Hpn { segments: Some(2), hosts: Some(3), spare_hosts: Some(1), ..Hpn::default() }
                .build()
                .unwrap(),
            DcnPlus { pods: 2, hosts: 2, ..DcnPlus::default() }.build().unwrap(),
            crate::frontend::Outside {
                frontend: Some(Frontend::default()),
                storage: Some(Storage { gateways: 2, ..Storage::of(3) }),
            }
            .build(&Hpn { segments: Some(2), hosts: Some(3), ..Hpn::default() }.spec().unwrap())
            .unwrap(),
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
