//! A job that stands still without a direct sign.
use railtwin_records::Evidence;
use railtwin_records::seen::LiveSeen;

use super::state::{Rank, State};
use crate::incident::{LiveKind, Sign, Suspect, SuspectPlace};

/// Most suspects: where more are behind it is none of them.
const SUSPECTS: usize = 8;

/// The standstill of now, where nothing moved for the hang limit.
pub(super) fn sign(now_ns: u64, hang_ns: u64, state: &State) -> Option<Sign> {
    let still_ns = now_ns.saturating_sub(state.moved_ns);
    if still_ns < hang_ns || !state.living().any(|(_, rank)| rank.entered > 0) {
        return None;
    }
    let mut evidence =
        vec![Evidence::new(LiveSeen::StoodStill {}, still_ns as f64 / 1e9, hang_ns as f64 / 1e9)];
    let (suspects, edge, lines) = roots(state);
    evidence.extend(lines);
    Some(Sign { kind: LiveKind::Standstill, suspects, edge, evidence, is_sure: true })
}

type Roots = (Vec<Suspect>, Option<(u32, u32)>, Vec<Evidence>);

/// Ranks that keep the others waiting: those outside of operations that have not entered the newest one; else the connection over
/// which something was sent and did not arrive. A rank within an operation is not behind in the next one: collectives end
/// rank by rank, and those who left first are ahead of nobody.
fn roots(state: &State) -> Roots {
    let newest = state.ranks.values().map(|rank| rank.entered).max().unwrap_or(0);
    let is_behind = |rank: &Rank| !rank.is_inside() && rank.entered < newest;
    let behind: Vec<u32> = state.living().filter(|(_, rank)| is_behind(rank)).map(|(at, _)| at).collect();
    if !behind.is_empty() && behind.len() <= SUSPECTS && behind.len() < state.ranks.len() {
        let share = 0.8 / behind.len() as f64;
        let suspects =
            behind.iter().map(|rank| Suspect { place: SuspectPlace::Rank(*rank), share }).collect();
        let entered = state.ranks.values().filter(|rank| rank.entered == newest).count() as f64;
        let operation = newest.saturating_sub(1);
        let lines =
            behind.iter().map(|&rank| Evidence::new(LiveSeen::NotEntered { rank, operation }, entered, 0.0));
        return (suspects, None, lines.collect());
    }
    let held = |(from, rank): (u32, &Rank)| {
        let (to, sent) = (rank.successor?, rank.beats.back()?);
        let received = state.ranks.get(&to)?.beats.back()?;
        let is_one = sent.inside && received.inside && sent.operation == received.operation;
        let between = sent.sent.saturating_sub(received.received);
        (is_one && between > 0).then_some((between, from, to, sent.operation))
    };
    // A stage that is on its way is common; the connection that holds most holds up the others.
    let Some((between, from, to, operation)) = state.living().filter_map(held).max_by_key(|held| held.0)
    else {
        return Roots::default();
    };
    let suspects = [from, to].map(|rank| Suspect { place: SuspectPlace::Nic(rank), share: 0.4 }).to_vec();
    let line = LiveSeen::SentNotReceived { from, to, operation };
    (suspects, Some((from, to)), vec![Evidence::new(line, between as f64, 0.0)])
}
