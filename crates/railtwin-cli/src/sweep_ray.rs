//! The points of a sweep on a Ray cluster.
//!
//! Ray is spoken to from Python: `python -m railtwin.on_ray` finds the cluster, runs each point there as `railtwin
//! run-point` does here, and puts the run folder that comes back in its place. Lines of JSON go to it (the cluster's
//! address, then all points) and come from it; when its standard input closes, the sweep is gone and it ends.
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use railtwin_store::RunFolder;
use serde_json::{Value, json};

use crate::CliError;
use crate::sweep_processes::{Program, Report, Task, limit_words, reason};

/// Arguments of Python that make it the one who speaks to Ray; `-P`: no file of the current folder is it.
const DOOR: [&str; 3] = ["-P", "-m", "railtwin.on_ray"];

/// A Ray cluster that was found, by way of the process that speaks to it.
pub(crate) struct Cluster {
    process: Child,
    /// Open until all is done.
    input: Option<ChildStdin>,
    heard: Lines<BufReader<ChildStdout>>,
    /// What it says to people.
    words: Option<JoinHandle<Vec<u8>>>,
}

impl Cluster {
    /// Finds the cluster at `address`, or the one that Ray finds or makes; says what it has. `paths` are those that it
    /// will be told of.
    pub(crate) fn find(
        program: &Program,
        address: Option<&str>,
        paths: [&Path; 2],
        notes: &mut dyn Write,
    ) -> Result<Self, CliError> {
        if let Some(path) = paths.iter().find(|path| path.to_str().is_none()) {
            let message = format!("--on ray cannot tell of {path:?}, which is not UTF-8");
            return Err(CliError::input(message, "name it in UTF-8"));
        }
        let python = program.python();
        let mut cluster = Self::begin(&python).map_err(|problem| no_python(&python, &problem))?;
        cluster.tell(&json!({ "version": railtwin::VERSION, "address": address }));
        let Some(answer) = cluster.hear() else {
            return Err(no_python(&python, &cluster.last_words()));
        };
        if let Some(message) = answer["refused"].as_str() {
            return Err(CliError::input(message, answer["help"].as_str().unwrap_or_default()));
        }
        // Whoever closed the notes does not want them.
        let _ = writeln!(notes, "{}", answer["ready"].as_str().unwrap_or_default());
        Ok(cluster)
    }

    fn begin(python: &OsStr) -> Result<Self, String> {
        let mut command = Command::new(python);
        command.args(DOOR).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let output = process.stdout.take().expect("standard output is piped");
        let mut errors = process.stderr.take().expect("standard error is piped");
        let words = std::thread::spawn(move || {
            let mut words = Vec::new();
            // What could be read is all there is.
            let _ = errors.read_to_end(&mut words);
            words
        });
        let (input, heard) = (process.stdin.take(), BufReader::new(output).lines());
        Ok(Self { process, input, heard, words: Some(words) })
    }

    /// Runs all tasks, at most `jobs` at a time, each on `threads` cores, and reports on this thread.
    pub(crate) fn run_all(
        &mut self,
        tasks: Vec<Task>,
        base: &Path,
        jobs: Option<u32>,
        threads: u32,
        hear: &mut dyn FnMut(Report),
    ) {
        let (mut waiting, mut points) = (BTreeSet::new(), Vec::new());
        for task in tasks {
            if let Err(reason) = make_room(&task.folder) {
                hear(Report::Ended(task.run_id, Err(reason)));
                continue;
            }
            points.push(json!({
                "run_id": task.run_id, "folder": task.folder, "text": task.text, "files": task.files,
                "bytes": task.bytes,
            }));
            waiting.insert(task.run_id);
        }
        let limit = limit_words();
        self.tell(
            &json!({ "base": base, "jobs": jobs, "threads": threads, "limit": limit, "points": points }),
        );
        while !waiting.is_empty() {
            let Some(said) = self.hear() else { break };
            let id = said["run_id"].as_str().unwrap_or_default().to_owned();
            if said["say"] == "started" && waiting.contains(&id) {
                hear(Report::Started(id));
            } else if let Some(count) = said["ticks"].as_u64() {
                hear(Report::Ticks(count));
            } else if said["say"] == "ended" && waiting.remove(&id) {
                let failed = said["failed"].as_str().map(str::to_owned);
                hear(Report::Ended(id, failed.map_or(Ok(said["wall_s"].as_f64().unwrap_or(0.0)), Err)));
            }
        }
        let lost = format!("who speaks to Ray is gone: {}", self.last_words());
        waiting.into_iter().for_each(|id| hear(Report::Ended(id, Err(lost.clone()))));
    }

    /// What is not heard shows in what is not answered.
    fn tell(&mut self, value: &Value) {
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{value}").and_then(|()| input.flush());
        }
    }

    fn hear(&mut self) -> Option<Value> {
        let lines = self.heard.by_ref().map_while(Result::ok);
        lines.filter_map(|line| serde_json::from_str(&line).ok()).next()
    }

    /// Lets the process end and returns how it did.
    fn last_words(&mut self) -> String {
        drop(self.input.take());
        let words = self.words.take().and_then(|words| words.join().ok()).unwrap_or_default();
        match self.process.wait() {
            Ok(status) => reason(status, &words),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Cluster {
    /// A cluster that was made for the sweep is taken down before the command ends.
    fn drop(&mut self) {
        self.last_words();
    }
}

/// What an earlier sweep left unfinished makes room, as where a point runs here.
fn make_room(folder: &Path) -> Result<(), String> {
    let found = RunFolder::find(folder).map_err(|error| error.to_string())?;
    found.map_or(Ok(()), RunFolder::remove).map_err(|error| error.to_string())
}

fn no_python(python: &OsStr, problem: &str) -> CliError {
    let message = format!("--on ray needs a Python with railtwin, and {}: {problem}", python.display());
    let help = "`pip install 'railtwin[ray]'`, and name that Python in RAILTWIN_PYTHON";
    CliError::input(message, help)
}
