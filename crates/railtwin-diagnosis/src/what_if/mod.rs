//! What a slow job would take if operations took what they ideally take, and who is to blame for the difference.
//!
//! A trace that holds all operations of a job's steps also holds their order: what each waited for ([`Graph`]). The
//! graph is replayed with other durations ([`Graph::replay`]): all as recorded, all ideal, or only some of them
//! ([`what_if`]). What costs the job time and belongs to one component is told by [`blame`]: a rank that computes slower
//! than its peers or is longer at its optimizer, a pair of ranks whose transfers take longer. Groups whose collectives
//! take longer are told as the sets that they are ([`slow_groups`]). What belongs to none is told as what it is: stages of
//! unlike weight, uneven sequences, pauses, single steps that took longer.
//!
//! After Lin et al., "Understanding stragglers in large model training using what-if analysis" (OSDI '25); the graph
//! and the rules of blame are our own. Layouts and limits: `docs/models/what-if.md`.
mod alone;
mod blame;
mod causes;
mod graph;
mod long_steps;
mod network;
mod split;
mod steady;

pub use alone::SlowAlone;
pub use blame::{Blame, SlowPair, SlowRank, blame};
pub use causes::{HeavyStage, Lengths, Pauses};
pub use graph::Graph;
pub use long_steps::LongStep;
pub use network::{SlowGroup, communication_cost, slow_groups};
pub use split::{IDEALS, Part, StepTimes, WhatIf, slowdown, what_if};
pub use steady::belief;

/// Which way computation and activations go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// From the first part of the model to the last.
    Forward,
    /// Back.
    Backward,
}

/// What an operation is to the others of its rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Computation of one microbatch by one part of the model.
    Compute(Way),
    /// Hands activations or gradients on.
    Send(Way),
    /// Takes them.
    Receive(Way),
    /// Ends for all ranks of its group when the last has come and the transfer is done.
    Collective,
    /// Anything else that a rank does by itself.
    Alone,
    /// No work at all: the process collects garbage.
    Pause,
}

/// One operation of one rank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Operation {
    /// Rank in the job.
    pub rank: u32,
    /// Data-parallel replica of the rank.
    pub replica: u32,
    /// Pipeline stage of the rank.
    pub stage: u32,
    /// Place among the ranks that share replica and stage.
    pub place: u32,
    /// Part of the model that it works on: the stage, or one of several parts of a stage.
    pub chunk: u32,
    /// Step of training.
    pub step: u64,
    /// Row of [`Work::kinds`]. What is sent and what is received of it are one kind.
    pub kind: u32,
    /// What it is.
    pub role: Role,
    /// Who takes part: operations with the same step, group, kind and number are one.
    pub group: Option<u32>,
    /// Number among those of its kind, rank and step.
    pub number: u64,
    /// Start, in nanoseconds on a clock of the whole job.
    pub start_ns: u64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
}

impl Operation {
    /// When it ended, in nanoseconds.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// All that the ranks of a job did in some of its steps.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Work {
    /// Names of kinds.
    pub kinds: Vec<String>,
    /// Operations, in any order.
    pub operations: Vec<Operation>,
}
