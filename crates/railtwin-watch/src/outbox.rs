//! The webhook: each event is posted until somebody took it, also after a restart.
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use railtwin_store::atomic::write_whole;
use serde_json::{Value, json};

use crate::error::WatchError;
use crate::event::IncidentEvent;
use crate::journal::{JOURNAL, events_of};
use crate::page;

/// Time of a call, and between calls that fail: at first, and at most.
const CALL: Duration = Duration::from_secs(10);
const FIRST: Duration = Duration::from_millis(500);
const MOST: Duration = Duration::from_secs(300);
/// The file with the number of the newest event that was taken.
const CURSOR: &str = "webhook.cursor";

/// Posts events in a thread of its own, in their order.
#[derive(Debug)]
pub struct Outbox {
    wakes: Sender<()>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    newest: AtomicU64,
    taken: AtomicU64,
    failures: AtomicU64,
    problem: Mutex<Option<String>>,
}

impl Outbox {
    /// Begins with the first event of the journal in `state` that was not taken yet. A new outbox beside a journal that is
    /// there already begins with the next event.
    ///
    /// # Errors
    /// [`WatchError::State`] for what the system says.
    pub fn open(state: &Path, url: &str) -> Result<Self, WatchError> {
        let journal = state.join(JOURNAL);
        let events = events_of(&fs::read(&journal).unwrap_or_default());
        let newest = events.last().map_or(0, |event| event.number);
        let cursor = state.join(CURSOR);
        let taken = match fs::read_to_string(&cursor) {
            Ok(text) => text.trim().parse().unwrap_or(newest),
            Err(_) => newest,
        };
        write_whole(&cursor, taken.to_string().as_bytes()).map_err(WatchError::state("write", &cursor))?;
        let counts = Arc::new(Counts {
            newest: AtomicU64::new(newest),
            taken: AtomicU64::new(taken),
            ..Counts::default()
        });
        let (wakes, woken) = channel();
        let post = Post { url: url.to_owned(), journal, cursor, counts: counts.clone() };
        std::thread::spawn(move || post.run(&woken));
        let outbox = Self { wakes, counts };
        outbox.wake(newest);
        Ok(outbox)
    }

    /// Says that the journal has events up to this number.
    pub fn wake(&self, newest: u64) {
        self.counts.newest.fetch_max(newest, Ordering::Relaxed);
        // The thread ends with the program alone.
        let _ = self.wakes.send(());
    }

    /// Events that nobody took yet, and calls that failed.
    pub fn pending_and_failures(&self) -> (u64, u64) {
        let (newest, taken) = (&self.counts.newest, &self.counts.taken);
        let pending = newest.load(Ordering::Relaxed).saturating_sub(taken.load(Ordering::Relaxed));
        (pending, self.counts.failures.load(Ordering::Relaxed))
    }

    /// The newest failure since the last call.
    pub fn problem(&self) -> Option<String> {
        self.counts.problem.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

struct Post {
    url: String,
    journal: PathBuf,
    cursor: PathBuf,
    counts: Arc<Counts>,
}

impl Post {
    fn run(&self, woken: &Receiver<()>) {
        let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(CALL)).build().into();
        let mut wait = None;
        loop {
            let heard = match wait {
                None => woken.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => woken.recv_timeout(wait),
            };
            if heard == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            // What wakes while a call is waited for does not shorten the time to it.
            if heard.is_ok() && wait.is_some() {
                continue;
            }
            wait = match self.post_all(&agent) {
                true => None,
                false => Some(wait.map_or(FIRST, |before: Duration| (before * 2).min(MOST))),
            };
        }
    }

    /// Posts all that is new; whether all of it was taken.
    fn post_all(&self, agent: &ureq::Agent) -> bool {
        let taken = self.counts.taken.load(Ordering::Relaxed);
        let events = events_of(&fs::read(&self.journal).unwrap_or_default());
        for event in events.iter().filter(|event| event.number > taken) {
            let body = body_of(event).to_string();
            let called = agent
                .post(&self.url)
                .header("Content-Type", "application/json")
                .header("Idempotency-Key", format!("railtwin-watch-{}", event.number))
                .send(body);
            if let Err(error) = called {
                self.counts.failures.fetch_add(1, Ordering::Relaxed);
                let text = format!("the webhook did not take event {}: {error}", event.number);
                *self.counts.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                return false;
            }
            // Where it cannot be written the event is posted again after a restart, under the same key.
            let _ = write_whole(&self.cursor, event.number.to_string().as_bytes());
            self.counts.taken.store(event.number, Ordering::Relaxed);
        }
        true
    }
}

/// An event with a sentence that chat programs show.
fn body_of(event: &IncidentEvent) -> Value {
    let mut value: Value = serde_json::from_str(&event.line).unwrap_or_else(|_| json!({}));
    value["text"] = json!(page::sentence(event));
    value
}
