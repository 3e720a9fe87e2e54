//! A simulated job as live records: the records that its ranks would write while they run.
//!
//! The flow engine says what each edge of the job's ring carries in every state that faults bring the network into. The replay
//! goes through the job stage by stage and rank by rank, so that operations end rank by rank, and writes records of
//! schema version 1 (`docs/reference/live-records.md`). The judge of real records reads them as they are.
//!
//! 1. [`replay`]: a resolved scenario to a [`LiveReplay`]; [`LiveReplay::lines`]: the file of a rank.
//! 2. Inside: `program` (the acts of a step), `network` (edges and links in time), `faults` (when ranks run, and
//!    how fast), `run` (the stages), `closing` (how the end of one process ends the others), `beats` (heartbeats and
//!    pings), `lines` (the text).
//!
//! ```
//! use railtwin::Question;
//! use railtwin_live::{JudgeSettings, replay};
//! let text = r#"
//! schema = 1
//! name = "four"
//! [run]
//! steps = 20
//! [fabric]
//! preset = "leaf-spine"
//! leaves = 1
//! hosts_per_leaf = 4
//! uplinks = 1
//! host = { model = "plain", gpus = 1, nics = 1 }
//! [[job]]
//! hosts = 4
//! collective = { kind = "all-reduce", bytes = "1 GB", compute = "100 ms" }
//! "#;
//! let question = Question::of_text("four.toml", text, std::path::Path::new("."));
//! let point = question.points()?.remove(0);
//! let resolved = question.resolve(&point.scenario)?;
//! let job = railtwin_replay::replay(&resolved, &railtwin_replay::ReplaySettings::default())?;
//! assert_eq!(job.ranks(), 4);
//! assert!(replay::incidents(&job.records(), JudgeSettings::default()).is_empty(), "nothing is wrong");
//! # Ok::<(), railtwin::Error>(())
//! ```
mod beats;
mod chance;
mod closing;
mod faults;
mod lines;
mod network;
mod program;
mod replay;
mod run;
mod trace;

pub use replay::{LiveReplay, ReplaySettings, replay};
