//! `[[job]]`: what runs, how large it is, where it is placed, when it starts.
pub(crate) mod experts;
mod htsim;
mod memory;
pub(crate) mod placement;
pub(crate) mod placing;
pub(crate) mod remarks;
pub(crate) mod resolve;
pub(crate) mod rules;
pub(crate) mod size;
mod traffic;

use railtwin_control::RankOrder;
use railtwin_engine::PRIORITY_MAX;
use railtwin_units::keys::{Kind, whole};
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::{Algorithm, Collective, Recompute};

use crate::section::MANY;
use crate::section::storage::{CheckpointSpec, InferenceSpec, ReadSpec};

pub use self::experts::ExpertsSpec;
pub use self::placement::Placement;
pub use self::traffic::{Incast, Permutation, Shift, TrafficSpec, Transfers};

/// What stands in the place of a job's name in figures of all jobs together; no job of several is called so.
pub const ALL_JOBS: &str = "jobs";

/// Bound of steps.
pub(crate) const MOST_STEPS: u32 = 100_000;
/// Bound of GPUs, hosts and host numbers.
const MOST_GPUS: i64 = 1 << 24;

railtwin_units::section! {
    /// One job, or several alike.
    #[derive(Clone, Debug, PartialEq)]
    pub struct JobSpec "[[job]]" {
        /// Name of the job, unique in the scenario; default job-0, job-1 and so on.
        #[key(fixed)]
        pub name: String [Kind::Name] = String::new(),
        /// Copies of the job.
        pub count: u32 [whole(1..=MANY)] = 1,
        /// Its size where the work does not say it.
        pub size: Option<JobSize> [flat] = None,
        /// GPUs of each of its hosts that the job takes, from the first on; nobody else gets the others. Default all.
        pub gpus_per_host: Option<u32> [whole(1..=1024)] = None,
        /// GPUs of each of its hosts that the job takes, by number and in the order of its ranks; other jobs that name theirs
        /// may have the others. Default: whole hosts, or `gpus_per_host`.
        #[key(sparse)]
        pub gpus_of_host: Vec<u32> [Kind::List(&placement::GPU_NUMBER)] = Vec::<u32>::new(),
        /// Where the ranks go.
        pub placement: Placement = Placement::Packed,
        /// Which ranks sit on which of these hosts.
        #[key(sparse)]
        pub rank_order: RankOrder = RankOrder::Given,
        /// Hosts of the job that are lost, by number: a backup host of the same segment has the ranks of each.
        #[key(sparse)]
        pub lost: Vec<u32> [Kind::List(&placement::HOST_NUMBER)] = Vec::<u32>::new(),
        /// When it starts.
        pub start: SimTime = SimTime::ZERO,
        /// Steps of the job; default `[run] steps`, and of a job with `until` or `duration` as many as there is time for.
        pub steps: Option<u32> [whole(1..=MOST_STEPS as i64)] = None,
        /// When its processes are ended, in the middle of a step if need be; steps that ended before count.
        pub until: Option<SimTime> = None,
        /// The same as a time from its start on.
        pub duration: Option<SimTime> [Kind::Span] = None,
        /// Share by which what it computes in a step takes longer or shorter at most, by a draw for each step.
        #[key(sparse)]
        pub compute_jitter: f64 [Kind::Share(0.0, 1.0)] = 0.0,
        /// On every link of the network what it sends goes before what jobs of lower priority send.
        #[key(sparse)]
        pub priority: u32 [whole(0..=PRIORITY_MAX as i64)] = 0,
        /// What its ranks write to storage every so many steps; default nothing.
        pub checkpoint: Option<CheckpointSpec> = None,
        /// What its ranks read from storage for each step; default nothing.
        pub read: Option<ReadSpec> = None,
        /// What it does.
        pub work: Work [flat],
    }
}

impl JobSpec {
    /// When its processes are ended; [`SimTime::NEVER`] where they come to their end.
    pub fn ended_at(&self) -> SimTime {
        let after = self.duration.map(|duration| self.start.saturating_add(duration));
        self.until.or(after).unwrap_or(SimTime::NEVER)
    }

    /// One job doing `work`, packed, from the start.
    pub fn new(name: &str, work: Work) -> Self {
        Self {
            name: name.to_owned(),
            count: 1,
            size: None,
            gpus_per_host: None,
            gpus_of_host: Vec::new(),
            placement: Placement::Packed,
            rank_order: RankOrder::Given,
            lost: Vec::new(),
            start: SimTime::ZERO,
            steps: None,
            until: None,
            duration: None,
            compute_jitter: 0.0,
            priority: 0,
            checkpoint: None,
            read: None,
            work,
        }
    }
}

railtwin_units::one_of! {
    /// The size of a job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum JobSize {
        /// Size in whole hosts.
        Hosts(u32) [whole(1..=MOST_GPUS)] = "hosts",
        /// Size in GPUs.
        Gpus(u32) [whole(1..=MOST_GPUS)] = "gpus",
    }
}

