//! The reproduction table: its page is what was agreed on, and every row comes out as agreed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use railtwin::reproduce::{Reproduced, Table, frames, reproduce_where, with_table};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn agreed() -> Table {
    Table::read(&std::fs::read_to_string(root().join("golden/reproduction.tsv")).unwrap()).unwrap()
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

/// Holds all rows of one kind against what was agreed on. These take minutes of computing: none stands for a row that it leaves
/// out.
fn come_out_as_agreed(are_calculated: bool) {
    let is_wanted = |row: &Reproduced| row.scenario.starts_with("calculation ") == are_calculated;
    let rows = reproduce_where(&[], &is_wanted, false, &|| 0.0, &|_| ()).unwrap();
    let all = frames().iter().filter(|row| is_wanted(row)).count();
    assert_eq!(rows.len(), all, "figures that come out, of those of the table");
    let changes = agreed().changes(&rows);
    assert!(changes.is_empty(), "`make reproduce` writes what is agreed on:\n{}", changes.join("\n"));
}

#[test]
fn every_row_of_a_scenario_comes_out_as_agreed() {
    come_out_as_agreed(false);
}

#[test]
fn every_row_of_a_calculation_comes_out_as_agreed() {
    come_out_as_agreed(true);
}
