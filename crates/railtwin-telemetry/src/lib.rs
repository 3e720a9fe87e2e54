//! What the ranks of a simulated job would record: operations, messages, counters, probes.
//!
//! Engines know rank classes and bundles; telemetry is of ranks and queue pairs. The replay takes the durations that
//! an engine found and goes through every step rank by rank, with jitter and with faults of single ranks.
//!
//! ```no_run
//! # fn demo(case: &railtwin_engine::Case, log: &railtwin_engine::RunLog, rates: Vec<railtwin_engine::EdgeRates>)
//! # -> Result<(), railtwin_telemetry::TelemetryError> {
//! use railtwin_records::{Batch, Directory};
//! use railtwin_telemetry::{Durations, Replay, Settings};
//! let durations = Durations::from_log(&case.work, 0, log)?; // of a run without faults
//! let mut directory = Directory::default();
//! let mut replay = Replay::new(case, 0, durations, rates, Settings::default(), &mut directory)?;
//! let mut batch = Batch::default();
//! for _ in 0..1_000 {
//!     batch.clear();
//!     replay.step(&mut batch); // one training step of all ranks
//! }
//! # Ok(())
//! # }
//! ```
//!
//! * [`replay`]: the steps; [`durations`]: what an engine found; [`jitter`]: how healthy clusters vary.
//! * [`network`]: states of the network in time and other jobs' visits.
//! * [`packets`]: the same records of a run under the packet engine, taken from what its devices told.
//! * [`counters`]: what NICs, ports, GPUs, processes count; [`probes`]: what probes between NICs find.
pub mod counters;
pub mod durations;
pub mod error;
pub mod jitter;
mod layout;
mod messages;
mod neighbors;
pub mod network;
pub mod packets;
pub mod probes;
mod ranks;
pub mod replay;
mod schedule;
mod settings;
mod waits;
mod who;

pub use counters::{CounterSettings, Counters};
pub use durations::Durations;
pub use error::TelemetryError;
pub use jitter::Jitter;
pub use network::Collision;
pub use packets::PacketTelemetry;
pub use replay::{Progress, Replay};
pub use settings::Settings;
