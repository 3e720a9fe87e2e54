//! Path allocation: which path each queue pair takes, and the UDP source port that makes the switches take it.
//!
//! * [`PathAllocator`]: all jobs' queue pairs over least-used links, left port to left port (C4P, C4 section III-B).
//! * [`probe`]: the paths between leaves and their faulty links, found by probes alone.
//! * [`HostAgent`]: the same without a controller, from the host's own leaves (HPN section 6.1).
//! * [`LoadBalance`], [`LeastOutstanding`]: how much each queue pair of a connection carries.
//!
//! The model page is `docs/models/path-allocation.md`.
mod allocator;
mod assignment;
mod catalogue;
mod dag;
mod flow;
pub mod host_agent;
pub mod load_balance;
pub mod outstanding;
pub mod probe;
mod rebalance;
mod replan;
mod search;

pub use allocator::PathAllocator;
pub use assignment::{Assignment, Demand, JobId, MAX_PATH_LINKS, Path, Reason};
pub use host_agent::{Connection, HostAgent, LeafTables, Refreshed};
pub use load_balance::{LoadBalance, LoadBalanceError};
pub use outstanding::{LeastOutstanding, TooManyCompleted};
pub use probe::{Answer, Probe, ProbedPath, Prober, Replay, Survey};
pub use replan::{LinkState, Move, Replan};
