//! Figures of weeks of jobs.
use railtwin_clustersim::{ClusterJob, JobLife, Lived};
use serde::Serialize;

use super::told::Told;
use crate::figures::declared::cluster as declared;
use crate::figures::declared::{Declared, Unit};
use crate::figures::quantile;

/// A figure of a cluster, and its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Name.
    pub name: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// Unit; empty for a share or a ratio.
    pub unit: &'static str,
    /// Value; null where there is none, as of the slowdown where no job ended.
    pub value: Option<f64>,
    /// Why there is none; empty where there is one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'static str,
    /// Jobs that the value leaves out and that would change it; empty where it leaves out none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A figure over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Name of the figure.
    pub name: &'static str,
    /// Unit of it.
    pub unit: &'static str,
    /// Least.
    pub least: f64,
    /// Median; of an even number of seeds the mean of the middle two.
    pub median: f64,
    /// Most.
    pub most: f64,
}

/// Sorted values of which there is at least one.
struct Values(Vec<f64>);

impl Values {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    fn at(&self, share: f64) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        Some(self.0[(last as f64 * share).round() as usize])
    }

    fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.iter().sum::<f64>() / self.0.len() as f64)
    }
}

/// Share of what it would have done alone below which a job is starved.
const STARVED: f64 = 0.1;

/// Utilizations are told apart to the next multiple of this.
const SAME: f64 = 1e-4;

/// The figures, in one order for all.
const DECLARED: [Declared; 30] = [
    declared::GPU_UTILIZATION,
    declared::OCCUPANCY,
    declared::JOBS_ENDED,
    declared::JOBS_RUNNING,
    declared::JOBS_TOO_LARGE,
    declared::SLOWDOWN_MEAN,
    declared::SLOWDOWN_P95,
    declared::OWN_COLLISIONS,
    declared::THROUGHPUT_LOSS_WORST,
    declared::THROUGHPUT_MEAN,
    declared::THROUGHPUT_LOSS_WORST_RUNNING,
    declared::JOBS_STARVED,
    declared::COMPLETION_MEAN,
    declared::WAITING_MEAN,
    declared::WAITING_P95,
    declared::JOBS_WAITING,
    declared::GPUS_WAITING,
    declared::WAITING_SO_FAR_MEAN,
    declared::WAITING_AT_LEAST_MEAN,
    declared::MAKESPAN,
    declared::CONTENDED_JOBS,
    declared::CONTENDED_GPUS,
    declared::SHARING_JOBS,
    declared::SHARING_GPUS,
    declared::GPU_INTENSITY,
    declared::CHECKPOINT_MEAN,
    declared::CHECKPOINT_SLOWDOWN,
    declared::READ_SLOWDOWN,
    declared::INFERENCE_SLOWDOWN,
    declared::INFERENCE_LINK_SHARE,
];

/// Their names.
pub const FIGURES: [&str; DECLARED.len()] = {
    let mut names = [""; DECLARED.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = DECLARED[at].name;
        at += 1;
    }
    names
};

/// Jobs that wait when the span ends.
struct Queue {
    /// Seconds for which each has waited so far.
    so_far: Values,
    /// GPUs that they want.
    gpus: f64,
}

impl Queue {
    /// The jobs that were submitted within the span and did not start; one that is too large waits for nothing.
    fn of(jobs: &[ClusterJob], lived: &Lived) -> Self {
        let is_waiting = |life: &&JobLife| {
            let job = &jobs[life.job];
            life.started.is_none() && job.gpus <= lived.gpus && job.submitted < lived.span
        };
        let waiting = || lived.jobs.iter().filter(is_waiting).map(|life| &jobs[life.job]);
        let so_far = Values::of(waiting().map(|job| lived.span - job.submitted));
        Self { so_far, gpus: waiting().map(|job| f64::from(job.gpus)).sum() }
    }

    /// The note of a figure that leaves the queue out; empty where nobody waits. `running` jobs are left out as well.
    fn note(&self, over: &str, running: usize) -> String {
        let jobs = |count: usize| format!("{count} {}", if count == 1 { "job" } else { "jobs" });
        let mut left_out = Vec::new();
        if running > 0 {
            left_out.push(format!("{} still running", jobs(running)));
        }
        if let Some(mean) = self.so_far.mean() {
            let waiting = jobs(self.so_far.0.len());
            left_out.push(format!("{waiting} still waiting, {mean:.0} s so far in the mean"));
        }
        if left_out.is_empty() {
            String::new()
        } else {
            format!("{over}, without {}", left_out.join(" and "))
        }
    }
}

