//! One fully resolved, immutable input, and the contract of an engine.
use std::sync::Arc;

use railtwin_control::Place;
pub use railtwin_control::controller::Replan;
use railtwin_fabric::{CableId, Fabric, LinkId};
use railtwin_records::Truth;
use railtwin_routing::EcmpConfig;
use railtwin_units::{SimTime, stream};

use crate::balancer::Balancer;
use crate::control_spec::ControlSpec;
use crate::fault::{
    Darkness, Fault, Impairment, Moment, RankFault, Reaction, Transport, darknesses, timeline,
};
use crate::graph::WorkGraph;
use crate::lower::Lowering;
use crate::own::Own;
use crate::packet::{Ecn, PacketCase};
use crate::routing_spec::RoutingSpec;
use crate::run_log::RunLog;

railtwin_units::choice! {
    /// How the messages of a connection are spread over its queue pairs.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Split {
        /// Evenly, whatever the queue pairs reach: the slowest decides.
        Static = "static",
        /// To the queue pair with the least outstanding bytes (HPN section 6.1): each carries what it can.
        Dynamic = "dynamic",
    }
}

railtwin_units::choice! {
    /// When a slot of a connection is free again under a dynamic split.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum SlotOrder {
        /// When its message and all before it are done: NCCL's proxy counts steps, oldest first (`transport/net.cc`).
        InOrder = "in-order",
        /// When its message is done.
        Any = "any",
    }
}

railtwin_units::choice! {
    /// How messages are posted to the queue pairs of a connection (QP scaling, Meta RoCE section 4.2.4).
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Posting {
        /// Whole messages, to one queue pair after the other.
        RoundRobin = "round-robin",
        /// A part of every message to each: as many acknowledgements for it as queue pairs.
        Split = "split",
    }
}

railtwin_units::choice! {
    /// What moves in lock step.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Pace {
        /// A channel of a ring, or one free exchange: every bundle finds its own rate.
        Bundle = "bundle",
        /// All communicators of a rank class that run the same operation. The operation ends with its slowest
        /// bundle either way; under a static split one that has the links to itself ends at the same time under both.
        Class = "class",
    }
}

/// Everything that decides paths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoutingCase {
    /// How source ports are chosen.
    pub balancer: Balancer,
    /// How switches choose; the seed is replaced in each replicate.
    pub ecmp: EcmpConfig,
    /// Queue pairs of a connection on each port of its NIC.
    pub queue_pairs: u32,
    /// How messages are spread over queue pairs.
    pub split: Split,
    /// Messages of a connection that are bound to queue pairs at a time under a dynamic split.
    pub slots: u32,
    /// When a slot is free again.
    pub slot_order: SlotOrder,
    /// How messages are posted to them.
    pub posting: Posting,
    /// Bytes of a message, each of whose parts is acknowledged; acknowledgements take nothing when none.
    pub message: Option<u64>,
    /// Whether ECMP groups keep the numbers of their members, so that only a dead member's flows move.
    pub resilient: bool,
    /// When planned paths are planned again.
    pub replan: Replan,
    /// Whether messages for another rail first cross NVLink to its GPU (NCCL's PXN).
    pub pxn: bool,
    /// How decisions of controllers take effect.
    pub control: ControlSpec,
}

impl Default for RoutingCase {
    /// What a scenario without `[routing]` has.
    fn default() -> Self {
        (&RoutingSpec::default()).into()
    }
}

/// Bytes on the wire of a RoCE v2 acknowledgement: Ethernet 14 and 4, IPv4 20, UDP 8, BTH 12, AETH 4, ICRC 4, and
/// preamble and gap 20.
const ACKNOWLEDGEMENT: f64 = 86.0;

impl RoutingCase {
    /// Bytes of acknowledgements for each byte of a connection of so many queue pairs.
    pub fn acknowledged(&self, queue_pairs: u32) -> f64 {
        let parts = if self.posting == Posting::Split { f64::from(queue_pairs) } else { 1.0 };
        self.message.map_or(0.0, |bytes| ACKNOWLEDGEMENT * parts / bytes.max(1) as f64)
    }

    /// Slots of a connection that become free in order; none where queue pairs do not wait for each other.
    pub fn slots_in_order(&self) -> Option<u32> {
        (self.is_dynamic() && self.order_of_slots() == SlotOrder::InOrder).then_some(self.slots.max(1))
    }

    /// When a slot is free again. A balancer that splits by itself does so packet by packet, below the steps of a
    /// collective library: nobody waits for another there.
    pub fn order_of_slots(&self) -> SlotOrder {
        if self.settles_by_itself() { SlotOrder::Any } else { self.slot_order }
    }

    /// Whether the balancer stands for what it comes to when all has settled: to each queue pair what it can carry. With
    /// feedback its hosts act in the run.
    pub fn settles_by_itself(&self) -> bool {
        self.balancer.is_dynamic() && self.control.feedback.is_none()
    }

    /// Whether a controller decides paths or shares, on hosts or for all of them.
    pub fn has_controller(&self) -> bool {
        self.balancer.has_controller() || self.repaths()
    }

    /// Whether hosts weigh queue pairs by their completion times: under a dynamic split each message finds its own.
    pub fn weighs(&self) -> bool {
        self.balancer == Balancer::C4p && self.control.feedback.is_some() && !self.is_dynamic()
    }

    /// Whether hosts move queue pairs whose packets are marked.
    pub fn repaths(&self) -> bool {
        self.balancer == Balancer::MultipathEcn && self.control.feedback.is_some()
    }

    /// Whether each queue pair carries what it can.
    pub fn is_dynamic(&self) -> bool {
        (self.split == Split::Dynamic || self.settles_by_itself()) && !self.balancer.is_spread()
    }
}

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
        timeline(&self.fabric, &self.faults, &self.reaction, self.reaction_seed(replicate))
    }

    /// When a cable carries nothing in a replicate, in order of time.
    pub fn darknesses(&self, replicate: u32, cable: CableId) -> Vec<Darkness> {
        let seed = self.reaction_seed(replicate);
        darknesses((&self.fabric, cable), &self.faults, &self.reaction, seed)
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

/// What runs a case. The same case and replicate give the same log, whatever runs beside it.
pub trait Engine: Sync {
    /// The name in scenarios.
    fn name(&self) -> &'static str;

    /// Runs replicate `replicate` of a case: the draw of hash seeds and queue-pair numbers.
    fn run(&self, case: &Case, replicate: u32) -> RunLog;

    /// The same, and the lowering that the run used, without delays of impairments; none where the engine keeps none.
    /// Paths that are asked for after the run need no second one.
    fn run_lowered<'a>(&self, case: &'a Case, replicate: u32) -> (RunLog, Option<Lowering<'a>>) {
        (self.run(case, replicate), None)
    }
}
