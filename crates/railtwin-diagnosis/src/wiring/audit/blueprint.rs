//! The blueprint of a network, and what was seen of it.
use railtwin_fabric::cable_list::{CableList, Inference};
use railtwin_records::NeighborInfo;

/// The blueprint of a network.
#[derive(Clone, PartialEq, Debug)]
pub struct Blueprint {
    pub(super) list: CableList,
    pub(super) found: Inference,
}

impl Blueprint {
    /// The blueprint of a cable list with the places of its devices.
    pub fn new(list: CableList, found: Inference) -> Self {
        Self { list, found }
    }

    /// The cables, as a list.
    pub fn list(&self) -> &CableList {
        &self.list
    }

    /// The places of its devices.
    pub fn found(&self) -> &Inference {
        &self.found
    }

    /// The planned far end of a port; none of ports that the blueprint does not have or leaves free.
    pub(super) fn planned(&self, port: u32) -> Option<u32> {
        ((port as usize) < self.list.ports().len()).then(|| self.list.peer(port)).flatten()
    }
}

/// The far end of a cable, as it was seen from the near end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FarEnd {
    /// No cable is plugged in.
    Free,
    /// A device, and its port where that is known.
    Device(String, Option<String>),
}

/// A port with what was seen at the far end of its cable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sighting {
    /// Device of the port.
    pub device: String,
    /// The port.
    pub port: String,
    /// The far end.
    pub far: FarEnd,
}

impl Sighting {
    /// What a port reports of its neighbor. Names of ports may have that of their device before them.
    pub fn of(info: &NeighborInfo) -> Self {
        let (device, port) = info
            .port
            .split_once('/')
            .or_else(|| info.port.rsplit_once(':'))
            .unwrap_or((info.port.as_str(), ""));
        let neighbor = info.neighbor.as_str();
        let (far, nic) = neighbor.split_once('/').map_or((neighbor, None), |(host, nic)| (host, Some(nic)));
        let bare = info.neighbor_port.strip_prefix(far).and_then(|rest| rest.strip_prefix(['/', ':']));
        let far_port = match (bare, nic) {
            (Some(bare), _) => bare.to_owned(),
            (None, Some(nic)) => format!("{nic}:{}", info.neighbor_port),
            (None, None) => info.neighbor_port.clone(),
        };
        let far_port = (!far_port.is_empty()).then_some(far_port);
        let far = FarEnd::Device(far.to_owned(), far_port);
        Self { device: device.to_owned(), port: port.to_owned(), far }
    }
}

/// A cable list as it was seen: both ends of each cable, and its free ports.
pub fn sightings_of_list(list: &CableList) -> Vec<Sighting> {
    let name = |port: u32| {
        let one = &list.ports()[port as usize];
        (list.devices()[one.device as usize].name.clone(), one.name.clone())
    };
    let all = (0..list.ports().len() as u32).map(|row| {
        let (device, port) = name(row);
        let far = list
            .peer(row)
            .map(name)
            .map_or(FarEnd::Free, |(device, port)| FarEnd::Device(device, Some(port)));
        Sighting { device, port, far }
    });
    all.collect()
}
