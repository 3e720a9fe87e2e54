//! Cables of NICs: the bond of a host, the leaves at its ports, and the host routes that leaves announce.
//!
//! The machines of [`railtwin_routing::protocol`] run here: LACP says when ports leave the bond and are in it again, ARP
//! which leaves know the host, and routes by longest prefix which leaves others send to. A leaf that lost the host's /32
//! still announces its subnet, so while no leaf has the /32, traffic goes to all of them.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{CableId, DeviceId, DeviceKind, Fabric, LinkId, PortId, PortRole};
use railtwin_routing::protocol::arp::{Announce, Bridged, HostRoute, host_routes};
use railtwin_routing::protocol::lacp::{Cables, End, Mac, PortTurn, Wire};
use railtwin_routing::protocol::rib::{Rib, Route};
use railtwin_units::SimTime;

use super::moments::{
    FaultedNetwork, Lives, Lots, Moment, Spans, Unused, View, avoid, avoidances, began, dies, has_parallel,
    joined, spreads, taken,
};
use super::{CableState, Fault};

/// What is down at time zero has been for so long when a run begins: longer than any timer of LACP.
const BEFORE: SimTime = SimTime::from_ns(600_000_000_000);
/// So long after the last event nothing is left to happen: a slow timeout, an expired port's, and a slow period.
const AFTER: SimTime = SimTime::from_ns(300_000_000_000);

/// The NIC of a cable; none of cables that have none.
pub(super) fn nic_of(fabric: &Fabric, cable: CableId) -> Option<DeviceId> {
    let devices = fabric.cable_ports(cable).map(|port| fabric.port_device(port));
    devices.into_iter().find(|&device| fabric.kind(device) == DeviceKind::Nic)
}

/// A port of a NIC in the backend.
#[derive(Clone, Copy, Debug)]
struct Port {
    cable: CableId,
    /// From the NIC.
    up: LinkId,
    leaf: DeviceId,
    /// Which of the leaves of its set, and which of that leaf's ports from 1.
    end: (u32, u32),
}

/// The cabled ports of a NIC in the backend, in order.
fn ports(fabric: &Fabric, nic: DeviceId) -> Vec<Port> {
    let cabled = fabric.ports(nic).filter(|&port| fabric.port_role(port) == PortRole::Backend);
    let mut found: Vec<(Port, PortId)> = cabled
        .filter_map(|port| {
            let cable = fabric.cable_at(port)?;
            let up = fabric.link_from(cable, port);
            let far = fabric.cable_ports(cable).into_iter().find(|&other| other != port)?;
            Some((Port { cable, up, leaf: fabric.target(up), end: (0, 0) }, far))
        })
        .collect();
    let leaves: BTreeSet<DeviceId> = found.iter().map(|(port, _)| port.leaf).collect();
    for (port, far) in &mut found {
        let member = leaves.iter().take_while(|leaf| **leaf != port.leaf).count();
        let first = fabric.ports(port.leaf).next().map_or(0, |first| first.0);
        port.end = (member as u32, far.0 - first + 1);
    }
    found.into_iter().map(|(port, _)| port).collect()
}

/// NICs that do not use all their ports though all is well, or are not known to all their leaves.
pub(super) fn unbonded(network: &FaultedNetwork<'_>) -> BTreeSet<DeviceId> {
    let FaultedNetwork { fabric, set, .. } = *network;
    if set.mistakes().is_empty() && set.announce == Announce::Both {
        return BTreeSet::new();
    }
    let mut known: BTreeMap<Vec<(u32, u32)>, bool> = BTreeMap::new();
    let mut is_whole = |nic: DeviceId| {
        let ends: Vec<(u32, u32)> = ports(fabric, nic).iter().map(|port| port.end).collect();
        ends.len() < 2 || {
            let bonded =
                || set.announce == Announce::Both && set.bonded(&ends).iter().all(|&in_bond| in_bond);
            *known.entry(ends.clone()).or_insert_with(bonded)
        }
    };
    fabric.devices().filter(|&device| fabric.kind(device) == DeviceKind::Nic && !is_whole(device)).collect()
}

/// How a NIC's ports fare.
struct Bond {
    ports: Vec<Port>,
    /// By port, when the host's end, and the leaf's, does not distribute.
    out: Vec<[Spans; 2]>,
    /// By port, when its leaf does not know the host.
    unknown: Vec<Spans>,
}

