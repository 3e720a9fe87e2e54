//! The lifetime of a job over weeks (`[steering]`), and in a run: the inputs of `railtwin_reliability::lifetime`, and what a
//! run folder holds of its outcome.
//!
//! No step is simulated but one: the engine's healthy step says how long steps take, and one with the spares of a lifetime
//! in place whether they serve as well. The failures of a random lifetime are those that `[failures]` draws from its seed;
//! all decisions are those of [`railtwin_control::Steering`], or with `controller = "own"` those of controllers of one's own.
//!
//! * `inputs`: settings from `[steering]`.
//! * `effects`: effects of failures, by the engine.
//! * [`follow`]: a run whose steps are followed, where faults are written and not drawn.
//! * [`figures()`]: medians over lifetimes.
//! * [`tables`]: `actions`, behind those of the run, `standstills` and `lives`; [`page`]: the same for the page.
mod effects;
mod figures;
mod followed;
mod inputs;
pub mod page;
pub mod tables;

use std::sync::Arc;

use railtwin_control::{Controller, Place};
use railtwin_engine::own::{Site, Stage, guarded};
use railtwin_fabric::HostId;
use railtwin_reliability::lifetime::{Lifetimes, driver, median_downtime};
use railtwin_scenario::{SteeredBy, SteeringSpec};
use railtwin_units::SimTime;

pub use figures::figures;
pub use followed::{Followed, follow, is_followed};

use crate::engines::engine_of;
use crate::error::Error;
use crate::life::effects::{Effects, hits};
use crate::life::inputs::{policy_of, recovery_of};
use crate::question::Resolved;
use crate::simulate::{Simulation, mean_step, simulate};

/// Returns the hosts of ranks, in the order of their first rank.
fn hosts_of(places: &[Place]) -> Vec<HostId> {
    let mut hosts: Vec<HostId> = Vec::new();
    for place in places {
        if !hosts.contains(&place.host) {
            hosts.push(place.host);
        }
    }
    hosts
}

/// Returns the number of ranks on a host.
fn ranks_on(places: &[Place], host: HostId) -> u32 {
    places.iter().filter(|place| place.host == host).count() as u32
}

/// Returns the lifetimes of the job of a point with `[steering]`, whose healthy run is `done`. `lives` stands for the
/// scenario's number of them.
///
/// # Errors
/// [`Error::Scenario`] where the engine does not know a fault that was drawn; [`Error::Argument`] where the job has no
/// step time, or the scenario no `[steering]`.
pub fn after_run(resolved: &Resolved, done: &Simulation, lives: Option<u32>) -> Result<Lifetimes, Error> {
    let (scenario, case) = (&resolved.scenario, &resolved.case);
    let (Some(spec), Some(failures)) = (&scenario.steering, &scenario.failures) else {
        return Err(Error::Argument("the scenario has no [steering]".to_owned()));
    };
    let step = mean_step(&done.replicates[done.chosen as usize], 0).filter(|step| *step > 0.0);
    let no_step = || {
        let why = match case.faults.is_empty() && case.rank_faults.is_empty() {
            true => "no step of the job ends, so it is not known what one takes",
            false => {
                "no step of the job ends under the faults of [[fault]], so it is not known what one takes: a life \
                 is made of steps without them and of [failures]"
            }
        };
        Error::Argument(why.to_owned())
    };
    let step = SimTime::from_seconds(step.ok_or_else(no_step)?);
    let places = &case.placements[0];
    let hosts = hosts_of(places);
    let from = failures.from.seconds() * failures.acceleration();
    let span = SimTime::from_seconds(from + failures.hours() * 3600.0);
    let first = failures.seed.unwrap_or(scenario.seed);
    ready(resolved)?;
    let recovery = recovery_of(spec);
    let mut effects = Effects::new(resolved, step);
    let mut all = Vec::new();
    for life in 0..lives.unwrap_or(spec.lives) {
        let seed = first.wrapping_add(u64::from(life));
        let hits = hits(resolved, &recovery, seed, &hosts, &mut effects)?;
        let steered = guarded(|| {
            let controllers = controllers(resolved, spec, &hosts, life);
            driver::simulate(&recovery, &case.fabric, (&hosts, controllers), step, &hits, seed, span)
        });
        all.push(steered.map_err(|halt| Error::Controller { halt, replicate: Some(life) })?);
    }
    let shown = median_downtime(&all);
    let step_with_spares = step_on(resolved, done.chosen, &hosts, &all[shown].hosts)?.unwrap_or(step);
    Ok(Lifetimes {
        job: case.work.jobs[0].name.clone(),
        ranks: places.len() as u32,
        ranks_per_host: ranks_on(places, hosts[0]),
        span,
        step,
        step_with_spares,
        lives: all,
        shown,
        is_followed: false,
    })
}

