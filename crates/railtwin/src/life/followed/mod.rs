//! A run that `[steering]` follows, step by step and with its network: a fault of `[[fault]]` stops the job, somebody
//! finds it, a host goes and a spare has its ranks, and processes start from the last checkpoint, beside all else that runs.
//!
//! Engines know jobs that start and jobs whose processes are ended. So each time that the processes of the job run is a
//! job of the case (a [`Shift`]): what came before a restart does not depend on what comes after it, and the run is played
//! anew with one more shift each time that the job stood still, until it ends or stands still for good. All decisions and
//! times are those of [`driver`], whose hits are what the engine shows and not an estimate.
mod account;
mod culprit;
mod injuries;

use railtwin_control::Place;
use railtwin_engine::own::guarded;
use railtwin_engine::{Case, RunLog};
use railtwin_fabric::HostId;
use railtwin_records::{FaultKind, Truth};
use railtwin_reliability::failure_process::PartKind;
use railtwin_reliability::lifetime::booking::book;
use railtwin_reliability::lifetime::hits::{Effect, Hit, JobFailure, Responses};
use railtwin_reliability::lifetime::{Lifetime, Lifetimes, Recovery, driver};
use railtwin_scenario::{FaultSpec, FaultSubject, SteeringSpec};
use railtwin_units::SimTime;

use crate::engines::engine_of;
use crate::error::Error;
use crate::exposed::steps_of;
use crate::faults::waited_since;
use crate::life::effects::Effects;
use crate::life::inputs::recovery_of;
use crate::life::{controllers, hosts_of, ranks_on, ready};
use crate::question::Resolved;
use crate::stops::{Cause, Stop};

use culprit::{alone, culprit, seated};
use injuries::{Known, Shift, healthy, injured, part_of};

/// Times that a run is played anew at most.
const ROUNDS: usize = 256;
/// Times that one fault is looked into at most once people have seen to it: routes may not be back when steps run again.
const LOOKS: usize = 8;
/// For how long after the last fault decisions are followed.
const PATIENCE: SimTime = SimTime::from_ps(60 * 86_400 * 1_000_000_000_000);

/// A run that was followed to its end.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The case of the last round: the scenario's jobs, and behind them a job for each time that the first one started again.
    pub resolved: Resolved,
    /// The lifetime of the first job.
    pub life: Lifetimes,
}

/// Whether a scenario has its run steered: [steering] over faults that are written, not over the months of `[failures]`.
pub fn is_followed(resolved: &Resolved) -> bool {
    resolved.scenario.steering.is_some() && resolved.scenario.failures.is_none()
}

/// State of the job over rounds.
struct Course<'a> {
    resolved: &'a Resolved,
    spec: &'a SteeringSpec,
    recovery: Recovery,
    /// The case without faults and with the scenario's jobs alone.
    plain: Case,
    hosts: Vec<HostId>,
    /// Healthy time of a step, the mean, and of each.
    step: SimTime,
    steps: Vec<SimTime>,
    faults: Vec<FaultSpec>,
    /// When people had seen to each.
    mended: Vec<SimTime>,
    hits: Vec<Hit>,
    /// Faults that the hits are of.
    of: Vec<usize>,
    responses: Responses,
    /// Hosts whose faults were looked at for what only slows a job, and how many shifts were.
    looked: Vec<HostId>,
    shifts: usize,
    /// Steps that no crash took back, and when the last of them ended, by standstill.
    kept: Vec<(u32, SimTime)>,
}

/// Follows the first job of a scenario through its faults.
///
/// # Errors
/// [`Error::Argument`] where no step of it ends without faults, another job has a spare, or it stands still too often;
/// [`Error::Controller`] where a controller of one's own cannot go on; [`Error::Scenario`] where the engine does not know
/// a fault.
pub fn follow(resolved: &Resolved) -> Result<Followed, Error> {
    let Some(spec) = &resolved.scenario.steering else {
        return Err(Error::Argument("the scenario has no [steering]".to_owned()));
    };
    ready(resolved)?;
    let mut course = Course::new(resolved, spec)?;
    let engine = engine_of(resolved);
    for _ in 0..ROUNDS {
        let lived = course.live(course.horizon())?;
        let (case, known, shifts) = course.case(&lived)?;
        let log =
            guarded(|| engine.run(&case, 0)).map_err(|halt| Error::Controller { halt, replicate: None })?;
        if course.goes_on(&lived, (&case, &known, &shifts), &log)? {
            continue;
        }
        return course.done(&lived, case, &shifts, &log);
    }
    Err(Error::Argument(format!("the job stood still {ROUNDS} times, and was to start again")))
}

