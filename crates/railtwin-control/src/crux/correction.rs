//! The correction factor of each job against the reference job, and the order of priorities (Crux, section 4.2).
use std::collections::BTreeMap;

use super::contention::{Contention, Outcome, Start};
use super::demand::{Demand, JobDemand};

/// Steps of the job with the longer ones for which a pair is held against each other: what its begin and end do to
/// the factor is below 1 %.
const PAIR_STEPS: f64 = 200.0;
/// Most steps of the other job.
const SHORT_STEPS_MOST: f64 = 1e6;

/// Who goes first, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Priorities {
    /// The job that the others are held against; none without jobs.
    pub reference: Option<usize>,
    /// By job: `k`, 1 for the reference job.
    pub factors: Vec<f64>,
    /// By job: `P = k · I`.
    pub priorities: Vec<f64>,
    /// Jobs, the highest priority first.
    pub order: Vec<usize>,
}

/// Two jobs alone on one link, each once first.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The reference job first.
    pub reference_first: Outcome,
    /// The other one first.
    pub other_first: Outcome,
}

impl Pair {
    /// `reference` and `other` on one link that each needs for all of its communication, both ready at once, for
    /// `window` seconds.
    pub fn of(reference: &JobDemand, other: &JobDemand, window: f64) -> Self {
        let on_link = |job: &JobDemand| JobDemand { loads: vec![(0, job.seconds)], ..job.clone() };
        let demand = Demand { jobs: vec![on_link(reference), on_link(other)], links: 1, fair: Vec::new() };
        let start = Start(demand.jobs.iter().map(|job| -job.ready).collect());
        let contention = Contention::new(&demand, &start, window);
        Self { reference_first: contention.run(&[0, 1]), other_first: contention.run(&[1, 0]) }
    }

    /// `k` of the other job: the seconds of communication that it gains by going first over those that the reference
    /// job gains by it. With k so, k · I of both are equal where going first is worth as much to either.
    ///
    /// The paper does not say what holds where one gains nothing. A window does not tell gains of less than one step's
    /// communication (`seconds` of the two) from none: where neither gains more, nothing is at stake and k is 1; where
    /// one does, the other's gain counts as that much.
    pub fn factor(&self, seconds: [f64; 2]) -> f64 {
        let gain = |job: usize, first: &Outcome, second: &Outcome| {
            first.jobs[job].communicating - second.jobs[job].communicating
        };
        let of_reference = gain(0, &self.reference_first, &self.other_first);
        let of_other = gain(1, &self.other_first, &self.reference_first);
        if of_reference < seconds[0] && of_other < seconds[1] {
            return 1.0;
        }
        of_other.max(seconds[1]) / of_reference.max(seconds[0])
    }
}

/// Seconds on links for each second of a job's steps alone.
fn traffic(job: &JobDemand) -> f64 {
    job.loads.iter().map(|load| load.1).sum::<f64>() / job.step_alone()
}

/// The job with the most traffic; of equal ones the first.
fn reference(demand: &Demand) -> Option<usize> {
    let mut most: Option<(usize, f64)> = None;
    for (job, traffic) in demand.jobs.iter().map(traffic).enumerate() {
        if most.is_none_or(|(_, most)| traffic > most) {
            most = Some((job, traffic));
        }
    }
    most.map(|(job, _)| job)
}

/// Correction factors of pairs that were held against each other already: jobs come and go, and many are alike.
#[derive(Clone, Debug, Default)]
pub struct Factors(BTreeMap<[u64; 6], f64>);

impl Factors {
    /// `k` of `other` against `reference`.
    fn of(&mut self, reference: &JobDemand, other: &JobDemand) -> f64 {
        let of_job = |job: &JobDemand| [job.compute, job.ready, job.seconds].map(f64::to_bits);
        let ([a, b, c], [d, e, f]) = (of_job(reference), of_job(other));
        *self.0.entry([a, b, c, d, e, f]).or_insert_with(|| {
            let steps = [reference.step_alone(), other.step_alone()];
            let window = (PAIR_STEPS * steps[0].max(steps[1])).min(SHORT_STEPS_MOST * steps[0].min(steps[1]));
            Pair::of(reference, other, window).factor([reference.seconds, other.seconds])
        })
    }
}

impl Priorities {
    /// Of jobs with this demand. Of equal priorities the higher intensity goes first, then the most traffic, then the job
    /// that came first. The paper says nothing of ties. Where a pair is one, each has room beside the other in the long
    /// run, and only what meets at first is lost: who communicates for more of its step has less room to make up for it.
    pub fn of(demand: &Demand) -> Self {
        Self::with(demand, &mut Factors::default())
    }

    /// The same; factors that are known are not computed again.
    pub fn with(demand: &Demand, known: &mut Factors) -> Self {
        let reference = reference(demand);
        let mut factor = |job: usize| {
            let Some(reference) = reference.filter(|&reference| reference != job) else { return 1.0 };
            let (reference, other) = (&demand.jobs[reference], &demand.jobs[job]);
            if reference.seconds == 0.0 || other.seconds == 0.0 {
                return 1.0;
            }
            known.of(reference, other)
        };
        let jobs = 0..demand.jobs.len();
        let factors: Vec<f64> = jobs.clone().map(&mut factor).collect();
        let intensity = |job: usize| demand.jobs[job].intensity();
        let priorities: Vec<f64> = jobs.clone().map(|job| factors[job] * intensity(job)).collect();
        let traffics: Vec<f64> = demand.jobs.iter().map(traffic).collect();
        let mut order: Vec<usize> = jobs.collect();
        order.sort_by(|&first, &second| {
            let by_priority = priorities[second].total_cmp(&priorities[first]);
            let by_intensity = intensity(second).total_cmp(&intensity(first));
            by_priority.then(by_intensity).then(traffics[second].total_cmp(&traffics[first]))
        });
        Self { reference, factors, priorities, order }
    }
}
