//! All tests of the crate in one program: the job of the recordings, simulated under their faults, before their judge.
#![allow(clippy::disallowed_methods, reason = "scenarios lie in files")]
#[allow(dead_code, reason = "the example beside_reality reads the rest")]
mod beside;
mod judged;
mod limits;
mod records;
