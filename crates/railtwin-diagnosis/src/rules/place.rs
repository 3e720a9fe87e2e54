//! Where things are: names of links and devices, far ends of ports, hosts of parts.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, DeviceKind, Fabric, LinkId};
use railtwin_records::{Component, Directory, Suspect};

use crate::context::Context;

/// One direction of a cable as findings name it: `from > to`, by ports, since two devices can share several cables.
pub fn link_component(fabric: &Fabric, link: LinkId) -> Component {
    let [first, second] = fabric.cable_ports(link.cable());
    let (from, to) = if link.0 & 1 == 0 { (first, second) } else { (second, first) };
    Component::Link(format!("{} > {}", fabric.port_name(from), fabric.port_name(to)))
}

/// A device of the fabric as findings name it.
pub fn device_component(fabric: &Fabric, device: DeviceId) -> Component {
    let name = fabric.device_name(device);
    match fabric.kind(device) {
        DeviceKind::Switch => Component::Switch(name),
        DeviceKind::Nic => Component::Nic(name),
        DeviceKind::Gpu => Component::Gpu(name),
        // An NVSwitch is replaced with its host, and so is a PCIe switch.
        DeviceKind::NvSwitch | DeviceKind::PcieSwitch => {
            Component::Host(name.split('/').next().unwrap_or_default().to_owned())
        }
    }
}

/// The fabric and a link of it; none where the fabric is not known or has no such link.
pub fn link_in<'a>(context: &Context<'a>, link: u32) -> Option<(&'a Fabric, LinkId)> {
    let fabric = context.fabric?;
    ((link as usize) < fabric.link_count()).then_some((fabric, LinkId(link)))
}

/// The device of an entity: as told, or that from which its link leaves.
pub fn device_of(context: &Context<'_>, entity: u32) -> Option<u32> {
    let info = context.directory.entities.get(entity as usize)?;
    info.device.or_else(|| {
        let (fabric, link) = link_in(context, info.link?)?;
        Some(fabric.source(link).0)
    })
}

/// The component of a device: by the fabric, or by the entity that stands for the whole device.
pub fn component_of_device(context: &Context<'_>, device: u32) -> Option<Component> {
    match context.fabric {
        Some(fabric) if (device as usize) < fabric.device_count() => {
            Some(device_component(fabric, DeviceId(device)))
        }
        _ => {
            let whole =
                |component: &Component| !matches!(component, Component::Cable(_) | Component::Link(_));
            let mut entities = context.directory.entities.iter();
            entities.find(|e| e.device == Some(device) && whole(&e.component)).map(|e| e.component.clone())
        }
    }
}

/// Whether a device is a switch, as far as is known.
pub fn is_switch(context: &Context<'_>, device: u32) -> bool {
    matches!(component_of_device(context, device), Some(Component::Switch(_)))
}

/// The host that a part such as `host-3/nic-1` belongs to, where the directory knows it.
pub fn host_of(directory: &Directory, component: &Component) -> Option<Component> {
    match component {
        Component::Gpu(name) | Component::Nic(name) => {
            let (host, _) = name.split_once('/')?;
            directory.hosts.iter().any(|info| info.name == host).then(|| Component::Host(host.to_owned()))
        }
        Component::Host(_) => Some(component.clone()),
        Component::Rank(_) => rank_row(directory, component).map(|rank| directory.host_component(rank)),
        _ => None,
    }
}

/// The row of the rank that a component names.
pub fn rank_row(directory: &Directory, component: &Component) -> Option<u32> {
    let Component::Rank(name) = component else { return None };
    let (job, number) = name.rsplit_once('/')?;
    let number: u32 = number.parse().ok()?;
    let mut ranks = directory.ranks.iter();
    let row = ranks.position(|info| {
        info.rank == number && directory.jobs.get(info.job as usize).is_some_and(|name| name == job)
    });
    row.map(|row| row as u32)
}

/// Which entity counts at which link.
#[derive(Clone, Default, Debug)]
pub struct Ports {
    by_link: BTreeMap<u32, u32>,
    known: usize,
}

impl Ports {
    /// Takes in entities that are new in the directory.
    pub fn learn(&mut self, directory: &Directory) {
        for (row, info) in directory.entities.iter().enumerate().skip(self.known) {
            if let Some(link) = info.link {
                self.by_link.insert(link, row as u32);
            }
        }
        self.known = directory.entities.len();
    }

    /// The entity of the port from which a link leaves.
    pub fn at(&self, link: u32) -> Option<u32> {
        self.by_link.get(&link).copied()
    }

    /// The entity of the port at the other end of the cable.
    pub fn far(&self, link: u32) -> Option<u32> {
        self.at(link ^ 1)
    }

    /// All links whose leaving port is with its entity.
    pub fn all(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.by_link.iter().map(|(&link, &entity)| (link, entity))
    }
}

/// Suspects from weights: shares that sum to 1, the likeliest first, the same component once.
pub fn suspects(weights: Vec<(Component, f64)>) -> Vec<Suspect> {
    let mut joined: BTreeMap<Component, f64> = BTreeMap::new();
    for (component, weight) in weights {
        *joined.entry(component).or_default() += weight;
    }
    let sum: f64 = joined.values().sum();
    let mut suspects: Vec<Suspect> =
        joined.into_iter().map(|(component, weight)| Suspect { component, share: weight / sum }).collect();
    suspects.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.component.cmp(&b.component)));
    suspects
}
