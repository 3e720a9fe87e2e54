//! Crux in a run (Cao et al., SIGCOMM '24, sections 4 and 5): one controller for all jobs, told when they come and go.
//!
//! What it decides is what [`SharingPolicy`] decides of the jobs that are there, Crux or one that it is held against: this
//! file knows when, and whom to tell.
use std::collections::BTreeMap;

use railtwin_fabric::Fabric;
use railtwin_routing::EcmpConfig;
use railtwin_units::SimTime;

use super::contention::Start;
use super::daemon::Daemon;
use super::demand::Demand;
use super::fleet::{Fleet, Member, WaysKept};
use super::plan::{SharingPlan, SharingPolicy};
use super::select::by_hash;
use crate::controller::{Action, Completion, Controller, Decision, Event, Replan, Standing};
use crate::paths::JobId;
use crate::te::{Applied, Collector};

/// How Crux decides in a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CruxOptions {
    /// Which of its decisions it makes.
    pub policy: SharingPolicy,
    /// Priority levels of the network, 1 to 8.
    pub levels: u32,
    /// Paths of a queue pair that are weighed at most.
    pub ways: u32,
    /// For how long a job that comes goes before all others, so that its intensity can be measured; none where that of
    /// its plan holds.
    pub profile: Option<SimTime>,
    /// Of draws.
    pub seed: u64,
}

/// Paths and priorities of all jobs, decided when one comes or goes, when links change and when one was measured.
///
/// Who comes has its paths and its priority in that moment, as a connection asks for them while it is set up; what
/// others are told then waits until `replan` says.
#[derive(Clone, Debug)]
pub struct CruxController<'a> {
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    replan: Replan,
    resilient: bool,
    options: CruxOptions,
    collector: Collector,
    /// On the links that are planned for; none before anything was opened.
    ways: Option<WaysKept<'a>>,
    /// In the order in which they came.
    members: Vec<Member>,
    due: Option<SimTime>,
    /// What happened first since the last plan, in a word.
    cause: &'static str,
    has_decided: bool,
    daemon: Daemon,
    standings: Vec<Standing>,
}

impl<'a> CruxController<'a> {
    /// A controller without jobs. `resilient` says whether groups keep the numbers of their members when one is dead.
    pub fn new(
        fabric: &'a Fabric,
        ecmp: EcmpConfig,
        replan: Replan,
        resilient: bool,
        options: CruxOptions,
    ) -> Self {
        Self {
            fabric,
            ecmp,
            replan,
            resilient,
            options,
            collector: Collector::new(fabric),
            ways: None,
            members: Vec::new(),
            due: None,
            cause: "job-came",
            has_decided: false,
            // Who never plans again would leave the job first that was measured.
            daemon: Daemon::new(options.profile.filter(|_| replan != Replan::Never)),
            standings: Vec::new(),
        }
    }

    fn changed(&mut self, now: SimTime, cause: &'static str) {
        if self.due.is_none() {
            self.due = self.replan.time_for(now);
            self.cause = cause;
        }
    }

    fn member(&mut self, job: JobId) -> &mut Member {
        let place = self.members.iter().position(|member| member.job == job).unwrap_or_else(|| {
            self.members.push(Member::new(job, Default::default()));
            self.members.len() - 1
        });
        &mut self.members[place]
    }

    /// What the policy decides; where `is_due` for all, else for who came, with the others where they are.
    fn plan(&mut self, is_due: bool) -> (Fleet, SharingPlan) {
        let CruxOptions { policy, levels, ways: most, seed, .. } = self.options;
        let (fabric, ecmp, resilient) = (self.fabric, self.ecmp, self.resilient);
        // Who never plans again knows the fabric as it was.
        let refreshes = is_due || !matches!(self.replan, Replan::Never);
        let mask = self.collector.mask();
        let kept = self.ways.take().filter(|ways| !refreshes || ways.down() == mask);
        let fresh = || WaysKept::new(fabric, ecmp, mask, resilient, most as usize);
        let ways = self.ways.insert(kept.unwrap_or_else(fresh));
        let fleet = Fleet::of(&self.members, ways, |member| !is_due && !member.is_new);
        let held = fleet.held(&self.members, by_hash(&fleet.tenants, seed));
        let start = Start(vec![0.0; self.members.len()]);
        let mut plan = policy.plan_from(&fleet.tenants, &held, &start, levels, seed);
        for (level, job) in plan.levels.iter_mut().zip(&fleet.tenants.jobs) {
            // Nothing computes less while a job waits that does not compute.
            *level = if job.work > 0.0 { (*level).min(levels - 1) } else { levels - 1 };
        }
        (fleet, plan)
    }

