//! From ranks to links: algorithm, queue pairs, source ports, paths.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use railtwin_control::controller::{Standing, StepDemand};
use railtwin_fabric::{DeviceId, Fabric, HostId, HostModel, LinkId};
use railtwin_routing::LinkMask;
use railtwin_units::{Rate, SimTime};

use railtwin_workload::{Bundle, Edge, HostLayout, Pattern, Shape};
use rayon::prelude::*;

use crate::bundles::{BundleTable, BundleWriter};
use crate::case::Case;
use crate::choose::{Chooser, ChosenPaths, View};
use crate::connection::Connection;
use crate::fault::Moment;
use crate::flow_path::flow_paths;
pub use crate::flow_path::{FlowPath, PathLinks};
use crate::host_costs::{data_rates, held_by, in_flight};
use crate::inside::{Exchanged, InsideHosts, exchanges_over_pcie, links_inside};
use crate::joiner::Joiner;
use crate::mediator::{Connected, Life, Mediator, Programmed, ecmp_of};
use crate::opened::{Draw, Opened};
use crate::own::{Own, Site, Stage};
use crate::path_sink::PathSink;
use crate::routing_case::{Pace, RoutingCase};
use crate::step_demand::step_demand;
use crate::storage::shape_of_pattern;
use railtwin_control::controller::Replan;

/// What tells connections apart: the NICs and the communicator.
type Ends = (DeviceId, DeviceId, u32);
/// Patterns of each thread that are put on links before their rows are put together.
const PATTERNS_EACH: usize = 2;
/// No connection: an edge inside a host.
const INSIDE: u32 = u32::MAX;

/// The patterns of a case as shapes, with the connections that they open: made once per replicate, lowered
/// again after every fault.
#[derive(Debug)]
pub struct Lowering<'a> {
    case: &'a Case,
    replicate: u32,
    /// Controllers of one's own.
    own: Option<&'a Own>,
    draw: Draw,
    shapes: Vec<(Shape, f64)>,
    /// First bundle of each communicator of each pattern.
    first_bundles: Vec<Vec<u32>>,
    /// In the order in which they were opened.
    connections: Vec<Connection>,
    /// Connection of each edge of each pattern's shape; [`INSIDE`] within hosts.
    connection_of: Vec<Vec<u32>>,
    queue_pairs: Vec<(u32, u32)>,
    /// Communicator set of each pattern: patterns over the same ranks share connections.
    group_of: Vec<u32>,
    job_of: Vec<u32>,
    /// By pattern: its ranks have nothing to do with each other, whatever moves in lock step else.
    apart: Vec<bool>,
    /// What hosts add to the latency of each pattern.
    host_latency: Vec<SimTime>,
    /// What faults add to the delay of links, by link; empty where they add nothing.
    added: Vec<SimTime>,
    /// By job.
    lives: Vec<Life>,
    /// What jobs send over PCIe.
    inside: InsideHosts,
    /// The paths while nothing is dead and everybody knows it, where they are kept.
    healthy: Option<ChosenPaths>,
}

impl<'a> Lowering<'a> {
    /// Draws the hash seed and the queue-pair numbers of a replicate and opens all connections.
    pub fn new(case: &'a Case, replicate: u32) -> Self {
        let mut lowering = Self {
            case,
            replicate,
            own: case.own.as_ref(),
            draw: Draw::of(case.seed, case.routing.ecmp, replicate),
            shapes: Vec::new(),
            first_bundles: Vec::new(),
            connections: Vec::new(),
            connection_of: Vec::new(),
            queue_pairs: Vec::new(),
            group_of: Vec::new(),
            job_of: Vec::new(),
            apart: Vec::new(),
            host_latency: Vec::new(),
            added: Vec::new(),
            lives: case.work.jobs.iter().map(Life::of).collect(),
            inside: InsideHosts::default(),
            healthy: None,
        };
        let mut groups: BTreeMap<(usize, &Vec<Vec<u32>>), u32> = BTreeMap::new();
        for (job, graph) in case.work.jobs.iter().enumerate() {
            let layout = layout_of(case, job);
            for pattern in &graph.plan.patterns {
                let next = groups.len() as u32;
                let group = *groups.entry((job, &pattern.communicators)).or_insert(next);
                lowering.group_of.push(group);
                lowering.job_of.push(job as u32);
                lowering.apart.push(pattern.storage.is_some());
                lowering.host_latency.push(pattern.cost.latency);
                let (shape, cap, first_bundles) = lowering.shape(job, &layout, pattern);
                lowering.shapes.push((shape, cap));
                lowering.first_bundles.push(first_bundles);
            }
        }
        lowering.connect();
        lowering.weigh();
        lowering
    }

