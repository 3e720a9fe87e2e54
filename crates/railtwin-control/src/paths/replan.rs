//! What changes when links die, come back or turn out to be faulty: as little as can be.
use railtwin_fabric::{CableId, LinkId};
use railtwin_routing::Forwarding;

use super::allocator::{Held, PathAllocator};
use super::assignment::{Assignment, JobId};

/// What is known of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkState {
    /// In use.
    Up,
    /// Dead: switches have taken it out of their groups.
    Down,
    /// In the switches' groups, but losing packets: to be avoided.
    Faulty,
}

/// One assignment before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// Its job.
    pub job: JobId,
    /// Its place among those of the job.
    pub index: usize,
    /// As it was.
    pub before: Assignment,
    /// As it is.
    pub after: Assignment,
}

/// What a link event came to, each list in order of jobs and places.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Replan {
    /// Paths that changed, because a link of theirs died or turned faulty or the tables offer them no longer.
    pub moved: Vec<Move>,
    /// Paths that stay, under a new source port, because a group on the way changed its size.
    pub ported: Vec<Move>,
    /// Queue pairs that lost their last path.
    pub stranded: Vec<Move>,
}

impl PathAllocator<'_> {
    /// As [`Self::replan`] for both directions of a cable.
    pub fn replan_cable(&mut self, cable: CableId, state: LinkState) -> Replan {
        self.replan(&[(cable.forward(), state), (cable.backward(), state)])
    }

    /// Takes up what became of links. Only those assignments move that crossed a link which is now dead or faulty,
    /// and those stranded for which there is a path again; after a repair nothing else moves. All whose hash groups
    /// changed keep their paths by new source ports; one whose path no port reaches any more moves too.
    pub fn replan(&mut self, events: &[(LinkId, LinkState)]) -> Replan {
        let changed = self.take_up(events);
        let touched: Vec<_> = events
            .iter()
            .flat_map(|&(link, _)| [self.fabric.source(link), self.fabric.target(link)])
            .collect();
        let worst: Vec<LinkId> =
            events.iter().filter(|(_, state)| *state != LinkState::Up).map(|&(link, _)| link).collect();
        let mut replan = Replan::default();
        let mut jobs = std::mem::take(&mut self.jobs);
        let mut broken = Vec::new();
        for (&job, all) in &mut jobs {
            for (index, held) in all.iter_mut().enumerate() {
                let Held { given, pair } = *held;
                let crosses = given.path.links().iter().any(|link| worst.contains(link));
                let is_concerned = crosses
                    || changed.get(pair as usize).copied().unwrap_or(true)
                    || touched.contains(&given.source.nic)
                    || touched.contains(&given.target);
                if !is_concerned {
                    continue;
                }
                match self.keep(held, crosses) {
                    Some(port) if port == given.source_port => {}
                    Some(port) => {
                        held.given.source_port = port;
                        replan.ported.push(Move { job, index, before: given, after: held.given });
                    }
                    None => {
                        self.count(&given, false);
                        broken.push((job, index, given));
                    }
                }
            }
        }
        for (job, index, before) in broken {
            let held = &mut jobs.get_mut(&job).expect("broken ones come from these jobs")[index];
            self.scratch.new_key();
            let is_placed = self.place(held);
            let one = Move { job, index, before, after: held.given };
            match is_placed {
                true if one.after.path != before.path => replan.moved.push(one),
                true if one.after.source_port != before.source_port => replan.ported.push(one),
                false if before.landed.is_some() => replan.stranded.push(one),
                _ => {}
            }
        }
        self.jobs = jobs;
        replan.ported.sort_by_key(|one| (one.job, one.index));
        replan
    }

    /// Changes masks and tables; returns which pairs of leaves have other ways now.
    fn take_up(&mut self, events: &[(LinkId, LinkState)]) -> Vec<bool> {
        let mut mask = self.forwarding.mask().clone();
        let (mut gone, mut revived) = (Vec::new(), false);
        for &(link, state) in events {
            let (is_down, was_down) = (state == LinkState::Down, mask.is_down(link));
            if is_down && !was_down {
                gone.push(link);
            }
            revived |= was_down && !is_down;
            mask.set_link(link, is_down);
            self.mark_faulty(link, state == LinkState::Faulty);
        }
        if gone.is_empty() && !revived {
            return vec![false; self.catalogue.len()];
        }
        self.scratch.forget_bounds();
        self.forwarding = Forwarding::new(self.fabric, &mask);
        let routing = railtwin_routing::Routing::new(self.fabric, &self.forwarding, &self.ecmp);
        self.catalogue.refresh(&routing, &gone, revived)
    }

    /// The source port by which an assignment keeps its path, its own if that still takes it.
    fn keep(&mut self, held: &mut Held, crosses: bool) -> Option<u16> {
        let Assignment { path, source_port, .. } = held.given;
        self.scratch.new_key();
        if crosses || path.links().is_empty() {
            return None;
        }
        self.with_flow(held, |scratch, flow| {
            let now = scratch.follow(flow, source_port);
            match now.is_some_and(|now| now.path == path) {
                true => Some(source_port),
                false => scratch.port_for(flow, &path),
            }
        })
    }
}
