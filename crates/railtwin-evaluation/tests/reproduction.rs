//! The reproduction table: the page matches the agreed figures, quick rows come out as agreed, and no slow row is stale.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use railtwin_evaluation::reproduce::{AgreedTable, Reproduced, frames, keys, reproduce_where, with_table};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn agreed() -> AgreedTable {
    AgreedTable::read(&std::fs::read_to_string(root().join("golden/reproduction.tsv")).unwrap()).unwrap()
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
        "docs/reference/reproduction.md is old: UPDATE_DOCS=1 cargo test -p railtwin-evaluation --test all reproduction_page"
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

/// Runs the cases of one kind that have no key, and compares their figures with the agreed ones.
fn come_out_as_agreed(are_calculated: bool) {
    let agreed = agreed();
    let is_wanted = |row: &Reproduced| {
        !agreed.is_keyed(row) && row.scenario.starts_with("calculation ") == are_calculated
    };
    let rows = reproduce_where(&[], &is_wanted, false, &|| 0.0, &|_| ()).unwrap();
    let all = frames().iter().filter(|row| is_wanted(row)).count();
    assert_eq!(rows.len(), all, "figures that come out, of those of the table");
    let changes = agreed.changes(&rows);
    assert!(changes.is_empty(), "`make reproduce` writes what is agreed on:\n{}", changes.join("\n"));
}

#[test]
fn every_quick_row_of_a_scenario_comes_out_as_agreed() {
    come_out_as_agreed(false);
}

#[test]
fn every_quick_row_of_a_calculation_comes_out_as_agreed() {
    come_out_as_agreed(true);
}

/// Slow cases do not run here: their figures hold as long as neither the case nor the sources that it depends on change.
#[test]
fn no_slow_row_is_stale() {
    let stale = agreed().stale(&keys().unwrap());
    let ids_of = |case: &String| {
        let mut ids: Vec<String> =
            frames().into_iter().filter(|row| row.scenario == *case).map(|row| row.id).collect();
        ids.dedup();
        format!("{} ({case})", ids.join(" "))
    };
    let rows: Vec<String> = stale.iter().map(ids_of).collect();
    assert!(
        rows.is_empty(),
        "{} cases are stale: their rows, or sources that they depend on, changed since their last run. `make reproduce` runs \
         them. Only if no result can have changed: `railtwin reproduce --agreed golden/reproduction.tsv --rekey`.\n{}",
        rows.len(),
        rows.join("\n")
    );
}
