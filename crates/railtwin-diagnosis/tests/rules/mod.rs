//! The rules over counters and probes: at their thresholds, on known faults, and as laws.
#![allow(clippy::unwrap_used, reason = "a test: what the small cluster has is there")]
mod actions;
mod errors;
mod fixture;
mod healthy;
mod laws;
mod links;
mod pauses;
mod probes;
mod transport;
