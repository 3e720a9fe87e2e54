//! The path of every queue pair of a case: what the balancer makes of the fabric under a mask of dead links.
use std::collections::BTreeMap;
use std::sync::OnceLock;

use railtwin_control::controller::Standing;
use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::{
    DestinationOrder, EcmpConfig, Forwarding, HashKey, LinkMask, NicPort, Routing, Selection,
    roce_source_port,
};
use railtwin_units::stream;
use rayon::prelude::*;

use crate::balancer::Balancer;
use crate::connection::Connection;
use crate::inside::{InsideHosts, NOTHING_INSIDE};
use crate::mediator::{self, Connected, Life, Programmed};
use crate::opened::Draw;
use crate::own::{Own, Site};
use crate::routing_case::RoutingCase;
use crate::walk::{key, turns, walk};

/// Parts that an adaptively routed queue pair is cut into, each sent where the queues are shortest.
const ADAPTIVE_PARTS: u32 = 64;
/// Connections that one task routes.
const CHUNK: usize = 256;

/// What decides paths once nothing is on its way any more.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Links that switches and hosts route around.
    pub mask: &'a LinkMask,
    /// Links that the controller knew to be dead when it last planned.
    pub planned: &'a LinkMask,
}

/// The paths of all queue pairs, as columns.
#[derive(Clone, Debug, Default)]
pub struct ChosenPaths {
    /// CSR: links of queue pair `q` are `start[q]..start[q + 1]`; none without a route.
    start: Vec<u32>,
    links: Vec<LinkId>,
    /// Share of the queue pair's bytes on each link; empty when every one is 1.
    parts: Vec<f64>,
    source_port: Vec<u16>,
    landed: Vec<u8>,
    /// Share of its connection's bytes by queue pair, none where the connection's are even; empty where all are.
    shares: Vec<Option<f64>>,
}

/// One queue pair's path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChosenPath<'a> {
    /// Links between NICs in the order in which packets cross them, those of one hop side by side where packets are
    /// spread; empty without a route.
    pub links: &'a [LinkId],
    /// Share of the bytes on each link; empty when every one is 1.
    pub parts: &'a [f64],
    /// UDP source port.
    pub source_port: u16,
    /// Port of the target NIC that it lands on, the first where it lands on several.
    pub landed_port: u32,
}

impl ChosenPaths {
    /// The path of queue pair `queue_pair`.
    pub fn path(&self, queue_pair: u32) -> ChosenPath<'_> {
        let q = queue_pair as usize;
        let range = self.start[q] as usize..self.start[q + 1] as usize;
        ChosenPath {
            links: &self.links[range.clone()],
            parts: if self.parts.is_empty() { &[] } else { &self.parts[range] },
            source_port: self.source_port[q],
            landed_port: u32::from(self.landed[q]),
        }
    }

    /// The share of its connection's bytes that queue pair `queue_pair` carries under a static split; none where those of
    /// its connection carry even ones.
    #[inline]
    pub fn share(&self, queue_pair: u32) -> Option<f64> {
        self.shares.get(queue_pair as usize).copied().flatten()
    }

    /// What one of the `count` queue pairs of a connection carries of `amount` under a static split.
    #[inline]
    pub fn carried(&self, queue_pair: u32, count: u32, amount: f64) -> f64 {
        self.share(queue_pair).map_or_else(|| amount / f64::from(count), |share| amount * share)
    }

    /// Takes the shares that queue pairs of `connections` were told.
    fn weigh(mut self, connections: &[Connection], programmed: &Programmed) -> Self {
        if programmed.is_weighed() {
            self.shares = vec![None; self.source_port.len()];
            for one in connections {
                let told = programmed.shares(one.first, one.count);
                for (row, share) in (one.first..).zip(told.into_iter().flatten()) {
                    self.shares[row as usize] = Some(share);
                }
            }
        }
        self
    }

    fn push(&mut self, source_port: u16, landed: u32) {
        self.start.push(u32::try_from(self.links.len()).expect("links of all paths fit 32 bits"));
        self.source_port.push(source_port);
        self.landed.push(landed as u8);
    }

    /// Makes room for exactly these parts: of a large case half as much again would be left over.
    fn reserve(&mut self, parts: &[Self]) {
        self.start.reserve_exact(parts.iter().map(|part| part.source_port.len()).sum());
        self.links.reserve_exact(parts.iter().map(|part| part.links.len()).sum());
        self.parts.reserve_exact(parts.iter().map(|part| part.parts.len()).sum());
        self.source_port.reserve_exact(parts.iter().map(|part| part.source_port.len()).sum());
        self.landed.reserve_exact(parts.iter().map(|part| part.landed.len()).sum());
    }

    fn append(&mut self, other: &Self) {
        let base = self.links.len() as u32;
        self.start.extend(other.start[1..].iter().map(|end| base + end));
        self.links.extend_from_slice(&other.links);
        self.parts.extend_from_slice(&other.parts);
        self.source_port.extend_from_slice(&other.source_port);
        self.landed.extend_from_slice(&other.landed);
    }

    fn empty() -> Self {
        Self { start: vec![0], ..Self::default() }
    }
}

