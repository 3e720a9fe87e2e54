//! The run folder: whole or not there, readable while a run goes on.
#![allow(clippy::disallowed_methods, reason = "tests look at what the store wrote")]
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use railtwin_records::run::TABLES;
use railtwin_records::{Column, SCHEMA, Table};
use railtwin_store::{Figure, RunFolder, RunInfo, Status, StoreError};
use tempfile::{TempDir, tempdir};

fn info() -> RunInfo {
    RunInfo::starting("0123456789abcdef", "beef", "one-uplink-down", "flow", 7)
}

fn folder() -> (TempDir, RunFolder) {
    let place = tempdir().expect("a place for tests");
    let path = place.path().join("runs/one");
    let folder = RunFolder::create(&path, &info(), "schema = 1\n", "# fabric\n").expect("a fresh place");
    (place, folder)
}

fn steps(from: u32, to: u32) -> Table {
    let jobs: Vec<_> = (from..to).map(|step| format!("job-{}", step % 3)).collect();
    let jobs = Column::coded("job", jobs.iter().map(String::as_str));
    Table::new("steps", vec![Column::u32("step", (from..to).collect()), jobs])
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_begins_with_its_facts_and_texts() {
    let (_place, folder) = folder();
    assert_eq!(names(folder.path()), [".railtwin.lock", "fabric.toml", "run.json", "scenario.toml"]);
    assert_eq!(folder.scenario().expect("text"), "schema = 1\n");
    assert_eq!(folder.fabric().expect("text"), "# fabric\n");
    assert_eq!(folder.info().expect("facts"), info());
    assert_eq!(names(folder.path().parent().expect("runs")), ["one"]);
}

#[test]
fn an_existing_folder_is_left_to_the_caller() {
    let (_place, folder) = folder();
    folder.write_info(&RunInfo { status: Status::Complete, ..info() }).expect("writable");
    let path = folder.path().to_owned();
    drop(folder);
    let error = RunFolder::create(&path, &info(), "other", "other").expect_err("it exists");
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    let found = RunFolder::find(&path).expect("readable").expect("there");
    assert_eq!(found.scenario().expect("text"), "schema = 1\n");
    found.remove().expect("removable");
    assert!(RunFolder::find(&path).expect("readable").is_none());
    assert!(names(path.parent().expect("runs")).is_empty());
    RunFolder::create(&path, &info(), "", "").expect("a fresh place again");
}

#[test]
fn one_writes_and_who_lets_go_early_was_interrupted() {
    let (_place, folder) = folder();
    let found = || RunFolder::find(folder.path()).expect("readable").expect("there");
    assert_eq!(found().info().expect("facts").status, Status::Running);
    for error in [
        RunFolder::create(folder.path(), &info(), "", "").expect_err("somebody writes it"),
        found().remove().expect_err("somebody writes it"),
    ] {
        assert!(matches!(error, StoreError::Busy { .. }), "{error}");
        assert!(error.to_string().contains("another process is writing this folder; wait"), "{error}");
    }
    let path = folder.path().to_owned();
    drop(folder);
    let found = RunFolder::open(&path).expect("readable");
    assert_eq!(found.info().expect("facts").status, Status::Interrupted);
    found.remove().expect("nobody writes it");
}

#[test]
fn only_what_railtwin_wrote_is_removed() {
    let (place, folder) = folder();
    let own = Table::new("my-own", vec![Column::u32("a", vec![1])]);
    for table in [steps(0, 3), own] {
        folder.write_table(&table).expect("writable");
    }
    folder.write_report(b"<html>").expect("writable");
    folder.write_trace(b"\x1f\x8b").expect("writable");
    let path = folder.path().to_owned();
    drop(folder);
    fs::write(path.join(".railtwin-77-0.writing"), "of a process that died").expect("writable");
    let before = names(&path);
    for foreign in ["notes.txt", "links.parquet.bak", "mine.parquet", "steps.part-1.parquet", ".hidden"] {
        fs::write(path.join(foreign), "precious").expect("writable");
        let error = RunFolder::open(&path).expect("readable").remove().expect_err("not all of it is ours");
        assert!(matches!(&error, StoreError::NotOurs { name, .. } if name == foreign), "{error}");
        assert_eq!(fs::read_to_string(path.join(foreign)).expect("still there"), "precious");
        fs::remove_file(path.join(foreign)).expect("removable");
        assert_eq!(names(&path), before, "nothing was removed");
    }
    fs::create_dir(path.join("exposed.parquet")).expect("writable");
    RunFolder::open(&path).expect("readable").remove().expect_err("a folder");
    fs::remove_dir(path.join("exposed.parquet")).expect("removable");
    #[cfg(unix)]
    {
        let theirs = place.path().join("theirs");
        fs::write(&theirs, "precious").expect("writable");
        std::os::unix::fs::symlink(&theirs, path.join("exposed.parquet")).expect("a link");
        RunFolder::open(&path).expect("readable").remove().expect_err("a link in the folder");
        fs::remove_file(path.join("exposed.parquet")).expect("removable");
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        RunFolder::open(&link).expect("readable").remove().expect_err("a link to the folder");
        assert_eq!(fs::read_to_string(&theirs).expect("there"), "precious");
    }
    // What a process that died at removing left is removed, and nothing else that bears the name.
    let hidden = path.with_file_name(".one.removing");
    fs::create_dir(&hidden).expect("writable");
    fs::write(hidden.join("precious"), "").expect("writable");
    RunFolder::open(&path).expect("readable").remove().expect_err("not ours");
    fs::rename(hidden.join("precious"), hidden.join("steps.parquet")).expect("writable");
    RunFolder::open(&path).expect("readable").remove().expect("all of it is ours");
    assert!(names(path.parent().expect("runs")).is_empty());
    drop(place);
}

#[test]
fn texts_of_facts_are_printable() {
    let (_place, folder) = folder();
    let mut evil = info();
    let codes = "\u{1b}[2J\u{202e}\nline";
    evil.name = codes.into();
    evil.warnings.push(codes.into());
    evil.facts.insert(codes.into(), codes.into());
    evil.figures.push(Figure { reason: codes.into(), note: codes.into(), ..Figure::new(codes, 1.0, codes) });
    folder.write_info(&evil).expect("writable");
    let shown = "\\u001b[2J\\u202e\\nline";
    let info = folder.info().expect("facts");
    assert_eq!(
        (info.name.as_str(), info.warnings[0].as_str(), info.facts[shown].as_str()),
        (shown, shown, shown)
    );
    let figure = &info.figures[0];
    assert!([&figure.name, &figure.unit, &figure.note, &figure.reason].iter().all(|text| *text == shown));
}

#[test]
fn a_start_that_fails_leaves_nothing() {
    let place = tempdir().expect("a place for tests");
    fs::write(place.path().join("file"), "").expect("writable");
    RunFolder::create(&place.path().join("file/runs/one"), &info(), "", "").expect_err("a file above");
    assert_eq!(names(place.path()), ["file"]);
    // Hidden names are one longer than the system allows: parents are made, then the start fails.
    let long = "x".repeat(250);
    RunFolder::create(&place.path().join("a/b").join(long), &info(), "", "").expect_err("a long name");
    assert_eq!(names(place.path()), ["file"]);
}

#[test]
fn what_dead_processes_left_is_no_hindrance() {
    let place = tempdir().expect("a place for tests");
    fs::create_dir(place.path().join(".one.starting-0")).expect("writable");
    RunFolder::create(&place.path().join("one"), &info(), "", "").expect("another hidden name");
    assert_eq!(names(place.path()), [".one.starting-0", "one"]);
}

#[test]
fn facts_are_replaced_and_read_back_exactly() {
    let (_place, folder) = folder();
    let mut info = info();
    info.seed = u64::MAX;
    info.status = Status::Complete;
    info.warnings.push("a \"quoted\" warning".into());
    info.counters.insert("events".into(), u64::MAX);
    info.facts.insert("fabric".into(), "leaf-spine".into());
    info.figures.push(Figure {
        low: Some(0.1 + 0.2),
        note: "mean".into(),
        ..Figure::new("t", 1.0 / 3.0, "s")
    });
    info.figures.push(Figure::new("none", f64::NAN, ""));
    folder.write_info(&info).expect("writable");
    assert_eq!(folder.info().expect("facts"), info);
    assert_eq!(info.figure("none").expect("listed").value, None);
    assert_eq!(names(folder.path()), ["fabric.toml", "run.json", "scenario.toml"]);
}

proptest! {
    #[test]
    fn figures_keep_every_bit(value in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
        let text = serde_json::to_string(&Figure::new("a", value, "s")).expect("finite");
        let again: Figure = serde_json::from_str(&text).expect("our own text");
        prop_assert_eq!(again.value.map(f64::to_bits), Some(value.to_bits()));
    }
}

#[test]
fn a_newer_run_is_neither_read_nor_rewritten() {
    let (_place, folder) = folder();
    let path = folder.path().join("run.json");
    let newer = format!("{{\"schema\": {}, \"news\": [1]}}", SCHEMA + 1);
    fs::write(&path, &newer).expect("writable");
    for error in [folder.info().map(|_| ()), folder.write_info(&info())] {
        let error = error.expect_err("newer");
        assert!(matches!(error, StoreError::NewerSchema { found, .. } if found == SCHEMA + 1), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).expect("readable"), newer);
}

#[test]
fn damaged_facts_are_named_with_their_place() {
    let (_place, folder) = folder();
    let path = folder.path().join("run.json");
    let text = fs::read_to_string(&path).expect("readable");
    for damaged in [&text[..text.len() / 2], "", "[]", &text.replace("\"seed\"", "\"sed\"")] {
        fs::write(&path, damaged).expect("writable");
        let error = RunFolder::open(folder.path()).expect_err("damaged");
        assert!(matches!(error, StoreError::Json { .. }), "{error}");
        assert!(!error.to_string().contains("sed"), "no word of the file: {error}");
        assert!(error.to_string().contains("run.json: ") && error.to_string().contains("line"), "{error}");
    }
    fs::remove_file(&path).expect("removable");
    let error = RunFolder::open(folder.path()).expect_err("no facts");
    assert!(matches!(error, StoreError::NotARunFolder { .. }), "{error}");
}

#[test]
fn rows_can_be_read_while_the_run_goes_on() {
    let (_place, folder) = folder();
    let reader = RunFolder::open(folder.path()).expect("readable");
    let mut writer = folder.table_writer("steps").expect("a fresh table").rows_per_part(10);
    assert!(matches!(reader.table("steps"), Err(StoreError::NoSuchTable { .. })));
    writer.append(&steps(0, 4)).expect("rows");
    assert!(matches!(reader.table("steps"), Err(StoreError::NoSuchTable { .. })));
    writer.append(&steps(4, 12)).expect("rows");
    assert_eq!(reader.table("steps").expect("one part"), steps(0, 12));
    writer.append(&steps(12, 13)).expect("rows");
    writer.flush().expect("writable");
    writer.flush().expect("nothing to do");
    assert_eq!(reader.table("steps").expect("two parts"), steps(0, 13));
    assert_eq!(reader.table_names().expect("listed"), ["steps"]);
    writer.append(&steps(13, 15)).expect("rows");
    writer.finish().expect("mergeable");
    assert_eq!(reader.table("steps").expect("finished"), steps(0, 15));
    folder.write_info(&RunInfo { status: Status::Complete, ..info() }).expect("writable");
    assert_eq!(names(folder.path()), ["fabric.toml", "run.json", "scenario.toml", "steps.parquet"]);
}

#[test]
fn a_reader_beside_the_writer_sees_only_whole_beginnings() {
    let (_place, folder) = folder();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut seen, mut readings) = (0, 0);
            while !done.load(Ordering::Acquire) || readings == 0 {
                match folder.table("steps") {
                    Ok(table) => {
                        let rows = u32::try_from(table.rows()).expect("few");
                        assert_eq!(table, steps(0, rows));
                        assert!(rows >= seen, "{rows} rows after {seen}");
                        (seen, readings) = (rows, readings + 1);
                    }
                    Err(StoreError::NoSuchTable { .. }) => assert_eq!(seen, 0),
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let mut writer = folder.table_writer("steps").expect("a fresh table").rows_per_part(7);
        for at in 0..100 {
            writer.append(&steps(at * 3, at * 3 + 3)).expect("rows");
        }
        writer.finish().expect("mergeable");
        done.store(true, Ordering::Release);
        reader.join().expect("the reader saw no error");
    });
    assert_eq!(folder.table("steps").expect("finished"), steps(0, 300));
}

