//! Evidence from operations and messages.
use serde::Serialize;

use super::{listed, seen};

/// Ranks that a sentence about operations lists.
const RANKS: usize = 8;

/// A rank in a communicator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RankPlace {
    /// The rank: `job/rank`.
    pub rank: String,
    /// The axis of the communicator, such as DP.
    pub axis: String,
    /// The communicator.
    pub communicator: String,
}

impl RankPlace {
    fn words(&self) -> String {
        format!("{} in the {} communicator {}", self.rank, self.axis, self.communicator)
    }
}

fn ranks_words(ranks: &[String]) -> String {
    debug_assert_eq!(RANKS, super::LISTED);
    listed(ranks, |_| "…".to_owned())
}

seen! {
    /// Collective operations.
    OperationSeen in "operations":
    OwnTime { place: RankPlace } ["us"]
        format!("own time before an operation, {}, mean of the last windows", place.words());
    LeastExcess { place: RankPlace } ["us"] format!("least excess that is no chance, {}", place.words());
    StallInterval { place: RankPlace } ["operations"] format!("operations from stall to stall, {}", place.words());
    LastToCome { axis: String, communicator: String } ["us"]
        format!("duration of the last rank to come, {axis} communicator {communicator}");
    SlowCommunicators {} ["communicators"] "communicators that are slow by the same cause".to_owned();
    SoundCommunicators {} ["communicators"] "communicators of the job that are not slow".to_owned();
    KernelTime {} ["us"] "mean kernel time of the rank beside that of all".to_owned();
    JobWide { job: String, measure: &'static str } ["us"] format!("{measure} of job {job}");
    OtherBytes { ranks: usize, others: usize, sequence: u64, communicator: String } ["B"] format!(
        "bytes that {ranks} of the ranks heard so far bring to operation {sequence} of communicator {communicator}, beside \
         those of {others}"
    );
    SinceLast { job: String } ["ns"] format!("time since an operation of job {job} ended");
    Stalled { sequence: u64, communicator: String, axis: String, communicators: usize } ["s"] format!(
        "time for which operation {sequence} of communicator {communicator} ({axis}) has not moved; \
         {communicators} communicators stand still, this one waits for none of them"
    );
    OtherCall { ranks: Vec<String> } ["ranks"]
        format!("ranks that hand in other bytes or another kind: {}", ranks_words(ranks));
    NotEntered { ranks: Vec<String> } ["ranks"]
        format!("ranks that have not entered it and wait in no other: {}", ranks_words(ranks));
    DurationShare { communicator: String, operations: usize } [""] format!(
        "time within operations of communicator {communicator} as a share of the peers', median of {operations}"
    );
    GroupCost { group: String, stages: Vec<u32> } [""]
        format!("share of the job's time that {} costs, replayed", of_group(group, stages));
    GroupTimes { group: String, stages: Vec<u32> } ["times"]
        format!("{} over that of other groups, from when the last rank has come", of_group(group, stages));
    TransferTimes { ranks: [u32; 2] } ["times"] format!(
        "transfers between ranks {} and {} over those of the same stages in other replicas",
        ranks[0], ranks[1]
    );
    TransferCost {} [""] "share of the job's time that is gone when they take as long as those, replayed".to_owned();
}

fn of_group(kind: &str, stages: &[u32]) -> String {
    let stages: Vec<String> = stages.iter().map(u32::to_string).collect();
    format!("{kind} of these ranks (pipeline stage {})", stages.join(", "))
}

seen! {
    /// Messages of collectives.
    MessageSeen in "messages":
    Wait { place: RankPlace, is_root: bool } ["us"] format!(
        "wait of {}; {}",
        place.words(),
        if *is_root { "the least, and its successor waits first" } else { "its peers'" }
    );
    TimePerByte { pair: String, look: String } ["times"]
        format!("time per byte over that of queue pairs alike, {pair}, the worst of a {look}");
    SlowQueuePairs {} ["queue pairs"] "slow queue pairs that cross the suspect".to_owned();
    FastQueuePairs {} ["queue pairs"] "fast queue pairs that cross it all the same".to_owned();
    FastOneWay { direction: String } ["queue pairs"] format!("fast queue pairs that cross the suspect {direction}");
    FairShares { queue_pairs: usize } ["times"]
        format!("time per byte that fair shares explain, with {queue_pairs} queue pairs on the link");
    FewestMessages {} ["messages"]
        "messages that went over the connection with the fewest in this operation".to_owned();
}
