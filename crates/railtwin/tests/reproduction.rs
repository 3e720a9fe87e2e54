//! The reproduction table: its page is what was agreed on, and what is quick comes out as agreed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use railtwin::reproduce::{Reproduced, Table, frames, reproduce_where, with_table};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn agreed() -> Table {
    Table::read(&std::fs::read_to_string(root().join("golden/reproduction.tsv")).unwrap()).unwrap()
}

/// Figures whose runs take longer than a test may, by their scenario and how they begin; `make reproduce` runs them.
const SLOW: &[(&str, &str)] = &[
    ("scenarios/papers/nic-port-queues.toml", ""),
    ("scenarios/papers/nic-port-queues-dcqcn.toml", ""),
    ("scenarios/papers/four-all-reduces.toml", ""),
    ("scenarios/papers/four-all-reduces-dcn-plus.toml", ""),
    ("scenarios/papers/flowlet-interval.toml", ""),
    ("scenarios/papers/ecn-thresholds.toml", ""),
    ("scenarios/papers/dcqcn-relaxed.toml", ""),
    ("scenarios/papers/c4-congestion.toml", ""),
    ("scenarios/papers/sauron-figures-4-5.toml", ""),
    ("scenarios/papers/sauron-scale-out.toml", ""),
    ("calculation crux-cases", ""),
    ("calculation crux-clos-losses", ""),
];

fn is_slow(row: &Reproduced) -> bool {
    SLOW.iter().any(|(scenario, figure)| row.scenario == *scenario && row.figure.starts_with(figure))
}

#[test]
fn the_reproduction_page_is_what_was_agreed_on() {
    let page = root().join("docs/reference/reproduction.md");
    let kept = std::fs::read_to_string(&page).unwrap();
    let now = with_table(&kept, &agreed()).expect("the page has its marks");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&page, &now).unwrap();
        return;
    }
    assert!(
        kept == now,
        "docs/reference/reproduction.md is old: UPDATE_DOCS=1 cargo test -p railtwin --test all reproduction_page"
    );
}

#[test]
fn every_figure_of_the_table_was_agreed_on_once() {
    let agreed = agreed();
    assert_eq!(agreed.gone(&[]), Vec::<String>::new());
    for row in frames() {
        assert!(agreed.of(&row).is_some(), "{} {}", row.id, row.figure);
    }
    let mut seen = std::collections::BTreeSet::new();
    for row in frames() {
        let key = (row.id.clone(), row.scenario.clone(), row.figure.clone());
        assert!(seen.insert(key), "{} {} stands twice", row.id, row.figure);
    }
}

/// What was agreed on says met where its figure lies within the bounds that the table has today.
#[test]
fn what_was_agreed_on_is_met_where_it_lies_within_its_bounds() {
    let agreed = agreed();
    for row in frames().iter().filter(|row| row.skipped.is_none()) {
        let Some(of) = agreed.of(row) else { continue };
        let Ok(ours) = of.ours.parse::<f64>() else {
            assert_eq!(of.outcome, "MISSED", "{} {} has no value", row.id, row.figure);
            continue;
        };
        // Half of the last printed digit may be on either side.
        let slack = 1e-4 * ours.abs().max(0.5);
        let within = |slack: f64| {
            row.low.is_none_or(|low| ours >= low - slack) && row.high.is_none_or(|high| ours <= high + slack)
        };
        let name = format!("{} {}: {ours} is {}", row.id, row.figure, of.outcome);
        match of.outcome.as_str() {
            "met" | "put in" => assert!(within(slack), "{name}"),
            "MISSED" => assert!(!within(-slack), "{name}"),
            other => assert_eq!(other, "own", "{name}"),
        }
    }
}

#[test]
fn what_is_called_slow_is_there() {
    let frames = frames();
    for (scenario, figure) in SLOW {
        let known = frames.iter().any(|row| row.scenario == *scenario && row.figure.starts_with(figure));
        assert!(known, "{scenario} has no {figure}");
    }
}

/// Ids of which every figure with a run is slow.
#[test]
fn few_ids_have_no_figure_that_is_quick() {
    let frames = frames();
    let quick: std::collections::BTreeSet<&str> =
        frames.iter().filter(|row| !is_slow(row)).map(|row| row.id.as_str()).collect();
    let mut slow: Vec<&str> = frames.iter().map(|row| row.id.as_str()).collect();
    slow.dedup();
    slow.retain(|id| !quick.contains(id));
    assert_eq!(
        slow,
        ["QH22", "QH25", "QM10", "QM13", "QM14", "QC09", "QX04", "QX05", "QX06", "QX14", "QS04"],
        "ids that `make reproduce` alone guards"
    );
}

#[test]
fn quick_rows_come_out_as_agreed() {
    let rows = reproduce_where(&[], &|row| !is_slow(row), false, &|| 0.0, &|_| ()).unwrap();
    assert!(rows.len() > 150, "{} figures are quick", rows.len());
    let changes = agreed().changes(&rows);
    assert!(changes.is_empty(), "`make reproduce` writes what is agreed on:\n{}", changes.join("\n"));
}
