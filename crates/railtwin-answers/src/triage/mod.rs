//! Triage: what is wrong, what it costs each job, what to take out first, and which host replaces it.
//!
//! A diagnosis names suspects. A suspect in a host stands for the host, since a host is what leaves service; a cable or a
//! switch stands for itself. [`railtwin::impact`] tells the jobs on each of them, the host that stands in, and the step time
//! without it. A job that a finding says to stand loses all of its GPUs; a job that is slower by a share loses that share.
mod culprits;
mod jobs;
mod json;

use railtwin::Error;
use railtwin::impact::{Impact, Impacts, Subject, impact};
use railtwin::interference::Options;
use railtwin_engine::{Case, Engine};
use railtwin_reading::Diagnosed;
use railtwin_records::Component;
use railtwin_reliability::downtime::Plan;
use railtwin_reliability::failure_rates::FailureRates;

pub use self::culprits::{TriageCulprit, culprits};
pub use self::jobs::{ListedJob, jobs_of_list, with_jobs};
pub use self::json::json_of;

/// Hours that a restart of a job takes from its work.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RestartHours {
    /// Hours between two checkpoints; half of it is lost with a restart on average.
    pub interval_h: f64,
    /// Hours to take the host out.
    pub isolation_h: f64,
    /// Hours from the restart until steps run.
    pub restart_h: f64,
}

impl Default for RestartHours {
    /// As `railtwin downtime` assumes: a checkpoint every 3 h (HPN, section 2.3), ten minutes each for the others.
    fn default() -> Self {
        let plan = Plan::new(FailureRates::c4(), 8);
        Self { interval_h: plan.interval, isolation_h: plan.isolation, restart_h: plan.restart }
    }
}

impl RestartHours {
    /// Hours of a job that one restart costs.
    pub fn hours(self) -> f64 {
        self.interval_h / 2.0 + self.isolation_h + self.restart_h
    }
}

/// Cost of a culprit to one job.
#[derive(Clone, PartialEq, Debug)]
pub struct JobCost {
    /// Name of the job.
    pub name: String,
    /// Its GPUs.
    pub gpus: u32,
    /// Ranks on the culprit, or with a queue pair over it.
    pub touched: usize,
    /// Share of the job that is lost while the culprit stays: 1 where the job stands; none where no finding tells.
    pub lost_share: Option<f64>,
    /// Hours of all GPUs that are lost in each hour, with `lost_share`.
    pub gpu_hours_per_hour: Option<f64>,
    /// GPU-hours of the restart that taking the culprit out needs; 0 where none of the job's hosts leaves.
    pub restart_gpu_hours: f64,
}

impl JobCost {
    /// Hours after which leaving the culprit costs more than the restart; none where nobody knows what it costs.
    pub fn break_even_h(&self) -> Option<f64> {
        self.gpu_hours_per_hour.map(|lost| self.restart_gpu_hours / lost)
    }
}

/// A culprit with its costs, in the order in which to act.
#[derive(Clone, PartialEq, Debug)]
pub struct TriageOrder {
    /// The culprit.
    pub culprit: TriageCulprit,
    /// Costs of the jobs that it touches, in the order of the scenario.
    pub jobs: Vec<JobCost>,
    /// Jobs, stand-ins and step times without the culprit.
    pub impact: Impact,
}

