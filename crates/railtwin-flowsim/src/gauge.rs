//! What hosts and switches would tell controllers: completions of queue pairs, bytes and marks of links, from rates.
//!
//! Rates hold from event to event, so everything is a sum over such spans; all that shares links is solved together, so
//! the loads of the links that a span touches are known in it.
//!
//! * A queue pair completes its bytes at the rate that it *could* have: over its links the least of its own rate and what
//!   is spare. Under a static split one that is faster than the slowest of its edge works its messages off at that rate
//!   and then has nothing to do, which is what completion times show.
//! * A full link holds a standing queue where more would come if it were wider: where a queue pair crosses no full link
//!   before it. It then marks all that crosses it, if its switch marks at all (`ecn`). A NIC that is full holds back its
//!   own host and marks nothing, and neither does a link that is full of what full links before it let through.
use railtwin_control::controller::{Completion, LinkCounters, QueuePairCounters};
use railtwin_engine::choose::ChosenPaths;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{BundleTable, Case, Feedback, Pace};
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;
use railtwin_workload::{Edge, PatternId};

use crate::rates::Rates;

/// A link counts as full from this share of its capacity on: rates are found up to about 1e-9 of it.
const FULL: f64 = 1.0 - 1e-6;

/// The queue pairs of a table's bundles and their links, as columns.
#[derive(Debug)]
pub struct QueuePaths {
    /// CSR: rows of bundle `b` of the table are `bundle_start[b]..bundle_start[b + 1]`.
    bundle_start: Vec<u32>,
    queue_pair: Vec<u32>,
    /// Bytes for each byte of the bundle, static split.
    share: Vec<f64>,
    /// Strand of the table, dynamic split.
    strand: Vec<u32>,
    /// CSR: links of row `r`.
    link_start: Vec<u32>,
    links: Vec<LinkId>,
}

impl QueuePaths {
    /// The queue pairs of a table that was made of these paths; none of bundles without a route.
    pub fn of(case: &Case, lowering: &Lowering<'_>, chosen: &ChosenPaths, table: &BundleTable) -> Self {
        let mut this = Self {
            bundle_start: vec![0],
            queue_pair: Vec::new(),
            share: Vec::new(),
            strand: Vec::new(),
            link_start: vec![0],
            links: Vec::new(),
        };
        let fabric = &*case.fabric;
        let by_class = case.pace == Pace::Class;
        for pattern in 0..table.patterns() {
            let joined = by_class && !lowering.is_apart(pattern);
            let (shape, connections) = lowering.shape_of(pattern);
            let connections: Vec<Option<u32>> = connections.collect();
            let rows = table.bundles_of(PatternId::from_index(pattern));
            let first_strand = |row: usize| table.strands.bundle_start.get(row).copied().unwrap_or(0);
            let mut strand = first_strand(rows.start);
            for (number, bundle) in shape.bundles.iter().enumerate() {
                let row = if joined { rows.start } else { rows.start + number };
                if !joined {
                    strand = first_strand(row);
                }
                let routed = table.link_start[row] < table.link_start[row + 1];
                let volume = if joined { bundle.volume } else { 1.0 };
                for (edge, at) in (bundle.first_edge as usize..).zip(shape.edges_of(bundle)) {
                    let (Edge::Network { amount, .. }, Some(of)) = (*at, connections[edge]) else {
                        strand += 1;
                        continue;
                    };
                    let one = &lowering.connections()[of as usize];
                    for queue_pair in (one.first..one.first + one.count).filter(|_| routed) {
                        this.queue_pair.push(queue_pair);
                        this.share.push(chosen.carried(queue_pair, one.count, amount) * volume);
                        this.strand.push(strand);
                        strand += 1;
                        this.links.extend(fabric.pcie_into(one.source));
                        this.links.extend_from_slice(chosen.path(queue_pair).links);
                        this.links.extend(fabric.pcie_into(one.target).map(LinkId::reverse));
                        this.link_start.push(this.links.len() as u32);
                    }
                }
                if !joined {
                    this.bundle_start.push(this.queue_pair.len() as u32);
                }
            }
            if joined && !rows.is_empty() {
                this.bundle_start.push(this.queue_pair.len() as u32);
            }
        }
        this
    }
}

/// Sums of one queue pair since the last feedback.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    bytes: f64,
    marked: f64,
    seconds: f64,
}

/// Sums up what was carried since the last feedback.
#[derive(Debug)]
pub struct Gauge {
    paths: QueuePaths,
    /// By link: bytes of data per second while nothing ails it; none where it is not told.
    rates: Vec<Option<f64>>,
    /// By link: bytes on the wire for each byte of data.
    wire: Vec<f64>,
    /// By link: whether a switch sends over it.
    can_mark: Vec<bool>,
    /// By link: bytes carried and marked.
    links: Vec<(f64, f64)>,
    queue_pairs: Vec<Carried>,
    since: SimTime,
    /// Whether anything moved since then.
    pub news: bool,
    /// Loads of the links of one span, and which they are.
    load: Vec<f64>,
    touched: Vec<LinkId>,
    /// By link: whether it marks in the span.
    marks: Vec<bool>,
    /// By strand of the table, dynamic split.
    strand_rates: Vec<f64>,
}

impl Gauge {
    /// Nothing carried yet.
    pub fn new(case: &Case, queue_pairs: usize, paths: QueuePaths) -> Self {
        let fabric = &*case.fabric;
        let links = fabric.link_count();
        let all = || (0..links as u32).map(LinkId);
        Self {
            paths,
            rates: all().map(|link| fabric.is_network(link).then(|| case.data_rate(link))).collect(),
            wire: all().map(|link| case.on_the_wire(link, 1.0)).collect(),
            can_mark: all().map(|link| case.ecn(link).is_some()).collect(),
            links: vec![(0.0, 0.0); links],
            queue_pairs: vec![Carried::default(); queue_pairs],
            since: SimTime::ZERO,
            news: false,
            load: vec![0.0; links],
            touched: Vec::new(),
            marks: vec![false; links],
            strand_rates: Vec::new(),
        }
    }

