//! Watches a folder of evidence of running jobs.
//!
//! 1. [`Follower`]: what is new in files, once, through rotation, truncation and files that come late.
//! 2. Live records go to the judge of their job; all else goes to a spool, which `railtwin diagnose` judges whole.
//! 3. What both say becomes incidents: [`IncidentEvent`]s that are numbered, stored before they are told, and told once, also by a
//!    watch that was killed and started again.
//! 4. [`Outbox`] posts events, [`serve`] shows them and metrics.
//!
//! [`Watch`] is all of it without clocks and threads of its own: a caller says when to look and what time it is.
#![allow(clippy::disallowed_methods, reason = "evidence lies in files, and jobs run now")]

mod board;
mod error;
mod event;
mod findings;
mod follow;
mod jobs;
mod journal;
mod judgement;
mod outbox;
mod page;
mod server;
mod spool;
mod strip;
mod trail;
mod watch;

pub use board::{Board, IncidentState};
pub use error::WatchError;
pub use event::{EventKind, IncidentEvent};
pub use follow::{Follower, Growth, Look, Piece};
pub use journal::JOURNAL;
pub use outbox::Outbox;
pub use page::{escaped, sentence};
pub use server::{Shown, serve};
pub use watch::{LookTime, Watch, WatchSettings};
