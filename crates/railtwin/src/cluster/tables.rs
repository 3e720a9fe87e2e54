//! The tables of a run folder of weeks of jobs.
use railtwin_clustersim::{ClusterJob, Deed, JobAction};
use railtwin_records::{Column, Table};
use railtwin_units::SimTime;

use super::told::{JobTold, Told, runs_of};

/// All of them. What is null in JSON is NaN here.
pub(super) fn all(told: &Told) -> Vec<Table> {
    vec![jobs(told), hours(told), contended(told)]
}

fn or_nan(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

/// Runs of GPUs as `0-7 12-12`.
fn words_of(held: &[(u32, u32)]) -> String {
    let runs = held.iter().map(|(first, last)| format!("{first}-{last}"));
    runs.collect::<Vec<_>>().join(" ")
}

/// What was decided about jobs, with the columns of the table of all runs. GPUs are counted over all hosts; of `levels`
/// levels the first is the highest priority.
pub(super) fn actions(jobs: &[ClusterJob], all: &[JobAction], (levels, first_gpu): (u32, &[u32])) -> Table {
    let gpus = |places: &[(u32, u32)]| words_of(&runs_of(places, first_gpu));
    let priority = |level: u32| levels.saturating_sub(1 + level).to_string();
    // Action, subject, before, after, moved.
    let told: Vec<(&str, &str, String, String, u32)> = all
        .iter()
        .map(|action| match &action.deed {
            Deed::Place { before, after } => ("place", "gpus", gpus(before), gpus(after), after.len() as u32),
            Deed::Level { before, after } => {
                ("priority", "job", before.map_or(String::new(), priority), priority(*after), 1)
            }
            Deed::Paths(moved) => ("path", "transfers", String::new(), String::new(), *moved),
        })
        .collect();
    let times = |of: fn(&JobAction) -> f64| -> Vec<u64> {
        all.iter().map(|action| SimTime::from_seconds(of(action)).ps()).collect()
    };
    Table::new(
        "actions",
        vec![
            Column::u64("decided_ps", times(|action| action.decided)),
            Column::u64("effective_ps", times(|action| action.effective)),
            Column::coded("controller", all.iter().map(|action| action.controller)),
            Column::coded("action", told.iter().map(|told| told.0)),
            Column::coded("reason", all.iter().map(|action| action.reason)),
            Column::coded("job", all.iter().map(|action| jobs[action.job].name.as_str())),
            Column::coded("subject", told.iter().map(|told| told.1)),
            Column::coded("before", told.iter().map(|told| told.2.as_str())),
            Column::coded("after", told.iter().map(|told| told.3.as_str())),
            Column::u32("moved", told.iter().map(|told| told.4).collect()),
        ],
    )
}

fn jobs(told: &Told) -> Table {
    let column = |name: &str, of: fn(&JobTold) -> f64| Column::f64(name, told.jobs.iter().map(of).collect());
    let held: Vec<String> = told.jobs.iter().map(|job| words_of(&job.held)).collect();
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
            column("own_collisions", |job| or_nan(job.own_collisions)),
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
