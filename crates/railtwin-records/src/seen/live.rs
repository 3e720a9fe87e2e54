//! Evidence from live records of ranks: heartbeats, connections, pings, phases of steps.
use serde::Serialize;

use super::{cut_list, seen};

/// A phase of a step that a rank spends alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LivePhase {
    /// Loading the input.
    Data,
    /// Computing.
    Compute,
}

impl LivePhase {
    /// The word for it in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Data => "loading of data",
            Self::Compute => "computation",
        }
    }
}

seen! {
    /// Live records of ranks.
    LiveSeen in "live":
    HeartbeatsCeased { rank: u32 } ["s"]
        format!("without a record of rank {rank}, while heartbeats of the others go on");
    ProcessState { rank: u32, state: String } [""] format!("process of rank {rank} in state {state}");
    FoundClosed { rank: u32, by: Vec<u32> } ["connections"] format!(
        "connections to rank {rank} found closed by ranks {}, while rank {rank} reports none",
        cut_list(by)
    );
    PingsLost { rank: u32 } [""] format!("share of pairs with rank {rank} whose newest pings are all lost");
    OtherPingsLost { rank: u32 } [""]
        format!("share of pairs without rank {rank} whose newest pings are all lost");
    TimerBackedOff { from: u32, to: u32 } ["times"]
        format!("retransmission timer from rank {from} to rank {to} doubled, packets unacknowledged");
    PhaseLonger { rank: u32, phase: LivePhase, steps: usize } ["ms"] format!(
        "least {} of rank {rank} in {steps} steps, beside the median of the others",
        phase.words()
    );
    CarriedLess { from: u32, to: u32 } ["MB/s"]
        format!("carried from rank {from} to rank {to} while something waited to be sent, beside its own past");
    OthersCarried { from: u32, to: u32 } ["MB/s"]
        format!("carried from rank {from} to rank {to} while something waited to be sent, beside the others");
    PingsSlow { rank: u32 } ["us"]
        format!("lower quartile of pings to and from rank {rank}, beside that of the others");
    Resent { from: u32, to: u32, heartbeats: usize } ["packets"] format!(
        "resent from rank {from} to rank {to} less those that arrived twice, in {heartbeats} heartbeats; others: median"
    );
    PingsLostBeside { rank: u32, other: u32 } ["pings"]
        format!("lost between rank {rank} and ranks other than {other}");
    NotEntered { rank: u32, operation: u64 } ["ranks"]
        format!("rank {rank} is within no operation and has not entered {operation}, which others have");
    SentNotReceived { from: u32, to: u32, operation: u64 } ["stages"]
        format!("sent by rank {from} and not received by rank {to} in operation {operation}");
    StoodStill {} ["s"] "without progress of any rank".to_owned();
    HeartbeatsLate { ranks: usize } ["s"]
        format!("longest gap between heartbeats, median of {ranks} ranks: the observer's timer fires late");
    ObserverStalled { rank: u32 } [""]
        format!("share of time that the observer of rank {rank} waited for a processor");
    WentOnWithout { rank: u32, operation: u64 } ["ranks"] format!(
        "others ended operation {operation}, which no record of rank {rank} has: its records are missing, not the rank"
    );
}
