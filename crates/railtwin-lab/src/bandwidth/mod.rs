//! Jobs of a scenario as real ones: ranks in the hosts' namespaces, whose connections take the ports of a master.
mod avoid;
mod jobs;
mod records;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use railtwin_engine::Case;
use railtwin_fabric::LinkId;

pub use avoid::{Avoidance, avoid};
pub use jobs::{LabJob, jobs_of};

use crate::host::{LabError, now_ns};
use crate::master::{LanePath, MasterHandle, MasterSetting, serve};
use crate::plant::Plant;

/// Time in which connections fill their windows, s: it does not count.
const WARM_S: f64 = 0.5;
/// Time for all ranks to come up, and for all to end, ns.
const PATIENCE_NS: u64 = 40_000_000_000;

/// One draw: the jobs under one balancer.
#[derive(Clone, Debug)]
pub struct MeasuredDraw {
    /// Measured bus bandwidth of each job, bit/s.
    pub busbw: Vec<f64>,
    /// Paths of all connections as the time that counts began.
    pub paths: Vec<LanePath>,
}

impl MeasuredDraw {
    /// Paths of each directed connection, in the order of its lanes: job, source, target.
    pub fn by_connection(&self) -> Vec<(&LanePath, Vec<Vec<LinkId>>)> {
        let mut all: Vec<(&LanePath, Vec<Vec<LinkId>>)> = Vec::new();
        for one in &self.paths {
            let same = |known: &LanePath| {
                (known.job, known.source, known.target) == (one.job, one.source, one.target)
            };
            match all.iter_mut().find(|(known, _)| same(known)) {
                Some((_, paths)) => paths.push(one.links.clone()),
                None => all.push((one, vec![one.links.clone()])),
            }
        }
        all
    }
}

/// Runs of jobs in a lab that is up.
#[derive(Clone, Debug)]
pub struct Bench<'p> {
    /// The lab.
    pub plant: &'p Plant,
    /// The command `railtwin`, whose `worker` is a rank.
    pub program: PathBuf,
    /// Folder of all files.
    pub folder: PathBuf,
    /// The jobs.
    pub jobs: &'p [LabJob],
    /// Time that counts, s.
    pub seconds: f64,
}

impl<'p> Bench<'p> {
    /// Of the jobs of a case.
    pub fn of(plant: &'p Plant, jobs: &'p [LabJob], folder: &Path, seconds: f64) -> Result<Self, LabError> {
        let program = std::env::current_exe().map_err(|error| LabError(error.to_string()))?;
        Ok(Self { plant, program, folder: folder.to_path_buf(), jobs, seconds })
    }

    /// Runs all jobs at once under a master; `during` runs beside them when all are warm.
    ///
    /// # Errors
    /// A rank does not come up or fails, or `during` does.
    pub fn run(
        &self,
        name: &str,
        setting: &MasterSetting,
        during: impl FnOnce(&MasterHandle) -> Result<(), LabError>,
    ) -> Result<MeasuredDraw, LabError> {
        let folder = self.folder.join(name);
        let failed = |error: std::io::Error| LabError(format!("{}: {error}", folder.display()));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = std::fs::File::create(self.folder.join("run.lock")).map_err(failed)?;
        lock.try_lock().map_err(|_| LabError("jobs run in this lab already: wait for them".into()))?;
        // Records of a run before this one would count.
        for row in 0..self.jobs.len() {
            let _ = std::fs::remove_dir_all(folder.join(format!("records-{row}")));
        }
        serve(self.plant, setting, &folder.join("paths.sock"), |master| {
            let mut ranks = Ranks::default();
            for (row, job) in self.jobs.iter().enumerate() {
                let file = folder.join(format!("job-{row}.toml"));
                let text = jobs::text(job, row, name);
                std::fs::write(&file, text).map_err(failed)?;
                for (rank, nic) in job.ranks.iter().enumerate() {
                    let log = folder.join(format!("job-{row}-r{rank}.log"));
                    ranks.start(&self.program, &nic.node, &file, rank, &log)?;
                }
            }
            let records = |row: usize| folder.join(format!("records-{row}/r0.jsonl"));
            let until_ns = now_ns() + PATIENCE_NS;
            while !(0..self.jobs.len()).all(|row| records::has_operations(&records(row))) {
                if now_ns() > until_ns || ranks.has_failed() {
                    return Err(LabError(format!("the ranks do not come up; see {}", folder.display())));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            std::thread::sleep(Duration::from_secs_f64(WARM_S));
            let from_ns = now_ns();
            during(master)?;
            let paths = master.paths()?;
            let rest = Duration::from_secs_f64(self.seconds)
                .saturating_sub(Duration::from_nanos(now_ns() - from_ns));
            std::thread::sleep(rest);
            let to_ns = now_ns();
            if ranks.has_ended() {
                return Err(LabError(format!(
                    "a rank ended within the time that counts; see {}",
                    folder.display()
                )));
            }
            ranks.stop();
            ranks.wait(&folder)?;
            let busbw = self.jobs.iter().enumerate().map(|(row, job)| {
                let seconds = records::mean_seconds(&records(row), from_ns, to_ns)?;
                Ok(job.bus_bytes() * 8.0 / seconds)
            });
            Ok(MeasuredDraw { busbw: busbw.collect::<Result<_, LabError>>()?, paths })
        })
    }
}

/// Processes of ranks. Dropping them kills them.
#[derive(Debug, Default)]
struct Ranks(Vec<Child>);

impl Ranks {
    fn start(
        &mut self,
        program: &Path,
        node: &str,
        job: &Path,
        rank: usize,
        log: &Path,
    ) -> Result<(), LabError> {
        let failed = |error: std::io::Error| LabError(format!("{}: {error}", log.display()));
        let file = std::fs::File::create(log).map_err(failed)?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", node]).arg(program).arg("worker").arg(job);
        command.args(["--rank", &rank.to_string(), "--follow"]).stdin(Stdio::null());
        let child = command.stdout(file.try_clone().map_err(failed)?).stderr(file).spawn();
        self.0.push(child.map_err(|error| LabError(format!("ip netns exec: {error}")))?);
        Ok(())
    }

    fn has_ended(&mut self) -> bool {
        self.0.iter_mut().any(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// Lets all ranks end in order, after the same step.
    fn stop(&self) {
        for child in &self.0 {
            // One that has ended needs no signal.
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
        }
    }

    fn has_failed(&mut self) -> bool {
        self.0.iter_mut().any(|child| matches!(child.try_wait(), Ok(Some(status)) if !status.success()))
    }

    fn wait(&mut self, folder: &Path) -> Result<(), LabError> {
        let until_ns = now_ns() + PATIENCE_NS;
        for child in &mut self.0 {
            loop {
                match child.try_wait() {
                    Ok(Some(status)) if status.success() => break,
                    Ok(Some(status)) => {
                        return Err(LabError(format!(
                            "a rank ended with {status}; see {}",
                            folder.display()
                        )));
                    }
                    _ if now_ns() > until_ns => {
                        return Err(LabError(format!("a rank does not end; see {}", folder.display())));
                    }
                    _ => std::thread::sleep(Duration::from_millis(20)),
                }
            }
        }
        Ok(())
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Queue pairs of a case between two NICs.
pub(crate) fn lanes_of(case: &Case, ports: u32) -> u32 {
    case.routing.queue_pairs * ports
}
