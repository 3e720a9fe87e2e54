//! Who decides about paths, levels and places in time.
use std::collections::BTreeMap;
use std::sync::Arc;

use railtwin_control::crux::burdens::Burdens;
use railtwin_control::crux::cassini::{Circle, shift_beside};
use railtwin_control::crux::demand::{Demand, JobDemand};
use railtwin_control::crux::selection::Selection;
use railtwin_control::crux::slots::Slot;

use super::World;
use crate::actions::{Deed, JobAction};
use crate::ask::Ask;
use crate::asked::Asked;
use crate::links::Links;
use crate::live::{Course, Live};

impl World<'_> {
    /// CASSINI: a job that comes waits for its place beside those that are there, and all of them keep to slots where they
    /// stay out of each other's way.
    pub(super) fn shift(&mut self, job: usize) {
        let now = self.now;
        let lives: Vec<usize> = self.on_network();
        let demands: Vec<&JobDemand> = lives.iter().map(|one| &self.live[one].demand.now).collect();
        let groups = self.sharing.groups(lives.len(), (0..).zip(demands.iter().copied()));
        let Some(own) = lives.iter().position(|&one| one == job) else { return };
        let beside: Vec<usize> = (0..lives.len()).filter(|&one| groups.of[one] == groups.of[own]).collect();
        if beside.len() < 2 {
            return;
        }
        let (links, fair) = (self.tenants.links.len(), self.fair.clone());
        let whole = Demand { jobs: demands.into_iter().cloned().collect(), links, fair };
        let demand = whole.reduced(&beside);
        let group: Vec<usize> = beside.iter().map(|&one| lives[one]).collect();
        // Slots of who was in another group are those of its last step there.
        group.iter().for_each(|&one| self.dissolve_of(one));
        let begins: Vec<f64> = group.iter().map(|&one| self.step_began(one)).collect();
        let moved = group.iter().position(|&one| one == job).unwrap_or_default();
        let stands = (0..group.len()).filter(|&one| one != moved);
        let placed: Vec<(usize, f64)> = stands.map(|one| (one, begins[one])).collect();
        let steps: Vec<f64> = demand.jobs.iter().map(JobDemand::step_alone).collect();
        let circle = Circle::of(&steps);
        let (shift, excess) = shift_beside(&demand, &circle, &placed, (moved, now));
        let others_keep =
            placed.len() == 1 || placed.iter().all(|one| self.turns.contains_key(&group[one.0]));
        for (one, &number) in group.iter().enumerate() {
            let begin = if one == moved { now + shift } else { begins[one] };
            match circle.period(one).filter(|_| excess == 0.0 && others_keep) {
                Some(period) => self.turns.insert(number, Slot { next: begin + period, period }),
                None => self.turns.remove(&number),
            };
        }
        let live = self.live.get_mut(&job).expect("it runs");
        live.course = Course::Alone { since: now, left: live.steps - live.behind, elapsed: -shift };
    }

    pub(super) fn step_began(&self, job: usize) -> f64 {
        let live = &self.live[&job];
        match live.course {
            // Its next step begins once all is written.
            _ if live.is_writing() => self.now,
            Course::Alone { since, elapsed, .. } => {
                let step = live.step_now();
                self.now - (elapsed + self.now - since).rem_euclid(step)
            }
            Course::Contending => {
                let component = self.components.iter().find(|one| one.key.iter().any(|key| key.0 == job));
                let parked = || self.parked.get(&job).map(|parked| parked.1.step.step_began());
                let began = component.and_then(|one| one.component.step_began(job, self.now));
                began.or_else(parked).unwrap_or(self.now)
            }
        }
    }

    /// Jobs whose steps send over links that others may cross, between hosts or over PCIe, by number.
    pub(super) fn on_network(&self) -> Vec<usize> {
        self.live.iter().filter(|(_, live)| live.sends).map(|(&job, _)| job).collect()
    }

    /// Jobs that do so now: by their steps, by what they read, or by a checkpoint.
    pub(super) fn on_links(&self) -> Vec<usize> {
        let is_on = |live: &Live| live.sends || live.reading.is_some() || live.is_writing();
        self.live.iter().filter(|(_, live)| is_on(live)).map(|(&job, _)| job).collect()
    }

    /// An hour of inference begins: jobs have another part of the links that they share with it. Paces are learnt anew where
    /// these are, and nowhere else.
    pub(super) fn turn(&mut self) {
        let Some(serving) = &self.ask.serving else { return };
        serving.take(self.now, &mut self.taken);
        self.turn_at = serving.turns_at(self.now);
        let jobs: Vec<usize> = self.live.keys().copied().collect();
        let beside: Vec<usize> =
            jobs.iter().copied().filter(|job| self.live[job].is_beside_inference()).collect();
        for job in beside {
            self.settle(job);
            self.dissolve_of(job);
            self.live.get_mut(&job).expect("it runs").version += 1;
        }
        for job in jobs {
            let links = Links { tenants: &self.tenants, fair: &self.fair, taken: &self.taken };
            self.live.get_mut(&job).expect("it runs").turn(links);
        }
    }

    /// Plans paths and levels of all jobs on the network; `why` that was called for.
    pub(super) fn plan(&mut self, why: &'static str) {
        self.effort.plans += 1;
        let (sharing, levels, seed) = (self.ask.sharing, self.ask.levels, self.ask.seed);
        let jobs = self.on_network();
        let burdens: Vec<Arc<Burdens>> =
            jobs.iter().filter_map(|job| self.live[job].burdens.as_ref().map(Arc::clone)).collect();
        let links = self.tenants.links.len();
        let paths = sharing.paths_since(&mut self.selection, &burdens, links);
        debug_assert_eq!(
            paths,
            sharing.paths_since(&mut Selection::default(), &burdens, links),
            "what was kept is what would be chosen anew"
        );
        // Who stays on its paths asks what it asked.
        let mut demand = Demand { jobs: Vec::with_capacity(jobs.len()), links, fair: self.fair.clone() };
        demand.jobs.extend(
            jobs.iter().map(|job| std::mem::take(&mut self.live.get_mut(job).expect("it runs").demand.now)),
        );
        let mut changed: BTreeMap<usize, (Vec<u32>, Asked, JobDemand)> = BTreeMap::new();
        for (at, chosen) in paths.into_iter().flatten().enumerate() {
            if self.live[&jobs[at]].chosen != chosen {
                let asked = Asked::of(burdens[at].demand(&self.tenants, &chosen), &self.taken);
                let before = std::mem::replace(&mut demand.jobs[at], asked.now.clone());
                changed.insert(at, (chosen, asked, before));
            }
        }
        let distance = |at: usize| burdens[at].distance();
        let (levels, _) = sharing.levels(&demand, distance, levels, seed, &mut self.factors);
        for (at, (asked, level)) in demand.jobs.into_iter().zip(levels).enumerate() {
            // Newcomers stand above or below all levels of a plan.
            let (job, level) = (jobs[at], level + 1);
            let chosen_now = changed.get(&at).map(|(chosen, ..)| &chosen[..]);
            self.actions.extend(decided(&self.live[&job], (level, chosen_now), (self.ask, self.now, why)));
            let Some((chosen, new, before)) = changed.remove(&at) else {
                let live = self.live.get_mut(&job).expect("it runs");
                (live.demand.now, live.level) = (asked, level);
                continue;
            };
            // What it did until now it did by the paths before.
            self.live.get_mut(&job).expect("it runs").demand.now = before;
            self.settle(job);
            if self.ask.serving.is_some() || self.ask.reads.is_some() {
                self.dissolve_of(job);
            }
            let live = self.live.get_mut(&job).expect("it runs");
            (live.chosen, live.level) = (chosen, level);
            live.asks_now(new, Links { tenants: &self.tenants, fair: &self.fair, taken: &self.taken });
            live.version += 1;
        }
    }
}

/// What a plan that was called for because of `why` changes for a job: its level, 0 for newcomers and above all of a plan
/// for those that no plan has had, and its paths, where it gets others.
fn decided(
    live: &Live,
    (level, paths): (u32, Option<&[u32]>),
    (ask, now, why): (&Ask, f64, &'static str),
) -> impl Iterator<Item = JobAction> {
    let (job, controller, decided) = (live.job, ask.sharing.name(), now - ask.replan);
    let moved = paths.map(|paths| {
        let others = paths.iter().zip(&live.chosen).filter(|(one, other)| one != other).count();
        Deed::Paths(others.max(paths.len().abs_diff(live.chosen.len())) as u32)
    });
    let before = (1..=ask.levels).contains(&live.level).then(|| live.level - 1);
    let after = level - 1;
    let turned = (before != Some(after)).then_some(Deed::Level { before, after });
    let action = move |deed| JobAction { decided, effective: now, controller, reason: why, job, deed };
    moved.into_iter().chain(turned).map(action)
}