impl Bond {
    fn of(network: &FaultedNetwork<'_>, nic: DeviceId, lives: &Lives) -> Self {
        let ports = ports(network.fabric, nic);
        let turns = play(network, &ports, lives);
        let routes = host_routes(&turns, ports.len(), network.set.announce, network.reaction.arp);
        let out = |port: usize, end: End| {
            let own = turns.iter().filter(|turn| (turn.port, turn.end) == (port, end));
            without(own.map(|turn| (turn.at, turn.distributes)))
        };
        let unknown = |port: usize| {
            let own = routes.iter().filter(|route| route.port == port);
            without(own.map(|&HostRoute { at, is_known, .. }| (at, is_known)))
        };
        Self {
            out: (0..ports.len()).map(|port| [out(port, End::Host), out(port, End::Leaf)]).collect(),
            unknown: (0..ports.len()).map(unknown).collect(),
            ports,
        }
    }

    /// When the links of a port's cable carry nothing, that from the NIC first: while the cable's state takes them; while
    /// the end that hears is out of the bond, so that what it hears is thrown away (IEEE 802.1AX section 6.4.15); and
    /// towards the NIC from its loss until its leaf has learned its address again.
    fn dead(&self, row: usize, life: &[Fault]) -> [Spans; 2] {
        let Port { up, .. } = self.ports[row];
        let [host, leaf] = &self.out[row];
        let forgotten = self.forgotten(row);
        [
            joined(taken(life, up).chain(leaf.iter().copied())),
            joined(taken(life, up.reverse()).chain(host.iter().copied()).chain(forgotten)),
        ]
    }

    /// When a port's leaf has lost the host: from the moment in which it leaves the bond until it has learned the address
    /// again. A leaf that never heard of the host has lost nothing.
    fn forgotten(&self, row: usize) -> impl Iterator<Item = (SimTime, SimTime)> {
        let [_, leaf] = &self.out[row];
        self.unknown[row].iter().filter(|span| leaf.iter().any(|out| out.0 == span.0)).copied()
    }

    /// When a host sends nothing by a port: while that is out of the bond, and then until the leaf knows the host again.
    /// The bond itself would send before, and acknowledgements would come back by another leaf; engines take them back the
    /// way that data went.
    fn unsent(&self, row: usize) -> Spans {
        let back = |until: SimTime| {
            let late = self.forgotten(row).filter(|span| span.0 <= until && until < span.1);
            late.map(|span| span.1).max().unwrap_or(until)
        };
        joined(self.out[row][0].iter().map(|&(from, until)| (from, back(until))))
    }
}

/// Spans in which something is not so, from when it begins to be and ends: it is not so before the first moment.
fn without(turns: impl Iterator<Item = (SimTime, bool)>) -> Spans {
    let mut spans: Spans = vec![(SimTime::ZERO, SimTime::NEVER)];
    for (at, is_so) in turns {
        let at = at.since(BEFORE);
        match (is_so, spans.last_mut()) {
            (true, Some(last)) if last.1 == SimTime::NEVER => last.1 = at,
            (false, Some(last)) if last.1 == SimTime::NEVER => {}
            (false, _) => spans.push((at, SimTime::NEVER)),
            (true, _) => {}
        }
    }
    joined(spans)
}

/// Runs the machines of a NIC's bond through the lives of its cables; turns are [`BEFORE`] late.
fn play(network: &FaultedNetwork<'_>, ports: &[Port], lives: &Lives) -> Vec<PortTurn> {
    let FaultedNetwork { reaction, set, seed, .. } = *network;
    let ends: Vec<(u32, u32)> = ports.iter().map(|port| port.end).collect();
    let host = Mac([2, 0, 0, 0, 0, 1]);
    let mut cables: Cables = set.cables(host, &ends, reaction.lacp_rate, reaction.lacp);
    let mut changes: Vec<(SimTime, usize, Wire)> = Vec::new();
    for (row, port) in ports.iter().enumerate() {
        let life = lives.get(&port.cable).map_or(&[][..], |life| life);
        let wires = wires(life, port.up, |at| {
            Lots { seed, cable: port.cable }.draw("detection", at, reaction.detection)
        });
        let first = wires.iter().take_while(|(at, _)| *at == SimTime::ZERO).last();
        changes.push((SimTime::ZERO, row, first.map_or(Wire::WELL, |(_, wire)| *wire)));
        let later = wires.iter().filter(|(at, _)| *at > SimTime::ZERO);
        changes.extend(later.map(|&(at, wire)| (at.saturating_add(BEFORE), row, wire)));
    }
    changes.sort_by_key(|&(at, row, _)| (at, row));
    let mut last = BEFORE;
    for (at, row, wire) in changes {
        last = last.max(at);
        cables.pass(at);
        cables.set(row, wire, || {
            // The host sends into the first link of its cable where the fabric has it so.
            let Port { cable, up, .. } = ports[row];
            let names = if up == cable.forward() { ["forward", "backward"] } else { ["backward", "forward"] };
            let lots = Lots { seed, cable };
            let timeout = reaction.lacp_rate.timeout();
            names.map(|name| timeout.since(lots.draw(name, at.since(BEFORE), reaction.silence(true))))
        });
    }
    cables.pass(last.saturating_add(AFTER));
    cables.turns().to_vec()
}

