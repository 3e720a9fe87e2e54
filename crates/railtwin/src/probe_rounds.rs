//! Pairwise probes that a finding asks for: both ends of a slow connection against NICs that are not suspected, or all
//! NICs of slow communicators against each other where nobody is.
use std::collections::BTreeMap;

use railtwin_diagnosis::slow::communicators::unplaced;
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
/// Paths of a round at most: two for each of 32,768 NIC ports, one to another leaf and one within it.
pub const PATHS: usize = 65_536;
/// Paths that shall cross each link that a round can reach: as many as the delay matrix needs for a typical one.
pub const CROSSED: u8 = 4;
/// Source ports tried at most until each link is crossed.
const TRIES: u16 = 64;

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

/// A round of probes over the NICs of the communicators that a finding calls slow and cannot place, entered in the
/// directory: rows of its flows, at most [`PATHS`]. Nothing for other findings.
///
/// NICs of a rail stand in a ring by their leaves. In each pairing all send at once to the NIC so many places on and so
/// receive from one. Pairings go on, over every port and source port after source port, while there is a path that
/// crosses a link which fewer than four do: so the slow ones have a part in common that fast ones do not cross, and the
/// round is its own measure.
pub fn round(case: &Case, finding: &Finding, directory: &mut Directory) -> Vec<u32> {
    let fabric = &*case.fabric;
    let rails = rails(case, directory, &unplaced(directory, finding));
    let forwarding = Forwarding::new(fabric, &LinkMask::none(fabric));
    let routing = Routing::new(fabric, &forwarding, &case.routing.ecmp);
    let mut crossed = vec![0_u8; fabric.link_count()];
    let (mut rows, mut links) = (Vec::new(), Vec::new());
    for port in (0..TRIES).map(source_port) {
        let before = rows.len();
        for (pairing, rail) in (0..PARTNERS).flat_map(|pairing| rails.iter().map(move |rail| (pairing, rail)))
        {
            let Some(&places) = pairings(rail.len()).get(pairing) else { continue };
            for (at, &source) in rail.iter().enumerate() {
                let target = rail[(at + places) % rail.len()];
                let (from, to) = (nic_of(case, directory, source), nic_of(case, directory, target));
                for nic_port in ports(fabric, from) {
                    if rows.len() == PATHS || !route(&routing, (from, nic_port), to, port, &mut links) {
                        continue;
                    }
                    if links.iter().all(|link| crossed[link.index()] >= CROSSED) {
                        continue;
                    }
                    for link in &links {
                        crossed[link.index()] = crossed[link.index()].saturating_add(1);
                    }
                    rows.push(enter(fabric, directory, (source, from, nic_port), (target, to), port, &links));
                }
            }
        }
        if rows.len() == before || rows.len() == PATHS {
            break;
        }
    }
    rows
}

/// How many places on in a ring of so many NICs each sends, pairing by pairing: far first, which crosses the most.
fn pairings(nics: usize) -> Vec<usize> {
    let mut all = Vec::new();
    for places in [nics / 2, 1, nics / 3, nics / 4 + 1, nics.saturating_sub(1)] {
        if (1..nics).contains(&places) && !all.contains(&places) {
            all.push(places);
        }
    }
    all.truncate(PARTNERS);
    all
}

/// The source port of a try: spread over the dynamic ports, none twice, as the factor is odd.
fn source_port(attempt: u16) -> u16 {
    0xC000 | (attempt.wrapping_mul(0x09E5) & 0x3FFF)
}

/// Ranks of communicators by rail, one for each NIC, in the order of leaves.
fn rails(case: &Case, directory: &Directory, communicators: &[u32]) -> Vec<Vec<u32>> {
    let fabric = &*case.fabric;
    let mut rails = BTreeMap::<u32, BTreeMap<(Option<DeviceId>, DeviceId), u32>>::new();
    for &row in communicators {
        for &rank in &directory.communicators[row as usize].ranks {
            let nic = nic_of(case, directory, rank);
            let leaf = fabric.access_link(nic, 0).map(|link| fabric.target(link));
            rails.entry(directory.ranks[rank as usize].nic).or_default().entry((leaf, nic)).or_insert(rank);
        }
    }
    rails.into_values().map(|nics| nics.into_values().collect()).collect()
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
    let (mut rows, mut links) = (Vec::new(), Vec::new());
    for nic_port in ports(fabric, from) {
        for source_port in SOURCE_PORTS {
            if route(routing, (from, nic_port), to, source_port, &mut links) {
                let sender = (source, from, nic_port);
                rows.push(enter(fabric, directory, sender, (target, to), source_port, &links));
            }
        }
    }
    rows
}

/// Ports of a NIC that have a cable.
fn ports(fabric: &Fabric, nic: DeviceId) -> std::ops::Range<u32> {
    0..fabric.ports(nic).filter(|&port| fabric.cable_at(port).is_some()).count() as u32
}

/// The links of a probe; whether there is a way.
fn route(
    routing: &Routing<'_>,
    (nic, port): (DeviceId, u32),
    to: DeviceId,
    source_port: u16,
    links: &mut Vec<LinkId>,
) -> bool {
    let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(to), source_port));
    links.clear();
    routing.route(NicPort { nic, port }, to, &key, links).is_ok()
}

/// Enters the path of a probe; its row. Ends are ranks with their NICs, the sender's with its port.
fn enter(
    fabric: &Fabric,
    directory: &mut Directory,
    (source, from, nic_port): (u32, DeviceId, u32),
    (target, to): (u32, DeviceId),
    source_port: u16,
    links: &[LinkId],
) -> u32 {
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
    directory.flows.len() as u32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn pairings_are_to_others_and_differ() {
        assert!(pairings(1).is_empty());
        assert_eq!(pairings(2), [1_usize]);
        assert_eq!(pairings(3), [1_usize, 2]);
        assert_eq!(pairings(16), [8_usize, 1, 5, 15]);
        assert_eq!((0..TRIES).map(source_port).collect::<BTreeSet<_>>().len(), usize::from(TRIES));
    }
}
