//! The reference page says what the code does.
#![allow(clippy::disallowed_methods, reason = "the page is a file")]
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use railtwin_records::run::TABLES;
use railtwin_store::docs::run_folder_markdown;
use railtwin_store::sweep_index::SweepCase;
use railtwin_store::{Figure, RunInfo, SweepIndex};
use serde_json::Value;

/// Rewrites the page when the variable UPDATE_DOCS is set.
#[test]
fn the_committed_page_is_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/run-folder.md");
    let page = run_folder_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("writable");
        fs::write(&path, &page).expect("writable");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference/run-folder.md is old: UPDATE_DOCS=1 cargo test -p railtwin-store"
    );
}

/// Rows `key -> type` of the table under a heading.
fn listed(page: &str, heading: &str) -> BTreeMap<String, String> {
    let section = page.split(&format!("\n{heading}\n")).nth(1).expect("a section of that name");
    let section = section.split("\n#").next().expect("split gives one");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(key, rest)| (key.to_owned(), rest.split(" | ").next().unwrap_or_default().to_owned()))
        .collect()
}

fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<_> = value.as_object().expect("an object").keys().cloned().collect();
    keys.sort();
    keys
}

#[test]
fn every_key_is_listed() {
    let page = run_folder_markdown();
    let info = serde_json::to_value(RunInfo::starting("", "", "", "", 0)).expect("plain data");
    assert_eq!(listed(&page, "## run.json").into_keys().collect::<Vec<_>>(), keys(&info));
    let figure = serde_json::to_value(Figure::missing("", "", "halted")).expect("plain data");
    assert_eq!(listed(&page, "### Figures").into_keys().collect::<Vec<_>>(), keys(&figure));

    let place = tempfile::tempdir().expect("a place for tests");
    SweepIndex::resume(place.path(), "", vec![SweepCase::waiting(&[], "a")]).expect("a fresh place");
    let text = fs::read_to_string(place.path().join("sweep.json")).expect("readable");
    let sweep: Value = serde_json::from_str(&text).expect("our own text");
    let mut sweep_keys = keys(&sweep);
    sweep_keys.extend(keys(&sweep["cases"][0]).iter().map(|key| format!("cases.{key}")));
    sweep_keys.sort();
    assert_eq!(listed(&page, "## The sweep folder").into_keys().collect::<Vec<_>>(), sweep_keys);
}

#[test]
fn every_column_is_listed_with_its_type() {
    let page = run_folder_markdown();
    for table in TABLES {
        let columns = listed(&page, &format!("### {}", table.name));
        assert_eq!(columns.len(), table.columns.len(), "{}", table.name);
        for (name, kind, _) in table.columns {
            assert_eq!(columns.get(*name).map(String::as_str), Some(*kind), "{} {name}", table.name);
        }
    }
}
