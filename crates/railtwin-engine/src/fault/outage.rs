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

/// What the death of a switch's software does to a cable of it, for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostControl {
    /// Which cable.
    pub cable: CableId,
    /// First moment.
    pub from: SimTime,
    /// When the software runs again; [`SimTime::NEVER`] when it does not.
    pub until: SimTime,
    /// The links that the switch sends into.
    pub ways: Ways,
    /// Whether they carry nothing, for want of routes ([`CableState::Headless`]), or all but LACPDUs
    /// ([`CableState::Mute`]).
    pub is_headless: bool,
}

/// The events of every cable in order of time: a cable is up only while no outage holds it down, and has its carrier
/// only while all that do are silent. Outages that touch are one.
pub fn events(outages: &[Outage]) -> Vec<Fault> {
    events_of(outages, &[])
}

/// As [`events`], with cables of switches whose software died: what is worse hides what is less bad.
pub fn events_of(outages: &[Outage], lost: &[LostControl]) -> Vec<Fault> {
    // By cable and time, how many troubles begin or end: of the carrier, then of each link alone, silent, headless, mute.
    let mut turns: BTreeMap<CableId, BTreeMap<SimTime, [i64; 7]>> = BTreeMap::new();
    let mut note = |cable: CableId, from: SimTime, until: SimTime, kinds: &[usize]| {
        for (at, by) in [(from, 1), (until, -1)].into_iter().filter(|_| from < until) {
            let turn = turns.entry(cable).or_default().entry(at).or_default();
            kinds.iter().for_each(|&kind| turn[kind] += by);
        }
    };
    let of_ways = |cable: CableId, ways: Ways, first: usize| -> Vec<usize> {
        ways.links(cable).map(|link| first + usize::from(link != cable.forward())).collect()
    };
    for outage in outages {
        let kinds = outage.silent.map_or(vec![0], |ways| of_ways(outage.cable, ways, 1));
        note(outage.cable, outage.from, outage.until, &kinds);
    }
    for lost in lost {
        let first = if lost.is_headless { 3 } else { 5 };
        note(lost.cable, lost.from, lost.until, &of_ways(lost.cable, lost.ways, first));
    }
    let mut events = Vec::new();
    for (cable, turns) in turns {
        let (mut open, mut was) = ([0; 7], CableState::Up);
        for (at, turn) in turns {
            open.iter_mut().zip(turn).for_each(|(open, by)| *open += by);
            let state = state_of(open);
            if state != was && at < SimTime::NEVER {
                events.push(Fault { at, cable, state });
            }
            was = state;
        }
    }
    events.sort_unstable();
    events
}

/// The state of a cable that so many troubles of each kind hold.
fn state_of(open: [i64; 7]) -> CableState {
    let ways = |first: usize| match (open[first] > 0, open[first + 1] > 0) {
        (true, true) => Some(Ways::Both),
        (true, false) => Some(Ways::Forward),
        (false, true) => Some(Ways::Backward),
        (false, false) => None,
    };
    if open[0] > 0 {
        return CableState::Down;
    }
    let silent = ways(1).map(CableState::Silent);
    let headless = ways(3).map(CableState::Headless);
    silent.or(headless).or(ways(5).map(CableState::Mute)).unwrap_or(CableState::Up)
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
            CableState::Headless(_) | CableState::Mute(_) => unreachable!("no software died"),
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

    #[test]
    fn what_is_worse_hides_what_is_less_bad() {
        let time = |ns| SimTime::from_ns(ns);
        let lost = |from, until, is_headless| LostControl {
            cable: CableId(3),
            from: time(from),
            until: time(until),
            ways: Ways::Forward,
            is_headless,
        };
        let down = Outage { cable: CableId(3), from: time(20), until: time(30), silent: None };
        let events = events_of(&[down], &[lost(10, 40, true), lost(10, 50, false)]);
        let states: Vec<_> = events.into_iter().map(|event| (event.at.ps() / 1000, event.state)).collect();
        use CableState::{Down, Headless, Mute, Up};
        let headless = Headless(Ways::Forward);
        assert_eq!(states, [(10, headless), (20, Down), (30, headless), (40, Mute(Ways::Forward)), (50, Up)]);
    }
}
