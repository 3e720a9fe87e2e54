//! The keys of a scenario, all but those of `[fabric]`, of faults and of packets.
use railtwin_engine::packet::Packets;
use railtwin_engine::{Reaction, RoutingSpec, Transport};
use railtwin_fabric::HostModel;

use railtwin_workload::{Algorithm, Collective, Recompute};

use crate::job::{MemoryRule, Per};
use crate::keys_fabric::FABRIC;
use crate::scenario::{EngineName, RunSpec};
use crate::section::failures::FAILURES;
use crate::section::fault::FaultSpec;
use crate::section::packet::SwitchesSpec;
use crate::section::telemetry::TelemetrySpec;
use railtwin_units::keys::{Key, Kind, Table, Variant, key};

/// Bound of counts of work.
const MANY: i64 = 1_000_000;
/// GPUs, hosts and host numbers.
const MOST_GPUS: i64 = 1 << 24;

/// The description of all keys, which the checks, the sweeps, the JSON Schema and the reference are made of.
pub fn keys() -> &'static Table {
    &SCENARIO
}

/// The whole text.
pub(crate) static SCENARIO: Table = Table {
    title: "a scenario",
    keys: &[
        key("schema", Kind::Version, "Version of the scenario format.").required().fixed(),
        key("name", Kind::Name, "Name of the scenario.").required().fixed(),
        key("description", Kind::Text, "The question, for people.").fixed(),
        key("seed", Kind::Whole(0, i64::MAX), "Seed of every random stream; default 1."),
        key("engine", Kind::Choice(&EngineName::NAMES), "What executes the case; default flow."),
        key("run", Kind::Section(&RunSpec::TABLE), "How much is run."),
        key("fabric", Kind::Section(&FABRIC), "What the jobs run on.").required(),
        key("routing", Kind::Section(&RoutingSpec::TABLE), "How traffic finds its way."),
        key("job", Kind::Sections(&JOB), "The jobs."),
        key("cap", Kind::Sections(&CAP), "Limits inside a host.").flow(),
        key("fault", Kind::Sections(&FaultSpec::TABLE), "What breaks and when."),
        key("failures", Kind::Section(&FAILURES), "What breaks by chance, by rates or from a history."),
        key("reaction", Kind::Section(&Reaction::TABLE), "How long the network takes to react to a fault."),
        key("transport", Kind::Section(&Transport::TABLE), "How queue pairs live through a fault."),
        key("packet", Kind::Section(&Packets::TABLE), "What packets ask."),
        key("switch", Kind::Section(&SwitchesSpec::TABLE), "The switches of each tier.").packet(),
        key(
            "telemetry",
            Kind::Section(&TelemetrySpec::TABLE),
            "What ranks record, and whether it is looked at; without it nothing is recorded.",
        ),
        key("gain", Kind::Section(&GAIN), "What one value of an axis gains over another."),
        key("expect", Kind::Named(&BOUNDS), "What the figures of a run are expected to be.").fixed(),
    ],
    ..Table::EMPTY
};

static GAIN: Table = Table {
    title: "[gain]",
    keys: &[
        key("figure", Kind::Text, "The figure that is compared.").required().fixed(),
        key("axis", Kind::Text, "The axis, such as fabric.planes.").required().fixed(),
        key("over", Kind::Text, "The value of the axis that the others are held against.").required().fixed(),
    ],
    ..Table::EMPTY
};

static JOB: Table = Table {
    title: "[[job]]",
    keys: &[
        key("name", Kind::Name, "Name of the job; default job-0, job-1 and so on.").fixed(),
        key("count", Kind::Whole(1, MANY), "Copies of the job; default 1."),
        key("hosts", Kind::Whole(1, MOST_GPUS), "Size in whole hosts."),
        key("gpus", Kind::Whole(1, MOST_GPUS), "Size in GPUs."),
        key(
            "placement",
            Kind::ChoiceOrValue(&["packed", "spread", "random"], &HOST_LIST, "{ hosts = [0, 1] }"),
            "Where the ranks go; default packed.",
        ),
        key("start", Kind::Time, "When it starts; default 0 s."),
        key(
            "workload",
            Kind::Value(&WORKLOAD),
            "Training steps from a recipe or a trace, or plain transfers.",
        ),
        key("collective", Kind::Value(&COLLECTIVE), "One collective, repeated."),
    ],
    exactly_one: &["workload", "collective"],
    at_most_one: &["hosts", "gpus"],
    ..Table::EMPTY
};

static HOST_LIST: Table = Table {
    title: "`placement`",
    keys: &[key("hosts", Kind::List(&HOST_NUMBER), "Host numbers, in the order of the ranks.").required()],
    ..Table::EMPTY
};

static HOST_NUMBER: Kind = Kind::Whole(0, MOST_GPUS);

