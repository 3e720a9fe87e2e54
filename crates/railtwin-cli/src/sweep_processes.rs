//! The processes of a sweep: one for each point, so many at a time; the crash of one loses that point alone.
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
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
    /// Files that it names.
    pub(crate) files: Vec<String>,
    /// Memory that it will take.
    pub(crate) bytes: f64,
}

/// What is heard of a task, by its run id.
#[derive(Debug)]
pub(crate) enum Report {
    /// Its process is being started.
    Started(String),
    /// So many more replicates are done.
    Ticks(u64),
    /// It is over: wall seconds, or why it failed.
    Ended(String, Result<f64, String>),
}

/// Characters of a process's words that a failure repeats.
const WORDS_MAX: usize = 600;
/// Variable that says how many threads an engine uses.
const THREADS: &str = "RAYON_NUM_THREADS";

/// Variable that names the Python in which `railtwin` is installed, for a command that is not of Python.
const PYTHON: &str = "RAILTWIN_PYTHON";

/// What starts this program in a process of its own: words, never none.
#[derive(Debug)]
pub(crate) struct Program(Vec<OsString>);

impl Program {
    /// What its caller says; else what was called, where that is a file; else the executable that runs. The last two
    /// differ where another program calls the library.
    pub(crate) fn of(own: &[OsString], call: &OsStr) -> Result<Self, CliError> {
        if !own.is_empty() {
            return Ok(Self(own.to_vec()));
        }
        let called = Path::new(call);
        if called.components().count() > 1 && called.is_file() {
            return Ok(Self(vec![std::path::absolute(called)?.into()]));
        }
        Ok(Self(vec![std::env::current_exe()?.into()]))
    }

    pub(crate) fn words(&self) -> &[OsString] {
        &self.0
    }

    /// A Python that can import `railtwin`: the one that runs this, what the variable says, or the first on the path.
    pub(crate) fn python(&self) -> OsString {
        match &self.0[..] {
            [python, _, ..] => python.clone(),
            _ => std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into()),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.0[0]);
        command.args(&self.0[1..]);
        command
    }
}

/// How much is read of files, as words for the variable of another process; none where nobody said.
pub(crate) fn limit_words() -> Option<String> {
    input::limit_set().map(|limit| format!("{limit} B"))
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

impl Width {
    /// Points at a time.
    pub(crate) fn at_once(self) -> usize {
        let cores = available_parallelism().map_or(1, usize::from);
        let fitting = (cores / self.threads as usize).max(1).min(self.fitting as usize);
        self.jobs.map_or(fitting, |jobs| jobs as usize)
    }
}

/// Runs all tasks, `width` at a time, and reports on this thread.
pub(crate) fn run_all(
    tasks: Vec<Task>,
    base: &Path,
    program: &Program,
    width: Width,
    hear: &mut dyn FnMut(Report),
) {
    let cores = available_parallelism().map_or(1, usize::from);
    let jobs = width.at_once().min(tasks.len());
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
    program: &Program,
    [threads, of_a_run]: [usize; 2],
    reports: &Sender<Report>,
) -> Result<f64, String> {
    let start = Instant::now();
    let mut command = program.command();
    command.arg("run-point").arg("--folder").arg(&task.folder).arg("--base").arg(base);
    command.arg("--run-id").arg(&task.run_id).arg("--threads").arg(of_a_run.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // As the limit of this process: the flag is not handed on.
    if let Some(limit) = limit_words() {
        command.env(input::LIMIT_VARIABLE, limit);
    }
    if std::env::var_os(THREADS).is_none() {
        command.env(THREADS, threads.to_string());
    }
    let mut child =
        command.spawn().map_err(|error| format!("cannot start {}: {error}", program.0[0].display()))?;
    // Held open until the process has ended: when it closes early, the process ends itself.
    let mut input = child.stdin.take().expect("standard input is piped");
    // Where the process has ended already its exit status says why.
    let _ = input.write_all(task.text.as_bytes()).and_then(|()| input.write_all(&[END_OF_TEXT]));
    let _ = input.flush();
    let output = child.stdout.take().expect("standard output is piped");
    for _ in BufReader::new(output).lines().map_while(Result::ok) {
        say(reports, Report::Ticks(1));
    }
    let ended = child.wait_with_output().map_err(|error| format!("lost its process: {error}"))?;
    drop(input);
    match ended.status.success() {
        true => Ok(start.elapsed().as_secs_f64()),
        false => Err(reason(ended.status, &ended.stderr)),
    }
}

/// Why a process failed: how it ended and its last words, in one line.
pub(crate) fn reason(status: ExitStatus, words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = words.chars().count().saturating_sub(WORDS_MAX);
    let words: String = words.chars().skip(skipped).collect();
    if words.is_empty() { format!("its process ended with {status}") } else { format!("{words} ({status})") }
}