/// Checks that controllers steer hosts.
///
/// # Errors
/// [`Error::Argument`] where controllers of one's own are to steer hosts and there are none.
pub fn ready(resolved: &Resolved) -> Result<(), Error> {
    let by_own = |spec: &SteeringSpec| spec.controller == SteeredBy::Own;
    if !resolved.scenario.steering.as_ref().is_some_and(by_own) || resolved.case.own.is_some() {
        return Ok(());
    }
    Err(Error::Argument(
        "steering.controller is \"own\", and there is no controller of one's own: hand one over by \
         `railtwin.run(scenario, controllers=[Mine])` in Python or `Resolved::with_controllers` in Rust, or write \"policy\""
            .to_owned(),
    ))
}

/// Returns the controllers that steer hosts in a lifetime.
fn controllers(
    resolved: &Resolved,
    spec: &SteeringSpec,
    hosts: &[HostId],
    life: u32,
) -> Vec<Box<dyn Controller>> {
    let case = &resolved.case;
    match (&case.own, spec.controller) {
        (Some(own), SteeredBy::Own) => own.at(&Site {
            fabric: Arc::clone(&case.fabric),
            ecmp: case.routing.ecmp,
            resilient: case.routing.resilient,
            replicate: life,
            stage: Stage::Life,
            jobs: 1,
        }),
        _ => vec![Box::new(driver::steering(policy_of(spec), &case.fabric, hosts))],
    }
}

/// The time of a step where `now` stands in place of `before`, host by host; none where nothing changed.
fn step_on(
    resolved: &Resolved,
    replicate: u32,
    before: &[HostId],
    now: &[HostId],
) -> Result<Option<SimTime>, Error> {
    if before == now {
        return Ok(None);
    }
    let mut case = resolved.case.clone();
    for place in &mut case.placements[0] {
        let seat = before.iter().position(|&host| host == place.host);
        place.host = seat.map_or(place.host, |seat| now[seat]);
    }
    let engine = engine_of(resolved);
    let log = engine.run(&case, replicate);
    let ended = crate::exposed::steps_of(&case.work.jobs[0], &log.times);
    let times: Vec<f64> = ended.iter().map(|(_, start, end)| end.since(*start).seconds()).collect();
    if times.is_empty() {
        return Err(Error::Argument("the job does not end on the spares that took a place".to_owned()));
    }
    Ok(Some(SimTime::from_seconds(times.iter().sum::<f64>() / times.len() as f64)))
}

/// Returns the lifetimes of a point after its healthy run, without a run folder.
///
/// # Errors
/// See [`after_run`].
pub fn lives(resolved: &Resolved, lives: Option<u32>) -> Result<Lifetimes, Error> {
    if resolved.case.work.jobs.is_empty() {
        return Err(Error::Argument("the scenario has no job".to_owned()));
    }
    if is_followed(resolved) {
        return follow(resolved).map(|followed| followed.life);
    }
    let engine = engine_of(resolved);
    let count = resolved.scenario.run.replicates;
    let done = simulate(&resolved.case, engine.as_ref(), count, &|| (), &mut |_, _| Ok(()))?;
    after_run(resolved, &done, lives)
}
