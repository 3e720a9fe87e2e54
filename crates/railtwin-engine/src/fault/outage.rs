//! From outages, which may overlap, to one life of every cable.
use std::collections::BTreeMap;

use railtwin_fabric::CableId;
use railtwin_units::SimTime;

use super::{CableState, Fault, Ways};

/// A reason for a cable to carry nothing, for a while.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Outage {
    /// Which cable.
    pub cable: CableId,
    /// First moment.
    pub from: SimTime,
    /// When this reason is gone; [`SimTime::NEVER`] when it stays.
    pub until: SimTime,
    /// The links that carry nothing where the cable keeps its carrier, so that its ports take it for up; none where it
    /// loses it, and both links with it.
    pub silent: Option<Ways>,
}

/// The events of every cable in order of time: a cable is up only while no outage holds it down, and has its carrier
/// only while all that do are silent. Outages that touch are one.
pub fn events(outages: &[Outage]) -> Vec<Fault> {
    // By cable and time, how many outages begin or end: of the carrier, of each link alone.
    let mut turns: BTreeMap<CableId, BTreeMap<SimTime, [i64; 3]>> = BTreeMap::new();
    for outage in outages.iter().filter(|outage| outage.from < outage.until) {
        let of_cable = turns.entry(outage.cable).or_default();
        for (at, by) in [(outage.from, 1), (outage.until, -1)] {
            let turn = of_cable.entry(at).or_default();
            match outage.silent {
                None => turn[0] += by,
                Some(ways) => {
                    for link in ways.links(outage.cable) {
                        turn[if link == outage.cable.forward() { 1 } else { 2 }] += by;
                    }
                }
            }
        }
    }
    let mut events = Vec::new();
    for (cable, turns) in turns {
        let (mut open, mut was) = ([0; 3], CableState::Up);
        for (at, turn) in turns {
            open.iter_mut().zip(turn).for_each(|(open, by)| *open += by);
            let state = match open {
                [0, 0, 0] => CableState::Up,
                [0, _, 0] => CableState::Silent(Ways::Forward),
                [0, 0, _] => CableState::Silent(Ways::Backward),
                [0, ..] => CableState::Silent(Ways::Both),
                _ => CableState::Down,
            };
            if state != was && at < SimTime::NEVER {
                events.push(Fault { at, cable, state });
            }
            was = state;
        }
    }
    events.sort_unstable();
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(outages: &[(u32, u64, u64, bool)]) -> Vec<(u64, u32, &'static str)> {
        let time = |ns: u64| if ns == u64::MAX { SimTime::NEVER } else { SimTime::from_ns(ns) };
        let outages: Vec<Outage> = outages
            .iter()
            .map(|&(cable, from, until, silent)| Outage {
                cable: CableId(cable),
                from: time(from),
                until: time(until),
                silent: silent.then_some(Ways::Both),
            })
            .collect();
        let word = |state| match state {
            CableState::Down => "down",
            CableState::Silent(Ways::Both) => "silent",
            CableState::Silent(Ways::Forward) => "forward",
            CableState::Silent(Ways::Backward) => "backward",
            CableState::Up => "up",
        };
        events(&outages).iter().map(|e| (e.at.ps() / 1000, e.cable.0, word(e.state))).collect()
    }

    #[test]
    fn a_cable_is_up_only_when_nothing_holds_it_down() {
        let told = told(&[
            (1, 50, 150, false),
            (1, 0, 100, false),
            (1, 150, 160, false),
            (1, 300, u64::MAX, false),
            (0, 7, 7, false),
            (0, 400, 410, false),
        ]);
        let expected = [(0, 1, "down"), (160, 1, "up"), (300, 1, "down"), (400, 0, "down"), (410, 0, "up")];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_cable_is_silent_only_while_nothing_takes_its_carrier() {
        // Silent from 10 on, without carrier from 20 to 30, well at 40; then the other way round.
        let told =
            told(&[(0, 10, 40, true), (0, 20, 30, false), (0, 50, 60, false), (0, 60, u64::MAX, true)]);
        let expected = [(10, 0, "silent"), (20, 0, "down"), (30, 0, "silent"), (40, 0, "up")];
        assert_eq!(told[..4], expected);
        assert_eq!(told[4..], [(50, 0, "down"), (60, 0, "silent")]);
    }

    #[test]
    fn two_silent_directions_are_a_silent_cable() {
        let time = |ns| SimTime::from_ns(ns);
        let one = |from, until, ways| Outage {
            cable: CableId(3),
            from: time(from),
            until: time(until),
            silent: Some(ways),
        };
        let states: Vec<_> = events(&[one(10, 40, Ways::Forward), one(20, 60, Ways::Backward)])
            .into_iter()
            .map(|event| (event.at.ps() / 1000, event.state))
            .collect();
        use CableState::{Silent, Up};
        let expected =
            [(10, Silent(Ways::Forward)), (20, Silent(Ways::Both)), (40, Silent(Ways::Backward)), (60, Up)];
        assert_eq!(states, expected);
    }
}
