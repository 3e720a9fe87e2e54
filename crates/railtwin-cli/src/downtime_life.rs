//! `railtwin downtime --run SCENARIO`: the life of a job under failures, booked by cause beside C4's Table III.
use std::path::Path;

use railtwin::Question;
use railtwin::life::{figures, is_followed, lives};
use railtwin_reliability::downtime::{Account, Part, table3};
use railtwin_reliability::failure_rates::Cause;
use railtwin_reliability::lifetime::progress::hours;
use railtwin_reliability::lifetime::recovery::by_hand_hours;
use railtwin_reliability::lifetime::{Lifetimes, Spread};
use railtwin_scenario::SteeringSpec;
use serde_json::{Map, Value, json};

use crate::CliError;
use crate::downtime_lines::LINES;
use crate::downtime_text::{duration, percent};
use crate::label::label_text;
use crate::table::TextTable;

/// Most lives of a point.
const MOST_LIVES: u32 = 10_000;

/// A point with its lives.
struct Point {
    label: String,
    spec: SteeringSpec,
    life: Lifetimes,
}

/// The account as JSON and for people.
pub(crate) fn answer(file: Option<&str>, seeds: Option<&str>) -> Result<(Value, String), CliError> {
    let Some(file) = file else {
        let message = "--run asks for a scenario";
        return Err(CliError::input(message, "name a scenario file with [failures] and [steering]"));
    };
    let count = seeds.map(|text| {
        let count = text.parse::<u32>().ok().filter(|count| (1..=MOST_LIVES).contains(count));
        let accepted = format!("write a whole number from 1 to {MOST_LIVES}");
        count.ok_or_else(|| CliError::input(format!("--seeds cannot be {text:?}"), accepted))
    });
    let count = count.transpose()?;
    let question = Question::read(Path::new(file)).map_err(|error| CliError::of(error, ""))?;
    let wrong = |error| CliError::of(error, &question.text);
    let mut all = Vec::new();
    for point in question.points().map_err(wrong)? {
        let Some(spec) = point.scenario.steering.clone() else {
            let message = format!("{file}: has no [steering]");
            return Err(CliError::input(
                message,
                "write [steering] beside [failures], as docs/guides/downtime.md says",
            ));
        };
        let resolved = question.resolve(&point.scenario).map_err(wrong)?;
        if seeds.is_some() && is_followed(&resolved) {
            let message = format!("--seeds asks for lives by lot, and {file} has one run, which is followed");
            return Err(CliError::input(
                message,
                "leave --seeds away and write seed = [1, 2] in the scenario, or write [failures] in place of [[fault]]",
            ));
        }
        let life = lives(&resolved, count).map_err(wrong)?;
        let label =
            if point.label.is_empty() { point.scenario.name.clone() } else { label_text(&point.label) };
        all.push(Point { label, spec, life });
    }
    let points: Vec<Value> = all.iter().map(value_of).collect();
    Ok((json!({ "points": points, "table3": table3::paper() }), text_of(&all)))
}

fn value_of(lived: &Point) -> Value {
    let spread = |of: Spread| json!({ "median": of.median, "least": of.least, "most": of.most });
    let life = &lived.life;
    let shares: Map<String, Value> =
        Part::ALL.iter().map(|&part| (part.name().to_owned(), spread(life.share(|a| a[part])))).collect();
    let figures: Map<String, Value> =
        figures(life).iter().map(|figure| (figure.name.clone(), json!(figure.value))).collect();
    json!({
        "point": lived.label,
        "c4d": lived.spec.c4d,
        "step_s": life.step.seconds(),
        "seeds": life.lives.iter().map(|life| life.seed).collect::<Vec<_>>(),
        "downtime": spread(life.share(Account::downtime)),
        "share": shares,
        "figures": figures,
        "downtime_of_lives": life.lives.iter().map(|life| life.shares.downtime()).collect::<Vec<_>>(),
    })
}

/// Least and most in percent.
fn range(of: Spread) -> String {
    format!("{:.2} – {:.2}", of.least * 100.0, of.most * 100.0)
}

