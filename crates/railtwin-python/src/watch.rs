//! Long calls: the work goes on in a thread of its own while the caller's thread listens.
//!
//! The caller's thread is detached from the interpreter except to hear of signals and to tell of progress, so
//! that other Python threads run and Ctrl-C is heard at once.
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors;

/// How often the caller's thread looks for signals and progress: too short to be felt, long enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Stack of the working thread; that of a main thread on common systems.
const STACK_BYTES: usize = 8 << 20;

/// How far the work is, and whether anyone still wants it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Progress {
    done: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
    abandoned: Arc<AtomicBool>,
}

/// What a working thread unwinds with once nobody waits for it.
struct Abandoned;

impl Progress {
    /// Says how many parts there are.
    pub(crate) fn expect(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Says that parts are done. Ends the working thread when the caller has gone.
    pub(crate) fn advance(&self, parts: u64) {
        self.done.fetch_add(parts, Ordering::Relaxed);
        if self.abandoned.load(Ordering::Relaxed) {
            // The façade has no way to stop between replicates but to unwind; this calls no panic hook.
            resume_unwind(Box::new(Abandoned));
        }
    }

    fn now(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Does `work` in a thread. `callback`, if any, is called with parts done and parts in all.
///
/// # Errors
/// What a signal's handler or the callback raises, with the work abandoned: it breaks off between
/// replicates, soon but not at once, as each thread learns of it at the end of one. `InternalError` when the work panics.
pub(crate) fn watch<T: Send + 'static>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> T + Send + 'static,
) -> PyResult<T> {
    let progress = Progress::default();
    let (sender, mut receiver) = sync_channel(1);
    let inner = progress.clone();
    let body = move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&inner)));
        // Nobody receives when the caller has gone.
        let _ = sender.send(outcome);
    };
    std::thread::Builder::new()
        .name("railtwin".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(body)
        .map_err(|error| errors::internal(py, &format!("cannot start a thread: {error}")))?;
    let mut told = (0, 0);
    loop {
        let receiver = &mut receiver;
        let heard = py.detach(move || receiver.recv_timeout(LOOK_EVERY));
        let now = progress.now();
        let listened = py.check_signals().and_then(|()| tell(callback, &mut told, now));
        if let Err(error) = listened {
            progress.abandoned.store(true, Ordering::Relaxed);
            return Err(error);
        }
        match heard {
            Ok(outcome) => return outcome.map_err(|panic| errors::internal(py, &words(panic.as_ref()))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(errors::internal(py, "the working thread ended without a result"));
            }
        }
    }
}

/// Calls the callback when there is news.
fn tell(callback: Option<&Bound<'_, PyAny>>, told: &mut (u64, u64), now: (u64, u64)) -> PyResult<()> {
    if let Some(callback) = callback.filter(|_| *told != now) {
        callback.call1(now)?;
        *told = now;
    }
    Ok(())
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic").to_owned()
}