/// From the states of a cable to how it carries LACPDUs: a loss of light shows `detection` after it, where it lasts.
fn wires(life: &[Fault], up: LinkId, detection: impl Fn(SimTime) -> SimTime) -> Vec<(SimTime, Wire)> {
    let mut wires = Vec::new();
    let mut carrier = true;
    for (row, fault) in life.iter().enumerate() {
        let next = life.get(row + 1).map_or(SimTime::NEVER, |next| next.at);
        let hears = |link: LinkId| match fault.state {
            CableState::Up | CableState::Headless(_) => true,
            CableState::Down => false,
            CableState::Silent(ways) | CableState::Mute(ways) => !ways.has(link),
        };
        // What comes after a loss of light has it again.
        carrier |= fault.state != CableState::Down;
        wires.push((fault.at, Wire { carrier, up: hears(up), down: hears(up.reverse()) }));
        if fault.state == CableState::Down {
            let seen = fault.at.saturating_add(detection(fault.at));
            // Who was down when the run began has been seen.
            let seen = if fault.at == SimTime::ZERO { fault.at } else { seen };
            if seen <= next {
                carrier = false;
                wires.push((seen, Wire { carrier, up: false, down: false }));
            }
        }
    }
    wires
}

/// All that the faults of a NIC's cables bring about.
pub(super) fn moments(network: &FaultedNetwork<'_>, nic: DeviceId, lives: &Lives, moments: &mut Vec<Moment>) {
    let bond = Bond::of(network, nic, lives);
    let FaultedNetwork { fabric, reaction, seed, .. } = *network;
    let routed = bond.routed(network, lives);
    for (row, port) in bond.ports.iter().enumerate() {
        let Port { cable, up, .. } = *port;
        let life = lives.get(&cable).map_or(&[][..], |life| life);
        let [from_nic, to_nic] = bond.dead(row, life);
        match up == cable.forward() {
            true => dies(cable, &from_nic, &to_nic, moments),
            false => dies(cable, &to_nic, &from_nic, moments),
        }
        let lots = Lots { seed, cable };
        let [_, leaf] = &bond.out[row];
        let left = bond.unsent(row).into_iter().map(|(from, until)| {
            let failover = lots.draw_of(up, "bond", began(life, from), reaction.lag_failover);
            Unused { from, avoided: from.saturating_add(failover), until, returns: SimTime::ZERO }
        });
        avoid(up, View::All, &avoidances(&left.collect::<Vec<_>>()), moments);
        let down = up.reverse();
        if has_parallel(fabric, down) {
            let regrouped = leaf.iter().map(|&(from, until)| {
                let group = lots.draw_of(down, "group", began(life, from), reaction.ecmp_regroup);
                Unused { from, avoided: from.saturating_add(group), until, returns: SimTime::ZERO }
            });
            avoid(down, View::All, &avoidances(&regrouped.collect::<Vec<_>>()), moments);
            continue;
        }
        let bridged = Bridged { proxy: reaction.arp_proxy, aging: reaction.mac_aging };
        if bridged.proxy {
            avoid(down, View::All, &routed[row], moments);
            continue;
        }
        avoid(down, View::Routed, &routed[row], moments);
        let aged = bond.unknown[row].iter().map(|&(from, until)| {
            let avoided = bridged.leaves(began(life, from), from);
            Unused { from, avoided, until, returns: SimTime::ZERO }
        });
        avoid(down, View::Bridged, &avoidances(&aged.collect::<Vec<_>>()), moments);
    }
}

