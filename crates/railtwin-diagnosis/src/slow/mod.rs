//! Who computes slower, and which communicator communicates slower, from operations.
pub mod chain;
pub mod culprits;
pub mod members;
pub mod own_time;
pub mod ranks;
pub mod standing;
pub mod windows;

pub use ranks::SlowRanks;

use crate::detector::Detector;

/// All detectors of slowness at their defaults.
pub fn slow_detectors() -> Vec<Box<dyn Detector>> {
    vec![Box::new(SlowRanks::default())]
}
