//! The contract between cases and engines.
//!
//! * [`graph`]: the operations of all jobs of a case as one graph.
//! * [`bundles`]: communication patterns on links: what an engine moves.
//! * [`lower`]: from ranks to links, with routing and the split over queue pairs.
//! * [`no_way`]: what the fabric has no way for.
//! * [`extent`]: how many rows that makes, counted before it is done.
//! * [`balancer`]: who picks paths, and what others go by; [`choose`]: the path of every queue pair.
//! * [`mediator`]: events to controllers, and their actions to hosts and leaves.
//! * [`own`]: controllers of one's own: how they come into a run.
//! * [`opened`]: the connections of a replicate, with its seeds and the numbers of its queue pairs.
//! * [`host_costs`]: what hosts cost beside links; [`Beside`]: what collectives leave of computation.
//! * [`edge_rates`]: what each queue pair carries and could carry, for who tells it of ranks.
//! * [`fault`]: what breaks while a run goes on, how the network reacts, how queue pairs live through it.
//! * [`packet`]: what only packets ask of a case; [`packet_log`]: what they leave behind; [`packet_records`]: what devices
//!   tell of themselves meanwhile.
//! * [`intranode`]: what is asked of GPUs inside hosts and of their NICs, and what a run of it leaves behind.
//! * [`routing_spec`], [`control_spec`]: how a scenario says its part of a case.
//! * [`case`]: one fully resolved input; [`routing_case`]: what decides paths in it; [`run_log`]: what an engine hands back.
pub mod balancer;
mod beside;
pub mod bundles;
pub mod case;
pub mod choose;
mod connection;
pub mod control_spec;
pub mod edge_rates;
mod engine;
pub mod extent;
pub mod fault;
mod flow_path;
pub mod graph;
pub mod hashed_zones;
pub mod host_costs;
mod inside;
pub mod intranode;
mod joiner;
pub mod lower;
pub mod mediator;
mod members;
pub mod no_way;
pub mod opened;
pub mod own;
pub mod packet;
pub mod packet_log;
pub mod packet_records;
mod path_sink;
pub mod routing_case;
pub mod routing_spec;
pub mod run_log;
mod step_demand;
mod storage;
mod walk;

pub use balancer::Balancer;
pub use beside::Beside;
pub use bundles::{BundleTable, BundleWriter};
pub use case::Case;
pub use connection::Connection;
pub use control_spec::{ControlSpec, HostsBy};
pub use edge_rates::EdgeRates;
pub use engine::Engine;
pub use extent::Extent;
pub use fault::{
    CableState, Fault, Impairment, LacpRate, Outage, RankFault, RankTrouble, Reaction, Resume, Transport,
    Ways,
};
pub use graph::{JobGraph, PRIORITY_MAX, WorkGraph};
pub use intranode::{IntranodeLog, IntranodeSpec};
pub use mediator::{ActionRow, Feedback, Life, Mediator, Probe, Programmed, Survey};
pub use no_way::{NoWay, Relay};
pub use own::Own;
pub use packet::PacketCase;
pub use packet_log::PacketLog;
pub use packet_records::PacketRecords;
pub use path_sink::nvlink;
pub use railtwin_control::controller::Replan;
pub use routing_case::{Pace, Posting, RoutingCase, SlotOrder, Split};
pub use routing_spec::RoutingSpec;
pub use run_log::{
    Incident, IncidentKind, JobThroughput, OperationTimes, Progress, RunLog, Throughput, Wait,
};
pub use step_demand::step_demand;
