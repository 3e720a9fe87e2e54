//! Surveys in a run: when they are sent, when they are over, and what is told of them.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_control::controller::Answer;
use railtwin_engine::Survey;
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;

use crate::agenda::NEVER;
use crate::congestion::Control;
use crate::host::Shared;
use crate::live::Live;
use crate::prober::Rounds;

/// Surveys that were sent.
#[derive(Debug, Default)]
pub struct Surveys {
    all: Vec<Survey>,
    /// Those that are not told of, with what links had carried when they began.
    open: BTreeMap<u32, Vec<u64>>,
    /// Those that are over: when that is known everywhere, number, when the last answer came.
    over: BTreeSet<(u64, u32, u64)>,
}

impl Surveys {
    /// When it is known everywhere that a survey is over; [`NEVER`] where none is.
    pub fn next_heard(&self) -> u64 {
        self.over.first().map_or(NEVER, |&(heard, ..)| heard)
    }

    /// Surveys are over: that is known everywhere a lookahead later, as every word between hosts is. No device has
    /// passed that time.
    pub fn end(&mut self, over: Vec<(u32, u64)>, shared: &Shared<'_>) {
        let lookahead = shared.network.lookahead;
        self.over
            .extend(over.into_iter().map(|(number, last)| (last.saturating_add(lookahead), number, last)));
    }

    /// Begins surveys that were asked for at one time; false where the work has ended by then.
    pub fn send<C: Control + std::fmt::Debug>(
        &mut self,
        asked: Vec<Survey>,
        live: &mut Live<'_, '_, '_, C>,
    ) -> bool {
        for survey in asked {
            let at = live.from(survey.at.ps());
            // Only the first is asked for ahead: nothing is over before it, and who is gone is told of afterwards.
            let stops = live.run(at);
            live.hear_of(&stops.gone);
            self.end(stops.surveys, live.shared);
            if live.machine.has_ended() {
                return false;
            }
            let number = self.all.len() as u32;
            live.shared.surveys.push(Rounds::new(&survey, &mut live.shared.network));
            live.machine.begin_survey(at, live.shared);
            self.open.insert(number, live.carried());
            self.all.push(survey);
            if live.shared.surveys[number as usize].of_host.is_empty() {
                self.end(vec![(number, at)], live.shared);
            }
        }
        true
    }

    /// Has the first survey answered that is over and known to be by `until`; false where none is.
    pub fn hear<C: Control + std::fmt::Debug>(&mut self, until: u64, live: &mut Live<'_, '_, '_, C>) -> bool {
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
        live.mediator.answered(survey, SimTime::from_ps(last), SimTime::from_ps(heard));
        true
    }

    /// The surveys that were sent until `end`.
    pub fn finish(self, end: SimTime) -> Vec<Survey> {
        self.all.into_iter().take_while(|survey| survey.at <= end).collect()
    }
}