impl<'a> Course<'a> {
    fn new(resolved: &'a Resolved, spec: &'a SteeringSpec) -> Result<Self, Error> {
        let plain = healthy(&resolved.case);
        let hosts = hosts_of(&plain.placements[0]);
        let is_spare = |host: HostId| plain.fabric.host(host).spare && !hosts.contains(&host);
        let others = plain.placements.iter().zip(&plain.work.jobs).skip(1);
        let mut on_spares = others.filter_map(|(places, job)| {
            let taken = places.iter().find(|place| is_spare(place.host))?;
            Some((job.name.as_str(), taken.host))
        });
        if let Some((name, host)) = on_spares.next() {
            let job = &plain.work.jobs[0].name;
            return Err(Error::Argument(format!(
                "[steering] of job `{job}`: host-{} is a spare and job `{name}` runs on it: place it on others",
                host.0
            )));
        }
        let log = engine_of(resolved).run(&plain, 0);
        let steps: Vec<SimTime> = steps_of(&plain.work.jobs[0], &log.times)
            .into_iter()
            .map(|(_, start, end)| end.since(start))
            .collect();
        let step = steps.iter().map(|step| step.seconds()).sum::<f64>() / steps.len().max(1) as f64;
        if step <= 0.0 {
            let why = "no step of the job ends without faults, so it is not known what one takes".to_owned();
            return Err(Error::Argument(why));
        }
        let seed = resolved.scenario.seed;
        let mut course = Self {
            resolved,
            spec,
            // A run has the faults that are written, so no host is accused at random.
            recovery: Recovery { false_alarms: None, ..recovery_of(spec) },
            hosts,
            step: SimTime::from_seconds(step),
            steps,
            faults: resolved.scenario.faults.clone(),
            mended: vec![SimTime::NEVER; resolved.scenario.faults.len()],
            hits: Vec::new(),
            of: Vec::new(),
            responses: Responses::new(seed),
            looked: Vec::new(),
            shifts: 1,
            kept: Vec::new(),
            plain,
        };
        let own = &course.plain.work.jobs[0];
        let first = Shift::first(own, course.plain.placements[0].clone());
        course.foresee(&first)?;
        Ok(course)
    }

    /// Faults that the job does not show by an end: those that slow it by a host, which the controller may take out while
    /// the job runs, and hangs that end by themselves, but later than somebody finds them. Looks at the hosts of a shift
    /// that were not in one before.
    fn foresee(&mut self, shift: &Shift) -> Result<(), Error> {
        let is_first = self.looked.is_empty();
        let mut fresh: Vec<HostId> = shift.places.iter().map(|place| place.host).collect();
        fresh.retain(|host| !self.looked.contains(host));
        fresh.dedup();
        if fresh.is_empty() {
            return Ok(());
        }
        let well = seated(self.resolved, &self.plain, shift);
        for row in 0..self.faults.len() {
            let fault = self.faults[row].clone();
            let (part, in_host) = part_of(&self.plain.fabric, &fault.subject);
            let is_of_rank = matches!(fault.subject, FaultSubject::Rank(_));
            let host = if is_of_rank && is_first { self.host_of_rank(&fault) } else { in_host };
            let at = fault.at.max(shift.start);
            let is_over = fault.until.is_some_and(|until| until <= at);
            let settled = matches!(fault.kind, FaultKind::WrongCable | FaultKind::Up | FaultKind::Flap);
            let Some(host) = host.filter(|host| fresh.contains(host) && !settled && !is_over) else {
                continue;
            };
            let rank = shift.places.iter().position(|place| place.host == host);
            let seat = rank.and_then(|rank| self.seat(rank));
            let happens = (at, seat, in_host);
            if fault.kind == FaultKind::Hang {
                if let Some(until) = fault.until {
                    let hit = self.hit(happens, (&fault, part), Effect::Stops);
                    if until.since(fault.at)
                        > hit.found_after.unwrap_or(SimTime::NEVER).min(self.spec.watchdog)
                    {
                        self.add(hit, row);
                    }
                }
                continue;
            }
            // What stops it is seen in the run.
            let failure = alone(&fault, part, Some(host));
            let mut effects = Effects::new(&well, self.step);
            let effect = match fault.kind {
                FaultKind::StorageStall => effects.shown(&failure)?,
                _ => effects.of(&failure)?,
            };
            if let Effect::Slows(step) = effect {
                let hit = self.hit(happens, (&fault, part), Effect::Slows(step));
                self.add(hit, row);
            }
        }
        self.looked.append(&mut fresh);
        Ok(())
    }