    /// The same where it is known when jobs ended, by job; [`SimTime::NEVER`] for those that did not: for who asks after
    /// the run.
    pub fn with_ends(mut self, ends: &[SimTime]) -> Self {
        self.lives.iter_mut().zip(ends).for_each(|(life, &end)| life.end = end);
        self
    }

    /// The same as new after a run: without delays that impairments added. Paths are kept.
    pub fn as_new(mut self) -> Self {
        self.added.clear();
        self
    }

    /// Keeps the paths of a run that began with them, for [`Self::table`] of a fabric without dead links, where that would
    /// find the same: nothing dies, all jobs are there from the start, and nobody brought controllers of his own.
    pub fn keep_healthy(&mut self, moments: &[Moment], chosen: ChosenPaths) {
        let is_quiet = moments.is_empty() && self.own.is_none();
        if is_quiet && self.lives.iter().all(|life| life.start == SimTime::ZERO) {
            self.healthy = Some(chosen);
        }
    }

    /// The same without controllers of one's own: for who asks before they are to run.
    pub fn without_own(self) -> Self {
        Self { own: None, ..self }
    }

    /// The shape of a pattern's communicators together, the cap on its bus bandwidth, and the first bundle of each
    /// communicator.
    fn shape(&self, job: usize, layout: &HostLayout, pattern: &Pattern) -> (Shape, f64, Vec<u32>) {
        let mut all = Shape::default();
        let mut first_bundles = Vec::with_capacity(pattern.communicators.len());
        for communicator in &pattern.communicators {
            let one = shape_of_pattern(self.case, job, pattern, communicator, layout);
            first_bundles.push(all.bundles.len() as u32);
            let first_edge = all.edges.len() as u32;
            if first_edge == 0 {
                // Not copied: the edges of a direct exchange among thousands are the most that a case holds.
                all = one;
                continue;
            }
            all.edges.extend(&one.edges);
            all.bundles
                .extend(one.bundles.iter().map(|b| Bundle { first_edge: b.first_edge + first_edge, ..*b }));
        }
        // Flags travel beside the data: the same bus bandwidth is more bytes.
        let expansion = pattern.cost.protocol.expansion();
        for bundle in &mut all.bundles {
            bundle.volume *= expansion;
            bundle.bus_share *= expansion;
        }
        let busbw = pattern.cost.busbw.map_or(f64::INFINITY, Rate::bytes_per_s);
        (all, busbw, first_bundles)
    }

    /// Opens connections in order of patterns, bundles and edges; NICs hand out numbers one after the other.
    fn connect(&mut self) {
        let fabric = &*self.case.fabric;
        let mut opened = Opened::new(fabric, &self.draw);
        // Looked up only: the order of its entries is never seen.
        let mut row_of: HashMap<Ends, u32> = HashMap::new();
        for (pattern, (shape, _)) in self.shapes.iter().enumerate() {
            let mut rows = Vec::with_capacity(shape.edges.len());
            for edge in &shape.edges {
                let Some((source, target)) = ends(fabric, edge) else {
                    rows.push(INSIDE);
                    continue;
                };
                let next = opened.connections.len() as u32;
                let row = *row_of.entry((source, target, self.group_of[pattern])).or_insert(next);
                rows.push(row);
                if row == next {
                    opened.open(self.job_of[pattern], source, target, self.case.routing.queue_pairs);
                }
            }
            self.connection_of.push(rows);
        }
        (self.connections, self.queue_pairs) = (opened.connections, opened.queue_pairs);
        self.inside.ways = links_inside(self.case, &self.connections);
    }

