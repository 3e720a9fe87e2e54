//! What is said of a recording beside what was done to it.
use std::fmt;
use std::path::Path;

use railtwin_live::reader::{RankFile, merged, rank_of_name, read};
use railtwin_live::record::Record;
use railtwin_live::{JudgeSettings, LiveIncident, LiveKind, SuspectPlace, replay};
use serde_json::Value;

/// The hang limit of the score, ns.
pub const HANG_NS: u64 = 5_000_000_000;

/// What was done.
#[derive(Clone, Debug)]
pub struct Truth {
    pub fault: String,
    pub rank: u32,
    /// When it was done at the latest, ns.
    pub until_ns: u64,
    pub from_ns: u64,
}

/// A recording: records in the order of time, and the truth where a fault was made.
#[derive(Clone, Debug)]
pub struct Recording {
    pub name: String,
    pub files: Vec<RankFile>,
    pub truth: Option<Truth>,
    pub is_starved: bool,
}

impl Recording {
    /// Reads a folder.
    pub fn read(folder: &Path) -> Self {
        let mut paths: Vec<_> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        paths.sort();
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let files = paths.iter().filter_map(|path| {
            Some((path.file_name()?.to_string_lossy().into_owned(), std::fs::read(path).ok()?))
        });
        Self::of(&name, files)
    }

    /// The recording of a name, of files with their names, in the order of these.
    pub fn of(name: &str, files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut recording = Self {
            name: name.to_owned(),
            files: Vec::new(),
            truth: None,
            is_starved: name.contains("starved"),
        };
        for (file, bytes) in files {
            if file == "truth.json" {
                recording.truth = truth(&bytes);
            } else if file.ends_with(".jsonl") {
                recording.files.push(read(&bytes, rank_of_name(&file)));
            }
        }
        recording
    }

    pub fn records(&self) -> Vec<Record> {
        merged(self.files.clone())
    }
}

fn truth(bytes: &[u8]) -> Option<Truth> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    Some(Truth {
        fault: value["fault"].as_str()?.to_owned(),
        rank: u32::try_from(value["rank"].as_u64()?).ok()?,
        from_ns: value["t"].as_u64()?,
        until_ns: value["t2"].as_u64()?,
    })
}

/// What a fault must be called, within how many seconds of it, and whether both NICs of the connection are an answer.
struct Wanted {
    kind: LiveKind,
    open_s: f64,
    named_s: f64,
    both: bool,
}

fn wanted(fault: &str) -> Wanted {
    let of = |kind, open_s, named_s, both| Wanted { kind, open_s, named_s, both };
    match fault {
        "kill" => of(LiveKind::KilledProcess, 2.0, 2.0, false),
        "stop" => of(LiveKind::StoppedProcess, 2.0, 2.0, false),
        "silent1" | "silent2" => of(LiveKind::SilentLink, 2.0, 2.0, false),
        "slowcomp" => of(LiveKind::SlowCompute, 3.0, 3.0, false),
        "slowdata" => of(LiveKind::SlowData, 3.0, 3.0, false),
        "thr_up" | "thr_down" => of(LiveKind::SlowLink, 3.0, 3.0, false),
        "drop2" => of(LiveKind::LossyLink, 3.0, 10.0, false),
        _ => of(LiveKind::LossyLink, 3.0, 10.0, true),
    }
}

/// What was said of a recording.
#[derive(Clone, Debug, Default)]
pub struct Scored {
    pub fault: String,
    pub opened_s: Option<f64>,
    pub confirmed_s: Option<f64>,
    pub named: String,
    pub wrong: Vec<String>,
}

impl Scored {
    pub fn is_right(&self) -> bool {
        self.wrong.is_empty()
    }
}

impl fmt::Display for Scored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let (opened, confirmed) = (seconds(self.opened_s), seconds(self.confirmed_s));
        let verdict = if self.is_right() { "right".to_owned() } else { self.wrong.join("; ") };
        write!(f, "{:<9} {opened:>8} {confirmed:>9}  {:<44} {verdict}", self.fault, self.named)
    }
}

/// Judges records with the hang limit of the score.
pub fn judged(records: &[Record]) -> Vec<LiveIncident> {
    replay::incidents(records, JudgeSettings { hang_ns: HANG_NS })
}

fn named(incident: &LiveIncident) -> String {
    let suspects: Vec<String> = (incident.suspects.iter())
        .map(|suspect| match suspect.place {
            SuspectPlace::Rank(rank) => format!("rank {rank} {:.2}", suspect.share),
            SuspectPlace::Nic(rank) => format!("nic {rank} {:.2}", suspect.share),
        })
        .collect();
    format!("{} {}", incident.kind.name(), suspects.join(", "))
}

/// Scores a recording.
pub fn score(recording: &Recording) -> Scored {
    let records = recording.records();
    let incidents = judged(&records);
    let mut scored = Scored::default();
    let Some(truth) = &recording.truth else {
        scored.fault = "none".into();
        let names: Vec<String> = incidents.iter().map(named).collect();
        scored.named = names.join("; ");
        scored.wrong.extend(
            incidents.iter().filter(|one| one.accuses()).map(|one| format!("accused: {}", named(one))),
        );
        let starved = incidents.iter().any(|one| one.kind == LiveKind::ObserverStarved);
        if starved != recording.is_starved {
            scored.wrong.push(format!("starved: {starved}"));
        }
        return scored;
    };
    scored.fault.clone_from(&truth.fault);
    let wanted = wanted(&truth.fault);
    let after = |time_ns: u64| (time_ns as f64 - truth.from_ns as f64) / 1e9;
    let mine = incidents.iter().find(|one| one.kind == wanted.kind);
    let others = incidents.iter().filter(|one| Some(one.id) != mine.map(|mine| mine.id));
    scored.wrong.extend(others.map(|one| format!("also {} at {:.1} s", named(one), after(one.opened_ns))));
    let Some(mine) = mine else {
        scored.wrong.push("not found".into());
        return scored;
    };
    scored.named = named(mine);
    scored.opened_s = Some(after(mine.opened_ns));
    scored.confirmed_s = mine.confirmed_ns.map(after);
    if mine.opened_ns < truth.from_ns || after(mine.opened_ns) > wanted.open_s {
        scored.wrong.push(format!("opened at {:.2} s", after(mine.opened_ns)));
    }
    // Whoever reads along sees the first answer at once and the last one by the time that is asked for.
    let cut = truth.until_ns + (wanted.named_s * 1e9) as u64;
    let by_then: Vec<Record> = records.into_iter().filter(|record| record.time_ns <= cut).collect();
    let answer = judged(&by_then).into_iter().find(|one| one.id == mine.id);
    for (when, incident) in [("in time", answer.as_ref()), ("at the end", Some(mine))] {
        let first = incident.and_then(|one| one.suspects.first()).map(|suspect| suspect.place.rank());
        let of_edge =
            incident.and_then(|one| one.edge).is_some_and(|(from, to)| [from, to].contains(&truth.rank));
        if first != Some(truth.rank) && !(wanted.both && of_edge) {
            scored.wrong.push(format!("{when} named {first:?}, not {}", truth.rank));
        }
    }
    let limit_s = HANG_NS as f64 / 1e9 + 0.5;
    if wanted.kind.stops() && scored.confirmed_s.is_none_or(|confirmed| confirmed > limit_s) {
        scored.wrong.push("not confirmed in time".into());
    }
    scored
}
