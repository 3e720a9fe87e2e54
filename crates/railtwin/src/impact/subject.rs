//! What is drained, by the names that reports use.
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric, HostId};

use crate::error::Error;

/// Names that an error offers.
const NEAREST: usize = 3;

/// A device or cable of the backend network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// What it is, in one word: leaf, spine, core, host, NIC, cable.
    pub kind: &'static str,
    /// The host, where it is one.
    pub host: Option<HostId>,
    /// The NIC, where it is one.
    pub nic: Option<DeviceId>,
    /// Cables of the network that go with it, ascending.
    pub cables: Vec<CableId>,
}

impl Subject {
    /// The one of a name: `leaf-3`, `spine-0`, `core-7`, `host-3`, `host-3/nic-1`, `leaf-5:uplink-2`,
    /// `host-3/nic-1:port-0`, `storage-0` and `gateway-1` with their `nic-0`, or a link
    /// `leaf-5:uplink-2 > spine-2:downlink-5`, which stands for its cable.
    ///
    /// # Errors
    /// [`Error::Argument`] with the nearest names where the fabric has none of that name.
    pub fn named(fabric: &Fabric, name: &str) -> Result<Self, Error> {
        let name = name.split(" > ").next().unwrap_or_default().trim();
        let of = |kind, devices: Vec<DeviceId>| Self {
            name: name.to_owned(),
            kind,
            host: None,
            nic: None,
            cables: cables(fabric, &devices),
        };
        if let Some(switch) = fabric.switch_named(name) {
            let tier = fabric.place(switch).map_or(0, |place| place.tier);
            return Ok(of(["switch", "leaf", "spine", "core"][usize::from(tier).min(3)], vec![switch]));
        }
        if let Some(host) = fabric.host_named(name) {
            let nics = (0..fabric.host_model(host).nics).map(|nic| fabric.nic(host, nic)).collect();
            return Ok(Self { host: Some(host), ..of("host", nics) });
        }
        let service = ["storage-", "gateway-"].iter().any(|kind| name.starts_with(kind));
        if let Some(nic) = fabric.nic_named(name, "nic-0").filter(|_| service) {
            return Ok(of("host", vec![nic]));
        }
        if let Some(nic) = nic_named(fabric, name) {
            return Ok(Self { nic: Some(nic), ..of("NIC", vec![nic]) });
        }
        let network = |cable: &CableId| fabric.cable_class(*cable) >= CableClass::Access;
        if let Some(cable) = fabric.cable_named(name).filter(network) {
            return Ok(Self { cables: vec![cable], ..of("cable", Vec::new()) });
        }
        let nearest = nearest(fabric, name);
        Err(Error::Argument(format!(
            "the fabric has no leaf, spine, core, host, NIC or cable called {name:?}; the nearest names are {}",
            nearest.join(", ")
        )))
    }
}

/// Cables of the network in ports of devices.
fn cables(fabric: &Fabric, devices: &[DeviceId]) -> Vec<CableId> {
    let ports = devices.iter().flat_map(|&device| fabric.ports(device));
    let mut cables: Vec<CableId> = ports
        .filter_map(|port| fabric.cable_at(port))
        .filter(|&cable| fabric.cable_class(cable) >= CableClass::Access)
        .collect();
    cables.sort_unstable();
    cables.dedup();
    cables
}

/// The NIC called `host-3/nic-1`, `host-3/frontend-nic-0` or `storage-0/nic-0`.
fn nic_named(fabric: &Fabric, name: &str) -> Option<DeviceId> {
    let (host, nic) = name.split_once('/')?;
    fabric.nic_named(host, nic)
}

/// Names of the fabric that are least apart from a name: of ports where it has a colon, of NICs where it has a slash.
fn nearest(fabric: &Fabric, name: &str) -> Vec<String> {
    let device = name.split(':').next().unwrap_or_default();
    let is_nic = device.contains('/');
    let devices = fabric.devices().filter(|&device| match fabric.kind(device) {
        DeviceKind::Switch => !is_nic,
        DeviceKind::Nic => is_nic,
        _ => false,
    });
    let hosts = (0..fabric.hosts().len()).filter(|_| !is_nic).map(|host| format!("host-{host}"));
    let names = devices.map(|device| fabric.device_name(device)).filter(|name| !name.contains("frontend"));
    let near = least_apart(device, names.chain(hosts));
    if !name.contains(':') {
        return near;
    }
    let ports = near.iter().flat_map(|near| {
        let device = nic_named(fabric, near).or_else(|| fabric.switch_named(near));
        device.into_iter().flat_map(|device| fabric.ports(device))
    });
    let cabled = ports.filter(|&port| fabric.cable_at(port).is_some());
    let found = least_apart(
        name,
        cabled.map(|port| fabric.port_name(port)).filter(|name| fabric.cable_named(name).is_some()),
    );
    if found.is_empty() { near } else { found }
}

/// The names of fewest edits, those of one distance in their order.
fn least_apart(name: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let mut keyed: Vec<(usize, String)> =
        names.map(|other| (strsim::damerau_levenshtein(name, &other), other)).collect();
    keyed.sort_by_key(|keyed| keyed.0);
    keyed.into_iter().take(NEAREST).map(|(_, name)| name).collect()
}
