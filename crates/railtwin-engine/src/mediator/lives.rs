//! Jobs that come and go: controllers are told when connections are opened, and when a job is gone with all of its own.
use std::collections::{BTreeSet, VecDeque};

use railtwin_control::controller::{Arrival, Event, Opening, StepDemand};
use railtwin_control::paths::JobId;
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;

use super::{Connected, Life, Mediator};
use crate::connection::Connection;
use crate::inside::InsideHosts;

/// Jobs that have not come yet, and ends that nobody was told of.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// By when they start, then by row.
    coming: VecDeque<(SimTime, u32)>,
    ended: BTreeSet<(SimTime, u32)>,
    /// By job: what a step computes.
    steps: Vec<StepDemand>,
    /// Connections of those that are to come, with their rows and the numbers of all queue pairs at their targets.
    connections: Vec<(usize, Connection)>,
    numbers: Vec<u32>,
    /// What jobs send over PCIe, where one is to come.
    inside: InsideHosts,
}

impl Lives {
    /// Of jobs some of which start later.
    pub(super) fn new(connected: Connected<'_>) -> Self {
        let is_late = |job: u32| connected.start(job) > SimTime::ZERO;
        let rows = connected.connections.iter().copied().enumerate();
        let connections: Vec<(usize, Connection)> = rows.filter(|(_, one)| is_late(one.job)).collect();
        let exchanging = connected.inside.exchanging().filter(|&job| is_late(job));
        let jobs: BTreeSet<(SimTime, u32)> = connections
            .iter()
            .map(|(_, one)| one.job)
            .chain(exchanging)
            .map(|job| (connected.start(job), job))
            .collect();
        let inside = if jobs.is_empty() { InsideHosts::default() } else { connected.inside.clone() };
        let numbers = if connections.is_empty() { Vec::new() } else { connected.targets() };
        let ends = (0..).zip(connected.lives).filter(|(_, life)| life.end < SimTime::NEVER);
        let ended = ends.map(|(job, life)| (life.end, job)).collect();
        let steps = connected.lives.iter().map(|life| life.step).collect();
        Self { coming: jobs.into_iter().collect(), ended, steps, connections, numbers, inside }
    }

    /// When the next job comes or is told to be gone.
    pub(super) fn next_time(&self) -> Option<SimTime> {
        let coming = self.coming.front().map(|&(at, _)| at);
        coming.into_iter().chain(self.ended.first().map(|&(at, _)| at)).min()
    }

    /// What a step of a job computes.
    pub(super) fn step(&self, job: u32) -> StepDemand {
        self.steps.get(job as usize).copied().unwrap_or(Life::WHOLE.step)
    }

    /// When the last job comes that is known to.
    pub(super) fn last_start(&self) -> SimTime {
        self.coming.back().map_or(SimTime::ZERO, |&(at, _)| at)
    }
}

impl Connected<'_> {
    fn start(&self, job: u32) -> SimTime {
        self.lives.get(job as usize).map_or(SimTime::ZERO, |life| life.start)
    }

    /// Numbers of all queue pairs at their targets.
    pub(super) fn targets(&self) -> Vec<u32> {
        self.numbers.iter().map(|&(_, target)| target).collect()
    }

    /// Connections of jobs that are there at time zero.
    pub(super) fn first(&self) -> impl Iterator<Item = (usize, &Connection)> {
        let rows = self.connections.iter().enumerate();
        rows.filter(|(_, one)| self.start(one.job) == SimTime::ZERO)
    }

    /// Jobs that are there at time zero and send between GPUs of a host.
    pub(super) fn exchanging_first(&self) -> impl Iterator<Item = u32> {
        self.inside.exchanging().filter(|&job| self.start(job) == SimTime::ZERO)
    }
}

/// Tells one way or another of `connections`, each with its row; `ways` are the links inside hosts by row.
pub(super) fn openings<'c>(
    connections: impl Iterator<Item = (usize, &'c Connection)>,
    targets: &'c [u32],
    ways: &'c [[Vec<LinkId>; 2]],
) -> Vec<Opening<'c>> {
    let opening = |(row, one): (usize, &Connection)| Opening {
        job: JobId(one.job),
        source: one.source,
        target: one.target,
        ports: one.ports,
        first: one.first,
        numbers: &targets[one.first as usize..(one.first + one.count) as usize],
        bytes: one.bytes,
        inside: ways.get(row),
    };
    connections.map(opening).collect()
}

impl Mediator<'_> {
    /// A job's last operation ended at `at`: controllers are told then that it is gone, with all its connections. A job
    /// that stopped before its end keeps them, as the processes of one that hangs do.
    pub fn close(&mut self, at: SimTime, job: u32) {
        if self.has_controllers() {
            self.lives.ended.insert((at, job));
        }
    }

    /// Whether anybody hears of jobs that come and go.
    pub fn has_controllers(&self) -> bool {
        !self.controllers.is_empty()
    }

    /// Whether somebody decides who brought controllers of their own: these may change anything at any time.
    pub fn has_own(&self) -> bool {
        self.controllers.len() > self.of_balancer
    }

    /// Opens what comes by `now`; false where nothing does. What is decided of it holds when it begins to send: a
    /// connection asks for its path while it is set up.
    pub(super) fn open_due(&mut self, now: SimTime) -> bool {
        self.arrived.clear();
        while let Some(&(_, job)) = self.lives.coming.front().filter(|(at, _)| *at <= now) {
            self.lives.coming.pop_front();
            self.arrived.insert(job);
            let own = self.lives.connections.iter().filter(|(_, one)| one.job == job);
            let own = own.map(|(row, one)| (*row, one));
            let opened = openings(own, &self.lives.numbers, &self.lives.inside.ways);
            let exchanges = self.lives.inside.exchanges_of(job);
            let arrived = Arrival { job: JobId(job), step: self.lives.step(job), exchanges };
            for controller in &mut self.controllers {
                controller.on_event(now, &Event::Arrived(arrived));
                if !opened.is_empty() {
                    controller.on_event(now, &Event::Opened(&opened));
                }
            }
        }
        !self.arrived.is_empty()
    }

    /// Tells of the jobs that are gone by `now`; false where none is.
    pub(super) fn close_due(&mut self, now: SimTime) -> bool {
        let mut told = false;
        while let Some(&(at, job)) = self.lives.ended.first().filter(|(at, _)| *at <= now) {
            self.lives.ended.remove(&(at, job));
            self.controllers.iter_mut().for_each(|one| one.on_event(now, &Event::Closed(JobId(job))));
            told = true;
        }
        if told {
            self.rest = self.rest.max(now.saturating_add(self.patience));
        }
        told
    }
}
