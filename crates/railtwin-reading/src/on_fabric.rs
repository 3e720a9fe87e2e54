//! A fabric beside foreign telemetry: hosts matched by name, so that suspects have NICs, cables and switches.
use std::collections::BTreeMap;
use std::sync::Arc;

use railtwin_fabric::{Fabric, HostId};
use railtwin_records::{Component, Directory, HostInfo};

use super::names::number_nic;
use super::site::Site;
use crate::error::Error;

/// Gives ranks and counters of a directory their place in the fabric, and says what was matched.
///
/// - A rank whose host no file tells gets the host and GPU where the scenario places the rank of that number of its first
///   job.
/// - NICs whose name is that of the fabric, and `mlx5_N` of its hosts, get their device and the link that leaves the port
///   that `ports` gives by row of their entity, else their first one.
///
/// # Errors
/// [`Error::Argument`] when not one host has a name of the fabric.
pub fn place(
    directory: &mut Directory,
    site: &Site,
    ports: &BTreeMap<u32, u32>,
) -> Result<Vec<String>, Error> {
    let fabric = &site.fabric;
    let mut placed = 0_u32;
    if !site.places.is_empty() {
        for row in 0..directory.ranks.len() {
            let info = directory.ranks[row].clone();
            let unknown = directory.hosts[info.host as usize].name == format!("host-of-rank-{}", info.rank);
            let Some(&(host, gpu)) = site.places.get(info.rank as usize).filter(|_| unknown) else {
                continue;
            };
            let name = host_name(fabric, host);
            let host = directory.hosts.iter().position(|known| known.name == name).unwrap_or_else(|| {
                directory.hosts.push(HostInfo { name });
                directory.hosts.len() - 1
            });
            let rank = &mut directory.ranks[row];
            (rank.host, rank.gpu, rank.nic) = (host as u32, gpu, gpu);
            placed += 1;
        }
    }
    let known = directory.hosts.iter().filter(|host| fabric.host_named(&host.name).is_some()).count();
    let mut nics = 0_u32;
    for (row, entity) in directory.entities.iter_mut().enumerate() {
        let Component::Nic(name) = &mut entity.component else { continue };
        number_nic(fabric, name);
        let Some((host, number)) = name.split_once("/nic-") else { continue };
        let (Some(host), Ok(number)) = (fabric.host_named(host), number.parse::<u32>()) else { continue };
        if number < fabric.host_model(host).nics {
            let nic = fabric.nic(host, number);
            entity.device = Some(nic.0);
            let port = ports.get(&(row as u32)).copied().unwrap_or(0);
            entity.link = fabric.access_link(nic, port).map(|link| link.0);
            nics += 1;
        }
    }
    if known == 0 && nics == 0 && !(directory.hosts.is_empty() && directory.entities.is_empty()) {
        let first = directory.hosts.first().map_or("", |host| &host.name);
        return Err(Error::Argument(format!(
            "no host of the telemetry, such as {first:?}, is a host of the fabric, which are host-0 to host-{}; give \
             telemetry with these names, map them with --names FILE, or leave the fabric out",
            fabric.hosts().len().saturating_sub(1)
        )));
    }
    let hosts = directory.hosts.len();
    let mut notes =
        vec![format!("{known} of {hosts} hosts and {nics} NICs are in the fabric by their names")];
    if placed > 0 {
        notes.push(format!("{placed} ranks of unknown hosts stand where the scenario places them"));
    }
    Ok(notes)
}

fn host_name(fabric: &Fabric, host: HostId) -> String {
    let nic = fabric.device_name(fabric.nic(host, 0));
    nic.split_once('/').map_or_else(|| format!("host-{}", host.0), |(name, _)| name.to_owned())
}

/// Checks that links and devices that records of a run name are of this fabric.
///
/// # Errors
/// [`Error::Argument`] naming what is not.
pub fn check(directory: &Directory, fabric: &Arc<Fabric>, file: &str) -> Result<(), Error> {
    let links = fabric.link_count() as u32;
    let of_flows = directory.flows.iter().flat_map(|flow| flow.links.iter().copied());
    let of_entities = directory.entities.iter().filter_map(|entity| entity.link);
    if let Some(link) = of_flows.chain(of_entities).find(|link| *link >= links) {
        return Err(Error::Argument(format!(
            "{file}: the run names link {link} and this fabric has {links}; give the scenario of the run"
        )));
    }
    match directory.hosts.iter().find(|host| fabric.host_named(&host.name).is_none()) {
        Some(host) => Err(Error::Argument(format!(
            "{file}: the run names {} and this fabric has host-0 to host-{}; give the scenario of the run",
            host.name,
            fabric.hosts().len().saturating_sub(1)
        ))),
        None => Ok(()),
    }
}
