//! How much a case comes to once it is lowered, counted before: rows of shapes, connections, queue pairs and paths.
use std::collections::{BTreeMap, BTreeSet};
use std::mem::size_of;

use railtwin_fabric::{DeviceId, LinkId};
use railtwin_routing::LinkMask;
use railtwin_workload::{Edge, HostLayout, Pattern, extent_of, shape};

use crate::balancer::Balancer;
use crate::case::Case;
use crate::choose::{Chooser, View};
use crate::connection::Connection;
use crate::lower::{FlowPath, PathLinks, ends, layout_of};
use crate::members::members_of;
use crate::opened::{Draw, ports_of};
use crate::routing_case::RoutingCase;
use crate::storage::shape_of_pattern;

/// Edges of a communicator's patterns up to which connections are counted one by one.
const ONE_BY_ONE: u64 = 1 << 20;
/// Connections whose paths stand for those of all.
const SAMPLE: usize = 64;
/// A hash map of connections: entry and control byte, at most 7/8 full, after doubling half of that.
const MAP_LOAD: f64 = 0.66;

/// Rows of a case, over all its jobs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Extent {
    /// Ranks.
    pub ranks: u64,
    /// Patterns.
    pub patterns: u64,
    /// Operations of all steps.
    pub operations: u64,
    /// Bundles before rank classes join them.
    pub bundles: u64,
    /// Bundles among them that are never joined: those of ranks that write to storage, read, or answer requests.
    pub apart: u64,
    /// Edges of all bundles.
    pub edges: u64,
    /// Edges between NICs among them.
    pub crossings: u64,
    /// Edges through an NVSwitch among them.
    pub in_switch: u64,
    /// Connections; at most so many where [`Extent::counted`] is false.
    pub connections: u64,
    /// Queue pairs of all connections.
    pub queue_pairs: u64,
    /// Queue pairs over all edges between NICs: rows of paths that the work asks for. One connection serves many edges.
    pub flows: u64,
    /// Whether connections were counted one by one.
    pub counted: bool,
    /// Links of a queue pair's path between its NICs: mean over a sample. Of packets that are spread all links.
    pub links_each: f64,
    /// Links that the queue pairs of a connection cross together: mean over the same sample.
    pub links_together: f64,
    /// Whether queue pairs carry what they can, each for itself.
    pub dynamic: bool,
    /// Whether packets of a queue pair are spread.
    pub spread: bool,
    /// Links of the fabric.
    pub links: u64,
}

/// Rows of what so many ranks exchange with storage hosts.
fn of_storage(ranks: u64) -> railtwin_workload::Extent {
    let (bundles, edges, crossings, connections) = (ranks, ranks, ranks, ranks);
    railtwin_workload::Extent { bundles, edges, crossings, connections, ..Default::default() }
}

/// The patterns of a job over the same communicators: they share connections.
#[derive(Default)]
struct Group<'a> {
    patterns: Vec<&'a Pattern>,
    job: usize,
}

impl Extent {
    /// Counts a case. Work: ranks of all communicators, and up to a million edges one by one.
    pub fn of(case: &Case) -> Self {
        let balancer = case.routing.balancer;
        let mut all = Self {
            counted: true,
            patterns: case.work.patterns as u64,
            operations: case.work.operations as u64,
            dynamic: case.routing.is_dynamic(),
            spread: balancer.is_spread(),
            links: case.fabric.link_count() as u64,
            ..Self::default()
        };
        let mut sample = Vec::new();
        let mut groups: BTreeMap<(usize, &Vec<Vec<u32>>), Group<'_>> = BTreeMap::new();
        for (job, graph) in case.work.jobs.iter().enumerate() {
            all.ranks += u64::from(graph.plan.ranks);
            for pattern in &graph.plan.patterns {
                let group = groups.entry((job, &pattern.communicators)).or_default();
                group.job = job;
                group.patterns.push(pattern);
            }
        }
        let layouts: Vec<HostLayout> = (0..case.work.jobs.len()).map(|job| layout_of(case, job)).collect();
        for group in groups.values() {
            all.add(case, group, &layouts[group.job], &mut sample);
        }
        all.look_at_paths(case, sample);
        all
    }

