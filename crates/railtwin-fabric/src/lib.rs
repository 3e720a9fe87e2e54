//! The fabric: a multigraph of ports, cables and links, and the recipes that build one.
//!
//! A *device* has *ports*; a *cable* joins two ports and is what breaks; it carries two *links*,
//! one per direction, which have capacity and delay and are what congests.
//! Scale-up (NVLink) and scale-out (NIC to NIC) live in one graph with dense ids and CSR adjacency.
//!
//! * [`graph`]: the columns and their accessors.
//! * [`builder`]: the only way to make a [`Fabric`].
//! * [`host`]: host models; [`host_spec`]: what is changed in one; [`host_costs`]: what it costs beside links.
//! * [`links`]: links inside hosts by name; [`delays`]: delays of cables that every preset takes.
//! * [`inside`]: the links that data takes inside a host.
//! * [`clos`]: one builder for every tiered fabric; [`preset`]: known designs, one file each.
//! * [`frontend`]: the frontend network, and storage hosts on it or on the backend.
//! * [`reach`]: which NICs the switches join; [`connectivity`]: what of it outlives a switch.
//! * [`cable_list`]: the neutral form, by name: what it tells of roles, and the way to a fabric and back.
//! * [`design`]: counts, oversubscription, blast radius, computed from the built graph.
//!
//! ```
//! use railtwin_fabric::preset::Hpn;
//! let fabric = Hpn::default().build().unwrap();
//! assert_eq!(railtwin_fabric::design::DesignReport::of(&fabric).gpus_active, 15_360);
//! ```
mod bounds;
pub mod builder;
pub mod cable_list;
pub mod clos;
pub mod connectivity;
pub mod delays;
pub mod design;
pub mod error;
pub mod frontend;
pub mod graph;
pub mod host;
pub mod host_costs;
mod host_models;
pub mod host_spec;
pub mod inside;
pub mod links;
pub mod name;
mod peers;
pub mod preset;
pub mod reach;
mod weight;

pub use error::FabricError;
pub use frontend::{Frontend, Network, Outside, Storage};
pub use graph::{
    CableClass, CableId, DeviceId, DeviceKind, Fabric, HostId, LinkId, NONE, PortId, PortRole, SwitchPlace,
};
pub use host::{HostModel, NicModel};
pub use host_costs::HostCosts;
pub use host_spec::HostSpec;
pub use reach::Reach;
