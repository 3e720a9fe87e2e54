//! What no single key of `[[fault]]` shows: which kind goes with what is named, and with which keys.
use railtwin_units::SimTime;

use crate::section::fault::{FaultKind, FaultSpec};
use crate::violation::Violation;

/// What a kind of fault can happen to, and its keys.
#[derive(Clone, Copy, Debug)]
pub struct FaultRule {
    /// The keys that may name what it happens to.
    pub subjects: &'static [&'static str],
    /// What to write in place of another subject.
    subject_hint: &'static str,
    /// A key that it cannot do without, with an example of it.
    pub needs: Option<(&'static str, &'static str)>,
    /// Keys that it may have beside those of all kinds.
    pub may: &'static [&'static str],
}

/// What has links.
const LINKS: &[&str] = &["cable", "port", "nic", "leaf", "spine", "device"];
const LINKS_HINT: &str = "name a cable, port, nic, leaf, spine or device";

/// What is a switch.
const SWITCH: &[&str] = &["leaf", "spine", "device"];
const SWITCH_HINT: &str = "name a switch: leaf, spine or device";

impl FaultRule {
    /// The rule of a kind.
    pub fn of(kind: FaultKind) -> Self {
        use FaultKind::*;
        let links = |needs, may| Self { subjects: LINKS, subject_hint: LINKS_HINT, needs, may };
        let of = |subjects, subject_hint, needs, may| Self { subjects, subject_hint, needs, may };
        match kind {
            Down => links(None, &["until", "carrier", "direction"]),
            Up => links(None, &[]),
            Flap => links(
                Some(("length", "write how long each flap lasts, such as length = \"2 s\"")),
                &["flaps", "period", "carrier", "direction"],
            ),
            Slow => links(
                Some(("capacity", "write the share that is left, such as capacity = 0.5")),
                &["until", "direction"],
            ),
            Lossy => links(
                Some(("loss", "write the share of packets that are lost, such as loss = 0.001")),
                &["until", "direction"],
            ),
            LoseAcknowledgement => links(None, &["until", "direction"]),
            Latency => links(
                Some(("delay", "write what each packet takes longer, such as delay = \"5 us\"")),
                &["until", "direction"],
            ),
            DataPlane | ControlPlane => of(SWITCH, SWITCH_HINT, None, &["until"]),
            Upgrade => of(
                SWITCH,
                SWITCH_HINT,
                Some(("until", "write when the switch runs again, such as until = \"130 s\"")),
                &[],
            ),
            WrongCable => of(
                &["cable"],
                "name one of the two cables: cable = \"host-0/nic-0:port-0\"",
                Some(("with", "write the other cable, such as with = \"host-0/nic-1:port-0\"")),
                &[],
            ),
            PauseStorm => of(&["port", "nic"], "name the nic or its port", None, &["until", "capacity"]),
            SmallBuffer => of(
                SWITCH,
                SWITCH_HINT,
                Some(("capacity", "write the share of the buffer that works, such as capacity = 0.1")),
                &["until"],
            ),
            SlowGpu => of(
                &["rank", "gpu", "host"],
                "name a rank, gpu or host",
                Some(("factor", "write how many times as long it computes, such as factor = 1.3")),
                &["until"],
            ),
            GpuError => of(
                &["rank", "gpu"],
                "name a rank or gpu",
                Some(("cause", "write cause = \"ecc\", \"nvlink\" or \"cuda\"")),
                &[],
            ),
            Crash => of(
                &["rank", "host"],
                "name a rank or host",
                Some(("cause", "write cause = \"out-of-memory\" or \"bug\"")),
                &[],
            ),
            Hang => of(&["rank"], "name a rank, such as rank = \"job-0/3\"", None, &["until"]),
            SlowData => of(
                &["rank", "host", "job"],
                "name a rank, host or job",
                Some(("delay", "write what each step waits, such as delay = \"300 ms\"")),
                &["until"],
            ),
            StorageStall => of(
                &["storage", "host"],
                "write storage = \"all\", or name a host",
                Some(("delay", "write what a step waits, such as delay = \"20 s\"")),
                &["until", "every"],
            ),
            SizeMismatch => of(&["rank"], "name a rank, such as rank = \"job-0/3\"", None, &[]),
        }
    }

    /// The keys of the kind beside time, subject and kind.
    pub fn keys(&self) -> Vec<&'static str> {
        self.needs.map(|(key, _)| key).into_iter().chain(self.may.iter().copied()).collect()
    }
}

/// Whether a fault of this kind can end while the run goes on.
pub(crate) fn ends(kind: FaultKind) -> bool {
    FaultRule::of(kind).may.contains(&"until")
}

/// The kinds that a key belongs to, for messages.
fn kinds_with(key: &str) -> &'static str {
    match key {
        "direction" => {
            "leave it away, or write kind = \"slow\", \"lossy\", \"lose-acknowledgement\" or \"latency\", or \
             kind = \"down\" or \"flap\" with carrier = true"
        }
        "carrier" => "leave it away, or write kind = \"down\" or \"flap\"",
        "capacity" => "leave it away, or write kind = \"slow\", \"pause-storm\" or \"small-buffer\"",
        "loss" => "leave it away, or write kind = \"lossy\"",
        "delay" => "leave it away, or write kind = \"latency\", \"slow-data\" or \"storage-stall\"",
        "factor" => "leave it away, or write kind = \"slow-gpu\"",
        "cause" => "leave it away, or write kind = \"gpu-error\" or \"crash\"",
        "every" => "leave it away, or write kind = \"storage-stall\"",
        "with" => "leave it away, or write kind = \"wrong-cable\"",
        _ => "leave it away: this fault stays to the end of the run",
    }
}