/// Chooses paths for the connections of one replicate.
#[derive(Debug)]
pub struct Chooser<'a> {
    fabric: &'a Fabric,
    case: &'a RoutingCase,
    /// As the replicate drew it, before the balancer adds to what is hashed.
    drawn: EcmpConfig,
    ecmp: EcmpConfig,
    draw: u64,
    connections: &'a [Connection],
    queue_pairs: &'a [(u32, u32)],
    /// Controllers of one's own, and where they stand.
    own: Option<(&'a Own, Site)>,
    /// By job; all there from the start where empty.
    lives: Vec<Life>,
    /// What jobs send over PCIe.
    inside: &'a InsideHosts,
    whole: OnceLock<Forwarding>,
    order: OnceLock<DestinationOrder>,
}

impl<'a> Chooser<'a> {
    /// A chooser for the connections of a replicate, in the order in which they were opened. `queue_pairs`
    /// holds the numbers at both ends.
    pub fn new(
        fabric: &'a Fabric,
        case: &'a RoutingCase,
        Draw { draw, ecmp: drawn }: Draw,
        connections: &'a [Connection],
        queue_pairs: &'a [(u32, u32)],
    ) -> Self {
        let ecmp = mediator::ecmp_of(case.balancer, drawn);
        let (own, lives, whole, order) = (None, Vec::new(), OnceLock::new(), OnceLock::new());
        let inside = &NOTHING_INSIDE;
        Self { fabric, case, drawn, ecmp, draw, connections, queue_pairs, own, lives, inside, whole, order }
    }

    /// The same with jobs that come and go, and what they send inside hosts.
    pub fn with_lives(self, lives: Vec<Life>, inside: &'a InsideHosts) -> Self {
        Self { lives, inside, ..self }
    }

