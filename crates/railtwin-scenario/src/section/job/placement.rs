//! Where the ranks of a job go.
use railtwin_units::keys::{Keyed, Kind, Table, key, whole};
use serde::{Deserialize, Serialize};

use super::MOST_GPUS;

/// Where the ranks of a job go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Onto the first free hosts, segment by segment.
    #[default]
    Packed,
    /// Round robin over the segments.
    Spread,
    /// Onto free hosts drawn from the scenario's seed.
    Random,
    /// Onto the fewest segments, of which a job that one holds gets the tightest.
    SegmentFirst,
    /// As segment-first, but a job that no pod holds is cut between pipeline stages alone.
    PpAcrossPods,
    /// Onto these hosts, by number, in this order.
    Hosts(Vec<u32>),
    /// As near as can be to these hosts, by number: in their segments first, then in their pods.
    Near(Vec<u32>),
}

pub(crate) static HOST_NUMBER: Kind = whole(0..=MOST_GPUS);
pub(super) static GPU_NUMBER: Kind = whole(0..=1023);

static HOST_LIST: Table = Table {
    title: "`placement`",
    keys: &[
        key("hosts", Kind::List(&HOST_NUMBER), "Host numbers, in the order of the ranks."),
        key(
            "near",
            Kind::List(&HOST_NUMBER),
            "Host numbers near which free hosts are taken: in their segments first, then in their pods.",
        ),
    ],
    exactly_one: &["hosts", "near"],
    ..Table::EMPTY
};

impl Placement {
    /// Those that are one word.
    pub const NAMES: &'static [&'static str] =
        &["packed", "spread", "random", "segment-first", "pp-across-pods"];

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "packed" => Self::Packed,
            "spread" => Self::Spread,
            "random" => Self::Random,
            "segment-first" => Self::SegmentFirst,
            "pp-across-pods" => Self::PpAcrossPods,
            _ => return None,
        })
    }
}

impl Keyed for Placement {
    const KIND: Kind = Kind::ChoiceOrValue(Self::NAMES, &HOST_LIST, "{ hosts = [0, 1] }");

    fn shown(&self) -> Option<String> {
        let name = match self {
            Self::Packed => "packed",
            Self::Spread => "spread",
            Self::Random => "random",
            Self::SegmentFirst => "segment-first",
            Self::PpAcrossPods => "pp-across-pods",
            Self::Hosts(_) | Self::Near(_) => return None,
        };
        Some(name.to_owned())
    }
}
