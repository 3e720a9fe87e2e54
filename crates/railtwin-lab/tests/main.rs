//! All tests of `railtwin-lab` beside its unit tests: one program, built and linked once.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod given_paths;
mod knowledge;
mod paths;
mod simulated;
