//! `[routing]`: how traffic finds its way.
use railtwin_routing::{Fields, HashFunction};
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
            core_per_port: false,
            pxn: true,
        }
    }
}

/// Who picks the path of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Balancer {
    /// The switches, by hash.
    Ecmp,
    /// The host, by source ports that give disjoint paths (HPN section 6.2).
    Disjoint,
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
