//! Who computes slower, and which communicator communicates slower, from operations.
pub mod chain;
pub mod communicators;
pub mod culprits;
pub mod everyone;
pub mod kernel_time;
pub mod members;
pub mod own_past;
pub mod own_time;
pub mod ranks;
pub mod standing;
pub mod windows;

pub use kernel_time::{KernelTime, averaged, separation};
pub use ranks::SlowRanks;

use crate::delay::SlowMessages;
use crate::detector::Detector;

/// All detectors of slowness at their defaults.
pub fn slow_detectors() -> Vec<Box<dyn Detector>> {
    vec![Box::new(SlowRanks::default()), Box::new(SlowMessages::default())]
}
