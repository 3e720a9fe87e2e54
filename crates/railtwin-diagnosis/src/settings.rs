//! Thresholds, each with its reason.
use railtwin_units::SimTime;
use railtwin_units::keys::{Kind, whole};

railtwin_units::section! {
    /// The thresholds of all detectors.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Settings "[telemetry.detectors]" sparse {
        /// A rank or connection counts as slow when it adds this share to what its peers take. C4 finds slowness that
        /// matters to the step; below a twentieth, jitter of real traces hides it (docs/models/diagnosis.md).
        pub slow_share: f64 = 0.05,
        /// Operations of a class that are joined before anything slow is judged: single steps of real traces straggle
        /// by chance, and expert-parallel load evens out over a window (C4 section V).
        pub window: u32 [whole(2..=100_000)] = 16,
        /// Robust deviations from the peers' median beyond which a value is no chance.
        pub deviations: f64 [Kind::Share(0.0, 1e6)] = 6.0,
        /// An operation that takes longer than this hangs: the tens of seconds of C4 section IV-B1, above every
        /// retransmission timer that heals by itself.
        pub hang: SimTime [Kind::Span] = SimTime::from_ns(30_000_000_000),
        /// A pause longer than this is a storm (Meta RoCE section 6.3.2).
        pub pause: SimTime [Kind::Span] = SimTime::from_ns(200_000_000),
        /// Share of a switch's buffer above which it is about to drop (Meta RoCE section 6.3.2).
        pub buffer_share: f64 = 0.8,
        /// Share of time that a port may stand paused before it is told.
        pub paused_share: f64 = 0.05,
        /// Added to the baseline of a probe, as a share of it, before latency has changed.
        pub latency_share: f64 [Kind::Share(0.0, 1e6)] = 0.2,
    }
}
