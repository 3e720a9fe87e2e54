//! The keys of `[[fault]]`.
use crate::fault_spec::{Direction, FaultCause, FaultKind, FaultSubject};
use railtwin_units::keys::{Kind, Table, key};

/// Flaps of one fault; each makes events for every cable of the thing.
pub(crate) const MOST_FLAPS: i64 = 10_000;

/// A share of what should be there; a fault that leaves all of it is none.
pub(crate) const SHARE: Kind = Kind::Share(0.0, 1.0);

pub(crate) static FAULT: Table = Table {
    title: "[[fault]]",
    keys: &[
        key("at", Kind::Time, "When; what is down at 0 s has been down for long.").required(),
        key("cable", Kind::Text, "A cable, by the name of one end, such as leaf-0:uplink-3."),
        key("port", Kind::Text, "A port, such as host-0/nic-0:port-1."),
        key("nic", Kind::Text, "A NIC, such as host-0/nic-0."),
        key("leaf", Kind::Text, "A leaf, such as leaf-0."),
        key("spine", Kind::Text, "A spine, such as spine-0."),
        key("device", Kind::Text, "Any switch, NIC or host, such as core-0 or host-3."),
        key("rank", Kind::Text, "A rank of a job, such as job-0/3."),
        key("gpu", Kind::Text, "A GPU, such as host-3/gpu-1."),
        key("host", Kind::Text, "A host, such as host-3: all its ranks or GPUs."),
        key("job", Kind::Text, "A job by name: all its ranks."),
        key("storage", Kind::Choice(&["all"]), "Storage as a whole: all ranks of all jobs."),
        key("kind", Kind::Choice(&FaultKind::NAMES), "What happens to it.").required(),
        key("until", Kind::Time, "When what went down is mended, or what was bad is well; default never."),
        key("flaps", Kind::Whole(1, MOST_FLAPS), "How often it flaps; default 1."),
        key("period", Kind::Time, "From one flap to the next."),
        key("length", Kind::Time, "How long each flap lasts."),
        key(
            "direction",
            Kind::Choice(&Direction::NAMES),
            "Which links: out of the named end, into it, or both; default both, for latency of a switch out.",
        ),
        key("capacity", SHARE, "Share that is left: of a link's rate, for small-buffer of the buffer."),
        key("loss", SHARE, "Share of packets that are lost."),
        key(
            "delay",
            Kind::Time,
            "What is added: to every packet for latency, to a step for data and storage.",
        ),
        key("factor", Kind::Share(1.0, 1000.0), "How many times as long computations take."),
        key("cause", Kind::Choice(&FaultCause::NAMES), "Why a GPU fails or a process crashes."),
        key("every", Kind::Whole(1, 1_000_000), "In every which step storage stalls; default 1, each."),
        key("with", Kind::Text, "The cable that a wrong cable has swapped its far end with."),
    ],
    exactly_one: &FaultSubject::KEYS,
    ..Table::EMPTY
};
