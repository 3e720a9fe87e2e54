//! The processes of a sweep: one for each point, so many at a time; the crash of one loses that point alone.
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Instant;

use railtwin_store::input;

use crate::CliError;
use crate::run_point::END_OF_TEXT;

/// A point to run.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) run_id: String,
    pub(crate) folder: PathBuf,
    /// The point's scenario.
    pub(crate) text: String,
}

/// What is heard of a task, by its run id.
#[derive(Debug)]
pub(crate) enum Report {
    /// Its process is being started.
    Started(String),
    /// A replicate is done.
    Tick,
    /// It is over: wall seconds, or why it failed.
    Ended(String, Result<f64, String>),
}

/// Characters of a process's words that a failure repeats.
const WORDS_MAX: usize = 600;
/// Variable that says how many threads an engine uses.
const THREADS: &str = "RAYON_NUM_THREADS";

/// This program as a file that can be started: what was called, or else the executable that runs. They differ where
/// another program calls the library, such as the script that a Python package installs.
pub(crate) fn program(call: &OsStr) -> Result<PathBuf, CliError> {
    let called = Path::new(call);
    if called.components().count() > 1 && called.is_file() {
        return Ok(called.to_owned());
    }
    Ok(std::env::current_exe()?)
}

/// How much of the machine a sweep takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Width {
    /// Points at a time; none = as many as there are cores for.
    pub(crate) jobs: Option<u32>,
    /// Points at a time that there is memory for.
    pub(crate) fitting: u32,
    /// Threads of one run of the packet engine.
    pub(crate) threads: u32,
}

/// Runs all tasks, `width` at a time, and reports on this thread.
pub(crate) fn run_all(
    tasks: Vec<Task>,
    base: &Path,
    program: &Path,
    width: Width,
    hear: &mut dyn FnMut(Report),
) {
    let cores = available_parallelism().map_or(1, usize::from);
    let fitting = (cores / width.threads as usize).max(1);
    let fitting = fitting.min(width.fitting as usize);
    let jobs = width.jobs.map_or(fitting, |jobs| jobs as usize).min(tasks.len());
    let threads = (cores / jobs.max(1)).max(1);
    let queue = Mutex::new(VecDeque::from(tasks));
    // A thread that panicked took its task with it; the others are untouched.
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let (reports, heard) = channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (reports, next) = (reports.clone(), &next);
            scope.spawn(move || {
                while let Some(task) = next() {
                    say(&reports, Report::Started(task.run_id.clone()));
                    let ended = run_one(&task, base, program, [threads, width.threads as usize], &reports);
                    say(&reports, Report::Ended(task.run_id, ended));
                }
            });
        }
        drop(reports);
        heard.into_iter().for_each(hear);
    });
}

fn say(reports: &Sender<Report>, report: Report) {
    // The other end waits until all senders are gone.
    let _ = reports.send(report);
}

fn run_one(
    task: &Task,
    base: &Path,
    program: &Path,
    [threads, of_a_run]: [usize; 2],
    reports: &Sender<Report>,
) -> Result<f64, String> {
    let start = Instant::now();
    let mut command = Command::new(program);
    command.arg("run-point").arg("--folder").arg(&task.folder).arg("--base").arg(base);
    command.arg("--run-id").arg(&task.run_id).arg("--threads").arg(of_a_run.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // As the limit of this process: the flag is not handed on.
    if let Some(limit) = input::limit_set() {
        command.env(input::LIMIT_VARIABLE, format!("{limit} B"));
    }
    if std::env::var_os(THREADS).is_none() {
        command.env(THREADS, threads.to_string());
    }
    let mut child =
        command.spawn().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    // Held open until the process has ended: when it closes early, the process ends itself.
    let mut input = child.stdin.take().expect("standard input is piped");
    // Where the process has ended already its exit status says why.
    let _ = input.write_all(task.text.as_bytes()).and_then(|()| input.write_all(&[END_OF_TEXT]));
    let _ = input.flush();
    let output = child.stdout.take().expect("standard output is piped");
    for _ in BufReader::new(output).lines().map_while(Result::ok) {
        say(reports, Report::Tick);
    }
    let ended = child.wait_with_output().map_err(|error| format!("lost its process: {error}"))?;
    drop(input);
    match ended.status.success() {
        true => Ok(start.elapsed().as_secs_f64()),
        false => Err(reason(ended.status, &ended.stderr)),
    }
}

/// Why a process failed: how it ended and its last words, in one line.
fn reason(status: ExitStatus, words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = words.chars().count().saturating_sub(WORDS_MAX);
    let words: String = words.chars().skip(skipped).collect();
    if words.is_empty() { format!("its process ended with {status}") } else { format!("{words} ({status})") }
}
