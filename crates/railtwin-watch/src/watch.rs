//! A watch: looks at a folder, feeds judges, numbers what changes of incidents.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use railtwin::Question;
use railtwin_units::SimTime;

use crate::board::Board;
use crate::error::WatchError;
use crate::event::{Change, IncidentEvent};
use crate::follow::{Look, Piece};
use crate::journal::{JOURNAL, Journal, State, events_of};
use crate::judgement::{Judge, Judged, Site};
use crate::page;
use crate::spool::Spool;

/// Time between two stores of a state in which nothing was told, ns.
const STORE_NS: u64 = 2_000_000_000;
/// A judgement is followed by another one after this many times the time that it took, so that judging takes at most a fifth
/// of a processor.
const REST: u64 = 4;
/// A file that has not changed for so long when it is first seen is whole, ns.
const SETTLED_NS: u64 = 2_000_000_000;

/// Settings of a watch.
#[derive(Clone, Debug)]
pub struct WatchSettings {
    /// The folder.
    pub folder: PathBuf,
    /// Folder of the state, the journal, the spool and pages.
    pub state: PathBuf,
    /// A job that does not move for so long hangs.
    pub hang: SimTime,
    /// Files without a change for this time are no longer judged, s.
    pub keep_s: u64,
    /// A scenario whose fabric the hosts are in.
    pub fabric: Option<PathBuf>,
    /// A file of names of the fabric.
    pub names: Option<PathBuf>,
    /// Name of the job where files tell none.
    pub job: String,
}

/// A moment: `own_ns` never goes back; `wall_ns` is since 1970.
#[derive(Clone, Copy, Debug)]
pub struct LookTime {
    /// Time of a clock that never goes back, ns.
    pub own_ns: u64,
    /// Time since 1970, ns.
    pub wall_ns: u64,
}

/// A watch over a folder.
#[derive(Debug)]
pub struct Watch {
    settings: WatchSettings,
    journal: Journal,
    state: State,
    spool: Spool,
    judge: Judge,
    board: Board,
    /// The newest judgement, while some of it is not told yet.
    judged: Option<Judged>,
    asked_ns: u64,
    rest_until_ns: u64,
    stored_ns: Option<u64>,
    /// Something to store that no event tells.
    is_changed: bool,
}

