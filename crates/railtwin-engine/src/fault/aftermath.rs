//! What faults bring about, moment after moment: what happens, and what becomes known.
use railtwin_fabric::Fabric;
use railtwin_units::SimTime;

use super::{Known, Moment};

/// The timeline of a case as an engine goes through it.
#[derive(Debug)]
pub struct Aftermath<'a> {
    /// Moments that have not passed, in order of time.
    coming: &'a [Moment],
    known: Known,
}

impl<'a> Aftermath<'a> {
    /// At time zero. What is down from then on was down long before: switches and hosts know of it. Its moments are
    /// still to pass, and teach nobody anything.
    pub fn new(fabric: &Fabric, moments: &'a [Moment]) -> Self {
        let mut known = Known::new(fabric);
        for moment in moments.iter().take_while(|moment| moment.at == SimTime::ZERO) {
            known.learn(moment.change);
        }
        Self { coming: moments, known }
    }

    /// What is known now.
    pub const fn known(&self) -> &Known {
        &self.known
    }

    /// What was known last.
    pub fn into_known(self) -> Known {
        self.known
    }

    /// When something happens next.
    pub fn next_time(&self) -> Option<SimTime> {
        self.coming.first().map(|moment| moment.at)
    }

    /// Passes through what happens at `now`, which is not after [`Self::next_time`]: what that is, and whether
    /// somebody learnt what changes paths.
    pub fn pass(&mut self, now: SimTime) -> (&'a [Moment], bool) {
        let coming = self.coming;
        let passed = coming.iter().take_while(|moment| moment.at == now).count();
        let (moments, coming) = coming.split_at(passed);
        self.coming = coming;
        let learnt = moments.iter().fold(false, |learnt, moment| self.known.learn(moment.change) | learnt);
        (moments, learnt)
    }
}
