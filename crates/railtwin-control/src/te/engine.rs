//! Constrained shortest path first: which uplink each flow should take, largest flow first.

use std::collections::BTreeMap;

use railtwin_fabric::{Fabric, LinkId};
use railtwin_routing::{Forwarding, Prefixes};

use crate::te::flows::{Flow, Flows};
use crate::te::matrix::TrafficMatrix;
use crate::te::outcome::{FlowPlacement, PlacedFlow};
use crate::te::repair::Repair;
use crate::te::spread::{Loads, SLACK, Spread};
use crate::te::zone::{Scheme, ZonePolicies};

/// How the engine places flows.
#[derive(Clone, PartialEq, Debug)]
pub struct EngineOptions {
    /// Most exact-match entries that a leaf holds; the largest flows get them.
    pub entries_per_leaf: usize,
    /// Which flows get entries at all.
    pub policy: ZonePolicies,
    /// A flow keeps the uplink of the previous run as long as no link of that path is fuller than
    /// this share of its capacity, so that fewer entries are written.
    pub keep_below: f64,
    /// Most moves of flows that are tried to make room on links that are too full, which bounds
    /// the time of a run.
    pub repair_moves: usize,
}

impl Default for EngineOptions {
    /// Entries of a leaf: 16 K, an assumption; the paper gives no size.
    fn default() -> Self {
        Self {
            entries_per_leaf: 16 * 1024,
            policy: ZonePolicies::default(),
            keep_below: 1.0,
            repair_moves: 100_000,
        }
    }
}

/// The engine of Meta RoCE section 4.3.1: topology and traffic matrix in, flow placement out.
///
/// A flow is all that a NIC port sends to a prefix; an entry moves it as a whole. Its paths are the
/// shortest up-down paths that BGP would spread it over. Flows without an entry are loaded first,
/// in equal parts; then each flow, the largest first, takes the path whose fullest link stays
/// emptiest. If some link ends up with more than it can carry, flows are moved aside in chains
/// where that helps.
#[derive(Clone, Debug)]
pub struct Engine {
    prefixes: Prefixes,
    options: EngineOptions,
}

/// The state of one run.
struct Run<'a> {
    flows: &'a Flows,
    spread: &'a Spread<'a>,
    loads: Loads,
    /// By flow.
    next: Vec<Option<LinkId>>,
    scratch: Vec<(LinkId, f64)>,
}

impl Engine {
    /// An engine for entries over these prefixes.
    pub fn new(prefixes: Prefixes, options: EngineOptions) -> Self {
        Self { prefixes, options }
    }

    /// Which NIC is in which prefix.
    pub fn prefixes(&self) -> &Prefixes {
        &self.prefixes
    }

    /// How it places flows.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// Places the demands of `matrix` on the live links of `forwarding`, which was made for
    /// `fabric`. With the placement of the run before, flows stay where they were if that is
    /// still good. The same input gives the same placement.
    pub fn place(
        &self,
        fabric: &Fabric,
        forwarding: &Forwarding,
        matrix: &TrafficMatrix,
        previous: Option<&FlowPlacement>,
    ) -> FlowPlacement {
        let flows = Flows::new(fabric, forwarding, &self.prefixes, self.options.policy, matrix);
        let spread = Spread::new(fabric, forwarding, &flows);
        let (order, beyond_limit) = self.elect(&flows, &spread);
        let mut run = Run {
            flows: &flows,
            spread: &spread,
            loads: Loads::new(fabric),
            next: vec![None; flows.list.len()],
            scratch: Vec::new(),
        };
        run.load_the_rest(&order);
        run.place_all(&order, previous, self.options.keep_below);
        if order.iter().any(|&flow| run.is_crowded(flow)) {
            let mut repair = Repair::new(&flows, &spread, &mut run.loads, &mut run.next, &order);
            repair.run(self.options.repair_moves);
        }
        let Run { loads, next, .. } = run;
        let placed = |(flow, next): (&Flow, Option<LinkId>)| {
            let &Flow { ingress, prefix, rate, .. } = flow;
            PlacedFlow { ingress, prefix, rate_bits_per_s: rate, next }
        };
        FlowPlacement {
            flows: flows.list.iter().zip(next).map(placed).collect(),
            load_bits_per_s: loads.by_link,
            unrouted: flows.unrouted,
            beyond_limit,
        }
    }