#[test]
fn an_interrupted_run_keeps_its_parts() {
    let (_place, folder) = folder();
    let mut writer = folder.table_writer("steps").expect("a fresh table");
    writer.append(&steps(0, 3)).expect("rows");
    writer.flush().expect("writable");
    drop(writer);
    assert_eq!(folder.table("steps").expect("one part"), steps(0, 3));
    let error = folder.table_writer("steps").expect_err("rows are there");
    assert!(matches!(error, StoreError::TableExists { .. }), "{error}");
}

#[test]
fn rows_wait_when_a_part_cannot_be_written() {
    let (_place, folder) = folder();
    let mut writer = folder.table_writer("steps").expect("a fresh table");
    writer.append(&steps(0, 3)).expect("rows");
    let hindrance = folder.path().join("steps.part-0000.parquet");
    fs::create_dir(&hindrance).expect("writable");
    let error = writer.flush().expect_err("a folder in the way");
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    fs::remove_dir(&hindrance).expect("removable");
    writer.append(&steps(3, 5)).expect("rows");
    writer.finish().expect("writable again");
    assert_eq!(folder.table("steps").expect("finished"), steps(0, 5));
}

#[test]
fn a_missing_or_renamed_part_is_told() {
    let (_place, folder) = folder();
    let mut writer = folder.table_writer("steps").expect("a fresh table").rows_per_part(1);
    for at in 0..3 {
        writer.append(&steps(at, at + 1)).expect("rows");
    }
    let part = |number| folder.path().join(format!("steps.part-000{number}.parquet"));
    fs::rename(part(1), folder.path().join("links.parquet")).expect("movable");
    let error = folder.table("steps").expect_err("a gap").to_string();
    assert!(error.contains("part-0002") && error.contains("part 1"), "{error}");
    let error = folder.table("links").expect_err("another table").to_string();
    assert!(error.contains("links.parquet") && error.contains("`steps`"), "{error}");
}