railtwin_units::one_of! {
    /// What a job does.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Work {
        /// Training steps from a recipe or a trace, or plain transfers.
        Workload(Workload) = "workload",
        /// One collective, repeated.
        Collective(CollectiveSpec) = "collective",
    }
}

railtwin_units::either! {
    /// Training steps from a recipe or a trace, or plain transfers.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Workload "`workload`" {
        /// A model trained with the given parallelism.
        Recipe(RecipeSpec),
        /// A SimAI (AICB) workload text.
        Simai(SimaiSpec),
        /// Chakra execution traces, one per rank.
        Chakra(ChakraSpec),
        /// The connections of an htsim connection matrix.
        Connections(ConnectionsSpec),
        /// Transfers by a pattern.
        Traffic(TrafficSpec),
        /// Requests of inference.
        Inference(InferenceSpec),
    }
}

impl Work {
    /// Whether a collective library runs it: plain transfers know no steps and no channels.
    pub fn is_collective(&self) -> bool {
        match self {
            Self::Workload(workload) => workload.trains(),
            Self::Collective(_) => true,
        }
    }
}

impl Workload {
    /// Whether its operations are training steps, whose ranks move in classes.
    pub fn trains(&self) -> bool {
        !matches!(self, Self::Connections(_) | Self::Traffic(_) | Self::Inference(_))
    }
}

railtwin_units::section! {
    /// A model trained with the given parallelism; it fills `tp × pp × dp` GPUs.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RecipeSpec "`workload`" {
        /// A model by name, such as gpt3-175b.
        pub recipe: String,
        /// Tensor parallelism.
        pub tp: u32 [whole(1..=MANY)] = 1,
        /// Pipeline parallelism.
        pub pp: u32 [whole(1..=MANY)] = 1,
        /// Data parallelism.
        pub dp: u32 [whole(1..=MANY)] = 1,
        /// Expert parallelism of a model with experts, a divisor of `dp`.
        #[key(sparse)]
        pub ep: u32 [whole(1..=MANY)] = 1,
        /// Micro-batches of a step per replica.
        pub micro_batches: u32 [whole(1..=MANY)] = 1,
        /// Sequences in a micro-batch.
        pub micro_batch: u32 [whole(1..=MANY)] = 1,
        /// Share of the GPU's peak that computation reaches.
        pub efficiency: f64 = 0.5,
        /// Virtual pipeline stages per GPU of interleaved 1F1B; 1 = not interleaved.
        pub interleave: u32 [whole(1..=1024)] = 1,
        /// Stage of ZeRO, what data parallel ranks hold in parts; 0 = nothing.
        pub zero: u32 [whole(0..=3)] = 0,
        /// Activations that are computed again backward instead of kept; selective = the scores of attention.
        #[key(sparse)]
        pub recompute: Recompute = Recompute::Selective,
        /// What becomes of a job that the memory of a GPU does not hold: an error, or a warning.
        #[key(sparse)]
        pub memory: MemoryRule = MemoryRule::Check,
    }
}

railtwin_units::choice! {
    /// What becomes of a job that the memory of a GPU does not hold.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MemoryRule {
        /// It is refused.
        Check = "check",
        /// It runs, and a warning says so.
        Allow = "allow",
    }
}

railtwin_units::section! {
    /// A SimAI (AICB) workload text.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SimaiSpec "`workload`" {
        /// Path of a SimAI workload text.
        pub simai: String,
        /// Model chunks of a stage; default the file's vpp where it fits.
        pub interleave: Option<u32> [whole(1..=MANY)] = None,
    }
}

railtwin_units::section! {
    /// Chakra execution traces, one per rank.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ChakraSpec "`workload`" {
        /// Path of Chakra traces, without `.<rank>.et`.
        pub chakra: String,
        /// Path of their communicators, JSON such as `{"1": [0, 1, 2, 3]}`; default every communicator is all ranks.
        pub groups: Option<String> = None,
    }
}

railtwin_units::section! {
    /// The connections of an htsim connection matrix.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ConnectionsSpec "`workload`" {
        /// Path of an htsim connection matrix (.cm).
        pub connections: String,
    }
}

railtwin_units::section! {
    /// One collective, repeated.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CollectiveSpec "`collective`" {
        /// Which collective.
        pub kind: Collective,
        /// Size of the buffer, as nccl-tests counts it; of dispatch and combine what `experts` says.
        pub bytes: Option<Bytes> = None,
        /// Tokens and experts of a dispatch or combine.
        #[key(sparse)]
        pub experts: Option<ExpertsSpec> = None,
        /// How it is carried out; default what suits the collective.
        pub algorithm: Option<Algorithm> = None,
        /// How often, one after another.
        pub repeat: u32 [whole(1..=MANY)] = 1,
        /// How long every GPU computes before each.
        pub compute: SimTime = SimTime::ZERO,
        /// One communicator over all GPUs, or one per rail.
        pub per: Per = Per::All,
    }
}

railtwin_units::choice! {
    /// Which GPUs of a job make a communicator.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Per {
        /// All: one communicator.
        All = "all",
        /// Those of one index in their hosts: a communicator per rail (multi-all-reduce).
        Rail = "rail",
    }
}
