//! The simulated side of the lab.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod given_paths;
mod knowledge;
mod simulated;
