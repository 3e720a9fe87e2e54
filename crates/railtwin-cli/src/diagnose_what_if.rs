//! `railtwin diagnose --what-if`: what each part of a slow job costs it.
use std::fmt::Write as _;

use railtwin::diagnose::Diagnosed;
pub(crate) use railtwin_diagnosis::what_if::WhatIf;
use railtwin_diagnosis::what_if::{IDEALS, Part};
use railtwin_store::one_line;
use serde_json::{Value, json};

use crate::CliError;

/// Rows that are shown by kind, stage, replica, rank and step: on a screen, and with `--all`. `--json` has all.
const FEW: [usize; 5] = [3, 2, 1, 3, 1];
const ROWS: [usize; 5] = [16, 16, 16, 16, 16];

/// The replayed jobs, by file.
///
/// # Errors
/// An input error where nothing that was read can be replayed.
pub(crate) fn replayed(told: &Diagnosed) -> Result<Vec<(String, WhatIf)>, CliError> {
    let of = |replay: &railtwin::diagnose::JobReplay| Some((replay.file.clone(), replay.what_if()?));
    let all: Vec<(String, WhatIf)> = told.replays.iter().filter_map(of).collect();
    if all.is_empty() {
        let message = "--what-if: no file holds all operations of a job's steps".to_owned();
        return Err(CliError::input(message, "give a Megatron trace"));
    }
    Ok(all)
}

/// The tables for people: by kind, stage, replica, rank and step, the most costly rows of each. A dozen lines, or many where
/// `all` is asked for.
pub(crate) fn shown(replayed: &[(String, WhatIf)], all: bool) -> String {
    let mut text = String::new();
    for (file, what_if) in replayed {
        // Writing to a string does not fail.
        let _ = show(&mut text, file, what_if, if all { &ROWS } else { &FEW });
    }
    text
}

fn show(text: &mut String, file: &str, what_if: &WhatIf, rows: &[usize; 5]) -> std::fmt::Result {
    let (operations, steps) = (what_if.operations, what_if.steps.len());
    let [mean, like] = what_if.slowdown;
    writeln!(text, "what if: {}, {operations} operations in {steps} steps:", one_line(file))?;
    writeln!(
        text,
        "{:<34} {:>13} {:>24} {:>10}",
        "times as long as the ideal, all of it", IDEALS[0], IDEALS[1], "time gone"
    )?;
    writeln!(
        text,
        "{:<34} {mean:>13.4} {like:>24.4}   pauses between make it {:.3}",
        "the job", what_if.launch
    )?;
    let tables = [
        ("kind", &what_if.kinds),
        ("pipeline stage", &what_if.stages),
        ("data-parallel rank", &what_if.replicas),
        ("rank", &what_if.ranks),
    ];
    let mut left = 0;
    for ((what, parts), &rows) in tables.into_iter().zip(rows) {
        for part in parts.iter().take(rows) {
            let name = format!("{what} {}", part.name);
            let name = one_line(&name);
            let [mean, like] = part.alone;
            writeln!(text, "{name:<34} {mean:>13.4} {like:>24.4} {:>8.1} %", 100.0 * part.saved[0])?;
        }
        left += parts.len().saturating_sub(rows);
    }
    let mut steps: Vec<_> =
        what_if.steps.iter().filter(|step| step.ideal_ns.iter().all(|time| *time > 0.0)).collect();
    steps.sort_by(|a, b| (b.replayed_ns / b.ideal_ns[0]).total_cmp(&(a.replayed_ns / a.ideal_ns[0])));
    for step in steps.iter().take(rows[4]) {
        let [mean, like] = step.ideal_ns.map(|ideal| step.replayed_ns / ideal);
        let took = step.recorded_ns / 1e9;
        writeln!(text, "{:<34} {mean:>13.4} {like:>24.4}   of {took:.3} s", format!("step {}", step.step))?;
    }
    left += steps.len().saturating_sub(rows[4]);
    if left > 0 {
        writeln!(
            text,
            "and {left} rows more, which cost less; parts: all else ideal, or gone when it alone is"
        )?;
    }
    Ok(())
}

/// All of it as JSON; times in nanoseconds.
pub(crate) fn data(replayed: &[(String, WhatIf)]) -> Value {
    let pair = |[mean, like]: [f64; 2]| json!({ "mean": mean, "like": like });
    let part =
        |part: &Part| json!({ "name": part.name, "alone": pair(part.alone), "time_gone": pair(part.saved) });
    let parts = |all: &[Part]| all.iter().map(part).collect::<Vec<Value>>();
    let of = |(file, what_if): &(String, WhatIf)| {
        json!({
            "file": file,
            "operations": what_if.operations,
            "launch": what_if.launch,
            "slowdown": pair(what_if.slowdown),
            "kinds": parts(&what_if.kinds),
            "stages": parts(&what_if.stages),
            "replicas": parts(&what_if.replicas),
            "ranks": parts(&what_if.ranks),
            "steps": what_if.steps.iter().map(|step| json!({
                "step": step.step, "recorded_ns": step.recorded_ns, "replayed_ns": step.replayed_ns,
                "ideal_ns": pair(step.ideal_ns),
            })).collect::<Vec<Value>>(),
        })
    };
    Value::Array(replayed.iter().map(of).collect())
}
