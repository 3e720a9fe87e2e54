//! What is told of weeks of jobs: job by job, hour by hour, who contended with whom.
use std::collections::BTreeMap;

use railtwin_clustersim::{ClusterJob, Lived};
use serde::Serialize;

use super::figures::{Figure, figures_of};

/// Pairs of jobs that are told of, those that contended longest.
const PAIRS_MOST: usize = 2_000;

/// One policy and seed, whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// Policy.
    pub policy: &'static str,
    /// Seed.
    pub seed: u64,
    /// GPUs that jobs may have.
    pub gpus: u32,
    /// Days.
    pub days: f64,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Why figures have no value, by name.
    pub reasons: BTreeMap<&'static str, &'static str>,
    /// Jobs in the order in which they came.
    pub jobs: Vec<JobTold>,
    /// Hour by hour.
    pub hours: Hours,
    /// Who contended with whom, those that did longest: numbers of two jobs, seconds.
    pub contended: Vec<(usize, usize, f64)>,
    /// How the time was gone through.
    pub effort: Effort,
    /// What was left out of a list of jobs or read otherwise than it stands, and keys that change nothing, a sentence each.
    pub notes: Vec<String>,
    /// Why `cluster.gate = false` changed nothing; none where it did, or is not written.
    pub idle_gate: Option<String>,
    /// Assumptions that decide the answer, each with the key that would say otherwise.
    pub assumed: Vec<String>,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobTold {
    /// Name.
    pub name: String,
    /// Class of its model.
    pub class: String,
    /// GPUs.
    pub gpus: u32,
    /// Seconds from the begin.
    pub submitted_s: f64,
    /// The same; null where it did not start.
    pub started_s: Option<f64>,
    /// The same; null where it did not end.
    pub ended_s: Option<f64>,
    /// Steps that ended.
    pub steps: f64,
    /// Seconds of a step alone.
    pub step_alone_s: f64,
    /// Seconds of communication of a step alone.
    pub communication_s: f64,
    /// Times that it ran of what it would have run alone under the same policy; null where it did not end.
    pub slowdown: Option<f64>,
    /// Times that it would have run alone under the policy of what it would have run without collisions of its own flows;
    /// null where it did no step.
    pub own_collisions: Option<f64>,
    /// Seconds in which it contended.
    pub contended_s: f64,
    /// Whether another's traffic ever crossed a link of its.
    pub shared_a_link: bool,
    /// GPUs that it had: first and last of each run of GPUs that follow each other, counted over all hosts.
    pub held: Vec<(u32, u32)>,
}

/// Hour by hour.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hours {
    /// Share of all GPUs that jobs held.
    pub occupancy: Vec<f64>,
    /// Share of the held GPUs' time in which they computed; null in an hour without.
    pub gpu_utilization: Vec<Option<f64>>,
    /// Jobs in the queue, mean.
    pub waiting: Vec<f64>,
    /// Jobs that contended, mean.
    pub contending: Vec<f64>,
    /// GPU-seconds of computation for each second of communication that links carried; null in an hour without.
    pub gpu_intensity: Vec<Option<f64>>,
    /// Share of the fullest link that inference takes; null where nobody serves.
    pub inference_link_share: Vec<Option<f64>>,
}

/// How the time was gone through.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effort {
    /// Times that jobs which share links were put together anew.
    pub epochs: u64,
    /// Steps of contending jobs that were computed.
    pub watched_steps: f64,
    /// Steps of contending jobs that were skipped.
    pub skipped_steps: f64,
    /// Checks of a pace after time was skipped.
    pub checks: u64,
    /// Those of them that did not find it.
    pub checks_failed: u64,
    /// Times that paths and priorities were planned.
    pub plans: u64,
    /// Times that a job moved so that another fits a segment.
    pub moves: u64,
}

/// First and last of each run of GPUs that follow each other, counted over all hosts, of GPUs by host and number there.
pub(super) fn runs_of(places: &[(u32, u32)], first_gpu: &[u32]) -> Vec<(u32, u32)> {
    let mut held: Vec<u32> = places.iter().map(|&(host, gpu)| first_gpu[host as usize] + gpu).collect();
    held.sort_unstable();
    held.chunk_by(|one, next| one + 1 == *next).map(|run| (run[0], run[run.len() - 1])).collect()
}

impl Hours {
    /// Hours of the span, one after the other.
    fn of(lived: &Lived) -> Self {
        let lengths: Vec<f64> =
            (0..lived.hours.len()).map(|hour| (lived.span - hour as f64 * 3600.0).min(3600.0)).collect();
        let hours = || lived.hours.iter().zip(&lengths);
        let ratio = |one: f64, other: f64| (other > 0.0).then(|| one / other);
        Self {
            occupancy: hours().map(|(hour, length)| hour.held / (f64::from(lived.gpus) * length)).collect(),
            gpu_utilization: hours().map(|(hour, _)| ratio(hour.computed, hour.held)).collect(),
            waiting: hours().map(|(hour, length)| hour.waited / length).collect(),
            contending: hours().map(|(hour, length)| hour.contended / length).collect(),
            gpu_intensity: hours().map(|(hour, _)| ratio(hour.hung, hour.communicated)).collect(),
            inference_link_share: match &lived.inference_shares {
                Some(shares) => shares.iter().copied().map(Some).collect(),
                None => vec![None; lived.hours.len()],
            },
        }
    }
}

impl Told {
    /// A figure by its name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name)?.value
    }

    /// What became of `jobs`; `first_gpu` has the number of the first GPU of each host.
    pub(super) fn of(
        (policy, seed): (&'static str, u64),
        jobs: &[ClusterJob],
        lived: &Lived,
        first_gpu: &[u32],
    ) -> Self {
        let told = |life: &railtwin_clustersim::JobLife| {
            let job = &jobs[life.job];
            JobTold {
                name: job.name.clone(),
                class: job.class.clone(),
                gpus: job.gpus,
                submitted_s: job.submitted,
                started_s: life.started,
                ended_s: life.ended,
                steps: life.steps,
                step_alone_s: life.step_alone,
                communication_s: life.communication,
                slowdown: life.slowdown(),
                own_collisions: life.own_collisions(),
                contended_s: life.contended_s,
                shared_a_link: life.shared_a_link,
                held: runs_of(&life.places, first_gpu),
            }
        };
        let mut contended: Vec<(usize, usize, f64)> =
            lived.contended.iter().map(|pair| (pair.jobs.0, pair.jobs.1, pair.seconds)).collect();
        contended.sort_by(|one, other| other.2.total_cmp(&one.2));
        contended.truncate(PAIRS_MOST);
        let effort = lived.effort;
        let figures = figures_of(jobs, lived);
        let missing = figures.iter().filter(|figure| figure.value.is_none());
        Self {
            policy,
            seed,
            gpus: lived.gpus,
            days: lived.span / 86_400.0,
            reasons: missing.map(|figure| (figure.name, figure.reason)).collect(),
            figures: figures.clone(),
            jobs: lived.jobs.iter().map(told).collect(),
            hours: Hours::of(lived),
            contended,
            effort: Effort {
                epochs: effort.epochs,
                watched_steps: effort.watched_steps,
                skipped_steps: effort.skipped_steps,
                checks: effort.checks,
                checks_failed: effort.checks_failed,
                plans: effort.plans,
                moves: effort.moves,
            },
            notes: Vec::new(),
            idle_gate: None,
            assumed: Vec::new(),
        }
    }
}
