//! From ranks to links: algorithm, queue pairs, source ports, paths.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, Fabric, HostId, LinkId, PortRole};
use railtwin_routing::{
    FiveTuple, Forwarding, HashKey, LinkMask, NicPort, QueuePairNumbers, Routing, nic_ip, roce_source_port,
};
use railtwin_units::{SimTime, stream};
use railtwin_workload::{
    Collective, Edge, HostLayout, Member, Pattern, Shape, chain_tree, collective, direct, nvls, nvls_tree,
    ring, shape,
};
use rayon::prelude::*;

use crate::bundles::{BundleTable, BundleWriter, Strand};
use crate::case::{Balancer, Case, Pace, Split};
use crate::disjoint::DisjointPorts;

/// One queue pair's path.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowPath {
    /// Pattern over the whole case.
    pub pattern: u32,
    /// Bundle, counted over the case before rank classes join them.
    pub bundle: u32,
    /// Source NIC.
    pub source: DeviceId,
    /// Target NIC.
    pub target: DeviceId,
    /// UDP source port.
    pub source_port: u16,
    /// Index of the queue pair in its connection.
    pub queue_pair: u32,
    /// Port of the target NIC that the flow landed on.
    pub landed_port: u32,
    /// Bytes of the queue pair for each byte of the operation, under a static split.
    pub share: f64,
    /// Links from NIC to NIC.
    pub links: Vec<LinkId>,
}

/// A connection between two NICs for one communicator: its queue pairs' numbers at both ends.
type Connection = (DeviceId, DeviceId, u32);

/// The patterns of a case as shapes, with the connections that they open: made once per replicate, lowered
/// again after every fault.
#[derive(Debug)]
pub struct Lowering<'a> {
    case: &'a Case,
    ecmp: railtwin_routing::EcmpConfig,
    shapes: Vec<(Shape, f64)>,
    /// First queue pair of each connection in `queue_pairs`.
    connections: BTreeMap<Connection, u32>,
    queue_pairs: Vec<(u32, u32)>,
    /// Communicator set of each pattern: patterns over the same ranks share connections.
    group_of: Vec<u32>,
}

impl<'a> Lowering<'a> {
    /// Draws the hash seed and the queue-pair numbers of a replicate and opens all connections.
    pub fn new(case: &'a Case, replicate: u32) -> Self {
        let draw = stream::mix(case.seed ^ (u64::from(replicate) << 32));
        let mut ecmp = case.routing.ecmp;
        // The first draw of a scenario keeps the seed that it names.
        ecmp.spec.seed = ecmp.spec.seed.wrapping_add(if replicate == 0 { 0 } else { draw as u32 });
        let mut lowering = Self {
            case,
            ecmp,
            shapes: Vec::new(),
            connections: BTreeMap::new(),
            queue_pairs: Vec::new(),
            group_of: Vec::new(),
        };
        let mut groups: BTreeMap<(usize, &Vec<Vec<u32>>), u32> = BTreeMap::new();
        for (job, graph) in case.work.jobs.iter().enumerate() {
            for pattern in &graph.plan.patterns {
                let next = groups.len() as u32;
                let group = *groups.entry((job, &pattern.communicators)).or_insert(next);
                lowering.group_of.push(group);
                lowering.shapes.push(lowering.shape(job, pattern));
            }
        }
        lowering.connect(draw);
        lowering
    }

    /// The shape of a pattern's communicators together, and the cap on its bus bandwidth.
    fn shape(&self, job: usize, pattern: &Pattern) -> (Shape, f64) {
        let fabric = &*self.case.fabric;
        let places = &self.case.placements[job];
        let member = |&rank: &u32| {
            let place = places[rank as usize];
            let nic = fabric.host_model(place.host).nic_of_gpu(place.gpu);
            Member { rank, host: place.host.0, gpu: place.gpu, nic }
        };
        let first = places.first().map_or(HostId(0), |place| place.host);
        let model = fabric.host_model(first);
        let layout = HostLayout {
            gpu_of_nic: (0..model.nics).map(|nic| model.gpu_of_nic(nic)).collect(),
            nvlink: model.has_nvswitch(),
            pxn: self.case.routing.pxn,
        };
        let mut all = Shape::default();
        for communicator in &pattern.communicators {
            let members: Vec<Member> = communicator.iter().map(member).collect();
            let one = match (pattern.collective, pattern.algorithm) {
                (Collective::SendReceive, _) => direct::pairs(&members, &layout),
                (kind, collective::Algorithm::Ring) => ring::ring(kind, &members, &layout),
                (_, collective::Algorithm::Tree) => chain_tree::chain_tree(&members, &layout),
                (_, collective::Algorithm::Nvls) => nvls::nvls(&members, &layout),
                (_, collective::Algorithm::NvlsTree) => nvls_tree::nvls_tree(&members, &layout),
                (kind, collective::Algorithm::Direct) => direct::direct(kind, &members, &layout),
            };
            let first_edge = all.edges.len() as u32;
            all.edges.extend(&one.edges);
            all.bundles.extend(
                one.bundles.iter().map(|b| shape::Bundle { first_edge: b.first_edge + first_edge, ..*b }),
            );
        }
        let caps = self.case.caps.iter().filter(|cap| {
            cap.collective == pattern.collective
                && cap.algorithm == pattern.algorithm
                && cap.host_model.as_ref().is_none_or(|name| *name == model.name)
        });
        (all, caps.map(|cap| cap.busbw).fold(f64::INFINITY, f64::min))
    }

