//! What a job does in a step, without a fabric: ranks, communicators, operations, transfers.
//!
//! * [`collective`]: kinds and algorithms of collectives, and the bus bandwidth of nccl-tests.
//! * [`cost`]: what hosts add to a collective: protocol, latency of its steps, bandwidth; [`nccl`]: what NCCL's own
//!   model takes these for, and which algorithm and protocol it picks.
//! * [`shape`]: an algorithm as bundles of edges that move in lock step; [`ring`], [`nvls`], [`nvls_tree`]
//!   and [`chain_tree`] over [`tree`], [`pat`], [`direct`] make them from ranks whose host, GPU and NIC are plain data.
//! * [`experts`]: dispatch and combine of mixtures of experts, what a token reaches and how many bytes it has.
//! * [`extent`]: how many bundles and edges that makes, counted without laying them out.
//! * [`mod@course`]: what each piece of a bundle waits for, for engines that move messages.
//! * [`ranks`]: Megatron's rank order and the communicators of each axis.
//! * [`pipeline`]: the order of forward and backward passes in a pipeline.
//! * [`plan`]: the graph of operations of one step, per rank class.
//! * [`memory`]: what a GPU of a training job holds.
//! * [`traffic`]: plain transfers between ranks, listed or by a pattern such as a permutation.
//! * [`job_class`]: classes of jobs, as sums of a step, for who simulates weeks of jobs; [`job_stream`]: when jobs of
//!   which size come, by lot; [`tide`]: how what people ask for swings over a day.
//! * [`train`]: a training step from what one layer does; [`recipe`]: training of [`models`] by name.
//!
//! ```
//! use railtwin_workload::{Collective, collective::bus_factor};
//! assert_eq!(bus_factor(Collective::AllReduce, 8), 1.75);
//! ```
pub mod chain_tree;
pub mod chunks;
pub mod collective;
pub mod cost;
pub mod course;
pub mod direct;
pub mod error;
pub mod experts;
pub mod extent;
pub mod job_class;
pub mod job_stream;
pub mod memory;
pub mod models;
pub mod nccl;
pub mod nvls;
pub mod nvls_tree;
pub mod pat;
pub mod pipeline;
pub mod plan;
pub mod ranks;
pub mod recipe;
pub mod ring;
pub mod scaling;
pub mod shape;
pub mod tide;
pub mod traffic;
pub mod train;
mod training_memory;
pub mod tree;

pub use chunks::Cut;
pub use collective::{Algorithm, Collective};
pub use cost::{Cost, Group, Protocol};
pub use course::{Course, Half, Leg, Wait, course};
pub use error::WorkloadError;
pub use experts::{Experts, Precision};
pub use extent::{Extent, extent_of, shape_of};
pub use job_class::{ClassStep, JobClass};
pub use job_stream::{JobStream, SizeMix, SubmittedJob};
pub use memory::{Memory, Recompute};
pub use plan::{
    Axis, Occasional, Operation, OperationId, Pattern, PatternId, Plan, PlanBuilder, StorageWay, Work,
};
pub use ranks::Parallelism;
pub use shape::{Bundle, Edge, HostLayout, Member, Shape};
pub use traffic::{Traffic, Transfer};
