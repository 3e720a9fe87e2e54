//! The tables of a life: what the controller did, when the job stood still, and what each life spent its time with.
use railtwin_control::Action;
use railtwin_engine::ActionRow;
use railtwin_records::{Column, Table};
use railtwin_reliability::lifetime::{Done, Lifetime, Lifetimes};
use railtwin_units::SimTime;

use crate::life::figures::PARTS;

/// Decisions of the life that is shown, of the first job of its case; each moved the ranks of a host, or all, or
/// none where it had no effect.
pub fn decisions(life: &Lifetimes) -> Vec<ActionRow> {
    let row = |done: &Done| ActionRow {
        decided: done.decided,
        effective: done.effective,
        controller: done.controller,
        action: done.action,
        reason: done.reason,
        job: Some(0),
        before: None,
        moved: match done.action {
            _ if done.effective == SimTime::NEVER => 0,
            Action::Restart(_) => life.ranks,
            _ => life.ranks_per_host,
        },
    };
    life.shown().done.iter().map(row).collect()
}

/// Returns the tables of the lifetime that is shown, and of all lifetimes.
pub fn of(life: &Lifetimes) -> Vec<Table> {
    vec![standstills(life), lives(life)]
}

/// When the job stood still in the life that is shown.
fn standstills(life: &Lifetimes) -> Table {
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

/// One row for each life: the shares of its time, its crashes and its steps.
fn lives(life: &Lifetimes) -> Table {
    let all = &life.lives;
    let ints = |of: &dyn Fn(&Lifetime) -> u32| all.iter().map(of).collect::<Vec<u32>>();
    let shown = (0..all.len()).map(|row| u32::from(row == life.shown)).collect();
    let mut columns =
        vec![Column::u64("seed", all.iter().map(|lived| lived.seed).collect()), Column::u32("shown", shown)];
    columns.extend(PARTS.iter().map(|(of, share)| {
        let name = of.name.strip_prefix("downtime_").unwrap_or(of.name);
        Column::f64(name, all.iter().map(|lived| share(&lived.shares)).collect())
    }));
    columns.push(Column::u32("crashes", ints(&Lifetime::crashes)));
    columns.push(Column::u64("steps", all.iter().map(|lived| lived.steps).collect()));
    Table::new("lives", columns)
}
