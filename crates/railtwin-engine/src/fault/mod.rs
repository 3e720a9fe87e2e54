//! Faults in time: what breaks, how the network reacts to it, and how queue pairs live through it.
//!
//! * [`outage`]: named things that fail, once or flapping, made into one life of every cable.
//! * [`impairment`]: links that carry less and ranks that come late or not at all.
//! * [`reaction`]: how long each stage of the network's reaction takes.
//! * [`transport`]: retransmissions and the death of queue pairs.
//! * [`timeline`]: all of it in order of time; [`Known`]: who has learnt of it; [`black_hole`]: paths where a segment is bridged.
//! * [`Aftermath`]: how an engine goes through it: who knows what, and when paths are planned again.
mod access;
mod aftermath;
pub mod black_hole;
pub mod impairment;
mod known;
mod moments;
pub mod outage;
pub mod reaction;
pub mod timeline;
pub mod transport;
mod trunk;

use railtwin_fabric::{CableId, LinkId};
use railtwin_units::SimTime;

pub use aftermath::Aftermath;
pub use impairment::{Impairment, RankFault, RankTrouble};
pub use known::Known;
pub use moments::{Change, FaultedNetwork, Moment, View};
pub use outage::{LostControl, Outage, events, events_of};
pub use railtwin_routing::protocol::lacp::LacpRate;
pub use reaction::Reaction;
pub use timeline::{Darkness, darknesses, timeline};
pub use transport::{Resume, TimedOut, Transport, Tries};

/// Which of the two links of a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ways {
    /// [`CableId::forward`].
    Forward,
    /// [`CableId::backward`].
    Backward,
    /// Both.
    Both,
}

impl Ways {
    /// Whether a link of the cable is one of them.
    pub fn has(self, link: LinkId) -> bool {
        match self {
            Self::Forward => link == link.cable().forward(),
            Self::Backward => link == link.cable().backward(),
            Self::Both => true,
        }
    }

    /// These links of a cable.
    pub fn links(self, cable: CableId) -> impl Iterator<Item = LinkId> {
        [cable.forward(), cable.backward()].into_iter().filter(move |&link| self.has(link))
    }
}

/// What becomes of a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CableState {
    /// It carries nothing in either direction, and its ports see no light.
    Down,
    /// These of its links carry nothing, and its ports take it for up: only protocols that hear nothing tell.
    Silent(Ways),
    /// The software of the switch that sends into these of its links died: it has no routes, so they carry nothing, and
    /// its ports stay up.
    Headless(Ways),
    /// These of its links carry all but LACPDUs.
    Mute(Ways),
    /// It is mended.
    Up,
}

impl CableState {
    /// Whether a link of the cable carries nothing.
    pub fn takes(self, link: LinkId) -> bool {
        match self {
            Self::Down => true,
            Self::Silent(ways) | Self::Headless(ways) => ways.has(link),
            Self::Mute(_) | Self::Up => false,
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
    /// What becomes of it.
    pub state: CableState,
}
