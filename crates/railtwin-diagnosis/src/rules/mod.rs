//! Detectors that read counters and probes: each is one rule with its thresholds (docs/models/diagnosis-rules.md).
//!
//! None of them looks at how long operations took; they say where a counter or a probe is unlike its peers or its own
//! past, and name the smallest set of components that the fabric leaves possible.
pub mod actions;
pub mod baseline;
pub mod buffer;
pub mod error_cause;
pub mod explain;
pub mod gpu;
pub mod latency;
pub mod limits;
pub mod link;
pub mod one_way;
pub mod pause;
pub mod place;
pub mod process;
pub mod reach;
pub mod sizes;
pub mod timeout;
pub mod told;
pub mod track;
pub mod transport;
pub mod xid;

pub use actions::{Safeguard, actions_of};
pub use baseline::{BaselineStore, PathKey};
pub use buffer::{BufferAlarm, CongestionDrops};
pub use error_cause::{ErrorCause, ErrorEvidence, ErrorShares, classify_error};
pub use gpu::GpuHealth;
pub use latency::LatencyBaseline;
pub use limits::Limits;
pub use link::LinkState;
pub use one_way::OneWay;
pub use pause::Pauses;
pub use place::link_component;
pub use process::ErrorJoin;
pub use reach::Reachability;
pub use sizes::SizeMismatch;
pub use timeout::ElasticTimeout;
pub use transport::JobCounters;
pub use xid::{Xid, xid_meaning};

use crate::detector::Detector;

/// All rules at their default limits, without the [`ElasticTimeout`], which is a baseline to score against.
pub fn rule_detectors() -> Vec<Box<dyn Detector>> {
    rule_detectors_with(Limits::default())
}

/// All rules at the given limits.
pub fn rule_detectors_with(limits: Limits) -> Vec<Box<dyn Detector>> {
    rule_detectors_beside(limits, BaselineStore::default())
}

/// The same with delays of paths that were learnt before.
pub fn rule_detectors_beside(limits: Limits, baselines: BaselineStore) -> Vec<Box<dyn Detector>> {
    vec![
        Box::new(JobCounters::new(limits)),
        Box::new(Pauses::new(limits)),
        Box::new(BufferAlarm::new(limits)),
        Box::new(CongestionDrops::new(limits)),
        Box::new(LinkState::new(limits)),
        Box::new(OneWay::new(limits)),
        Box::new(GpuHealth::new(limits)),
        Box::new(ErrorJoin::new(limits)),
        Box::new(SizeMismatch::new(limits)),
        Box::new(LatencyBaseline::with_baselines(limits, baselines)),
        Box::new(Reachability::new(limits)),
    ]
}
