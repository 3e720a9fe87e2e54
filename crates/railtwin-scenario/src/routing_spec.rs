//! `[routing]`: how traffic finds its way.
use railtwin_routing::{Fields, HashFunction};
use railtwin_units::{Bytes, SimTime};
use serde::{Deserialize, Serialize};

/// How traffic finds its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoutingSpec {
    /// Who picks the path of a queue pair.
    pub balancer: Balancer,
    /// Hash function of the switches.
    #[serde(with = "hash_text")]
    pub hash: HashFunction,
    /// What the switches hash.
    #[serde(with = "fields_text")]
    pub fields: Fields,
    /// Which switches share a hash seed.
    pub seeds: Seeds,
    /// Queue pairs per NIC port of a connection.
    pub queue_pairs: u32,
    /// How a message is split over the queue pairs of its connection.
    pub split: Split,
    /// How messages are posted to the queue pairs.
    pub posting: Posting,
    /// Bytes of a message; acknowledgements take nothing when none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::exact::write_option")]
    pub message: Option<Bytes>,
    /// Whether ECMP groups keep their members' numbers, so that only a dead member's flows move.
    pub resilient: bool,
    /// When who planned paths plans again after a fault or a repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replan: Option<Replan>,
    /// Time from convergence to the new plan, or the period of plans.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::exact::write_option")]
    pub replan_time: Option<SimTime>,
    /// Whether core switches hash the port of arrival only (HPN section 7).
    pub core_per_port: bool,
    /// Whether a message for another rail first crosses NVLink to the GPU of that rail (NCCL's PXN).
    pub pxn: bool,
}

impl Default for RoutingSpec {
    fn default() -> Self {
        Self {
            balancer: Balancer::Ecmp,
            hash: HashFunction::Crc32,
            fields: Fields::FIVE_TUPLE,
            seeds: Seeds::PerSwitch,
            queue_pairs: 1,
            split: Split::Static,
            posting: Posting::RoundRobin,
            message: None,
            resilient: false,
            replan: None,
            replan_time: None,
            core_per_port: false,
            pxn: true,
        }
    }
}

impl RoutingSpec {
    /// When planned paths are planned again: as written, else as the balancer does it.
    pub fn replan(&self) -> railtwin_engine::Replan {
        use railtwin_engine::Replan as Plan;
        let time = self.replan_time.unwrap_or(SimTime::ZERO);
        match self.replan {
            Some(Replan::Never) => Plan::Never,
            Some(Replan::Every) => Plan::Every(self.replan_time.unwrap_or(PERIOD)),
            None if self.balancer == Balancer::Te => Plan::Every(self.replan_time.unwrap_or(PERIOD)),
            Some(Replan::Once) | None if time > SimTime::ZERO => Plan::After(time),
            Some(Replan::Once) | None => Plan::AtOnce,
        }
    }
}

/// How often traffic engineering plans (Meta RoCE section 4.3.1).
const PERIOD: SimTime = SimTime::from_ns(30_000_000_000);

/// How messages are posted to the queue pairs of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Posting {
    /// Whole messages, to one after the other.
    RoundRobin,
    /// A part of every message to each.
    Split,
}

/// When who planned paths plans again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replan {
    /// Never: switches route around what is dead.
    Never,
    /// Once for each change, `replan_time` after routes have converged.
    Once,
    /// At whole multiples of `replan_time`.
    Every,
}

/// Who picks the path of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Balancer {
    /// The switches, by hash.
    Ecmp,
    /// The switches, by hash with the destination queue pair in it (Meta RoCE section 4.2.2).
    EEcmp,
    /// The leaves, by the destination's slice (Meta RoCE section 4.1.2).
    Pinned,
    /// The leaves, by load when a queue pair starts (Meta RoCE section 4.5).
    Flowlet,
    /// The switches, packet by packet in turn.
    Spray,
    /// The switches, packet by packet to the least loaded link.
    Adaptive,
    /// The switches, by destination modulo links.
    DModK,
    /// The leaves, by entries of a central controller (Meta RoCE section 4.3).
    Te,
    /// The host, by source ports at random and to each path what it carries.
    MultipathEcn,
    /// The host, by source ports that give disjoint paths (HPN section 6.2).
    Disjoint,
    /// A controller of all jobs, by source ports that reach the least used paths (C4 section III-B).
    C4p,
}

impl Balancer {
    /// All of them, in the order of [`Self::NAMES`].
    pub const ALL: [Self; 11] = [
        Self::Ecmp,
        Self::EEcmp,
        Self::Pinned,
        Self::Flowlet,
        Self::Spray,
        Self::Adaptive,
        Self::DModK,
        Self::Te,
        Self::MultipathEcn,
        Self::Disjoint,
        Self::C4p,
    ];
    /// The names in scenarios.
    pub const NAMES: [&'static str; 11] = [
        "ecmp",
        "e-ecmp",
        "pinned",
        "flowlet",
        "spray",
        "adaptive",
        "d-mod-k",
        "te",
        "multipath-ecn",
        "disjoint",
        "c4p",
    ];
}

impl From<Balancer> for railtwin_engine::Balancer {
    fn from(balancer: Balancer) -> Self {
        match balancer {
            Balancer::Ecmp => Self::Ecmp,
            Balancer::EEcmp => Self::EEcmp,
            Balancer::Pinned => Self::Pinned,
            Balancer::Flowlet => Self::Flowlet,
            Balancer::Spray => Self::Spray,
            Balancer::Adaptive => Self::Adaptive,
            Balancer::DModK => Self::DModK,
            Balancer::MultipathEcn => Self::MultipathEcn,
            Balancer::Te => Self::Te,
            Balancer::Disjoint => Self::Disjoint,
            Balancer::C4p => Self::C4p,
        }
    }
}

/// Which switches share a hash seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seeds {
    /// All: the fabric polarises.
    Shared,
    /// Those of one tier.
    PerTier,
    /// None.
    PerSwitch,
}

/// How a message is split over queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Equal parts: the slowest queue pair decides.
    Static,
    /// To the queue pair with the least outstanding bytes.
    Dynamic,
}

mod hash_text {
    use railtwin_routing::HashFunction;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(hash: &HashFunction, output: S) -> Result<S::Ok, S::Error> {
        output.serialize_str(hash.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<HashFunction, D::Error> {
        String::deserialize(input)?.parse().map_err(D::Error::custom)
    }
}

mod fields_text {
    use railtwin_routing::Fields;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(fields: &Fields, output: S) -> Result<S::Ok, S::Error> {
        output.collect_seq(fields.to_string().split(','))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Fields, D::Error> {
        let names = Vec::<String>::deserialize(input)?;
        Fields::from_names(names.iter().map(String::as_str)).map_err(D::Error::custom)
    }
}