impl Watch {
    /// Opens a watch: a new one, or one that goes on where it was ended or killed.
    ///
    /// # Errors
    /// [`WatchError`]: what is wrong with the folder, the state, the scenario or the names.
    pub fn open(settings: WatchSettings) -> Result<Self, WatchError> {
        let about = settings.folder.metadata();
        let wrong = match about {
            Ok(about) if about.is_dir() => None,
            Ok(_) => Some("is no folder".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = wrong {
            return Err(WatchError::Folder { path: settings.folder, problem });
        }
        let question = settings.fabric.as_deref().map(Question::read).transpose()?;
        let site = Site {
            question,
            names: settings.names.clone(),
            hang: settings.hang,
            job: settings.job.clone(),
            folder: settings.folder.clone(),
        };
        site.check()?;
        let (mut journal, mut state) = Journal::open(&settings.state, &settings.folder)?;
        let root = settings.state.join("spool");
        let index = std::mem::take(&mut state.spool);
        let (spool, gone) = Spool::open(root.clone(), index).map_err(WatchError::state("read", &root))?;
        state.follower.lose(&gone);
        state.spool = spool.index.clone();
        state.unjudged |= state.findings.waits() || !gone.is_empty();
        journal.store(&mut state, &[])?;
        let events = std::fs::read(settings.state.join(JOURNAL)).unwrap_or_default();
        let board = Board::of(&events_of(&events));
        Ok(Self {
            judge: Judge::new(Arc::new(site)),
            settings,
            journal,
            state,
            spool,
            board,
            judged: None,
            asked_ns: 0,
            rest_until_ns: 0,
            stored_ns: None,
            is_changed: false,
        })
    }

    /// Incidents and counts, for metrics and pages.
    pub const fn board(&self) -> &Board {
        &self.board
    }

    /// Folder of the state.
    pub fn state_folder(&self) -> &Path {
        &self.settings.state
    }

    /// Whether files of live records are followed, which are looked at more often than all others.
    pub fn has_live(&self) -> bool {
        self.state.follower.has_live()
    }

    /// Whether files are being judged, so that no others are looked at.
    pub const fn is_judging(&self) -> bool {
        self.judge.is_busy()
    }

    /// Looks at the files of live records, and takes the judgement of the others where one is ready.
    ///
    /// # Errors
    /// [`WatchError::State`].
    pub fn look_at_live(&mut self, at: LookTime) -> Result<Vec<IncidentEvent>, WatchError> {
        let spool = &self.spool;
        let tail = |name: &str, most: usize| spool.tail(name, most);
        let look = self.state.follower.look_at_live(&self.settings.folder, &tail);
        let mut changes = self.take(look, at)?;
        if let Some(judged) = self.judge.answer() {
            changes.extend(self.take_judged(judged, at, false));
        }
        self.tell(changes, at)
    }

    /// Looks at all files, and has them judged where something is new.
    ///
    /// # Errors
    /// [`WatchError::State`].
    pub fn look(&mut self, at: LookTime) -> Result<Vec<IncidentEvent>, WatchError> {
        // What is judged is not written to meanwhile.
        if self.judge.is_busy() {
            return self.look_at_live(at);
        }
        let mut changes = self.look_at_all(at)?;
        if self.state.unjudged {
            self.ask(at);
        } else if let Some(judged) = self.judged.take() {
            // Nothing has come since: what it says stays.
            changes.extend(self.take_judged(judged, at, true));
        }
        self.tell(changes, at)
    }

    /// Looks at all files and waits until they are judged and everything is told, as if nothing more came.
    ///
    /// # Errors
    /// [`WatchError::State`].
    pub fn settle(&mut self, at: LookTime) -> Result<Vec<IncidentEvent>, WatchError> {
        let mut changes = Vec::new();
        if let Some(judged) = self.judge.wait() {
            changes.extend(self.take_judged(judged, at, false));
        }
        // What was not whole at the first look is taken at the second.
        for _ in 0..2 {
            changes.extend(self.look_at_all(at)?);
        }
        self.state.unjudged |= self.state.findings.waits();
        if self.state.unjudged {
            self.rest_until_ns = 0;
            self.ask(at);
            if let Some(judged) = self.judge.wait() {
                changes.extend(self.take_judged(judged, at, true));
            }
        }
        self.is_changed = true;
        self.tell(changes, at)
    }

    fn look_at_all(&mut self, at: LookTime) -> Result<Vec<Change>, WatchError> {
        let spool = &self.spool;
        let tail = |name: &str, most: usize| spool.tail(name, most);
        let settled_ns = at.wall_ns.saturating_sub(SETTLED_NS);
        let look = self.state.follower.look(&self.settings.folder, &self.settings.state, settled_ns, &tail);
        self.board.unread_files = look.unread.len() as u64;
        self.is_changed = true;
        // Also a file of which nothing is taken yet is known again after a restart, whatever happens to it meanwhile.
        if self.state.follower.len() as u64 != self.board.files {
            self.stored_ns = None;
        }
        let changes = self.take(look, at)?;
        let before_ns = at.wall_ns.saturating_sub(self.settings.keep_s.saturating_mul(1_000_000_000));
        let gone = self.spool.expire(before_ns).map_err(WatchError::state("write", self.spool.root()))?;
        self.state.unjudged |= !gone.is_empty();
        gone.iter().for_each(|name| self.state.follower.forget(&self.settings.folder, name));
        self.board.looked_ns = at.wall_ns;
        self.board.files = self.state.follower.len() as u64;
        Ok(changes)
    }

    /// Takes what a look gave: live records to their judges, all else to the spool.
    fn take(&mut self, look: Look, at: LookTime) -> Result<Vec<Change>, WatchError> {
        let failed = WatchError::state("write", self.spool.root());
        let mut result = Ok(());
        for (from, to) in &look.renamed {
            self.state.jobs.rename(from, to);
            result = result.and_then(|()| self.spool.rename(from, to));
        }
        let (live, others): (Vec<&Piece>, Vec<&Piece>) =
            look.pieces.iter().partition(|piece| piece.growth == crate::Growth::Live);
        for piece in others {
            result = result.and_then(|()| self.spool.take(piece));
            self.state.unjudged = true;
        }
        result.map_err(failed)?;
        self.is_changed |= !look.pieces.is_empty() || !look.renamed.is_empty();
        self.board.bytes_read += look.pieces.iter().map(|piece| piece.bytes.len() as u64).sum::<u64>();
        let hang_ns = self.settings.hang.ps() / 1_000;
        let changes = self.state.jobs.take(&live, at.own_ns, hang_ns, &mut self.state.next_id);
        [self.board.jobs, self.board.ranks, self.board.records, self.board.damaged] =
            self.state.jobs.counts();
        Ok(changes)
    }

    fn ask(&mut self, at: LookTime) {
        if at.own_ns < self.rest_until_ns {
            return;
        }
        self.state.unjudged = false;
        self.asked_ns = at.own_ns;
        self.judge.ask(self.spool.root());
    }

    fn take_judged(&mut self, judged: Judged, at: LookTime, is_settled: bool) -> Vec<Change> {
        let took_ns = at.own_ns.saturating_sub(self.asked_ns);
        if !is_settled {
            self.rest_until_ns = at.own_ns.saturating_add(REST * took_ns);
            self.board.judged_s = took_ns as f64 / 1e9;
        }
        self.board.unread_formats = judged.unread;
        self.board.problem.clone_from(&judged.problem.clone().filter(|_| !self.spool.is_empty()));
        self.board.spool_bytes = self.spool.bytes();
        self.is_changed = true;
        if judged.is_refused {
            return Vec::new();
        }
        let changes =
            self.state.findings.take(judged.found.clone(), at.wall_ns, is_settled, &mut self.state.next_id);
        self.judged = self.state.findings.waits().then_some(judged);
        changes
    }

    /// Numbers changes, stores the state with them, then the pages.
    fn tell(&mut self, changes: Vec<Change>, at: LookTime) -> Result<Vec<IncidentEvent>, WatchError> {
        let mut events = Vec::new();
        for change in &changes {
            let source = if change.body["finding"].is_null() { "records" } else { "files" };
            events.push(IncidentEvent::of(self.state.next_event, change, source, at.wall_ns));
            self.state.next_event += 1;
        }
        let is_due = self.stored_ns.is_none_or(|ns| at.own_ns.saturating_sub(ns) >= STORE_NS);
        if !events.is_empty() || (is_due && self.is_changed) {
            self.state.spool = self.spool.index.clone();
            // A watch that is killed before the answer asks again.
            let unjudged = self.state.unjudged;
            self.state.unjudged |= self.judge.is_busy();
            self.journal.store(&mut self.state, &events)?;
            self.state.unjudged = unjudged;
            self.stored_ns = Some(at.own_ns);
            self.is_changed = false;
        }
        for (event, change) in events.iter().zip(&changes) {
            self.board.take(event);
            let told = self.board.of_incident(event.id());
            page::write(&self.settings.state, event, &told, change.picture.as_ref())
                .map_err(WatchError::state("write", &self.settings.state))?;
        }
        Ok(events)
    }
}
