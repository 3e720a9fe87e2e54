//! Evidence that is written in pieces, rotated and truncated: incidents are those that `diagnose` finds in the whole, and
//! none is told twice, also by a watch that is killed and started again.
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use railtwin::diagnose::{Inputs, diagnose};
use railtwin_units::SimTime;
use railtwin_watch::{EventKind, IncidentEvent, LookTime, Watch, WatchSettings};

use crate::writer::{Lot, Writer};

const ROUNDS: usize = 12;

/// Folders with evidence of one incident each: those that are shipped, and the public reports where they are at hand.
fn evidence() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shipped = [
        "data/telemetry/nccl_one_gpu/gil/log",
        "data/telemetry/nccl_one_gpu/kernel/log",
        "data/telemetry/flight_recorder/gpu_error_1st",
        "data/telemetry/nccl_one_gpu/killed/log",
        "data/telemetry/ras_inspector",
    ];
    let mut folders: Vec<PathBuf> =
        shipped.iter().map(|name| root.join(name)).filter(|folder| folder.is_dir()).collect();
    assert!(folders.len() >= 3, "the shipped evidence is there: {folders:?}");
    let reports = root.join("../shared/data/reports");
    match std::fs::read_dir(&reports) {
        Ok(entries) => {
            let mut all: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            all.sort();
            folders.extend(all.into_iter().filter(|path| is_evidence(path)));
        }
        Err(_) => {
            let loud =
                b"SKIPPED: ../shared/data/reports is not there; the shipped evidence alone is watched\n";
            std::io::stderr().write_all(loud).expect("standard error is open");
        }
    }
    folders
}

fn is_evidence(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.is_dir() || (!name.ends_with(".md") && !name.ends_with(".toml"))
}

/// Findings: their identities with their confidences.
type Found = BTreeMap<String, String>;

fn whole(folder: &Path) -> Found {
    let Ok(inputs) = Inputs::read(&[folder.to_owned()], "job") else { return Found::new() };
    let told = diagnose(inputs, None, "job").expect("evidence is judged");
    let one = |finding: &railtwin_records::Finding| (finding.id(), format!("{:.3}", finding.confidence));
    told.findings.iter().map(one).collect()
}

fn open(watch: &Watch) -> Found {
    let standing = watch.board().incidents().filter(|(_, standing)| standing.is_open());
    let one = |finding: &serde_json::Value| {
        let confidence = finding["confidence"].as_f64().unwrap_or(-1.0);
        (finding["id"].as_str().unwrap_or("").to_owned(), format!("{confidence:.3}"))
    };
    standing.map(|(_, standing)| one(&standing.incident["finding"])).collect()
}

fn settings(folder: &Path, state: &Path) -> WatchSettings {
    WatchSettings {
        folder: folder.to_owned(),
        state: state.to_owned(),
        hang: SimTime::from_ps(30_000_000_000_000),
        keep_s: 1_000_000_000,
        fabric: None,
        names: None,
        job: "job".to_owned(),
    }
}

/// A copy of evidence, alone in a folder.
fn alone(evidence: &Path, at: &Path) -> PathBuf {
    let to = at.join("whole");
    std::fs::create_dir_all(&to).expect("made");
    if evidence.is_file() {
        std::fs::copy(evidence, to.join(evidence.file_name().expect("named"))).expect("copied");
        return to;
    }
    evidence.to_owned()
}

/// Watches evidence while it is written; the watch is killed between looks where the lot says so.
fn watched(evidence: &Path, seed: u64) -> (Found, Found, Vec<IncidentEvent>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (live, state) = (folder.path().join("live"), folder.path().join("state"));
    std::fs::create_dir_all(&live).expect("made");
    let whole_folder = alone(evidence, folder.path());
    let mut writer = Writer::new(&whole_folder, &live, seed);
    let mut lot = Lot::new(seed ^ 77);
    let mut watch = Some(Watch::open(settings(&live, &state)).expect("opened"));
    let mut told = Vec::new();
    let wall_ns = 1_900_000_000_000_000_000;
    for round in 0..ROUNDS {
        writer.write(round, ROUNDS);
        // The clock of files is that of the machine: what changed now is not whole yet for a watch of then.
        let at = LookTime { own_ns: round as u64 * 10_000_000_000, wall_ns: 1_700_000_000_000_000_000 };
        if lot.below(3) == 0 {
            drop(watch.take());
        }
        let mut running =
            watch.take().unwrap_or_else(|| Watch::open(settings(&live, &state)).expect("opened again"));
        while running.is_judging() {
            std::thread::sleep(std::time::Duration::from_millis(1));
            told.extend(running.look_at_live(at).expect("looked"));
        }
        told.extend(running.look(at).expect("looked"));
        if lot.below(2) == 0 {
            told.extend(running.settle(at).expect("settled"));
        }
        watch = Some(running);
    }
    let mut watch = watch.expect("runs");
    told.extend(watch.settle(LookTime { own_ns: 1_000_000_000_000, wall_ns }).expect("settled"));
    let lost = writer.not_whole(&state.join("spool"), &live);
    assert_eq!(lost, Vec::<PathBuf>::new(), "{}, seed {seed}: logs are taken whole", evidence.display());
    // The whole lies where it was watched, since some answers name their files.
    std::fs::remove_dir_all(&live).expect("removed");
    Writer::new(&whole_folder, &live, seed).write(0, 1);
    (whole(&live), open(&watch), told)
}

