//! The smallest thing that a finding can point at.

/// The smallest thing that a finding can point at. Names are those of the fabric, where there is one, and those of
/// the telemetry elsewhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Component {
    /// A process of a job: `job/rank`.
    Rank(String),
    /// A GPU such as `host-3/gpu-1`.
    Gpu(String),
    /// A host, when nothing in it can be told apart.
    Host(String),
    /// A NIC such as `host-3/nic-1`.
    Nic(String),
    /// A cable with the ports at its ends, by the fabric's name of it.
    Cable(String),
    /// One direction of a cable: `from > to`, devices or ports.
    Link(String),
    /// A leaf, spine or core.
    Switch(String),
    /// All NICs with the same place in their hosts, and the leaves that serve them, by what tells the place: a PCI address.
    Rail(String),
    /// A leaf that no fabric names, by its rail and the hosts that it serves: `0000:9d:00 of host-1, host-2`.
    Leaf(String),
    /// The connection between two NICs where its path is not known: `source > target`.
    Connection(String),
    /// Storage as a whole.
    Storage,
    /// The job's own code, by job name.
    Job(String),
}

impl Component {
    /// The word for its kind in tables.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Rank(_) => "rank",
            Self::Gpu(_) => "gpu",
            Self::Host(_) => "host",
            Self::Nic(_) => "nic",
            Self::Cable(_) => "cable",
            Self::Link(_) => "link",
            Self::Switch(_) => "switch",
            Self::Rail(_) => "rail",
            Self::Leaf(_) => "leaf",
            Self::Connection(_) => "connection",
            Self::Storage => "storage",
            Self::Job(_) => "job",
        }
    }

    /// The component of a kind, as [`Self::kind`] gives it, and a name.
    pub fn named(kind: &str, name: &str) -> Option<Self> {
        let name = name.to_owned();
        Some(match kind {
            "rank" => Self::Rank(name),
            "gpu" => Self::Gpu(name),
            "host" => Self::Host(name),
            "nic" => Self::Nic(name),
            "cable" => Self::Cable(name),
            "link" => Self::Link(name),
            "switch" => Self::Switch(name),
            "rail" => Self::Rail(name),
            "leaf" => Self::Leaf(name),
            "connection" => Self::Connection(name),
            "storage" => Self::Storage,
            "job" => Self::Job(name),
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Rank(name)
            | Self::Gpu(name)
            | Self::Host(name)
            | Self::Nic(name)
            | Self::Cable(name)
            | Self::Link(name)
            | Self::Switch(name)
            | Self::Rail(name)
            | Self::Leaf(name)
            | Self::Connection(name)
            | Self::Job(name) => name,
            Self::Storage => "storage",
        }
    }
}
