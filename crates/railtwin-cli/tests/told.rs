//! Headlines of the command for dumps of a hang, a sweep over loads inside hosts and weeks of jobs agree with its tables.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]
use std::collections::BTreeSet;

use railtwin_records::{ColumnData, Table};
use railtwin_store::RunFolder;
use serde_json::Value;

use crate::diagnose::ours;
use crate::harness::{folder_of, railtwin, shown, written};

const MOST_WORDS: usize = 30;

fn assert_short(headline: &str) {
    assert!(headline.split_whitespace().count() <= MOST_WORDS, "{headline}");
}

fn texts(table: &Table, name: &str) -> Vec<String> {
    let Some(ColumnData::Text { codes, dictionary }) = table.column(name) else { panic!("no {name}") };
    codes.iter().map(|&code| dictionary[code as usize].clone()).collect()
}

#[test]
fn a_hang_is_told_by_the_findings_of_its_dumps() {
    let folder = tempfile::tempdir().unwrap();
    let tables = shown(&folder.path().join("tables"));
    let dumps = shown(&ours("flight_recorder/lock_gil_2nd"));
    let answer = railtwin(&["diagnose", &dumps, "--out", &tables]);
    let headline = answer.out.lines().next().unwrap();
    assert_short(headline);
    let table = |name: &str| {
        let path = std::path::Path::new(&tables).join(format!("{name}.parquet"));
        railtwin_store::parquet_read::decode(&path, std::fs::read(&path).unwrap()).unwrap()
    };
    let (findings, suspects) = (table("findings"), table("suspects"));
    let Some(ColumnData::F64(confidence)) = findings.column("confidence") else { panic!("no confidence") };
    let most = confidence.iter().copied().fold(0.0, f64::max);
    assert!(headline.contains(&format!("confidence {most:.2};")), "{most}: {headline}");
    let named: BTreeSet<String> = texts(&suspects, "component").into_iter().collect();
    let who = headline.strip_prefix("rank ").unwrap().split_once(": ").unwrap().0;
    assert_eq!(who.split(" and ").map(str::to_owned).collect::<BTreeSet<String>>(), named);
}

/// The headline names the least load at which a choice saturates, and that choice, as `--json` does.
#[test]
fn a_sweep_inside_hosts_is_told_by_its_points() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "sweep.toml", crate::intranode::SWEEP);
    let report = shown(&folder.path().join("page.html"));
    let data = railtwin(&["intranode", &scenario, "--json", "--report", &report]).json();
    let page = std::fs::read_to_string(&report).unwrap();
    let page = page.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    let page: Value = serde_json::from_str(page).unwrap();
    let headline = page["intranode"]["headline"].as_str().unwrap();
    assert_short(headline);
    let all = data["saturations"].as_array().unwrap();
    let loads: Vec<f64> = all.iter().filter_map(|one| one["load"].as_f64()).collect();
    let least = loads.iter().copied().fold(f64::MAX, f64::min);
    let percent = format!("at {}\u{a0}% of the load", (least * 1e6).round() / 1e4);
    assert!(headline.contains(&percent), "{percent}: {headline}");
    let first = all.iter().find(|one| one["load"].as_f64() == Some(least)).unwrap();
    assert!(headline.starts_with(&format!("inter {}", first["label"][0][1].as_str().unwrap())), "{headline}");
}

/// The shipped cluster of Crux's section 6.3 for a day of its two weeks.
#[test]
fn weeks_on_a_shipped_cluster_are_told_by_their_hours_and_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/papers/crux-clos.toml");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("days = 14"));
    let scenario = written(folder.path(), "crux-clos.toml", &text.replace("days = 14", "days = 1"));
    let runs = shown(&folder.path().join("runs"));
    let answer = railtwin(&["run", &scenario, "--out", &runs, "--json"]).json();
    let run = RunFolder::open(&folder_of(&answer, 0)).unwrap();
    let headline = run.info().unwrap().headline;
    assert_short(&headline);
    crate::weeks::headline_comes_out_of_the_tables(&run, &headline);
}