static WORKLOAD: Table = Table {
    title: "`workload`",
    keys: &[
        key("recipe", Kind::Text, "A model by name, such as gpt3-175b."),
        key("simai", Kind::Text, "Path of a SimAI workload text."),
        key("chakra", Kind::Text, "Path of Chakra traces, without the rank."),
        key("connections", Kind::Text, "Path of an htsim connection matrix (.cm)."),
        key("traffic", Kind::Choice(&crate::TrafficSpec::NAMES), "Plain transfers by a pattern."),
    ],
    variants: &[&[
        Variant { key: "recipe", value: None, keys: RECIPE },
        Variant { key: "simai", value: None, keys: SIMAI },
        Variant { key: "chakra", value: None, keys: &[] },
        Variant { key: "connections", value: None, keys: &[] },
        Variant { key: "traffic", value: Some("permutation"), keys: PERMUTATION },
        Variant { key: "traffic", value: Some("shift"), keys: SHIFT },
        Variant { key: "traffic", value: Some("incast"), keys: INCAST },
        Variant { key: "traffic", value: Some("all-to-all"), keys: &[TRANSFER] },
    ]],
    exactly_one: &["recipe", "simai", "chakra", "connections", "traffic"],
    ..Table::EMPTY
};

const TRANSFER: Key = key("bytes", Kind::Size { zero: false }, "Bytes of each transfer.").required();
const PERMUTATION: &[Key] =
    &[TRANSFER, key("seed", Kind::Whole(0, i64::MAX), "Seed of the draw; default the scenario's.")];
const SHIFT: &[Key] =
    &[TRANSFER, key("shift", Kind::Whole(1, MOST_GPUS), "By how many ranks each sends; default 1.")];
const INCAST: &[Key] = &[
    TRANSFER,
    key("sources", Kind::Whole(1, MOST_GPUS), "How many of the other ranks send; default all."),
    key("target", Kind::Whole(0, MOST_GPUS), "The rank that receives; default 0."),
];

const SIMAI: &[Key] = &[key(
    "interleave",
    Kind::Whole(1, MANY),
    "Model chunks of a stage; default the file's vpp where it fits.",
)];

const RECIPE: &[Key] = &[
    key("tp", Kind::Whole(1, MANY), "Tensor parallelism; default 1."),
    key("pp", Kind::Whole(1, MANY), "Pipeline parallelism; default 1."),
    key("dp", Kind::Whole(1, MANY), "Data parallelism; default 1."),
    key(
        "ep",
        Kind::Whole(1, MANY),
        "Expert parallelism of a model with experts, a divisor of `dp`; default 1.",
    ),
    key("micro_batches", Kind::Whole(1, MANY), "Micro-batches of a step per replica; default 1."),
    key("micro_batch", Kind::Whole(1, MANY), "Sequences in a micro-batch; default 1."),
    key(
        "efficiency",
        Kind::Share(0.0, 1.0),
        "Share of the GPU's peak that computation reaches; default 0.5.",
    ),
    key("interleave", Kind::Whole(1, 1024), "Virtual pipeline stages per GPU; default 1."),
    key(
        "zero",
        Kind::Whole(0, 3),
        "Stage of ZeRO, what data parallel ranks hold in parts; default 0, nothing.",
    ),
    key(
        "recompute",
        Kind::Choice(&Recompute::NAMES),
        "Activations that are computed again backward instead of kept; default selective, the scores of attention.",
    ),
    key(
        "memory",
        Kind::Choice(&MemoryRule::NAMES),
        "What becomes of a job that the memory of a GPU does not hold: an error, or a warning; default check.",
    ),
];

const SIZE: Kind = Kind::Size { zero: false };
const COLLECTIVES: Kind = Kind::Choice(&Collective::NAMES);
const ALGORITHMS: Kind = Kind::Choice(&Algorithm::NAMES);

static COLLECTIVE: Table = Table {
    title: "`collective`",
    keys: &[
        key("kind", COLLECTIVES, "Which collective.").required(),
        key("bytes", SIZE, "Size of the buffer, as nccl-tests counts it.").required(),
        key("algorithm", ALGORITHMS, "How it is carried out; default what suits the collective."),
        key("repeat", Kind::Whole(1, MANY), "How often, one after another; default 1."),
        key("compute", Kind::Time, "How long every GPU computes before each; default 0 s."),
        key(
            "per",
            Kind::Choice(&Per::NAMES),
            "One communicator over all GPUs, or one per rail; default all.",
        ),
    ],
    ..Table::EMPTY
};

static CAP: Table = Table {
    title: "[[cap]]",
    keys: &[
        key("collective", COLLECTIVES, "The collective.").required(),
        key("algorithm", ALGORITHMS, "Its algorithm.").required(),
        key("host", Kind::Choice(&HostModel::NAMES), "The host model; default every host."),
        key("busbw", Kind::Rate { zero: false }, "Bus bandwidth that a host does not exceed.").required(),
    ],
    ..Table::EMPTY
};

static BOUNDS: Table = Table {
    title: "[expect]",
    keys: &[
        key("at_least", Kind::Amount, "The least that is accepted.").fixed(),
        key("at_most", Kind::Amount, "The most that is accepted.").fixed(),
        key("equals", Kind::Amount, "The value that is expected.").fixed(),
        key(
            "tolerance",
            Kind::Share(0.0, 1.0),
            "How far from `equals` is accepted, as a share of it; default not at all.",
        )
        .fixed(),
        key("when", Kind::Conditions, "Points of a sweep that this holds for, by the values of their keys.")
            .fixed(),
    ],
    ..Table::EMPTY
};
