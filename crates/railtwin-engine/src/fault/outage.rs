//! From outages, which may overlap, to one life of every cable.
use std::collections::BTreeMap;

use railtwin_fabric::CableId;
use railtwin_units::SimTime;

use super::{CableState, Fault};

/// A reason for a cable to be down, for a while.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Outage {
    /// Which cable.
    pub cable: CableId,
    /// First moment.
    pub from: SimTime,
    /// When this reason is gone; [`SimTime::NEVER`] when it stays.
    pub until: SimTime,
}

/// The events of every cable in order of time: a cable is up only while no outage holds it down. Outages that
/// touch are one.
pub fn events(outages: &[Outage]) -> Vec<Fault> {
    let mut by_cable: BTreeMap<CableId, Vec<(SimTime, SimTime)>> = BTreeMap::new();
    for outage in outages.iter().filter(|outage| outage.from < outage.until) {
        by_cable.entry(outage.cable).or_default().push((outage.from, outage.until));
    }
    let mut events = Vec::new();
    for (cable, mut spans) in by_cable {
        spans.sort_unstable();
        let mut spans = spans.into_iter();
        let Some(mut span) = spans.next() else { continue };
        let mut close = |(from, until)| {
            events.push(Fault { at: from, cable, state: CableState::Down });
            if until < SimTime::NEVER {
                events.push(Fault { at: until, cable, state: CableState::Up });
            }
        };
        for (from, until) in spans {
            if from <= span.1 {
                span.1 = span.1.max(until);
            } else {
                close(span);
                span = (from, until);
            }
        }
        close(span);
    }
    events.sort_unstable();
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cable_is_up_only_when_nothing_holds_it_down() {
        let ns = SimTime::from_ns;
        let outage = |cable, from, until| Outage { cable: CableId(cable), from: ns(from), until };
        let events = events(&[
            outage(1, 50, ns(150)),
            outage(1, 0, ns(100)),
            outage(1, 150, ns(160)),
            outage(1, 300, SimTime::NEVER),
            outage(0, 7, ns(7)),
            outage(0, 400, ns(410)),
        ]);
        let told: Vec<_> = events
            .iter()
            .map(|e| (e.at.ps() / 1000, e.cable.0, if e.state == CableState::Up { "up" } else { "down" }))
            .collect();
        let expected = [(0, 1, "down"), (160, 1, "up"), (300, 1, "down"), (400, 0, "down"), (410, 0, "up")];
        assert_eq!(told, expected);
    }
}
