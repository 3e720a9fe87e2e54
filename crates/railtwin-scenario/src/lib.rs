//! The scenario: the one way to say a question.
//!
//! Text in, types out; no file is touched here, a reader argument brings what a scenario names.
//! The text is strict TOML: what is not known is an error that names the place and what would be accepted.
//!
//! * [`Scenario`]: the question as types; [`Scenario::parse`] and [`Scenario::to_toml`].
//! * [`Scenario::resolve`]: the immutable case that engines run.
//! * [`expand`]: a list where one value is wanted is an axis of a sweep.
//! * [`FailuresSpec`]: faults that are drawn by rates; [`expected_faults`] says how many on average.
//! * [`SteeringSpec`]: how a job lives with them; [`failures_by_lot`] draws those of one life.
//! * [`ScenarioError`]: problems with file, line, column, bytes and a hint.
//! * [`keys()`]: the description of the keys; [`json_schema`], [`reference()`]: the same for editors and for people.
//!
//! ```
//! let text = r#"
//! schema = 1
//! name = "two-hosts"
//! [fabric]
//! preset = "leaf-spine"
//! [routing]
//! balancer = ["ecmp", "disjoint"]
//! [[job]]
//! hosts = 2
//! collective = { kind = "all-reduce", bytes = "1 GiB" }
//! "#;
//! let points = railtwin_scenario::expand("two-hosts.toml", text).unwrap();
//! assert_eq!(points[1].label, [("routing.balancer".to_owned(), "disjoint".to_owned())]);
//! ```
#![allow(
    clippy::result_large_err,
    reason = "an error ends the reading: moving a few words more costs nothing"
)]

mod check;
mod consistency;
mod declared;
mod error;
mod expect;
mod json_schema;
mod listed;
mod parse;
mod reference;
mod remarks;
mod resolve;
mod scenario;
mod section;
mod settings;
mod settle;
mod suggest;
mod sweep;
mod tree;
mod unread;
mod violation;

pub use declared::parse_section;
pub use error::{Problem, ScenarioError};
pub use expect::{Amount, Bounds};
pub use json_schema::json_schema;
// Values of keys that are declared where they are read.
pub use railtwin_control::SpareScope;
pub use railtwin_engine::packet::{
    Admission, Aimd, AlphaUpdate, ClampTarget, CongestionControl, Credit, Dcqcn, DcqcnPreset, Ecn, Hpcc,
    MarkAt, NicLimits, Packets, Priority,
};
pub use railtwin_engine::routing_spec::{Replan, RoutingSpec};
pub use railtwin_engine::{
    Balancer, ControlSpec, LacpRate, Pace, Posting, Reaction, Resume, SlotOrder, Split, Transport,
};
pub use railtwin_fabric::preset::{Preset, Tier2};
pub use railtwin_fabric::{Frontend, HostSpec, Network, Storage};
pub use railtwin_reliability::failure_process::{PartKind, Process};
pub use railtwin_routing::Seeds;
pub use railtwin_workload::{Algorithm, Axis, Collective, Recompute};
pub use reference::reference;
pub use resolve::{Reader, Source};
pub use scenario::{EngineName, GainSpec, RunSpec, SCHEMA, Scenario, keys};
pub use section::cluster::{
    ClusterCheckpoint, ClusterInference, ClusterPlacement, ClusterSpec, ClusterStream,
};
pub use section::fabric::host_caps;
pub use section::fabric::price::{cost_of, host_of, protocol_of};
pub use section::fabric::{CapSpec, CapsFile, FabricSpec, HtsimSpec, LingjunSpec, ScalingSpec};
pub use section::failures::resolve::{Failure, expected_faults, failures_by_lot};
pub use section::failures::{FailuresSpec, Origin, RateSpec, Repairs, TimeScale};
pub use section::fault::rules::FaultRule;
pub use section::fault::{Direction, FaultCause, FaultKind, FaultMeasure, FaultSpec, FaultSubject};
pub use section::job::{
    ALL_JOBS, ChakraSpec, CollectiveSpec, ConnectionsSpec, ExpertsSpec, Incast, JobSize, JobSpec, MemoryRule,
    Per, Permutation, Placement, RecipeSpec, Shift, SimaiSpec, TrafficSpec, Transfers, Work, Workload,
};
pub use section::packet::{SwitchModelName, SwitchSpec, SwitchesSpec};
pub use section::steering::{ByHand, SteeredBy, SteeringSpec};
pub use section::storage::{CHECKPOINT, CheckpointSpec, INFERENCE, InferenceSpec, READ, ReadSpec};
pub use section::telemetry::{JitterSpec, TelemetrySpec};
pub use settings::SettingsText;
pub use sweep::{MOST_POINTS, SweepPoint, expand, expand_on};
