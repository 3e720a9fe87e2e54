//! Effects of failures on a job, by the engine: stop it, slow it, or nothing; and the failures of a seed with them.
use std::collections::BTreeMap;

use railtwin_fabric::HostId;
use railtwin_records::FaultKind;
use railtwin_reliability::lifetime::Recovery;
use railtwin_reliability::lifetime::hits::{Effect, Hit, JobFailure, Responses};
use railtwin_scenario::{Failure, FaultSpec, failures_by_lot};
use railtwin_units::SimTime;

use crate::engines::engine_of;
use crate::error::Error;
use crate::question::Resolved;
use crate::simulate::{simulate, step_under_faults};

/// How much longer than a healthy step one must take to count as slower.
const SLOWER: f64 = 1e-3;

/// Effects of failures, which the engine finds once for each kind of part and fault.
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

    /// Returns the effect of a failure.
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

    /// Returns the effect that the engine shows, whatever the kind of the failure.
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

/// Returns the failures of a seed in the order of time, with their effects and the responses to them. `hosts` are those of
/// the job in the order of their ranks.
///
/// # Errors
/// See [`Effects::of`].
pub fn hits(
    resolved: &Resolved,
    recovery: &Recovery,
    seed: u64,
    hosts: &[HostId],
    effects: &mut Effects<'_>,
) -> Result<Vec<Hit>, Error> {
    let mut responses = Responses::new(seed);
    let mut all = Vec::new();
    for failure in failures_by_lot(&resolved.scenario, &resolved.case, seed) {
        let effect = effects.of(&failure)?;
        let Failure { at, source, part, host, fault, repair, .. } = failure;
        let failure = JobFailure {
            at,
            seat: host.and_then(|host| hosts.iter().position(|&own| own == host)),
            host: None,
            subject: fault.subject.parts().1.to_owned(),
            source,
            kind: fault.kind,
            gpu_cause: fault.measure.cause,
            part,
            effect,
            repair,
        };
        all.push(responses.hit(recovery, failure));
    }
    Ok(all)
}
