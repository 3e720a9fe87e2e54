//! Where components stand: on the map's devices, and at which ranks.
use railtwin_engine::Case;
use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_records::{Component, Directory, Finding};

/// What tells where components stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Components<'a> {
    pub(super) case: &'a Case,
    pub(super) directory: &'a Directory,
}

/// The NIC called `host-3/nic-1`, a port of it left out.
pub(super) fn nic_named(fabric: &Fabric, name: &str) -> Option<DeviceId> {
    let name = name.split_once(':').map_or(name, |(nic, _)| nic);
    let (host, nic) = name.split_once('/')?;
    let host = fabric.host_named(host)?;
    let nic: u32 = nic.strip_prefix("nic-")?.parse().ok()?;
    (nic < fabric.host_model(host).nics).then(|| fabric.nic(host, nic))
}

/// The links that leave the ports of a NIC.
pub(super) fn access_links(fabric: &Fabric, nic: DeviceId) -> Vec<LinkId> {
    let ports = fabric.ports(nic).count() as u32;
    (0..ports).filter_map(|port| fabric.access_link(nic, port)).collect()
}

fn host_of_name(name: &str) -> &str {
    name.split_once('/').map_or(name, |(host, _)| host)
}

impl Components<'_> {
    /// Names of the hosts and switches at which a component stands, as the payload's documentation says.
    pub(super) fn devices(&self, component: &Component) -> Option<Vec<String>> {
        let fabric = &*self.case.fabric;
        match component {
            Component::Switch(name) | Component::Host(name) => Some(vec![name.clone()]),
            Component::Gpu(name) => Some(vec![host_of_name(name).to_owned()]),
            Component::Rank(_) => {
                let rank = self.rank_named(component.name())?;
                Some(vec![self.directory.host_component(rank).name().to_owned()])
            }
            Component::Nic(name) => {
                let nic = nic_named(fabric, name)?;
                let leaves =
                    access_links(fabric, nic).into_iter().map(|link| self.device(fabric.target(link)));
                let mut devices = vec![host_of_name(name).to_owned()];
                devices.extend(leaves);
                devices.dedup();
                Some(devices)
            }
            Component::Cable(name) => self.cable_ends(name),
            Component::Link(name) => name.split(" > ").find_map(|port| self.cable_ends(port)),
            Component::Connection(name) => {
                Some(name.split(" > ").map(|nic| host_of_name(nic).to_owned()).collect())
            }
            _ => None,
        }
    }

    fn cable_ends(&self, name: &str) -> Option<Vec<String>> {
        let fabric = &*self.case.fabric;
        let ports = fabric.cable_ports(fabric.cable_named(name)?);
        Some(ports.map(|port| self.device(fabric.port_device(port))).to_vec())
    }

    /// Name of a switch, or of the host of anything else.
    fn device(&self, device: DeviceId) -> String {
        let fabric = &*self.case.fabric;
        fabric.host_of(device).map_or_else(|| fabric.device_name(device), |host| format!("host-{}", host.0))
    }

    fn rank_named(&self, name: &str) -> Option<u32> {
        let (job, number) = name.rsplit_once('/')?;
        let number: u32 = number.parse().ok()?;
        let fits = |row: &usize| {
            let info = &self.directory.ranks[*row];
            info.rank == number && self.directory.jobs[info.job as usize] == job
        };
        (0..self.directory.ranks.len()).find(fits).map(|row| row as u32)
    }

    /// Rows of the ranks that stand where a finding's suspects do: those of the first suspect that has any.
    pub(super) fn ranks_of(&self, finding: &Finding) -> Vec<u32> {
        let suspects = finding.suspects.iter().map(|suspect| self.ranks_at(&suspect.component));
        suspects.into_iter().find(|ranks| !ranks.is_empty()).unwrap_or_default()
    }

    fn ranks_at(&self, component: &Component) -> Vec<u32> {
        let directory = self.directory;
        let rows = 0..directory.ranks.len() as u32;
        let of_nic = |name: &str| -> Vec<u32> {
            let name = name.split_once(':').map_or(name, |(nic, _)| nic);
            let nic = |row: u32| {
                let info = &directory.ranks[row as usize];
                format!("{}/nic-{}", directory.hosts[info.host as usize].name, info.nic)
            };
            rows.clone().filter(|&row| nic(row) == name).collect()
        };
        match component {
            Component::Rank(name) => self.rank_named(name).into_iter().collect(),
            Component::Gpu(_) => rows.filter(|&row| directory.gpu_component(row) == *component).collect(),
            Component::Host(_) => rows.filter(|&row| directory.host_component(row) == *component).collect(),
            Component::Nic(name) => of_nic(name),
            Component::Cable(name) => of_nic(name),
            Component::Link(name) | Component::Connection(name) => {
                name.split(" > ").map(of_nic).find(|ranks| !ranks.is_empty()).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}
