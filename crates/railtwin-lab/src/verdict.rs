//! Events of a watcher against the truth: what was said of a fault, when, and of whom else.
use crate::fault::{Expectation, InjectedFault};
use crate::watch::WatchEvent;

/// A fault with its rank and its time.
#[derive(Clone, Copy, Debug)]
pub struct Truth {
    /// The fault.
    pub fault: InjectedFault,
    /// The rank.
    pub rank: usize,
    /// When it was made, ns.
    pub made_ns: u64,
}

/// Reaction of the watch to a fault: times since the fault began, s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchVerdict {
    /// Until an incident of the right kind accused the rank, its link, or a connection of it.
    pub opened_s: Option<f64>,
    /// Until its event was read.
    pub read_s: Option<f64>,
    /// Until the rank or its NIC was the first suspect.
    pub named_s: Option<f64>,
    /// Until that was confirmed.
    pub confirmed_s: Option<f64>,
    /// Accusations of others, and of other kinds.
    pub wrong: Vec<String>,
    /// Whether observers were starved meanwhile.
    pub is_starved: bool,
    /// The last event's kind and suspects.
    pub last: String,
}

/// Share of the confidence from which a suspect is the one that is named.
const NAMED: f64 = 0.5;

fn since_s(time_ns: u64, truth: &Truth) -> f64 {
    (time_ns as f64 - truth.made_ns as f64) / 1e9
}

fn shown(event: &WatchEvent) -> String {
    let suspects = event.suspects.iter().map(|one| format!("{} {} {:.2}", one.kind, one.rank, one.share));
    format!("{}: {}", event.kind, suspects.collect::<Vec<_>>().join(", "))
}

/// Judges events that were read before and after the fault; before, each accusation is a wrong one.
pub fn judge(events: &[WatchEvent], truth: &Truth, expectation: &Expectation) -> WatchVerdict {
    let mut verdict = WatchVerdict::default();
    for event in events {
        verdict.is_starved |= event.kind == "observer-starved";
        // An incident that was judged before and closes now is no news.
        let is_old = event.what == "closed" && event.opened_ns < truth.made_ns;
        if !event.accuses || is_old {
            continue;
        }
        if event.read_ns < truth.made_ns || !is_right(event, truth, expectation) {
            verdict.wrong.push(shown(event));
            continue;
        }
        verdict.last = shown(event);
        let opened_s = since_s(event.opened_ns.max(truth.made_ns), truth);
        verdict.opened_s.get_or_insert(opened_s);
        verdict.read_s.get_or_insert(since_s(event.read_ns, truth));
        let is_named = event.suspects.first().is_some_and(|one| one.rank == truth.rank && one.share > NAMED);
        if is_named {
            let said_ns = if event.what == "opened" { event.opened_ns } else { event.updated_ns };
            verdict.named_s.get_or_insert(since_s(said_ns.max(truth.made_ns), truth));
        }
        if let Some(confirmed_ns) = event.confirmed_ns {
            verdict.confirmed_s.get_or_insert(since_s(confirmed_ns, truth));
        }
    }
    verdict
}

/// Whether an event accuses the rank that is at fault. Of a link's fault the NIC at the other end of the connection may be
/// a suspect, too, until something tells the two apart.
fn is_right(event: &WatchEvent, truth: &Truth, expectation: &Expectation) -> bool {
    let is_kind = expectation.kinds.contains(&event.kind.as_str());
    let kind = if truth.fault.is_of_link() { "nic" } else { "rank" };
    let is_suspected = event.suspects.iter().any(|one| one.rank == truth.rank && one.kind == kind);
    let others = event.suspects.iter().filter(|one| one.rank != truth.rank);
    let may_be = |rank: usize| {
        truth.fault.is_of_link() && event.edge.is_some_and(|edge| edge.0 == rank || edge.1 == rank)
    };
    is_kind && is_suspected && others.clone().all(|one| may_be(one.rank))
}

