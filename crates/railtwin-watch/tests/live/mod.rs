//! Live records that come in while a job runs: the incident is told, once, by a watch that is killed on the way, too.
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use railtwin_units::SimTime;
use railtwin_watch::{EventKind, IncidentEvent, LookTime, Watch, WatchSettings};
use serde_json::Value;

/// Lines of records of all ranks with their files, in the order of their times.
fn lines(recording: &Path) -> Vec<(u64, PathBuf, String)> {
    let mut all = Vec::new();
    for rank in 0..8 {
        let name = PathBuf::from(format!("r{rank}.jsonl"));
        let text = std::fs::read_to_string(recording.join(&name)).expect("a recording");
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).expect("a record");
            all.push((record["t"].as_u64().expect("a time"), name.clone(), format!("{line}\n")));
        }
    }
    all.sort();
    all
}

fn settings(folder: &Path, state: &Path) -> WatchSettings {
    WatchSettings {
        folder: folder.to_owned(),
        state: state.to_owned(),
        hang: SimTime::from_ps(5_000_000_000_000),
        keep_s: 86_400,
        fabric: None,
        names: None,
        job: "job".to_owned(),
    }
}

/// Plays a recording into a folder and watches it, a tenth of a second at a time; records come up to `late_ns` after they were
/// made, cut anywhere. The watch is killed at each of these looks.
fn played(name: &str, kills: &[usize]) -> (Vec<IncidentEvent>, Vec<String>) {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/live").join(name);
    let folder = tempfile::tempdir().expect("a folder");
    let (job, state) = (folder.path().join("live/run-1"), folder.path().join("state"));
    std::fs::create_dir_all(&job).expect("made");
    let watched = folder.path().join("live");
    let mut watch = Watch::open(settings(&watched, &state)).expect("opened");
    let all = lines(&recording);
    let first_ns = all.first().expect("records").0;
    let mut told = Vec::new();
    let mut rest = all.iter().peekable();
    let mut cut: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut look = 0;
    while rest.peek().is_some() {
        look += 1;
        let now_ns = look as u64 * 100_000_000;
        while let Some((_, file, line)) = rest.next_if(|line| line.0 <= first_ns + now_ns) {
            let text = cut.remove(file).unwrap_or_default() + line;
            // Half of a line is written, and the rest comes with the next one.
            let end = if look % 3 == 0 { text.len() / 2 } else { text.len() };
            let mut out = OpenOptions::new().create(true).append(true).open(job.join(file)).expect("opened");
            out.write_all(&text.as_bytes()[..end]).expect("written");
            if end < text.len() {
                cut.insert(file.clone(), text[end..].to_owned());
            }
        }
        if kills.contains(&look) {
            drop(watch);
            watch = Watch::open(settings(&watched, &state)).expect("opened again");
        }
        let at = LookTime { own_ns: 5_000_000_000 + now_ns, wall_ns: 1_900_000_000_000_000_000 + now_ns };
        let events = if look % 10 == 1 { watch.look(at) } else { watch.look_at_live(at) };
        told.extend(events.expect("looked"));
    }
    let journal = std::fs::read_to_string(state.join("incidents.jsonl")).expect("a journal");
    (told, journal.lines().map(str::to_owned).collect())
}

fn truth(name: &str) -> (u64, u64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/live").join(name).join("truth.json");
    let truth: Value = serde_json::from_slice(&std::fs::read(path).expect("read")).expect("a truth");
    (truth["rank"].as_u64().expect("a rank"), truth["t2"].as_u64().expect("a time"))
}

#[test]
fn a_fault_is_told_once_whenever_the_watch_is_killed() {
    for (name, kind) in
        [("kill-0", "killed-process"), ("silent1-0", "silent-link"), ("thr_up-0", "slow-link")]
    {
        let (rank, fault_ns) = truth(name);
        for kills in [&[][..], &[7], &[20, 45, 46], &[30, 52, 60, 80]] {
            let (told, journal) = played(name, kills);
            let opened: Vec<&IncidentEvent> =
                told.iter().filter(|event| event.what == EventKind::Opened).collect();
            assert_eq!(opened.len(), 1, "{name} {kills:?}: {told:?}");
            let incident = &opened[0].incident;
            assert_eq!(incident["kind"], kind, "{name} {kills:?}");
            assert_eq!(incident["suspects"][0]["rank"], rank, "{name} {kills:?}");
            assert_eq!(incident["job"], "run-1");
            let seconds = (incident["opened_at"].as_u64().expect("a time") as f64 - fault_ns as f64) / 1e9;
            assert!((-0.01..3.0).contains(&seconds), "{name} {kills:?}: {seconds}");
            let lines: Vec<String> = told.iter().map(|event| event.line.clone()).collect();
            assert_eq!(lines, journal, "{name} {kills:?}: the journal has what was told");
        }
    }
}
