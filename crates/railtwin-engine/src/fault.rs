//! Faults in time: cables that go down and come back while a run goes on.
use railtwin_fabric::CableId;
use railtwin_units::SimTime;

/// What happens to a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FaultKind {
    /// It carries nothing in either direction.
    Down,
    /// It carries again.
    Up,
}

impl FaultKind {
    /// The name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// One event in the life of a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fault {
    /// When.
    pub at: SimTime,
    /// Which cable.
    pub cable: CableId,
    /// What.
    pub kind: FaultKind,
}
