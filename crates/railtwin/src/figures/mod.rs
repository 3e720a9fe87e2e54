//! The figures of a run: what a person asks first, with units.
//!
//! A figure of the only job of a scenario has a bare name, such as `step_time`. With several jobs it is called
//! `<job>.step_time`, and what is of all jobs together `jobs.step_time_max` ([`TOTALS`]). Figures of the network and
//! of the run as a whole have bare names either way. What each is stands in [`mod@declared`].
pub mod declared;
mod names;
mod quantile;
pub mod reference;

use railtwin_engine::Case;
use railtwin_fabric::design::DesignReport;
use railtwin_store::Figure;
use railtwin_units::SimTime;

use crate::simulate::Simulation;
use crate::{faults, job_figures, stall_causes};
pub use declared::declared;
use declared::{Declared, Scope, cluster, fabric, job, network};
pub use names::parts_of;
pub use quantile::quantile;

/// What stands in the place of a job's name in figures of all jobs together; no job of several is called so.
pub const TOTALS: &str = railtwin_scenario::ALL_JOBS;

/// Whether a figure tells what ran rather than what the fabric is.
pub fn is_of_run(name: &str) -> bool {
    declared(name).is_some_and(|figure| matches!(figure.scope, Scope::Job | Scope::AllJobs | Scope::Run))
}

/// Whether figures are those of a run in which jobs ran, or weeks of them.
pub fn of_a_run(figures: &[Figure]) -> bool {
    let told = [job::STEP_TIME.name, cluster::GPU_UTILIZATION.name];
    figures.iter().any(|figure| told.contains(&parts_of(&figure.name).1))
}

/// Figures of a fabric, counted on the built graph.
pub fn of_design(report: &DesignReport) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut count = |of: Declared, value: f64| figures.push(of.figure(value, ""));
    count(fabric::PODS, report.pods.into());
    count(fabric::SEGMENTS, report.segments.into());
    count(fabric::PLANES, report.planes.into());
    count(fabric::HOSTS_ACTIVE, report.hosts_active.into());
    count(fabric::GPUS_ACTIVE, report.gpus_active.into());
    count(fabric::GPUS_SPARE, report.gpus_spare.into());
    count(fabric::GPUS_PER_SEGMENT, report.gpus_per_segment.into());
    count(fabric::SPARE_GPUS_PER_SEGMENT, report.spare_gpus_per_segment.into());
    count(fabric::GPUS_PER_POD, report.gpus_per_pod.into());
    count(fabric::GPUS_PER_LEAF_SET, report.gpus_per_leaf_set.into());
    count(fabric::LEAVES_PER_SEGMENT, report.leaves_per_segment.into());
    count(fabric::LEAVES_PER_HOST, report.leaves_per_host.into());
    count(fabric::SPINES_PER_PLANE, report.spines_per_plane.into());
    count(fabric::PATH_CHOICES, report.path_choices.into());
    // Search spaces of HPN table 1 over ours.
    for (of, space) in [
        (fabric::SUPERPOD_OVER_PATH_CHOICES, 32.0 * 32.0 * 4.0),
        (fabric::JUPITER_OVER_PATH_CHOICES, 8.0 * 256.0),
        (fabric::FAT_TREE_OVER_PATH_CHOICES, 48.0 * 48.0),
    ] {
        count(of, space / f64::from(report.path_choices.max(1)));
    }
    let of_leaf_set = f64::from(report.gpus_per_leaf_set.max(1));
    count(fabric::LEAF_SETS_PER_SEGMENT, f64::from(report.gpus_per_segment) / of_leaf_set);
    if let Some(spine) = report.tiers.get(1) {
        // Down ports over those of a spine with as many down as up, less one (HPN section 6.2).
        let even = f64::from(spine.down_ports + spine.up_ports) / 2.0;
        count(fabric::SPINE_PORTS_RELEASED, f64::from(spine.down_ports) / even - 1.0);
    }
    if report.storage_hosts > 0 {
        count(fabric::STORAGE_HOSTS, report.storage_hosts.into());
    }
    count(fabric::CABLES_ACCESS, report.cables_access.into());
    count(fabric::CABLES_LEAF_SPINE, report.cables_leaf_spine.into());
    count(fabric::CABLES_SPINE_CORE, report.cables_spine_core.into());
    count(fabric::LEAF_SINGLE_POINTS_OF_FAILURE, report.leaf_single_points_of_failure.into());
    for tier in &report.tiers {
        let name = tier.tier.replace('-', "_");
        let mut count = |of: Declared, value: f64| figures.push(of.of(&name).figure(value, ""));
        count(fabric::SWITCHES, tier.switches.into());
        count(fabric::DOWN_PORTS, tier.down_ports.into());
        count(fabric::SPARE_PORTS, tier.spare_ports.into());
        count(fabric::UP_PORTS, tier.up_ports.into());
        if let Some(ratio) = tier.oversubscription {
            count(fabric::OVERSUBSCRIPTION, ratio);
        }
    }
    if let Some(ratio) = report.nvlink_to_nic {
        figures.push(fabric::NVLINK_TO_NIC.figure(ratio, ""));
    }
    figures.push(fabric::HOST_BACKEND.figure(report.host_backend.bits_per_s() as f64, ""));
    figures.push(fabric::HOST_FRONTEND.figure(report.host_frontend.bits_per_s() as f64, ""));
    for tier in &report.tiers {
        let used = tier.chip_used.bits_per_s() as f64;
        figures.push(fabric::CHIP_USED.of(&tier.tier.replace('-', "_")).figure(used, ""));
    }
    figures
}

