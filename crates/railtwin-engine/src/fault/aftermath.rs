//! What faults bring about, moment after moment: what happens, what becomes known, when paths are planned again.
use std::collections::BTreeSet;

use railtwin_fabric::Fabric;
use railtwin_units::SimTime;

use super::{Known, Moment};
use crate::case::Replan;

/// The timeline of a case as an engine goes through it.
#[derive(Debug)]
pub struct Aftermath<'a> {
    /// Moments that have not passed, in order of time.
    coming: &'a [Moment],
    known: Known,
    /// When who plans paths does so again.
    plans: BTreeSet<SimTime>,
}

/// What passed at one time.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// What happened.
    pub moments: &'a [Moment],
    /// Whether somebody learnt what changes paths.
    pub learnt: bool,
    /// Whether it was time to plan paths anew.
    pub due: bool,
    /// Whether who plans learnt something.
    pub planned: bool,
}

impl News<'_> {
    /// Whether paths are other ones than before.
    pub const fn reroutes(&self) -> bool {
        self.learnt || self.planned
    }
}

impl<'a> Aftermath<'a> {
    /// At time zero. What is down from then on was down long before: switches, hosts and planners know of it, also
    /// those who never plan again. Its moments are still to pass, and teach nobody anything.
    pub fn new(fabric: &Fabric, moments: &'a [Moment], replan: Replan) -> Self {
        let mut known = Known::new(fabric, replan);
        for moment in moments.iter().take_while(|moment| moment.at == SimTime::ZERO) {
            known.learn(moment.change);
        }
        known.plan();
        Self { coming: moments, known, plans: BTreeSet::new() }
    }

    /// What is known now.
    pub const fn known(&self) -> &Known {
        &self.known
    }

    /// What was known last.
    pub fn into_known(self) -> Known {
        self.known
    }

    /// When something happens, or paths are planned anew, next.
    pub fn next_time(&self) -> Option<SimTime> {
        let moment = self.coming.first().map(|moment| moment.at);
        [moment, self.plans.first().copied()].into_iter().flatten().min()
    }

    /// Passes through what happens at `now`, which is not after [`Self::next_time`]. Who plans at that time anyway
    /// does so knowing it, and needs no other plan.
    pub fn pass(&mut self, now: SimTime) -> News<'a> {
        let coming = self.coming;
        let passed = coming.iter().take_while(|moment| moment.at == now).count();
        let (moments, coming) = coming.split_at(passed);
        self.coming = coming;
        let mut learnt = false;
        for moment in moments {
            learnt |= self.known.learn(moment.change);
        }
        let due = self.plans.remove(&now);
        let planned = (due || learnt && self.known.replan == Replan::AtOnce) && self.known.plan();
        if learnt && !due {
            self.plan_after(now);
        }
        News { moments, learnt, due, planned }
    }

    /// Paths are planned anew as after a change of routes at `now`.
    pub fn plan_after(&mut self, now: SimTime) {
        self.plans.extend(self.known.replan.after(now));
    }
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::LinkId;
    use railtwin_fabric::preset::LeafSpine;

    use super::*;
    use crate::fault::{Change, View};

    fn ms(ms: u64) -> SimTime {
        SimTime::from_ns(ms * 1_000_000)
    }

    /// When links are avoided as they die at these times, one each, and when who plans has learnt of how many.
    fn plans(deaths: &[u64], replan: Replan) -> Vec<(u64, usize)> {
        let fabric = LeafSpine::default().build().unwrap();
        let moments: Vec<Moment> = (0..)
            .zip(deaths)
            .map(|(link, &at)| Moment { at: ms(at), change: Change::Avoided(LinkId(link), View::All) })
            .collect();
        let mut aftermath = Aftermath::new(&fabric, &moments, replan);
        let mut told = vec![(0, aftermath.known().planned.down_count())];
        while let Some(now) = aftermath.next_time() {
            let news = aftermath.pass(now);
            assert_eq!(news.reroutes(), news.learnt || news.planned);
            if news.planned {
                told.push((now.ps() / 1_000_000_000, aftermath.known().planned.down_count()));
            }
        }
        assert_eq!(aftermath.known().routed.down_count(), deaths.len());
        told
    }

    #[test]
    fn what_is_down_from_the_start_is_planned_for_by_those_who_never_plan_again() {
        assert_eq!(plans(&[0, 0, 10], Replan::Never), [(0, 2)]);
    }

    #[test]
    fn plans_follow_the_routes_as_they_are_told_to() {
        let deaths = [10, 20, 20, 50];
        assert_eq!(plans(&deaths, Replan::AtOnce), [(0, 0), (10, 1), (20, 3), (50, 4)]);
        assert_eq!(plans(&deaths, Replan::After(SimTime::ZERO)), [(0, 0), (10, 1), (20, 3), (50, 4)]);
        // The plan for the first knows of the next two, whose own brings nothing new.
        assert_eq!(plans(&deaths, Replan::After(ms(15))), [(0, 0), (25, 3), (65, 4)]);
        assert_eq!(plans(&deaths, Replan::Every(ms(30))), [(0, 0), (30, 3), (60, 4)]);
    }

    #[test]
    fn who_plans_in_the_moment_of_a_change_needs_no_other_plan() {
        // At 15 ms it knows of the second; the third waits for its own plan.
        assert_eq!(plans(&[10, 15, 17], Replan::After(ms(5))), [(0, 0), (15, 2), (22, 3)]);
    }
}
