//! SimAI / AICB workload text: the types; reading is in `simai_parse`, writing in `simai_write`.
//!
//! The text has a header line (policy name, then `key: value` pairs), a line with the number of
//! layers, and one line of 12 columns per layer (13 under `HYBRID_CUSTOMIZED`).
//! Source of the meanings: `Workload.cc` and `Common.hh` of aliyun/SimAI.
//! A SimAI tick is 1 ns, so every compute time here is in nanoseconds.

use std::fmt;

/// Name of this format in errors.
pub(crate) const FORMAT: &str = "SimAI workload";

/// A whole workload file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimaiWorkload {
    /// How the simulator walks over the layers.
    pub policy: SimaiPolicy,
    /// Ranks in a tensor-parallel communicator (`model_parallel_NPU_group`); 1 where absent.
    pub tp: u32,
    /// Ranks in an expert-parallel communicator (`ep`); 1 where absent.
    pub ep: u32,
    /// Pipeline stages (`pp`); 1 where absent.
    pub pp: u32,
    /// What the file calls `vpp`, 1 where absent. AICB writes layers per stage here in some versions.
    pub vpp: u32,
    /// Gradient accumulation: micro-batches per step (`ga`); 1 where absent.
    pub ga: u32,
    /// GPUs of the whole job (`all_gpus`), where given.
    pub all_gpus: Option<u32>,
    /// Layers whose activations are checkpointed, as indices into `layers`.
    pub checkpoints: Vec<u32>,
    /// Layers that start a recomputation, as indices into `layers`.
    pub checkpoint_initiates: Vec<u32>,
    /// Bytes passed between pipeline stages for one micro-batch (`pp_comm`); 0 where absent.
    pub pp_comm_bytes: u64,
    /// Last layer of the bottom network of a DLRM (`DLRM_LAST_BOTTOM_LAYER`), where given.
    pub dlrm_last_bottom_layer: Option<u32>,
    /// The layer lines in file order.
    pub layers: Vec<SimaiLayer>,
    /// What was odd but readable, one sentence each, for a person to see.
    pub warnings: Vec<String>,
}

impl SimaiWorkload {
    /// A workload without layers and with every header value at its default.
    pub fn with_policy(policy: SimaiPolicy) -> Self {
        Self {
            policy,
            tp: 1,
            ep: 1,
            pp: 1,
            vpp: 1,
            ga: 1,
            all_gpus: None,
            checkpoints: Vec::new(),
            checkpoint_initiates: Vec::new(),
            pp_comm_bytes: 0,
            dlrm_last_bottom_layer: None,
            layers: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// One layer line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimaiLayer {
    /// Column 1; names repeat.
    pub name: String,
    /// Line in the file, counted from 1.
    pub line: u64,
    /// Column 2; SimAI reads it and does not use it; -1 is usual.
    pub dependency: i64,
    /// Columns 3 to 5.
    pub forward: Phase,
    /// Columns 6 to 8.
    pub input_gradient: Phase,
    /// Columns 9 to 11.
    pub weight_gradient: Phase,
    /// Column 12: time of the weight update in nanoseconds.
    pub update_ns: u64,
    /// Column 13, present exactly under [`SimaiPolicy::HybridCustomized`].
    pub custom_policy: Option<SimaiPolicy>,
}

/// Compute, then at most one collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Compute time in nanoseconds.
    pub compute_ns: u64,
    /// The collective after it, `None` for `NONE`.
    pub collective: Option<SimaiCollective>,
    /// Bytes of the collective. May be 0 with a collective; kept when there is none.
    pub bytes: u64,
}

/// A collective and the communicator it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimaiCollective {
    /// What it does.
    pub kind: CollectiveKind,
    /// On which axis; never implicit, the reader resolves a missing suffix.
    pub group: Group,
}

/// Axis of a collective's communicator.
///
/// Without suffix, the file means tensor parallel in the forward and input-gradient columns and
/// data parallel in the weight-gradient columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Tensor parallel: no suffix, forward and input gradient.
    Tp,
    /// Data parallel: no suffix, weight gradient.
    Dp,
    /// Expert parallel: suffix `_EP`.
    Ep,
    /// Data parallel between the holders of one expert: suffix `_DP_EP`.
    DpEp,
}

macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every variant.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in the file.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The variant of a name in the file; upper and lower case differ.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}

named_enum! {
    /// How the simulator walks over the layers: the first word of the file.
    SimaiPolicy {
        /// Single collectives for measurement.
        Micro = "MICRO",
        /// Data parallel only.
        Data = "DATA",
        /// Model parallel only.
        Model = "MODEL",
        /// Tensor and data parallel transformer.
        HybridTransformer = "HYBRID_TRANSFORMER",
        /// The same with recomputation in the backward pass; what AICB writes.
        HybridTransformerFwdInBckwd = "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        /// Recommendation model.
        HybridDlrm = "HYBRID_DLRM",
        /// Recommendation model, enhanced walk.
        HybridDlrmEnhanced = "HYBRID_DLRM_ENHANCED",
        /// Data parallel across, model parallel within.
        HybridDataModel = "HYBRID_DATA_MODEL",
        /// Model parallel across, data parallel within.
        HybridModelData = "HYBRID_MODEL_DATA",
        /// A policy per layer, in column 13.
        HybridCustomized = "HYBRID_CUSTOMIZED",
        /// Inference over several GPUs.
        DistributedInference = "DISTRIBUTED_INFERENCE",
    }
}

named_enum! {
    /// What a collective does, without the suffix of its group.
    CollectiveKind {
        /// Sum, result everywhere.
        AllReduce = "ALLREDUCE",
        /// Concatenation, result everywhere.
        AllGather = "ALLGATHER",
        /// Sum, result split.
        ReduceScatter = "REDUCESCATTER",
        /// Every rank sends a part to every rank.
        AllToAll = "ALLTOALL",
        /// One rank's data, everywhere.
        Broadcast = "BROADCAST",
    }
}

/// The three groups of columns of a layer line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseColumns {
    Forward,
    InputGradient,
    WeightGradient,
}

impl PhaseColumns {
    /// Index from 0 of the compute column; collective and bytes follow.
    pub(crate) fn first(self) -> usize {
        match self {
            Self::Forward => 2,
            Self::InputGradient => 5,
            Self::WeightGradient => 8,
        }
    }

    /// The name used in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::InputGradient => "input gradient",
            Self::WeightGradient => "weight gradient",
        }
    }

    /// What a collective without suffix means in these columns.
    pub(crate) fn implicit_group(self) -> Group {
        match self {
            Self::Forward | Self::InputGradient => Group::Tp,
            Self::WeightGradient => Group::Dp,
        }
    }
}
