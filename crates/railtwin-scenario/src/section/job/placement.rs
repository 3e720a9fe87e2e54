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
    /// Onto these hosts, by number, in this order.
    Hosts(Vec<u32>),
}

static HOST_NUMBER: Kind = whole(0..=MOST_GPUS);

static HOST_LIST: Table = Table {
    title: "`placement`",
    keys: &[key("hosts", Kind::List(&HOST_NUMBER), "Host numbers, in the order of the ranks.").required()],
    ..Table::EMPTY
};

impl Keyed for Placement {
    const KIND: Kind = Kind::ChoiceOrValue(&["packed", "spread", "random"], &HOST_LIST, "{ hosts = [0, 1] }");

    fn shown(&self) -> Option<String> {
        let name = match self {
            Self::Packed => "packed",
            Self::Spread => "spread",
            Self::Random => "random",
            Self::Hosts(_) => return None,
        };
        Some(name.to_owned())
    }
}
