//! The keys of `[failures]`.
use railtwin_diagnosis::failure_process::{PROCESSES, PartKind};

use crate::failures_spec::Repairs;
use crate::fault_spec::{Direction, FaultCause, FaultKind};
use crate::keys_fault::{MOST_FLAPS, SHARE};
use railtwin_units::keys::{Kind, Table, key};

/// Kinds of faults that come by chance while a job runs: all but repairs, and cables that are wrong from the start on.
const KINDS: [&str; 14] = {
    let all = FaultKind::NAMES;
    let mut kept = [""; 14];
    let (mut from, mut to) = (0, 0);
    while from < all.len() {
        if from != FaultKind::Up as usize && from != FaultKind::WrongCable as usize {
            kept[to] = all[from];
            to += 1;
        }
        from += 1;
    }
    kept
};
static KIND: Kind = Kind::Choice(&KINDS);
/// A hundred years.
const MOST_DAYS: f64 = 36_500.0;

pub(crate) static FAILURES: Table = Table {
    title: "[failures]",
    keys: &[
        key("process", Kind::Choice(&PROCESSES), "Rates of a published cluster."),
        key("replay", Kind::Text, "Path of a recorded history of faults, in place of rates."),
        key(
            "hosts",
            Kind::Whole(1, 1 << 24),
            "Hosts of the cluster of the history; default 400, those of the shipped one.",
        ),
        key(
            "first_day",
            Kind::Share(0.0, MOST_DAYS),
            "Day of the history with which the window begins; default its start.",
        ),
        key("from", Kind::Time, "When the window in which faults begin starts; default 0 s."),
        key("window", Kind::Time, "How long it is.").required(),
        key("days", Kind::Share(0.0, MOST_DAYS), "Real days that the window stands for."),
        key("acceleration", Kind::Share(0.0, 1e12), "The same as real seconds for each simulated one."),
        key(
            "repairs",
            Kind::Choice(&Repairs::NAMES),
            "How long repairs take: shortened as the time between failures is, as in reality, or never; default scaled.",
        ),
        key("kinds", Kind::List(&KIND), "Kinds of faults that are drawn; default all."),
        key("seed", Kind::Whole(0, i64::MAX), "Seed of the draw; default the scenario's."),
        key("rate", Kind::Sections(&RATE), "Rates of one's own, instead of a process or beside it."),
    ],
    exactly_one: &["days", "acceleration"],
    at_most_one: &["process", "replay"],
    ..Table::EMPTY
};

static RATE: Table = Table {
    title: "[[failures.rate]]",
    keys: &[
        key("name", Kind::Name, "Name in tables; default part and kind.").fixed(),
        key(
            "part",
            Kind::Choice(&PartKind::NAMES),
            "What fails; of GPUs, NICs, hosts, cables and leaves, those that jobs run on.",
        )
        .required(),
        key("per", Kind::Choice(&PartKind::NAMES), "What the rate is counted over; default the part."),
        key("per_month", Kind::Share(0.0, 1e9), "Failures in 30 days for each of these.").required(),
        key("repair", Kind::Time, "Mean real time until it works again; default never."),
        key("kind", Kind::Choice(&KINDS), "What happens to it.").required(),
        key("flaps", Kind::Whole(1, MOST_FLAPS), "As of a fault."),
        key("period", Kind::Time, "As of a fault."),
        key("length", Kind::Time, "As of a fault."),
        key("direction", Kind::Choice(&Direction::NAMES), "As of a fault."),
        key("capacity", SHARE, "As of a fault."),
        key("loss", SHARE, "As of a fault."),
        key("delay", Kind::Time, "As of a fault."),
        key("factor", Kind::Share(1.0, 1000.0), "As of a fault."),
        key("cause", Kind::Choice(&FaultCause::NAMES), "As of a fault."),
        key("every", Kind::Whole(1, 1_000_000), "As of a fault."),
    ],
    ..Table::EMPTY
};
