//! From telemetry to findings. Pure: records in, findings out, time is that of the records.
//!
//! The same code reads simulated, imported and live telemetry. It needs no synchronised clocks: only differences of
//! times of one host are formed.
//!
//! A [`Detector`] watches for one thing; [`Diagnosis`] feeds them all and gives what they find, joined.
pub mod context;
pub mod detector;
pub mod downtime;
pub mod failure_rates;
pub mod robust;
pub mod settings;

pub use context::Context;
pub use detector::{Detector, Diagnosis};
pub use settings::Settings;
