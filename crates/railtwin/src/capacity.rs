//! Capacity of links over time: slow cables, losses, storms of pauses and cables that are down take it away for a while.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::fault::Change;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, RunLog};
use railtwin_fabric::LinkId;
use railtwin_flowsim::ailing::Ailing;
use railtwin_units::SimTime;

/// A span of time, picoseconds: its start and its end.
pub type Span = (u64, u64);

/// The share of its capacity that each link has at each time of one replicate.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Capacities {
    /// By link that a fault touches: from when on it has which share, in order of time, the first from time zero on.
    shares: BTreeMap<LinkId, Vec<(u64, f64)>>,
}

impl Capacities {
    /// Capacities in the replicate whose log this is.
    ///
    /// A link whose cable is down, or out of its bond, has none. A lossy link has what go-back-N leaves of it for data;
    /// with packets all of it, since bytes that are sent again count there.
    pub fn of(case: &Case, replicate: u32, log: &RunLog) -> Self {
        if case.faults.is_empty() && case.impairments.is_empty() {
            return Self::default();
        }
        let dead = dead_spans(case, replicate);
        let worse = worse_shares(case, replicate, log.packets.is_some());
        let links: BTreeSet<LinkId> = dead.keys().chain(worse.keys()).copied().collect();
        let of_link = |link: LinkId| {
            let dead = dead.get(&link).map_or(&[][..], Vec::as_slice);
            let worse = worse.get(&link).map_or(&[][..], Vec::as_slice);
            let edges = dead.iter().flat_map(|&(from, until)| [from, until]);
            let turns: BTreeSet<u64> =
                edges.chain(worse.iter().map(|turn| turn.0)).chain([0]).filter(|&at| at < u64::MAX).collect();
            let share = |at: u64| {
                let left = worse.iter().rev().find(|turn| turn.0 <= at).map_or(1.0, |turn| turn.1);
                if dead.iter().any(|span| (span.0..span.1).contains(&at)) { 0.0 } else { left }
            };
            turns.into_iter().map(|at| (at, share(at))).collect::<Vec<_>>()
        };
        let shares = links.into_iter().map(|link| (link, of_link(link)));
        Self { shares: shares.filter(|(_, shares)| shares.iter().any(|turn| turn.1 < 1.0)).collect() }
    }

    /// Whether a link has all of its capacity all the time.
    pub fn is_whole(&self, link: LinkId) -> bool {
        !self.shares.contains_key(&link)
    }

    /// Seconds at its whole capacity in which a link carries as much as it can in these spans, which are disjoint.
    pub fn seconds(&self, link: LinkId, spans: &[Span]) -> f64 {
        let length = |(from, until): Span| SimTime::from_ps(until.saturating_sub(from)).seconds();
        let Some(shares) = self.shares.get(&link) else { return spans.iter().copied().map(length).sum() };
        let ends = shares.iter().skip(1).map(|turn| turn.0).chain([u64::MAX]);
        let states: Vec<(u64, u64, f64)> =
            shares.iter().zip(ends).map(|(&(from, share), until)| (from, until, share)).collect();
        let within = |&(from, until): &Span| -> f64 {
            let first = states.partition_point(|state| state.1 <= from);
            let touched = states[first..].iter().take_while(|state| state.0 < until);
            touched.map(|state| state.2 * length((state.0.max(from), state.1.min(until)))).sum()
        };
        spans.iter().map(within).sum()
    }

    /// Bytes that a link of `case` can carry up to `until`.
    pub fn bytes(&self, case: &Case, link: LinkId, (from, until): (SimTime, SimTime)) -> f64 {
        case.fabric.capacity(link).bytes_per_s() * self.seconds(link, &[(from.ps(), until.ps())])
    }
}

/// When each link carries nothing because of its cable.
fn dead_spans(case: &Case, replicate: u32) -> BTreeMap<LinkId, Vec<Span>> {
    let mut dead: BTreeMap<LinkId, Vec<Span>> = BTreeMap::new();
    for moment in case.timeline(replicate) {
        match moment.change {
            Change::Dies(cable, ways) => ways
                .links(cable)
                .for_each(|link| dead.entry(link).or_default().push((moment.at.ps(), u64::MAX))),
            Change::Carries(cable, ways) => ways.links(cable).for_each(|link| {
                let open = dead.get_mut(&link).and_then(|spans| spans.last_mut());
                open.into_iter().for_each(|span| span.1 = moment.at.ps());
            }),
            _ => {}
        }
    }
    dead
}

/// From when on each link that runs worse has which share of its capacity, its cable aside; `again` where bytes that are
/// sent again count.
fn worse_shares(case: &Case, replicate: u32, again: bool) -> BTreeMap<LinkId, Vec<(u64, f64)>> {
    let mut turns: BTreeMap<LinkId, BTreeSet<SimTime>> = BTreeMap::new();
    let matters = |loss: f64| loss > 0.0 && !again;
    for ill in case.impairments.iter().filter(|ill| ill.capacity < 1.0 || matters(ill.loss)) {
        turns.entry(ill.link).or_default().extend([ill.from, ill.until]);
    }
    let lossy = case.impairments.iter().any(|ill| matters(ill.loss));
    let ailing = lossy.then(|| Ailing::new(case, &Lowering::new(case, replicate)));
    let share = |link: LinkId, at: SimTime| match &ailing {
        Some(ailing) => ailing.share(link, at),
        None => {
            let acting = case.impairments.iter().filter(|ill| ill.link == link && ill.acts_at(at));
            acting.map(|ill| ill.capacity).product()
        }
    };
    let of = |(link, turns): (LinkId, BTreeSet<SimTime>)| {
        let turns = turns.into_iter().filter(|&at| at < SimTime::NEVER);
        (link, turns.map(|at| (at.ps(), share(link, at))).collect())
    };
    turns.into_iter().map(of).collect()
}
