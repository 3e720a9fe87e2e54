//! Runs whose controllers hear of packets: devices go on until a job is gone, a survey is over, counters are to be read
//! or the mediator has something to do, in turn.
//!
//! What hosts say is known when the window is over in which they said it, and everywhere a lookahead later, as every word
//! between hosts is. Controllers are told of a job that is gone with the time of its end; what they decide of it without
//! delay reaches devices that lookahead later.
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Mediator, Survey};
use railtwin_units::SimTime;

use crate::agenda::NEVER;
use crate::changes::Changes;
use crate::congestion::Control;
use crate::counters::{Counters, weigh};
use crate::engine::{PASSES, learn};
use crate::host::Shared;
use crate::run::{Machine, Stops};
use crate::surveys::Surveys;

/// What goes on.
#[derive(Debug)]
pub struct Live<'l, 'a, 'm, C: Control> {
    /// The devices.
    pub machine: &'l mut Machine<C>,
    /// What they share.
    pub shared: &'l mut Shared<'a>,
    /// What changes them from outside.
    pub changes: &'l mut Changes,
    /// Who decides.
    pub mediator: &'l mut Mediator<'m>,
    counters: Counters,
    /// When the mediator was last asked.
    now: SimTime,
    /// Up to when all devices have gone on, with nothing left to do before.
    reached: u64,
    /// Up to when devices may have gone on while the mediator stands at an earlier time.
    ahead: u64,
}

impl<'l, 'a, 'm, C: Control + std::fmt::Debug> Live<'l, 'a, 'm, C> {
    /// Before time zero.
    pub fn new(
        machine: &'l mut Machine<C>,
        (shared, changes): (&'l mut Shared<'a>, &'l mut Changes),
        mediator: &'l mut Mediator<'m>,
    ) -> Self {
        machine.tell_of_departures();
        let counters = Counters::new(shared.network.case.fabric.link_count());
        Self { machine, shared, changes, mediator, counters, now: SimTime::ZERO, reached: 0, ahead: 0 }
    }

    /// Plays the run to its end, or until there is a priority without queues; `asked` are the first surveys. Gives all
    /// that were sent.
    pub fn play(mut self, asked: Vec<Survey>, lowering: &Lowering<'_>) -> Surveys {
        let mut surveys = Surveys::default();
        self.decide_in_turn(asked, &mut surveys, lowering);
        if self.shared.is_outgrown() {
            return surveys;
        }
        // The work is done, or nobody has anything to say any more: what is under way arrives.
        loop {
            let stops = self.run(NEVER);
            if stops.is_empty() {
                break;
            }
            surveys.end(stops.surveys, self.shared);
        }
        while surveys.hear(u64::MAX, &mut self) {}
        surveys
    }

    fn decide_in_turn(&mut self, mut asked: Vec<Survey>, surveys: &mut Surveys, lowering: &Lowering<'_>) {
        // Those who write again and again what never arrives never rest.
        let mut idle = 0;
        while idle < PASSES && surveys.send(asked, self) {
            let Some(at) = self.next(surveys) else { return };
            self.now = at;
            idle = if self.machine.soonest() == NEVER { idle + 1 } else { 0 };
            let news = self.mediator.pass(at);
            if news.reweighs {
                weigh(self.mediator.programmed(), self.machine, self.shared);
            }
            if news.reroutes || news.reprioritizes {
                learn(at.max(SimTime::from_ps(self.ahead)), self.mediator, lowering, self.shared);
                if self.shared.is_outgrown() {
                    return;
                }
                self.machine.follow(self.shared, self.changes);
            }
            asked = self.mediator.take_surveys();
        }
    }

    /// Goes on until controllers are to be asked, and gives that time; none where the work has ended or nothing is left
    /// that could ask.
    fn next(&mut self, surveys: &mut Surveys) -> Option<SimTime> {
        loop {
            // Who was not asked while nothing moved is asked once something does.
            let soonest = self.now.max(SimTime::from_ps(self.reached));
            let next = self.mediator.next_time_while(self.machine.is_working()).map(|at| at.max(soonest));
            let measured = self.next_measured();
            let until = next.into_iter().chain(measured).min().map_or(NEVER, SimTime::ps);
            let stop = until.min(surveys.next_heard());
            let stops = self.run(stop);
            if !stops.is_empty() {
                self.hear_of(&stops.gone);
                let last = stops.surveys.iter().map(|&(_, last)| last).max().unwrap_or(0);
                self.ahead = self.ahead.max(last.saturating_add(self.shared.network.lookahead));
                surveys.end(stops.surveys, self.shared);
                continue;
            }
            self.reached = self.reached.max(if stop < NEVER { stop } else { 0 });
            // After the last operation nothing is decided any more.
            if self.machine.ended().is_some_and(|ended| stop >= ended) {
                return None;
            }
            if surveys.hear(until, self) {
                continue;
            }
            match measured.filter(|at| at.ps() == until) {
                Some(at) => {
                    let feedback = self.counters.measure(at, self.machine, self.shared);
                    self.mediator.feed(at, feedback);
                }
                None => return next,
            }
        }
    }

    /// When counters are read next; none where that tells nobody anything.
    fn next_measured(&self) -> Option<SimTime> {
        let soonest = self.machine.soonest();
        // Counters stand still until a device has something to do, unless one did something since they were read.
        let idle = self.machine.events() == self.counters.events();
        let from = SimTime::from_ps(if idle { soonest.max(self.reached) } else { self.reached });
        self.mediator.next_feedback(from).filter(|_| soonest < NEVER)
    }

    /// Jobs are gone, and since when.
    pub fn hear_of(&mut self, gone: &[(u32, u64)]) {
        for &(job, at) in gone {
            self.mediator.close(SimTime::from_ps(at), job);
            self.ahead = self.ahead.max(at.saturating_add(self.shared.network.lookahead));
        }
    }

    /// Lets devices go on.
    pub fn run(&mut self, until: u64) -> Stops {
        self.machine.run(until, self.shared, self.changes)
    }

    /// When devices may be told of what is decided at `at`: no device has passed that time.
    pub fn from(&self, at: u64) -> u64 {
        at.max(self.ahead)
    }

    /// Bytes that links have carried so far, without those of probes.
    pub fn carried(&self) -> Vec<u64> {
        self.machine.carried(self.shared.network.case.fabric.link_count())
    }
}