    /// Opens connections in order of patterns, bundles and edges; NICs hand out numbers one after the other.
    fn connect(&mut self, draw: u64) {
        let fabric = &*self.case.fabric;
        let mut numbers: BTreeMap<DeviceId, QueuePairNumbers> = BTreeMap::new();
        for (pattern, (shape, _)) in self.shapes.iter().enumerate() {
            for edge in &shape.edges {
                let Some((source, target)) = ends(fabric, edge) else {
                    continue;
                };
                let count = self.case.routing.queue_pairs * ports_of(fabric, source);
                let key = (source, target, self.group_of[pattern]);
                if self.connections.contains_key(&key) {
                    continue;
                }
                self.connections.insert(key, self.queue_pairs.len() as u32);
                let number = |nic: DeviceId, numbers: &mut BTreeMap<DeviceId, QueuePairNumbers>| {
                    let fresh = || QueuePairNumbers::from_stream(stream::mix(draw ^ u64::from(nic.0)));
                    numbers.entry(nic).or_insert_with(fresh).allocate()
                };
                for _ in 0..count {
                    let pair = (number(source, &mut numbers), number(target, &mut numbers));
                    self.queue_pairs.push(pair);
                }
            }
        }
    }

    /// All patterns on links, under a mask of dead links; `flows` also returns every queue pair's path.
    pub fn table(&self, mask: &LinkMask, flows: bool) -> (BundleTable, Vec<FlowPath>) {
        let forwarding = Forwarding::new(&self.case.fabric, mask);
        let routing = Routing::new(&self.case.fabric, &forwarding, &self.ecmp);
        let disjoint = match self.case.routing.balancer {
            Balancer::Ecmp => None,
            Balancer::Disjoint => Some(DisjointPorts::choose(&routing, self.network_connections())),
        };
        let dynamic = self.case.routing.split == Split::Dynamic;
        let parts: Vec<(BundleTable, Vec<FlowPath>)> = (0..self.shapes.len())
            .into_par_iter()
            .map(|pattern| self.pattern(pattern, &routing, disjoint.as_ref(), dynamic, flows))
            .collect();
        let mut writer = BundleWriter::new(dynamic);
        let mut paths = Vec::new();
        let mut bundles = 0;
        for (table, mut part) in parts {
            part.iter_mut().for_each(|path| path.bundle += bundles);
            bundles += table.bundles() as u32;
            writer.append(&table);
            paths.append(&mut part);
        }
        let table = writer.finish();
        let by_class = self.case.pace == Pace::Class && !dynamic;
        (if by_class { table.by_class() } else { table }, paths)
    }

    /// Every connection with its number of queue pairs, in the order of their keys.
    fn network_connections(&self) -> Vec<(DeviceId, DeviceId, u32, u32)> {
        let ports = |source: DeviceId| ports_of(&self.case.fabric, source);
        let all = self.connections.iter();
        all.map(|(&(s, t, _), &first)| (s, t, first, self.case.routing.queue_pairs * ports(s))).collect()
    }

    fn pattern(
        &self,
        pattern: usize,
        routing: &Routing<'_>,
        disjoint: Option<&DisjointPorts>,
        dynamic: bool,
        flows: bool,
    ) -> (BundleTable, Vec<FlowPath>) {
        let (shape, busbw) = &self.shapes[pattern];
        let mut writer = BundleWriter::new(dynamic);
        let mut paths = Vec::new();
        let mut latency = SimTime::ZERO;
        for (row, bundle) in shape.bundles.iter().enumerate() {
            let mut strands = Vec::new();
            let mut routed = true;
            for (index, edge) in shape.edges_of(bundle).iter().enumerate() {
                let mut sink = PathSink { strands: &mut strands, edge: index as u32 };
                routed &= match ends(routing.fabric, edge) {
                    None => sink.inside(routing.fabric, edge),
                    Some((source, target)) => {
                        let first = self.connections[&(source, target, self.group_of[pattern])];
                        let before = paths.len();
                        let found = self.network(
                            routing,
                            disjoint,
                            (source, target, first),
                            edge,
                            &mut sink,
                            &mut paths,
                        );
                        for path in &mut paths[before..] {
                            (path.pattern, path.bundle) = (pattern as u32, row as u32);
                            path.share *= bundle.volume;
                        }
                        if !flows {
                            paths.clear();
                        }
                        found
                    }
                };
            }
            if !routed {
                strands.clear();
            }
            let delay = strands.iter().map(|s| path_delay(routing.fabric, &s.links)).max();
            latency = latency.max(delay.unwrap_or(SimTime::ZERO) * u64::from(bundle.stages));
            writer.push(bundle.volume, busbw * bundle.bus_share, &strands);
        }
        writer.close_pattern(latency);
        (writer.finish(), paths)
    }