    /// The flows that get an entry, largest first, and how many more would if leaves had room.
    /// Where there is only one way an entry would change nothing.
    fn elect(&self, flows: &Flows, spread: &Spread<'_>) -> (Vec<u32>, usize) {
        let engineered = flows.list.iter().zip(0u32..).filter(|(flow, _)| {
            flow.scheme == Scheme::TrafficEngineering && spread.candidates(flows, flow).len() > 1
        });
        let mut order: Vec<u32> = engineered.map(|(_, number)| number).collect();
        // A stable sort: flows of one rate stay in order of (ingress, prefix).
        order.sort_by(|&a, &b| flows.list[b as usize].rate.total_cmp(&flows.list[a as usize].rate));
        let before = order.len();
        let mut held: BTreeMap<u32, usize> = BTreeMap::new();
        order.retain(|&flow| {
            let held = held.entry(flows.list[flow as usize].leaf).or_default();
            *held += 1;
            *held <= self.options.entries_per_leaf
        });
        let beyond = before - order.len();
        (order, beyond)
    }
}

impl<'a> Run<'a> {
    /// Loads the flows that get no entry.
    fn load_the_rest(&mut self, order: &[u32]) {
        let mut elected = vec![false; self.flows.list.len()];
        order.iter().for_each(|&flow| elected[flow as usize] = true);
        for (flow, _) in self.flows.list.iter().zip(elected).filter(|(_, elected)| !elected) {
            self.spread.loads(self.flows, flow, None, &mut self.scratch);
            self.loads.add(&self.scratch);
        }
    }

    fn place_all(&mut self, order: &[u32], previous: Option<&FlowPlacement>, keep_below: f64) {
        // Those that stay go first, so that none of those that must move takes their place.
        let mut movers = Vec::with_capacity(order.len());
        for &number in order {
            let flow = &self.flows.list[number as usize];
            let kept = previous.and_then(|previous| previous.next(flow.ingress, flow.prefix));
            let kept = kept.filter(|kept| self.spread.candidates(self.flows, flow).contains(kept));
            match kept {
                Some(kept) if self.cost(flow, kept).0 <= keep_below + SLACK => self.commit(number, kept),
                _ => movers.push(number),
            }
        }
        for number in movers {
            let best = self.best(&self.flows.list[number as usize]);
            self.commit(number, best);
        }
    }

    fn cost(&mut self, flow: &Flow, next: LinkId) -> (f64, f64) {
        self.spread.loads(self.flows, flow, Some(next), &mut self.scratch);
        self.loads.cost(&self.scratch)
    }

    /// The candidate that leaves its fullest link emptiest, the first of several.
    fn best(&mut self, flow: &Flow) -> LinkId {
        let candidates = self.spread.candidates(self.flows, flow);
        let mut best = (candidates[0], self.cost(flow, candidates[0]));
        let whole = self.flows.parts(flow).len() == 1;
        for &candidate in &candidates[1..] {
            // The uplink alone is worse: no need to look at what lies beyond.
            if whole && self.loads.with(candidate, flow.rate) > best.1.0 {
                continue;
            }
            let cost = self.cost(flow, candidate);
            if cost < best.1 {
                best = (candidate, cost);
            }
        }
        best.0
    }

    fn commit(&mut self, number: u32, next: LinkId) {
        self.spread.loads(self.flows, &self.flows.list[number as usize], Some(next), &mut self.scratch);
        self.loads.add(&self.scratch);
        self.next[number as usize] = Some(next);
    }

    fn is_crowded(&mut self, number: u32) -> bool {
        let next = self.next[number as usize];
        self.spread.loads(self.flows, &self.flows.list[number as usize], next, &mut self.scratch);
        self.scratch.iter().any(|&(link, _)| self.loads.is_over(link))
    }
}
