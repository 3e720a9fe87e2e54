//! The tables of a life: what the controller did, and when the job stood still.
use railtwin_control::Action;
use railtwin_records::{Column, Table};
use railtwin_units::SimTime;

use crate::life::Life;

fn host(host: railtwin_fabric::HostId) -> String {
    format!("host-{}", host.0)
}

/// What an action is about: a host, or the job.
pub(super) fn subject(life: &Life, action: &Action) -> String {
    match action {
        Action::Isolate(out) | Action::Swap { out, .. } => host(*out),
        _ => life.job.clone(),
    }
}

/// The spare that takes a place; empty where none does.
pub(super) fn after(action: &Action) -> String {
    match action {
        Action::Swap { spare, .. } => host(*spare),
        _ => String::new(),
    }
}

/// Decisions of the life that is shown.
pub fn actions(life: &Life) -> Table {
    let done = &life.shown().done;
    let job = |_| life.job.as_str();
    let before = |action: &Action| match action {
        Action::Swap { out, .. } => host(*out),
        _ => String::new(),
    };
    let moved = |action: &Action| match action {
        Action::Restart(_) => life.ranks,
        _ => life.ranks_per_host,
    };
    let texts = |of: &dyn Fn(&Action) -> String| done.iter().map(|row| of(&row.action)).collect::<Vec<_>>();
    let (subjects, befores, afters) = (texts(&|action| subject(life, action)), texts(&before), texts(&after));
    let coded = |name: &str, all: &[String]| Column::coded(name, all.iter().map(String::as_str));
    Table::new(
        "actions",
        vec![
            Column::u64("decided_ps", done.iter().map(|row| row.decided.ps()).collect()),
            Column::u64("effective_ps", done.iter().map(|row| row.effective.ps()).collect()),
            Column::coded("controller", done.iter().map(|row| row.controller)),
            Column::coded("action", done.iter().map(|row| row.action.name())),
            Column::coded("reason", done.iter().map(|row| row.reason)),
            Column::coded("job", done.iter().map(job)),
            coded("subject", &subjects),
            coded("before", &befores),
            coded("after", &afters),
            Column::u32("moved", done.iter().map(|row| moved(&row.action)).collect()),
        ],
    )
}

/// When the job stood still in the life that is shown.
pub fn standstills(life: &Life) -> Table {
    let all = &life.shown().standstills;
    let at = |time: Option<SimTime>| time.unwrap_or(SimTime::NEVER).ps();
    Table::new(
        "standstills",
        vec![
            Column::coded("job", all.iter().map(|_| life.job.as_str())),
            Column::coded("cause", all.iter().map(|row| row.cause.name())),
            Column::coded("kind", all.iter().map(|row| row.kind.map_or("", |kind| kind.name()))),
            Column::coded("subject", all.iter().map(|row| row.subject.as_str())),
            Column::coded("source", all.iter().map(|row| row.source.as_str())),
            Column::coded("found_by", all.iter().map(|row| row.finder.name())),
            Column::u64("checkpoint_ps", all.iter().map(|row| row.checkpoint.ps()).collect()),
            Column::u64("failed_ps", all.iter().map(|row| row.failed.ps()).collect()),
            Column::u64("detected_ps", all.iter().map(|row| at(row.detected)).collect()),
            Column::u64("isolated_ps", all.iter().map(|row| at(row.isolated)).collect()),
            Column::u64("replaced_ps", all.iter().map(|row| at(row.replaced)).collect()),
            Column::u64("restarted_ps", all.iter().map(|row| at(row.restarted)).collect()),
        ],
    )
}