    /// Adds up what a step sends over each connection, and over PCIe switches inside hosts.
    fn weigh(&mut self) {
        let patterns = self.case.work.jobs.iter().flat_map(|job| job.plan.bytes_by_pattern());
        // Bytes that others may be in the way of, for each byte of a pattern.
        let mut sent = vec![0.0; self.shapes.len()];
        let (fabric, mut exchanged) = (&*self.case.fabric, Exchanged::default());
        for (pattern, bytes) in patterns.enumerate() {
            let shape = &self.shapes[pattern].0;
            for bundle in &shape.bundles {
                let first = bundle.first_edge as usize;
                let rows = &self.connection_of[pattern][first..first + bundle.edges as usize];
                for (edge, &row) in shape.edges_of(bundle).iter().zip(rows) {
                    match *edge {
                        Edge::Network { amount, .. } => {
                            self.connections[row as usize].bytes += bytes * bundle.volume * amount;
                            sent[pattern] += bundle.volume * amount;
                        }
                        Edge::Inside { host, source_gpu, target_gpu, amount }
                            if exchanges_over_pcie(fabric, HostId(host)) =>
                        {
                            let (job, gpus) = (self.job_of[pattern], [source_gpu, target_gpu]);
                            exchanged.add(job, host, gpus, bytes * bundle.volume * amount);
                            sent[pattern] += bundle.volume * amount;
                        }
                        Edge::Inside { .. } | Edge::InSwitch { .. } => {}
                    }
                }
            }
        }
        self.inside.exchanges = exchanged.by_job(fabric, self.lives.len());
        for (life, job) in self.lives.iter_mut().zip(&self.case.work.jobs) {
            let first = job.first_pattern as usize;
            life.step = step_demand(&job.plan, &sent[first..first + job.plan.patterns.len()]);
        }
    }

    /// Takes the delays that impairments add to links at `now`; tables made from then on have them.
    pub fn delay_links(&mut self, now: SimTime) {
        self.added.clear();
        for ill in self.case.impairments.iter().filter(|ill| ill.acts_at(now) && ill.delay > SimTime::ZERO) {
            self.added.resize(self.case.fabric.link_count(), SimTime::ZERO);
            self.added[ill.link.index()] += ill.delay;
        }
    }

    /// The round trip of the longest path that crosses each of `links` while nothing is dead; of the longest of all
    /// paths where none does. Propagation and switches only.
    pub fn round_trips(&self, links: &[LinkId]) -> Vec<SimTime> {
        let fabric = &*self.case.fabric;
        let none = LinkMask::none(fabric);
        let chosen = self.paths(View { mask: &none, planned: &none });
        let (mut longest, mut crossing) = (SimTime::ZERO, vec![SimTime::ZERO; links.len()]);
        for connection in &self.connections {
            for queue_pair in connection.first..connection.first + connection.count {
                let path = chosen.path(queue_pair).links;
                let switches =
                    path.iter().filter(|&&link| fabric.place(fabric.target(link)).is_some()).count();
                let wires = path.iter().fold(SimTime::ZERO, |sum, &link| sum + fabric.delay(link));
                let there_and_back = (wires + fabric.switch_latency() * switches as u64) * 2;
                longest = longest.max(there_and_back);
                for (at, _) in links.iter().enumerate().filter(|(_, link)| path.contains(link)) {
                    crossing[at] = crossing[at].max(there_and_back);
                }
            }
        }
        crossing.into_iter().map(|time| if time == SimTime::ZERO { longest } else { time }).collect()
    }

    /// The shape of a pattern, counted over the case, and for each of its edges the row of its connection in
    /// [`Self::connections`]; none inside a host.
    pub fn shape_of(&self, pattern: usize) -> (&Shape, impl ExactSizeIterator<Item = Option<u32>> + '_) {
        let rows = self.connection_of[pattern].iter();
        (&self.shapes[pattern].0, rows.map(|&row| (row != INSIDE).then_some(row)))
    }

