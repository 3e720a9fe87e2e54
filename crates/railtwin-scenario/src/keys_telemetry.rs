//! The keys of `[telemetry]`.
use crate::telemetry_spec::{JitterSpec, TelemetryAxis};
use railtwin_units::keys::{Kind, Table, key};

static AXIS: Kind = Kind::Choice(&TelemetryAxis::NAMES);

pub(crate) static TELEMETRY: Table = Table {
    title: "[telemetry]",
    keys: &[
        key(
            "job",
            Kind::Text,
            "The job whose ranks tell; default the first. A copy is called name-0 and so on.",
        ),
        key("axes", Kind::List(&AXIS), "Axes whose operations are told; default all but tp."),
        key("messages", Kind::Bool, "Whether queue pairs tell of their messages; default true."),
        key("counters", Kind::Time, "How often counters are read; default never."),
        key("probes", Kind::Time, "How often paths of the job are probed; default never."),
        key(
            "jitter",
            Kind::Choice(&JitterSpec::NAMES),
            "How much healthy ranks vary: as measured clusters do, or not at all; default measured.",
        ),
        key(
            "steps",
            Kind::Whole(1, 1_000_000),
            "Steps that are replayed; default those of the run, and of more its last step again and again.",
        ),
        key("diagnose", Kind::Bool, "Whether detectors look at the records; default true."),
    ],
    ..Table::EMPTY
};
