//! The topology of a dump.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::NONE;
use railtwin_formats::FormatError;

use super::NAME;
use super::checks;
use super::devices::{self, NodePlace};
use super::dump::{self, Claim, Dump, StrangeLine};
use super::lines::NodeKind;
use crate::form::SourceFile;
use crate::tiers;
use crate::topology::Topology;

/// Reads the output of `ibnetdiscover`. Several files are one topology, joined by GUIDs.
///
/// # Counts
/// * `hosts`: by the host's name in descriptions of adapters (`dgx-01` of `dgx-01 mlx5_0`). An adapter that names no host
///   is of the host of its system (`sysimgguid`), or else a host of its own with finding `unnamed-host`. Hosts that only
///   links name count, with finding `missing-host`. Where no adapter has a block, the links of switches describe hosts, and
///   are cables.
/// * `switches`: blocks, and those that only links name, with finding `missing-switch`. Their tier is 1 + the distance from
///   hosts, along all links that are named. Chips of one box count each.
/// * `adapters`: one for each GUID of a host. Aggregation adapters, which are within switches, are neither adapters nor
///   hosts, and their links are no cables; each is a finding `aggregation-adapter`.
/// * `cables`, `links_up`: links whose two ends have a block; one end that names the link is enough (`one-sided-link`).
/// * `links_missing`: links that a block names and that lead to a node without a block, or to a port that names another.
///
/// # Findings
/// Beside those above: `host-without-switch` for a host that no link is named of, `link-down` for such an adapter of a host
/// that has others, `switch-without-hosts`, `port-with-two-cables`, `loop`, `slow-link` for a link below most of its like on
/// the same switch, `host-above-leaf` for a host at a switch that is named as a spine, `duplicate-name`, `unnamed-switch`,
/// `unknown-device`, `unreadable-line`, `incomplete-dump` for warnings that the tool printed.
///
/// # Errors
/// [`FormatError`] for files without any block, and for a difference of two dumps.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let dump = dump::dump(sources)?;
    let mut topology = Topology::new(NAME);
    strange_lines(&dump, &mut topology);
    let places = devices::enter(&dump, &mut topology);
    let links = Links::of(&dump, &places);
    aggregation(&dump, &places, &mut topology);
    links.join(&dump, &places, &mut topology);
    missing(&dump, &places, &links, &mut topology);
    if dump.is_of_switches {
        let note = "the dump has no blocks of adapters: hosts are those that links of switches name";
        topology.notes.push(note.to_owned());
    }
    if dump.is_list {
        topology.notes.push("a list of nodes names no links".to_owned());
    } else {
        without_links(&dump, &places, &mut topology);
        checks::tiers(&dump, &places, &mut topology);
        tiers::by_distance(&mut topology);
        checks::slow_links(&mut topology);
    }
    Ok(topology)
}

/// Findings of lines that say nothing.
fn strange_lines(dump: &Dump, topology: &mut Topology) {
    for StrangeLine { place, text } in &dump.broken {
        topology.find(
            "unreadable-line",
            place.as_str(),
            format!("{text:?} is no whole header or link of a block"),
        );
    }
    if let Some(StrangeLine { place, text }) = dump.foreign.first() {
        let count = dump.foreign.len();
        topology.find(
            "incomplete-dump",
            place.as_str(),
            format!("{count} lines are warnings or of no dump, the first {text:?}"),
        );
    }
}

/// Links by what becomes of them.
struct Links {
    /// Claims of cables, those that both ends name first.
    cables: Vec<(Claim, bool)>,
    /// Claims of links to nodes without a block, by row of the node.
    missing: BTreeMap<u32, Vec<Claim>>,
    /// Claims that contradict others.
    contradicted: Vec<(Claim, Claim)>,
}

impl Links {
    fn of(dump: &Dump, places: &[NodePlace]) -> Self {
        let mut found = Self { cables: Vec::new(), missing: BTreeMap::new(), contradicted: Vec::new() };
        let mut first: BTreeMap<(u32, u32), Claim> = BTreeMap::new();
        let is_cable = |claim: &&Claim| {
            ![claim.from, claim.to].iter().any(|(node, _)| places[*node as usize].is_aggregation())
        };
        for claim in dump.claims.iter().filter(is_cable) {
            match first.get(&claim.from) {
                None => {
                    first.insert(claim.from, *claim);
                }
                Some(known) if known.to != claim.to => found.contradicted.push((*claim, *known)),
                Some(_) => {}
            }
        }
        let mut entered: BTreeSet<[(u32, u32); 2]> = BTreeSet::new();
        let mut one_sided = Vec::new();
        for claim in dump.claims.iter().filter(is_cable) {
            let is_first = first.get(&claim.from).is_some_and(|known| known.to == claim.to);
            let ends = [claim.from.min(claim.to), claim.from.max(claim.to)];
            if !is_first || !entered.insert(ends) {
                continue;
            }
            match first.get(&claim.to) {
                _ if !dump.describes(claim.to.0) => {
                    found.missing.entry(claim.to.0).or_default().push(*claim);
                }
                None => one_sided.push((*claim, false)),
                Some(back) if back.to == claim.from => found.cables.push((*claim, true)),
                Some(back) => found.contradicted.push((*claim, *back)),
            }
        }
        found.cables.extend(one_sided);
        found
    }