    /// The links of a connection into its source NIC and out of its target NIC, in the order of [`Self::connections`]; none
    /// where no host has PCIe switches.
    pub fn inside_of(&self, connection: usize) -> Option<&[Vec<LinkId>; 2]> {
        self.inside.ways.get(connection)
    }

    /// Whether the bundles of a pattern are never joined into one of their class: each rank goes to a storage host of
    /// its own.
    pub fn is_apart(&self, pattern: usize) -> bool {
        self.apart[pattern]
    }

    /// The cap on the bus bandwidth of a pattern, bytes per second; infinite without one.
    pub fn cap_of(&self, pattern: usize) -> f64 {
        self.shapes[pattern].1
    }

    /// First bundle of each communicator of a pattern, counted over the case; one without bundles has the next's.
    pub fn first_bundles(&self, pattern: usize) -> &[u32] {
        &self.first_bundles[pattern]
    }

    /// What the replicate drew.
    pub const fn draw(&self) -> Draw {
        self.draw
    }

    /// Bytes of data per second that each link carries in flows, of those connections.
    pub fn data_rates(&self) -> Vec<f64> {
        data_rates(self.case, &self.connections)
    }

    /// All connections, in the order in which they were opened.
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// Numbers of all queue pairs at their source and at their target.
    pub fn queue_pair_numbers(&self) -> &[(u32, u32)] {
        &self.queue_pairs
    }

    /// What a step of a job computes.
    pub fn step(&self, job: u32) -> StepDemand {
        self.lives[job as usize].step
    }