    /// The host that a fault of a rank of the job is on at first.
    fn host_of_rank(&self, fault: &FaultSpec) -> Option<HostId> {
        let (job, rank) = fault.subject.parts().1.rsplit_once('/')?;
        let rank: usize = rank.parse().ok()?;
        let own = (job == self.plain.work.jobs[0].name).then(|| self.plain.placements[0].get(rank))?;
        own.map(|place| place.host)
    }

    /// Draws the responses to a fault that happens to the job.
    fn hit(
        &mut self,
        (at, seat, host): (SimTime, Option<usize>, Option<HostId>),
        (fault, part): (&FaultSpec, PartKind),
        effect: Effect,
    ) -> Hit {
        let failure = JobFailure {
            at,
            seat,
            host,
            subject: fault.subject.parts().1.to_owned(),
            source: Truth::WRITTEN.to_owned(),
            kind: fault.kind,
            gpu_cause: fault.measure.cause,
            part,
            effect,
            repair: fault.until.map(|until| until.since(fault.at.min(until))),
        };
        self.responses.hit(&self.recovery, failure)
    }

    fn add(&mut self, hit: Hit, of: usize) {
        let row = self.hits.partition_point(|known| known.at <= hit.at);
        self.of.insert(row, of);
        self.hits.insert(row, hit);
    }

    /// Until when decisions are followed.
    fn horizon(&self) -> SimTime {
        let last = self.hits.iter().map(|hit| hit.at).max().unwrap_or_default();
        last.saturating_add(PATIENCE).min(SimTime::from_ps(SimTime::NEVER.ps() / 2))
    }

    fn live(&self, end: SimTime) -> Result<Lifetime, Error> {
        let steered = guarded(|| {
            let controllers = controllers(self.resolved, self.spec, &self.hosts, 0);
            let (fabric, seed) = (&self.plain.fabric, self.resolved.scenario.seed);
            driver::simulate(
                &self.recovery,
                fabric,
                (&self.hosts, controllers),
                self.step,
                &self.hits,
                seed,
                end,
            )
        });
        steered.map_err(|halt| Error::Controller { halt, replicate: None })
    }

