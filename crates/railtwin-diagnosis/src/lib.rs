//! From telemetry to findings. Pure: records in, findings out, time is that of the records.
//!
//! The same code reads simulated, imported and live telemetry. It needs no synchronised clocks: only differences of
//! times of one host are formed.
//!
//! A [`Detector`] watches for one thing; [`Diagnosis`] feeds them all and gives what they find, joined.
pub mod collision;
pub mod context;
pub mod delay;
pub mod detector;
pub mod hints;
pub mod localize;
pub mod robust;
pub mod settings;
pub mod slow;

pub use context::Context;
pub use delay::SlowMessages;
pub use detector::{Detector, Diagnosis};
pub use hints::Hints;
pub use settings::Settings;
pub use slow::{KernelTime, SlowRanks, averaged, separation, slow_detectors};