impl TriageOrder {
    /// GPU-hours lost in each hour, over all jobs of which it is known.
    pub fn gpu_hours_per_hour(&self) -> f64 {
        self.jobs.iter().filter_map(|job| job.gpu_hours_per_hour).sum()
    }
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Triage {
    /// The diagnosis in a sentence.
    pub sentence: String,
    /// Culprits that are sure enough to be taken out, the most costly first.
    pub orders: Vec<TriageOrder>,
    /// All of them taken out at once; none for fewer than two.
    pub together: Option<Impact>,
    /// Suspects of findings that do not accuse, and of which one alone is at fault: look at them first.
    pub unsure: Vec<TriageCulprit>,
    /// Suspects that have no place in the fabric.
    pub unplaced: Vec<Component>,
    /// The hours of a restart that costs rest on.
    pub restart: RestartHours,
}

/// Orders culprits of a diagnosis on the fabric of a case; `progress` hears of each draw.
///
/// # Errors
/// Those of [`impact`].
pub fn triage(
    told: &Diagnosed,
    case: &Case,
    engine: &dyn Engine,
    options: Options,
    restart: RestartHours,
    progress: &(dyn Fn() + Sync),
) -> Result<Triage, Error> {
    let found = culprits(told, case);
    let (sure, unsure): (Vec<TriageCulprit>, Vec<TriageCulprit>) =
        found.placed.into_iter().partition(|one| one.is_sure);
    let names: Vec<String> = sure.iter().map(|one| one.name.clone()).collect();
    let Impacts { each, together } = if names.is_empty() {
        Impacts { each: Vec::new(), together: None }
    } else {
        impact(case, engine, &names, options, progress)?
    };
    let mut orders: Vec<TriageOrder> = sure
        .into_iter()
        .zip(each)
        .map(|(culprit, impact)| TriageOrder { jobs: costs(&culprit, &impact, restart), culprit, impact })
        .collect();
    // Of two that cost as much, or of which nothing is known, the one with a job on it comes first.
    let weight = |order: &TriageOrder| order.gpu_hours_per_hour() * order.culprit.confidence;
    let gpus = |order: &TriageOrder| order.jobs.iter().map(|job| job.gpus).sum::<u32>();
    orders.sort_by(|a, b| {
        weight(b).total_cmp(&weight(a)).then_with(|| gpus(b).cmp(&gpus(a))).then_with(|| {
            b.culprit
                .confidence
                .total_cmp(&a.culprit.confidence)
                .then_with(|| a.culprit.name.cmp(&b.culprit.name))
        })
    });
    Ok(Triage { sentence: told.sentence(), orders, together, unsure, unplaced: found.unplaced, restart })
}

/// Culprits in the order of their confidence, where nobody says which jobs run: no costs and no replacements.
///
/// # Errors
/// Those of [`Subject::named`].
pub fn triage_without_jobs(told: &Diagnosed, case: &Case, restart: RestartHours) -> Result<Triage, Error> {
    let found = culprits(told, case);
    let (sure, unsure): (Vec<TriageCulprit>, Vec<TriageCulprit>) =
        found.placed.into_iter().partition(|one| one.is_sure);
    let order = |culprit: TriageCulprit| {
        let subjects = vec![Subject::named(&case.fabric, &culprit.name)?];
        let impact = Impact { subjects, stand_ins: Vec::new(), free: Vec::new(), jobs: Vec::new() };
        Ok(TriageOrder { culprit, jobs: Vec::new(), impact })
    };
    let mut orders = sure.into_iter().map(order).collect::<Result<Vec<TriageOrder>, Error>>()?;
    orders.sort_by(|a, b| {
        let confidence = b.culprit.confidence.total_cmp(&a.culprit.confidence);
        confidence.then_with(|| a.culprit.name.cmp(&b.culprit.name))
    });
    Ok(Triage {
        sentence: told.sentence(),
        orders,
        together: None,
        unsure,
        unplaced: found.unplaced,
        restart,
    })
}

/// The costs of a culprit to each job that it touches.
fn costs(culprit: &TriageCulprit, impact: &Impact, restart: RestartHours) -> Vec<JobCost> {
    let leaves = impact.subjects.iter().any(|subject| subject.host.is_some());
    let touched = impact.jobs.iter().filter(|job| !job.touched.is_empty());
    touched
        .map(|job| {
            let gpus = f64::from(job.ranks);
            JobCost {
                name: job.name.clone(),
                gpus: job.ranks,
                touched: job.touched.len(),
                lost_share: culprit.lost_share,
                gpu_hours_per_hour: culprit.lost_share.map(|share| gpus * share),
                restart_gpu_hours: if leaves { gpus * restart.hours() } else { 0.0 },
            }
        })
        .collect()
}
