//! railtwin-answers: questions whose answer needs evidence of a cluster and a simulation of it.
//!
//! * [`mod@explain`]: a measured bandwidth or step time, and the causes that it may have.
//! * [`mod@triage`]: bad hosts and devices, what each costs the jobs, and what to take out first.
#![allow(clippy::disallowed_methods, reason = "answers read scenarios and what they name")]

pub mod explain;
pub mod triage;
