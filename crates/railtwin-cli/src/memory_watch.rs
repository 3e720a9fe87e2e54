//! Ends a process that is about to take more memory than it may, with one error: no estimate foresees all growth.
//!
//! Only the command's own process is watched, never one that calls it as a library.
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::CliError;

/// Time between two looks at the memory of the process: the fastest growth measured, 2 GiB/s, adds 20 MiB in it.
const PERIOD: Duration = Duration::from_millis(10);
/// Exit status of a call that was wrong.
const WRONG: i32 = 2;

static ALLOWED: AtomicBool = AtomicBool::new(false);

/// Says that this process is the command's own.
pub(crate) fn allow() {
    ALLOWED.store(true, Ordering::Relaxed);
}

/// Watches the process until its end, if it is the command's own and the system says what it holds.
pub(crate) fn begin() {
    if !ALLOWED.load(Ordering::Relaxed) || railtwin::memory::resident().is_none() {
        return;
    }
    let limit = railtwin::memory::limit();
    // Without a thread the run goes on unwatched.
    let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(move || watch(limit));
}

fn watch(limit: u64) {
    let mut before = railtwin::memory::resident().unwrap_or(0);
    while let Some(held) = railtwin::memory::resident() {
        if let Some((message, remedy)) = railtwin::memory::excess(held, held.saturating_sub(before), limit) {
            let mut notes = std::io::stderr().lock();
            // A progress bar may stand on the line.
            let _ = writeln!(notes);
            let _ = CliError::input(message, remedy).show(&mut notes);
            std::process::exit(WRONG);
        }
        before = held;
        std::thread::sleep(PERIOD);
    }
}
