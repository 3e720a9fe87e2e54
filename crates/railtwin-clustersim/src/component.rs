//! Jobs that share links that cannot serve them all at once: watched step by step, or skipped ahead.
use std::sync::Arc;

use railtwin_control::crux::demand::Demand;
use railtwin_control::crux::fluid::{Fluid, Running, Steps};
use railtwin_control::crux::slots::{Slot, Slots};
use railtwin_units::stream::Stream;
use rand::RngExt;

use crate::estimate::Estimate;
use crate::lived::Effort;
use crate::reading::Rows;

/// Steps of the slowest job in a block.
const BLOCK_STEPS: f64 = 20.0;
/// A first skip is so many times as long as what was watched; each later one twice as long as the one before.
const FIRST_SKIP: f64 = 2.0;
/// Blocks for which a last step is looked for ahead.
const AHEAD: f64 = 4.0;

/// A job in the component.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Its place among the jobs that run.
    pub slot: usize,
    /// Steps that are left.
    pub left: f64,
    /// What its jitter is drawn from.
    pub lot: Stream,
    /// When its steps begin, where it keeps to slots.
    pub turn: Option<Slot>,
}

/// Steps of a job between two moments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub slot: usize,
    pub from: f64,
    pub to: f64,
    pub steps: f64,
}

/// How the time goes.
#[derive(Clone, Debug)]
enum Mode {
    /// Step by step; the block that is watched ends at `until`.
    Watched { until: f64, purpose: Purpose },
    /// By steps a second, until the pace is looked at again.
    Skipped { from: f64, until: f64, rates: Vec<f64> },
}

/// Why a block is watched.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Purpose {
    /// Jobs find their places beside each other.
    Settle,
    /// To learn the pace.
    Learn,
    /// To see whether it is still the pace after `skipped` seconds.
    Check { skipped: f64 },
}

#[derive(Debug)]
pub(crate) struct Component {
    pub members: Vec<Member>,
    /// Slots of the members.
    slots: Slots,
    demand: Arc<Demand>,
    /// Of the rows behind the members, which are what they read, the members whose they are.
    owners: Vec<usize>,
    pub levels: Vec<u32>,
    fluid: Fluid,
    mode: Mode,
    estimate: Estimate,
    /// By job: steps and their seconds at the begin of the block, and steps that were told of.
    block: Vec<(u64, f64)>,
    told: Vec<u64>,
    told_at: f64,
    watched: f64,
    /// When the next job ends, if that was looked for; or a moment before which none does.
    next_end: Option<NextEnd>,
    jitter: f64,
    steady: f64,
}

#[derive(Clone, Copy, Debug)]
enum NextEnd {
    At(f64),
    NotBefore(f64),
}

/// Counts steps down and draws how long the next ones compute.
struct Count<'a> {
    members: &'a mut [Member],
    slots: &'a mut Slots,
    jitter: f64,
    is_over: bool,
}

