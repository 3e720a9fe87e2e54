//! Hangs from what ranks themselves wrote down when the job was given up: dumps of a flight recorder.
//!
//! * [`Dumps`]: what they hold, whatever wrote them.
//! * `numbers`: what the numbers of a communicator are known to be.
//! * `picture`: how far each rank is in each communicator, what it is in, and for whom that waits.
//! * `place`: where in the program each process is.
//! * `differ`: who calls another operation than the others.
//! * `proof`: who is proved to hold the others up, and whether the job is seen to stand still.
//! * `rest`: whether the ranks that nothing names are at rest.
//! * `graph`: ends of who waits for whom.
//! * [`findings_of_dumps`]: the answer; [`Lattice`]: a picture of it.
//!
//! A dump is a picture of one moment and does not tell which; dumps of two ranks may be of two moments. Two things follow. A
//! rank is named only by a proof; without one the answer is a set. And that the job stood still at that moment must be seen in
//! something else: an operation that ran out of its time, or dumps of which it is said that they are of a later time. Where
//! it is not, nobody is accused but a rank that lags far behind ranks at rest, in dumps as they are made when a job is given up:
//! ranks of a job that goes on are behind each other by as much as their dumps are apart.
mod differ;
mod graph;
mod lattice;
mod numbers;
mod picture;
mod place;
mod proof;
mod rest;
mod told;

use std::collections::{BTreeMap, BTreeSet};

pub use lattice::{Cell, CellState, Lattice, LatticeGroup, LatticeRank, OpenOperation};
pub use told::findings_of_dumps;

/// What an operation is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Work {
    /// A collective whose end at any rank shows that all ranks had begun it: all-reduce, all-gather, reduce-scatter, barrier.
    Whole,
    /// A collective that a rank may end while others have not begun it: all-to-all, whose parts may be empty; broadcast,
    /// reduce, gather, scatter, whose root sends or receives alone.
    Partial,
    /// Sends and receives, as ranks of the job with whom, and whether to them.
    Peers(BTreeSet<(u32, bool)>),
}

/// An operation of a dump.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DumpedOperation {
    /// Row of its communicator in [`Dumps::groups`].
    pub group: usize,
    /// Its number there; sends and receives have numbers of their own.
    pub sequence: u64,
    /// Its place in the order of the program of its rank.
    pub record: u64,
    /// What it is.
    pub work: Work,
    /// Its name, for people.
    pub name: String,
    /// What all ranks of the same operation must call alike, in words, where that is told: its name, and bytes and data
    /// type of one that takes as many from each.
    pub call: Option<String>,
    /// Whether its rank was seen to have begun it; none where that is not recorded.
    pub started: Option<bool>,
    /// Whether it has ended.
    pub completed: bool,
    /// Whether its rank gave it up.
    pub given_up: bool,
    /// When it was put on its stream, on the clock of its rank.
    pub created_ns: u64,
    /// The last time that its record has, on the same clock.
    pub last_ns: u64,
    /// After what time it is given up.
    pub timeout_ns: Option<u64>,
    /// Where in the program it was asked for.
    pub frame: Option<String>,
}

/// The dump of one rank.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RankDump {
    /// Rank in the job.
    pub rank: u32,
    /// What it recorded, in any order; perhaps only what has not ended, perhaps not all of it.
    pub operations: Vec<DumpedOperation>,
    /// Of communicators, by row, the numbers of the last operation enqueued and of the last one seen to have ended.
    pub status: BTreeMap<usize, (Option<u64>, Option<u64>)>,
    /// Whether it recorded everything since its first operation: what is not there never was.
    pub is_whole: bool,
    /// Whether there are numbers of all communicators in which it ever did something.
    pub counts_all: bool,
    /// Whether Gloo wrote it: what failed stands in it as ended, and sends and receives do not stand in it. So an end proves
    /// nothing of peers, and a rank with nothing pending may wait in a receive.
    pub of_gloo: bool,
}

/// A communicator.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DumpedGroup {
    /// Its name.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Its ranks in the job, in its own order.
    pub ranks: Vec<u32>,
}

/// All dumps of a job.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Dumps {
    /// Communicators of all dumps, each once.
    pub groups: Vec<DumpedGroup>,
    /// Dumps; a rank may have several, of different moments.
    pub dumps: Vec<RankDump>,
    /// Ranks whose dump is there and empty.
    pub empty: BTreeSet<u32>,
    /// Ranks of whose dump the last part cannot be read: nothing is concluded from it.
    pub unsure: BTreeSet<u32>,
    /// Said from outside: that an operation of the job ran out of its time, in the words of a log.
    pub timed_out: Option<String>,
    /// Said from outside: ranks whose logs end before an operation ran out of its time, where the others' tell of it.
    pub silent: BTreeSet<u32>,
    /// Said from outside: ranks of which the last dump was made at a later time than the others.
    pub again: BTreeSet<u32>,
    /// Whether other evidence of all ranks, logs without a timeout or a snapshot of RAS in which none is behind, shows no trouble.
    pub is_quiet: bool,
}

impl DumpedGroup {
    /// Its name for people.
    pub fn shown(&self) -> String {
        railtwin_records::seen::group_name(&self.name, &self.description)
    }
}
