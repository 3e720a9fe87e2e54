//! The figures of a run: what a person asks first, with units.
use railtwin_engine::Case;
use railtwin_fabric::design::DesignReport;
use railtwin_store::Figure;
use railtwin_workload::{Operation, Work};

use crate::exposed::axis_name;
use crate::simulate::{Simulation, mean_step};

/// A quantile of sorted values by linear interpolation; none of nothing.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q * last as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(last);
    Some(sorted[low] + (sorted[high] - sorted[low]) * part)
}

fn figure(name: impl Into<String>, value: Option<f64>, unit: &str, note: &str) -> Figure {
    let mut figure = Figure::new(&name.into(), value.unwrap_or(f64::NAN), unit);
    figure.note = note.to_owned();
    figure
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

/// Whether a figure tells what ran rather than what the fabric is.
pub fn is_of_run(name: &str) -> bool {
    OF_RUN.iter().any(|known| name.starts_with(known))
}

/// Figures of a fabric, counted on the built graph.
pub fn of_design(report: &DesignReport) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut count = |name: &str, value: f64| figures.push(figure(name, Some(value), "count", ""));
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
        figures.push(figure(name, Some(rate.bits_per_s() as f64), "bits_per_s", ""));
    };
    rate("host_backend", report.host_backend);
    rate("host_frontend", report.host_frontend);
    for tier in &report.tiers {
        rate(&format!("{}_chip_used", tier.tier), tier.chip_used);
    }
    figures
}

/// Figures of a simulation: of the first job where a figure is of one job.
pub fn of_simulation(case: &Case, simulation: &Simulation) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut steps: Vec<f64> = simulation.replicates.iter().filter_map(|r| mean_step(r, 0)).collect();
    steps.sort_by(f64::total_cmp);
    let computes = |operation: &Operation| matches!(operation.work, Work::Compute(_));
    let training = case.work.jobs.iter().any(|job| job.plan.operations.iter().any(computes));
    let note = "median over replicates of the hash seeds";
    figures.push(figure("step_time", quantile(&steps, 0.5), "s", note));
    if let (Some(job), Some(step)) = (case.work.jobs.first(), quantile(&steps, 0.5)) {
        if let Some(tokens) = job.plan.tokens {
            figures.push(figure("tokens_per_s", Some(tokens as f64 / step), "1/s", ""));
        }
        let peak = case.placements[0]
            .iter()
            .map(|place| case.fabric.host_model(place.host).gpu_flops.unwrap_or(0) as f64);
        let peak: f64 = peak.sum();
        if let Some(flops) = job.plan.flops.filter(|_| peak > 0.0) {
            let note = "model FLOPs over peak FLOPs of the job's GPUs in a step";
            figures.push(figure("mfu", Some(flops / (peak * step)), "ratio", note));
        }
    }
    for (axis, bytes) in case.work.jobs.first().map_or(&[][..], |job| &job.plan.volumes) {
        let name = format!("volume_{}", axis.name());
        figures.push(figure(name, Some(*bytes as f64), "bytes", "as HPN table 3 counts it"));
    }
    if training {
        for part in &simulation.replicates[simulation.chosen as usize].exposed {
            let name = format!("exposed_{}", axis_name(part.axis).replace('-', "_"));
            figures.push(figure(name, Some(part.exposed), "s", "median replicate, mean over lanes"));
        }
    }
    busbw(simulation, &mut figures);
    if let Some(jobs) = crate::busbw::per_nic(case, simulation) {
        let note = "bus bandwidth for each NIC that a communicator uses in a host; over jobs, then mean over replicates";
        let parts = [("min", jobs.min), ("mean", jobs.mean), ("max", jobs.max), ("spread", jobs.spread)];
        for (name, value) in parts {
            figures.push(figure(format!("busbw_per_nic_{name}"), Some(value), "bits_per_s", note));
        }
    }
    figures.push(figure("step_time_p5", quantile(&steps, 0.05), "s", "5th percentile over replicates"));
    figures.push(figure("step_time_p95", quantile(&steps, 0.95), "s", "95th percentile over replicates"));
    let worst = simulation.replicates[simulation.chosen as usize].worst_link_utilization;
    figures.push(figure("worst_link_utilization", Some(worst), "ratio", "mean over the run, most used link"));
    if !training {
        uplinks(simulation, &mut figures);
    }
    let unfinished = simulation.replicates.iter().map(|r| r.unfinished).max().unwrap_or(0);
    figures.push(figure("operations_unfinished", Some(unfinished as f64), "count", "worst replicate"));
    figures.extend(crate::packet_figures::figures(case, &simulation.log));
    figures
}

/// How evenly the used uplinks of leaves are used, as the mean over replicates.
fn uplinks(simulation: &Simulation, figures: &mut Vec<Figure>) {
    let all: Vec<_> = simulation.replicates.iter().filter_map(|replicate| replicate.uplinks).collect();
    if all.is_empty() {
        return;
    }
    let mean = |of: fn(&crate::links::UplinkUse) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let note = "over uplinks of leaves that carry anything, mean over the run and over replicates";
    for (name, value) in [("min", mean(|u| u.min)), ("mean", mean(|u| u.mean)), ("max", mean(|u| u.max))] {
        figures.push(figure(format!("leaf_uplink_utilization_{name}"), Some(value), "ratio", note));
    }
}

/// Bus bandwidth over all operations of all collective jobs and replicates.
fn busbw(simulation: &Simulation, figures: &mut Vec<Figure>) {
    let all = simulation.replicates.iter().flat_map(|r| r.busbw.iter().map(|(_, bandwidth)| *bandwidth));
    let mut sorted: Vec<f64> = all.collect();
    if sorted.is_empty() {
        return;
    }
    sorted.sort_by(f64::total_cmp);
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let note = "bus bandwidth as nccl-tests defines it, over jobs, operations and replicates";
    figures.push(figure("busbw_mean", Some(mean), "bits_per_s", note));
    figures.push(figure("busbw_min", sorted.first().copied(), "bits_per_s", note));
    figures.push(figure("busbw_max", sorted.last().copied(), "bits_per_s", note));
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.25), Some(1.25));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
