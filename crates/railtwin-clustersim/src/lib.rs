//! The cluster-level engine: weeks of jobs on one fabric.
//!
//! Jobs arrive, wait, get GPUs, run step after step beside others on shared links, and leave. A step is a stretch of
//! computation and one of communication, as in the fluid of [`railtwin_control::crux`]; who goes first and by which
//! path is decided by the same code that decides in a run. Time in which nothing new happens is not computed: a job
//! that nobody slows is a line, and jobs that share links are watched until their pace is steady, then skipped ahead and
//! watched again.
//!
//! * [`plant`]: the links of a fabric as jobs share them, and the paths between two NICs.
//! * [`traffic`]: what a job of given shape sends over which NICs, by where its ranks sit.
//! * [`serving`]: GPUs that serve inference, and what requests and answers take of links by the hour.
//! * [`lived`]: what became of each job, and of the cluster hour by hour.
//! * [`ask`]: what is asked: jobs, policies of queue, placement and sharing.
//! * [`world`]: from arrival to departure; [`live_by`] with controllers that say who starts and where.
pub mod actions;
pub mod ask;
mod asked;
mod component;
mod components;
mod estimate;
mod hours;
mod links;
mod live;
pub mod lived;
pub mod plant;
mod queue;
mod reading;
mod seating;
mod services;
pub mod serving;
mod stages;
pub mod traffic;
pub mod world;
mod writing;

pub use actions::{Deed, JobAction};
pub use ask::{Ask, Checkpoints, ClusterJob, QueuePolicy};
pub use lived::{Contended, Effort, Hour, JobLife, Lived};
pub use seating::Refused;
pub use serving::{Inference, NotServed, Serving};
pub use stages::StagesInPods;
pub use world::{live, live_by};
