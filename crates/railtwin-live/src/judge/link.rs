//! Links that carry less than they did and than others do.
use std::collections::BTreeMap;

use railtwin_records::Evidence;
use railtwin_records::seen::LiveSeen;
use railtwin_units::robust::median;

use super::pings::quartiles;
use super::state::State;
use crate::incident::{Book, LiveKind, Sign, Suspect, SuspectPlace};

/// The window over which a rate is taken: some steps, and more than one bucket of the past.
const WINDOW_NS: u64 = 1_500_000_000;
/// Share of its own past and of the others' rate below which a connection is slow. Half: a connection that waits for its
/// turn at a shared port keeps more, and what bursts past a token bucket carries a multiple of what it is held against.
const SLOW: f64 = 0.5;
/// Least time in the window in which something waited to be sent, as a share of it: less is too short a sample.
const BUSY_SHARE: f64 = 0.15;
/// Factor by which the newest operations must all take longer, from when the last rank entered. A connection to a rank that
/// is late carries less, as that does not read, and the operations are as fast as before. Half the rate doubles the time
/// of what a link carries; a half more leaves room for what else is in an operation.
const LONGER: f64 = 1.5;
/// Operations on end that must be longer where both connections of a NIC are slow or pings show a full queue.
const OPERATIONS: usize = 3;
/// The same where one connection alone is slow: only time tells it from a busy machine. Its rate is then that of twice
/// the window.
const ALONE_OPERATIONS: usize = 8;
/// Connections without which nothing is usual, beside the two of a NIC.
const OTHERS: usize = 1;
/// Round trips of a full queue are longer than others by this factor, and by this much, us: less is jitter.
const QUEUE_FACTOR: f64 = 3.0;
const QUEUE_US: f64 = 1_000.0;

/// A connection with its rates, bytes per us.
struct Carried {
    to: u32,
    rate: f64,
    past: f64,
    others: f64,
}

/// The slow link of now. Both connections of a slow NIC are slow, as data goes over one and acknowledgements over the other;
/// of one slow connection pings tell which of its NICs has a full queue.
pub(super) fn sign(now_ns: u64, state: &State, book: &Book) -> Option<Sign> {
    let are_longer = |count| state.operations().least_growth(count).is_some_and(|growth| growth >= LONGER);
    if !are_longer(OPERATIONS) {
        return None;
    }
    let slow = slow_connections(now_ns, WINDOW_NS, state);
    let into: BTreeMap<u32, u32> = slow.iter().map(|(from, carried)| (carried.to, *from)).collect();
    let both = slow.keys().filter_map(|rank| Some((*rank, *into.get(rank)?)));
    let slowness = |(rank, before): &(u32, u32)| slow[rank].rate + slow[before].rate;
    let nic = both.min_by(|a, b| slowness(a).total_cmp(&slowness(b)));
    let lines = |from: u32| {
        let Carried { to, rate, past, others } = slow[&from];
        [
            Evidence::new(LiveSeen::CarriedLess { from, to }, rate, past),
            Evidence::new(LiveSeen::OthersCarried { from, to }, rate, others),
        ]
    };
    if let Some((rank, before)) = nic {
        let mut evidence: Vec<Evidence> = [rank, before].into_iter().flat_map(lines).collect();
        evidence.extend(full_queue(now_ns, state, rank, None));
        return Some(found(vec![Suspect { place: SuspectPlace::Nic(rank), share: 0.9 }], None, evidence));
    }
    let (from, carried) = slow.iter().min_by(|a, b| a.1.rate.total_cmp(&b.1.rate))?;
    let (from, to) = (*from, carried.to);
    // Resending is work, too: a connection that loses packets carries less, and its link is not slow.
    let is_lossy = book.open().any(|open| open.kind == LiveKind::LossyLink && open.edge == Some((from, to)));
    if is_lossy {
        return None;
    }
    let mut evidence: Vec<Evidence> = lines(from).into();
    let queues = [(from, to), (to, from)].map(|(rank, beside)| full_queue(now_ns, state, rank, Some(beside)));
    if queues.iter().all(Option::is_none)
        && !(are_longer(ALONE_OPERATIONS)
            && slow_connections(now_ns, 2 * WINDOW_NS, state).contains_key(&from))
    {
        return None;
    }
    let shares: [f64; 2] = match (&queues[0], &queues[1]) {
        (Some(_), None) => [0.8, 0.1],
        (None, Some(_)) => [0.1, 0.8],
        _ => [0.45, 0.45],
    };
    evidence.extend(queues.into_iter().flatten());
    let mut suspects: [(u32, f64); 2] = [(from, shares[0]), (to, shares[1])];
    suspects.sort_by(|a, b| b.1.total_cmp(&a.1));
    let suspects =
        suspects.into_iter().map(|(rank, share)| Suspect { place: SuspectPlace::Nic(rank), share });
    Some(found(suspects.collect(), Some((from, to)), evidence))
}

fn found(suspects: Vec<Suspect>, edge: Option<(u32, u32)>, evidence: Vec<Evidence>) -> Sign {
    Sign { kind: LiveKind::SlowLink, suspects, edge, evidence, is_sure: false }
}

/// Connections that are slow, by the rank that sends.
fn slow_connections(now_ns: u64, window_ns: u64, state: &State) -> BTreeMap<u32, Carried> {
    let from_ns = now_ns.saturating_sub(window_ns);
    let rates: BTreeMap<u32, (f64, u64)> =
        state.living().filter_map(|(rank, seen)| Some((rank, seen.rate_since(from_ns)?))).collect();
    let least_us = (BUSY_SHARE * window_ns as f64 / 1e3) as u64;
    let mut slow = BTreeMap::new();
    for (rank, (rate, busy_us)) in &rates {
        let Some(to) = state.ranks[rank].successor else { continue };
        let Some(past) = state.ranks[rank].past_rate().filter(|_| state.ranks[rank].carries()) else {
            continue;
        };
        // The NIC at the other end slows its own connection, too, and that at this end the one before.
        let is_near =
            |other: u32| other == *rank || other == to || state.ranks[&other].successor == Some(*rank);
        let mut others: Vec<f64> =
            rates.iter().filter(|(other, _)| !is_near(**other)).map(|(_, rate)| rate.0).collect();
        if others.len() < OTHERS {
            continue;
        }
        let others = median(&mut others).unwrap_or(f64::INFINITY);
        if *busy_us >= least_us && *rate < SLOW * past && *rate < SLOW * others {
            slow.insert(*rank, Carried { to, rate: *rate, past, others });
        }
    }
    slow
}

/// Pings to and from a rank that wait in a full queue.
fn full_queue(now_ns: u64, state: &State, rank: u32, beside: Option<u32>) -> Option<Evidence> {
    let (own, others) = quartiles(now_ns.saturating_sub(WINDOW_NS), state, rank, beside)?;
    (own > QUEUE_FACTOR * others && own > others + QUEUE_US)
        .then(|| Evidence::new(LiveSeen::PingsSlow { rank }, own, others))
}
