//! Meta's centralised traffic engineering (Meta RoCE section 4.3): who sends how much over what is
//! alive, which uplink each flow should take, and how the leaves learn it.
//!
//! * [`collector`]: the static fabric and a feed of link states make the topology of now.
//! * [`matrix`]: who wants to send how much to whom.
//! * [`engine`]: constrained shortest path first, largest flow first; then flows are moved
//!   aside where a link is too full.
//! * [`changes`]: what to write so that the leaves hold what is intended.
//! * [`controller`]: all of it in its period; writes that fail are due again in the next.
//! * [`zone`]: which flows get entries at all.
//!
//! Between two runs, and for flows without an entry, routes of BGP and the hash of ECMP decide.
//!
//! ```
//! use railtwin_control::te::{Demand, Engine, EngineOptions, TrafficMatrix};
//! use railtwin_fabric::{HostId, preset::LeafSpine};
//! use railtwin_routing::{Forwarding, LinkMask, NicPort, Prefixes};
//! use railtwin_units::Rate;
//!
//! let fabric = LeafSpine::default().build()?;
//! let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
//! let engine = Engine::new(Prefixes::by_leaf_set(&fabric), EngineOptions::default());
//!
//! let source = NicPort { nic: fabric.nic(HostId(0), 0), port: 0 };
//! let demand = Demand { source, target: fabric.nic(HostId(9), 0), rate: Rate::from_gbps(200) };
//! let matrix: TrafficMatrix = [demand].into_iter().collect();
//! let placement = engine.place(&fabric, &forwarding, &matrix, None);
//! assert_eq!(placement.entries().count(), 1);
//! assert_eq!(placement.max_utilization(&fabric), 0.5);
//! # Ok::<(), railtwin_fabric::FabricError>(())
//! ```
//!
//! The model page is `docs/models/traffic-engineering.md`.
pub mod changes;
pub mod collector;
pub mod controller;
pub mod engine;
mod flows;
pub mod matrix;
pub mod outcome;
mod repair;
mod spread;
pub mod zone;

pub use changes::{Change, LeafEntries, WriteError, changes};
pub use collector::{Applied, Collector, LinkReport, Subject};
pub use controller::TrafficEngineering;
pub use engine::{Engine, EngineOptions};
pub use matrix::{Demand, TrafficMatrix};
pub use outcome::{FlowPlacement, PlacedFlow};
pub use zone::{Scheme, ZonePolicies, ZonePolicy, ZoneSet};
