//! Faults in time: what breaks, how the network reacts to it, and how queue pairs live through it.
//!
//! * [`outage`]: named things that fail, once or flapping, made into one life of every cable.
//! * [`impairment`]: links that carry less and ranks that come late or not at all.
//! * [`reaction`]: how long each stage of the network's reaction takes.
//! * [`transport`]: retransmissions and the death of queue pairs.
//! * [`timeline`]: all of it in order of time; [`Known`]: who has learnt of it; [`black_hole`]: paths where a segment is bridged.
//! * [`Aftermath`]: how an engine goes through it: who knows what, and when paths are planned again.
mod aftermath;
pub mod black_hole;
pub mod impairment;
mod known;
pub mod outage;
pub mod reaction;
pub mod timeline;
pub mod transport;

use railtwin_fabric::CableId;
use railtwin_units::SimTime;

pub use aftermath::{Aftermath, News};
pub use impairment::{Impairment, RankFault, RankTrouble};
pub use known::Known;
pub use outage::{Outage, events};
pub use reaction::{LacpRate, Reaction};
pub use timeline::{Change, Moment, View, timeline};
pub use transport::{Resume, TimedOut, Transport, Tries};

/// What becomes of a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CableState {
    /// It carries nothing in either direction, and its ports see no light.
    Down,
    /// It carries nothing in either direction, and its ports take it for up: only protocols that hear nothing tell.
    Silent,
    /// It is mended.
    Up,
}

/// One event in the life of a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fault {
    /// When.
    pub at: SimTime,
    /// Which cable.
    pub cable: CableId,
    /// What becomes of it.
    pub state: CableState,
}
