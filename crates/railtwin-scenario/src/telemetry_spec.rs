//! `[telemetry]`: what the ranks of a run record, and whether it is looked at.
use railtwin_units::SimTime;
use railtwin_workload::Axis;
use serde::{Deserialize, Serialize};

/// What a run tells of its ranks. A run without it writes no telemetry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TelemetrySpec {
    /// The job; none = the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Axes whose operations are told.
    pub axes: Vec<TelemetryAxis>,
    /// Whether queue pairs tell of their messages.
    pub messages: bool,
    /// How often counters are read; none = never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<SimTime>,
    /// How often paths of the job are probed; none = never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<SimTime>,
    /// How much healthy ranks vary.
    pub jitter: JitterSpec,
    /// Steps that are replayed; none = those of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Whether detectors look at the records.
    pub diagnose: bool,
}

impl Default for TelemetrySpec {
    fn default() -> Self {
        use TelemetryAxis::{Dp, DpEp, Ep, Other, Pp};
        Self {
            job: None,
            axes: vec![Pp, Dp, Ep, DpEp, Other],
            messages: true,
            counters: None,
            probes: None,
            jitter: JitterSpec::Measured,
            steps: None,
            diagnose: true,
        }
    }
}

railtwin_units::choice! {
    /// How much healthy ranks vary.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum JitterSpec {
        /// As much as measured clusters do (docs/models/telemetry.md).
        Measured = "measured",
        /// Not at all.
        None = "none",
    }
}

railtwin_units::choice! {
    /// An axis of communicators.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TelemetryAxis {
        /// Tensor parallel.
        Tp = "tp",
        /// Pipeline parallel.
        Pp = "pp",
        /// Data parallel.
        Dp = "dp",
        /// Expert parallel.
        Ep = "ep",
        /// Data parallel among the ranks that hold the same expert.
        DpEp = "dp_ep",
        /// A communicator that no axis names.
        Other = "other",
    }
}

impl From<TelemetryAxis> for Axis {
    fn from(axis: TelemetryAxis) -> Self {
        match axis {
            TelemetryAxis::Tp => Self::Tp,
            TelemetryAxis::Pp => Self::Pp,
            TelemetryAxis::Dp => Self::Dp,
            TelemetryAxis::Ep => Self::Ep,
            TelemetryAxis::DpEp => Self::DpEp,
            TelemetryAxis::Other => Self::Other,
        }
    }
}
