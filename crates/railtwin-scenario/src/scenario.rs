//! The scenario as types: what a person asks, spelled out.
use std::collections::BTreeMap;

use railtwin_engine::packet::Packets;
use railtwin_engine::{Pace, Reaction, RoutingSpec, Transport};
use railtwin_units::keys::whole;
use railtwin_units::{Rate, SimTime};
use railtwin_workload::{Algorithm, Collective};
use serde::{Deserialize, Serialize};

use crate::expect::Bounds;
use crate::fabric_spec::FabricSpec;
use crate::job::JobSpec;
use crate::section::failures::FailuresSpec;
use crate::section::fault::FaultSpec;
use crate::section::packet::SwitchesSpec;
use crate::section::telemetry::TelemetrySpec;

/// The version of the scenario's schema that this program reads and writes.
pub const SCHEMA: u32 = 1;

/// A question: a fabric, jobs on it, how traffic finds its way, what breaks, what is expected.
///
/// [`Scenario::parse`] reads one from text; [`Scenario::to_toml`] writes it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Name: lower-case letters, digits and `-`.
    pub name: String,
    /// What the question is, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Seed of every random stream of the run; below 2^63.
    #[serde(default = "one")]
    pub seed: u64,
    /// What executes the case.
    #[serde(default)]
    pub engine: EngineName,
    /// How much is run.
    #[serde(default)]
    pub run: RunSpec,
    /// What the jobs run on.
    pub fabric: FabricSpec,
    /// How traffic finds its way.
    #[serde(default)]
    pub routing: RoutingSpec,
    /// The jobs, each with a name of its own.
    #[serde(default, rename = "job", skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSpec>,
    /// Limits inside a host.
    #[serde(default, rename = "cap", skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<CapSpec>,
    /// What breaks and when.
    #[serde(default, rename = "fault", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultSpec>,
    /// What breaks by chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<FailuresSpec>,
    /// How long the network takes to react.
    #[serde(default)]
    pub reaction: Reaction,
    /// How queue pairs live through faults.
    #[serde(default)]
    pub transport: Transport,
    /// What only packets ask; the flow engine ignores it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub packet: Packets,
    /// The switches of each tier; the flow engine ignores it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub switch: SwitchesSpec,
    /// What ranks record; none = nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<TelemetrySpec>,
    /// What one value of an axis gains over another, over a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<GainSpec>,
    /// What the figures of the run are expected to be, by the figure's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<String, Bounds>,
}

impl Scenario {
    /// A scenario with a name and a fabric, and the defaults for all else.
    pub fn new(name: &str, fabric: FabricSpec) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            seed: one(),
            engine: EngineName::Flow,
            run: RunSpec::default(),
            fabric,
            routing: RoutingSpec::default(),
            jobs: Vec::new(),
            caps: Vec::new(),
            faults: Vec::new(),
            failures: None,
            reaction: Reaction::default(),
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

/// Whether a section says nothing.
fn is_default<T: Default + PartialEq>(section: &T) -> bool {
    *section == T::default()
}

fn one() -> u64 {
    1
}

/// A comparison over a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GainSpec {
    /// The figure that is compared.
    pub figure: String,
    /// The axis, such as `fabric.planes`.
    pub axis: String,
    /// The value of the axis that the others are held against.
    pub over: String,
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
        /// What moves in lock step; default class for training, bundle for collectives.
        #[key(flow)]
        pub pace: Option<Pace> = None,
        /// Width of the buckets of the throughput table; default no table.
        #[key(flow)]
        pub throughput: Option<SimTime> = None,
    }
}

/// A limit inside a host for one collective and algorithm, as a bus bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapSpec {
    /// The collective.
    pub collective: Collective,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// The host model; none = every host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The bus bandwidth (as nccl-tests defines it) that a host does not exceed.
    pub busbw: Rate,
}
