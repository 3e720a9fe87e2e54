//! The rules over counters and probes: at their thresholds, on known faults, and as laws.
mod actions;
mod errors;
mod fixture;
mod laws;
mod links;
mod pauses;
mod probes;
mod transport;
