//! Everything that decides paths and what moves in lock step, resolved.
use railtwin_control::controller::Replan;
use railtwin_routing::EcmpConfig;

use crate::balancer::Balancer;
use crate::control_spec::ControlSpec;

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