    fn chooser(&self) -> Chooser<'_> {
        let (case, fabric) = (&self.case.routing, &*self.case.fabric);
        Chooser::new(fabric, case, self.draw, &self.connections, &self.queue_pairs)
            .with_lives(self.lives.clone(), &self.inside)
            .with_own(self.own_site())
    }

    /// Controllers of one's own and where they stand; none where there is nothing to steer either.
    fn own_site(&self) -> Option<(&'a Own, Site)> {
        let own = self.own.filter(|_| !self.connections.is_empty())?;
        let routing = &self.case.routing;
        let site = Site {
            fabric: Arc::clone(&self.case.fabric),
            ecmp: ecmp_of(routing.balancer, self.draw.ecmp),
            resilient: routing.resilient,
            replicate: self.replicate,
            stage: Stage::Run,
            jobs: self.case.work.jobs.len() as u32,
        };
        Some((own, site))
    }

    /// What hosts and leaves hold once everybody heard that the links of `planned` are dead, and how controllers rank the
    /// jobs then.
    pub fn settled(&self, planned: &LinkMask) -> (Programmed, Vec<Standing>) {
        self.chooser().settled_ranked(planned)
    }

    /// The mediator of a run of this replicate, at time zero.
    pub fn mediator<'m>(&self, moments: &'m [Moment]) -> Mediator<'m>
    where
        'a: 'm,
    {
        let routing = RoutingCase { ecmp: self.draw.ecmp, ..self.case.routing };
        let (connections, numbers, lives) = (&self.connections, &self.queue_pairs, &self.lives);
        let connected = Connected { connections, numbers, lives, inside: &self.inside };
        let ground = (moments, self.case.impairments.as_slice());
        let own =
            self.own_site().map_or_else(Vec::new, |(own, site)| own.make(&site, self.queue_pairs.len()));
        Mediator::with(own, &self.case.fabric, &routing, connected, self.draw.draw, ground)
    }

    /// The path of every queue pair in the state that a view describes.
    pub fn paths(&self, view: View<'_>) -> ChosenPaths {
        self.chooser().choose(view)
    }

    /// The path of every queue pair by what switches know and hosts and leaves were told.
    pub fn paths_by(&self, mask: &LinkMask, programmed: &Programmed) -> ChosenPaths {
        self.chooser().choose_by(mask, programmed)
    }

    /// All patterns on links, under a mask of dead links; `flows` also returns every queue pair's path. What is
    /// planned was planned knowing the mask, or never again since the start.
    pub fn table(&self, mask: &LinkMask, flows: bool) -> (BundleTable, Vec<FlowPath>) {
        let none = LinkMask::none(&self.case.fabric);
        if let Some(chosen) = self.healthy.as_ref().filter(|_| *mask == none) {
            return self.table_on(chosen, flows);
        }
        let planned = if self.case.routing.replan == Replan::Never { &none } else { mask };
        self.table_of(View { mask, planned }, flows)
    }

    /// The same where hosts and switches know more than who planned.
    pub fn table_of(&self, view: View<'_>, flows: bool) -> (BundleTable, Vec<FlowPath>) {
        self.table_on(&self.paths(view), flows)
    }

    /// All patterns on given paths; `flows` also returns every queue pair's.
    pub fn table_on(&self, chosen: &ChosenPaths, flows: bool) -> (BundleTable, Vec<FlowPath>) {
        let dynamic = self.case.routing.is_dynamic();
        let by_class = self.case.pace == Pace::Class;
        let links = self.case.fabric.link_count();
        // Joined pattern by pattern, so that the bundles of all are never held together.
        let joined = |joiner: &mut Option<Joiner>, pattern: usize| {
            let joiner = joiner.as_mut().filter(|_| !self.is_apart(pattern));
            let (table, paths) = self.pattern(pattern, chosen, joiner, flows);
            let joins = by_class && dynamic && !self.is_apart(pattern);
            (if joins { table.by_class() } else { table }, paths)
        };
        let mut writer = BundleWriter::new(dynamic).with_slots(self.case.routing.slots_in_order());
        let mut paths = Vec::with_capacity(if flows { self.flow_count() } else { 0 });
        let mut bundles = 0;
        // Some patterns at a time, so that the paths of all are never held twice.
        let patterns: Vec<usize> = (0..self.shapes.len()).collect();
        for some in patterns.chunks(PATTERNS_EACH * rayon::current_num_threads()) {
            let parts: Vec<(BundleTable, Vec<FlowPath>)> = some
                .par_iter()
                .map_init(|| (by_class && !dynamic).then(|| Joiner::new(links)), |own, &row| joined(own, row))
                .collect();
            for (&pattern, (table, mut part)) in some.iter().zip(parts) {
                part.iter_mut().for_each(|path| path.bundle += bundles);
                bundles += self.shapes[pattern].0.bundles.len() as u32;
                writer.append(&table);
                paths.append(&mut part);
            }
        }
        (writer.finish(), paths)
    }

    /// Queue pairs over all edges between NICs.
    fn flow_count(&self) -> usize {
        let rows = self.connection_of.iter().flatten().filter(|&&row| row != INSIDE);
        rows.map(|&row| self.connections[row as usize].count as usize).sum()
    }

    fn pattern(
        &self,
        pattern: usize,
        chosen: &ChosenPaths,
        mut joiner: Option<&mut Joiner>,
        flows: bool,
    ) -> (BundleTable, Vec<FlowPath>) {
        let dynamic = self.case.routing.is_dynamic();
        let (shape, busbw) = &self.shapes[pattern];
        let fabric = &*self.case.fabric;
        let mut writer = BundleWriter::new(dynamic);
        let mut paths = Vec::new();
        let (mut latency, in_flight) = (SimTime::ZERO, in_flight(self.case));
        let mut sink = PathSink::default();
        for (row, bundle) in (0..).zip(&shape.bundles) {
            sink.clear();
            let (mut routed, mut held) = (true, f64::INFINITY);
            let (mut longest, mut round) = (SimTime::ZERO, SimTime::ZERO);
            let rows = &self.connection_of[pattern][bundle.first_edge as usize..];
            for ((edge, &connection), index) in shape.edges_of(bundle).iter().zip(rows).zip(0..) {
                let row_of = connection as usize;
                sink.open(index);
                routed &= match *edge {
                    Edge::Network { amount, .. } => {
                        let connection = &self.connections[connection as usize];
                        if flows {
                            paths.extend(flow_paths(connection, chosen).map(|path| {
                                let of = connection.first + path.queue_pair;
                                let share = chosen.carried(of, connection.count, amount) * bundle.volume;
                                FlowPath { pattern: pattern as u32, bundle: row, share, ..path }
                            }));
                        }
                        let inside = self.inside.ways.get(row_of);
                        sink.network(fabric, connection, inside, chosen, amount)
                    }
                    _ => sink.inside(fabric, edge),
                };
                let delay = sink.delay(fabric, &self.added);
                longest = longest.max(delay);
                held = held.min(held_by(in_flight, edge, delay));
                if !matches!(edge, Edge::InSwitch { .. }) {
                    round += delay;
                }
                // A dynamic split knows whole paths only, without what returns over them.
                if !dynamic && matches!(edge, Edge::Network { .. }) {
                    let connection = &self.connections[connection as usize];
                    sink.weigh(connection, chosen);
                    sink.acknowledge(self.case.routing.acknowledged(connection.count));
                }
            }
            if !routed {
                sink.clear();
            }
            if routed {
                latency = latency.max(latency_of(bundle, longest, round));
            }
            let cap = (busbw * bundle.bus_share).min(held);
            match &mut joiner {
                Some(joiner) => joiner.push(bundle.volume, cap, sink.strands()),
                None => writer.push(bundle.volume, cap, sink.strands()),
            }
        }
        let latency = latency + self.host_latency[pattern];
        match joiner {
            Some(joiner) => joiner.finish(&mut writer, latency),
            None => writer.close_pattern(latency),
        }
        (writer.finish(), paths)
    }
}