impl Steps for Count<'_> {
    fn ended(&mut self, job: usize, _now: f64) -> f64 {
        let member = &mut self.members[job];
        member.left -= 1.0;
        // What is skipped leaves parts of steps.
        self.is_over |= member.left < 0.5;
        stretch(&mut member.lot, self.jitter)
    }

    fn begins(&mut self, job: usize, now: f64) -> f64 {
        self.slots.begin(job, now)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// How many times as long as planned a step computes.
pub(crate) fn stretch(lot: &mut Stream, jitter: f64) -> f64 {
    if jitter == 0.0 { 1.0 } else { 1.0 + jitter * lot.random_range(-1.0..1.0) }
}

impl Component {
    /// Jobs in the middle of their steps at `now`, with the levels that they have here and the demand of their steps, behind
    /// which is that of what the members `owners` read.
    pub(crate) fn new(
        jobs: Vec<(Member, Rows)>,
        (demand, owners): (Demand, Vec<usize>),
        levels: Vec<u32>,
        now: f64,
        (jitter, steady): (f64, f64),
    ) -> Self {
        let demand = Arc::new(demand);
        let (members, rows): (Vec<Member>, Vec<Rows>) = jobs.into_iter().unzip();
        let reads = owners.iter().filter_map(|&owner| rows[owner].read);
        let running: Vec<Running> = rows.iter().map(|one| one.step).chain(reads).collect();
        let of_rows: Vec<u32> =
            levels.iter().copied().chain(owners.iter().map(|&owner| levels[owner])).collect();
        let fluid = Fluid::new(Arc::clone(&demand), &of_rows, running, now, f64::INFINITY);
        let fluid = fluid.beside(owners.clone());
        let block: Vec<(u64, f64)> = counts(&fluid);
        let told = block.iter().map(|one| one.0).collect();
        let slots = Slots(members.iter().map(|member| member.turn).collect());
        let mut component = Self {
            members,
            slots,
            demand,
            owners,
            levels,
            fluid,
            mode: Mode::Watched { until: now, purpose: Purpose::Settle },
            estimate: Estimate::default(),
            block,
            told,
            told_at: now,
            watched: 0.0,
            next_end: None,
            jitter,
            steady,
        };
        component.watch(Purpose::Settle);
        component
    }

    fn block_seconds(&self) -> f64 {
        BLOCK_STEPS * self.demand.jobs.iter().map(|job| job.step_alone()).fold(0.0, f64::max)
    }

    fn watch(&mut self, purpose: Purpose) {
        self.block = counts(&self.fluid);
        self.mode = Mode::Watched { until: self.fluid.now + self.block_seconds(), purpose };
    }

    /// A moment before which no job ends; exactly when one does where that is near.
    pub(crate) fn soonest_end(&mut self) -> f64 {
        match &self.mode {
            Mode::Skipped { from, until, rates } => {
                let end = |(member, rate): (&Member, &f64)| {
                    if *rate > 0.0 { from + member.left / rate } else { f64::INFINITY }
                };
                self.members.iter().zip(rates).map(end).fold(*until, f64::min)
            }
            Mode::Watched { .. } => {
                if let Some(NextEnd::At(at) | NextEnd::NotBefore(at)) = self.next_end {
                    return at;
                }
                let mut bound = f64::INFINITY;
                for (member, job) in self.members.iter().zip(&self.demand.jobs) {
                    // Steps after the one that is under way, none faster than alone.
                    let steps = (member.left - 0.5).ceil() - 1.0;
                    bound = bound.min(steps * job.step_alone() * (1.0 - self.jitter));
                }
                if bound > 0.0 {
                    return self.fluid.now + bound;
                }
                let (mut fluid, mut members, mut slots) =
                    (self.fluid.clone(), self.members.clone(), self.slots.clone());
                let (members, slots) = (&mut members[..], &mut slots);
                let mut count = Count { members, slots, jitter: self.jitter, is_over: false };
                fluid.run(self.fluid.now + AHEAD * self.block_seconds(), &mut count, |_, _, _| ());
                let found =
                    if count.is_over { NextEnd::At(fluid.now) } else { NextEnd::NotBefore(fluid.now) };
                self.next_end = Some(found);
                fluid.now
            }
        }
    }

    /// Goes on to `to`, at most to the first end of a job, and says which have ended. Nobody else's job ends before.
    pub(crate) fn advance(&mut self, to: f64, told: &mut Vec<Progress>, effort: &mut Effort) -> Vec<usize> {
        loop {
            match &self.mode {
                Mode::Skipped { until, .. } => {
                    let until = *until;
                    let end = self.soonest_end();
                    if end > to {
                        return Vec::new();
                    }
                    let is_check = end >= until;
                    let skipped = self.settle(end, told, effort);
                    if is_check {
                        self.watch(Purpose::Check { skipped });
                    }
                    let ended = self.ended();
                    if !ended.is_empty() {
                        return ended;
                    }
                    if !is_check {
                        self.watch(Purpose::Check { skipped });
                    }
                }
                Mode::Watched { until, purpose } => {
                    let (until, purpose) = (*until, *purpose);
                    let has_end = matches!(self.next_end, Some(NextEnd::At(at)) if at <= to);
                    let stop = if has_end { until } else { to.min(until) };
                    let (members, slots) = (&mut self.members[..], &mut self.slots);
                    let mut count = Count { members, slots, jitter: self.jitter, is_over: false };
                    self.fluid.run(stop, &mut count, |_, _, _| ());
                    let is_over = count.is_over;
                    if matches!(self.next_end, Some(NextEnd::NotBefore(at)) if at <= self.fluid.now) {
                        self.next_end = None;
                    }
                    if is_over {
                        self.next_end = None;
                        self.tell(told, effort);
                        return self.ended();
                    }
                    if self.fluid.now >= until {
                        self.tell(told, effort);
                        self.end_of_block(purpose, effort);
                    } else if self.fluid.now >= to {
                        return Vec::new();
                    }
                }
            }
        }
    }

    fn end_of_block(&mut self, purpose: Purpose, effort: &mut Effort) {
        let block: Vec<(f64, f64)> = counts(&self.fluid)
            .iter()
            .zip(&self.block)
            .map(|(now, begin)| ((now.0 - begin.0) as f64, now.1 - begin.1))
            .collect();
        // Jitter lets phases wander over thousands of steps, and who stands still begins later: no pace is steady.
        let stands = self.fluid.jobs.iter().any(|job| job.step_began() > self.fluid.now);
        if self.steady == 0.0 || self.jitter > 0.0 || stands {
            return self.watch(Purpose::Settle);
        }
        match purpose {
            Purpose::Settle => return self.watch(Purpose::Learn),
            Purpose::Learn => {
                self.estimate.add(&block);
                self.watched += self.block_seconds();
                if let Some(rates) = self.estimate.steady(self.steady) {
                    return self.skip(FIRST_SKIP * self.watched, rates);
                }
            }
            Purpose::Check { skipped } => {
                effort.checks += 1;
                if self.estimate.agrees(&block, self.steady) {
                    self.estimate.add(&block);
                    if let Some(rates) = self.estimate.steady(self.steady) {
                        return self.skip(2.0 * skipped, rates);
                    }
                } else {
                    effort.checks_failed += 1;
                    (self.estimate, self.watched) = (Estimate::default(), 0.0);
                }
            }
        }
        self.watch(Purpose::Learn);
    }

    fn skip(&mut self, seconds: f64, rates: Vec<f64>) {
        let from = self.fluid.now;
        self.next_end = None;
        self.mode = Mode::Skipped { from, until: from + seconds, rates };
    }

    /// Ends a skip at `now`; the seconds that were skipped.
    fn settle(&mut self, now: f64, told: &mut Vec<Progress>, effort: &mut Effort) -> f64 {
        let Mode::Skipped { from, rates, .. } = &mut self.mode else { return 0.0 };
        let from = std::mem::replace(from, now);
        let skipped = now - from;
        for ((member, running), rate) in self.members.iter_mut().zip(&mut self.fluid.jobs).zip(rates.iter()) {
            let steps = (rate * skipped).min(member.left);
            member.left -= steps;
            running.put_off(skipped);
            told.push(Progress { slot: member.slot, from, to: now, steps });
            effort.skipped_steps += steps;
        }
        self.fluid.jobs[self.members.len()..].iter_mut().for_each(|one| one.put_off(skipped));
        self.slots.put_off(skipped);
        self.fluid.now = now;
        self.told_at = now;
        skipped
    }

    fn tell(&mut self, told: &mut Vec<Progress>, effort: &mut Effort) {
        let now = self.fluid.now;
        for ((member, running), known) in self.members.iter().zip(&self.fluid.jobs).zip(&mut self.told) {
            let steps = (running.served.steps - *known) as f64;
            *known = running.served.steps;
            told.push(Progress { slot: member.slot, from: self.told_at, to: now, steps });
            effort.watched_steps += steps;
        }
        self.told_at = now;
    }

    fn ended(&self) -> Vec<usize> {
        self.members
            .iter()
            .filter(|member| member.left < 0.5e-6 || self.is_last(member))
            .map(|one| one.slot)
            .collect()
    }

    /// Whether less than half a step of a job is left while steps are counted whole.
    fn is_last(&self, member: &Member) -> bool {
        matches!(self.mode, Mode::Watched { .. }) && member.left < 0.5
    }

    /// When the step of a job began that is under way.
    pub(crate) fn step_began(&self, slot: usize, now: f64) -> Option<f64> {
        let at = self.members.iter().position(|member| member.slot == slot)?;
        // Steps go on as they stood where a skip began.
        let skipped = match self.mode {
            Mode::Skipped { from, .. } => now - from,
            Mode::Watched { .. } => 0.0,
        };
        Some(self.fluid.jobs[at].step_began() + skipped)
    }

    /// The jobs as they are at `now`, which is where the component stands.
    pub(crate) fn dissolve(
        mut self,
        now: f64,
        told: &mut Vec<Progress>,
        effort: &mut Effort,
    ) -> Vec<(Member, Rows)> {
        match self.mode {
            Mode::Skipped { .. } => {
                self.settle(now, told, effort);
            }
            Mode::Watched { .. } => self.tell(told, effort),
        }
        let reads = self.fluid.jobs.split_off(self.members.len());
        let alone = self.fluid.jobs.iter().map(|&step| Rows { step, read: None });
        let mut rows: Vec<Rows> = alone.collect();
        for (&owner, read) in self.owners.iter().zip(reads) {
            rows[owner].read = Some(read);
        }
        for (member, turn) in self.members.iter_mut().zip(self.slots.0) {
            member.turn = turn;
        }
        self.members.into_iter().zip(rows).collect()
    }
}

/// By job: steps that ended and their seconds.
fn counts(fluid: &Fluid) -> Vec<(u64, f64)> {
    fluid.jobs.iter().map(|one| (one.served.steps, one.served.stepping)).collect()
}
