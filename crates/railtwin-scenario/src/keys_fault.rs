//! The keys of `[[fault]]`, `[reaction]` and `[transport]`.
use crate::fault_spec::{FaultCause, FaultKind, FaultSubject};
use crate::schema::{Kind, Table, key};

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
            Kind::Choice(&["out", "in", "both"]),
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

pub(crate) static REACTION: Table = Table {
    title: "[reaction]",
    keys: &[
        key(
            "detection",
            Kind::Time,
            "From the loss of light until a port counts as down; default 10 ms. What is shorter goes unnoticed.",
        ),
        key(
            "lag_failover",
            Kind::Time,
            "Then, until the bond of a NIC has moved its queue pairs to another port; default 100 ms.",
        ),
        key(
            "ecmp_regroup",
            Kind::Time,
            "After detection, until a switch leaves its own dead port out of its groups; default 50 ms.",
        ),
        key(
            "withdrawal",
            Kind::Time,
            "After detection, until a switch has withdrawn the routes that it lost; default 100 ms.",
        ),
        key("convergence", Kind::Time, "Then, until all switches follow changed routes; default 500 ms."),
        key(
            "arp_proxy",
            Kind::Bool,
            "Whether leaves route the traffic of their own segment instead of bridging it; default true.",
        ),
        key("mac_aging", Kind::Time, "Life of a MAC address in a leaf's table; default 300 s."),
        key(
            "lacp",
            Kind::Time,
            "From the repair of a NIC's cable until its port is in its bond; default 2 s.",
        ),
        key("arp", Kind::Time, "Then, until the leaf announces the host again; default 1 s."),
    ],
    ..Table::EMPTY
};

pub(crate) static TRANSPORT: Table = Table {
    title: "[transport]",
    keys: &[
        key(
            "timeout",
            Kind::Whole(1, 31),
            "Exponent of the local ACK timeout, 4.096 us times 2 to this power; default 20.",
        ),
        key("retry_count", Kind::Whole(0, 7), "Retransmissions before a queue pair dies; default 7."),
        key(
            "resume",
            Kind::Choice(&["nak", "timeout"]),
            "When a queue pair goes on over a new path: at once or at its next retransmission; default nak.",
        ),
    ],
    ..Table::EMPTY
};
