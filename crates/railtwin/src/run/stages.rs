//! Stages of a run: simulate, stop with the replay, live on, count, add figures.
use std::collections::BTreeMap;

use railtwin_control::Action;
use railtwin_engine::lower::{FlowPath, Lowering};
use railtwin_engine::{ActionRow, BundleTable, Case, Engine, RunLog};
use railtwin_reliability::lifetime::Lifetimes;
use railtwin_store::{Figure, RunFolder, RunInfo};

use crate::error::Error;
use crate::question::Resolved;
use crate::simulate::{Simulation, simulate_lowered};
use crate::telemetry_run::TelemetryRun;
use crate::{headline, tables};

/// Simulates all replicates and writes their steps into the folder while they go on.
///
/// # Errors
/// [`Error::Store`] when the steps cannot be written, and errors of the engine.
pub(super) fn simulated<'a>(
    case: &'a Case,
    engine: &dyn Engine,
    resolved: &Resolved,
    folder: Option<&RunFolder>,
    progress: &(dyn Fn() + Sync),
) -> Result<(Simulation, Option<Lowering<'a>>), Error> {
    let mut steps = folder.map(|folder| folder.table_writer("steps")).transpose()?;
    let count = resolved.scenario.run.replicates;
    let simulated = simulate_lowered(case, engine, count, progress, &mut |first, batch| {
        if let Some(steps) = &mut steps {
            steps.append(&tables::steps(case, first, batch))?;
            steps.flush()?;
        }
        Ok(())
    })?;
    if let Some(steps) = steps {
        steps.finish()?;
    }
    Ok(simulated)
}

/// Stops the job where its replay stops: the replay goes on for longer than the steps of the engine.
///
/// Returns the unfinished operations of the replay where the engine itself saw the job end.
pub(super) fn stop_with_the_replay(
    case: &Case,
    telemetry: Option<&TelemetryRun>,
    done: &mut Simulation,
) -> Option<u64> {
    let telemetry = telemetry?;
    let (job, stop) = telemetry.stop.filter(|(job, _)| case.work.jobs[*job].goes_on_as.is_none())?;
    let ended = done.replicates[done.chosen as usize].stops[job].is_none();
    done.replicates.iter_mut().for_each(|replicate| {
        replicate.stops[job].get_or_insert(stop);
    });
    ended.then_some(telemetry.unfinished)
}

/// Returns the lives of the job, and adds their figures and warnings; none where the scenario does not ask.
///
/// # Errors
/// [`Error::Controller`] where a controller of one's own cannot go on.
pub(super) fn lived(
    resolved: &Resolved,
    done: &Simulation,
    followed: Option<Lifetimes>,
    info: &mut RunInfo,
) -> Result<Option<Lifetimes>, Error> {
    let lived = match followed {
        Some(lived) => lived,
        None if resolved.scenario.steering.is_none() => return Ok(None),
        None => match crate::life::after_run(resolved, done, None) {
            Ok(lived) => lived,
            Err(error @ Error::Controller { .. }) => return Err(error),
            Err(error) => {
                info.warnings.push(format!("no life of the job: {error}"));
                return Ok(None);
            }
        },
    };
    info.figures.extend(crate::life::figures(&lived));
    Ok(Some(lived))
}

/// Counts the work of the engine and the paths that it took.
pub(super) fn count(
    counters: &mut BTreeMap<String, u64>,
    log: &RunLog,
    table: &BundleTable,
    flows: &[FlowPath],
) {
    let mut put = |name: &str, count: u64| {
        counters.insert(name.into(), count);
    };
    put("events", log.events);
    put("max_min_solves", log.solves);
    put("max_min_bundles", log.solved_bundles);
    if log.search_rounds > 0 {
        put("search_rounds", log.search_rounds);
        put("restless_searches", log.restless_searches);
        put("joined_phases", log.joined_phases);
    }
    put("queue_pair_paths", flows.len() as u64);
    put("bundles", table.bundles() as u64);
}

/// Adds the figures of links and of bounds of the network.
pub(super) fn add_network_figures(
    resolved: &Resolved,
    done: &Simulation,
    table: &BundleTable,
    flows: &[FlowPath],
    figures: &mut Vec<Figure>,
) {
    let case = &resolved.case;
    figures.extend(crate::balance::leaf_uplinks(resolved, flows));
    let balance = crate::balance::by_tier(case, &done.log, &tables::flows_by_link(case, flows));
    figures.extend(crate::balance::figures(&balance));
    figures.extend(crate::nic_ports::figures(&done.replicates));
    figures.extend(headline::bound::figures(case, done, table, flows));
    let of_all = headline::figures(case, done, table, figures);
    figures.extend(of_all);
}

/// Adds the figures, warnings and counters of telemetry.
pub(super) fn add_telemetry(run: &TelemetryRun, case: &Case, info: &mut RunInfo) {
    info.figures.extend(run.figures(case));
    info.warnings.extend(run.warnings.iter().cloned());
    info.counters.insert("telemetry_operations".into(), run.seen[0]);
    info.counters.insert("telemetry_messages".into(), run.seen[1]);
}

/// Warnings of rates that were searched for and not found to the last digit.
pub(super) fn searches(log: &RunLog) -> Vec<String> {
    let (all, mut words) = (log.solves, Vec::new());
    if log.restless_searches > 0 {
        words.push(format!(
            "{} of {all} searches for the rates of queue pairs that carry what they can did not come to rest within \
             their bound: their rates are feasible, and may be below the fixed point",
            log.restless_searches
        ));
    }
    if log.joined_phases > 0 {
        words.push(format!(
            "the search for the rates of queue pairs that carry what they can reached its bound of work: in {} of {all} \
             phases transfers end together, and times are up to 1 % too long",
            log.joined_phases
        ));
    }
    words
}

/// A warning of shares that somebody gave to queue pairs which find what they carry by themselves.
pub(super) fn idle_weights(case: &Case, log: &RunLog) -> Option<String> {
    let weighs = |row: &&ActionRow| matches!(row.action, Action::Weight { .. });
    let first = log.actions.iter().find(weighs).filter(|_| case.routing.is_dynamic())?;
    Some(format!(
        "the weights that {} gave queue pairs change nothing under a dynamic split, where each message finds its own",
        first.controller
    ))
}