    /// The case with a job for each shift as far as it is known where that begins.
    fn case(&self, lived: &Lifetime) -> Result<(Case, Vec<Known>, Vec<Shift>), Error> {
        let mut base = self.plain.clone();
        let own = base.work.jobs[0].clone();
        let mut shifts = vec![Shift::first(&own, base.placements[0].clone())];
        let mut seats = self.hosts.clone();
        let mut swaps = lived.done.iter().filter_map(|done| match done.action {
            railtwin_control::Action::Swap { out, spare, .. } => Some((done.effective, out, spare)),
            _ => None,
        });
        let mut next = swaps.next();
        for (number, standstill) in lived.standstills.iter().enumerate() {
            let before = &shifts[number];
            // Who is found to blame is out, and the others with him: nothing of the job runs until it starts again.
            let ended = standstill.isolated.or(standstill.replaced).unwrap_or(SimTime::NEVER);
            base.work.jobs[before.row].until =
                ended.max(SimTime::from_ps(before.start.ps() + 1)).min(own.until);
            let (Some(&(kept, _)), Some(restarted)) = (self.kept.get(number), standstill.restarted) else {
                break;
            };
            // Nothing of it starts after its end.
            if restarted >= own.until {
                break;
            }
            let mut seated_at = restarted;
            while let Some((at, out, spare)) = next.filter(|&(at, ..)| at <= restarted) {
                seated_at = seated_at.min(at);
                if let Some(seat) = seats.iter_mut().find(|seat| **seat == out) {
                    *seat = spare;
                }
                next = swaps.next();
            }
            let seated = |place: &Place| {
                let seat = self.hosts.iter().position(|&host| host == place.host);
                Place { host: seat.map_or(place.host, |seat| seats[seat]), ..*place }
            };
            let places: Vec<Place> = self.plain.placements[0].iter().map(seated).collect();
            let row = base.work.jobs.len();
            let mut name = format!("{}-again-{}", own.name, number + 1);
            while base.work.jobs.iter().any(|job| job.name == name) {
                name.push('x');
            }
            base.work.jobs[shifts[number].row].goes_on_as = Some(row as u32);
            base.work.push(name, restarted, own.plan.clone(), own.steps - kept);
            if let Some(job) = base.work.jobs.last_mut() {
                (job.priority, job.compute_jitter) = (own.priority, own.compute_jitter);
                job.until = own.until;
            }
            base.placements.push(places.clone());
            base.packets.libraries.push(self.plain.packets.libraries.first().copied().unwrap_or_default());
            shifts.push(Shift { row, start: restarted, seated: seated_at, places, before: kept });
        }
        let (case, known) =
            injured(&self.resolved.scenario, (&self.plain, base), &shifts, (&self.faults, &self.mended))?;
        Ok((case, known, shifts))
    }

    /// Takes in what a run shows of the last shift: false where the job has ended, or stands still for good.
    fn goes_on(
        &mut self,
        lived: &Lifetime,
        (case, known, shifts): (&Case, &[Known], &[Shift]),
        log: &RunLog,
    ) -> Result<bool, Error> {
        let number = shifts.len() - 1;
        let shift = &shifts[number];
        if shifts.len() > self.shifts {
            self.shifts = shifts.len();
            let before = self.hits.len();
            self.foresee(shift)?;
            if self.hits.len() > before {
                return Ok(true);
            }
        }
        let job = &case.work.jobs[shift.row];
        let ends = log.times.end[job.operations()].iter().max().copied().unwrap_or_default();
        let ends = ends.min(self.plain.work.jobs[0].until);
        let stop = Stop::of(case, shift.row, log);
        let next = lived.standstills.get(number).filter(|one| one.failed < ends);
        let culprit = match stop {
            Some(stop) if next.is_none_or(|next| stop.at.max(shift.start) < next.failed) => {
                let well = seated(self.resolved, &self.plain, shift);
                let waits = match stop.cause {
                    Cause::Halted => waited_since(shift.row as u32, log, stop.at),
                    _ => stop.at,
                };
                culprit((&well, self.step), shift, known, (&self.faults, &self.mended), (stop, waits))?
            }
            _ => None,
        };
        if let Some(culprit) = culprit {
            let fault = self.faults[culprit.of].clone();
            let at = culprit.at.max(shift.start);
            let (part, host) = part_of(&case.fabric, &fault.subject);
            let everywhere = matches!(part, PartKind::Job | PartKind::Storage);
            let in_job = host.and_then(|host| shift.places.iter().position(|place| place.host == host));
            let rank = culprit.rank.map(|rank| rank as usize).or(in_job).filter(|_| !everywhere);
            let seat = rank.and_then(|rank| self.seat(rank));
            let stops = self.hits.iter().zip(&self.of);
            let mut stops = stops.filter(|(hit, of)| **of == culprit.of && hit.effect == Effect::Stops);
            // The same again changes nothing.
            let is_known = stops.clone().any(|(hit, _)| hit.at == at);
            if !is_known && stops.nth(LOOKS).is_none() {
                let hit = self.hit((at, seat, None), (&fault, part), Effect::Stops);
                self.add(hit, culprit.of);
                return Ok(true);
            }
        }
        // Where it is kept already it does not start again.
        let Some(standstill) = next.filter(|_| self.kept.len() == number) else { return Ok(false) };
        let before = number.checked_sub(1).map_or((0, shift.start), |before| self.kept[before]);
        self.kept.push(account::kept(job, shift, &log.times, (self.every(), standstill.failed), before));
        self.mend(lived, number);
        Ok(true)
    }

