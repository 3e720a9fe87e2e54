//! What no single key of `[failures]` shows.
use std::collections::BTreeSet;

use railtwin_reliability::failure_process::Process;
use railtwin_units::SimTime;

use crate::section::failures::{FailuresSpec, RateSpec};
use crate::section::fault::FaultKind;
use crate::section::fault::rules::{ends, trouble_of_fault};
use crate::violation::Violation;

/// What is wrong with it, each with the path of its key below `failures`.
pub(crate) fn troubles_of_failures(failures: &FailuresSpec) -> Vec<(String, Violation)> {
    let mut all = Vec::new();
    if let Some((key, trouble)) = trouble_of_whole(failures) {
        all.push((key.to_owned(), trouble));
    }
    let mut names = BTreeSet::new();
    for (row, rate) in failures.rate.iter().enumerate() {
        let mut report = |key: &str, trouble| all.push((format!("rate.{row}.{key}"), trouble));
        if !names.insert(rate.name()) {
            let message =
                format!("two rates are called `{}`, so they would fail at the same times", rate.name());
            report("name", (message, "give each its own name, such as name = \"optics\""));
        }
        if let Some((key, trouble)) = trouble_of_rate(rate) {
            report(key, trouble);
        }
    }
    all
}

fn trouble_of_whole(failures: &FailuresSpec) -> Option<(&'static str, Violation)> {
    if failures.window == SimTime::ZERO {
        let message = "a window of 0 s has room for no fault".to_owned();
        return Some((
            "window",
            (message, "write the part of the run in which faults begin, such as \"60 s\""),
        ));
    }
    if failures.origin.is_none() && failures.rate.is_empty() {
        let message = "[failures] says nothing that fails".to_owned();
        return Some(("process", (message, "write a process, a replay, or [[failures.rate]]")));
    }
    let of_replay = [("hosts", failures.hosts.is_some()), ("first_day", failures.first_day.is_some())];
    if let Some((key, _)) = of_replay.iter().find(|(_, given)| *given && failures.replay().is_none()) {
        let hint = "leave it away, or write replay = \"….json\"";
        return Some((key, (format!("`{key}` belongs to a replay"), hint)));
    }
    let kinds = failures.kinds.as_ref()?;
    let mut seen = kinds.iter();
    while let Some(kind) = seen.next() {
        if seen.clone().any(|other| other == kind) {
            let message = format!("`{}` stands twice", kind.name());
            return Some(("kinds", (message, "write each kind once")));
        }
    }
    let drawn = failures.process().map(Process::hazards).unwrap_or_default();
    let of_rates = failures.rate.iter().any(|rate| failures.draws(rate.kind));
    let mut of_drawn = drawn.iter().map(|hazard| hazard.fall.kind);
    if failures.replay().is_none() && !of_rates && !of_drawn.any(|kind| failures.draws(kind)) {
        let message = "nothing fails in one of these ways".to_owned();
        return Some((
            "kinds",
            (message, "write kinds that the process or a rate has, or leave `kinds` away"),
        ));
    }
    None
}

fn trouble_of_rate(rate: &RateSpec) -> Option<(&'static str, Violation)> {
    let fault = rate.fault("all".to_owned());
    if let Some(trouble) = trouble_of_fault(&fault) {
        return Some(trouble);
    }
    if rate.repair == Some(SimTime::ZERO) {
        let message = "a repair of 0 s leaves nothing broken".to_owned();
        return Some(("repair", (message, "write a longer time")));
    }
    if rate.repair.is_some() && !ends(rate.kind) {
        let message = format!("`{}` has no `repair`", rate.kind.name());
        let hint = match rate.kind {
            FaultKind::Flap => "leave it away: a flap ends after its `length`",
            _ => "leave it away: this fault stays to the end of the run",
        };
        return Some(("repair", (message, hint)));
    }
    None
}
