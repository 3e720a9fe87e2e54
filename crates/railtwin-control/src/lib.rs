//! Decisions, pure and deterministic: the same state gives the same answer, on a simulated and on a live cluster.
//!
//! * [`controller`]: what every controller is: events in, actions out.
//! * [`crux`]: whose communication goes first when jobs share links.
//! * [`halt`]: how a controller ends the run that asks it.
//! * [`hosts`]: what can be done with hosts and their GPUs.
//! * [`placement`]: which GPU each rank of a job gets.
//! * [`paths`]: which path each queue pair takes, and by which source port.
//! * [`steering`]: which hosts are isolated, and which spares take their place (C4D).
//! * [`te`]: Meta's traffic engineering: which uplink each flow of a leaf takes.
pub mod controller;
pub mod crux;
pub mod halt;
pub mod hosts;
pub mod paths;
pub mod placement;
pub mod steering;
pub mod te;

pub use controller::{Action, Controller, Decision, Event};
pub use placement::{ClusterPlacer, Place, PlacementError, PlacementPolicy, Placer, RankOrder};
pub use steering::{Policy, SpareScope, Steering};
