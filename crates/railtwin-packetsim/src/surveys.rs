//! A run whose controllers probe: packets go on until a survey is over or a controller is asked, and so on in turn.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_control::controller::Answer;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Mediator, Survey};
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;

use crate::agenda::NEVER;
use crate::changes::Changes;
use crate::congestion::Control;
use crate::engine::learn;
use crate::host::Shared;
use crate::prober::Rounds;
use crate::run::Machine;

/// What goes on.
#[derive(Debug)]
pub struct Live<'l, 'a, C: Control> {
    /// The devices.
    pub machine: &'l mut Machine<C>,
    /// What they share.
    pub shared: &'l mut Shared<'a>,
    /// What changes them from outside.
    pub changes: &'l mut Changes,
}

impl<C: Control + std::fmt::Debug> Live<'_, '_, C> {
    fn run(&mut self, until: u64) -> Vec<(u32, u64)> {
        self.machine.run(until, self.shared, self.changes)
    }

    fn carried(&self) -> Vec<u64> {
        self.machine.carried(self.shared.network.case.fabric.link_count())
    }
}

/// Surveys that were sent.
#[derive(Debug, Default)]
pub struct Surveys {
    all: Vec<Survey>,
    /// Those that are not told of, with what links had carried when they began.
    open: BTreeMap<u32, Vec<u64>>,
    /// Those that are over: when that is known everywhere, number, when the last answer came.
    over: BTreeSet<(u64, u32, u64)>,
    /// When controllers were last asked.
    now: SimTime,
}

impl Surveys {
    /// Plays a run from time zero to its end; `asked` are the first surveys.
    pub fn play<C: Control + std::fmt::Debug>(
        &mut self,
        mut asked: Vec<Survey>,
        live: &mut Live<'_, '_, C>,
        mediator: &mut Mediator<'_>,
        lowering: &Lowering<'_>,
    ) {
        while self.send(asked, live) {
            let Some(at) = self.next(live, mediator) else { break };
            self.now = at;
            if mediator.pass(at).reroutes {
                learn(at, mediator, lowering, live.shared);
                live.machine.follow(live.shared, live.changes);
            }
            asked = mediator.take_surveys();
        }
        // The work is done: what is under way arrives.
        loop {
            let over = live.run(NEVER);
            if over.is_empty() {
                break;
            }
            self.end(over, live);
        }
        while self.hear(u64::MAX, live, mediator) {}
    }

    /// Goes on until controllers are to be asked, and gives that time; none where the work has ended or nothing is left
    /// that could ask.
    fn next<C: Control + std::fmt::Debug>(
        &mut self,
        live: &mut Live<'_, '_, C>,
        mediator: &mut Mediator<'_>,
    ) -> Option<SimTime> {
        loop {
            // Who was not asked while nothing moved is asked once something does.
            let next = mediator.next_time_while(live.machine.is_working()).map(|at| at.max(self.now));
            let until = next.map_or(NEVER, SimTime::ps);
            let heard = self.over.first().map_or(NEVER, |&(heard, ..)| heard);
            let over = live.run(until.min(heard));
            let nothing = over.is_empty();
            self.end(over, live);
            if live.machine.has_ended() {
                return None;
            }
            if nothing && !self.hear(until, live, mediator) {
                return next;
            }
        }
    }

    /// Surveys are over: that is known everywhere a lookahead later, as every word between hosts is. No device has
    /// passed that time.
    fn end<C: Control + std::fmt::Debug>(&mut self, over: Vec<(u32, u64)>, live: &Live<'_, '_, C>) {
        let lookahead = live.shared.network.lookahead;
        self.over
            .extend(over.into_iter().map(|(number, last)| (last.saturating_add(lookahead), number, last)));
    }

    /// Begins surveys that were asked for at one time; false where the work has ended by then.
    fn send<C: Control + std::fmt::Debug>(&mut self, asked: Vec<Survey>, live: &mut Live<'_, '_, C>) -> bool {
        for survey in asked {
            let at = survey.at.ps();
            // Only the first is asked for ahead: nothing is over before it.
            live.run(at);
            if live.machine.has_ended() {
                return false;
            }
            let number = self.all.len() as u32;
            live.shared.surveys.push(Rounds::new(&survey, &mut live.shared.network));
            live.machine.begin_survey(at, live.shared);
            self.open.insert(number, live.carried());
            self.all.push(survey);
            if live.shared.surveys[number as usize].of_host.is_empty() {
                self.end(vec![(number, at)], live);
            }
        }
        true
    }

    /// Has the first survey answered that is over and known to be by `until`; false where none is.
    fn hear<C: Control + std::fmt::Debug>(
        &mut self,
        until: u64,
        live: &mut Live<'_, '_, C>,
        mediator: &mut Mediator<'_>,
    ) -> bool {
        let Some(&(heard, number, last)) = self.over.first().filter(|(heard, ..)| *heard <= until) else {
            return false;
        };
        self.over.pop_first();
        let before = self.open.remove(&number).unwrap_or_default();
        let carried = live.carried();
        let fabric = &*live.shared.network.case.fabric;
        let survey = &mut self.all[number as usize];
        let most = Answer::LOADED * SimTime::from_ps(heard - survey.at.ps()).seconds();
        let is_loaded = |link: LinkId| {
            let sent = (carried[link.index()] - before[link.index()]) as f64;
            sent > most * fabric.capacity(link).bytes_per_s()
        };
        survey.answers = live.machine.take_answers(number, survey, live.shared);
        for row in 0..survey.answers.len() {
            let both = survey.links_of(row).iter().flat_map(|&link| [link, link.reverse()]);
            let loaded = both.into_iter().any(is_loaded);
            survey.answers[row].loaded = loaded;
        }
        live.shared.surveys[number as usize].close();
        mediator.answered(survey, SimTime::from_ps(last), SimTime::from_ps(heard));
        true
    }

    /// The surveys that were sent until `end`.
    pub fn finish(self, end: SimTime) -> Vec<Survey> {
        self.all.into_iter().take_while(|survey| survey.at <= end).collect()
    }
}
