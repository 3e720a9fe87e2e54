//! The journal of events and the state of a watch, so that a watch that was killed goes on and tells nothing twice.
//!
//! The state is replaced whole, with the events that it gave rise to; then these are appended to the journal. A watch that
//! dies in between appends them when it starts again.
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use railtwin_store::atomic::write_whole;
use serde::{Deserialize, Serialize};

use crate::error::WatchError;
use crate::event::IncidentEvent;
use crate::findings::Findings;
use crate::follow::Follower;
use crate::jobs::Jobs;
use crate::spool::Index;

/// Version of the state: a later one is not read.
const VERSION: u32 = 1;
/// The files in the folder of the state.
const STATE: &str = "state.json";
const LOCK: &str = "lock";
/// The journal, one event a line.
pub const JOURNAL: &str = "incidents.jsonl";

/// State of a watch, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    version: u32,
    /// The folder that it watches.
    pub(crate) folder: PathBuf,
    pub(crate) follower: Follower,
    pub(crate) spool: Index,
    pub(crate) jobs: Jobs,
    pub(crate) findings: Findings,
    /// Whether the spool holds what no judgement has seen.
    pub(crate) unjudged: bool,
    pub(crate) next_event: u64,
    pub(crate) next_id: u64,
    /// Lines of events that may not stand in the journal yet.
    pending: Vec<String>,
}

impl State {
    fn new(folder: &Path) -> Self {
        Self {
            version: VERSION,
            folder: folder.to_owned(),
            follower: Follower::default(),
            spool: Index::default(),
            jobs: Jobs::default(),
            findings: Findings::default(),
            unjudged: false,
            next_event: 1,
            next_id: 1,
            pending: Vec::new(),
        }
    }
}

/// The folder of a state, which one watch at a time has.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    file: File,
    _lock: File,
}

impl Journal {
    /// Opens the state of a watch of `watched` in a folder, which is made where it is not there. Events of the state that do
    /// not stand in the journal are appended.
    ///
    /// # Errors
    /// [`WatchError::Busy`] where another watch has it, [`WatchError::Other`] where it is of another folder,
    /// [`WatchError::State`] for what the system says and for a state that cannot be read.
    pub(crate) fn open(folder: &Path, watched: &Path) -> Result<(Self, State), WatchError> {
        fs::create_dir_all(folder).map_err(WatchError::state("make", folder))?;
        let lock_path = folder.join(LOCK);
        let lock = File::create(&lock_path).map_err(WatchError::state("write", &lock_path))?;
        lock.try_lock().map_err(|_| WatchError::Busy(folder.to_owned()))?;
        let path = folder.join(JOURNAL);
        let file = OpenOptions::new().create(true).append(true).read(true).open(&path);
        let file = file.map_err(WatchError::state("write", &path))?;
        let mut state = read(&folder.join(STATE))?.unwrap_or_else(|| State::new(watched));
        if state.folder != watched {
            return Err(WatchError::Other { state: folder.to_owned(), other: state.folder });
        }
        let mut journal = Self { folder: folder.to_owned(), file, _lock: lock };
        let last = journal.mend()?;
        let pending = std::mem::take(&mut state.pending);
        let missing = pending.iter().filter_map(|line| IncidentEvent::of_line(line));
        let missing: Vec<IncidentEvent> = missing.filter(|event| event.number > last).collect();
        journal.append(&missing)?;
        // A state that was removed does not give numbers again.
        state.next_event = state.next_event.max(last + 1);
        Ok((journal, state))
    }

    /// Stores the state with the events that it gave rise to, then appends these.
    ///
    /// # Errors
    /// [`WatchError::State`] for what the system says.
    pub(crate) fn store(&mut self, state: &mut State, events: &[IncidentEvent]) -> Result<(), WatchError> {
        state.pending = events.iter().map(|event| event.line.clone()).collect();
        let path = self.folder.join(STATE);
        let text = serde_json::to_vec(state).map_err(std::io::Error::from);
        let text = text.map_err(WatchError::state("write", &path))?;
        write_whole(&path, &text).map_err(WatchError::state("write", &path))?;
        self.append(events)
    }

    fn append(&mut self, events: &[IncidentEvent]) -> Result<(), WatchError> {
        let text: String = events.iter().map(|event| format!("{}\n", event.line)).collect();
        let written = self.file.write_all(text.as_bytes()).and_then(|()| match text.is_empty() {
            true => Ok(()),
            false => self.file.sync_data(),
        });
        written.map_err(WatchError::state("write", &self.folder.join(JOURNAL)))
    }

    /// Cuts a line that was not written to its end; the number of the last event, 0 for none.
    fn mend(&mut self) -> Result<u64, WatchError> {
        let path = self.folder.join(JOURNAL);
        let mut text = Vec::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut text));
        read.map_err(WatchError::state("read", &path))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            self.file.set_len(whole as u64).map_err(WatchError::state("write", &path))?;
        }
        Ok(events_of(&text[..whole]).last().map_or(0, |event| event.number))
    }
}

/// The events of a journal.
pub(crate) fn events_of(text: &[u8]) -> Vec<IncidentEvent> {
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    lines.filter_map(IncidentEvent::of_line).collect()
}

fn read(path: &Path) -> Result<Option<State>, WatchError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(WatchError::state("read", path)(error)),
    };
    let broken = |problem: String| WatchError::State { verb: "read", path: path.to_owned(), problem };
    let state: State = serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
    match state.version {
        VERSION => Ok(Some(state)),
        other => Err(broken(format!("version {other}, this program knows {VERSION}"))),
    }
}
