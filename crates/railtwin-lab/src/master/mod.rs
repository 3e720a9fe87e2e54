//! The master of paths as a service (C4 section III-B): ranks register connections and get source ports, and get others
//! when a path dies.
//!
//! The controllers are those of the simulator. They decide over the fabric's model, by source ports of the model's hash.
//! What a decision means is a path; the master finds a port by which the real fabric takes that path, asking the kernels
//! of the switches. So a controller needs no word of how switches hash.
mod choices;
mod lanes;
mod links;
mod ports;
mod prober;
mod protocol;
mod service;
mod setting;

pub use choices::PathChoices;
pub use lanes::LanePath;
pub use service::{MasterHandle, MasterNote, NoteKind, serve};
pub use setting::{LabBalancer, MasterSetting};