#[test]
fn incidents_are_those_of_the_whole_and_are_told_once() {
    let seeds = std::env::var("WATCHED_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let mut with_findings = 0;
    for evidence in evidence() {
        for seed in 0..seeds {
            let (whole, open, told) = watched(&evidence, seed);
            let name = evidence.display();
            let lines = || told.iter().map(|event| event.line.as_str()).collect::<Vec<_>>().join("\n");
            assert_eq!(open, whole, "{name}, seed {seed}:\n{}", lines());
            with_findings += usize::from(!whole.is_empty());
            let numbers: Vec<u64> = told.iter().map(|event| event.number).collect();
            assert!(
                numbers.windows(2).all(|pair| pair[1] == pair[0] + 1),
                "{name}, seed {seed}: {numbers:?}"
            );
            let opened = told.iter().filter(|event| event.what == EventKind::Opened).map(IncidentEvent::id);
            let mut opened: Vec<u64> = opened.collect();
            let all = opened.len();
            opened.sort_unstable();
            opened.dedup();
            assert_eq!(opened.len(), all, "{name}, seed {seed}: an incident is opened once");
        }
    }
    assert!(with_findings > 0, "evidence accuses somebody");
}

#[test]
fn what_is_gone_is_closed_and_comes_back_as_the_same_incident() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/flight_recorder/gpu_error_1st");
    let folder = tempfile::tempdir().expect("a folder");
    let (live, state) = (folder.path().join("live"), folder.path().join("state"));
    std::fs::create_dir_all(&live).expect("made");
    Writer::new(&root, &live, 1).write(0, 1);
    let at = |seconds: u64| LookTime {
        own_ns: seconds * 1_000_000_000,
        wall_ns: 1_900_000_000_000_000_000 + seconds * 1_000_000_000,
    };
    let mut watch = Watch::open(settings(&live, &state)).expect("opened");
    let names =
        |events: &[IncidentEvent]| events.iter().map(|event| (event.id(), event.what)).collect::<Vec<_>>();
    let opened = watch.settle(at(0)).expect("settled");
    assert_eq!(names(&opened), [(1, EventKind::Opened), (2, EventKind::Opened)]);
    assert_eq!(watch.settle(at(1)).expect("settled"), []);
    drop(watch);
    // Nothing is kept so long: the evidence expires.
    let forgets = WatchSettings { keep_s: 1, ..settings(&live, &state) };
    let mut watch = Watch::open(forgets).expect("opened again");
    let closed = watch.settle(at(2)).expect("settled");
    assert_eq!(names(&closed), [(1, EventKind::Closed), (2, EventKind::Closed)]);
}

#[test]
fn wrong_folders_and_states_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (live, state) = (folder.path().join("live"), folder.path().join("state"));
    let refused = |settings: WatchSettings| Watch::open(settings).expect_err("refused").to_string();
    assert!(refused(settings(&live, &state)).contains("name a folder that is there"));
    assert!(!state.exists(), "nothing is written for a call that is refused");
    std::fs::create_dir_all(&live).expect("made");
    let watch = Watch::open(settings(&live, &state)).expect("opened");
    assert!(refused(settings(&live, &state)).contains("another watch"));
    drop(watch);
    assert!(refused(settings(folder.path(), &state)).contains("is the state of a watch of"));
    std::fs::write(state.join("state.json"), "{").expect("written");
    assert!(refused(settings(&live, &state)).contains("cannot read"));
}
