//! Evidence from dumps of a Flight Recorder, and from a watchdog's lines that say the same.
use serde::Serialize;

use super::{counted_list, seen};

/// The name of a process group for people: its description, where it has one, and its number.
pub fn group_name(name: &str, description: &str) -> String {
    match description {
        "" | "undefined" => format!("communicator {name}"),
        description => format!("{description} {name}"),
    }
}

/// An operation of a process group, as a dump has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DumpedCall {
    /// The operation, such as all-reduce.
    pub operation: String,
    /// The name of the process group.
    pub group: String,
    /// Its description; empty where there is none.
    pub description: String,
    /// The number of the operation in the group.
    pub sequence: u64,
    /// The source line that asked for it.
    pub frame: Option<String>,
}

impl DumpedCall {
    /// The name of its group for people.
    pub fn group_name(&self) -> String {
        group_name(&self.group, &self.description)
    }

    fn words(&self) -> String {
        format!("{} of {}", self.operation, self.group_name())
    }

    fn frame(&self, before: &str) -> String {
        self.frame.as_ref().map_or(String::new(), |frame| format!("{before}{frame}"))
    }
}

/// The state that ranks of a set share.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RankState {
    /// They call different operations under one number.
    CallDifferently {
        /// The operation of the first of them.
        call: DumpedCall,
        /// Each call with its ranks, in words.
        calls: String,
    },
    /// Each waits for another of them.
    Cycle,
    /// The operation is on their streams and has not begun there.
    NotBegun,
    /// They are within operations that all their ranks have come to.
    Within,
    /// Nothing is pending.
    NothingPending,
    /// No dump, and the log ends early.
    Gone,
    /// No dump that tells their state.
    NoUsefulDump,
    /// No dump.
    NoDump,
    /// They are within operations to which all ranks with log lines have come.
    WithinHeard,
    /// They wait for nobody of whom a line tells.
    WaitForUnheard,
    /// No line says that they wait.
    NotSaidToWait,
    /// They say nothing; only their numbers in a group are known.
    Nameless {
        /// The group.
        group: String,
    },
}

impl RankState {
    fn words(&self) -> String {
        match self {
            Self::CallDifferently { call, calls } => {
                return format!(
                    "ranks that call different operations as number {} of {} ({calls})",
                    call.sequence,
                    call.group_name()
                );
            }
            Self::Cycle => "ranks that wait for each other in a circle: each is in what another of them has not come to",
            Self::NotBegun => "ranks that have put on their streams what the others have begun, and have not begun it",
            Self::Within => "ranks within operations that all of their ranks have come to, for which the others wait",
            Self::NothingPending => {
                "ranks with nothing pending, for which the others wait; whether they came is not recorded"
            }
            Self::Gone => {
                "ranks without a dump, for which others wait, and whose logs end before an operation ran out of its time"
            }
            Self::NoUsefulDump => "ranks without a dump that tells where they stand, for which others wait",
            Self::NoDump => "ranks without a dump, for which others wait",
            Self::WithinHeard => {
                "ranks for which the others wait, within operations to which all have come of whom there are lines"
            }
            Self::WaitForUnheard => {
                "ranks that wait, for nobody of whom a line tells; how many ranks their groups have, or with whom they send \
                 and receive, no line tells"
            }
            Self::NotSaidToWait => {
                "ranks of which no line tells that they wait; whether they are of these groups is not told"
            }
            Self::Nameless { group } => {
                return format!(
                    "ranks of {group} that say nothing, and of which nothing tells which of the job they are, by their \
                     numbers in it"
                );
            }
        }
        .to_owned()
    }
}

seen! {
    /// Dumps of a Flight Recorder.
    DumpSeen in "dumps":
    Holds { rank: u32, call: DumpedCall, peer: u32, ended: u64 } ["operation"] format!(
        "rank {rank} holds {} pending, and rank {peer} reports operation {ended} of the same communicator as \
         ended, which nobody ends before rank {rank} is through",
        call.words()
    );
    NeverBegan { rank: u32, call: DumpedCall, peer: u32 } ["operation"] format!(
        "rank {rank} has nothing pending and never began {}, in which rank {peer} waits{}",
        call.words(),
        call.frame(" at ")
    );
    CallsOther { rank: u32, call: DumpedCall, calls: String, others: usize, others_call: String } ["ranks"] format!(
        "rank {rank} calls {calls} as operation {} of {}{}, and {others} others {others_call}",
        call.sequence,
        call.group_name(),
        call.frame(" at ")
    );
    NotBegun { rank: u32, call: DumpedCall, others: usize } ["ranks"] format!(
        "rank {rank} has not begun {}, which all others have{}",
        call.words(),
        call.frame(", asked for at ")
    );
    Ranks { state: RankState, ranks: Vec<u32> } ["ranks"] format!("{}: {}", state.words(), counted_list(ranks));
    Waiting { ranks: usize, communicators: usize } ["ranks"]
        format!("ranks that are within an operation, of {ranks} in {communicators} communicators");
    Unknown { ranks: Vec<u32> } ["ranks"] format!("ranks of whose dump nothing can be said: {}", counted_list(ranks));
}

impl DumpSeen {
    /// Ranks that it names.
    pub fn ranks(&self) -> Vec<u32> {
        match self {
            Self::Holds { rank, peer, .. } | Self::NeverBegan { rank, peer, .. } => vec![*rank, *peer],
            Self::CallsOther { rank, .. } | Self::NotBegun { rank, .. } => vec![*rank],
            Self::Ranks { ranks, .. } | Self::Unknown { ranks } => ranks.clone(),
            Self::Waiting { .. } => Vec::new(),
        }
    }

    /// The operation that it is about.
    pub const fn call(&self) -> Option<&DumpedCall> {
        match self {
            Self::Holds { call, .. }
            | Self::NeverBegan { call, .. }
            | Self::CallsOther { call, .. }
            | Self::NotBegun { call, .. }
            | Self::Ranks { state: RankState::CallDifferently { call, .. }, .. } => Some(call),
            _ => None,
        }
    }
}