    /// Counts patterns over the same communicators; appends some of their connections to `sample`.
    fn add(
        &mut self,
        case: &Case,
        group: &Group<'_>,
        layout: &HostLayout,
        sample: &mut Vec<(u32, DeviceId, DeviceId)>,
    ) {
        let Some(&any) = group.patterns.first() else { return };
        let fabric = &*case.fabric;
        let members = |ranks: &Vec<u32>| members_of(case, group.job, ranks);
        let mut rows = vec![railtwin_workload::Extent::default(); group.patterns.len()];
        for communicator in &any.communicators {
            let members = members(communicator);
            for (rows, pattern) in rows.iter_mut().zip(&group.patterns) {
                *rows += match pattern.storage {
                    Some(_) => of_storage(members.len() as u64 / 2),
                    None => extent_of(pattern.collective, pattern.algorithm, &members, layout),
                };
            }
        }
        for (rows, pattern) in rows.iter().zip(&group.patterns) {
            self.bundles += rows.bundles;
            self.apart += if pattern.storage.is_some() { rows.bundles } else { 0 };
            self.edges += rows.edges;
            self.crossings += rows.crossings;
            self.in_switch += rows.in_switch;
        }
        let few = rows.iter().map(|rows| rows.edges).sum::<u64>() <= ONE_BY_ONE;
        if !few {
            // Who meets all others meets whom rings and trees join too.
            let connections = rows.iter().map(|rows| rows.connections).max().unwrap_or(0);
            let nic = |place: &railtwin_control::Place| {
                let row = fabric.host_model(place.host).nic_of_gpu(place.gpu);
                fabric.nic(place.host, row)
            };
            let nics: Vec<DeviceId> = case.placements[group.job].iter().map(nic).collect();
            let ports = nics.first().map_or(1, |&nic| ports_of(fabric, nic));
            let each = u64::from(case.routing.queue_pairs) * u64::from(ports);
            self.counted = false;
            self.connections += connections;
            self.queue_pairs += connections * each;
            self.flows += rows.iter().map(|rows| rows.crossings).sum::<u64>() * each;
            let step = (nics.len() / SAMPLE).max(1);
            // Far apart in the order of ranks, as most pairs are.
            let pairs = (0..nics.len())
                .step_by(step)
                .map(|row| (nics[row], nics[(row + nics.len() / 2) % nics.len()]));
            sample.extend(pairs.filter(|(a, b)| a != b).map(|(a, b)| (group.job as u32, a, b)));
            return;
        }
        let mut found = BTreeSet::new();
        for communicator in &any.communicators {
            for pattern in &group.patterns {
                let shape = shape_of_pattern(case, group.job, pattern, communicator, layout);
                for (source, target) in shape.edges.iter().filter_map(|edge| ends(fabric, edge)) {
                    self.flows += u64::from(case.routing.queue_pairs) * u64::from(ports_of(fabric, source));
                    found.insert((source, target));
                }
            }
        }
        self.connections += found.len() as u64;
        let ports = found.iter().map(|&(source, _)| u64::from(ports_of(fabric, source)));
        self.queue_pairs += ports.sum::<u64>() * u64::from(case.routing.queue_pairs);
        let step = (found.len() / SAMPLE).max(1);
        sample.extend(found.iter().step_by(step).map(|&(a, b)| (group.job as u32, a, b)));
    }

    /// Routes a sample of connections, by hash where a plan of all would be asked for.
    fn look_at_paths(&mut self, case: &Case, sample: Vec<(u32, DeviceId, DeviceId)>) {
        let fabric = &*case.fabric;
        let step = sample.len().div_ceil(SAMPLE).max(1);
        let (mut connections, mut numbers) = (Vec::new(), Vec::new());
        for (job, source, target) in sample.into_iter().step_by(step) {
            let ports = ports_of(fabric, source);
            let count = case.routing.queue_pairs * ports;
            let first = numbers.len() as u32;
            numbers.extend((first..first + count).map(|number| (number, number.wrapping_mul(7919))));
            connections.push(Connection { job, source, target, first, count, ports, bytes: 1.0 });
        }
        if connections.is_empty() {
            return;
        }
        let balancer = if self.spread { case.routing.balancer } else { Balancer::Ecmp };
        let routing = RoutingCase { balancer, ..case.routing };
        let none = LinkMask::none(fabric);
        // An estimate needs no replicate's own.
        let draw = Draw { draw: case.seed, ecmp: routing.ecmp };
        let chooser = Chooser::new(fabric, &routing, draw, &connections, &numbers);
        let paths = chooser.choose(View { mask: &none, planned: &none });
        let (mut links, mut together) = (0, 0);
        for connection in &connections {
            let mut crossed: Vec<LinkId> = Vec::new();
            for queue_pair in connection.first..connection.first + connection.count {
                crossed.extend_from_slice(paths.path(queue_pair).links);
            }
            links += crossed.len();
            crossed.sort_unstable();
            crossed.dedup();
            together += crossed.len();
        }
        self.links_each = links as f64 / numbers.len().max(1) as f64;
        self.links_together = together as f64 / connections.len() as f64;
    }