    /// Enters the cables.
    fn join(&self, dump: &Dump, places: &[NodePlace], topology: &mut Topology) {
        let port =
            |(node, number): (u32, u32)| (places[node as usize].device, places[node as usize].port(number));
        let shown = |(node, number): (u32, u32)| format!("{} port {number}", dump.nodes[node as usize].id);
        for (claim, is_confirmed) in &self.cables {
            let [from, to] = [port(claim.from), port(claim.to)];
            let name = topology.list.devices()[from.0 as usize].name.clone();
            if claim.from.0 == claim.to.0 {
                topology.find("loop", name.as_str(), format!("port {} leads back to port {}", from.1, to.1));
                if claim.from == claim.to {
                    topology.links_missing += 1;
                    continue;
                }
            }
            if !is_confirmed && dump.nodes[claim.to.0 as usize].has_block {
                let seen =
                    format!("port {} leads to {}, which does not name the link", from.1, shown(claim.to));
                topology.find("one-sided-link", name.as_str(), seen);
            }
            let ends = [(from.0, from.1.as_str()), (to.0, to.1.as_str())];
            // A port of an end that named none may be claimed twice.
            if topology.join(ends, claim.rate, None, claim.line).is_none() {
                topology.links_missing += 1;
            }
        }
        for (claim, known) in &self.contradicted {
            let from = port(claim.from);
            let name = topology.list.devices()[from.0 as usize].name.clone();
            let seen = format!(
                "port {} leads to {}, but {} leads to {}",
                from.1,
                shown(claim.to),
                shown(known.from),
                shown(known.to)
            );
            topology.find("port-with-two-cables", name, seen);
            topology.links_missing += 1;
        }
    }
}

/// Findings of aggregation adapters, at the switch that each is within.
fn aggregation(dump: &Dump, places: &[NodePlace], topology: &mut Topology) {
    let mut switch_of: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for claim in &dump.claims {
        for (inner, outer) in [(claim.from, claim.to), (claim.to, claim.from)] {
            if places[inner.0 as usize].is_aggregation() && places[outer.0 as usize].device != NONE {
                switch_of.entry(inner.0).or_insert(outer);
            }
        }
    }
    for (row, node) in (0_u32..).zip(&dump.nodes) {
        if !places[row as usize].is_aggregation() {
            continue;
        }
        let shown = format!("{} ({:?})", node.id, node.description);
        match switch_of.get(&row) {
            Some(&(switch, port)) => {
                let device = places[switch as usize].device;
                let name = topology.list.devices()[device as usize].name.clone();
                topology.find(
                    "aggregation-adapter",
                    name,
                    format!("{shown} is within the switch, at port {port}"),
                );
            }
            None => {
                topology.find("aggregation-adapter", node.id.as_str(), format!("{shown} is within a switch"))
            }
        }
    }
}

/// Findings of nodes that only links name.
fn missing(dump: &Dump, places: &[NodePlace], links: &Links, topology: &mut Topology) {
    for (&row, claims) in &links.missing {
        topology.links_missing += claims.len() as u32;
        let ends = claims.iter().map(|claim| [claim.from.0, row].map(|node| places[node as usize].device));
        topology.links_to_missing.extend(ends);
        let node = &dump.nodes[row as usize];
        let name = topology.list.devices()[places[row as usize].device as usize].name.clone();
        let first = &claims[0];
        let from = &topology.list.devices()[places[first.from.0 as usize].device as usize].name;
        let seen = format!(
            "{} has no block; {} links lead to it, the first from {from} port {}",
            node.id,
            claims.len(),
            first.from.1
        );
        match node.kind {
            NodeKind::Switch => topology.find("missing-switch", name, seen),
            NodeKind::Adapter => topology.find("missing-host", name, seen),
            // Those are unknown devices, or routers, already.
            NodeKind::Router | NodeKind::Unknown => {}
        }
    }
}

/// Findings of hosts and adapters that no link is named of.
fn without_links(dump: &Dump, places: &[NodePlace], topology: &mut Topology) {
    let linked: BTreeSet<u32> = dump.claims.iter().flat_map(|claim| [claim.from.0, claim.to.0]).collect();
    let hosts: BTreeSet<u32> = linked.iter().map(|&node| places[node as usize].device).collect();
    let mut told = BTreeSet::new();
    for (row, node) in (0_u32..).zip(&dump.nodes) {
        let place = &places[row as usize];
        if node.kind != NodeKind::Adapter || place.is_aggregation() || linked.contains(&row) {
            continue;
        }
        let name = topology.list.devices()[place.device as usize].name.clone();
        if hosts.contains(&place.device) {
            let seen = format!("no link is named of adapter {} ({})", place.adapter, node.id);
            topology.find("link-down", name, seen);
        } else if told.insert(place.device) {
            let seen = format!("no link is named of its adapters, the first {} ({})", place.adapter, node.id);
            topology.find("host-without-switch", name, seen);
        }
    }
}
