//! Evidence from computation, steps, neighbors of ports and xpu_timer.
use super::seen;

seen! {
    /// Computation of ranks.
    ComputationSeen in "computation":
    StepComputation { steps: usize, is_apart: bool } ["times"] format!(
        "computation of a step over that of ranks that do the same in other replicas, {steps} steps{}",
        if *is_apart { ", its replica's other stages as fast as theirs" } else { "" }
    );
    ComputationCost {} [""]
        "share of the job's time that is gone when it computes as they do, replayed".to_owned();
    StepAlone { operation: String, steps: usize } ["times"] format!(
        "{operation} of a step over that of ranks that do the same in other replicas, {steps} steps, and ends later"
    );
    AloneCost { operation: String } [""] format!(
        "share of the job's time that is gone when its {operation} takes what theirs does, replayed"
    );
    KernelMean { ranks: usize } ["times"]
        format!("mean time of a kernel of computation beside that of {ranks} ranks");
}

seen! {
    /// Times of steps.
    StepSeen in "steps":
    Longer { from: u64, seen_at: u64, beside_others: bool } ["s"] format!(
        "steps take longer from step {from} on, told after step {seen_at}, beside {}",
        if *beside_others { "other runs of the job" } else { "the steps before" }
    );
    Drift { from: u64, to: u64 } ["s"]
        format!("drift: steps take longer little by little from step {from} to step {to}");
}

impl StepSeen {
    /// When steps became longer.
    pub fn when(&self) -> String {
        match self {
            Self::Longer { from, .. } => format!("from step {from} on"),
            Self::Drift { from, to } => format!("little by little from step {from} to step {to}"),
        }
    }
}

seen! {
    /// Neighbors of ports (LLDP).
    NeighborSeen in "neighbors":
    NotAsPlanned { port: String, hears: String, planned: String } ["cables"]
        format!("{port} hears {hears} where the plan has {planned}");
    NotAsPeers { port: String, hears: String, agree: usize, peers: usize, usual: String } ["cables"] format!(
        "{port} hears {hears} where that port of {agree} of {peers} hosts of its like hears {usual}"
    );
}

seen! {
    /// Flags of xpu_timer.
    XpuTimerSeen in "xpu_timer":
    HangFlags { job: String, ranks: usize } ["ranks"]
        format!("ranks of job {job} whose hang flag is up, of {ranks}");
}