    /// The queue pairs of one edge between NICs; false where one has no route.
    fn network(
        &self,
        routing: &Routing<'_>,
        disjoint: Option<&DisjointPorts>,
        (source, target, first): (DeviceId, DeviceId, u32),
        edge: &Edge,
        sink: &mut PathSink<'_>,
        paths: &mut Vec<FlowPath>,
    ) -> bool {
        let fabric = routing.fabric;
        let Edge::Network { amount, .. } = *edge else {
            return true;
        };
        let ports = ports_of(fabric, source);
        let count = self.case.routing.queue_pairs * ports;
        for queue_pair in 0..count {
            let (local, remote) = self.queue_pairs[(first + queue_pair) as usize];
            let chosen = disjoint.and_then(|ports| ports.port(first + queue_pair));
            let source_port = chosen.unwrap_or_else(|| roce_source_port(local, remote));
            let tuple = FiveTuple::roce(nic_ip(source), nic_ip(target), source_port);
            let key = HashKey::of(tuple).with_target_qp(remote);
            let mut links = vec![pcie(fabric, source)];
            // The bond moves a queue pair to the next port when its own leads nowhere (HPN section 4).
            let landed = (0..ports).find_map(|turn| {
                let port = (queue_pair + turn) % ports;
                routing.route(NicPort { nic: source, port }, target, &key, &mut links).ok()
            });
            let Some(landed) = landed else { return false };
            links.push(pcie(fabric, target).reverse());
            paths.push(FlowPath {
                pattern: 0,
                bundle: 0,
                source,
                target,
                source_port,
                queue_pair,
                landed_port: landed.port_index,
                share: amount / f64::from(count),
                links: links[1..links.len() - 1].to_vec(),
            });
            sink.strands.push(Strand { edge: sink.edge, amount, of: count, links });
        }
        true
    }
}

/// Where the strands of one edge go.
struct PathSink<'a> {
    strands: &'a mut Vec<Strand>,
    edge: u32,
}

impl PathSink<'_> {
    /// The NVLink hops of an edge inside a host.
    fn inside(&mut self, fabric: &Fabric, edge: &Edge) -> bool {
        let (links, amount) = match *edge {
            Edge::Inside { host, source_gpu, target_gpu, amount } => {
                let up = nvlink(fabric, HostId(host), source_gpu);
                (vec![up, nvlink(fabric, HostId(host), target_gpu).reverse()], amount)
            }
            Edge::InSwitch { host, gpu, amount } => {
                let up = nvlink(fabric, HostId(host), gpu);
                (vec![up, up.reverse()], amount)
            }
            Edge::Network { .. } => return true,
        };
        self.strands.push(Strand { edge: self.edge, amount, of: 1, links });
        true
    }
}

/// The NICs of an edge; none inside a host.
fn ends(fabric: &Fabric, edge: &Edge) -> Option<(DeviceId, DeviceId)> {
    match *edge {
        Edge::Network { source_host, source_nic, target_host, target_nic, .. } => {
            Some((fabric.nic(HostId(source_host), source_nic), fabric.nic(HostId(target_host), target_nic)))
        }
        _ => None,
    }
}

/// Backend ports of a NIC.
fn ports_of(fabric: &Fabric, nic: DeviceId) -> u32 {
    fabric.ports(nic).filter(|&port| fabric.port_role(port) == PortRole::Backend).count().max(1) as u32
}

/// The link from a GPU into its NIC.
fn pcie(fabric: &Fabric, nic: DeviceId) -> LinkId {
    let port = fabric.ports(nic).next().expect("a NIC's first port is its PCIe port");
    fabric.cable_at(port).expect("hosts are cabled inside").forward()
}

/// The link from a GPU into its NVSwitch.
fn nvlink(fabric: &Fabric, host: HostId, gpu: u32) -> LinkId {
    let port = fabric.ports(fabric.gpu(host, gpu)).next().expect("a GPU's first port is its NVLink port");
    fabric.cable_at(port).expect("hosts are cabled inside").forward()
}

/// Propagation and switch latency of a path; serialisation is in the rates.
fn path_delay(fabric: &Fabric, links: &[LinkId]) -> SimTime {
    let mut delay = SimTime::ZERO;
    for &link in links {
        delay += fabric.delay(link);
        if fabric.place(fabric.target(link)).is_some() {
            delay += fabric.switch_latency();
        }
    }
    delay
}