/// Figures of a simulation: of all jobs together where there are several, of each job, and of the network. With
/// faults, what they cost a job leads.
pub fn of_simulation(case: &Case, simulation: &Simulation) -> Vec<Figure> {
    let several = case.work.jobs.len() > 1;
    let mut figures = if several { job_figures::totals(case, simulation) } else { Vec::new() };
    let mut below = Vec::new();
    for (row, job) in case.work.jobs.iter().enumerate() {
        let named = |figure: Figure| match several {
            true => Figure { name: format!("{}.{}", job.name, figure.name), ..figure },
            false => figure,
        };
        let mut costs = faults::of_job(case, simulation, row);
        costs.rest.extend(stall_causes::figures(case, simulation, row));
        figures.extend(costs.lead.into_iter().map(named));
        figures.extend(job_figures::of_job(case, simulation, row).into_iter().map(named));
        let rest = costs.rest.into_iter().map(named);
        if several { figures.extend(rest) } else { below.extend(rest) }
    }
    figures.extend(of_network(case, simulation));
    figures.extend(below);
    figures
}

/// Figures of the network and of the run as a whole.
fn of_network(case: &Case, simulation: &Simulation) -> Vec<Figure> {
    let whole = |value: f64| unended(case, simulation).map_or(Ok(value), Err);
    let mut figures = Vec::new();
    let worst = simulation.replicates[simulation.chosen as usize].worst_link_utilization;
    let note = "mean over the run, most used link";
    figures.push(network::WORST_LINK_UTILIZATION.given(whole(worst), note));
    if !(0..case.work.jobs.len()).any(|row| job_figures::computes(case, row)) {
        uplinks(simulation, &whole, &mut figures);
    }
    let unfinished = simulation.replicates.iter().map(|r| r.unfinished).max().unwrap_or(0);
    let note = if case.work.jobs.len() > 1 { "of all jobs, worst replicate" } else { "worst replicate" };
    figures.push(network::OPERATIONS_UNFINISHED.figure(unfinished as f64, note));
    let answers = || simulation.log.surveys.iter().flat_map(|survey| &survey.answers);
    if answers().next().is_some() {
        let answered = answers().map(|answer| answer.delay).filter(|&delay| delay < SimTime::NEVER);
        let slowest = answered.max().map(SimTime::seconds).ok_or_else(|| "no probe was answered".to_owned());
        figures.push(network::PROBE_DELAY_MAX.given(slowest, "of all surveys, slowest path"));
    }
    figures.extend(crate::packet_figures::figures(case, &simulation.log));
    figures
}

/// Counts operations that never end in the replay of a job whose simulated steps all ended.
pub(crate) fn add_of_replay(figures: &mut [Figure], count: u64) {
    for figure in figures.iter_mut().filter(|figure| figure.name == network::OPERATIONS_UNFINISHED.name) {
        figure.value = figure.value.map(|value| value + count as f64);
        figure.note.push_str(", with those of the steps that telemetry replays");
    }
}

/// Why the run has no end in some replicate, so that nothing is a share of it: of the first job that did not end.
fn unended(case: &Case, simulation: &Simulation) -> Option<String> {
    (0..case.work.jobs.len()).find_map(|row| job_figures::unended(case, simulation, row, true))
}

/// How evenly the used uplinks of leaves are used, as the mean over replicates.
fn uplinks(simulation: &Simulation, whole: &dyn Fn(f64) -> Result<f64, String>, figures: &mut Vec<Figure>) {
    let all: Vec<_> = simulation.replicates.iter().filter_map(|replicate| replicate.uplinks).collect();
    if all.is_empty() {
        return;
    }
    let mean = |of: fn(&crate::links::UplinkUse) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let note = "over uplinks of leaves that carry anything, mean over the run and over replicates";
    for (of, value) in [
        (network::LEAF_UPLINK_UTILIZATION_MIN, mean(|u| u.min)),
        (network::LEAF_UPLINK_UTILIZATION_MEAN, mean(|u| u.mean)),
        (network::LEAF_UPLINK_UTILIZATION_MAX, mean(|u| u.max)),
    ] {
        figures.push(of.given(whole(value), note));
    }
}

#[cfg(test)]
mod tests {
    use super::is_of_run;

    #[test]
    fn figures_of_runs_are_known() {
        assert!(is_of_run("jobs.busbw_mean") && is_of_run("halted") && !is_of_run("gpus_active"));
    }
}
