//! Emulated networks of this host. Two labs share namespaces and faults:
//!
//! * A **fabric** of real routers: [`plant`] lays a fabric out and starts FRR, [`Lab`] holds it, [`predict`] and [`probe`] say
//!   which path a source port takes, [`faults`] break it, [`gap`] measures what flows feel, [`master`] lets controllers of the
//!   simulator choose the ports of real connections, [`bandwidth`] runs jobs, [`simulated`] has the flow engine beside them,
//!   [`check`] does all in order, [`page`] shows it. [`bond`] holds our LACP against Open vSwitch.
//! * **Eight ranks** behind one bridge, for `make demo-watch`: [`network`], [`fault`], [`job`], [`watch`], [`verdict`] and
//!   [`trial`], with limits that a watcher must keep.
//!
//! It needs root, network namespaces and `tc`; [`lacks`] says what is missing, [`tools`] finds programs of others.
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
