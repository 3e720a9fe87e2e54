//! railtwin-evaluation: how right the program is.
//!
//! * [`reproduce`]: the figures of the papers beside ours.
//! * [`score`]: faults put into runs, and how many of them the detectors find.
#![allow(clippy::disallowed_methods, reason = "the evaluation reads scenarios and what they name")]

pub mod reproduce;
pub mod score;
