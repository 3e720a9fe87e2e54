//! Ranks that enter operations later than their peers by time of their own: non-communication slow (C4 section III-A).
use std::collections::BTreeMap;

use railtwin_records::{Batch, Component, Directory, Finding, NOT_YET, Since};

use crate::context::Context;
use crate::detector::Detector;
use crate::hints::Hints;
use crate::robust::spread;
use crate::settings::Settings;
use crate::slow::chain::WaitChain;
use crate::slow::communicators::Communicators;
use crate::slow::culprits::{Candidate, Culprit, join};
use crate::slow::everyone::Everyone;
use crate::slow::members::Members;
use crate::slow::own_time::{OwnTime, order};
use crate::slow::standing::{Pace, Scratch, Standing, WINDOW_MAX, take};
use crate::slow::windows::Windows;

/// Late operations, in effect, and steps below which lateness may be a chance pause, or a step with many tokens for one
/// expert.
const LATE_MIN: f64 = 3.0;
/// Standard errors over time that an excess must exceed, beside [`Settings::deviations`] among peers.
const ERRORS: f64 = 3.0;
/// Members of a pool below which they do not tell how much they differ by chance.
const FEW: usize = 8;
/// Share of the threshold that what was told must fall below before it counts as gone.
const GONE: f64 = 0.5;
/// Own time of no operation yet, and no time since which.
const NONE: u64 = u64::MAX;

/// First and last entry of a communicator's first member into a window, with the number of operations in between.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Span {
    first_ns: u64,
    last_ns: u64,
    first: u32,
    last: u32,
}

#[derive(Clone, PartialEq, Debug, Default)]
struct PoolState {
    /// Windows that closed since it was judged.
    closed: u32,
    /// When the last two judgements were made.
    judged_ns: u64,
    before_ns: u64,
    /// Judged just now.
    fresh: bool,
    candidates: Vec<Candidate>,
}

/// The detector. Needs operations; messages and counters sharpen what it says.
#[derive(Debug, Default)]
pub struct SlowRanks {
    members: Members,
    own: OwnTime,
    windows: Windows,
    standings: Vec<Standing>,
    paces: Vec<Pace>,
    before: Vec<u64>,
    /// By slot, since when it has been late at every judgement: the begin of the first such window, and both ends of the
    /// interval in which that began.
    late: Vec<(u64, Since)>,
    spans: Vec<[Span; 2]>,
    pools: Vec<PoolState>,
    together: Vec<bool>,
    scratch: Scratch,
    last_enter: Vec<u64>,
    rows: Vec<u32>,
    means: Vec<f64>,
    hints: Hints,
    chain: WaitChain,
    communicators: Communicators,
    everyone: Everyone,
    settings: Settings,
    /// Begins of the last batch and of the one at hand.
    begun_ns: [u64; 2],
    told_ranks: Vec<bool>,
    told: BTreeMap<Culprit, Vec<Component>>,
}

impl SlowRanks {
    /// Bytes that its state holds.
    pub fn memory_bytes(&self) -> usize {
        self.members.memory_bytes()
            + self.own.memory_bytes()
            + self.windows.memory_bytes()
            + self.standings.capacity() * size_of::<Standing>()
            + self.paces.capacity() * size_of::<Pace>()
            + self.before.capacity() * 8
            + self.late.capacity() * size_of::<(u64, Since)>()
            + self.spans.capacity() * size_of::<[Span; 2]>()
            + self.last_enter.capacity() * 8
            + self.rows.capacity() * 4
            + self.means.capacity() * 8
            + self.hints.memory_bytes()
            + self.chain.memory_bytes()
            + self.communicators.memory_bytes()
    }

    fn grow(&mut self, directory: &Directory, window: usize) {
        for shape in &directory.shapes[self.together.len()..] {
            self.together.push(ends_together(&shape.kind));
        }
        if !self.members.grow(directory) {
            return;
        }
        let (communicators, slots) = (self.members.communicator_count(), self.members.slot_count());
        self.own.grow(directory.ranks.len());
        self.windows.grow(window, communicators, slots);
        self.standings.resize(slots, Standing::default());
        self.paces.resize(communicators, Pace::default());
        self.before.resize(slots, NONE);
        self.late.resize(slots, (NONE, Since::default()));
        self.spans.resize(communicators, [Span::default(); 2]);
        self.pools.resize(self.members.pools().len(), PoolState::default());
        self.last_enter.resize(directory.ranks.len(), 0);
        self.told_ranks.resize(directory.ranks.len(), false);
        self.chain.grow(slots);
        self.communicators.grow(communicators);
        self.everyone.grow(directory, &self.members);
    }

