//! `railtwin reproduce`: the file of figures that were agreed on.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::path::Path;

use harness::{Outcome, railtwin, shown, written};

const HEAD: &str = "# id\tscenario\tfigure\tours\toutcome\tstays met\n";
/// A figure that no table has, and one of a row that is not run here.
const GONE: &str = "QH10\tscenarios/papers/hpn.toml\tfigure_of_before\t1\tmet\t\n";
const OTHER: &str = "QM03\tscenarios/papers/uplink-hashing.toml\tleaf_uplink_max_mean_ratio\t1.225\tmet\t\n";

fn reproduce(agreed: &str, more: &[&str]) -> Outcome {
    railtwin(&[&["reproduce", "QH10", "--agreed", agreed], more].concat())
}

#[test]
fn an_update_keeps_rows_of_others_and_names_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "agreed.tsv", &format!("{HEAD}{GONE}{OTHER}\n"));
    let told = reproduce(&file, &["--update"]);
    assert_eq!(told.status, 0, "{}", told.notes);
    assert!(told.notes.contains("figure_of_before: none of the table any more, left out"), "{}", told.notes);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains(OTHER) && text.contains("leaf_down_ports") && !text.contains("figure_of_before"),
        "{text}"
    );
    assert_eq!(reproduce(&file, &[]).status, 0);
    std::fs::write(&file, format!("{text}{GONE}")).unwrap();
    let told = reproduce(&file, &[]);
    assert_eq!(told.status, 1, "{}", told.notes);
    assert!(told.notes.contains("figure_of_before: none of the table any more"), "{}", told.notes);
    assert_eq!(
        railtwin(&["reproduce", "QH12", "--agreed", &file]).status,
        1,
        "its figures are not in the file"
    );
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = shown(&folder.path().join("no/agreed.tsv"));
    reproduce(&nowhere, &["--update"]).assert_refused(&["--agreed", "agreed.tsv", "no such folder"]);
    reproduce(&shown(folder.path()), &["--update"]).assert_refused(&["--agreed", "is a folder"]);
    reproduce(&shown(Path::new("/dev/null")), &["--update"]).assert_refused(&["/dev/null", "is a device"]);
    let page = written(folder.path(), "page.md", "# A page\n");
    reproduce(&page, &["--update"]).assert_refused(&["page.md", "line 1", "no agreed figures"]);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "# A page\n");
}

/// A range names rows in the order of the table; one the wrong way round, or with an end that is no row, is refused.
#[test]
fn ranges_of_ids() {
    let of = |range: &str| railtwin(&["reproduce", range, "--json"]).out;
    let ids = |text: &str| {
        let rows: serde_json::Value = serde_json::from_str(text).unwrap();
        let mut ids: Vec<String> =
            rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        ids.dedup();
        ids
    };
    assert_eq!(ids(&of("QX01-QX03")), ["QX01", "QX02", "QX03"]);
    assert_eq!(ids(&of("QX01–QX03")), ["QX01", "QX02", "QX03"]);
    railtwin(&["reproduce", "QX03-QX01"]).assert_refused(&["QX03-QX01", "QX01-QX15"]);
    railtwin(&["reproduce", "QX01-QX99"]).assert_refused(&["QX01-QX99"]);
}
