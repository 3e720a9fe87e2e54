//! railtwin: the twin of a GPU training cluster's network, as a library.
//!
//! * [`Question`]: a scenario on disk; [`Question::resolve`] makes the case.
//! * [`Run`]: one run with figures, tables, run folder and report.
//! * [`Runnable`]: a point of whichever kind, steps or weeks of jobs, as sweeps run it; [`Ran`] what comes of it.
//! * [`mod@diagnose`]: what telemetry, simulated or of a real cluster, says of who is at fault.
//! * [`interference`]: what jobs on one fabric cost each other.
//! * [`impact`]: what a device touches, and what draining it would cost; [`mod@what_if`]: placements of a job, before it
//!   is placed.
//! * [`life`]: weeks of a job under failures, and what a controller does about them, by `railtwin_reliability`.
//! * [`headline`]: the answer of a run, and of two, in words.
//! * [`estimate`]: what a run will take, before it begins.
//! * [`assumed`]: the defaults that a result rests on.
//! * [`gain`]: what one value of an axis gains over another.
//! * [`mod@schedule`]: who goes first, by which path, when jobs share links.
//! * [`report`]: the page of a run; [`diagnosed_page`]: that of a diagnosis.
//!
//! ```
//! use railtwin::{Question, Run};
//! let text = r#"
//! schema = 1
//! name = "ring-of-two"
//! [fabric]
//! preset = "fat-tree"
//! k = 4
//! [[job]]
//! gpus = 2
//! collective = { kind = "all-reduce", bytes = "1 GB" }
//! "#;
//! let question = Question::of_text("ring.toml", text, std::path::Path::new("."));
//! let point = question.points()?.remove(0);
//! let run = Run::of(question.resolve(&point.scenario)?, &|| ());
//! // 4,096 of 4,178 bytes on the wire are data.
//! assert!((run.figure("busbw_mean").unwrap() / 392.1e9 - 1.0).abs() < 1e-3);
//! # Ok::<(), railtwin::Error>(())
//! ```
#![allow(clippy::disallowed_methods, reason = "the façade reads scenarios and what they name")]

pub mod assumed;
pub mod balance;
pub mod busbw;
pub mod capacity;
pub mod cluster;
pub mod columns;
pub mod control_page;
pub mod cost;
pub mod cost_json;
pub mod diagnose;
pub mod diagnosed_page;
pub mod diagnosis_page;
pub mod engines;
pub mod error;
pub mod estimate;
pub mod events;
pub mod exposed;
pub mod fault_states;
pub mod faults;
pub mod figures;
pub mod gain;
pub mod headline;
pub mod host_model;
pub mod impact;
pub mod interference;
pub mod intranode;
pub mod job_figures;
pub mod life;
pub mod link_bins;
pub mod links;
pub mod map;
pub mod memory;
pub mod memory_figures;
pub mod movement;
pub mod moves;
pub mod nic_ports;
pub mod packet_figures;
pub mod packet_page;
#[cfg(test)]
mod packet_sample;
pub mod packet_tables;
pub mod paths;
pub mod probe_rounds;
pub mod probe_tables;
pub mod progress;
pub mod question;
pub mod queue_pairs;
pub mod report;
pub mod run;
pub mod runnable;
pub mod schedule;
pub mod simulate;
mod simulation;
pub mod site;
pub mod stall_causes;
pub mod stops;
pub mod storage;
pub mod tables;
pub mod telemetry_run;
pub mod time_up;
pub mod watch;
pub mod what_if;
pub mod wiring;

pub use error::Error;
pub use estimate::Estimate;
pub use question::{Question, Resolved};
pub use run::{Run, Unexpected};
pub use runnable::{Ran, Runnable};

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