    /// The same with controllers of one's own beside those of the balancer.
    pub fn with_own(self, own: Option<(&'a Own, Site)>) -> Self {
        Self { own, ..self }
    }

    /// The tables of the fabric without faults.
    fn whole(&self) -> &Forwarding {
        self.whole.get_or_init(|| Forwarding::new(self.fabric, &LinkMask::none(self.fabric)))
    }

    /// What controllers tell for these connections once they know the dead links of `planned`.
    pub fn settled(&self, planned: &LinkMask) -> Programmed {
        self.settled_ranked(planned).0
    }

    /// The same, and how controllers rank the jobs then.
    pub fn settled_ranked(&self, planned: &LinkMask) -> (Programmed, Vec<Standing>) {
        let (connections, numbers, lives) = (self.connections, self.queue_pairs, &self.lives);
        let connected = Connected { connections, numbers, lives, inside: self.inside };
        let routing = RoutingCase { ecmp: self.drawn, ..*self.case };
        let made = |(own, site): &(&Own, Site)| own.make(site, self.queue_pairs.len());
        let own = self.own.as_ref().map_or_else(Vec::new, made);
        mediator::settled(own, self.fabric, &routing, connected, self.draw, planned)
    }

    /// The paths of all queue pairs in the state that a view describes.
    pub fn choose(&self, view: View<'_>) -> ChosenPaths {
        self.choose_by(view.mask, &self.settled(view.planned))
    }

    /// The same with what hosts and leaves were told.
    pub fn choose_by(&self, mask: &LinkMask, programmed: &Programmed) -> ChosenPaths {
        let forwarding = Forwarding::new(self.fabric, mask);
        let mut routing = Routing::new(self.fabric, &forwarding, &self.ecmp);
        if self.case.resilient {
            routing = routing.with_resilience(self.whole());
        }
        // A leaf's entry goes before the hash, whoever wrote it.
        let entries = programmed.entries().filter(|entries| !entries.is_empty());
        match self.case.balancer {
            Balancer::Pinned => self.routed(&routing.with_selection(Selection::Slice, self.whole()), None),
            Balancer::DModK => {
                let order = self.order.get_or_init(|| DestinationOrder::new(self.fabric, self.whole()));
                self.routed(&routing.with_selection(Selection::DModK(order), self.whole()), None)
            }
            // Hosts send by the port that a controller told, and choose one themselves where none did.
            Balancer::Ecmp
            | Balancer::EEcmp
            | Balancer::MultipathEcn
            | Balancer::Disjoint
            | Balancer::C4p
            | Balancer::Crux
            | Balancer::CruxPsPa
            | Balancer::CruxPa
            | Balancer::Sincronia
            | Balancer::Varys
            | Balancer::Taccl
            | Balancer::Te => {
                if let Some(entries) = entries {
                    routing = routing.with_selection(Selection::Entries(entries), self.whole());
                }
                self.routed(&routing, Some(programmed)).weigh(self.connections, programmed)
            }
            Balancer::Spray => self.sprayed(&routing),
            Balancer::Flowlet => self.first_picks(&routing),
            Balancer::Adaptive => self.adaptive(&routing),
        }
    }

    /// One path each, as switches choose for the packets of a queue pair.
    fn routed(&self, routing: &Routing<'_>, ports: Option<&Programmed>) -> ChosenPaths {
        self.in_parallel(|connection, queue_pair, out| {
            let source_port = ports
                .and_then(|ports| ports.port(connection.first + queue_pair))
                .unwrap_or_else(|| self.source_port(connection.first + queue_pair));
            let key = self.key(connection, queue_pair, source_port);
            let turns = turns(connection.ports, queue_pair);
            let landed = walk(routing, connection.source, connection.target, turns, &key, &mut out.links);
            out.push(source_port, landed.map_or(0, |landed| landed.port_index));
        })
    }

    /// All paths at once, evenly at every switch.
    fn sprayed(&self, routing: &Routing<'_>) -> ChosenPaths {
        self.in_parallel(|connection, queue_pair, out| {
            let spread = turns(connection.ports, queue_pair).find_map(|port| {
                routing.spread(NicPort { nic: connection.source, port }, connection.target).ok()
            });
            let before = out.links.len();
            for (link, part) in spread.into_iter().flatten() {
                out.links.push(link);
                out.parts.push(part);
            }
            let landed = first_landed(routing.forwarding, connection.target, &out.links[before..]);
            out.push(self.source_port(connection.first + queue_pair), landed);
        })
    }

    /// Each queue pair once to the least loaded uplink of its leaf at the time it starts, and by hash beyond
    /// (flowlet switching with gaps that never come, Meta RoCE section 4.5). Load counts queue pairs.
    fn first_picks(&self, routing: &Routing<'_>) -> ChosenPaths {
        let mut load = vec![0_u32; self.fabric.link_count()];
        self.in_turn(|connection, queue_pair, out| {
            let row = connection.first + queue_pair;
            let source_port = self.source_port(row);
            let key = self.key(connection, queue_pair, source_port);
            let before = out.links.len();
            let landed = turns(connection.ports, queue_pair).find_map(|port| {
                let from = NicPort { nic: connection.source, port };
                let least = |switch: u32, group: &[LinkId]| {
                    let leaf = self.fabric.switches()[switch as usize].1.tier == 1;
                    leaf.then(|| least_loaded(group, self.draw ^ u64::from(row), |link| load[link.index()]))
                };
                routing.route_by(from, connection.target, &key, &mut out.links, least).ok()
            });
            for link in &out.links[before..] {
                load[link.index()] += 1;
            }
            out.push(source_port, landed.map_or(0, |landed| landed.port_index));
        })
    }

    /// Each queue pair in many parts, every switch sending each part where least was sent before per capacity
    /// of the link: what adaptive routing comes to when queues tell switches what they sent.
    fn adaptive(&self, routing: &Routing<'_>) -> ChosenPaths {
        let capacity = |link: LinkId| self.fabric.capacity(link).bits_per_s().max(1) as f64;
        let mut load = vec![0.0_f64; self.fabric.link_count()];
        let mut path = Vec::new();
        let mut spread = BTreeMap::new();
        self.in_turn(|connection, queue_pair, out| {
            let row = connection.first + queue_pair;
            let source_port = self.source_port(row);
            let key = self.key(connection, queue_pair, source_port);
            spread.clear();
            for part in 0..ADAPTIVE_PARTS {
                path.clear();
                let salt = stream::mix(self.draw ^ u64::from(row)) ^ u64::from(part);
                let found = turns(connection.ports, queue_pair).any(|port| {
                    let from = NicPort { nic: connection.source, port };
                    let least =
                        |_, group: &[LinkId]| Some(least_loaded(group, salt, |link| load[link.index()]));
                    routing.route_by(from, connection.target, &key, &mut path, least).is_ok()
                });
                if !found {
                    break;
                }
                for (hop, &link) in path.iter().enumerate() {
                    load[link.index()] += 1.0 / capacity(link);
                    *spread.entry((hop, link)).or_insert(0.0) += 1.0 / f64::from(ADAPTIVE_PARTS);
                }
            }
            let before = out.links.len();
            for (&(_, link), &part) in &spread {
                out.links.push(link);
                out.parts.push(part);
            }
            let landed = first_landed(routing.forwarding, connection.target, &out.links[before..]);
            out.push(source_port, landed);
        })
    }

    /// The source port that hosts give a queue pair: from its numbers, or by lot for host multipath.
    fn source_port(&self, row: u32) -> u16 {
        if self.case.balancer.properties().draws_ports {
            return 0xC000 | (stream::mix(self.draw ^ stream::mix(u64::from(row))) & 0x3FFF) as u16;
        }
        let (local, remote) = self.queue_pairs[row as usize];
        roce_source_port(local, remote)
    }

    fn key(&self, connection: &Connection, queue_pair: u32, source_port: u16) -> HashKey {
        let (_, remote) = self.queue_pairs[(connection.first + queue_pair) as usize];
        key(connection.source, connection.target, remote, source_port)
    }

    fn in_parallel(&self, one: impl Fn(&Connection, u32, &mut ChosenPaths) + Sync) -> ChosenPaths {
        let parts: Vec<ChosenPaths> = self
            .connections
            .par_chunks(CHUNK)
            .map(|chunk| {
                let mut out = ChosenPaths::empty();
                for connection in chunk {
                    (0..connection.count).for_each(|queue_pair| one(connection, queue_pair, &mut out));
                }
                out
            })
            .collect();
        let mut all = ChosenPaths::empty();
        all.reserve(&parts);
        parts.iter().for_each(|part| all.append(part));
        all
    }

    fn in_turn(&self, mut one: impl FnMut(&Connection, u32, &mut ChosenPaths)) -> ChosenPaths {
        let mut out = ChosenPaths::empty();
        for connection in self.connections {
            (0..connection.count).for_each(|queue_pair| one(connection, queue_pair, &mut out));
        }
        out
    }
}

/// The first port of a NIC that one of `links` leads to; 0 where there are none.
fn first_landed(forwarding: &Forwarding, target: DeviceId, links: &[LinkId]) -> u32 {
    let accesses = forwarding.accesses(target).iter();
    let landed = accesses.filter(|access| links.contains(&access.link.reverse())).map(|access| access.port);
    landed.min().unwrap_or(0)
}

/// The link of a group with the least load; of several one by `salt`.
fn least_loaded<L: PartialOrd>(group: &[LinkId], salt: u64, load: impl Fn(LinkId) -> L) -> LinkId {
    let first = (stream::mix(salt) % group.len() as u64) as usize;
    let mut best = group[first];
    for step in 1..group.len() {
        let link = group[(first + step) % group.len()];
        if load(link) < load(best) {
            best = link;
        }
    }
    best
}
