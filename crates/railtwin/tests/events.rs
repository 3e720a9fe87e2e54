//! Faults and findings are events on one clock: the table `incidents` and the page hold every one of them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::Path;

use railtwin::{Question, Run};
use railtwin_records::{ColumnData, Table};

use super::payload::{f64s, u32s};

/// Runs of the first point of every scenario in `scenarios/regressions` whose name begins so.
fn runs(begins: &str) -> Vec<(String, Run)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/regressions");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(begins)).collect();
    files.sort();
    let run = |path: &Path| {
        let question =
            Question::of_text("a.toml", &std::fs::read_to_string(path).unwrap(), path.parent().unwrap());
        Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ())
    };
    files.iter().map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), run(path))).collect()
}

fn table<'a>(tables: &'a [Table], name: &str) -> &'a Table {
    tables.iter().find(|table| table.name == name).unwrap()
}

fn times(table: &Table, column: &str) -> Vec<u64> {
    match table.column(column).unwrap() {
        ColumnData::U64(values) => values.clone(),
        ColumnData::U32(values) => values.iter().map(|&value| value.into()).collect(),
        other => panic!("{column}: {other:?}"),
    }
}

fn texts(table: &Table, column: &str) -> Vec<String> {
    let ColumnData::Text { dictionary, codes } = table.column(column).unwrap() else { panic!("{column}") };
    codes.iter().map(|&code| dictionary[code as usize].clone()).collect()
}

/// A row of `faults` as the table `incidents` has it: kind, time, span in picoseconds, fault and component.
type Row = (&'static str, u64, [u64; 2], String, String);

fn expected(tables: &[Table]) -> Vec<Row> {
    let faults = table(tables, "faults");
    let ps = |ns: u64| ns.saturating_mul(1_000);
    let (from, until) = (times(faults, "from_ns"), times(faults, "until_ns"));
    let (kinds, components) = (texts(faults, "kind"), texts(faults, "component"));
    let mut rows = Vec::new();
    for row in 0..from.len() {
        let span = [ps(from[row]), ps(until[row])];
        let fault = || (kinds[row].clone(), components[row].clone());
        rows.push(("fault", span[0], span, fault().0, fault().1));
        if span[1] < u64::MAX {
            rows.push(("fault-end", span[1], span, fault().0, fault().1));
        }
    }
    rows
}

#[test]
fn every_fault_and_finding_is_an_event_on_the_axis_of_the_page() {
    for (name, run) in runs("fault-").into_iter().chain(runs("find-")) {
        let tables = run.tables();
        let incidents = table(&tables, "incidents");
        let (at, observed) = (times(incidents, "at_ps"), times(incidents, "observed"));
        let (from, until) = (times(incidents, "from_ps"), times(incidents, "until_ps"));
        let (kind, fault) = (texts(incidents, "kind"), texts(incidents, "fault"));
        let component = texts(incidents, "component");
        assert!(at.is_sorted(), "{name}");
        let all = expected(&tables);
        assert!(!all.is_empty(), "{name}");
        for (what, time, span, of, subject) in &all {
            let same = |&row: &usize| {
                (kind[row].as_str(), at[row], [from[row], until[row]]) == (*what, *time, *span)
                    && (&fault[row], &component[row]) == (of, subject)
            };
            let rows: Vec<usize> = (0..at.len()).filter(same).collect();
            assert_eq!(rows.len(), 1, "{name}: {what} of {of} at {subject}, {time} ps");
        }
        let payload = run.payload().unwrap();
        let end = payload["observed_ps"].as_f64().unwrap();
        let seen = |row: usize| observed[row] == 1;
        assert!((0..at.len()).all(|row| seen(row) == (at[row] as f64 <= end)), "{name}");
        assert!(end >= payload["duration_ps"].as_f64().unwrap(), "{name}");
        // All these faults act while somebody looks, and the page has a mark for each.
        let marks = f64s(&payload["incidents"]["columns"]["at_ps"]);
        for (_, time, ..) in &all {
            assert!(*time as f64 <= end, "{name}: {time} ps is not observed");
            assert!(marks.contains(&(*time as f64)), "{name}: no mark at {time} ps");
        }
        let Some(telemetry) = &run.telemetry else { continue };
        let start = payload["diagnosis"]["start_ps"].as_f64().unwrap();
        let found: Vec<u64> =
            (0..at.len()).filter(|&row| kind[row] == "finding").map(|row| at[row]).collect();
        let ours: Vec<u64> = telemetry.findings.iter().map(|finding| finding.at_ns * 1_000).collect();
        assert!(found == ours && !ours.is_empty(), "{name}: {found:?}");
        let shown = payload["diagnosis"]["findings"].as_array().unwrap();
        let shown: Vec<f64> = shown.iter().map(|one| start + one["at_s"].as_f64().unwrap() * 1e12).collect();
        let close = |a: &f64, b: &u64| (a - *b as f64).abs() < 1e6;
        assert!(shown.iter().zip(&found).all(|(a, b)| close(a, b) && *a <= end), "{name}: {shown:?}");
    }
}

/// A fault that begins after the last operation is reported as such, in the table and on the page.
#[test]
fn a_fault_after_the_observed_time_says_so() {
    let text = "schema = 1\nname = \"late\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 1\n\
                uplinks = 1\nhost = { model = \"plain\" }\n[[job]]\nhosts = 2\n\
                collective = { kind = \"send-receive\", bytes = \"1 GB\", compute = \"1 ms\" }\n\
                [[fault]]\nat = \"1 s\"\ngpu = \"host-1/gpu-0\"\nkind = \"slow-gpu\"\nfactor = 2.0\n";
    let question = Question::of_text("late.toml", text, Path::new("."));
    let run = Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ());
    let tables = run.tables();
    let incidents = table(&tables, "incidents");
    assert_eq!((times(incidents, "at_ps"), times(incidents, "observed")), (vec![1_000_000_000_000], vec![0]));
    let payload = run.payload().unwrap();
    assert!(payload["observed_ps"].as_f64().unwrap() < 1e12);
    let columns = &payload["incidents"]["columns"];
    assert_eq!(u32s(&columns["what"]), [0]);
    assert_eq!(columns["what"]["dict"][0], "slow-gpu at gpu host-1/gpu-0, after the observed time");
}