    /// The place among the job's hosts of a rank.
    fn seat(&self, rank: usize) -> Option<usize> {
        let host = self.plain.placements[0].get(rank)?.host;
        self.hosts.iter().position(|&own| own == host)
    }

    /// Steps from one checkpoint to the next.
    fn every(&self) -> u32 {
        let written = self.resolved.scenario.jobs[0].checkpoint.map(|checkpoint| checkpoint.every);
        let by_time = || self.spec.checkpoint.ps().div_ceil(self.step.ps().max(1));
        written.unwrap_or_else(|| u32::try_from(by_time()).unwrap_or(u32::MAX)).max(1)
    }

    /// What stopped the job and is in no host of it is well once people saw to it.
    fn mend(&mut self, lived: &Lifetime, number: usize) {
        let standstill = &lived.standstills[number];
        let Some(seen_to) = standstill.isolated else { return };
        let hits = self.hits.iter().zip(&self.of);
        let of = hits.filter(|(hit, _)| hit.seat.is_none() && hit.subject == standstill.subject);
        let rows: Vec<usize> = of.filter(|(hit, _)| hit.at <= standstill.failed).map(|(_, of)| *of).collect();
        for row in rows {
            self.mended[row] = self.mended[row].min(seen_to);
        }
    }

    fn done(self, lived: &Lifetime, case: Case, shifts: &[Shift], log: &RunLog) -> Result<Followed, Error> {
        let last = &case.work.jobs[shifts[shifts.len() - 1].row];
        let of_job = log.times.end[last.operations()].iter().max().copied().unwrap_or_default();
        // A job that stands still for good does so until the end of the run, or until nothing more is done about it.
        let end = match of_job.min(self.plain.work.jobs[0].until) {
            SimTime::NEVER => {
                let known = lived.standstills.last().map(|one| {
                    [Some(one.failed), one.detected, one.isolated, one.replaced].into_iter().flatten().max()
                });
                // What is done last is done, too.
                log.counted().max(known.flatten().unwrap_or_default()).saturating_add(SimTime::from_ps(1))
            }
            end => end,
        };
        let mut lived = self.live(end.max(SimTime::from_ps(1)))?;
        let slows = self.hits.iter().filter(|hit| matches!(hit.effect, Effect::Slows(_)));
        let slows: Vec<&Hit> = slows.collect();
        let periods = account::periods(&lived, (&case, shifts), log, (&self.kept, &self.steps), end);
        book(&mut lived, &periods, &slows, end);
        let own = &case.work.jobs[0];
        let steps = steps_of(last, &log.times);
        let taken: f64 = steps.iter().map(|(_, start, end)| end.since(*start).seconds()).sum();
        let moved = lived.hosts != self.hosts && !steps.is_empty();
        let with_spares = SimTime::from_seconds(taken / steps.len().max(1) as f64);
        let life = Lifetimes {
            job: own.name.clone(),
            ranks: self.plain.placements[0].len() as u32,
            ranks_per_host: ranks_on(&self.plain.placements[0], self.hosts[0]),
            span: end,
            step: self.step,
            step_with_spares: if moved { with_spares } else { self.step },
            lives: vec![lived],
            shown: 0,
            is_followed: true,
        };
        Ok(Followed {
            resolved: Resolved { case, extent: std::sync::OnceLock::new(), ..self.resolved.clone() },
            life,
        })
    }
}
