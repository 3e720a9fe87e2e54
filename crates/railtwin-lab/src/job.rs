//! A job in attempts: one process for each rank in its namespace, a folder of records for each attempt.
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::host::{LabError, now_ns};
use crate::network::address;

/// Time for all ranks to step, and for all to end, ns.
const PATIENCE_NS: u64 = 60_000_000_000;

/// Where the files of a trial lie, and which command runs a rank.
#[derive(Clone, Debug)]
pub struct JobSite {
    /// The command `railtwin`.
    pub program: PathBuf,
    /// Folder of all files.
    pub folder: PathBuf,
    /// Number of ranks.
    pub ranks: usize,
}

impl JobSite {
    /// Folder of control files.
    pub fn control(&self) -> PathBuf {
        self.folder.join("control")
    }

    /// Folder of records; each attempt has a folder in it.
    pub fn records(&self) -> PathBuf {
        self.folder.join("records")
    }
}

/// A running attempt. Dropping it kills its processes.
#[derive(Debug)]
pub struct Attempt {
    children: Vec<Child>,
    records: PathBuf,
}

impl Attempt {
    /// Starts an attempt by its number, and waits until all ranks step.
    ///
    /// # Errors
    /// A process cannot be started, or the ranks do not come up.
    pub fn start(site: &JobSite, number: usize) -> Result<Self, LabError> {
        let failed = |path: &Path, error: std::io::Error| LabError(format!("{}: {error}", path.display()));
        for folder in [site.control(), site.records()] {
            std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
        }
        let path = site.folder.join(format!("attempt-{number}.toml"));
        std::fs::write(&path, text(site.ranks, number)).map_err(|error| failed(&path, error))?;
        let records = site.records().join(format!("attempt-{number}"));
        let mut attempt = Self { children: Vec::new(), records };
        for rank in 0..site.ranks {
            let log = site.folder.join(format!("attempt-{number}-r{rank}.log"));
            let file = File::create(&log).map_err(|error| failed(&log, error))?;
            let more = file.try_clone().map_err(|error| failed(&log, error))?;
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &format!("r{rank}")]).arg(&site.program).arg("worker").arg(&path);
            command.args(["--rank", &rank.to_string(), "--cost"]);
            let child = command.stdin(Stdio::null()).stdout(file).stderr(more).spawn();
            attempt.children.push(child.map_err(|error| LabError(format!("ip netns exec: {error}")))?);
        }
        let until_ns = now_ns() + PATIENCE_NS;
        while !(0..site.ranks).all(|rank| attempt.text(rank).contains("\"k\":\"op\"")) {
            if now_ns() > until_ns || attempt.has_ended() {
                return Err(LabError(format!("the ranks do not come up; see {}", site.folder.display())));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(attempt)
    }

    fn text(&self, rank: usize) -> String {
        std::fs::read_to_string(self.records.join(format!("r{rank}.jsonl"))).unwrap_or_default()
    }

    /// The process of a rank.
    ///
    /// # Errors
    /// Its records have no header with it.
    pub fn pid(&self, rank: usize) -> Result<i32, LabError> {
        let text = self.text(rank);
        let pid = text.split_once("\"pid\":").and_then(|(_, rest)| rest.split_once('}')?.0.parse().ok());
        pid.ok_or_else(|| LabError(format!("the records of rank {rank} name no process")))
    }

    /// Number of the first step of a rank.
    pub fn first_step(&self, rank: usize) -> Option<u64> {
        let text = self.text(rank);
        let line = text.lines().find(|line| line.starts_with("{\"k\":\"st\""))?;
        line.split_once("\"step\":")?.1.split_once(',')?.0.parse().ok()
    }

    /// Whether any rank has ended.
    pub fn has_ended(&mut self) -> bool {
        self.children.iter_mut().any(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// Waits until all ranks have ended by themselves.
    ///
    /// # Errors
    /// They do not.
    pub fn wait(&mut self) -> Result<(), LabError> {
        let until_ns = now_ns() + PATIENCE_NS;
        while self.children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None))) {
            if now_ns() > until_ns {
                return Err(LabError("the ranks do not end".into()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Ends the job in order.
    ///
    /// # Errors
    /// The ranks do not end, or not with status 0.
    pub fn stop(mut self) -> Result<(), LabError> {
        for child in &self.children {
            // One that has ended needs no signal.
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
        }
        self.wait()?;
        let is_good = |child: &mut Child| child.wait().is_ok_and(|status| status.success());
        match self.children.iter_mut().all(is_good) {
            true => Ok(()),
            false => Err(LabError("a rank did not end in order".into())),
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Ranks end with their observers.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The job file: 20 ms of loading, 100 ms of computation, two ring all-reduces of 1 MiB; a checkpoint every 25 steps.
fn text(ranks: usize, number: usize) -> String {
    let addresses: Vec<String> = (0..ranks).map(|rank| format!("\"{}\"", address(rank))).collect();
    let port = 20_000 + 100 * number;
    let all = addresses.join(", ");
    let reduce = "[[collectives]]\nalgorithm = \"ring\"\nbytes = 1048576\n";
    format!(
        "addresses = [{all}]\nport = {port}\nseconds = 86400.0\nrecords = \"records/attempt-{number}\"\n\
         control = \"control\"\n[data]\nms = 20\n[compute]\nms = 100\n{reduce}{reduce}\
         [checkpoint]\nevery = 25\nbytes = 65536\nfolder = \"checkpoints\"\n"
    )
}
