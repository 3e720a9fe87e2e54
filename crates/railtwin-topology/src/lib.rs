//! Topology files of other projects, in and out.
//!
//! A [`Topology`] is what the files of one *form* tell of a cluster: devices, ports and cables by name, as a
//! [`CableList`](railtwin_fabric::cable_list::CableList), with what a list has no place for beside it, and with
//! [`TopologyFinding`]s where the files contradict themselves. Damage is a finding, never an error: an error is a file that is
//! not of the form at all, or a line that cannot be read.
//!
//! * [`form`]: what a form is; [`registry`]: all of them, one [`Form`] for each format; [`read_as`] finds that of files.
//! * [`topology`]: the neutral topology; [`about`]: what is known of its devices.
//! * [`tiers`]: roles of switches by their distance from hosts.
//! * [`tree`]: trees of schedulers, and how a network becomes one; [`hostlist`]: lists of hosts in brackets.
//! * `forms`: one folder for each format;
//! * [`nccl`]: hosts as NCCL has them, which are no topologies of a network.
pub mod about;
pub mod form;
mod forms;
pub mod hostlist;
mod labels;
pub mod nccl;
mod of_fabric;
pub mod registry;
pub mod tiers;
pub mod topology;
pub mod tree;
mod wiring;
mod yaml;

pub use about::{About, DeviceClass};
pub use form::{Form, SourceFile, WriteOptions, Written};
pub use registry::{FORMS, form_of, named, names, read_as};
pub use topology::{Counts, Topology, TopologyFinding};
