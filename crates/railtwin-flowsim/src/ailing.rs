//! Links that run worse for a while, and ranks whose processes are gone: what of it changes when.
use std::collections::BTreeSet;

use railtwin_engine::fault::impairment::goodput;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, Impairment, RankTrouble, WorkGraph};
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;
use railtwin_workload::PatternId;

/// All of it, in order of time.
#[derive(Debug, Default)]
pub struct Ailing {
    impairments: Vec<Impairment>,
    /// Packets that go-back-N sends again for a lost one, by impairment.
    windows: Vec<f64>,
    /// Patterns that lose a rank, and when.
    gone: Vec<(SimTime, Vec<PatternId>)>,
    /// When something changes that has not been told yet.
    turns: BTreeSet<SimTime>,
}

/// What changes at a turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// Links, ascending, with the bytes per second that they carry from now on as long as they are up.
    pub capacities: Vec<(LinkId, f64)>,
    /// Whether delays of links changed.
    pub delays: bool,
    /// Patterns that lose a rank now.
    pub gone: Vec<PatternId>,
}

impl Ailing {
    /// What ails a case. Windows are those of the paths at time zero.
    pub fn new(case: &Case, lowering: &Lowering<'_>) -> Self {
        let impairments = case.impairments.clone();
        let mut turns: BTreeSet<SimTime> = impairments.iter().map(|ill| ill.from).collect();
        turns.extend(impairments.iter().map(|ill| ill.until).filter(|&until| until < SimTime::NEVER));
        let mut gone = Vec::new();
        for fault in case.rank_faults.iter().filter(|fault| fault.trouble == RankTrouble::Gone) {
            turns.insert(fault.from);
            gone.push((fault.from, patterns_with(&case.work, fault.job, fault.rank).into_iter().collect()));
        }
        Self { windows: windows(case, lowering), impairments, gone, turns }
    }

    /// Whether anything ails.
    pub fn acts(&self) -> bool {
        !self.impairments.is_empty() || !self.gone.is_empty()
    }

    /// When something changes next.
    pub fn next_time(&self) -> Option<SimTime> {
        self.turns.first().copied()
    }

    /// What changes at `now`, if that is a turn; `healthy` are the capacities of all links while nothing ails them.
    pub fn turn(&mut self, now: SimTime, healthy: &[f64]) -> Option<Turn> {
        if !self.turns.remove(&now) {
            return None;
        }
        let turns = |ill: &&Impairment| ill.from == now || ill.until == now;
        let mut turn = Turn::default();
        let changed: BTreeSet<LinkId> = self.impairments.iter().filter(turns).map(|ill| ill.link).collect();
        turn.delays = self.impairments.iter().filter(turns).any(|ill| ill.delay > SimTime::ZERO);
        turn.capacities =
            changed.into_iter().map(|link| (link, healthy[link.index()] * self.share(link, now))).collect();
        let gone = self.gone.iter().filter(|(at, _)| *at == now);
        turn.gone = gone.flat_map(|(_, patterns)| patterns.iter().copied()).collect();
        Some(turn)
    }

    /// Share of its capacity at which a link carries data once at `now`: all that ails it together.
    pub fn share(&self, link: LinkId, now: SimTime) -> f64 {
        let there = self.impairments.iter().zip(&self.windows);
        let there = there.filter(|(ill, _)| ill.link == link && ill.acts_at(now));
        there.map(|(ill, &window)| ill.capacity * goodput(ill.loss, window)).product()
    }
}

/// Patterns of the case that have a rank of a job in one of their communicators.
pub fn patterns_with(work: &WorkGraph, job: u32, rank: u32) -> BTreeSet<PatternId> {
    let graph = &work.jobs[job as usize];
    let with = graph.plan.patterns.iter().enumerate();
    let with = with.filter(|(_, pattern)| pattern.communicators.iter().any(|ranks| ranks.contains(&rank)));
    with.map(|(row, _)| PatternId(graph.first_pattern + row as u32)).collect()
}

/// Packets in flight on a lossy link: what fills the round trip of the longest path over it at the link's rate, as a
/// queue pair has that has the link to itself, and no more than a sender may have on its way.
fn windows(case: &Case, lowering: &Lowering<'_>) -> Vec<f64> {
    let lossy = case.impairments.iter().filter(|ill| ill.loss > 0.0);
    let links: Vec<LinkId> = lossy.map(|ill| ill.link).collect::<BTreeSet<_>>().into_iter().collect();
    let round_trips = if links.is_empty() { Vec::new() } else { lowering.round_trips(&links) };
    let packet = case.packets.keys.full() as f64;
    let most = case.packets.keys.window.map_or(f64::INFINITY, |bytes| bytes.0 as f64);
    let window = |ill: &Impairment| {
        let Ok(at) = links.binary_search(&ill.link) else { return 1.0 };
        let product = case.fabric.capacity(ill.link).bytes_per_s() * round_trips[at].seconds();
        (product.min(most) / packet).max(1.0)
    };
    case.impairments.iter().map(window).collect()
}
