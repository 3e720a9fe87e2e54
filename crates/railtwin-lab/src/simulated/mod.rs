//! The flow engine beside the emulated fabric: bandwidth of each job by balancer or on given paths, the gap of each fault,
//! and how soon probes take queue pairs off a silent link. Pure and deterministic.
//!
//! * [`four_jobs`]: the scenario of the bandwidth test, `scenarios/lab/four-jobs.toml`, under one balancer.
//! * [`on_paths`]: its jobs on the paths that the emulated switches hash them to; [`by_balancer`]: on the model's own.
//! * [`SimulatedFault`]: faults, with their gap in the simulation ([`gap_of`]) and the band that is accepted.
//! * [`probe_reaction`]: C4P's prober on a link that drops everything and keeps its routes.
mod draws;
mod given;
mod probing;
mod reaction;

pub use draws::{DrawOutcome, JobBandwidth, by_balancer, four_jobs, most_on_a_link};
pub use given::{GivenConnection, on_paths, path_through};
pub use probing::{ProbeReaction, probe_reaction};
pub use reaction::{GapBand, SimulatedFault, gap_of};