#[test]
fn a_torn_table_is_told_by_name() {
    let (_place, folder) = folder();
    folder.write_table(&steps(0, 9)).expect("writable");
    let path = folder.path().join("steps.parquet");
    let bytes = fs::read(&path).expect("readable");
    fs::write(&path, &bytes[..bytes.len() - 20]).expect("writable");
    let error = folder.table("steps").expect_err("torn").to_string();
    assert!(error.contains("steps.parquet: is not a whole Parquet file"), "{error}");
}

#[test]
fn other_columns_and_broken_rows_are_refused_and_not_taken() {
    let (_place, folder) = folder();
    let mut writer = folder.table_writer("steps").expect("a fresh table");
    writer.append(&steps(0, 2)).expect("rows");
    let other = Table::new("steps", vec![Column::u64("step", vec![1])]);
    let error = writer.append(&other).expect_err("other columns");
    assert!(
        error.to_string().contains("(step u64)") && error.to_string().contains("step u32, job text"),
        "{error}"
    );
    let mut broken = steps(2, 3);
    broken.columns[0] = Column::u32("step", vec![]);
    assert!(matches!(writer.append(&broken), Err(StoreError::Unwritable { .. })));
    writer.finish().expect("writable");
    assert_eq!(folder.table("steps").expect("finished"), steps(0, 2));
}

