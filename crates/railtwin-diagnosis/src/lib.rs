//! From telemetry to findings. Pure: records in, findings out, time is that of the records.
//!
//! The same code reads simulated, imported and live telemetry. It needs no synchronised clocks: only differences of
//! times of one host are formed.
//!
//! A [`Detector`] watches for one thing; [`Diagnosis`] feeds them all and gives what they find, joined.
pub mod collision;
pub mod congestion;
pub mod context;
pub mod delay;
pub mod detector;
pub mod ends;
pub mod hang;
pub mod hints;
pub mod join;
pub mod localize;
pub mod one_delay;
pub mod pairs;
pub mod rules;
pub mod settings;
pub mod slow;
pub mod steps;
mod unplaced;
pub mod verdict;
pub mod what_if;
pub mod wiring;

pub use context::Context;
pub use delay::SlowMessages;
pub use detector::{Detector, Diagnosis};
pub use hang::Hang;
pub use hints::Hints;
pub use railtwin_units::robust;
pub use rules::rule_detectors;
pub use settings::Settings;
pub use slow::{KernelTime, SlowRanks, averaged, separation, slow_detectors};

/// All detectors, in the order in which they are asked. The baselines that stand beside them on the score card are not
/// among them.
pub fn all_detectors() -> Vec<Box<dyn Detector>> {
    let mut all: Vec<Box<dyn Detector>> = vec![Box::new(Hang::default())];
    all.extend(slow_detectors());
    all.extend(rule_detectors());
    all
}