    #[inline]
    fn record(&mut self, batch: &Batch, row: usize) {
        let operations = &batch.operations;
        let (communicator, rank) = (operations.communicator[row], operations.rank[row]);
        let (enter, end) = (operations.enter_ns[row], operations.end_ns[row]);
        if end == NOT_YET || end < enter {
            return;
        }
        let Some(slot) = self.members.slot(communicator, rank) else { return };
        let own = self.own.enter(rank, enter, end);
        let before = std::mem::replace(&mut self.before[slot], own);
        let pool = self.members.pool_of(communicator);
        if !self.members.pools()[pool].alike {
            return;
        }
        let (sequence, shape) = (operations.sequence[row], operations.shape[row]);
        let slots = self.members.slots(communicator);
        let Some((kept, new)) = self.windows.place(communicator, sequence) else { return };
        if new {
            if self.windows.share(communicator, kept, slots.len()) >= 0.5
                && self.windows.share(communicator, kept, slots.len()) < 1.0
            {
                self.close(communicator, kept, batch.until_ns);
            }
            self.windows.open(communicator, kept, slots.clone(), sequence);
            self.spans[communicator as usize][kept] = Span::default();
        }
        if slot == slots.start {
            let span = &mut self.spans[communicator as usize][kept];
            if span.first_ns == 0 {
                (span.first_ns, span.first) = (enter, sequence);
            }
            (span.last_ns, span.last) = (enter, sequence);
        }
        let comparable = self.together.get(shape as usize).copied().unwrap_or(true) && before != NONE;
        let own = if comparable { (own - before) as f32 } else { f32::NAN };
        let put = self.windows.put(communicator, slots, slot, sequence, shape, own, (end - enter) as f32);
        if let Some(transfer) = put.transfer_ns {
            let period = self.paces[communicator as usize].period_ns;
            // A change at the end of a batch shows in the next batch.
            let since = Since::between(self.begun_ns[0], batch.until_ns);
            self.communicators.arrive(&self.settings, communicator, shape, transfer, period, since);
        }
        if put.full {
            self.close(communicator, kept, batch.until_ns);
        }
    }

    fn close(&mut self, communicator: u32, kept: usize, now_ns: u64) {
        let slots = self.members.slots(communicator);
        let span = self.spans[communicator as usize][kept];
        let operations = f64::from(span.last.saturating_sub(span.first).max(1));
        let period = span.last_ns.saturating_sub(span.first_ns) as f64 / operations;
        let view = self.windows.view(communicator, kept, slots.clone());
        self.communicators.take(communicator, &view);
        let pace = &mut self.paces[communicator as usize];
        take(&view, &mut self.standings[slots], pace, period, &mut self.scratch);
        let typical = &self.scratch.typical;
        self.everyone.take(communicator, typical, period, self.settings.slow_share, now_ns);
        self.pools[self.members.pool_of(communicator)].closed += 1;
    }

    /// Whether a late rank comes in time to the operations of a communicator that has many more of them.
    fn denser(&self, context: &Context<'_>, late: &Candidate) -> bool {
        self.members.of_rank(late.rank).iter().any(|&(communicator, slot)| {
            let pace = &self.paces[communicator as usize];
            let standing = &self.standings[slot as usize];
            pace.windows > 0
                && pace.period_ns < late.period_ns / 2.0
                && standing.mean() < context.settings.slow_share / 2.0 * pace.own_ns
        })
    }

    /// Time from one long computation of a rank to the next; infinite while one of its communicators is not known.
    fn step_ns(&self, rank: u32) -> f64 {
        let known = self.members.of_rank(rank).iter();
        known
            .filter(|entry| self.members.pools()[self.members.pool_of(entry.0)].alike)
            .map(|entry| &self.paces[entry.0 as usize])
            .map(|pace| if pace.windows == 0 { f64::INFINITY } else { pace.period_ns / pace.main.max(1e-3) })
            .fold(0.0, f64::max)
    }