#[test]
fn a_documented_table_may_stay_empty() {
    let (_place, folder) = folder();
    for doc in TABLES {
        folder.table_writer(doc.name).expect("a fresh table").finish().expect("documented");
        let table = folder.table(doc.name).expect("finished");
        let columns: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(columns, doc.columns.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
        assert_eq!(table.rows(), 0);
    }
    let error = folder.table_writer("odd").expect("a fresh table").finish().expect_err("no columns known");
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
}

#[test]
fn names_stay_inside_the_folder() {
    let (_place, folder) = folder();
    for name in ["", "../steps", "a/b", "a.b", "Steps", "ö", &"x".repeat(65)] {
        assert!(matches!(folder.table(name), Err(StoreError::BadName { .. })), "{name}");
        assert!(matches!(folder.table_writer(name), Err(StoreError::BadName { .. })), "{name}");
    }
}

#[test]
fn report_and_trace_are_replaced_whole() {
    let (_place, folder) = folder();
    folder.write_report(b"one").expect("writable");
    folder.write_report(b"two").expect("writable");
    folder.write_trace(&[31, 139]).expect("writable");
    assert_eq!(fs::read(folder.path().join("report.html")).expect("readable"), b"two");
    assert_eq!(fs::read(folder.path().join("trace.json.gz")).expect("readable"), [31, 139]);
    assert!(folder.table_names().expect("listed").is_empty());
}
