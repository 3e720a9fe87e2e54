//! The scenario as types: what a person asks, spelled out.
use std::collections::BTreeMap;

use railtwin_units::{Rate, SimTime};
use serde::{Deserialize, Serialize};

use crate::exact;
use crate::expect::Bounds;
use crate::fabric_spec::FabricSpec;
use crate::failures_spec::FailuresSpec;
use crate::fault_spec::{FaultSpec, ReactionSpec, TransportSpec};
use crate::job::{Algorithm, CollectiveKind, JobSpec};
use crate::packet_spec::PacketSpec;
use crate::routing_spec::RoutingSpec;
use crate::switch_spec::SwitchesSpec;
use crate::telemetry_spec::TelemetrySpec;
use crate::trouble_spec::TroubleSpec;

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
    pub reaction: ReactionSpec,
    /// How queue pairs live through faults.
    #[serde(default)]
    pub transport: TransportSpec,
    /// What only packets ask; the flow engine ignores it.
    #[serde(default, skip_serializing_if = "PacketSpec::is_default")]
    pub packet: PacketSpec,
    /// The switches of each tier; the flow engine ignores it.
    #[serde(default, skip_serializing_if = "SwitchesSpec::is_empty")]
    pub switch: SwitchesSpec,
    /// What goes wrong with packets; the flow engine ignores it.
    #[serde(default, rename = "trouble", skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<TroubleSpec>,
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
            reaction: ReactionSpec::default(),
            transport: TransportSpec::default(),
            packet: PacketSpec::default(),
            switch: SwitchesSpec::default(),
            troubles: Vec::new(),
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

/// What executes a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineName {
    /// The flow-level engine.
    #[default]
    Flow,
    /// The packet-level engine.
    Packet,
}

impl EngineName {
    /// All of them, in the order of [`Self::NAMES`].
    pub const ALL: [Self; 2] = [Self::Flow, Self::Packet];
    /// The names in scenarios.
    pub const NAMES: [&'static str; 2] = ["flow", "packet"];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flow => Self::NAMES[0],
            Self::Packet => Self::NAMES[1],
        }
    }

    /// The engine of a name; none where there is no such engine.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }
}

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSpec {
    /// Draws of the hash seeds; percentiles of the step time come from them.
    pub replicates: u32,
    /// Training steps of a job in each replicate.
    pub steps: u32,
    /// What moves in lock step; none = rank classes for training, bundles for collectives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Width of the buckets of the throughput table; none = no table.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact::write_option")]
    pub throughput: Option<SimTime>,
}

/// What moves in lock step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// A channel of a ring, or one free exchange.
    Bundle,
    /// All communicators of a rank class that run the same operation.
    Class,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self { replicates: 1, steps: 1, pace: None, throughput: None }
    }
}

/// A limit inside a host for one collective and algorithm, as a bus bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapSpec {
    /// The collective.
    pub collective: CollectiveKind,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// The host model; none = every host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The bus bandwidth (as nccl-tests defines it) that a host does not exceed.
    #[serde(serialize_with = "exact::write")]
    pub busbw: Rate,
}
