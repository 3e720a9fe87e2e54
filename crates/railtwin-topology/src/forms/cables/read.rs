//! From cable lists to a topology.
use railtwin_fabric::cable_list::{CableList, Inference, role_of};
use railtwin_formats::{FormatError, is_cable_list, read_cable_list};

use super::FORMAT;
use crate::about::DeviceClass;
use crate::form::SourceFile;
use crate::tiers;
use crate::topology::Topology;
use crate::wiring;

/// Reads cable lists; those of one fabric may be in several files.
///
/// # Errors
/// As [`railtwin_formats::parse_cable_list`], but for ports that hold two cables, which are findings.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut topology = Topology::new("cables");
    let of_form: Vec<SourceFile<'_>> =
        sources.iter().copied().filter(|source| is_cable_list(source.bytes)).collect();
    let (first, rest) = of_form.split_first().ok_or_else(|| {
        let name = sources.first().map_or("", |source| source.name);
        FormatError::new(FORMAT, name, "is no cable list", "write a row for each cable").foreign()
    })?;
    topology.list = one(&mut topology, first)?;
    for source in rest {
        let list = one(&mut topology, source)?;
        append(&mut topology, &list);
    }
    topology.about.resize_with(topology.list.devices().len(), Default::default);
    classes(&mut topology);
    tiers::by_distance(&mut topology);
    wiring::adapters_by_port(&mut topology);
    Ok(topology)
}

/// The list of one file; its contradictions are findings.
fn one(topology: &mut Topology, source: &SourceFile<'_>) -> Result<CableList, FormatError> {
    let (list, taken) = read_cable_list(source.name, source.bytes)?;
    for (device, error) in taken {
        topology.find("port-with-two-cables", device, error.without_source());
    }
    Ok(list)
}

/// Adds the devices and cables of another file.
fn append(topology: &mut Topology, list: &CableList) {
    for device in list.devices() {
        let row = topology.list.device(&device.name);
        let known = topology.list.device_mut(row);
        (known.role, known.network) = (known.role.or(device.role), known.network.or(device.network));
        known.place = known.place.or(device.place);
        if known.rack.is_none() {
            known.rack.clone_from(&device.rack);
        }
    }
    topology.about.resize_with(topology.list.devices().len(), Default::default);
    let end = |port: u32| {
        let port = &list.ports()[port as usize];
        (list.devices()[port.device as usize].name.as_str(), port.name.as_str(), port.rate, port.line)
    };
    for cable in list.cables() {
        let ends = cable.ports.map(|port| {
            let (device, port, rate, _) = end(port);
            let row = topology.list.device(device);
            wiring::End { device: row, port, rate }
        });
        wiring::join(topology, ends, cable.delay, end(cable.ports[0]).3);
    }
    for port in (0..list.ports().len() as u32).filter(|&port| list.peer(port).is_none()) {
        let (device, name, rate, line) = end(port);
        let row = topology.list.device(device);
        topology.list.port(row, name, rate, line);
    }
}

/// Enters what devices are: as the list states, else as names and the shape of the network tell.
fn classes(topology: &mut Topology) {
    let found = Inference::of(&topology.list).ok();
    for row in 0..topology.list.devices().len() as u32 {
        let device = topology.list.device_mut(row);
        let told = found.as_ref().map(|found| found.places[row as usize].role);
        let role = device.role.or(told).or_else(|| role_of(&device.name));
        device.role = role;
        let name = device.name.clone();
        topology.about_mut(row).class = match role {
            Some(role) if role.is_host() => DeviceClass::Host,
            Some(_) => DeviceClass::Switch,
            None => {
                topology.find("unknown-device", name, "neither a column nor its name tells what it is");
                DeviceClass::Unknown
            }
        };
    }
}