/// Latency of all stages of a bundle, whose longest edge and whose edges together take so long.
fn latency_of(bundle: &Bundle, longest: SimTime, round: SimTime) -> SimTime {
    let stages = u64::from(bundle.stages);
    match bundle.ring_hops {
        0 => longest * stages,
        hops => SimTime::from_ps((round * stages).ps() / u64::from(hops)),
    }
}

/// The model of the job's first host, which stands for all of them.
fn first_model(case: &Case, job: usize) -> &HostModel {
    case.fabric.host_model(case.placements[job].first().map_or(HostId(0), |place| place.host))
}

/// How the hosts of a job hang together, and over which of their GPUs it may not relay. Work: the job's ranks.
pub fn layout_of(case: &Case, job: usize) -> HostLayout {
    let model = first_model(case, job);
    let gpu_of_nic: Vec<u32> = (0..model.nics).map(|nic| model.gpu_of_nic(nic)).collect();
    let mut layout = HostLayout::new(gpu_of_nic, model.has_nvswitch(), case.routing.pxn);
    layout.over_pcie = !model.has_nvswitch() && model.joins_gpus();
    let mut held: BTreeMap<HostId, Vec<u32>> = BTreeMap::new();
    for place in &case.placements[job] {
        held.entry(place.host).or_default().push(place.gpu);
    }
    for (&host, gpus) in &held {
        let model = case.fabric.host_model(host);
        if gpus.len() >= model.gpus as usize {
            continue;
        }
        for nic in (0..model.nics).filter(|&nic| !gpus.contains(&model.gpu_of_nic(nic))) {
            let other = gpus.iter().copied().filter(|&gpu| model.nic_of_gpu(gpu) == nic).min();
            layout.not_own.insert((host.0, nic), other);
        }
    }
    layout
}

/// The NICs of an edge; none inside a host.
pub(crate) fn ends(fabric: &Fabric, edge: &Edge) -> Option<(DeviceId, DeviceId)> {
    match *edge {
        Edge::Network { source_host, source_nic, target_host, target_nic, .. } => {
            Some((fabric.nic(HostId(source_host), source_nic), fabric.nic(HostId(target_host), target_nic)))
        }
        _ => None,
    }
}
