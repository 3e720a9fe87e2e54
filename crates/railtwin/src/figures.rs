//! The figures of a run: what a person asks first, with units.
//!
//! A figure of the only job of a scenario has a bare name, such as `step_time`. With several jobs it is called
//! `<job>.step_time`, and what is of all jobs together `jobs.step_time_max` ([`TOTALS`]). Figures of the network and
//! of the run as a whole have bare names either way.
use railtwin_engine::Case;
use railtwin_fabric::design::DesignReport;
use railtwin_store::Figure;

use crate::simulate::Simulation;
use crate::{faults, job_figures};

/// What stands in the place of a job's name in figures of all jobs together; no job of several is called so.
pub const TOTALS: &str = railtwin_scenario::ALL_JOBS;

/// A quantile of sorted values by linear interpolation; none of nothing.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q * last as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(last);
    Some(sorted[low] + (sorted[high] - sorted[low]) * part)
}

/// A figure, or why it has no value.
pub(crate) fn figure(name: &str, value: Result<f64, String>, unit: &str, note: &str) -> Figure {
    let figure = match value {
        Ok(value) if value.is_finite() => Figure::new(name, value, unit),
        Ok(_) => Figure::missing(name, unit, "not a finite number"),
        Err(reason) => Figure::missing(name, unit, &reason),
    };
    Figure { note: note.to_owned(), ..figure }
}

/// First words of the figures of a simulation; the others count the fabric.
const OF_RUN: [&str; 36] = [
    "step_time",
    "tokens",
    "mfu",
    "volume",
    "exposed",
    "busbw",
    "worst_link",
    "operations_unfinished",
    "leaf_uplink_",
    "max_mean_ratio_",
    "throughput_",
    "halted",
    "stall_time",
    "time_lost",
    "not_computing",
    "nic_port_",
    "gpu_memory",
    "fct_",
    "packet",
    "out_of_sequence",
    "ack_timeouts",
    "cnps",
    "pause",
    "queue_bytes_",
    "leaf_buffer_",
    "spine_buffer_",
    "core_buffer_",
    "round_trip_",
    "clearance_wait_",
    "bandwidth_delay_",
    "findings",
    "accusations",
    "truth_in_set",
    "found_after",
    "utilization_in_flight_",
    "latency_share_in_flight",
];

/// The job that a figure is of, or [`TOTALS`], and what the figure of an only job would be called.
pub fn parts_of(name: &str) -> (Option<&str>, &str) {
    name.rsplit_once('.').map_or((None, name), |(job, figure)| (Some(job), figure))
}

/// Whether a figure tells what ran rather than what the fabric is.
pub fn is_of_run(name: &str) -> bool {
    OF_RUN.iter().any(|known| parts_of(name).1.starts_with(known))
}

/// Whether figures are those of a run in which a job ran.
pub fn of_a_run(figures: &[Figure]) -> bool {
    figures.iter().any(|figure| parts_of(&figure.name).1 == "step_time")
}

/// Figures of a fabric, counted on the built graph.
pub fn of_design(report: &DesignReport) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut count = |name: &str, value: f64| figures.push(figure(name, Ok(value), "count", ""));
    count("pods", report.pods.into());
    count("segments", report.segments.into());
    count("planes", report.planes.into());
    count("hosts_active", report.hosts_active.into());
    count("gpus_active", report.gpus_active.into());
    count("gpus_spare", report.gpus_spare.into());
    count("gpus_per_segment", report.gpus_per_segment.into());
    count("spare_gpus_per_segment", report.spare_gpus_per_segment.into());
    count("gpus_per_pod", report.gpus_per_pod.into());
    count("gpus_per_leaf_set", report.gpus_per_leaf_set.into());
    count("leaves_per_segment", report.leaves_per_segment.into());
    count("leaves_per_host", report.leaves_per_host.into());
    count("spines_per_plane", report.spines_per_plane.into());
    count("path_choices", report.path_choices.into());
    // Search spaces of HPN table 1 over ours.
    for (name, space) in
        [("superpod", 32.0 * 32.0 * 4.0), ("jupiter", 8.0 * 256.0), ("fat_tree", 48.0 * 48.0)]
    {
        count(&format!("{name}_over_path_choices"), space / f64::from(report.path_choices.max(1)));
    }
    count(
        "leaf_sets_per_segment",
        f64::from(report.gpus_per_segment) / f64::from(report.gpus_per_leaf_set.max(1)),
    );
    if let Some(spine) = report.tiers.get(1) {
        // Down ports over those of a spine with as many down as up, less one (HPN section 6.2).
        let even = f64::from(spine.down_ports + spine.up_ports) / 2.0;
        count("spine_ports_released", f64::from(spine.down_ports) / even - 1.0);
    }
    count("cables_access", report.cables_access.into());
    count("cables_leaf_spine", report.cables_leaf_spine.into());
    count("cables_spine_core", report.cables_spine_core.into());
    count("leaf_single_points_of_failure", report.leaf_single_points_of_failure.into());
    for tier in &report.tiers {
        count(&format!("{}_switches", tier.tier), tier.switches.into());
        count(&format!("{}_down_ports", tier.tier), tier.down_ports.into());
        count(&format!("{}_spare_ports", tier.tier), tier.spare_ports.into());
        count(&format!("{}_up_ports", tier.tier), tier.up_ports.into());
        if let Some(ratio) = tier.oversubscription {
            count(&format!("{}_oversubscription", tier.tier), ratio);
        }
    }
    if let Some(ratio) = report.nvlink_to_nic {
        count("nvlink_to_nic", ratio);
    }
    let mut rate = |name: &str, rate: railtwin_units::Rate| {
        figures.push(figure(name, Ok(rate.bits_per_s() as f64), "bits_per_s", ""));
    };
    rate("host_backend", report.host_backend);
    rate("host_frontend", report.host_frontend);
    for tier in &report.tiers {
        rate(&format!("{}_chip_used", tier.tier), tier.chip_used);
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
        let costs = faults::of_job(case, simulation, row);
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
    figures.push(figure("worst_link_utilization", whole(worst), "ratio", note));
    if !(0..case.work.jobs.len()).any(|row| job_figures::computes(case, row)) {
        uplinks(simulation, &whole, &mut figures);
    }
    let unfinished = simulation.replicates.iter().map(|r| r.unfinished).max().unwrap_or(0);
    let note = if case.work.jobs.len() > 1 { "of all jobs, worst replicate" } else { "worst replicate" };
    figures.push(figure("operations_unfinished", Ok(unfinished as f64), "count", note));
    figures.extend(crate::packet_figures::figures(case, &simulation.log));
    figures
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
    for (name, value) in [("min", mean(|u| u.min)), ("mean", mean(|u| u.mean)), ("max", mean(|u| u.max))] {
        figures.push(figure(&format!("leaf_uplink_utilization_{name}"), whole(value), "ratio", note));
    }
}

#[cfg(test)]
mod tests {
    use super::{is_of_run, parts_of, quantile};

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.25), Some(1.25));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn names_tell_the_job() {
        assert_eq!(parts_of("step_time"), (None, "step_time"));
        assert_eq!(parts_of("a.step_time"), (Some("a"), "step_time"));
        assert_eq!(parts_of("v1.2.exposed_dp"), (Some("v1.2"), "exposed_dp"));
        assert!(is_of_run("jobs.busbw_mean") && is_of_run("halted") && !is_of_run("gpus_active"));
    }
}
