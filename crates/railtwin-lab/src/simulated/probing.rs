//! How soon C4P's prober leads queue pairs around a link that drops everything while its routes stay.
use std::collections::BTreeSet;

use railtwin::engines::engine;
use railtwin_control::Action;
use railtwin_engine::choose::View;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, RunLog};
use railtwin_routing::LinkMask;
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

use super::draws::point_of;
use crate::host::LabError;

/// Four jobs under C4P, which probes, and an uplink that goes silent.
const PROBING: &str = include_str!("../../../../scenarios/lab/probing.toml");

/// Time from the fault until no queue pair uses the silent link any more, over moments of the fault within a period.
#[derive(Clone, PartialEq, Debug)]
pub struct ProbeReaction {
    /// The least, seconds.
    pub least_s: f64,
    /// The mean, seconds.
    pub mean_s: f64,
    /// The most, seconds.
    pub most_s: f64,
    /// From one survey to the next, seconds.
    pub period_s: f64,
    /// How long an answer is waited for, seconds.
    pub timeout_s: f64,
    /// Packets along each path in a survey.
    pub packets: u32,
    /// Paths that a survey probes.
    pub paths: usize,
    /// Surveys without a loss after which the link counts as sound again.
    pub clean_surveys: u32,
}

/// Runs the scenario `scenarios/lab/probing.toml` with the fault at `samples` moments, even over one period.
///
/// A fault waits for the next survey, up to a period, and for the timeout of its probes; telling hosts takes no time. So
/// it lasts from `probe_timeout` to `probes + probe_timeout`, and half a period more than the least on average.
///
/// # Errors
/// [`LabError`]: the scenario has no fault or no prober, or a queue pair stays on the silent link.
pub fn probe_reaction(samples: u32) -> Result<ProbeReaction, LabError> {
    let resolved = point_of("scenarios/lab/probing.toml", PROBING, "c4p")?;
    let case = resolved.case;
    let control = &case.routing.control;
    let period = control.probes.ok_or_else(|| LabError("control.probes: write a period".into()))?;
    let count = samples.max(1);
    let (mut reactions, mut paths) = (Vec::new(), 0);
    for sample in 0..count {
        let later = period.seconds() * (f64::from(sample) + 0.5) / f64::from(count) - period.seconds() / 2.0;
        let mut shifted = case.clone();
        for fault in &mut shifted.faults {
            fault.at = SimTime::from_seconds(fault.at.seconds() + later);
        }
        let log = engine(EngineName::Flow, 1).run(&shifted, 0);
        paths = log.surveys.first().map_or(0, |survey| survey.probes.len());
        reactions.push(reaction(&shifted, &log)?);
    }
    Ok(ProbeReaction {
        least_s: reactions.iter().copied().fold(f64::INFINITY, f64::min),
        mean_s: reactions.iter().sum::<f64>() / f64::from(count),
        most_s: reactions.iter().copied().fold(0.0, f64::max),
        period_s: period.seconds(),
        timeout_s: control.probe_timeout.seconds(),
        packets: control.probe_packets,
        paths,
        clean_surveys: control.clean_surveys,
    })
}

/// Seconds from the first fault until the last queue pair that used its cable was told another path.
fn reaction(case: &Case, log: &RunLog) -> Result<f64, LabError> {
    let fault = case.faults.iter().min_by_key(|fault| fault.at);
    let fault = fault.ok_or_else(|| LabError("probing: the scenario has no fault".into()))?;
    let lowering = Lowering::new(case, 0);
    let none = LinkMask::none(&case.fabric);
    let paths = lowering.paths(View { mask: &none, planned: &none });
    let silent = [fault.cable.forward(), fault.cable.backward()].map(|link| (link, fault.state.takes(link)));
    let is_silent = |link| silent.contains(&(link, true));
    let rows = lowering.connections().iter().flat_map(|one| one.first..one.first + one.count);
    let users: BTreeSet<u32> =
        rows.filter(|&row| paths.path(row).links.iter().any(|&l| is_silent(l))).collect();
    if users.is_empty() {
        return Err(LabError("probing: no queue pair uses the silent link".into()));
    }
    let left = |&row: &u32| {
        let told = log.actions.iter().filter(|one| one.decided > fault.at);
        let own =
            told.filter(|one| matches!(one.action, Action::Path { queue_pair, .. } if queue_pair == row));
        own.map(|one| one.effective).min()
    };
    let times: Option<Vec<SimTime>> = users.iter().map(left).collect();
    let last = times.and_then(|times| times.into_iter().max());
    let last = last.ok_or_else(|| LabError("probing: a queue pair stays on the silent link".into()))?;
    Ok(last.since(fault.at).seconds())
}
