//! `[routing]`: how traffic finds its way.
use railtwin_routing::{EcmpConfig, Fields, HashFunction, HashSpec, Seeds};
use railtwin_units::keys::whole;
use railtwin_units::{Bytes, SimTime};

use crate::balancer::{Balancer, TE_PERIOD};
use crate::control_spec::ControlSpec;
use crate::routing_case::{Posting, RoutingCase, SlotOrder, Split};

railtwin_units::section! {
    /// How traffic finds its way.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RoutingSpec "[routing]" {
        /// Who picks the path of a queue pair.
        pub balancer: Balancer = Balancer::Ecmp,
        /// Hash function of the switches.
        pub hash: HashFunction = HashFunction::Crc32,
        /// What the switches hash.
        pub fields: Fields = Fields::FIVE_TUPLE,
        /// Which switches share a hash seed.
        pub seeds: Seeds = Seeds::PerSwitch,
        /// Queue pairs per NIC port of a connection.
        pub queue_pairs: u32 [whole(1..=1024)] = 1,
        /// How a message is split over the queue pairs of its connection.
        pub split: Split = Split::Static,
        /// Messages of a connection bound to queue pairs at a time, under a dynamic split: NCCL_STEPS, 8, for each of
        /// the two channels that NCCL opens on a NIC at least.
        #[key(sparse)]
        pub slots: u32 [whole(1..=65_536)] = 16,
        /// When a slot is free again: when its message and all before it are done, or when its message is.
        #[key(sparse)]
        pub slot_order: SlotOrder = SlotOrder::InOrder,
        /// How messages are posted to queue pairs: whole in turn, or in parts to all.
        pub posting: Posting = Posting::RoundRobin,
        /// Bytes of a message, whose parts are each acknowledged; default no acknowledgements.
        pub message: Option<Bytes> = None,
        /// Whether ECMP groups keep their members' numbers, so that only a dead member's flows move.
        pub resilient: bool = false,
        /// When planned paths are planned again after a fault; default once, for te every.
        pub replan: Option<Replan> = None,
        /// Time from convergence to the new plan, or the period of plans (default 30 s).
        pub replan_time: Option<SimTime> = None,
        /// Whether core switches hash the port of arrival only (HPN section 7).
        pub core_per_port: bool = false,
        /// Whether a message for another rail first crosses NVLink to the job's GPU on that rail (NCCL's PXN); what no
        /// switches join then is refused where there is no such GPU.
        pub pxn: bool = true,
    }
}

impl RoutingSpec {
    /// When planned paths are planned again: as written, else as the balancer does it.
    pub fn replan(&self) -> railtwin_control::controller::Replan {
        use railtwin_control::controller::Replan as Plan;
        let time = self.replan_time.unwrap_or(SimTime::ZERO);
        match self.replan {
            Some(Replan::Never) => Plan::Never,
            Some(Replan::Every) => Plan::Every(self.replan_time.unwrap_or(TE_PERIOD)),
            None if let Some(period) = self.balancer.properties().plans_every => {
                Plan::Every(self.replan_time.unwrap_or(period))
            }
            Some(Replan::Once) | None if time > SimTime::ZERO => Plan::After(time),
            Some(Replan::Once) | None => Plan::AtOnce,
        }
    }
}

impl From<&RoutingSpec> for RoutingCase {
    fn from(spec: &RoutingSpec) -> Self {
        let hash = HashSpec::new(spec.hash).with_fields(spec.fields);
        let ecmp = EcmpConfig::new(hash, spec.seeds);
        Self {
            balancer: spec.balancer,
            ecmp: if spec.core_per_port { ecmp.with_core_per_port() } else { ecmp },
            queue_pairs: spec.queue_pairs,
            split: spec.split,
            slots: spec.slots,
            slot_order: spec.slot_order,
            posting: spec.posting,
            message: spec.message.map(|bytes| bytes.0),
            resilient: spec.resilient,
            replan: spec.replan(),
            pxn: spec.pxn,
            control: ControlSpec::default(),
        }
    }
}

railtwin_units::choice! {
    /// When who planned paths plans again.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Replan {
        /// Never: switches route around what is dead.
        Never = "never",
        /// Once for each change, `replan_time` after routes have converged.
        Once = "once",
        /// At whole multiples of `replan_time`.
        Every = "every",
    }
}

impl Default for RoutingCase {
    /// What a scenario without `[routing]` has.
    fn default() -> Self {
        (&RoutingSpec::default()).into()
    }
}