impl WatchVerdict {
    /// Parts of an expectation that the reaction misses, in words.
    pub fn misses(&self, expectation: &Expectation) -> Vec<String> {
        let mut misses = Vec::new();
        let mut hold = |what: &str, time_s: Option<f64>, limit_s: f64| match time_s {
            None => misses.push(format!("not {what}")),
            Some(time_s) if time_s > limit_s => {
                misses.push(format!("{what} after {time_s:.1} s, limit {limit_s:.1} s"))
            }
            Some(_) => {}
        };
        hold("opened", self.opened_s, expectation.opened_s);
        hold("named", self.named_s, expectation.named_s);
        if let Some(limit_s) = expectation.confirmed_s {
            hold("confirmed", self.confirmed_s, limit_s);
        }
        misses.extend(self.wrong.iter().map(|wrong| format!("accused {wrong}")));
        misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::NamedSuspect;

    const S: u64 = 1_000_000_000;

    fn event(what: &str, kind: &str, at_s: u64, suspects: &[(&str, usize, f64)]) -> WatchEvent {
        let suspect =
            |one: &(&str, usize, f64)| NamedSuspect { kind: one.0.into(), rank: one.1, share: one.2 };
        WatchEvent {
            read_ns: (at_s + 1) * S,
            what: what.into(),
            incident: ("job".into(), 1),
            kind: kind.into(),
            accuses: !suspects.is_empty(),
            opened_ns: at_s * S,
            updated_ns: at_s * S,
            confirmed_ns: None,
            suspects: suspects.iter().map(suspect).collect(),
            edge: Some((3, 4)),
        }
    }

    fn judged(fault: InjectedFault, events: &[WatchEvent]) -> (WatchVerdict, Vec<String>) {
        let truth = Truth { fault, rank: 3, made_ns: 10 * S };
        let verdict = judge(events, &truth, &fault.expectation(5.0));
        let misses = verdict.misses(&fault.expectation(5.0));
        (verdict, misses)
    }

    #[test]
    fn an_edge_is_opened_first_and_its_nic_is_named_later() {
        let both = event("opened", "lossy-link", 12, &[("nic", 3, 0.45), ("nic", 4, 0.45)]);
        let mut one = event("updated", "lossy-link", 12, &[("nic", 3, 0.88)]);
        one.updated_ns = 17 * S;
        let (verdict, misses) = judged(InjectedFault::LossUp, &[both.clone(), one]);
        assert_eq!((verdict.opened_s, verdict.named_s), (Some(2.0), Some(7.0)));
        assert_eq!(misses, Vec::<String>::new());
        assert_eq!(judged(InjectedFault::LossUp, &[both]).1, ["not named"]);
    }

    #[test]
    fn others_and_other_kinds_are_wrong() {
        let other = event("opened", "slow-link", 11, &[("nic", 5, 0.9)]);
        let kind = event("opened", "standstill", 11, &[("rank", 3, 0.9)]);
        let right = event("opened", "slow-link", 12, &[("nic", 3, 0.9)]);
        let (verdict, misses) = judged(InjectedFault::ThrottleUp, &[other, kind, right]);
        assert_eq!((verdict.wrong.len(), misses.len()), (2, 2), "{misses:?}");
        let own = event("opened", "observer-starved", 11, &[]);
        let (verdict, misses) = judged(InjectedFault::Stop, &[own]);
        assert!(verdict.is_starved && verdict.wrong.is_empty());
        assert_eq!(misses, ["not opened", "not named", "not confirmed"]);
    }

    #[test]
    fn limits_hold() {
        let mut late = event("opened", "stopped-process", 13, &[("rank", 3, 0.9)]);
        late.confirmed_ns = Some(15 * S);
        let (_, misses) = judged(InjectedFault::Stop, &[late]);
        assert_eq!(misses, ["opened after 3.0 s, limit 2.0 s", "named after 3.0 s, limit 2.0 s"]);
    }
}
