//! A sweep is taken up where it ended.
#![allow(clippy::disallowed_methods, reason = "tests look at what the store wrote")]
use std::fs;
use std::path::Path;

use railtwin_records::SCHEMA;
use railtwin_store::sweep_index::SweepCase;
use railtwin_store::{RunFolder, RunInfo, Status, StoreError, SweepIndex};
use tempfile::tempdir;

fn cases() -> Vec<SweepCase> {
    let case = |balancer, id| SweepCase::waiting(&[("routing.balancer", balancer), ("seed", "7")], id);
    vec![case("ecmp", "aa"), case("c4p", "bb"), case("crux", "cc")]
}

fn run(index: &SweepIndex, at: usize, status: Status) {
    let case = &index.cases()[at];
    let mut info = RunInfo::starting(&case.run_id, "beef", "sweep", "flow", 7);
    info.status = status;
    RunFolder::create(&index.run_path(case), &info, "", "").expect("a fresh place");
}

fn statuses(index: &SweepIndex) -> Vec<Status> {
    index.cases().iter().map(|case| case.status).collect()
}

#[test]
fn reopening_tells_which_cases_are_complete() {
    let place = tempdir().expect("a place for tests");
    let path = place.path().join("runs/sweep");
    let mut index = SweepIndex::resume(&path, "sweep", cases()).expect("a fresh place");
    assert_eq!(statuses(&index), [Status::Waiting; 3]);
    run(&index, 0, Status::Complete);
    index.set_status("aa", Status::Complete).expect("listed");
    run(&index, 1, Status::Running);
    index.set_status("bb", Status::Running).expect("listed");

    let seen = SweepIndex::open(&path).expect("readable");
    assert_eq!(statuses(&seen), [Status::Complete, Status::Running, Status::Waiting]);
    let error = SweepIndex::resume(&path, "sweep", cases()).expect_err("one process at a time");
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    drop(index);
    let seen = SweepIndex::open(&path).expect("readable");
    assert_eq!(statuses(&seen), [Status::Complete, Status::Interrupted, Status::Waiting], "nobody runs it");
    let again = SweepIndex::resume(&path, "sweep", cases()).expect("readable");
    assert_eq!(statuses(&again), [Status::Complete, Status::Interrupted, Status::Waiting]);
    let pending: Vec<_> = again.pending().map(ToString::to_string).collect();
    assert_eq!(pending, ["routing.balancer = c4p, seed = 7", "routing.balancer = crux, seed = 7"]);
    assert_eq!(again.name(), "sweep");
}

#[test]
fn the_run_folders_are_the_truth() {
    let place = tempdir().expect("a place for tests");
    let mut index = SweepIndex::resume(place.path(), "sweep", cases()).expect("a fresh place");
    index.set_status("aa", Status::Complete).expect("listed");
    run(&index, 1, Status::Complete);
    fs::create_dir(place.path().join("cc")).expect("writable");
    drop(index);
    let again = SweepIndex::resume(place.path(), "sweep", cases()).expect("readable");
    assert_eq!(statuses(&again), [Status::Waiting, Status::Complete, Status::Interrupted]);
    drop(again);
    let fewer = SweepIndex::resume(place.path(), "sweep", cases()[1..2].to_vec()).expect("readable");
    assert_eq!(statuses(&fewer), [Status::Complete]);
}

#[test]
fn what_cannot_be_a_sweep_is_refused() {
    let place = tempdir().expect("a place for tests");
    let resume = |cases| SweepIndex::resume(place.path(), "sweep", cases);
    let twice = vec![cases()[0].clone(), cases()[0].clone()];
    assert!(matches!(resume(twice), Err(StoreError::SameCase { .. })));
    let outside = vec![SweepCase::waiting(&[], "../aa")];
    assert!(matches!(resume(outside), Err(StoreError::BadName { .. })));
    assert!(matches!(SweepIndex::open(place.path()), Err(StoreError::NotASweepFolder { .. })));
    assert!(matches!(SweepIndex::open(Path::new("no/such/folder")), Err(StoreError::NotASweepFolder { .. })));
    let mut index = resume(cases()).expect("a fresh place");
    assert!(matches!(index.set_status("dd", Status::Running), Err(StoreError::NoSuchRun { count: 3, .. })));
}

#[test]
fn a_newer_or_damaged_index_is_not_overwritten() {
    let place = tempdir().expect("a place for tests");
    let file = place.path().join("sweep.json");
    for text in [format!("{{\"schema\": {}}}", SCHEMA + 1), "{".to_owned()] {
        fs::write(&file, &text).expect("writable");
        SweepIndex::resume(place.path(), "sweep", cases()).expect_err("not ours to replace");
        SweepIndex::open(place.path()).expect_err("not readable");
        assert_eq!(fs::read_to_string(&file).expect("readable"), text);
    }
}
