//! `[telemetry]`: what the ranks of a run record, and whether it is looked at.
pub(crate) mod rules;

use railtwin_diagnosis::Settings;
use railtwin_units::SimTime;
use railtwin_units::keys::{Kind, whole};
use railtwin_workload::Axis;

/// Axes whose operations ranks can tell of: all but computation and what they exchange with storage, which is no
/// collective.
const TOLD: &[&str] = match &Axis::NAMES {
    [_compute, told @ .., _storage] => told,
};
static AXIS: Kind = Kind::Choice(TOLD);

railtwin_units::section! {
    /// What a run tells of its ranks. A run without it writes no telemetry.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TelemetrySpec "[telemetry]" {
        /// The job whose ranks tell; default the first. A copy is called name-0 and so on, the first job after it started
        /// again in a run that `[steering]` follows name-again-1 and so on.
        pub job: Option<String> = None,
        /// Axes whose operations are told.
        pub axes: Vec<Axis> [Kind::List(&AXIS)] =
            vec![Axis::Pp, Axis::Dp, Axis::Ep, Axis::DpEp, Axis::Other],
        /// Whether queue pairs tell of their messages.
        pub messages: bool = true,
        /// How often counters are read; default never.
        pub counters: Option<SimTime> = None,
        /// How often paths of the job are probed; default never.
        pub probes: Option<SimTime> = None,
        /// How much healthy ranks vary: as measured clusters do (docs/models/telemetry.md), or not at all.
        pub jitter: JitterSpec = JitterSpec::Measured,
        /// Steps that are replayed; default those of the run, and of more its last step again and again.
        pub steps: Option<u32> [whole(1..=1_000_000)] = None,
        /// Whether detectors look at the records.
        pub diagnose: bool = true,
        /// From where on detectors tell of something.
        pub detectors: Settings = Settings::default(),
    }
}

impl TelemetrySpec {
    /// Thresholds that are written and that nothing is held against, with the reason.
    pub(crate) fn idle_thresholds(&self) -> Vec<String> {
        let (own, default) = (&self.detectors, Settings::default());
        let idle = |key: &str, why: &str| format!("telemetry.detectors.{key} changes nothing: {why}");
        if !self.diagnose && *own != default {
            return vec!["telemetry.detectors changes nothing: diagnose = false".to_owned()];
        }
        let of_counters = [
            ("pause", own.pause != default.pause),
            ("buffer_share", own.buffer_share != default.buffer_share),
            ("paused_share", own.paused_share != default.paused_share),
        ];
        let mut all = Vec::new();
        if self.counters.is_none() {
            let written = of_counters.iter().filter(|(_, written)| *written);
            all.extend(written.map(|(key, _)| idle(key, "no counters are read")));
        }
        if self.probes.is_none() && own.latency_share != default.latency_share {
            all.push(idle("latency_share", "nothing is probed"));
        }
        all
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
