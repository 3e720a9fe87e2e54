//! `railtwin diagnose --what-if`: what each part of a slow job costs it.
use std::fmt::Write as _;

use railtwin::diagnose::Diagnosed;
use railtwin::diagnose::slow_job::summary;
use railtwin_diagnosis::what_if::{IDEALS, Part, WhatIf};
use railtwin_store::one_line;
use serde_json::{Value, json};

use crate::CliError;

/// Rows of a table that are shown; `--json` has all.
const ROWS: usize = 8;

/// The replayed jobs, by file.
///
/// # Errors
/// An input error where nothing that was read can be replayed.
pub(crate) fn replayed(told: &Diagnosed) -> Result<Vec<(String, WhatIf)>, CliError> {
    let of = |replay: &railtwin::diagnose::Replay| Some((replay.file.clone(), replay.what_if()?));
    let all: Vec<(String, WhatIf)> = told.replays.iter().filter_map(of).collect();
    if all.is_empty() {
        let message = "--what-if: no file holds all operations of a job's steps".to_owned();
        return Err(CliError::input(message, "give a Megatron trace"));
    }
    Ok(all)
}

/// The tables for people: by kind, stage, replica, rank and step, the most costly rows of each.
pub(crate) fn shown(replayed: &[(String, WhatIf)]) -> String {
    let mut text = String::new();
    for (file, what_if) in replayed {
        // Writing to a string does not fail.
        let _ = show(&mut text, file, what_if);
    }
    text
}

fn show(text: &mut String, file: &str, what_if: &WhatIf) -> std::fmt::Result {
    let (operations, steps) = (what_if.operations, what_if.steps.len());
    writeln!(text, "\nwhat if: {}, {operations} operations in {steps} steps", one_line(file))?;
    writeln!(text, "{}", summary(what_if.slowdown))?;
    writeln!(text, "pauses between operations make it {:.3} times as long", what_if.launch)?;
    writeln!(
        text,
        "with one part as it was and all else ideal, times as long as the ideal; with that part ideal, time gone"
    )?;
    writeln!(text, "{:<34} {:>13} {:>24} {:>10}", "", IDEALS[0], IDEALS[1], "time gone")?;
    let tables = [
        ("kind", &what_if.kinds),
        ("pipeline stage", &what_if.stages),
        ("data-parallel rank", &what_if.replicas),
        ("rank", &what_if.ranks),
    ];
    for (what, parts) in tables {
        for part in parts.iter().take(ROWS) {
            let name = format!("{what} {}", part.name);
            let name = one_line(&name);
            let [mean, like] = part.alone;
            writeln!(text, "{name:<34} {mean:>13.4} {like:>24.4} {:>8.1} %", 100.0 * part.saved[0])?;
        }
        if parts.len() > ROWS {
            writeln!(text, "  and {} more, which cost less", parts.len() - ROWS)?;
        }
    }
    let mut steps: Vec<_> =
        what_if.steps.iter().filter(|step| step.ideal_ns.iter().all(|time| *time > 0.0)).collect();
    steps.sort_by(|a, b| (b.replayed_ns / b.ideal_ns[0]).total_cmp(&(a.replayed_ns / a.ideal_ns[0])));
    for step in steps.iter().take(ROWS) {
        let [mean, like] = step.ideal_ns.map(|ideal| step.replayed_ns / ideal);
        let took = step.recorded_ns / 1e9;
        writeln!(text, "{:<34} {mean:>13.4} {like:>24.4}   of {took:.3} s", format!("step {}", step.step))?;
    }
    if steps.len() > ROWS {
        writeln!(text, "  and {} more, which are faster", steps.len() - ROWS)?;
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