    /// Time from one operation to the next of the communicator in which the rank meets others least often: a step, as far as
    /// what is told shows one. Infinite while that is not known.
    fn cycle_ns(&self, rank: u32) -> f64 {
        let met = self.members.of_rank(rank).iter().filter(|&&(communicator, slot)| {
            let alike = self.members.pools()[self.members.pool_of(communicator)].alike;
            alike && self.before[slot as usize] != NONE
        });
        met.map(|&(communicator, _)| &self.paces[communicator as usize])
            .map(|pace| if pace.windows == 0 { f64::INFINITY } else { pace.period_ns })
            .fold(0.0, f64::max)
    }

    /// Judges the members of one pool by each other.
    fn judge_pool(&mut self, context: &Context<'_>, row: usize, now_ns: u64) {
        let settings = context.settings;
        let pool = &self.members.pools()[row];
        let state = &mut self.pools[row];
        let since = std::mem::replace(&mut state.judged_ns, now_ns);
        let window = Since::between(std::mem::replace(&mut state.before_ns, since), now_ns);
        state.closed = 0;
        state.candidates.clear();
        let paces = &self.paces;
        let period = |communicator: u32| paces[communicator as usize].period_ns;
        self.communicators.judge_pool(context, pool, period, window);
        let among = |of: fn(&Standing) -> f64, values: &mut Vec<f64>| {
            values.clear();
            for &communicator in &pool.communicators {
                let slots = self.members.slots(communicator);
                let known = self.standings[slots].iter().filter(|standing| standing.operations >= 2.0);
                values.extend(known.map(of));
            }
        };
        among(Standing::mean, &mut self.means);
        let few = self.means.len() < FEW;
        let Some((center, chance)) = spread(&mut self.means) else { return };
        // Of few members the late one is a good part of the spread itself: then time alone tells chance.
        let (center, chance, errors) =
            if few { (0.0, 0.0, settings.deviations) } else { (center, chance, ERRORS) };
        among(Standing::variance, &mut self.means);
        let noise = crate::robust::median(&mut self.means).unwrap_or_default();
        let by_chance = ByChance { settings, chance_ns: center + settings.deviations * chance, errors };
        for &communicator in &pool.communicators {
            let pace = &mut self.paces[communicator as usize];
            if pace.windows == 0 {
                continue;
            }
            let least = (settings.slow_share * pace.own_ns).max(settings.slow_share / 4.0 * pace.period_ns);
            pace.stall_ns = least.max(settings.deviations * noise.sqrt()) as f32;
            for slot in self.members.slots(communicator) {
                let standing = &self.standings[slot];
                if f64::from(standing.operations) < f64::from(settings.window) / 2.0 {
                    continue;
                }
                let rank = self.members.rank(slot);
                let told = if self.told_ranks[rank as usize] { GONE } else { 1.0 };
                let first = &mut self.late[slot];
                let Some(lateness) = by_chance.lateness(standing, pace, told, least) else {
                    first.0 = NONE;
                    continue;
                };
                *first = if first.0 == NONE { (since, window) } else { *first };
                state.candidates.push(Candidate {
                    rank,
                    slot,
                    communicator,
                    excess_ns: lateness.excess_ns,
                    floor_ns: lateness.floor_ns,
                    own_ns: pace.own_ns,
                    period_ns: pace.period_ns,
                    spread_share: standing.spread_share(noise),
                    main: pace.main,
                    interval: lateness.interval,
                    denser: false,
                    step_ns: f64::INFINITY,
                    since: first.1,
                    late_ns: now_ns - first.0,
                });
            }
        }
    }
}

/// By how much members of a pool are late by chance.
struct ByChance<'a> {
    settings: &'a Settings,
    /// Lateness that peers show by chance, nanoseconds.
    chance_ns: f64,
    /// Standard errors over time that an excess must exceed.
    errors: f64,
}

/// How late a member is.
struct Lateness {
    excess_ns: f64,
    /// What it had to exceed.
    floor_ns: f64,
    /// Operations from stall to stall, where it stalls at equal intervals.
    interval: Option<u32>,
}

