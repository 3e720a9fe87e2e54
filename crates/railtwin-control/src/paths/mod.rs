//! Path allocation: which path each queue pair takes, and the UDP source port that makes the switches take it.
//!
//! * [`C4p`]: the controller of all jobs' queue pairs.
//! * [`PathAllocator`]: all jobs' queue pairs over least-used links, left port to left port (C4P, C4 section III-B).
//! * [`Hosts`], [`disjoint()`]: hosts that keep the queue pairs of a connection off each other's links (HPN appendix B).
//! * [`probe`]: the paths between leaves and their faulty links, found by probes alone.
//! * [`HostAgents`], [`HostAgent`]: hosts that know their own leaves and nothing else (HPN section 6.1).
//! * [`LoadBalance`]: how much each queue pair of a connection carries; [`Balancing`]: hosts that go by it in a run.
//! * [`PortWays`]: the paths from a port to a NIC, and a source port for each.
//! * [`Repathing`]: hosts that give marked queue pairs other source ports (PLB).
//!
//! ```
//! use railtwin_control::paths::{Demand, JobId, LinkState, PathAllocator};
//! use railtwin_fabric::{HostId, preset::Hpn};
//! use railtwin_routing::{EcmpConfig, HashFunction, HashSpec, LinkMask, NicPort, Seeds};
//!
//! let fabric = Hpn { segments: Some(2), ..Hpn::default() }.build()?;
//! let ecmp = EcmpConfig::new(HashSpec::new(HashFunction::Crc32), Seeds::PerTier);
//! let mut allocator = PathAllocator::new(&fabric, ecmp, &LinkMask::none(&fabric));
//!
//! let source = NicPort { nic: fabric.nic(HostId(0), 0), port: 0 };
//! let target = fabric.nic(HostId(136), 0);
//! let demand = Demand { source, target, queue_pairs: &[2, 3, 4, 5], weight: 1 };
//! let assigned = allocator.allocate(JobId(0), &[demand]);
//! assert!(assigned.iter().all(|given| given.landed == Some(0)));
//!
//! let uplink = assigned[0].path.links()[1];
//! let plan = allocator.replan_cable(uplink.cable(), LinkState::Down);
//! assert_eq!((plan.moved.len(), plan.ported.len() <= 3), (1, true));
//! # Ok::<(), railtwin_fabric::FabricError>(())
//! ```
//!
//! The model page is `docs/models/path-allocation.md`.
mod allocator;
mod assignment;
mod balancing;
mod bounds;
mod c4p;
mod catalogue;
mod dag;
mod disjoint;
mod fields;
mod flow;
mod hash_table;
pub mod host_agent;
mod host_agents;
mod hosts;
mod lanes;
mod last_choice;
mod layers;
pub mod load_balance;
mod matching;
pub mod probe;
mod rebalance;
mod repathing;
mod replan;
mod search;
mod shortlist;
mod sieve;
mod steered;
mod tries;
mod ways;

pub use allocator::PathAllocator;
pub use assignment::{Assignment, Demand, JobId, MAX_PATH_LINKS, Path, Reason};
pub use balancing::{Balancing, BalancingOptions};
pub use c4p::{C4p, Probing};
pub use disjoint::{Avoid, disjoint, disjoint_source_ports};
pub use host_agent::{HeldPair, HostAgent, LeafGroup, LeafTables, Leaves, Told};
pub use host_agents::HostAgents;
pub use hosts::Hosts;
pub use load_balance::{LoadBalance, LoadBalanceError};
pub use probe::{ProbedPath, Prober, blame};
pub use repathing::{Repathing, RepathingOptions};
pub use replan::{LinkState, Move, Replan};
pub use steered::QueuePairs;
pub use ways::{PortWays, Way};