    /// Takes new paths.
    pub fn take_paths(&mut self, paths: QueuePaths) {
        self.paths = paths;
    }

    fn load(&mut self, link: LinkId, rate: f64) {
        let load = &mut self.load[link.index()];
        if *load == 0.0 {
            self.touched.push(link);
        }
        *load += rate;
    }

    /// All bundles of some patterns, which share links with no other in flight, moved at `rates` for a while.
    pub fn moved(
        &mut self,
        table: &BundleTable,
        capacities: &[f64],
        patterns: &[PatternId],
        rates: &Rates,
        seconds: f64,
    ) {
        if seconds <= 0.0 {
            return;
        }
        let bundles: Vec<(usize, f64)> = {
            let all = patterns.iter().flat_map(|&pattern| table.bundles_of(pattern));
            all.zip(rates.bundles.iter().copied()).filter(|&(_, rate)| rate > 0.0).collect()
        };
        let from = &table.strands;
        if table.is_dynamic() {
            self.strand_rates.resize(from.edge.len(), 0.0);
            for &(strand, rate) in &rates.strands {
                self.strand_rates[strand as usize] = rate;
                let (start, end) = (from.link_start[strand as usize], from.link_start[strand as usize + 1]);
                from.links[start as usize..end as usize].iter().for_each(|&link| self.load(link, rate));
            }
        } else {
            for &(bundle, rate) in &bundles {
                table.links_of(bundle).for_each(|(link, share)| self.load(link, share * rate));
            }
        }
        let paths = std::mem::replace(&mut self.paths, QueuePaths::none());
        let rows =
            |bundle: usize| paths.bundle_start[bundle] as usize..paths.bundle_start[bundle + 1] as usize;
        let links =
            |row: usize| &paths.links[paths.link_start[row] as usize..paths.link_start[row + 1] as usize];
        let dynamic = table.is_dynamic();
        let mut strand_rates = std::mem::take(&mut self.strand_rates);
        let own = |row: usize, rate: f64| {
            let strand = paths.strand[row] as usize;
            if dynamic { strand_rates.get(strand).copied().unwrap_or(0.0) } else { paths.share[row] * rate }
        };
        for &(bundle, rate) in &bundles {
            for row in rows(bundle).filter(|&row| own(row, rate) > 0.0) {
                let full = |link: &&LinkId| self.load[link.index()] >= capacities[link.index()] * FULL;
                if let Some(first) = links(row).iter().find(full) {
                    let index = first.index();
                    self.marks[index] = self.rates[index].is_some() && self.can_mark[index];
                }
            }
        }
        for &(bundle, rate) in &bundles {
            for row in rows(bundle) {
                let own = own(row, rate);
                if own <= 0.0 {
                    continue;
                }
                let spare = |link: &LinkId| (capacities[link.index()] - self.load[link.index()]).max(0.0);
                let could = own + links(row).iter().map(spare).fold(f64::INFINITY, f64::min);
                let is_marked = links(row).iter().any(|link| self.marks[link.index()]);
                let carried = &mut self.queue_pairs[paths.queue_pair[row] as usize];
                carried.bytes += own * seconds;
                carried.marked += if is_marked { own * seconds } else { 0.0 };
                carried.seconds += own / could * seconds;
            }
        }
        for &(strand, _) in &rates.strands {
            strand_rates[strand as usize] = 0.0;
        }
        (self.paths, self.strand_rates) = (paths, strand_rates);
        self.news = true;
        for link in self.touched.drain(..) {
            let index = link.index();
            let bytes = std::mem::take(&mut self.load[index]) * seconds;
            self.links[index].0 += bytes;
            self.links[index].1 += if std::mem::take(&mut self.marks[index]) { bytes } else { 0.0 };
        }
    }

    /// What was carried up to `now` since this was last asked.
    pub fn feedback(&mut self, now: SimTime) -> Feedback {
        let seconds = now.since(self.since).seconds();
        (self.since, self.news) = (now, false);
        let mut feedback = Feedback::default();
        for (index, (bytes, marked)) in self.links.iter_mut().enumerate() {
            let (bytes, marked) = (std::mem::take(bytes), std::mem::take(marked));
            if let Some(rate) = self.rates[index].filter(|_| bytes >= 0.5) {
                feedback.links.push(LinkCounters {
                    link: LinkId::from_index(index),
                    bytes: (bytes * self.wire[index]).round() as u64,
                    utilization: (bytes / (rate * seconds)).min(1.0),
                    marked: (marked / bytes).min(1.0),
                });
            }
        }
        for (queue_pair, carried) in (0..).zip(&mut self.queue_pairs) {
            let Carried { bytes, marked, seconds } = std::mem::take(carried);
            if bytes >= 0.5 {
                let time = SimTime::from_seconds(seconds);
                feedback.completions.push(Completion { queue_pair, bytes: bytes.round() as u64, time });
                feedback
                    .queue_pairs
                    .push(QueuePairCounters { queue_pair, marked: (marked / bytes).min(1.0) });
            }
        }
        feedback
    }
}

impl QueuePaths {
    fn none() -> Self {
        Self {
            bundle_start: Vec::new(),
            queue_pair: Vec::new(),
            share: Vec::new(),
            strand: Vec::new(),
            link_start: Vec::new(),
            links: Vec::new(),
        }
    }
}