/// Figures of what was lived by jobs that were submitted then, in one order for all.
pub(super) fn figures_of(jobs: &[ClusterJob], lived: &Lived) -> Vec<Figure> {
    let submitted: Vec<f64> = jobs.iter().map(|job| job.submitted).collect();
    let too_large = jobs.iter().filter(|job| job.gpus > lived.gpus).count();
    let started = || lived.jobs.iter().filter(|job| job.started.is_some());
    let slowdown = Values::of(lived.jobs.iter().filter_map(JobLife::slowdown));
    let of_ended = lived.jobs.iter().filter(|job| job.ended.is_some());
    let own = Values::of(of_ended.filter_map(JobLife::own_collisions));
    let waiting = Values::of(started().filter_map(|job| Some(job.started? - submitted[job.job])));
    let completion = Values::of(lived.jobs.iter().filter_map(|job| Some(job.ended? - submitted[job.job])));
    let makespan = lived
        .jobs
        .iter()
        .filter_map(|job| job.ended)
        .fold(None, |most: Option<f64>, end| Some(most.map_or(end, |most| most.max(end))));
    let [contended, contended_gpus] = lived.share_of(|job| job.contended);
    let [shared, shared_gpus] = lived.share_of(|job| job.shared_a_link);
    let hours = |of: fn(&railtwin_clustersim::Hour) -> f64| lived.hours.iter().map(of).sum::<f64>();
    let intensity = hours(|hour| hour.hung) / hours(|hour| hour.communicated);
    let some = |value: f64| value.is_finite().then_some(value);
    let ended = lived.jobs.iter().filter(|job| job.ended.is_some()).count();
    let running = || lived.jobs.iter().filter(|job| job.is_running());
    let throughput = Values::of(lived.jobs.iter().filter_map(|job| job.throughput(lived.span)));
    let of_running = Values::of(running().filter_map(|job| job.throughput(lived.span)));
    // A job that nobody slows ends a rounding before its time: that is no loss, nor one below zero.
    let lost = |throughput: f64| (1.0 - throughput).max(0.0);
    let starved = throughput.0.iter().filter(|&&throughput| throughput < STARVED).count();
    let of_jobs = |of: fn(&JobLife) -> f64| lived.jobs.iter().map(of).sum::<f64>();
    let writing = of_jobs(|job| job.writing_s);
    let written = of_jobs(|job| f64::from(job.checkpoints));
    let with_reads = of_jobs(|job| job.steps_by_paths_s);
    let queue = Queue::of(jobs, lived);
    let all_waits = Values::of(waiting.0.iter().chain(&queue.so_far.0).copied());
    let beside = of_jobs(|job| job.steps_beside_inference_s);
    let values: [Option<f64>; FIGURES.len()] = [
        some(lived.gpu_utilization()),
        some(lived.occupancy()),
        Some(ended as f64),
        Some(running().count() as f64),
        Some(too_large as f64),
        slowdown.mean(),
        slowdown.at(0.95),
        own.mean(),
        slowdown.at(1.0).map(|most| lost(1.0 / most)),
        throughput.mean(),
        of_running.at(0.0).map(lost),
        Some(starved as f64),
        completion.mean(),
        waiting.mean(),
        waiting.at(0.95),
        Some(queue.so_far.0.len() as f64),
        Some(queue.gpus),
        queue.so_far.mean(),
        all_waits.mean(),
        makespan,
        some(contended),
        some(contended_gpus),
        some(shared),
        some(shared_gpus),
        some(intensity),
        some(writing / written),
        some(writing / of_jobs(|job| job.writing_alone_s)),
        some(with_reads / of_jobs(|job| job.steps_without_reads_s)).filter(|_| lived.reads),
        lived.inference_share().and(some(beside / of_jobs(|job| job.steps_by_paths_s))),
        lived.inference_share(),
    ];
    let running = running().count();
    DECLARED.iter().zip(values).map(|(of, value)| figure(of, value, &queue, running)).collect()
}