/// What is wrong with a fault, at which of its keys.
pub(crate) fn trouble_of_fault(fault: &FaultSpec) -> Option<(&'static str, Violation)> {
    let name = fault.kind.name();
    let rule = FaultRule::of(fault.kind);
    let (subject, _) = fault.subject.parts();
    if !rule.subjects.contains(&subject) {
        let message = format!("`{name}` does not happen to a `{subject}`");
        return Some(("kind", (message, rule.subject_hint)));
    }
    of_times(fault).or_else(|| of_keys(fault, &rule))
}

/// Keys that the kind needs or does not know.
fn of_keys(fault: &FaultSpec, rule: &FaultRule) -> Option<(&'static str, Violation)> {
    let name = fault.kind.name();
    let given = [
        ("until", fault.until.is_some()),
        ("flaps", fault.measure.flaps.is_some()),
        ("period", fault.measure.period.is_some()),
        ("length", fault.measure.length.is_some()),
        ("carrier", fault.measure.carrier.is_some()),
        ("direction", fault.measure.direction.is_some()),
        ("capacity", fault.measure.capacity.is_some()),
        ("loss", fault.measure.loss.is_some()),
        ("delay", fault.measure.delay.is_some()),
        ("factor", fault.measure.factor.is_some()),
        ("cause", fault.measure.cause.is_some()),
        ("every", fault.measure.every.is_some()),
        ("with", fault.with.is_some()),
    ];
    let needed = rule.needs.map(|(key, _)| key);
    let foreign = |(key, given): &&(&str, bool)| *given && needed != Some(*key) && !rule.may.contains(key);
    if let Some((key, _)) = given.iter().find(foreign) {
        return Some((key, (format!("`{name}` has no `{key}`"), kinds_with(key))));
    }
    if let Some((key, hint)) = rule.needs
        && !given.contains(&(key, true))
    {
        return Some(("kind", (format!("`{name}` needs `{key}`"), hint)));
    }
    if matches!(fault.kind, FaultKind::Down | FaultKind::Flap)
        && fault.measure.direction.is_some()
        && fault.measure.carrier != Some(true)
    {
        let message = format!("a `{name}` that takes its carrier along takes both directions");
        return Some(("direction", (message, "leave it away, or write carrier = true")));
    }
    let vain = [
        (
            "capacity",
            fault.measure.capacity == Some(1.0),
            "a share of 1 leaves all of it",
            "write a share below 1",
        ),
        (
            "loss",
            fault.measure.loss == Some(1.0),
            "a loss of 1 leaves nothing",
            "write a share below 1, or kind = \"down\"",
        ),
        (
            "delay",
            fault.measure.delay == Some(SimTime::ZERO),
            "a delay of 0 s adds nothing",
            "write a longer time",
        ),
    ];
    if let Some((key, _, message, hint)) = vain.into_iter().find(|(_, vain, ..)| *vain) {
        return Some((key, (message.to_owned(), hint)));
    }
    if fault.kind == FaultKind::WrongCable && fault.at > SimTime::ZERO {
        let message = "cables are wrong from the start of the run on".to_owned();
        return Some(("at", (message, "write at = \"0 s\"")));
    }
    let of_gpu = fault.measure.cause?.is_of_gpu();
    let wrong = match fault.kind {
        FaultKind::GpuError if !of_gpu => "write cause = \"ecc\", \"nvlink\" or \"cuda\"",
        FaultKind::Crash if of_gpu => "write cause = \"out-of-memory\" or \"bug\", or kind = \"gpu-error\"",
        _ => return None,
    };
    Some(("cause", (format!("that is no cause of a `{name}`"), wrong)))
}

/// Times that contradict each other.
fn of_times(fault: &FaultSpec) -> Option<(&'static str, Violation)> {
    let flaps = fault.kind == FaultKind::Flap;
    if let Some(until) = fault.until {
        if matches!(fault.kind, FaultKind::Up | FaultKind::Flap) {
            let message = "`until` is the repair of what goes down".to_owned();
            return Some(("until", (message, "leave it away, or write kind = \"down\"")));
        }
        if until <= fault.at {
            let message = format!("the repair at {until} is not after the fault at {}", fault.at);
            return Some(("until", (message, "write a later time")));
        }
    }
    let given = [
        ("flaps", fault.measure.flaps.is_some()),
        ("period", fault.measure.period.is_some()),
        ("length", fault.measure.length.is_some()),
    ];
    if let Some((key, _)) = given.iter().find(|(_, given)| *given && !flaps) {
        return Some((
            key,
            (format!("`{key}` belongs to a flap"), "leave it away, or write kind = \"flap\""),
        ));
    }
    let again = flaps && fault.measure.flaps.unwrap_or(1) > 1;
    match (fault.measure.length, fault.measure.period) {
        (None, _) if flaps => {
            let hint = "write how long each flap lasts, such as length = \"2 s\"";
            Some(("kind", ("a flap has no `length`".to_owned(), hint)))
        }
        (Some(SimTime::ZERO), _) => Some(("length", ("a flap lasts 0 s".to_owned(), "write a longer time"))),
        (_, None) if again => {
            let hint = "write the time from one flap to the next, such as period = \"30 s\"";
            Some(("flaps", ("flaps have no `period`".to_owned(), hint)))
        }
        (Some(length), Some(period)) if again && period <= length => {
            let message = format!("flaps of {length} every {period} leave no time between them");
            Some(("period", (message, "write a longer period, or one fault with `until`")))
        }
        _ => None,
    }
}
