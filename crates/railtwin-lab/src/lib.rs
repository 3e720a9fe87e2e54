//! Eight real ranks in network namespaces of this host, faults of which the truth is known, and limits that a watcher must
//! keep.
//!
//! 1. [`network`]: namespaces behind one bridge, links of limited rate.
//! 2. [`fault`]: faults and their repair.
//! 3. [`job`]: attempts of a job, each in a folder of records of its own.
//! 4. [`watch`]: `railtwin watch` as a child process, and its events.
//! 5. [`verdict`]: events against the truth, pure.
//! 6. [`trial`]: all of it in order.
//!
//! Beside it, [`bond`]: LACP of ours against the bond of Open vSwitch.
//!
//! It needs root, network namespaces and `tc`; [`lacks`] says what is missing.
#![allow(clippy::disallowed_methods, reason = "a laboratory: processes, files and clocks are its matter")]

pub mod bandwidth;
pub mod bond;
pub mod check;
pub mod fault;
pub mod faults;
pub mod gap;
pub mod holder;
mod host;
pub mod job;
pub mod master;
mod netlink;
mod netns;
pub mod network;
pub mod page;
pub mod plant;
pub mod predict;
pub mod probe;
pub mod simulated;
mod sniff;
pub mod tools;
pub mod trial;
pub mod verdict;
pub mod watch;

pub use holder::Lab;
pub use host::{LabError, LabRefusal, lacks, now_ns};
pub use plant::Plant;
