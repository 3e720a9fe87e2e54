//! The table of a sweep's points: their key figures, and why a point lacks one.
use railtwin::figures::{TOTALS, parts_of};
use railtwin_store::Figure;

use crate::label::label_text;
use crate::run::Point;
use crate::table::TextTable;
use crate::units;

/// Figures that the table shows where the points have them, by the names that they have of one job: what faults cost
/// leads, since a job that stops early looks fast.
const KEY_FIGURES: [&str; 16] = [
    "downtime",
    "detected_after",
    "steps_kept",
    "halted",
    "stall_time",
    "stall_time_max",
    "time_lost_share",
    "step_time",
    "step_time_max",
    "tokens_per_s",
    "mfu",
    "gpu_memory_share",
    "busbw_mean",
    "exposed_idle",
    "worst_link_utilization",
    "leaf_uplink_max_mean_ratio",
];
/// Those of a scenario without jobs.
const DESIGN_FIGURES: [&str; 5] =
    ["gpus_active", "hosts_active", "cables_access", "cables_leaf_spine", "path_choices"];
/// Those of weeks of jobs.
const WEEKS_FIGURES: [&str; 9] = [
    "gpu_utilization",
    "occupancy",
    "jobs_ended",
    "slowdown_mean",
    "throughput_mean",
    "jobs_starved",
    "waiting_mean",
    "jobs_waiting",
    "contended_jobs",
];
/// Jobs up to which each has columns of its own; of more there are only those of all together.
const JOBS_MAX: usize = 3;

/// The table, and below it the reasons that do not fit into it.
pub(crate) fn text(points: &[Point]) -> String {
    let names = columns(points);
    let axes = points.first().map_or(&[][..], |point| &point.label);
    let mut table = TextTable::default();
    let head = axes.iter().map(|(key, _)| key).chain(&names).cloned();
    table.row(head.chain(["run".to_owned()]));
    let mut below = String::new();
    for point in points {
        let label = point.label.iter().map(|(_, value)| value.clone());
        let figures = names.iter().map(|name| units::brief(point.info.figure(name)));
        table.row(label.chain(figures).chain([point.info.run_id.clone()]));
        let found = names.iter().filter_map(|name| point.info.figure(name));
        let reasons = found.map(|figure| (figure.name.as_str(), figure.reason.as_str()));
        below.push_str(&units::reasons(&label_text(&point.label), reasons));
    }
    table.text() + &below
}

/// Names of the figures that have a column.
fn columns(points: &[Point]) -> Vec<String> {
    let told = |figure: &&Figure| figure.value.is_some() || !figure.reason.is_empty();
    let all = || points.iter().flat_map(|point| point.info.figures.iter().filter(told));
    let mut jobs: Vec<&str> = all().filter_map(|figure| parts_of(&figure.name).0).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let few = jobs.iter().filter(|&&job| job != TOTALS).count() <= JOBS_MAX;
    let take = |keys: &[&str]| {
        let mut names: Vec<String> = Vec::new();
        for key in keys {
            for figure in all() {
                let (job, name) = parts_of(&figure.name);
                let fits = name == *key && (few || job.is_none_or(|job| job == TOTALS));
                if fits && !names.contains(&figure.name) {
                    names.push(figure.name.clone());
                }
            }
        }
        names
    };
    let kinds = [&KEY_FIGURES[..], &WEEKS_FIGURES, &DESIGN_FIGURES];
    kinds.into_iter().map(take).find(|names| !names.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin::figures::declared;

    #[test]
    fn the_columns_are_of_figures_that_there_are() {
        for name in KEY_FIGURES.iter().chain(&WEEKS_FIGURES).chain(&DESIGN_FIGURES) {
            let total = format!("{TOTALS}.{name}");
            assert!(declared(name).is_some() || declared(&total).is_some(), "{name}");
        }
    }
}
