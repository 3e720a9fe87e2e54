//! Thresholds, each with its reason.

/// The setting of all detectors. Shares are 0..1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// A rank or connection counts as slow when it adds this share to what its peers take. C4 finds slowness that
    /// matters to the step; below a twentieth, jitter of real traces hides it (docs/models/diagnosis.md).
    pub slow_share: f64,
    /// Operations of a class that are joined before anything slow is judged: single steps of real traces straggle by
    /// chance, and expert-parallel load evens out over a window (C4 section V).
    pub window: u32,
    /// Robust deviations from the peers' median beyond which a value is no chance.
    pub deviations: f64,
    /// An operation that takes longer than this hangs: the tens of seconds of C4 section IV-B1, above every
    /// retransmission timer that heals by itself.
    pub hang_ns: u64,
    /// A pause longer than this is a storm (Meta RoCE section 6.3.2).
    pub pause_ns: u64,
    /// Share of a switch's buffer above which it is about to drop (Meta RoCE section 6.3.2).
    pub buffer_share: f64,
    /// Share of time that a port may stand paused before it is told.
    pub paused_share: f64,
    /// A host or pair of a test between pairs is slow when it lacks this share of the usual bandwidth: hosts of a healthy
    /// H100 cluster lack up to 0.06 in single tests.
    pub pair_share: f64,
    /// Added to the baseline of a probe, as a share of it, before latency has changed.
    pub latency_share: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slow_share: 0.05,
            window: 16,
            deviations: 6.0,
            hang_ns: 30_000_000_000,
            pause_ns: 200_000_000,
            buffer_share: 0.8,
            paused_share: 0.05,
            pair_share: 0.1,
            latency_share: 0.2,
        }
    }
}
