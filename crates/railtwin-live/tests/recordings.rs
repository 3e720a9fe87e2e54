//! The recordings of eight real ranks under faults: the small ones of this repository, and all where they are at hand.
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use railtwin_live::record::{Body, Record};
use railtwin_live::replay::Pace;
use railtwin_live::{JudgeSettings, LiveIncident, LiveJudge, LiveKind};

use crate::score::{HANG_NS, Recording, judged, score};

/// Short cuts of three recordings; see the README beside them.
fn shipped() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/live");
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.join("r0.jsonl").is_file()).collect();
    folders.sort();
    folders.iter().map(|folder| Recording::read(folder)).collect()
}

/// The shipped recordings, and all where the shared data lies beside the repository.
fn all() -> Vec<Recording> {
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/live_ranks/recordings.tar.gz");
    let mut files: BTreeMap<String, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
    match std::fs::File::open(archive) {
        Ok(file) => {
            let mut members = tar::Archive::new(flate2::read::GzDecoder::new(file));
            for member in members.entries().expect("the archive is whole") {
                let mut member = member.expect("the archive is whole");
                let path = member.path().expect("names are text").to_string_lossy().into_owned();
                let mut parts = path.rsplit('/');
                let (Some(name), Some(run)) = (parts.next(), parts.next()) else { continue };
                let mut bytes = Vec::new();
                member.read_to_end(&mut bytes).expect("the archive is whole");
                files.entry(run.to_owned()).or_default().insert(name.to_owned(), bytes);
            }
        }
        // Past the harness, which shows nothing of tests that pass.
        Err(_) => {
            let loud =
                b"SKIPPED: ../shared/data/live_ranks is not there; the cuts in data/live alone are judged\n";
            std::io::stderr().write_all(loud).expect("standard error is open");
        }
    }
    let unpacked = files.into_iter().filter(|(_, files)| files.contains_key("r0.jsonl"));
    shipped().into_iter().chain(unpacked.map(|(run, files)| Recording::of(&run, files))).collect()
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
    let runs = all();
    assert!(runs.len() >= 3, "the shipped recordings are there");
    for run in runs {
        let scored = score(&run);
        assert!(scored.is_right(), "{}: {scored}", run.name);
    }
}

#[test]
fn nobody_is_accused_before_the_fault_wherever_records_end() {
    for run in all().into_iter().filter(|run| run.truth.is_some()) {
        let records = before_the_fault(&run);
        // Cut at every 50th record, and begun at every 400th: windows fill from anywhere.
        for begin in (0..records.len()).step_by(400) {
            let end = records.len();
            assert_eq!(accused(&judged(&records[begin..end])), [], "{} {begin}..{end}", run.name);
        }
        for end in (0..records.len()).step_by(50) {
            assert_eq!(accused(&judged(&records[..end])), [], "{} ..{end}", run.name);
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
        let records = run.records();
        let by_ns = 7_000_000_000_000;
        let (before, after) = (judged(&records), judged(&moved(&records, by_ns, |rank| 1000 - 3 * rank)));
        let told = |one: &LiveIncident, by_ns: u64, number: &dyn Fn(u32) -> u32| {
            let ranks: Vec<u32> = one.suspects.iter().map(|suspect| number(suspect.place.rank())).collect();
            (one.kind, one.opened_ns + by_ns, one.confirmed_ns.map(|ns| ns + by_ns), ranks)
        };
        let before: Vec<_> = before.iter().map(|one| told(one, by_ns, &|rank| 1000 - 3 * rank)).collect();
        let after: Vec<_> = after.iter().map(|one| told(one, 0, &|rank| rank)).collect();
        assert_eq!(before, after, "{}", run.name);
    }
}

#[test]
fn records_of_a_rank_that_end_while_the_job_goes_on_accuse_nobody() {
    for run in all() {
        let mut records = before_the_fault(&run);
        if run.is_starved || records.len() < 400 {
            continue;
        }
        let cut_ns = records[records.len() / 2].time_ns;
        records.retain(|record| record.rank != 2 || record.time_ns <= cut_ns);
        assert_eq!(accused(&judged(&records)), [], "{}", run.name);
    }
}

#[test]
fn a_judge_that_is_stored_and_read_back_goes_on_as_if_it_had_not_been() {
    for run in shipped() {
        let records = run.records();
        let told =
            |one: &LiveIncident| (one.id, one.kind, one.suspects.clone(), one.opened_ns / 1_000_000_000);
        let whole: Vec<_> = judged(&records).iter().map(told).collect();
        let (mut judge, mut pace) = (LiveJudge::new(JudgeSettings { hang_ns: HANG_NS }), Pace::default());
        for part in records.chunks(97) {
            pace.take(&mut judge, part);
            let stored = serde_json::to_string(&(&judge, &pace)).expect("a judge can be stored");
            (judge, pace) = serde_json::from_str(&stored).expect("a judge can be read back");
        }
        let parts: Vec<_> = judge.incidents().iter().map(told).collect();
        assert_eq!(parts, whole, "{}", run.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_of_a_sound_job_that_are_lost_by_chance_accuse_nobody(seed in any::<u64>(), of in 20_u64..400) {
        for run in shipped() {
            let mut state = seed | 1;
            let mut records = before_the_fault(&run);
            records.retain(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % of != 0
            });
            prop_assert_eq!(accused(&judged(&records)), []);
        }
    }
}
