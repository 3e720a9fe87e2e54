//! Pairwise probes that a finding asks for: both ends of a slow connection against NICs that are not suspected.
use railtwin_engine::Case;
use railtwin_fabric::{DeviceId, DeviceKind, Fabric, LinkId};
use railtwin_records::{Component, Directory, Finding, FlowInfo};
use railtwin_routing::{FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, nic_ip};

/// NICs that each suspected NIC is probed against, each way and from every port.
const PARTNERS: usize = 4;
/// Source ports tried for each pair: different paths between leaves.
const SOURCE_PORTS: [u16; 4] = [0xC000, 0xD555, 0xEAAA, 0xFFFF];
/// Most NICs that are probed for one finding; a switch has more behind it than need be asked.
const NICS: usize = 8;

/// The paths that probes for a finding take, entered in the directory: rows of its flows. Nothing where no NIC is
/// concerned.
pub fn paths(case: &Case, finding: &Finding, directory: &mut Directory) -> Vec<u32> {
    let fabric = &*case.fabric;
    let suspected = nics(fabric, directory, finding);
    let Some(first) = suspected.first() else { return Vec::new() };
    let forwarding = Forwarding::new(fabric, &LinkMask::none(fabric));
    let routing = Routing::new(fabric, &forwarding, &case.routing.ecmp);
    let rail = |nic: DeviceId| fabric.device_name(nic).rsplit_once("nic-").map(|(_, rail)| rail.to_owned());
    let mut rows = Vec::new();
    for &nic in &suspected {
        // Of the same rail, as traffic is, and spread over the job: neighbours share more than the access.
        let all: Vec<u32> = of_rail(case, directory, &rail(nic).or_else(|| rail(*first)), fabric);
        let free: Vec<u32> =
            all.iter().copied().filter(|&rank| !suspected.contains(&nic_of(case, directory, rank))).collect();
        let Some(own) = all.iter().copied().find(|&rank| nic_of(case, directory, rank) == nic) else {
            continue;
        };
        let step = (free.len() / PARTNERS).max(1);
        for &partner in free.iter().step_by(step).take(PARTNERS) {
            for (source, target) in [(own, partner), (partner, own)] {
                rows.extend(pair(&routing, case, directory, source, target));
            }
        }
    }
    rows
}

/// NICs that suspects are, or are at.
fn nics(fabric: &Fabric, directory: &Directory, finding: &Finding) -> Vec<DeviceId> {
    let mut found = Vec::new();
    for suspect in &finding.suspects {
        let cable = match &suspect.component {
            Component::Cable(name) => fabric.cable_named(name),
            Component::Link(name) => name.split(" > ").find_map(|port| fabric.cable_named(port)),
            _ => None,
        };
        let ends = cable.map(|cable| fabric.cable_ports(cable).map(|port| fabric.port_device(port)));
        found.extend(ends.into_iter().flatten().filter(|&device| fabric.kind(device) == DeviceKind::Nic));
        if let Component::Nic(name) = &suspect.component {
            let of_name = directory.flows.iter().find_map(|flow| {
                let link = LinkId(*flow.links.first()?);
                let last = LinkId(*flow.links.last()?);
                if flow.source_nic == *name {
                    Some(fabric.source(link))
                } else {
                    (flow.target_nic == *name).then(|| fabric.target(last))
                }
            });
            found.extend(of_name);
        }
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(NICS);
    found
}

fn nic_of(case: &Case, directory: &Directory, rank: u32) -> DeviceId {
    let info = &directory.ranks[rank as usize];
    let place = case.placements[info.job as usize][info.rank as usize];
    case.fabric.nic(place.host, info.nic)
}

/// Ranks whose NIC is of a rail.
fn of_rail(case: &Case, directory: &Directory, rail: &Option<String>, fabric: &Fabric) -> Vec<u32> {
    let ranks = 0..directory.ranks.len() as u32;
    let of = |rank: u32| {
        let name = fabric.device_name(nic_of(case, directory, rank));
        name.rsplit_once("nic-").map(|(_, rail)| rail.to_owned())
    };
    ranks.filter(|&rank| of(rank) == *rail).collect()
}

/// A probe from each port of the source over several source ports.
fn pair(routing: &Routing<'_>, case: &Case, directory: &mut Directory, source: u32, target: u32) -> Vec<u32> {
    let (from, to) = (nic_of(case, directory, source), nic_of(case, directory, target));
    let fabric = &*case.fabric;
    let ports = fabric.ports(from).filter(|&port| fabric.cable_at(port).is_some()).count() as u32;
    let mut rows = Vec::new();
    for nic_port in 0..ports {
        for source_port in SOURCE_PORTS {
            let key = HashKey::of(FiveTuple::roce(nic_ip(from), nic_ip(to), source_port));
            let mut links = Vec::new();
            if routing.route(NicPort { nic: from, port: nic_port }, to, &key, &mut links).is_err() {
                continue;
            }
            rows.push(directory.flows.len() as u32);
            directory.flows.push(FlowInfo {
                source,
                target,
                source_nic: fabric.device_name(from),
                target_nic: fabric.device_name(to),
                nic_port,
                queue_pair: 0,
                source_port,
                links: links.iter().map(|link| link.0).collect(),
            });
        }
    }
    rows
}
