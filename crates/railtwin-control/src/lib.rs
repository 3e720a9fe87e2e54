//! Decisions, pure and deterministic: the same state gives the same answer, on a simulated and on a live cluster.
//!
//! * [`placement`]: which GPU each rank of a job gets.
//! * [`paths`]: which path each queue pair takes, and by which source port.
//! * [`te`]: Meta's traffic engineering: which uplink each flow of a leaf takes.
pub mod paths;
pub mod placement;
pub mod te;

pub use placement::{Place, PlacementError, PlacementPolicy, Placer};
