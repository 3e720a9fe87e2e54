//! Rows of the reports of `downtime`.
use railtwin_reliability::downtime::{Account, Part};
use railtwin_reliability::failure_rates::Cause;

/// A row of a report: its name, set in where it is a part of the row above, and its amount of an account.
pub(crate) type Line = (&'static str, fn(&Account) -> f64);

/// The rows of Table III, and those that we add.
pub(crate) const LINES: [Line; 15] = [
    ("post-checkpoint", |a| a[Part::PostCheckpoint]),
    ("detection", |a| a[Part::Detection]),
    ("diagnosis and isolation", Account::diagnosis),
    ("  ECC or NVLink", |a| a[Part::Diagnosis(Cause::EccNvlink)]),
    ("  CUDA", |a| a[Part::Diagnosis(Cause::Cuda)]),
    ("  CCL timeout", |a| a[Part::Diagnosis(Cause::CclTimeout)]),
    ("  ACK timeout", |a| a[Part::Diagnosis(Cause::AckTimeout)]),
    ("  unknown", |a| a[Part::Diagnosis(Cause::Unknown)]),
    ("re-initialisation", |a| a[Part::Reinitialisation]),
    ("waiting for spares", |a| a[Part::Waiting]),
    ("downtime", Account::downtime),
    ("checkpointing", |a| a[Part::Checkpointing]),
    ("slow communication", |a| a[Part::SlowCommunication]),
    ("slow computing or loading", |a| a[Part::SlowOther]),
    ("productive", |a| a[Part::Productive]),
];
