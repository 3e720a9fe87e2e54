//! The scenario as types: what a person asks, spelled out.
use std::collections::BTreeMap;

use railtwin_engine::packet::Packets;
use railtwin_engine::{ControlSpec, IntranodeSpec, Pace, Reaction, RoutingSpec, Transport};
use railtwin_fabric::{Frontend, Storage};
use railtwin_routing::protocol::set::DualTor;
use railtwin_units::SimTime;
use railtwin_units::keys::{Kind, Table, joined, key, whole};
use serde::Serialize;

use crate::expect::{BOUNDS, Bounds};
use crate::section::cluster::ClusterSpec;
use crate::section::fabric::{CapSpec, FabricSpec};
use crate::section::failures::FailuresSpec;
use crate::section::fault::FaultSpec;
use crate::section::job::JobSpec;
use crate::section::packet::SwitchesSpec;
use crate::section::steering::SteeringSpec;
use crate::section::telemetry::TelemetrySpec;

/// The version of the scenario's schema that this program reads and writes.
pub const SCHEMA: u32 = 1;

railtwin_units::section! {
    /// A question: a fabric, jobs on it, how traffic finds its way, what breaks, what is expected.
    ///
    /// [`Scenario::parse`] reads one from text; [`Scenario::to_toml`] writes it back.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Scenario "a scenario" {
        /// Name of the scenario.
        #[key(fixed)]
        pub name: String [Kind::Name],
        /// The question, for people.
        #[key(fixed)]
        pub description: Option<String> = None,
        /// Seed of every random stream.
        pub seed: u64 = 1,
        /// What executes the case.
        pub engine: EngineName = EngineName::Flow,
        /// How much is run.
        pub run: RunSpec = RunSpec::default(),
        /// What the jobs run on.
        pub fabric: FabricSpec,
        /// The network of the hosts' frontend NICs; default none, or as HPN has it where storage stands on it.
        pub frontend: Option<Frontend> = None,
        /// The storage cluster that jobs read from and write checkpoints to; default none.
        pub storage: Option<Storage> = None,
        /// How traffic finds its way.
        pub routing: RoutingSpec = RoutingSpec::default(),
        /// How controllers hear of what happens, and how their decisions take effect.
        #[key(sparse)]
        pub control: ControlSpec = ControlSpec::default(),
        /// Weeks of jobs, in place of the jobs.
        pub cluster: Option<ClusterSpec> = None,
        /// Traffic inside hosts and between them, in place of the jobs.
        pub intranode: Option<IntranodeSpec> = None,
        /// The jobs.
        pub jobs as "job": Vec<JobSpec> = Vec::new(),
        /// Limits inside a host.
        pub caps as "cap": Vec<CapSpec> = Vec::new(),
        /// What breaks and when.
        pub faults as "fault": Vec<FaultSpec> = Vec::new(),
        /// What breaks by chance, by rates or from a history.
        pub failures: Option<FailuresSpec> = None,
        /// How the job lives with what breaks by chance, over the real time of `[failures]`.
        pub steering: Option<SteeringSpec> = None,
        /// How long the network takes to react to a fault.
        pub reaction: Reaction = Reaction::default(),
        /// The leaves that hosts are bonded to.
        #[key(sparse)]
        pub dual_tor: DualTor = DualTor::default(),
        /// How queue pairs live through a fault.
        pub transport: Transport = Transport::default(),
        /// What packets ask.
        #[key(sparse)]
        pub packet: Packets = Packets::default(),
        /// The switches of each tier.
        #[key(packet, sparse)]
        pub switch: SwitchesSpec = SwitchesSpec::default(),
        /// What ranks record, and whether it is looked at; without it nothing is recorded.
        pub telemetry: Option<TelemetrySpec> = None,
        /// What one value of an axis gains over another.
        pub gain: Option<GainSpec> = None,
        /// What the figures of a run are expected to be, by the figure's name.
        #[key(fixed)]
        pub expect: BTreeMap<String, Bounds> [Kind::Named(&BOUNDS)] = BTreeMap::new(),
    }
}

/// The whole text.
pub(crate) static SCENARIO: Table = Table {
    keys: &joined::<{ Scenario::TABLE.keys.len() + 1 }>(&[
        &[key("schema", Kind::Version, "Version of the scenario format.").required().fixed()],
        Scenario::TABLE.keys,
    ]),
    ..Scenario::TABLE
};

/// The description of all keys, which the checks, the sweeps, the JSON Schema and the reference are made of.
pub fn keys() -> &'static Table {
    &SCENARIO
}

impl Scenario {
    /// A scenario with a name and a fabric, and the defaults for all else.
    pub fn new(name: &str, fabric: FabricSpec) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            seed: 1,
            engine: EngineName::Flow,
            run: RunSpec::default(),
            fabric,
            frontend: None,
            storage: None,
            routing: RoutingSpec::default(),
            control: ControlSpec::default(),
            cluster: None,
            intranode: None,
            jobs: Vec::new(),
            caps: Vec::new(),
            faults: Vec::new(),
            failures: None,
            steering: None,
            reaction: Reaction::default(),
            dual_tor: DualTor::default(),
            transport: Transport::default(),
            packet: Packets::default(),
            switch: SwitchesSpec::default(),
            telemetry: None,
            gain: None,
            expect: BTreeMap::new(),
        }
    }

    /// The scenario as canonical TOML: every default spelled out, quantities exact.
    /// [`Scenario::parse`] of the text gives the same scenario, if it is one that text can say.
    pub fn to_toml(&self) -> String {
        #[derive(Serialize)]
        struct Versioned<'a> {
            schema: u32,
            #[serde(flatten)]
            scenario: &'a Scenario,
        }
        let versioned = Versioned { schema: SCHEMA, scenario: self };
        let table = toml::Table::try_from(versioned)
            .expect("text keys and numbers below 2^63 are all that a scenario holds");
        table.to_string()
    }
}

railtwin_units::section! {
    /// A comparison over a sweep.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct GainSpec "[gain]" {
        /// The figure that is compared.
        #[key(fixed)]
        pub figure: String,
        /// The axis, such as fabric.planes.
        #[key(fixed)]
        pub axis: String,
        /// The value of the axis that the others are held against.
        #[key(fixed)]
        pub over: String,
    }
}

railtwin_units::choice! {
    /// What executes a case.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum EngineName {
        /// The flow-level engine.
        #[default]
        Flow = "flow",
        /// The packet-level engine.
        Packet = "packet",
    }
}

railtwin_units::section! {
    /// How much is run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RunSpec "[run]" {
        /// Draws of the hash seeds.
        pub replicates: u32 [whole(1..=100_000)] = 1,
        /// Training steps in each replicate.
        pub steps: u32 [whole(1..=100_000)] = 1,
        /// What moves in lock step; default class for training under a static split, else bundle.
        #[key(flow)]
        pub pace: Option<Pace> = None,
        /// Width of the buckets of the throughput table; default no table.
        #[key(flow)]
        pub throughput: Option<SimTime> [Kind::Span] = None,
    }
}
