//! The scene in simulated time, by our own state machines: the host's end is then ours, too.
use railtwin_routing::protocol::lacp::{Cables, End, LacpRate, SelectionRule, Wire};
use railtwin_routing::protocol::set::DualTor;
use railtwin_units::SimTime;

use super::responder::AGGREGATE_WAIT;
use super::scene::HOST_MAC;

/// Leaf and port number there, from 1, of each cable.
type Ends = [(u32, u32); 2];

/// Long enough for all to settle.
const SETTLED: SimTime = SimTime::from_ns(10_000_000_000);

fn cables(set: &DualTor, ends: &Ends) -> Cables {
    let mut cables = set.cables(HOST_MAC, ends, LacpRate::Fast, AGGREGATE_WAIT);
    for port in 0..ends.len() {
        cables.set(port, Wire::WELL, || [SimTime::ZERO; 2]);
    }
    cables.pass(SETTLED);
    cables
}

/// Time from the carrier to the use of all cables.
pub(super) fn negotiation(set: &DualTor, ends: &Ends) -> SimTime {
    cables(set, ends).turns().iter().map(|turn| turn.at).max().unwrap_or(SimTime::NEVER)
}

/// Time from the death of the first leaf's LACP to the moment in which the host leaves the cable; `ages` are how long
/// before it the host and the leaf heard the last LACPDU.
pub(super) fn silence(set: &DualTor, ends: &Ends, ages: [SimTime; 2]) -> SimTime {
    let mut cables = cables(set, ends);
    cables.set(0, Wire { carrier: true, up: false, down: false }, || ages);
    cables.pass(SETTLED + SETTLED);
    let left = cables
        .turns()
        .iter()
        .find(|turn| turn.at >= SETTLED && (turn.port, turn.end, turn.distributes) == (0, End::Host, false));
    left.map_or(SimTime::NEVER, |turn| turn.at.since(SETTLED))
}

/// Number of cables that a host of this rule uses.
pub(super) fn bonded(set: &DualTor, ends: &Ends, selection: SelectionRule) -> usize {
    DualTor { selection, ..*set }.bonded(ends).into_iter().filter(|&is_used| is_used).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_the_last_word_is_what_the_host_waits_less() {
        let (set, ends) = (DualTor::default(), [(0, 1), (1, 1)]);
        assert_eq!(negotiation(&set, &ends), AGGREGATE_WAIT);
        for age_ms in [0, 400, 999] {
            let age = SimTime::from_ns(age_ms * 1_000_000);
            assert_eq!(silence(&set, &ends, [age; 2]), LacpRate::Fast.timeout().since(age));
        }
    }
}
