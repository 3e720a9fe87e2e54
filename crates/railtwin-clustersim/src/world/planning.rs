//! Who decides about paths, levels and places in time.
use std::collections::BTreeMap;
use std::sync::Arc;

use railtwin_control::crux::burdens::Burdens;
use railtwin_control::crux::cassini::shift_beside;
use railtwin_control::crux::demand::{Demand, JobDemand};
use railtwin_control::crux::selection::Selection;

use super::World;
use crate::live::{Course, Live};

impl World<'_> {
    /// CASSINI: a job that comes waits for its place beside those that are there.
    pub(super) fn shift(&mut self, job: usize) {
        let now = self.now;
        let lives: Vec<usize> = self.on_network();
        let demands: Vec<&JobDemand> = lives.iter().map(|one| &self.live[one].demand).collect();
        let groups = self.sharing.groups(&demands);
        let Some(own) = lives.iter().position(|&one| one == job) else { return };
        let beside: Vec<usize> = (0..lives.len()).filter(|&one| groups.of[one] == groups.of[own]).collect();
        if beside.len() < 2 {
            return;
        }
        let (links, fair) = (self.tenants.links.len(), self.fair.clone());
        let whole = Demand { jobs: demands.into_iter().cloned().collect(), links, fair };
        let demand = whole.reduced(&beside);
        let begins: Vec<f64> = beside.iter().map(|&one| self.step_began(lives[one])).collect();
        let moved = beside.iter().position(|&one| one == own).unwrap_or_default();
        let placed: Vec<(usize, f64)> =
            (0..beside.len()).filter(|&one| one != moved).map(|one| (one, begins[one])).collect();
        let shift = shift_beside(&demand, &placed, (moved, now));
        let live = self.live.get_mut(&job).expect("it runs");
        live.course = Course::Alone { since: now, left: live.steps - live.behind, elapsed: -shift };
    }

    pub(super) fn step_began(&self, job: usize) -> f64 {
        let live = &self.live[&job];
        match live.course {
            // Its next step begins once all is written.
            _ if live.is_writing() => self.now,
            Course::Alone { since, elapsed, .. } => {
                let step = live.demand.step_alone();
                self.now - (elapsed + self.now - since).rem_euclid(step)
            }
            Course::Contending => {
                let component = self.components.iter().find(|one| one.key.iter().any(|key| key.0 == job));
                let parked = || self.parked.get(&job).map(|parked| parked.1.step_began());
                let began = component.and_then(|one| one.component.step_began(job, self.now));
                began.or_else(parked).unwrap_or(self.now)
            }
        }
    }

    /// Jobs whose steps send over links that others may cross, between hosts or over PCIe, by number.
    pub(super) fn on_network(&self) -> Vec<usize> {
        self.live.iter().filter(|(_, live)| live.sends).map(|(&job, _)| job).collect()
    }

    /// Jobs that do so now: by their steps, or by a checkpoint.
    pub(super) fn on_links(&self) -> Vec<usize> {
        let is_on = |live: &Live| live.sends || live.is_writing();
        self.live.iter().filter(|(_, live)| is_on(live)).map(|(&job, _)| job).collect()
    }

    /// Plans paths and levels of all jobs on the network.
    pub(super) fn plan(&mut self) {
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
            jobs.iter().map(|job| std::mem::take(&mut self.live.get_mut(job).expect("it runs").demand)),
        );
        let mut changed: BTreeMap<usize, (Vec<u32>, JobDemand)> = BTreeMap::new();
        for (at, chosen) in paths.into_iter().flatten().enumerate() {
            if self.live[&jobs[at]].chosen != chosen {
                let asked = burdens[at].demand(&self.tenants, &chosen);
                changed.insert(at, (chosen, std::mem::replace(&mut demand.jobs[at], asked)));
            }
        }
        let distance = |at: usize| burdens[at].distance();
        let (levels, _) = sharing.levels(&demand, distance, levels, seed, &mut self.factors);
        for (at, (asked, level)) in demand.jobs.into_iter().zip(levels).enumerate() {
            // Newcomers stand above or below all levels of a plan.
            let (job, level) = (jobs[at], level + 1);
            let Some((chosen, before)) = changed.remove(&at) else {
                let live = self.live.get_mut(&job).expect("it runs");
                (live.demand, live.level) = (asked, level);
                continue;
            };
            // What it did until now it did by the paths before.
            self.live.get_mut(&job).expect("it runs").demand = before;
            self.settle(job);
            let live = self.live.get_mut(&job).expect("it runs");
            (live.chosen, live.demand, live.level) = (chosen, asked, level);
            live.version += 1;
        }
    }
}
