//! Controllers that say who starts and where: told of jobs that wait and that are gone, asked for places.
use railtwin_control::controller::Submission;
use railtwin_control::hosts::Room;
use railtwin_control::paths::JobId;
use railtwin_control::placement::Phases;
use railtwin_control::{Action, ClusterPlacer, Controller, Event, Place};
use railtwin_fabric::{Fabric, HostId};
use railtwin_units::SimTime;

use crate::actions::Started;

/// Why a controller cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Its name.
    pub controller: &'static str,
    /// What it asked for, and why it cannot have it.
    pub why: String,
}

/// Controllers, with the room that they hand out.
#[derive(Debug)]
pub(crate) struct Seating {
    controllers: Vec<Box<dyn Controller>>,
    room: Room,
    /// The latest time that they were told.
    now: SimTime,
    /// What the first of them asked for that cannot be.
    pub refused: Option<Refused>,
}

impl Seating {
    /// Over all GPUs but those that serve.
    pub fn new(controllers: Vec<Box<dyn Controller>>, fabric: &Fabric, serve: &[Place]) -> Self {
        let mut room = Room::new(fabric);
        serve.iter().for_each(|place| room.keep(place.host, 1));
        Self { controllers, room, now: SimTime::ZERO, refused: None }
    }

    /// When one of them asked to be asked, in seconds.
    pub fn next_time(&self) -> f64 {
        let soonest = self.controllers.iter().map(|one| one.next_time()).min();
        soonest.filter(|&at| at < SimTime::NEVER).map_or(f64::INFINITY, SimTime::seconds)
    }

    /// Goes on to `now`, seconds; whether one asked to be asked by then. Seconds are told to the picosecond that was
    /// asked for, so that who waits for it is not asked in vain.
    pub fn reach(&mut self, now: f64) -> bool {
        self.now = self.now.max(SimTime::from_seconds(now));
        let asked = self.controllers.iter().map(|one| one.next_time()).filter(|at| at.seconds() <= now).max();
        let asked = asked.filter(|&at| at < SimTime::NEVER);
        self.now = self.now.max(asked.unwrap_or_default());
        asked.is_some()
    }

    fn tell(&mut self, event: &Event<'_>) {
        let now = self.now;
        self.controllers.iter_mut().for_each(|one| one.on_event(now, event));
    }

    /// A job waits.
    pub fn submitted(&mut self, submission: Submission) {
        self.room.submitted(submission.job, submission.gpus);
        self.tell(&Event::Submitted(submission));
    }

    /// A job is gone.
    pub fn closed(&mut self, job: usize) {
        let job = JobId(job as u32);
        self.room.closed(job);
        self.tell(&Event::Closed(job));
    }

    /// Asks them who starts and where; `phases` has what is known of the steps of a job.
    pub fn start(
        &mut self,
        placer: &mut ClusterPlacer,
        phases: impl Fn(usize) -> Phases,
    ) -> Vec<Started<Vec<Place>>> {
        let mut started: Vec<Started<Vec<Place>>> = Vec::new();
        for number in 0..self.controllers.len() {
            let mut decisions = Vec::new();
            self.controllers[number].decide(self.now, &mut decisions);
            let outcome = decisions.iter().try_for_each(|decision| {
                let Some(parts) = self.room.take(&decision.action)? else { return Ok(()) };
                let Action::Place { job, .. } = decision.action else { return Ok(()) };
                let job = job.0 as usize;
                let take = |(host, gpus)| placer.take_of(host, gpus, phases(job));
                let places = parts.into_iter().flat_map(take).collect();
                let controller = self.controllers[number].name();
                started.push(Started { job, places, controller, reason: decision.reason });
                Ok(())
            });
            if let Err(why) = outcome.and_then(|()| self.room.is_settled()) {
                let controller = self.controllers[number].name();
                self.refused = Some(Refused { controller, why: format!("at {}: {why}", self.now) });
                break;
            }
        }
        for Started { job, places, .. } in &started {
            let mut hosts: Vec<HostId> = places.iter().map(|place| place.host).collect();
            hosts.dedup();
            self.tell(&Event::Placed { job: JobId(*job as u32), hosts: &hosts });
        }
        started
    }
}