impl Bond {
    /// By port, when others send nothing to the NIC by its leaf. They send by the longest route: to the leaves whose /32
    /// stands with them, or where none does to all that announce the subnet; of these, one that does not know the host has
    /// no way to it. Parallel cables to a leaf are left out.
    fn routed(&self, network: &FaultedNetwork<'_>, lives: &Lives) -> Vec<Spans> {
        let FaultedNetwork { reaction, seed, .. } = *network;
        let mut rib = Rib::default();
        let mut knows = vec![true; self.ports.len()];
        let mut changes: Vec<(SimTime, News, usize)> = Vec::new();
        for (row, port) in self.ports.iter().enumerate() {
            let life = lives.get(&port.cable).map_or(&[][..], |life| life);
            let (lots, down) = (Lots { seed, cable: port.cable }, port.up.reverse());
            let lost = self.unknown[row].iter().map(|&(from, until)| {
                let fault = began(life, from);
                let withdrawn = lots.draw_of(down, "withdrawal", fault, reaction.withdrawal);
                let spread = |stage| spreads(network, down, fault, stage);
                let avoided = from.saturating_add(withdrawn).saturating_add(spread("convergence"));
                Unused { from, avoided, until, returns: spread("return") }
            });
            for (withdrawn, announced) in avoidances(&lost.collect::<Vec<_>>()) {
                changes.extend([(withdrawn, News::Withdrawn, row), (announced, News::Announced, row)]);
            }
            for &(from, until) in &self.unknown[row] {
                changes.extend([(from, News::Forgotten, row), (until, News::Learned, row)]);
            }
            rib.announce(subnet(), row as u32, 1);
            rib.announce(Route::host(ADDRESS), row as u32, 1);
        }
        changes.sort_unstable();
        let mut spans = vec![Spans::new(); self.ports.len()];
        for moment in changes.chunk_by(|a, b| a.0 == b.0).filter(|moment| moment[0].0 < SimTime::NEVER) {
            for &(_, news, row) in moment {
                match news {
                    News::Announced => drop(rib.announce(Route::host(ADDRESS), row as u32, 1)),
                    News::Withdrawn => drop(rib.withdraw(Route::host(ADDRESS), row as u32)),
                    News::Learned => knows[row] = true,
                    News::Forgotten => knows[row] = false,
                }
            }
            let hops = rib.next_hops(ADDRESS);
            for (row, spans) in spans.iter_mut().enumerate() {
                let is_host_route = rib.has(Route::host(ADDRESS), row as u32);
                let is_sent = hops.contains(&(row as u32)) && (is_host_route || knows[row]);
                note(spans, moment[0].0, is_sent);
            }
        }
        spans
    }
}

/// Address of a host, for routes: a bond is looked at for itself, so one serves all.
const ADDRESS: u32 = 0x0a00_0001;

/// The subnet of the host's segment (HPN section 4.2).
fn subnet() -> Route {
    Route::new(ADDRESS, 24)
}

/// Something that happens to the route of a leaf to a host; of one moment, what comes is taken before what goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum News {
    /// Others have its /32.
    Announced,
    /// The leaf knows the host.
    Learned,
    /// The leaf knows it no more.
    Forgotten,
    /// Others have no /32 of it.
    Withdrawn,
}

/// Notes in spans of what is not so that it is so, or not, from a moment on.
fn note(spans: &mut Spans, at: SimTime, is_so: bool) {
    let is_open = spans.last().is_some_and(|last| last.1 == SimTime::NEVER);
    match (is_so, is_open, spans.last_mut()) {
        (false, false, _) => spans.push((at, SimTime::NEVER)),
        (true, true, Some(last)) => last.1 = at,
        _ => {}
    }
}

/// Stretches in which a cable of a NIC does not carry in both directions: first and last moment, and when an end of it
/// left the bond.
pub(super) fn darknesses(
    network: &FaultedNetwork<'_>,
    nic: DeviceId,
    cable: CableId,
    lives: &Lives,
) -> Vec<(SimTime, SimTime, SimTime)> {
    let bond = Bond::of(network, nic, lives);
    let Some(row) = bond.ports.iter().position(|port| port.cable == cable) else { return Vec::new() };
    let life = lives.get(&cable).map_or(&[][..], |life| life);
    let dead = joined(bond.dead(row, life).concat());
    let left = |from: SimTime, until: SimTime| {
        let starts = bond.out[row].iter().flatten().map(|span| span.0);
        starts.filter(|&at| from <= at && at < until).min().unwrap_or(SimTime::NEVER)
    };
    dead.into_iter().map(|(from, until)| (from, until, left(from, until))).collect()
}
