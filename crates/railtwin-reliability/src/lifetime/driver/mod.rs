//! One lifetime of a job: failures, findings, decisions and repairs in the order of time. Controllers decide, the
//! policy's or one's own. The driver says how long each response takes and books every moment.
mod decisions;
mod due;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use railtwin_control::controller::Finding;
use railtwin_control::hosts::Wards;
use railtwin_control::paths::JobId;
use railtwin_control::{Controller, Event, Policy, Steering};
use railtwin_fabric::{Fabric, HostId};
use railtwin_units::SimTime;

use crate::downtime::{Account, Part};
use crate::failure_rates::{Cause, Draw};
use crate::lifetime::detectors::CONFIDENCE;
use crate::lifetime::hits::{Effect, Hit, is_communication};
use crate::lifetime::outcome::{Finder, Lifetime, Standstill};
use crate::lifetime::progress::{Progress, hours};
use crate::lifetime::recovery::Recovery;

use due::Due;

const JOB: JobId = JobId(0);

/// The standstill of now.
#[derive(Clone, Copy, Debug)]
struct Outage {
    /// The failure that it began with; none where the controller stopped a job that ran, and once the host is out.
    hit: Option<usize>,
    /// The host to blame.
    host: Option<HostId>,
    /// Whether somebody saw to the cause.
    resolved: bool,
}

struct Driver<'a> {
    recovery: &'a Recovery,
    hits: &'a [Hit],
    controllers: Vec<Box<dyn Controller>>,
    wards: Wards,
    queue: BTreeMap<(SimTime, u64), Due>,
    posted: u64,
    progress: Progress,
    step: SimTime,
    /// Part that the time since `since` is booked as; none while the job runs.
    part: Option<Part>,
    since: SimTime,
    account: Account,
    outage: Option<Outage>,
    seats: Vec<HostId>,
    /// The host that each failure happened to.
    host_of: Vec<Option<HostId>>,
    /// Failures that happened while the job stood still: they show when it runs again.
    latent: Vec<usize>,
    /// Failures that slow the job now.
    slow: Vec<usize>,
    /// When a host that is to be isolated will be out.
    out_at: BTreeMap<HostId, SimTime>,
    /// Hosts that people named: the time to take them out is in theirs.
    by_hand: BTreeSet<HostId>,
    answers: BTreeSet<HostId>,
    /// Times at which controllers asked to be asked, still to come.
    asked: BTreeSet<SimTime>,
    begin: SimTime,
    generation: u32,
    lifetime: Lifetime,
}

/// Returns the controller of `policy` for the job on `hosts`, in the order of its ranks.
pub fn steering(policy: Policy, fabric: &Fabric, hosts: &[HostId]) -> Steering {
    Steering::new(policy, fabric, &[(JOB, hosts.to_vec())])
}

/// Simulates one lifetime of a job: `hits` act on it until `end`. `step` is the healthy time of a step; `hosts` are those
/// of the job in the order of their ranks, and `controllers` receive them first. `seed` draws false alarms.
///
/// A controller whose action is impossible ends the work by [`halt`](railtwin_control::halt::halt).
pub fn simulate(
    recovery: &Recovery,
    fabric: &Arc<Fabric>,
    (hosts, controllers): (&[HostId], Vec<Box<dyn Controller>>),
    step: SimTime,
    hits: &[Hit],
    seed: u64,
    end: SimTime,
) -> Lifetime {
    let mut driver = Driver {
        recovery,
        hits,
        controllers,
        wards: Wards::new(fabric, JOB, hosts),
        queue: BTreeMap::new(),
        posted: 0,
        progress: Progress::new(step, recovery.checkpoint, recovery.checkpoint_cost),
        step,
        part: None,
        since: SimTime::ZERO,
        account: Account::default(),
        outage: None,
        seats: hosts.to_vec(),
        host_of: vec![None; hits.len()],
        latent: Vec::new(),
        slow: Vec::new(),
        out_at: BTreeMap::new(),
        by_hand: BTreeSet::new(),
        answers: BTreeSet::new(),
        asked: BTreeSet::new(),
        begin: SimTime::ZERO,
        generation: 0,
        lifetime: Lifetime {
            seed,
            shares: Account::default(),
            standstills: Vec::new(),
            done: Vec::new(),
            steps: 0,
            failures: hits.len() as u32,
            idle: 0,
            harmless: 0,
            accused: 0,
            out_most: 0,
            hosts: Vec::new(),
        },
    };
    for (index, hit) in hits.iter().enumerate() {
        driver.post(hit.at, Due::Fault(index));
    }
    if let Some(per_day) = recovery.false_alarms.filter(|_| recovery.has_detectors) {
        let mut draw = Draw::new(seed, "steering/false-alarms");
        let seats = hosts.len() as u32;
        let all = draw.arrivals(per_day / 24.0, hours(end), |draw, at_h| (at_h, draw.below(seats)));
        for (at_h, seat) in all {
            driver.post(SimTime::from_seconds(at_h * 3600.0), Due::FalseAlarm(seat as usize));
        }
    }
    driver.tell(SimTime::ZERO, &Event::Placed { job: JOB, hosts });
    driver.decide(SimTime::ZERO);
    driver.run(end);
    driver.close(end)
}

