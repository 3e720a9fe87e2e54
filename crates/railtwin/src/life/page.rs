//! The life of a job as the page reads it (docs/reference/report-payload.md).
use railtwin_engine::Case;
use railtwin_reliability::lifetime::{Lifetimes, Standstill};
use railtwin_units::SimTime;
use serde_json::{Value, json};

use crate::columns::PageTable;
use crate::life::figures::PARTS;
use crate::life::tables::decisions;

/// The life that tables show, and how its time is spent beside that of all lives. Times are seconds of the life.
pub fn page(case: &Case, life: &Lifetimes) -> Value {
    let shown = life.shown();
    let parts = PARTS.iter().map(|(figure, of)| {
        let spread = life.share(of);
        json!({
            "name": figure.name, "shown": of(&shown.shares),
            "median": spread.median, "least": spread.least, "most": spread.most,
        })
    });
    json!({
        "job": life.job, "span_s": life.span.seconds(), "lives": life.lives.len(), "seed": shown.seed,
        "parts": parts.collect::<Vec<_>>(),
        "standstills": standstills(life), "actions": actions(case, life),
    })
}

fn standstills(life: &Lifetimes) -> Value {
    let all = &life.shown().standstills;
    let at = |of: fn(&Standstill) -> Option<SimTime>| -> Vec<f64> {
        all.iter().map(|row| of(row).map_or(f64::NAN, SimTime::seconds)).collect()
    };
    PageTable::new(all.len())
        .text("cause", all.iter().map(|row| row.cause.name()))
        .text("kind", all.iter().map(|row| row.kind.map_or("", |kind| kind.name())))
        .text("subject", all.iter().map(|row| row.subject.as_str()))
        .text("found_by", all.iter().map(|row| row.finder.name()))
        .f64("checkpoint_s", &at(|row| Some(row.checkpoint)))
        .f64("failed_s", &at(|row| Some(row.failed)))
        .f64("detected_s", &at(|row| row.detected))
        .f64("isolated_s", &at(|row| row.isolated))
        .f64("replaced_s", &at(|row| row.replaced))
        .f64("restarted_s", &at(|row| row.restarted))
        .finish()
}

fn actions(case: &Case, life: &Lifetimes) -> Value {
    let all = decisions(life);
    let told: Vec<[String; 3]> = all.iter().map(|row| row.told(case)).collect();
    let effective = |at: SimTime| if at == SimTime::NEVER { f64::NAN } else { at.seconds() };
    PageTable::new(all.len())
        .f64("decided_s", &all.iter().map(|row| row.decided.seconds()).collect::<Vec<_>>())
        .f64("effective_s", &all.iter().map(|row| effective(row.effective)).collect::<Vec<_>>())
        .text("controller", all.iter().map(|row| row.controller))
        .text("action", all.iter().map(|row| row.action.name()))
        .text("reason", all.iter().map(|row| row.reason))
        .text("subject", told.iter().map(|[subject, ..]| subject.as_str()))
        .text("after", told.iter().map(|[.., after]| after.as_str()))
        .finish()
}
