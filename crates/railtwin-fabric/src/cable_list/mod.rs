//! Cable lists: a network as devices, ports and cables by name, without a design behind it.
//!
//! A list is the neutral form of a fabric: every map of a cluster can be written as one. It says nothing of what stands
//! inside hosts.
//!
//! * [`infer`]: roles, networks, rails, planes, pods and segments of a list, from its names and its shape;
//! * [`of_fabric`]: the list of a fabric;
//! * [`build`]: the fabric of a list.
pub mod build;
pub mod infer;
mod list;
mod names;
pub mod of_fabric;
mod sites;
mod structure;

pub use build::{CableDesign, ListedFabric};
pub use infer::Inference;
pub use list::{
    CableList, CableNetwork, DeviceRole, ListedCable, ListedDevice, ListedPlace, ListedPort, PortSite,
    StatedPlace, full_name,
};
pub use names::{NaturalName, natural, nic_and_port, role_of};
pub use of_fabric::list_of;