impl Driver<'_> {
    fn post(&mut self, at: SimTime, due: Due) {
        self.queue.insert((at, self.posted), due);
        self.posted += 1;
    }

    fn run(&mut self, end: SimTime) {
        while let Some((&(now, _), _)) = self.queue.first_key_value() {
            if now >= end {
                return;
            }
            while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 == now) {
                let due = entry.remove();
                self.happen(now, due);
            }
            self.decide(now);
        }
    }

    fn close(mut self, end: SimTime) -> Lifetime {
        match self.part {
            None => self.progress.finish(end),
            Some(part) => self.account[part] += hours(end.since(self.since)),
        }
        let span = hours(end);
        self.lifetime.shares = (self.account + *self.progress.account()) * (1.0 / span);
        self.lifetime.steps = self.progress.steps();
        self.lifetime.hosts = self.seats;
        self.lifetime
    }

    /// Books what was and begins another part; none runs steps.
    fn enter(&mut self, now: SimTime, part: Option<Part>) {
        match self.part {
            Some(was) => self.account[was] += hours(now.since(self.since)),
            None => self.progress.advance(now),
        }
        if part.is_none() {
            self.progress.resume(now);
        }
        (self.part, self.since) = (part, now);
    }

    /// Whether somebody saw to what stopped the job, and every place is taken: another may have stopped it since a
    /// restart was decided.
    fn may_begin(&self) -> bool {
        self.outage.is_none_or(|outage| outage.resolved) && self.wards.is_whole()
    }

    fn tell(&mut self, now: SimTime, event: &Event<'_>) {
        self.controllers.iter_mut().for_each(|one| one.on_event(now, event));
    }

    fn runs(&self) -> bool {
        self.part.is_none()
    }

    fn standstill(&mut self) -> Option<&mut Standstill> {
        self.lifetime.standstills.last_mut()
    }

    fn happen(&mut self, now: SimTime, due: Due) {
        match due {
            Due::Fault(index) => self.fault(now, index),
            Due::FalseAlarm(seat) => {
                let host = self.seats[seat];
                if self.runs() && !self.wards.is_out(host) {
                    self.lifetime.accused += 1;
                    let finding = self.finding(host, Cause::Unknown, false);
                    self.tell(now, &Event::Found(finding));
                }
            }
            Due::Found(index) => self.found(now, index),
            // Who blamed the host for something else may have ended the outage before.
            Due::Watchdog(index) if !self.stands_by(index) => {}
            Due::Watchdog(index) => {
                self.know(now, index);
                self.post(now.saturating_add(self.hits[index].by_hand), Due::Named(index));
            }
            Due::Named(index) if !self.stands_by(index) => {}
            Due::Named(index) => self.named(now, index),
            Due::Answer(finding) => {
                self.answers.remove(&finding.host);
                // Who has seen to it meanwhile needs nobody.
                let stands = |outage: Outage| outage.host == Some(finding.host) && !outage.resolved;
                if self.recovery.has_own_controllers && !self.outage.is_some_and(stands) {
                    return;
                }
                self.tell(now, &Event::Confirmed(finding));
            }
            Due::Isolated(host) => self.isolated(now, host),
            Due::Seated(gone, spare) => {
                if let Some(seat) = self.seats.iter_mut().find(|seat| **seat == gone) {
                    *seat = spare;
                }
            }
            Due::Begin(generation) if generation == self.generation && self.may_begin() => {
                self.enter(now, Some(Part::Reinitialisation));
                if let Some(last) = self.standstill() {
                    last.isolated = last.isolated.or(Some(now));
                    last.replaced = Some(now);
                }
                self.post(now.saturating_add(self.recovery.restart), Due::Steps(generation));
            }
            Due::Steps(generation) if generation == self.generation => self.again(now),
            Due::Repaired(host) => {
                self.out_at.remove(&host);
                // It comes back without the failures that it left with.
                let gone = |index: &usize| self.host_of[*index] == Some(host);
                self.latent.retain(|index| !gone(index));
                self.host_of.iter_mut().filter(|of| **of == Some(host)).for_each(|of| *of = None);
                self.wards.repaired(host);
                self.tell(now, &Event::Repaired(host));
            }
            Due::Healed(index) => {
                self.slow.retain(|&slow| slow != index);
                self.latent.retain(|&latent| latent != index);
                self.set_pace(now);
            }
            Due::Begin(_) | Due::Steps(_) | Due::Ask => {}
        }
    }

    fn finding(&self, host: HostId, cause: Cause, halts: bool) -> Finding {
        Finding { host, job: JOB, confidence: CONFIDENCE, cause: cause.name(), halts }
    }

    fn fault(&mut self, now: SimTime, index: usize) {
        let hit = &self.hits[index];
        let host = hit.host.or(hit.seat.map(|seat| self.seats[seat]));
        self.host_of[index] = host;
        let is_seated = host.is_none_or(|host| self.seats.contains(&host));
        let is_named = host.is_some_and(|host| self.wards.is_out(host));
        if is_named && is_seated && self.runs() && hit.effect == Effect::Stops {
            self.ends_early(now, index);
        } else if is_named || !is_seated {
            self.lifetime.idle += 1;
        } else if hit.effect == Effect::None {
            self.lifetime.harmless += 1;
        } else if self.runs() {
            self.strike(now, index, None);
        } else {
            self.latent.push(index);
        }
    }

    /// A host that was named to go stops the job before it goes.
    fn ends_early(&mut self, now: SimTime, index: usize) {
        let hit = &self.hits[index];
        self.progress.crash(now);
        let failed = Standstill::of(hit, Finder::Controller, (self.progress.checkpoint(), now));
        self.lifetime.standstills.push(Standstill { detected: Some(now), ..failed });
        self.outage = Some(Outage { hit: Some(index), host: self.host_of[index], resolved: true });
        self.enter(now, Some(Part::Diagnosis(hit.cause)));
    }

    /// A failure acts on the job: while it runs, or before its first step.
    fn strike(&mut self, now: SimTime, index: usize, start: Option<Finder>) {
        let hit = &self.hits[index];
        if matches!(hit.effect, Effect::Slows(_)) {
            self.slow.push(index);
            self.set_pace(now);
            if let Some(after) = hit.found_after {
                self.post(now.saturating_add(after), Due::Found(index));
            }
            if let Some(repair) = hit.repair {
                self.post(now.saturating_add(repair), Due::Healed(index));
            }
            return;
        }
        if start.is_none() {
            self.progress.crash(now);
        }
        // The watchdog waits for nobody.
        let found_after = hit.found_after.filter(|&after| start.is_some() || after <= self.recovery.watchdog);
        let finder = match (start, found_after) {
            (Some(finder), _) => finder,
            (None, Some(_)) => Finder::Detectors,
            (None, None) => Finder::Watchdog,
        };
        let failed = Standstill::of(hit, finder, (self.progress.checkpoint(), now));
        self.lifetime.standstills.push(failed);
        self.outage = Some(Outage { hit: Some(index), host: self.host_of[index], resolved: false });
        self.enter(now, Some(Part::Detection));
        // What fails before the first step is seen at once; who is to blame is another question.
        match (start, found_after) {
            (Some(_), Some(_)) => self.found(now, index),
            (Some(_), None) => self.happen(now, Due::Watchdog(index)),
            (None, Some(after)) => self.post(now.saturating_add(after), Due::Found(index)),
            (None, None) => self.post(now.saturating_add(self.recovery.watchdog), Due::Watchdog(index)),
        }
    }

    /// Whether the job stands still by a failure, and not by a later one or not at all.
    fn stands_by(&self, index: usize) -> bool {
        self.outage.is_some_and(|outage| outage.hit == Some(index))
    }

    /// Somebody knows that the job stands still by a failure.
    fn know(&mut self, now: SimTime, index: usize) {
        self.enter(now, Some(Part::Diagnosis(self.hits[index].cause)));
        if let Some(last) = self.standstill() {
            last.detected = Some(now);
        }
    }

    /// Detectors find a failure: of a host the controller hears, anything else is for people.
    fn found(&mut self, now: SimTime, index: usize) {
        let (cause, by_hand) = (self.hits[index].cause, self.hits[index].by_hand);
        let halts = self.hits[index].effect == Effect::Stops;
        if halts && !self.stands_by(index) {
            return;
        }
        if halts {
            self.know(now, index);
        } else if !self.slow.contains(&index) && !self.latent.contains(&index) {
            return;
        }
        match self.host_of[index] {
            Some(host) => {
                let finding = self.finding(host, cause, halts);
                self.tell(now, &Event::Found(finding));
                // The policy says itself what it leaves to people.
                if halts && self.recovery.has_own_controllers {
                    self.propose(now, finding);
                }
            }
            None if halts => self.post(now.saturating_add(by_hand), Due::Named(index)),
            None => {}
        }
    }

    /// People know what a failure is, and have seen to it where it is no host.
    fn named(&mut self, now: SimTime, index: usize) {
        match self.host_of[index] {
            Some(host) => {
                self.by_hand.insert(host);
                let finding = Finding { confidence: 1.0, ..self.finding(host, self.hits[index].cause, true) };
                self.tell(now, &Event::Confirmed(finding));
            }
            None => {
                if let Some(outage) = &mut self.outage {
                    outage.resolved = true;
                }
                // Nothing is left to diagnose; it waits where a place is empty.
                self.enter(now, Some(Part::Waiting));
                if let Some(last) = self.standstill() {
                    last.isolated = Some(now);
                }
                self.tell(now, &Event::Cleared(JOB));
            }
        }
    }

    fn isolated(&mut self, now: SimTime, host: HostId) {
        self.slow.retain(|&slow| self.host_of[slow] != Some(host));
        self.set_pace(now);
        if self.runs() {
            // The controller stops a job that ran, and the work since the last checkpoint goes.
            self.progress.crash(now);
            self.outage = Some(Outage { hit: None, host: Some(host), resolved: true });
            self.lifetime.standstills.push(Standstill::of_host(host, (self.progress.checkpoint(), now)));
        }
        if self.outage.is_some_and(|outage| outage.host == Some(host)) {
            self.enter(now, Some(Part::Waiting));
            if let Some(last) = self.standstill() {
                // The host went for something else, and the failure with it.
                last.detected = last.detected.or(Some(now));
                last.isolated = Some(now);
            }
            if let Some(outage) = &mut self.outage {
                // Nobody looks for it any more.
                outage.hit = None;
            }
        }
    }

    /// Processes run: the first failure that nobody saw to shows, or else steps run.
    fn again(&mut self, now: SimTime) {
        if let Some(last) = self.standstill() {
            last.restarted = Some(now);
        }
        let wards = &self.wards;
        let mut latent = std::mem::take(&mut self.latent);
        latent.retain(|&index| self.host_of[index].is_none_or(|host| !wards.is_out(host)));
        let stops = |&index: &usize| self.hits[index].effect == Effect::Stops;
        if let Some(first) = latent.iter().position(stops) {
            let index = latent.remove(first);
            self.latent = latent;
            self.strike(now, index, Some(Finder::Start));
            return;
        }
        self.outage = None;
        self.enter(now, None);
        self.set_pace(now);
        for index in latent {
            self.strike(now, index, None);
        }
    }

    /// Steps take as long as with the worst of what slows them.
    fn set_pace(&mut self, now: SimTime) {
        if !self.runs() {
            return;
        }
        let slows = |&index: &usize| match self.hits[index].effect {
            Effect::Slows(step) => Some((step, index)),
            _ => None,
        };
        let worst = self.slow.iter().filter_map(slows).max();
        let (pace, part) = match worst {
            Some((step, index)) if is_communication(self.hits[index].kind) => (step, Part::SlowCommunication),
            Some((step, _)) => (step, Part::SlowOther),
            None => (self.step, Part::SlowOther),
        };
        self.progress.set_pace(now, pace, part);
    }
}
