//! One fully resolved, immutable input.
use std::sync::Arc;

use railtwin_control::Place;
use railtwin_fabric::{CableId, Fabric, LinkId};
use railtwin_records::Truth;
use railtwin_routing::protocol::set::DualTor;
use railtwin_units::{SimTime, stream};

use crate::fault::{
    Darkness, Fault, FaultedNetwork, Impairment, Moment, RankFault, Reaction, Transport, darknesses, timeline,
};
use crate::graph::WorkGraph;
use crate::own::Own;
use crate::packet::{Ecn, PacketCase};
use crate::routing_case::{Pace, RoutingCase};

/// One fully resolved input.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the scenario.
    pub name: String,
    /// Seed of the run.
    pub seed: u64,
    /// The fabric.
    pub fabric: Arc<Fabric>,
    /// The work.
    pub work: WorkGraph,
    /// Rank → GPU for each job.
    pub placements: Vec<Vec<Place>>,
    /// Paths.
    pub routing: RoutingCase,
    /// What moves in lock step.
    pub pace: Pace,
    /// Share of a network link's capacity that data may take: the rest is headers. 1 where a link carries nothing else.
    pub wire_share: f64,
    /// Faults in order of time.
    pub faults: Vec<Fault>,
    /// Links that run worse for a while.
    pub impairments: Vec<Impairment>,
    /// Ranks that come late or not at all.
    pub rank_faults: Vec<RankFault>,
    /// All faults as the scenario names them: ground truth for who scores detectors.
    pub truths: Vec<Truth>,
    /// How the network reacts to them.
    pub reaction: Reaction,
    /// The leaves that hosts are bonded to.
    pub dual_tor: DualTor,
    /// How queue pairs live through them.
    pub transport: Transport,
    /// Width of the buckets in which throughput is recorded; none where it is not.
    pub throughput: Option<SimTime>,
    /// What only packets ask.
    pub packets: PacketCase,
    /// Controllers of one's own, beside those of the balancer; none where nobody brought any.
    pub own: Option<Own>,
    /// What is allowed and likely not meant, and what was left out; notes on a job's work stand in its plan.
    pub warnings: Vec<String>,
}

impl Case {
    /// Work on a healthy fabric, with what a scenario has by default for all else.
    pub fn new(fabric: Arc<Fabric>, work: WorkGraph, placements: Vec<Vec<Place>>) -> Self {
        Self {
            name: "case".to_owned(),
            seed: 1,
            fabric,
            work,
            placements,
            routing: RoutingCase::default(),
            pace: Pace::Bundle,
            wire_share: 1.0,
            faults: Vec::new(),
            impairments: Vec::new(),
            rank_faults: Vec::new(),
            truths: Vec::new(),
            reaction: Reaction::default(),
            dual_tor: DualTor::default(),
            transport: Transport::default(),
            throughput: None,
            packets: PacketCase::default(),
            own: None,
            warnings: Vec::new(),
        }
    }

    /// Everything that faults of cables bring about in a replicate, in order of time. Replicates differ in what the
    /// reaction has as ranges.
    pub fn timeline(&self, replicate: u32) -> Vec<Moment> {
        timeline(&self.network(replicate), &self.faults)
    }

    /// When a cable carries nothing in a replicate, in order of time.
    pub fn darknesses(&self, replicate: u32, cable: CableId) -> Vec<Darkness> {
        darknesses(&self.network(replicate), cable, &self.faults)
    }

    fn network(&self, replicate: u32) -> FaultedNetwork<'_> {
        let seed = self.reaction_seed(replicate);
        FaultedNetwork { fabric: &self.fabric, reaction: &self.reaction, set: &self.dual_tor, seed }
    }

    fn reaction_seed(&self, replicate: u32) -> u64 {
        stream::mix(self.seed ^ (u64::from(replicate) << 32))
    }

    /// Bytes of data per second that a link carries in flows: its capacity, in the network without headers.
    pub fn data_rate(&self, link: LinkId) -> f64 {
        let share = if self.fabric.is_network(link) { self.wire_share } else { 1.0 };
        self.fabric.capacity(link).bytes_per_s() * share
    }

    /// Bytes that a link carries for `bytes` of data, headers and all.
    pub fn on_the_wire(&self, link: LinkId, bytes: f64) -> f64 {
        if self.fabric.is_network(link) { bytes / self.wire_share } else { bytes }
    }

    /// How the switch that sends over a link marks what waits for it; none where it does not, and for NICs.
    pub fn ecn(&self, link: LinkId) -> Option<Ecn> {
        let place = self.fabric.place(self.fabric.source(link))?;
        self.packets.tiers[usize::from(place.tier.clamp(1, 3)) - 1].ecn
    }

    /// What to say beside the results: notes of the plans, and behind those of the first job the case's own.
    pub fn all_warnings(&self) -> Vec<String> {
        let mut plans = self.work.jobs.iter().map(|job| &job.plan.notes);
        plans.next().into_iter().chain([&self.warnings]).chain(plans).flatten().cloned().collect()
    }
}
