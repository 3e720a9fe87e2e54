//! The tables of a run folder of weeks of jobs.
use railtwin_records::{Column, Table};

use super::told::{JobTold, Told};

/// All of them. What is null in JSON is NaN here.
pub(super) fn all(told: &Told) -> Vec<Table> {
    vec![jobs(told), hours(told), contended(told)]
}

fn or_nan(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

/// Runs of GPUs as `0-7 12-12`.
fn held(job: &JobTold) -> String {
    let runs = job.held.iter().map(|(first, last)| format!("{first}-{last}"));
    runs.collect::<Vec<_>>().join(" ")
}

fn jobs(told: &Told) -> Table {
    let column = |name: &str, of: fn(&JobTold) -> f64| Column::f64(name, told.jobs.iter().map(of).collect());
    let held: Vec<String> = told.jobs.iter().map(held).collect();
    Table::new(
        "jobs",
        vec![
            Column::coded("name", told.jobs.iter().map(|job| job.name.as_str())),
            Column::coded("class", told.jobs.iter().map(|job| job.class.as_str())),
            Column::u32("gpus", told.jobs.iter().map(|job| job.gpus).collect()),
            column("submitted_s", |job| job.submitted_s),
            column("started_s", |job| or_nan(job.started_s)),
            column("ended_s", |job| or_nan(job.ended_s)),
            column("steps", |job| job.steps),
            column("step_alone_s", |job| job.step_alone_s),
            column("communication_s", |job| job.communication_s),
            column("slowdown", |job| or_nan(job.slowdown)),
            column("contended_s", |job| job.contended_s),
            Column::u32("shared_a_link", told.jobs.iter().map(|job| job.shared_a_link.into()).collect()),
            Column::coded("held", held.iter().map(String::as_str)),
        ],
    )
}

fn hours(told: &Told) -> Table {
    let hours = &told.hours;
    let nullable =
        |name: &str, of: &[Option<f64>]| Column::f64(name, of.iter().copied().map(or_nan).collect());
    Table::new(
        "hours",
        vec![
            Column::u32("hour", (0..hours.occupancy.len() as u32).collect()),
            Column::f64("occupancy", hours.occupancy.clone()),
            nullable("gpu_utilization", &hours.gpu_utilization),
            Column::f64("waiting", hours.waiting.clone()),
            Column::f64("contending", hours.contending.clone()),
            nullable("gpu_intensity", &hours.gpu_intensity),
            nullable("inference_link_share", &hours.inference_link_share),
        ],
    )
}

fn contended(told: &Told) -> Table {
    let all = &told.contended;
    Table::new(
        "contended",
        vec![
            Column::u32("job", all.iter().map(|pair| pair.0 as u32).collect()),
            Column::u32("other", all.iter().map(|pair| pair.1 as u32).collect()),
            Column::f64("seconds", all.iter().map(|pair| pair.2).collect()),
        ],
    )
}