/// A figure with the reason for which it has no value, and what it leaves out.
fn figure(of: &Declared, value: Option<f64>, queue: &Queue, running: usize) -> Figure {
    let unit = if of.unit == Unit::Seconds { of.unit.name() } else { "" };
    let note = match of.name {
        "waiting_mean" | "waiting_p95" => queue.note("over jobs that started", 0),
        "completion_mean" | "makespan" | "slowdown_mean" | "slowdown_p95" | "own_collisions" => {
            queue.note("over jobs that ended", running)
        }
        _ => String::new(),
    };
    let reason = if value.is_some() { "" } else { why_none(of.name) };
    Figure { name: of.name, meaning: of.meaning(), unit, value, reason, note }
}

/// The figures of a run folder; what has no value says why.
pub(super) fn of_run(told: &Told) -> Vec<railtwin_store::Figure> {
    let figure = |(of, figure): (&Declared, &Figure)| {
        of.given(figure.value.ok_or_else(|| figure.reason.to_owned()), &figure.note)
    };
    DECLARED.iter().zip(&told.figures).map(figure).collect()
}

/// Why a figure has no value where it has none.
fn why_none(name: &str) -> &'static str {
    match name {
        "gpu_utilization" => "no job held a GPU",
        "occupancy" => "no GPU is there to be held",
        "throughput_mean" => "no job ended or had the time for ten steps",
        "throughput_loss_worst_running" => "no job that still runs had the time for ten steps",
        "waiting_mean" | "waiting_p95" | "contended_jobs" | "contended_gpus" | "sharing_jobs"
        | "sharing_gpus" => "no job started",
        "waiting_so_far_mean" => "no job waits at the end",
        "waiting_at_least_mean" => "no job started or waits",
        "gpu_intensity" => "links carried nothing",
        "read_slowdown" => "jobs read nothing, or none did a step",
        "inference_slowdown" => "nobody serves inference, or no job did a step",
        "inference_link_share" => "nobody serves inference",
        "checkpoint_mean" | "checkpoint_slowdown" => "no job wrote a checkpoint",
        _ => "no job ended",
    }
}

/// The figures of one policy over its seeds; those that one of them has not are left out.
pub fn compared(told: &[&Told]) -> Vec<Band> {
    let Some(first) = told.first() else { return Vec::new() };
    let band = |figure: &Figure| {
        let all: Option<Vec<f64>> = told.iter().map(|one| one.value(figure.name)).collect();
        let values = Values::of(all?.into_iter());
        let (least, median, most) = (values.at(0.0)?, quantile(&values.0, 0.5)?, values.at(1.0)?);
        Some(Band { name: figure.name, unit: figure.unit, least, median, most })
    };
    first.figures.iter().filter_map(band).collect()
}

/// The mean place of each policy by GPU utilization over the seeds that all of them ran, 1 for the best; those whose
/// utilization is the same to [`SAME`] share the mean of their places.
pub fn ranks(policies: &[&str], told: &[Told]) -> Vec<f64> {
    let used = |policy: &str| -> Vec<f64> {
        let runs = told.iter().filter(|one| one.policy == policy);
        runs.map(|one| one.value("gpu_utilization").map_or(f64::NAN, |value| (value / SAME).round()))
            .collect()
    };
    let all: Vec<Vec<f64>> = policies.iter().map(|policy| used(policy)).collect();
    let ran = all.iter().map(Vec::len).min().unwrap_or(0);
    // A seed in which nobody held a GPU ranks nobody.
    let seeds: Vec<usize> =
        (0..ran).filter(|&seed| all.iter().all(|of_policy| of_policy[seed].is_finite())).collect();
    let place = |own: &[f64], seed: usize| {
        let others = || all.iter().map(|of_policy| of_policy[seed]);
        let better = others().filter(|&value| value > own[seed]).count();
        let same = others().filter(|&value| value == own[seed]).count();
        better as f64 + (same as f64 + 1.0) / 2.0
    };
    let mean =
        |own: &Vec<f64>| seeds.iter().map(|&seed| place(own, seed)).sum::<f64>() / seeds.len().max(1) as f64;
    all.iter().map(mean).collect()
}
