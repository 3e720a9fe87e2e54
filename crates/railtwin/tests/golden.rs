//! Key figures that have no closed form, as they were last agreed on: one text table per scenario in `golden/`.
//!
//! `make golden` writes them anew and prints what changed; the change belongs in the commit message.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use railtwin::figures::parts_of;
use railtwin::{Question, Run};

/// Scenarios, relative to the repository.
const SCENARIOS: [&str; 3] = [
    "golden/crowded.toml",
    "scenarios/reference/moe-9216-hpn.toml",
    "scenarios/reference/gpt3-15360-hpn.toml",
];
/// Draws of the hashes at most: twenty of a large job are for a person who asks, not for a test.
const REPLICATES_MAX: u32 = 3;
/// Relative difference that counts as a change: sums of floats differ by less between machines.
const CHANGE: f64 = 1e-9;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Figures of the simulation, and how many paths were routed.
fn key_figures(scenario: &str) -> BTreeMap<String, f64> {
    let question = Question::read(&root().join(scenario)).unwrap();
    let mut point = question.points().unwrap().remove(0);
    point.scenario.run.replicates = point.scenario.run.replicates.min(REPLICATES_MAX);
    let run = Run::of(question.resolve(&point.scenario).unwrap(), &|| ());
    let of_simulation =
        ["step_time", "tokens", "mfu", "exposed_", "busbw_", "worst_", "operations_", "leaf_uplink"];
    let keep = |name: &str| of_simulation.iter().any(|start| parts_of(name).1.starts_with(start));
    let figures = run.info.figures.iter().filter(|figure| keep(&figure.name));
    let mut key: BTreeMap<String, f64> =
        figures.map(|figure| (figure.name.clone(), figure.value.unwrap_or(f64::NAN))).collect();
    key.insert("queue_pair_paths".into(), run.info.counters["queue_pair_paths"] as f64);
    key
}

fn to_text(figures: &BTreeMap<String, f64>) -> String {
    figures.iter().fold(String::new(), |mut text, (name, value)| {
        writeln!(text, "{name:<28} {value:?}").unwrap();
        text
    })
}

fn of_text(text: &str) -> BTreeMap<String, f64> {
    let pair = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap();
        (name.to_owned(), value.trim().parse().unwrap())
    };
    text.lines().map(pair).collect()
}

/// Old, new and relative change of every figure that is not what it was.
fn changes(old: &BTreeMap<String, f64>, new: &BTreeMap<String, f64>) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let line = |name: &String| match (old.get(name), new.get(name)) {
        (Some(a), Some(b)) => {
            let change = if a == b { 0.0 } else { b / a - 1.0 };
            // NaN, a figure without a value, is no change from NaN.
            let same = change.abs() <= CHANGE || (a.is_nan() && b.is_nan());
            (!same).then(|| format!("{name}: {a:?} -> {b:?} ({:+.6} %)", 100.0 * change))
        }
        (Some(a), None) => Some(format!("{name}: {a:?} -> gone")),
        (None, Some(b)) => Some(format!("{name}: new, {b:?}")),
        (None, None) => None,
    };
    names.into_iter().filter_map(line).collect()
}

#[test]
fn key_figures_are_as_agreed() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut changed = Vec::new();
    for scenario in SCENARIOS {
        let stem = Path::new(scenario).file_stem().unwrap().to_str().unwrap();
        let path = root().join(format!("golden/{stem}.txt"));
        let old = std::fs::read_to_string(&path).map(|text| of_text(&text)).unwrap_or_default();
        let new = key_figures(scenario);
        let lines = changes(&old, &new);
        changed.extend(lines.iter().map(|line| format!("{stem}: {line}")));
        if update && !lines.is_empty() {
            std::fs::write(&path, to_text(&new)).unwrap();
        }
    }
    if update {
        println!("{}", if changed.is_empty() { "nothing changed".to_owned() } else { changed.join("\n") });
    } else {
        assert!(changed.is_empty(), "{}\nif that is meant, run: make golden", changed.join("\n"));
    }
}

#[test]
fn a_changed_a_lost_and_a_new_figure_are_told() {
    let table = |pairs: &[(&str, f64)]| pairs.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
    let old: BTreeMap<String, f64> = table(&[("a", 1.0), ("b", 2.0), ("c", 3.0), ("n", f64::NAN)]);
    let new = table(&[("a", 1.0 + 1e-12), ("b", 2.5), ("d", 4.0), ("n", f64::NAN)]);
    let told = changes(&old, &new);
    assert_eq!(told, ["b: 2.0 -> 2.5 (+25.000000 %)", "c: 3.0 -> gone", "d: new, 4.0"]);
    assert_eq!(changes(&old, &of_text(&to_text(&old))), [""; 0], "text keeps every digit");
}
