//! How packets find their way, how switches choose among equal next ports, and how hosts foresee
//! the choice.
//!
//! A packet shows a switch a [`HashKey`]: its [`FiveTuple`], the queue pair it is for, the port it
//! came in by. A [`HashSpec`] says which of those [`Fields`] the switch reads, which
//! [`HashFunction`] it runs, and the seed and bit offset that tell it apart from its neighbours.
//! The hash modulo the size of the ECMP group is the chosen member.
//!
//! Every function here is affine over GF(2), as those in switches are. So a host that knows the
//! specs can go backwards: a [`PortSolver`] names the UDP source port that lands on a wanted
//! member, at one tier or at all of them ([`solve_joint`]). A host that does not steer gets the
//! port that Linux derives from its two queue-pair numbers ([`roce_source_port`]).
//!
//! ```
//! use railtwin_routing::{FiveTuple, HashFunction, HashKey, HashSpec, PortSolver};
//!
//! let key = HashKey::of(FiveTuple::roce(0x0a00_0001, 0x0a00_0102, 0xC000));
//! let leaf = HashSpec::new(HashFunction::Crc32).with_seed(7);
//!
//! // Member 42 of 60 uplinks: ask for a port, then check what the leaf does with it.
//! let port = PortSolver::new(&leaf, &key).solve(60, 42).expect("16384 ports reach 60 members");
//! assert_eq!(leaf.bucket(&key.with_source_port(port), 60), 42);
//! ```
//!
//! On a fabric, [`Forwarding`] holds what each switch may choose from while the links in a
//! [`LinkMask`] are dead, [`EcmpConfig`] which hash it runs, and [`Routing`] puts them together:
//! the path of a packet, all paths there are, and the path that each source port takes.
//!
//! ```
//! use railtwin_fabric::{HostId, preset::Hpn};
//! use railtwin_routing::*;
//!
//! let fabric = Hpn { segments: Some(2), ..Hpn::default() }.build()?;
//! let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
//! let ecmp = EcmpConfig::new(HashSpec::new(HashFunction::Crc32), Seeds::PerTier);
//! let routing = Routing::new(&fabric, &forwarding, &ecmp);
//!
//! // From port 0 of a NIC to the same rail of another segment: NIC, leaf, spine, leaf, NIC.
//! let (nic, target) = (fabric.nic(HostId(0), 0), fabric.nic(HostId(136), 0));
//! let source = NicPort { nic, port: 0 };
//! let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target), 0xC000));
//! let mut path = Vec::new();
//! let landed = routing.route(source, target, &key, &mut path).expect("nothing is dead");
//! assert_eq!((path.len(), landed.port_index), (4, 0));
//!
//! // Source ports reach all sixty spines.
//! let by_port = routing.paths_by_source_port(source, target, &key);
//! assert_eq!(by_port.expect("nothing is dead").len(), 60);
//! # Ok::<(), railtwin_fabric::FabricError>(())
//! ```
//!
//! The model pages are `docs/models/hashing.md` and `docs/models/routing.md`.

mod adjacency;
pub mod balance;
pub mod by_source_port;
mod core_ports;
mod crc;
pub mod ecmp;
pub mod entries;
mod error;
pub mod fields;
pub mod five_tuple;
pub mod forwarding;
pub mod hash;
pub mod mask;
pub mod next_hop;
pub mod paths;
pub mod port_space;
pub mod port_table;
pub mod protocol;
pub mod route;
mod seed_mix;
pub mod seed_table;
pub mod selection;
pub mod solve;
pub mod source_port;
mod spread;
mod toeplitz;

pub use balance::max_mean_ratio;
pub use by_source_port::SteeredPath;
pub use ecmp::{EcmpConfig, Seeds};
pub use entries::{EntryTable, PrefixId, Prefixes, TableEntry};
pub use error::RoutingError;
pub use fields::{Fields, KeyBytes};
pub use five_tuple::{FiveTuple, HashKey};
pub use forwarding::{Access, Forwarding, TargetId};
pub use hash::{HashFunction, HashSpec};
pub use mask::LinkMask;
pub use next_hop::NextHop;
pub use paths::Paths;
pub use port_space::PortSpace;
pub use port_table::PortTable;
pub use route::{Landed, NicPort, NoRoute, Routing, nic_ip};
pub use seed_table::SeedTable;
pub use selection::{DestinationOrder, Hashed, Selection};
pub use solve::{PortSolver, PortsByBucket, Wanted, ports_by_bucket, solve_joint};
pub use source_port::{QueuePairNumbers, connect, roce_source_port};
pub use toeplitz::{RSS_KEY, toeplitz};