fn text_of(all: &[Point]) -> String {
    let mut text = String::new();
    let mut table = TextTable::default();
    let head =
        ["", "downtime", "least – most, %", "crashes", "swaps", "seen after", "running after", "steps kept"];
    table.row(head.map(str::to_owned));
    for Point { label, life, .. } in all {
        let figures = figures(life);
        let value = |name: &str| figures.iter().find(|f| f.name == name).and_then(|f| f.value);
        let plain = |name: &str| value(name).map_or_else(String::new, |value| format!("{value}"));
        let time = |name: &str| value(name).map_or_else(String::new, |value| duration(value / 3600.0));
        let downtime = life.share(Account::downtime);
        table.row([
            label.clone(),
            percent(downtime.median),
            range(downtime),
            plain("crashes"),
            plain("swaps"),
            time("detected_after"),
            time("running_again_after"),
            plain("steps_kept"),
        ]);
    }
    let Some(first) = all.first() else { return text };
    let span = duration(hours(first.life.span));
    text.push_str(&format!(
        "{}. A step takes {:.3} s; with the spares of the shown life in place {:.3} s.\n\n{}\n",
        match first.life.lives.len() {
            1 => format!("One life of {span}"),
            lives => format!("{lives} lives of {span} each by lot; medians"),
        },
        first.life.step.seconds(),
        all.iter().map(|lived| lived.life.step_with_spares.seconds()).fold(0.0, f64::max),
        table.text(),
    ));
    text.push_str(&by_cause(all));
    text.push_str(&sources(first));
    text
}

/// The account of the first point without C4D and of the last with it, each beside its month of Table III.
fn by_cause(all: &[Point]) -> String {
    let before = all.iter().find(|lived| !lived.spec.c4d);
    let after = all.iter().rev().find(|lived| lived.spec.c4d);
    let [june, december] = table3::paper();
    let columns = [("June, paper", june, before), ("December, paper", december, after)];
    let mut table = TextTable::default();
    let heads = columns.iter().flat_map(|(paper, _, ours)| {
        let ours = ours.map(|_| ["ours".to_owned(), "least – most, %".to_owned()]);
        std::iter::once((*paper).to_owned()).chain(ours.into_iter().flatten())
    });
    table.row(std::iter::once("share of time".to_owned()).chain(heads));
    // What Table III does not have.
    let ours_alone =
        ["waiting for spares", "checkpointing", "slow communication", "slow computing or loading"];
    for (name, of) in LINES {
        let cells = columns.iter().flat_map(|(_, paper, ours)| {
            let known = !ours_alone.contains(&name) && name != "productive";
            let paper = if known { percent(of(paper)) } else { "–".to_owned() };
            let ours = ours.map(|ours| {
                let spread = ours.life.share(of);
                [percent(spread.median), range(spread)]
            });
            std::iter::once(paper).chain(ours.into_iter().flatten())
        });
        table.row(std::iter::once(name.to_owned()).chain(cells));
    }
    let named = |what: &str, lived: Option<&Point>| {
        lived.map_or_else(String::new, |lived| format!("{what} is {}\n", lived.label))
    };
    format!("{}{}{}\n", table.text(), named("ours beside June", before), named("ours beside December", after))
}

/// What follows from the model, and what was put in.
fn sources(lived: &Point) -> String {
    let fitted = by_hand_hours();
    let spec = &lived.spec;
    let mean = |cause: Cause| {
        let written = spec.by_hand.of(cause).map(hours);
        duration(written.unwrap_or(fitted[Part::Diagnosis(cause)]))
    };
    let by_hand: Vec<String> =
        Cause::ALL.iter().map(|&cause| format!("{} {}", cause.name(), mean(cause))).collect();
    let drawn = match lived.life.is_followed {
        true => "when faults that are written show, and how",
        false => "how many crashes, of which parts",
    };
    format!(
        "Follows from the model: {drawn}; work lost after checkpoints; which host goes and which \
         spare comes; waiting for spares; how often processes start; the time of a step.\n\
         Put in: the watchdog's {}; people's mean time by cause ({}), where nothing is written fitted to June of Table III \
         at Table I's rate; detection ({}); isolation {}, restart {}; repairs.\n",
        duration(hours(spec.watchdog)),
        by_hand.join(", "),
        spec.detection.map_or_else(
            || "by kind of fault, measured on this project's detectors".to_owned(),
            |time| duration(hours(time)),
        ),
        duration(hours(spec.isolation)),
        duration(hours(spec.restart)),
    )
}
