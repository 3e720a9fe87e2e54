//! On random small scenarios no link is used by more than all of it, no figure is not a number, and both engines agree
//! on who halts and on how much is left undone.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use railtwin::engines::engine;
use railtwin::{Question, Resolved, Run};
use railtwin_engine::{IncidentKind, RunLog};
use railtwin_records::ColumnData;
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

use crate::kit;
use kit::{Scene, Times};

/// Scenes that are drawn.
const SCENES: u64 = 240;
/// Seconds of a run below which nearly all of it is the way there: several times the longest way.
const SHORTEST: f64 = 20e-6;

fn resolved(text: &str, engine: EngineName) -> Resolved {
    let question = Question::of_text("scene.toml", text, Path::new(".")).with_engine(Some(engine));
    let points = question.points().unwrap_or_else(|error| panic!("{error}\n{text}"));
    question.resolve(&points[0].scenario).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn log_of(text: &str, name: EngineName) -> RunLog {
    engine(name, 1).run(&resolved(text, name).case, 0)
}

/// Jobs that halted, and operations that never ended.
fn outcome(log: &RunLog) -> (Vec<u32>, u64) {
    let halted = log.incidents.iter().filter_map(|one| match one.kind {
        IncidentKind::Halted(job) => Some(job),
        _ => None,
    });
    let mut halted: Vec<u32> = halted.collect();
    halted.sort_unstable();
    (halted, log.unfinished)
}

/// Everything that a run says of shares lies in [0, 1], and nothing it says is not a number.
fn assert_shares(run: &Run, text: &str) {
    let within = |value: f64, what: &str| {
        assert!((0.0..=1.0 + 1e-9).contains(&value), "{what} is {value}\n{text}");
    };
    for figure in &run.info.figures {
        assert!(figure.value.is_none_or(f64::is_finite), "{} is {:?}\n{text}", figure.name, figure.value);
        let share = figure.name.contains("utilization") && !figure.name.contains("ratio")
            || figure.name.starts_with("paused_share");
        if let Some(value) = figure.value.filter(|_| share) {
            within(value, &figure.name);
        }
    }
    for table in run.tables() {
        for column in &table.columns {
            let ColumnData::F64(values) = &column.data else { continue };
            for &value in values {
                assert!(value.is_finite(), "{} of {} is {value}\n{text}", column.name, table.name);
                if column.name == "utilization" || column.name == "paused_share" {
                    within(value, &column.name);
                }
            }
        }
    }
}

#[test]
fn no_link_is_used_by_more_than_all_of_it() {
    for number in 0..SCENES {
        let scene = Scene::draw(number);
        let run = log_of(&scene.whole(), EngineName::Flow).end.seconds();
        let text = scene.text(Times { run, stretch: 1.0, patience: 1.0 });
        for name in EngineName::ALL {
            assert_shares(&Run::of(resolved(&text, name), &|| ()), &format!("scene {number}\n{text}"));
        }
    }
}

#[test]
fn without_faults_both_engines_end_everything() {
    for number in 0..SCENES {
        let text = Scene::draw(number).whole();
        for name in EngineName::ALL {
            assert_eq!(outcome(&log_of(&text, name)), (vec![], 0), "{name:?}, scene {number}\n{text}");
        }
    }
}

/// A run of packets is longer than one of flows, and what flows have handed over at once is still on its way there:
/// engines are compared where the outcome of flows does not hang on when within the run a fault comes.
#[test]
fn engines_agree_on_who_halts_and_on_what_is_left() {
    let around =
        [(0.02, 1.0), (0.1, 1.0), (0.35, 1.0), (0.6, 1.0), (0.85, 1.0), (1.2, 1.0), (1.0, 0.85), (1.0, 1.15)];
    let (mut compared, mut halted) = (0, 0);
    let mut wrong = Vec::new();
    for number in 0..SCENES {
        let scene = Scene::draw(number);
        // With several faults a queue pair that goes on at once is elsewhere when the next one comes.
        if !scene.breaks() || scene.resume == "nak" && scene.faults() > 1 {
            continue;
        }
        let run = log_of(&scene.whole(), EngineName::Flow).end.seconds();
        let text = |stretch, patience| scene.text(Times { run, stretch, patience });
        if run < SHORTEST {
            continue;
        }
        let flows = outcome(&log_of(&text(1.0, 1.0), EngineName::Flow));
        let same = |&(stretch, patience): &(f64, f64)| {
            outcome(&log_of(&text(stretch, patience), EngineName::Flow)) == flows
        };
        if !around.iter().all(same) {
            continue;
        }
        compared += 1;
        let log = log_of(&text(1.0, 1.0), EngineName::Packet);
        let transfers = log.packets.as_ref().unwrap().flows.iter();
        let lost = transfers.filter(|flow| flow.end == SimTime::NEVER).count();
        halted += u64::from(!flows.0.is_empty());
        if outcome(&log) != flows || (lost == 0) != (log.unfinished == 0) {
            wrong.push((number, flows, outcome(&log), lost));
        }
    }
    println!("{compared} of {SCENES} scenes compared, {halted} of them halt");
    for (number, flows, packets, lost) in &wrong {
        println!("scene {number}: flows {flows:?}, packets {packets:?}, {lost} transfers unfinished");
        let scene = Scene::draw(*number);
        let run = log_of(&scene.whole(), EngineName::Flow).end.seconds();
        println!("{}", scene.text(Times { run, stretch: 1.0, patience: 1.0 }));
    }
    assert!(wrong.is_empty());
    assert!(compared > SCENES / 5 && halted > SCENES / 25, "{compared} compared, {halted} halt");
}