    /// Tells the paths of a job where they are others than it holds.
    fn tell_paths(&mut self, job: usize, fleet: &Fleet, plan: &SharingPlan, decisions: &mut Vec<Decision>) {
        let member = &mut self.members[job];
        let by_lot = !self.options.policy.chooses_paths();
        let reason = match (member.is_new, by_lot) {
            (true, true) => "by-lot",
            (true, false) => "least-congested",
            (false, _) => self.cause,
        };
        let chosen = fleet.pairs[job].iter().zip(&plan.paths[job]).enumerate();
        let chosen: BTreeMap<u32, Option<u16>> =
            chosen.map(|(place, (&row, &path))| (row, fleet.source_port(job, place, path))).collect();
        for (row, pair) in (0..).zip(&mut member.pairs) {
            let source_port = chosen.get(&row).copied().flatten();
            if pair.is_told && pair.held == source_port {
                continue;
            }
            (pair.held, pair.is_told) = (source_port, true);
            let reason = if source_port.is_some() { reason } else { "stranded" };
            let action = Action::Path { queue_pair: pair.row, source_port };
            decisions.push(Decision { action, reason });
        }
    }

    fn tell_priority(&mut self, job: usize, level: u32, decisions: &mut Vec<Decision>) {
        let top = self.options.levels - 1;
        let member = &mut self.members[job];
        let (level, reason) = match self.daemon.profiled() {
            Some(one) if one == member.job => (0, "profiled"),
            Some(_) => (level.max(1).min(top), "behind-profiled"),
            None if !self.options.policy.is_crux() => (level, "order-of-plan"),
            None if member.measured.is_some() => (level, "intensity-measured"),
            None => (level, "intensity-of-plan"),
        };
        let priority = (top - level) as u8;
        if member.priority.replace(priority) != Some(priority) {
            let action = Action::Priority { job: member.job, priority };
            decisions.push(Decision { action, reason });
        }
    }

    fn note(&mut self, fleet: &Fleet, plan: &SharingPlan) {
        let demand = Demand::of(&fleet.tenants, &plan.paths);
        let factors = plan.priorities.as_ref().map(|priorities| &priorities.factors);
        let standing = |(job, member): (usize, &Member)| Standing {
            job: member.job,
            intensity: demand.jobs[job].intensity(),
            measured: member.measured.is_some(),
            factor: factors.map(|factors| factors[job]),
            level: plan.levels[job],
            priority: member.priority.unwrap_or(0),
        };
        self.standings = self.members.iter().enumerate().map(standing).collect();
    }

    fn measured(&mut self, completions: &[Completion]) {
        if let Some(job) = self.daemon.profiled()
            && let Some(member) = self.members.iter().find(|member| member.job == job)
        {
            self.daemon.hear(&member.pairs, completions);
        }
    }
}

impl Controller for CruxController<'_> {
    fn name(&self) -> &'static str {
        self.options.policy.name()
    }

    fn on_event(&mut self, now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Link(report) => {
                if self.collector.apply(&report) == Applied::Changed {
                    self.changed(now, "link-changed");
                }
            }
            Event::Arrived(arrival) => {
                let member = self.member(arrival.job);
                (member.step, member.exchanges) = (arrival.step, arrival.exchanges.to_vec());
                if !arrival.exchanges.is_empty() {
                    self.changed(now, "job-came");
                }
            }
            Event::Opened(openings) => {
                for opening in openings {
                    self.member(opening.job).open(opening);
                }
                self.changed(now, "job-came");
            }
            Event::Closed(job) => {
                self.members.retain(|member| member.job != job);
                self.daemon.forget(job);
                self.changed(now, "job-gone");
            }
            Event::Completed(completions) => self.measured(completions),
            Event::Written { .. }
            | Event::Probed(_)
            | Event::Counters(_)
            | Event::Found(_)
            | Event::Confirmed(_)
            | Event::Cleared(_)
            | Event::Submitted(_)
            | Event::Placed { .. }
            | Event::Repaired(_) => {}
        }
    }

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        if let Some((job, seconds)) = self.daemon.finished(now) {
            if let Some(member) = self.members.iter_mut().find(|member| member.job == job) {
                // Nothing tells what completes inside hosts: that is as the plan has it.
                let inside = member.seconds_inside(self.fabric);
                member.measured = seconds.map(|seconds| member.step.work / seconds.max(inside));
            }
            (self.due, self.cause) = (Some(now), "job-measured");
        }
        for member in self.members.iter().filter(|member| member.is_new && !member.pairs.is_empty()) {
            self.daemon.ask(member.job);
        }
        if self.daemon.begin(now) {
            // Others step back when it begins: that is no matter of planning.
            (self.due, self.cause) = (Some(now), "job-profiled");
        }
        let comes = self.members.iter().any(|member| member.is_new && member.sends());
        let is_due = !self.has_decided || self.due.is_some_and(|due| due <= now);
        if !comes && !is_due {
            return;
        }
        if is_due {
            (self.has_decided, self.due) = (true, None);
        }
        let (fleet, plan) = self.plan(is_due);
        for job in 0..self.members.len() {
            if !self.members[job].sends() || !(is_due || self.members[job].is_new) {
                continue;
            }
            self.tell_paths(job, &fleet, &plan, decisions);
            self.tell_priority(job, plan.levels[job], decisions);
            self.members[job].is_new = false;
        }
        self.note(&fleet, &plan);
    }

    fn next_time(&self) -> SimTime {
        self.due.unwrap_or(SimTime::NEVER).min(self.daemon.next_time())
    }

    fn standings(&self) -> Vec<Standing> {
        self.standings.clone()
    }
}
