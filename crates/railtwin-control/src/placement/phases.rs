//! Phases of a step of a job.

/// Seconds for which a step computes and for which it communicates alone.
pub type Phases = (f64, f64);
