//! When a job has its connections.
use railtwin_control::controller::StepDemand;
use railtwin_units::SimTime;

use crate::graph::JobGraph;

/// From when until when a job has its connections, and what it computes meanwhile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Life {
    /// When it starts.
    pub start: SimTime,
    /// When the last of its operations ended; [`SimTime::NEVER`] where that is not known, or never happens.
    pub end: SimTime,
    /// What a step of it computes.
    pub step: StepDemand,
}

impl Life {
    /// From time zero on, of a job of which nothing is known.
    pub const WHOLE: Self = Self {
        start: SimTime::ZERO,
        end: SimTime::NEVER,
        step: StepDemand { gpus: 0, compute: SimTime::ZERO, in_line: SimTime::ZERO, work: 0.0 },
    };

    /// Of a job whose end is not known.
    pub fn of(job: &JobGraph) -> Self {
        Self { start: job.start, ..Self::WHOLE }
    }
}
