//! `[[job]]`: what runs, how large it is, where it is placed, when it starts.
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::{Algorithm, Collective, Recompute};
use serde::{Deserialize, Serialize};

use crate::traffic_spec::TrafficSpec;

/// What stands in the place of a job's name in figures of all jobs together; no job of several is called so.
pub const ALL_JOBS: &str = "jobs";

/// One job, or several alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Name, unique in the scenario; `job-0`, `job-1` … where the text gives none.
    #[serde(default)]
    pub name: String,
    /// Copies of the job.
    #[serde(default = "one")]
    pub count: u32,
    /// Its size where the work does not say it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub size: Option<JobSize>,
    /// Where its ranks go.
    #[serde(default)]
    pub placement: Placement,
    /// When it starts.
    #[serde(default)]
    pub start: SimTime,
    /// What it does.
    #[serde(flatten)]
    pub work: Work,
}

impl JobSpec {
    /// One job doing `work`, packed, from the start.
    pub fn new(name: &str, work: Work) -> Self {
        Self {
            name: name.to_owned(),
            count: one(),
            size: None,
            placement: Placement::Packed,
            start: SimTime::ZERO,
            work,
        }
    }
}

fn one() -> u32 {
    1
}

/// The size of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobSize {
    /// Whole hosts with all their GPUs.
    Hosts(u32),
    /// GPUs.
    Gpus(u32),
}

/// Where the ranks of a job go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Onto the first free hosts, segment by segment.
    #[default]
    Packed,
    /// Round robin over the segments.
    Spread,
    /// Onto free hosts drawn from the scenario's seed.
    Random,
    /// Onto these hosts, by number, in this order.
    Hosts(Vec<u32>),
}

/// What a job does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Training steps.
    Workload(Workload),
    /// One collective again and again, as nccl-tests does.
    Collective(CollectiveSpec),
}

/// Training steps from a recipe or a trace, or plain transfers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Workload {
    /// A model trained with the given parallelism.
    Recipe(RecipeSpec),
    /// A SimAI (AICB) workload text.
    Simai {
        /// Path of the file.
        simai: String,
        /// Model chunks of a stage; none = the file's vpp where it fits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interleave: Option<u32>,
    },
    /// Chakra execution traces, one per rank.
    Chakra {
        /// Path of the files without `.<rank>.et`.
        chakra: String,
    },
    /// The connections of an htsim connection matrix.
    Connections {
        /// Path of the `.cm` file.
        connections: String,
    },
    /// Transfers by a pattern.
    Traffic(TrafficSpec),
}

impl Workload {
    /// Whether its operations are training steps, whose ranks move in classes.
    pub fn trains(&self) -> bool {
        !matches!(self, Self::Connections { .. } | Self::Traffic(_))
    }
}

/// A model trained with the given parallelism; it fills `tp × pp × dp` GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecipeSpec {
    /// Name of the model, such as `gpt3-175b`.
    pub recipe: String,
    /// Tensor parallelism.
    #[serde(default = "one")]
    pub tp: u32,
    /// Pipeline parallelism.
    #[serde(default = "one")]
    pub pp: u32,
    /// Data parallelism.
    #[serde(default = "one")]
    pub dp: u32,
    /// Expert parallelism, within `dp`; left out of the text where it is 1, as dense models have no such axis.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub ep: u32,
    /// Micro-batches of a step, per data-parallel replica.
    #[serde(default = "one")]
    pub micro_batches: u32,
    /// Sequences in a micro-batch.
    #[serde(default = "one")]
    pub micro_batch: u32,
    /// Share of the GPU's peak that computation reaches, above 0 up to 1.
    #[serde(default = "half")]
    pub efficiency: f64,
    /// Virtual pipeline stages per GPU of interleaved 1F1B; 1 = not interleaved.
    #[serde(default = "one")]
    pub interleave: u32,
    /// Stage of ZeRO: what data parallel ranks hold in parts; 0 = nothing.
    #[serde(default)]
    pub zero: u32,
    /// What is computed again in the backward pass; left out of the text where nothing but the scores of attention is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recompute: Recompute,
    /// What becomes of a job that the memory of a GPU does not hold.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory: MemoryRule,
}

railtwin_units::choice! {
    /// What becomes of a job that the memory of a GPU does not hold.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum MemoryRule {
        /// It is refused.
        #[default]
        Check = "check",
        /// It runs, and a warning says so.
        Allow = "allow",
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_one(value: &u32) -> bool {
    *value == 1
}

fn half() -> f64 {
    0.5
}

/// One collective, repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectiveSpec {
    /// Which.
    pub kind: Collective,
    /// Size of the buffer, as nccl-tests counts it.
    pub bytes: Bytes,
    /// How it is carried out; none = what suits the collective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// How often, one after another.
    #[serde(default = "one")]
    pub repeat: u32,
    /// How long every GPU computes before each.
    #[serde(default)]
    pub compute: SimTime,
    /// Which GPUs make a communicator.
    #[serde(default)]
    pub per: Per,
}

railtwin_units::choice! {
    /// Which GPUs of a job make a communicator.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Per {
        /// All: one communicator.
        #[default]
        All = "all",
        /// Those of one index in their hosts: a communicator per rail (multi-all-reduce).
        Rail = "rail",
    }
}
