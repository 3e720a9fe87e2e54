//! The judge alone in the place of a watcher: follows the files, prints the same events. For tests of the laboratory.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use railtwin_live::record::{Line, Record, line};
use railtwin_live::{JudgeSettings, LiveIncident, LiveJudge, reader};
use serde_json::{Value, json};

use crate::host::now_ns;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(200);

/// A thread that follows records; it ends when this is dropped.
#[derive(Debug)]
pub struct StandIn {
    ends: Arc<AtomicBool>,
}

impl StandIn {
    /// Follows the folders below `records`, one job each, and sends lines with the time.
    pub fn start(records: PathBuf, hang_s: f64, send: Sender<(u64, String)>) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        std::thread::spawn(move || {
            let mut jobs: BTreeMap<String, FollowedJob> = BTreeMap::new();
            while !told.load(Ordering::Relaxed) {
                for entry in std::fs::read_dir(&records).into_iter().flatten().flatten() {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    let job = jobs.entry(name).or_insert_with(|| FollowedJob::new(entry.path(), hang_s));
                    job.read();
                    for line in job.look(now_ns()) {
                        if send.send((now_ns(), line.to_string())).is_err() {
                            return;
                        }
                    }
                }
                std::thread::sleep(LOOK);
            }
        });
        Self { ends }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// A job with its judge.
struct FollowedJob {
    folder: PathBuf,
    judge: LiveJudge,
    files: BTreeMap<PathBuf, FollowedFile>,
    waiting: Vec<Record>,
    /// What has been said: states of incidents.
    said: BTreeSet<(u32, &'static str, u64)>,
}

#[derive(Default)]
struct FollowedFile {
    read: u64,
    rest: Vec<u8>,
}

impl FollowedJob {
    fn new(folder: PathBuf, hang_s: f64) -> Self {
        let judge = LiveJudge::new(JudgeSettings { hang_ns: (hang_s * 1e9) as u64 });
        Self { folder, judge, files: BTreeMap::new(), waiting: Vec::new(), said: BTreeSet::new() }
    }

    /// Reads what has been added to the files.
    fn read(&mut self) {
        let paths = std::fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in paths {
            let Some(rank) = path.to_str().and_then(reader::rank_of_name) else { continue };
            let file = self.files.entry(path.clone()).or_default();
            // A file that cannot be read now is read at the next look.
            let _ = file.take(&path);
            let Some(end) = file.rest.iter().rposition(|byte| *byte == b'\n') else { continue };
            let rest = file.rest.split_off(end + 1);
            let whole = std::mem::replace(&mut file.rest, rest);
            for text in whole.split(|byte| *byte == b'\n') {
                if let Ok(Line::Known(time_ns, body)) = line(text) {
                    self.waiting.push(Record { rank, time_ns, body });
                }
            }
        }
        self.waiting.sort_by_key(|record| record.time_ns);
        self.waiting.drain(..).for_each(|record| self.judge.feed(&record));
    }

    fn look(&mut self, now_ns: u64) -> Vec<Value> {
        self.judge.advance(now_ns);
        let job = self.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut events = Vec::new();
        for one in self.judge.incidents() {
            let states = [
                ("opened", Some(one.opened_ns)),
                ("confirmed", one.confirmed_ns),
                ("updated", Some(one.updated_ns)),
                ("closed", one.closed_ns),
            ];
            for (what, at) in states {
                let Some(at) = at else { continue };
                if self.said.insert((one.id, what, at)) {
                    events.push(event(what, &job, one));
                }
            }
        }
        events
    }
}

impl FollowedFile {
    fn take(&mut self, path: &Path) -> std::io::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.read))?;
        self.read += file.read_to_end(&mut self.rest)? as u64;
        Ok(())
    }
}

fn event(what: &str, job: &str, one: &LiveIncident) -> Value {
    let suspects = one.suspects.iter().map(|suspect| {
        let component = suspect.place.component(job);
        json!({
            "component": { "kind": component.kind(), "name": component.name() },
            "rank": suspect.place.rank(),
            "share": suspect.share,
        })
    });
    json!({
        "what": what,
        "incident": {
            "id": one.id, "source": "records", "job": job, "kind": one.kind.name(), "accuses": one.accuses(),
            "opened_at": one.opened_ns, "updated_at": one.updated_ns, "confirmed_at": one.confirmed_ns,
            "closed_at": one.closed_ns, "suspects": suspects.collect::<Vec<_>>(),
            "edge": one.edge.map(|(from, to)| json!({ "from": from, "to": to })),
        },
    })
}
