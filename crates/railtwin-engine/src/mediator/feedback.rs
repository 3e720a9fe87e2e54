//! What engines measured, on its way to controllers: completions and counters of each period of `[control] feedback`.
//!
//! An engine asks [`Mediator::next_feedback`] when it is to measure next, hands over what it found by
//! [`Mediator::feed`], and controllers are told `[control] report` later. What is empty is told to nobody.
use std::collections::VecDeque;

use railtwin_control::controller::{
    Completion, Controller, Counters, Decision, Event, LinkCounters, QueuePairCounters,
};
use railtwin_units::SimTime;

use super::{ActionRow, Mediator};

/// What an engine measured since it was last asked.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Feedback {
    /// What queue pairs completed, by row.
    pub completions: Vec<Completion>,
    /// What links carried and marked, ascending.
    pub links: Vec<LinkCounters>,
    /// What NICs counted of queue pairs, by row.
    pub queue_pairs: Vec<QueuePairCounters>,
}

impl Feedback {
    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.completions.is_empty() && self.links.is_empty() && self.queue_pairs.is_empty()
    }
}

/// Measured, and not told yet.
#[derive(Debug)]
struct UnderWay {
    arrives: SimTime,
    period: SimTime,
    feedback: Feedback,
}

/// Asks engines in time and tells controllers later.
#[derive(Debug, Default)]
pub(super) struct Feeder {
    /// None where nobody wants to know.
    period: Option<SimTime>,
    /// When the engine was asked last.
    asked: SimTime,
    under_way: VecDeque<UnderWay>,
}

impl Feeder {
    pub(super) fn every(period: Option<SimTime>) -> Self {
        Self { period: period.map(|period| period.max(SimTime::from_ps(1))), ..Self::default() }
    }

    /// When something is told next.
    pub(super) fn arrives(&self) -> Option<SimTime> {
        self.under_way.front().map(|one| one.arrives)
    }

    /// Tells controllers what has reached them; false where nothing has.
    pub(super) fn tell<'a>(&mut self, now: SimTime, controllers: &mut [Box<dyn Controller + 'a>]) -> bool {
        let mut told = false;
        while self.arrives().is_some_and(|at| at <= now) {
            let Some(UnderWay { period, feedback, .. }) = self.under_way.pop_front() else { break };
            let Feedback { completions, links, queue_pairs } = &feedback;
            let counters = Counters { period, links, queue_pairs };
            for controller in controllers.iter_mut() {
                if !completions.is_empty() {
                    controller.on_event(now, &Event::Completed(completions));
                }
                controller.on_event(now, &Event::Counters(counters));
            }
            told = true;
        }
        told
    }
}

impl Mediator<'_> {
    /// When the engine is to measure next, at `from` or later: at a whole multiple of the period. None where no
    /// controller is told.
    pub fn next_feedback(&self, from: SimTime) -> Option<SimTime> {
        let period = self.feeder.period?.ps();
        let next = (self.feeder.asked.ps() / period + 1).max(from.ps().div_ceil(period));
        next.checked_mul(period).map(SimTime::from_ps)
    }

    /// Takes what the engine measured up to `now`, before it passes through that time.
    pub fn feed(&mut self, now: SimTime, feedback: Feedback) {
        let period = now.since(self.feeder.asked);
        self.feeder.asked = now;
        if !feedback.is_empty() {
            let arrives = now.saturating_add(self.report);
            self.feeder.under_way.push_back(UnderWay { arrives, period, feedback });
        }
    }

    /// The same run once more: what was decided after the start is taken from its log, as what engines measured is told
    /// to nobody. Without feedback controllers decide again.
    #[must_use]
    pub fn replaying(mut self, actions: &[ActionRow]) -> Self {
        if self.feeder.period.is_some() {
            let late = actions.iter().filter(|one| one.decided > SimTime::ZERO);
            let rows: VecDeque<_> =
                late.map(|one| (one.decided, Decision { action: one.action, reason: one.reason })).collect();
            self.controllers = vec![Box::new(Script { rows })];
            self.of_balancer = 0;
            self.feeder = Feeder::default();
        }
        self
    }
}

/// Decides what was decided before.
#[derive(Debug)]
struct Script {
    rows: VecDeque<(SimTime, Decision)>,
}

impl Controller for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn on_event(&mut self, _now: SimTime, _event: &Event<'_>) {}

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        let due = self.rows.partition_point(|&(at, _)| at <= now);
        decisions.extend(self.rows.drain(..due).map(|(_, decision)| decision));
    }

    fn next_time(&self) -> SimTime {
        self.rows.front().map_or(SimTime::NEVER, |&(at, _)| at)
    }
}
