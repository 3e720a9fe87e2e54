//! The recordings of eight real ranks under faults: the small ones of this repository, and all where they are at hand.
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use railtwin_live::record::{Body, Record};
use railtwin_live::{LiveIncident, LiveKind};

use crate::score::{Recording, judged, score};

/// Short cuts of three recordings; see the README beside them.
fn shipped() -> Vec<PathBuf> {
    folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/live"))
}

/// All recordings; none where the shared data is not beside the repository.
fn all() -> Vec<PathBuf> {
    let unpacked = std::env::var_os("RAILTWIN_LIVE_RANKS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/live_ranks");
    let found = folders(&unpacked.unwrap_or(beside));
    if found.is_empty() {
        println!("SKIPPED: unpack live_ranks/recordings.tar.gz and name its folder in RAILTWIN_LIVE_RANKS");
    }
    found
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(of).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("r0.jsonl").is_file())
        .collect();
    found.sort();
    found
}

fn before_the_fault(recording: &Recording) -> Vec<Record> {
    let until_ns = recording.truth.as_ref().map_or(u64::MAX, |truth| truth.from_ns);
    recording.records().into_iter().filter(|record| record.time_ns <= until_ns).collect()
}

fn accused(incidents: &[LiveIncident]) -> Vec<LiveKind> {
    incidents.iter().filter(|one| one.kind.is_of_job()).map(|one| one.kind).collect()
}

#[test]
fn every_recording_is_told_right() {
    let runs: Vec<PathBuf> = shipped().into_iter().chain(all()).collect();
    assert!(runs.len() >= 3, "the shipped recordings are there");
    for run in runs {
        let scored = score(&Recording::read(&run));
        assert!(scored.is_right(), "{}: {scored}", run.display());
    }
}

#[test]
fn nobody_is_accused_before_the_fault_wherever_records_end() {
    for run in shipped().into_iter().chain(all()).filter(|run| run.join("truth.json").is_file()) {
        let records = before_the_fault(&Recording::read(&run));
        // Cut at every 50th record, and begun at every 400th: windows fill from anywhere.
        for begin in (0..records.len()).step_by(400) {
            let end = records.len();
            assert_eq!(accused(&judged(&records[begin..end])), [], "{} {begin}..{end}", run.display());
        }
        for end in (0..records.len()).step_by(50) {
            assert_eq!(accused(&judged(&records[..end])), [], "{} ..{end}", run.display());
        }
    }
}

/// The same records at another time, by ranks of other numbers.
fn moved(records: &[Record], by_ns: u64, number: impl Fn(u32) -> u32) -> Vec<Record> {
    let known: Vec<u32> = (0..8).map(&number).collect();
    let one = |record: &Record| {
        let mut record = record.clone();
        record.rank = number(record.rank);
        record.time_ns += by_ns;
        match &mut record.body {
            Body::Ended(ended) => {
                (ended.succ, ended.pred) = (ended.succ.map(&number), ended.pred.map(&number));
            }
            Body::Broken(broken) => broken.peer = number(broken.peer),
            Body::Heartbeat(heartbeat) => heartbeat.to.clone_from(&known),
            _ => {}
        }
        record
    };
    records.iter().map(one).collect()
}

#[test]
fn other_times_and_numbers_of_ranks_change_nothing_else() {
    for run in shipped() {
        let records = Recording::read(&run).records();
        let by_ns = 7_000_000_000_000;
        let (before, after) = (judged(&records), judged(&moved(&records, by_ns, |rank| 1000 - 3 * rank)));
        let told = |one: &LiveIncident, by_ns: u64, number: &dyn Fn(u32) -> u32| {
            let ranks: Vec<u32> = one.suspects.iter().map(|suspect| number(suspect.place.rank())).collect();
            (one.kind, one.opened_ns + by_ns, one.confirmed_ns.map(|ns| ns + by_ns), ranks)
        };
        let before: Vec<_> = before.iter().map(|one| told(one, by_ns, &|rank| 1000 - 3 * rank)).collect();
        let after: Vec<_> = after.iter().map(|one| told(one, 0, &|rank| rank)).collect();
        assert_eq!(before, after, "{}", run.display());
    }
}

#[test]
fn records_of_a_rank_that_end_while_the_job_goes_on_accuse_nobody() {
    for run in shipped().into_iter().chain(all()) {
        let mut records = before_the_fault(&Recording::read(&run));
        if Recording::read(&run).is_starved || records.len() < 400 {
            continue;
        }
        let cut_ns = records[records.len() / 2].time_ns;
        records.retain(|record| record.rank != 2 || record.time_ns <= cut_ns);
        assert_eq!(accused(&judged(&records)), [], "{}", run.display());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_of_a_sound_job_that_are_lost_by_chance_accuse_nobody(seed in any::<u64>(), of in 20_u64..400) {
        for run in shipped() {
            let mut state = seed | 1;
            let mut records = before_the_fault(&Recording::read(&run));
            records.retain(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % of != 0
            });
            prop_assert_eq!(accused(&judged(&records)), []);
        }
    }
}
