//! What failures do to a job: stop it, slow it, or nothing; what they are booked as; who finds them.
use std::collections::BTreeMap;

use railtwin_fabric::HostId;
use railtwin_records::FaultKind;
use railtwin_records::fault::FaultCause;
use railtwin_reliability::downtime::table3::{Stated, Table3};
use railtwin_reliability::downtime::{Account, Part};
use railtwin_reliability::failure_rates::{Cause, Draw};
use railtwin_scenario::{Failure, FaultSpec, PartKind, SteeringSpec, failures_by_lot};
use railtwin_units::SimTime;

use crate::engines::engine_of;
use crate::error::Error;
use crate::life::detectors::found_after;
use crate::question::Resolved;
use crate::simulate::{simulate, step_under_faults};

/// How much longer than a healthy step one must take to count as slower.
const SLOWER: f64 = 1e-3;

/// What a failure does to the job.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// It stands still.
    Stops,
    /// Its steps take so long.
    Slows(SimTime),
    /// Nothing that a step shows.
    None,
}

/// A failure in a life.
#[derive(Clone, Debug)]
pub struct Hit {
    /// When.
    pub at: SimTime,
    /// The place among the job's hosts, in the order of their ranks, that it happens to; none of what is in no host, and
    /// of what changing the host does not cure.
    pub seat: Option<usize>,
    /// The host that the part is in: it does nothing while that host has no place in the job. None where it happens to
    /// whoever has the place.
    pub host: Option<HostId>,
    /// The part, by its name in the healthy placement.
    pub subject: String,
    /// Which rate drew it.
    pub source: String,
    /// Its kind.
    pub kind: FaultKind,
    /// What it is booked as.
    pub cause: Cause,
    /// What it does.
    pub effect: Effect,
    /// Time until detectors find it; none where they miss it.
    pub found_after: Option<SimTime>,
    /// Time that people take to find who is at fault.
    pub by_hand: SimTime,
    /// How long the part is broken; none where nobody mends it.
    pub repair: Option<SimTime>,
}

/// What a fault is booked as.
pub fn cause_of(fault: &FaultSpec, part: PartKind) -> Cause {
    match (fault.kind, part) {
        (FaultKind::GpuError, _) => match fault.measure.cause {
            Some(FaultCause::Ecc | FaultCause::Nvlink) => Cause::EccNvlink,
            _ => Cause::Cuda,
        },
        (FaultKind::Hang | FaultKind::SizeMismatch, _) => Cause::CclTimeout,
        (FaultKind::PauseStorm | FaultKind::Lossy, _) => Cause::AckTimeout,
        (
            _,
            PartKind::Nic | PartKind::AccessCable | PartKind::UplinkCable | PartKind::Leaf | PartKind::Spine,
        ) => Cause::AckTimeout,
        _ => Cause::Unknown,
    }
}

/// Whether a slow step of such a fault is slow communication.
pub fn is_communication(kind: FaultKind) -> bool {
    !matches!(kind, FaultKind::SlowGpu | FaultKind::SlowData | FaultKind::StorageStall)
}

/// Hours that people take for a cause on average where the scenario says nothing: June's share of C4's Table III over the
/// crashes that Table I's rate gives its job.
pub fn by_hand_hours() -> Account {
    Table3::of(Stated::default()).implied[0]
}

/// What failures of one kind of part do, found once by the engine for each.
pub struct Effects<'a> {
    resolved: &'a Resolved,
    step: SimTime,
    known: BTreeMap<String, Effect>,
}

impl<'a> Effects<'a> {
    /// Effects on a job whose healthy step takes `step`.
    pub fn new(resolved: &'a Resolved, step: SimTime) -> Self {
        Self { resolved, step, known: BTreeMap::new() }
    }

    /// What a failure does.
    ///
    /// # Errors
    /// [`Error::Scenario`] where the engine does not know such a fault.
    pub fn of(&mut self, failure: &Failure) -> Result<Effect, Error> {
        use FaultKind::{Crash, GpuError, Hang, SizeMismatch, StorageStall};
        let gone = matches!(failure.fault.kind, Crash | GpuError | Hang | SizeMismatch | StorageStall);
        if failure.stops || gone {
            return Ok(Effect::Stops);
        }
        self.shown(failure)
    }

    /// What the engine shows a failure to do, whatever its kind.
    ///
    /// # Errors
    /// See [`Effects::of`].
    pub fn shown(&mut self, failure: &Failure) -> Result<Effect, Error> {
        let key = format!("{} {:?} {:?}", failure.part.name(), failure.fault.kind, failure.fault.measure);
        if let Some(&effect) = self.known.get(&key) {
            return Ok(effect);
        }
        // Amid a step it may stop the job; from the start on it shows what steps take with it.
        let middle = SimTime::from_ps(self.step.ps() / 2);
        let effect = match self.step_with(failure, middle)? {
            None => Effect::Stops,
            Some(_) => match self.step_with(failure, SimTime::ZERO)? {
                None => Effect::Stops,
                Some(step) if step > self.step.seconds() * (1.0 + SLOWER) => {
                    Effect::Slows(SimTime::from_seconds(step))
                }
                Some(_) => Effect::None,
            },
        };
        self.known.insert(key, effect);
        Ok(effect)
    }

    /// Seconds of a step with a failure that begins `at`; none where the job stands still.
    fn step_with(&self, failure: &Failure, at: SimTime) -> Result<Option<f64>, Error> {
        let fault = FaultSpec { at, ..failure.fault.clone() };
        let case = self.resolved.scenario.injected(&self.resolved.case, &[fault], &failure.source)?;
        let engine = engine_of(self.resolved);
        let done = simulate(&case, engine.as_ref(), 1, &|| (), &mut |_, _| Ok(()))?;
        Ok(step_under_faults(&done.replicates[0], 0))
    }
}

/// The failures of the life of a seed, in the order of time. `hosts` are those of the job in the order of their ranks.
///
/// # Errors
/// See [`Effects::of`].
pub fn hits(
    resolved: &Resolved,
    spec: &SteeringSpec,
    seed: u64,
    hosts: &[HostId],
    effects: &mut Effects<'_>,
) -> Result<Vec<Hit>, Error> {
    let by_hand = by_hand_hours();
    let (mut found, mut people) = (Draw::new(seed, "steering/recall"), Draw::new(seed, "steering/by-hand"));
    let mut all = Vec::new();
    for failure in failures_by_lot(&resolved.scenario, &resolved.case, seed) {
        let cause = cause_of(&failure.fault, failure.part);
        let kind = failure.fault.kind;
        let effect = effects.of(&failure)?;
        // A bug of the job goes where the job goes.
        let host = failure.host.filter(|_| kind != FaultKind::SizeMismatch);
        let mean = spec.by_hand.of(cause).map_or(by_hand[Part::Diagnosis(cause)], super::progress::hours);
        let is_found = found.chance(spec.recall);
        let hours = people.exponential(mean);
        let after = spec.detection.unwrap_or_else(|| found_after(kind));
        all.push(Hit {
            at: failure.at,
            seat: host.and_then(|host| hosts.iter().position(|&own| own == host)),
            host: None,
            subject: failure.fault.subject.parts().1.to_owned(),
            source: failure.source,
            kind,
            cause,
            effect,
            found_after: (spec.c4d && is_found).then_some(after),
            by_hand: SimTime::from_seconds(hours * 3600.0),
            repair: failure.repair,
        });
    }
    Ok(all)
}