    /// Rows of links over all bundles: what the queue pairs of an edge cross together with the way into the NICs, and
    /// two hops inside a host.
    pub fn bundle_links(&self) -> f64 {
        self.crossings as f64 * (self.links_together + 2.0) + (self.edges - self.crossings) as f64 * 2.0
    }

    /// Rows of links over all strands, where each queue pair carries what it can.
    pub fn strand_links(&self) -> f64 {
        if !self.dynamic {
            return 0.0;
        }
        self.flows as f64 * (self.links_each + 2.0) + (self.edges - self.crossings) as f64 * 2.0
    }

    /// The most rows of any one kind: they are numbered with 32 bits.
    pub fn most_rows(&self) -> f64 {
        let paths = self.queue_pairs as f64 * self.links_each;
        let rows = [self.operations, self.edges, self.flows, self.queue_pairs].map(|rows| rows as f64);
        rows.into_iter().chain([paths, self.bundle_links(), self.strand_links()]).fold(0.0, f64::max)
    }

    /// Bytes of a [`crate::lower::Lowering`]: shapes, connections, numbers of queue pairs.
    pub fn lowering_bytes(&self) -> f64 {
        let shapes = self.edges as f64 * (size_of::<Edge>() + size_of::<u32>()) as f64
            + self.bundles as f64 * size_of::<shape::Bundle>() as f64;
        let connections = self.connections as f64 * size_of::<Connection>() as f64;
        shapes + connections + self.queue_pairs as f64 * size_of::<(u32, u32)>() as f64
    }

    /// Bytes while connections are looked up by their ends.
    pub fn connecting_bytes(&self) -> f64 {
        let entry = size_of::<(DeviceId, DeviceId, u32)>() + size_of::<u32>() + 1;
        self.lowering_bytes() + self.connections as f64 * entry as f64 / MAP_LOAD
    }

    /// Bytes of [`crate::choose::ChosenPaths`].
    pub fn path_bytes(&self) -> f64 {
        let link = size_of::<LinkId>() + if self.spread { size_of::<f64>() } else { 0 };
        let row = size_of::<u32>() + size_of::<u16>() + size_of::<u8>();
        self.queue_pairs as f64 * (row as f64 + self.links_each * link as f64)
    }

    /// Bytes of a [`crate::BundleTable`] of all bundles.
    pub fn table_bytes(&self) -> f64 {
        let row = 3 * size_of::<f64>() + size_of::<u32>();
        let link = size_of::<LinkId>() + size_of::<f64>();
        self.bundles as f64 * row as f64 + self.bundle_links() * link as f64 + self.strand_bytes()
    }

    /// Bytes of the strands of a [`crate::BundleTable`]; 0 where queue pairs do not carry what each can.
    pub fn strand_bytes(&self) -> f64 {
        if !self.dynamic {
            return 0.0;
        }
        let strand = 2 * size_of::<u32>() + size_of::<f64>();
        self.flows as f64 * strand as f64 + self.strand_links() * size_of::<LinkId>() as f64
    }

    /// Bytes of the paths that a run hands on, one [`FlowPath`] for each queue pair of each edge.
    pub fn flow_bytes(&self) -> f64 {
        self.flows as f64 * (size_of::<FlowPath>() as f64 + PathLinks::bytes_outside(self.links_each))
    }

    /// Most bytes that lowering the case holds at once: the paths in two parts, then all patterns beside each part's
    /// table, with the paths that it hands on where `flows`.
    pub fn lowered_bytes(&self, flows: bool) -> f64 {
        let lowering = self.lowering_bytes();
        let choosing = lowering + 2.0 * self.path_bytes();
        let handed = if flows { self.flow_bytes() } else { 0.0 };
        let writing = lowering + self.path_bytes() + 2.0 * self.table_bytes() + handed;
        self.connecting_bytes().max(choosing).max(writing)
    }
}