impl ByChance<'_> {
    /// How late a member is, all the time or at equal intervals; none where it is not. `told` is the share of thresholds that
    /// holds for it, `least_ns` the least lateness that matters in its communicator.
    fn lateness(&self, standing: &Standing, pace: &Pace, told: f64, least_ns: f64) -> Option<Lateness> {
        let operations = f64::from(standing.operations);
        let mean = standing.mean();
        let floor_ns = told * self.chance_ns.max(least_ns);
        let error = (standing.variance() / operations).sqrt();
        let late = operations * standing.spread_share(0.0);
        let steady = mean > floor_ns && mean > self.errors * error && late >= LATE_MIN;
        // Within a step experts are as uneven in one layer as in the next, so a rank of more tokens than others stalls
        // at equal intervals: what that costs must stand out among members as other lateness must.
        let periodic = standing.periodic(pace.last).filter(|&(_, cost)| {
            let matters = self.settings.slow_share / 2.0 * pace.period_ns;
            cost > told * matters.max(self.chance_ns)
        });
        if !steady && periodic.is_none() {
            return None;
        }
        let mean = mean.max(standing.cost());
        Some(Lateness {
            excess_ns: periodic.map_or(mean, |(_, cost)| cost.max(mean)),
            floor_ns,
            interval: periodic.map(|(interval, _)| interval),
        })
    }
}

/// Whether all ranks leave an operation of this kind at about the same moment.
fn ends_together(kind: &str) -> bool {
    !matches!(
        kind,
        "send-receive" | "send" | "receive" | "recv" | "broadcast" | "reduce" | "gather" | "scatter"
    )
}

impl Detector for SlowRanks {
    fn name(&self) -> &'static str {
        "slow-ranks"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        let window = (context.settings.window as usize).clamp(2, WINDOW_MAX);
        self.settings = *context.settings;
        self.grow(context.directory, window);
        let operations = &batch.operations;
        let (mut last, mut rows) = (std::mem::take(&mut self.last_enter), std::mem::take(&mut self.rows));
        match order(&operations.rank, &operations.enter_ns, &mut last, &mut rows) {
            None => (0..operations.len()).for_each(|row| self.record(batch, row)),
            Some(rows) => rows.iter().for_each(|&row| self.record(batch, row as usize)),
        }
        (self.last_enter, self.rows) = (last, rows);
        self.chain.observe(context.directory, &self.members, &batch.messages);
        batch.messages.communicator.iter().for_each(|&row| self.communicators.has_messages(row));
        self.hints.observe(context, &batch.counters);
        self.begun_ns = [self.begun_ns[1], batch.until_ns];
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let mut judged = false;
        for row in 0..self.pools.len() {
            self.pools[row].fresh = false;
            if self.pools[row].closed as usize >= self.members.pools()[row].communicators.len() {
                self.judge_pool(context, row, now_ns);
                self.pools[row].fresh = true;
                judged = true;
            }
        }
        if !judged {
            if self.communicators.has_news() {
                self.communicators.tell(context, &self.members, &self.told_ranks, now_ns, findings);
            }
            return;
        }
        let candidates: Vec<Candidate> =
            self.pools.iter().flat_map(|pool| pool.candidates.iter().cloned()).collect();
        let candidates: Vec<Candidate> = candidates
            .into_iter()
            // Operations of one step share its draw: how many tokens went to whose experts, what one pause held up. So what
            // counts is steps, however many operations they have.
            .filter(|c| c.late_ns as f64 >= LATE_MIN * self.cycle_ns(c.rank))
            .map(|c| Candidate { denser: self.denser(context, &c), step_ns: self.step_ns(c.rank), ..c })
            .collect();
        let found = join(context, &self.members, &self.hints, &self.chain, &candidates, now_ns);
        for (pool, state) in self.members.pools().iter().zip(&self.pools) {
            if state.fresh {
                pool.communicators.iter().for_each(|&row| self.chain.forget(self.members.slots(row)));
            }
        }
        self.told_ranks.fill(false);
        for candidate in &candidates {
            self.told_ranks[candidate.rank as usize] = true;
        }
        let mut told = BTreeMap::new();
        for (culprit, finding) in found {
            let mut suspects: Vec<Component> = finding.suspects.iter().map(|s| s.component.clone()).collect();
            suspects.sort();
            if self.told.get(&culprit) != Some(&suspects) {
                findings.push(finding);
            }
            told.insert(culprit, suspects);
        }
        self.told = told;
        self.communicators.tell(context, &self.members, &self.told_ranks, now_ns, findings);
        self.everyone.tell(context, now_ns, findings);
    }
}
