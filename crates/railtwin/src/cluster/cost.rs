//! Memory and time of weeks of jobs, before they are lived.
use railtwin_clustersim::ClusterJob;
use railtwin_control::crux::tenants::{Candidate, SharedLink};
use railtwin_fabric::HostId;

use super::ClusterQuestion;
use super::told::JobTold;
use crate::cost::Cost;
use crate::error::Error;

/// Bytes of the program before anything is asked.
const PROGRAM: f64 = 20e6;
/// Links of a path, inside hosts and out, at most: three tiers up and down, and PCIe at both ends.
const LINKS_OF_A_PATH: f64 = 12.0;
/// Times that a job is kept: as it is asked, as it lives, as it is told, as a row of tables and of the page.
const COPIES: f64 = 4.0;
/// Seconds of an event, a begin or an end of a job, for each link of each job that runs beside it.
const EVENT_S: f64 = 10e-9;
/// Seconds of an event beside that: steps of the jobs that contend are followed until their pace is known.
const FOLLOWED_S: f64 = 1.5e-3;

/// Jobs that come in the weeks of one seed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coming {
    /// Jobs.
    pub jobs: f64,
    /// GPUs of all of them.
    pub gpus: f64,
    /// GPU-seconds of all of them, each alone.
    gpu_seconds: f64,
}

impl Coming {
    pub(super) fn of(jobs: &[ClusterJob]) -> Self {
        let sum = |of: fn(&ClusterJob) -> f64| jobs.iter().map(of).sum();
        Self {
            jobs: jobs.len() as f64,
            gpus: sum(|job| f64::from(job.gpus)),
            gpu_seconds: sum(|job| f64::from(job.gpus) * job.duration),
        }
    }
}

impl ClusterQuestion {
    /// Cost of `runs` weeks, of which `side_by_side` are lived at a time.
    ///
    /// # Errors
    /// As of [`ClusterQuestion::jobs`].
    pub fn cost(&self, runs: u64, side_by_side: u64) -> Result<Cost, Error> {
        Ok(self.cost_of(Coming::of(&self.jobs(self.seed)?), runs, side_by_side))
    }

    /// The same, where the jobs are known.
    pub(super) fn cost_of(&self, coming: Coming, runs: u64, side_by_side: u64) -> Cost {
        let side_by_side = side_by_side.clamp(1, runs.max(1)) as f64;
        let own = self.bytes(coming);
        Cost {
            rows: format!("{runs} × {} jobs on {} GPUs", coming.jobs, self.gpus()),
            bytes: PROGRAM + self.fabric.bytes() as f64 + own * side_by_side,
            seconds: self.seconds(coming) * runs as f64 / side_by_side,
            remedy: "fewer days, fewer paths or fewer hosts",
        }
    }

    /// Most bytes of one run: jobs as they are kept, links as they are shared, and the paths that GPUs have to choose from
    /// where all of them are held.
    fn bytes(&self, coming: Coming) -> f64 {
        let size = |bytes: usize| bytes as f64;
        let of_jobs =
            COPIES * (coming.jobs * size(size_of::<JobTold>()) + coming.gpus * size(size_of::<(u32, u32)>()));
        let of_links = size(self.fabric.link_count()) * size(size_of::<SharedLink>());
        let path = size(size_of::<Candidate>()) + LINKS_OF_A_PATH * size(size_of::<u32>());
        of_jobs + of_links + self.pieces() * f64::from(self.spec.paths) * path
    }

    /// Seconds of one run.
    fn seconds(&self, coming: Coming) -> f64 {
        let span = f64::from(self.spec.days as f32) * 86_400.0;
        let all = f64::from(self.gpus());
        let busy = (coming.gpu_seconds / span.max(1.0)).min(all) / all.max(1.0);
        let links = busy * self.pieces() * LINKS_OF_A_PATH;
        2.0 * coming.jobs * (FOLLOWED_S + links * EVENT_S)
    }

    /// Queue pairs of all GPUs to one other each.
    fn pieces(&self) -> f64 {
        let ports = f64::from(self.fabric.host_model(HostId(0)).nic.ports);
        f64::from(self.gpus()) * ports * f64::from(self.spec.queue_pairs)
    }
}
