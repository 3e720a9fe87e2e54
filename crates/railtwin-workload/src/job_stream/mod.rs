//! Streams of jobs: who submits what when, by lot.
//!
//! Sizes follow HPN's Figure 6 ([`SizeMix`]), durations are log-normal, submissions are a Poisson process, on request with a
//! daily tide, or come as those of a list do. What is drawn has the load that is asked for: jobs are drawn until their
//! GPU-seconds reach it, and submitted at times drawn apart from that, which is a Poisson process of which the number of
//! arrivals is known.
//!
//! ```
//! use railtwin_units::SimTime;
//! use railtwin_workload::JobStream;
//! let week = SimTime::from_seconds(7.0 * 86_400.0);
//! let stream = JobStream::new(2_048, week, 0.9, 1);
//! let jobs = stream.jobs().unwrap();
//! assert!((stream.load_of(&jobs) - 0.9).abs() < 1e-9);
//! assert!(jobs.is_sorted_by_key(|job| job.submitted));
//! ```
use rand::RngExt;

use railtwin_units::{SimTime, stream};

use crate::error::WorkloadError;
use crate::job_class::JobClass;

mod arrivals;
mod lot;
mod sizes;

pub use sizes::SizeMix;

/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// Time of the day at which most jobs are submitted where there is a tide: 15 o'clock.
const HIGH_TIDE: f64 = 15.0 * 3_600.0;
/// Most jobs of a stream.
const JOBS_MAX: f64 = 5e6;

/// A job as it was submitted.
#[derive(Clone, PartialEq, Debug)]
pub struct SubmittedJob {
    /// Name.
    pub name: String,
    /// When it was submitted; the stream begins at 0.
    pub submitted: SimTime,
    /// GPUs that it wants.
    pub gpus: u32,
    /// How long it takes when it runs alone.
    pub duration: SimTime,
    /// What it trains, where that is known.
    pub class: Option<&'static JobClass>,
    /// Hosts and GPUs of them that it wants, in the order of its ranks; none: whichever there are.
    pub places: Vec<(u32, u32)>,
    /// Hosts that it is to be near; none: wherever it is placed.
    pub near: Vec<u32>,
}

impl SubmittedJob {
    /// GPUs times duration.
    pub fn gpu_seconds(&self) -> f64 {
        f64::from(self.gpus) * self.duration.seconds()
    }
}

/// What a stream of jobs is drawn from.
#[derive(Clone, PartialEq, Debug)]
pub struct JobStream {
    /// GPUs of the cluster; no larger job is drawn.
    pub gpus: u32,
    /// Most GPUs of a job.
    pub largest: u32,
    /// Jobs are submitted from 0 to here.
    pub span: SimTime,
    /// GPU-seconds of all jobs over those that the cluster has in the span.
    pub load: f64,
    /// Sizes.
    pub sizes: SizeMix,
    /// Median of durations.
    pub median: SimTime,
    /// Standard deviation of the logarithm of durations.
    pub sigma: f64,
    /// Longest duration; what is drawn longer lasts this.
    pub longest: SimTime,
    /// How far submissions swing about their mean over a day, 0..1; 0 = even.
    pub tide: f64,
    /// Times of a list in order, after which submissions lie in place of evenly; none where there is no list.
    pub arrivals: Vec<SimTime>,
    /// Seed.
    pub seed: u64,
}

impl JobStream {
    /// A stream with HPN's sizes and durations of a median of 1 h, σ 1.85 and at most the span; no tide.
    ///
    /// σ is what 3,630 pods of whole GPUs of Alibaba's trace `openb` (2023) have. Their median is 13 min, with at most 8 GPUs;
    /// 1 h for training on several hosts is our choice (10 min to 6 h).
    pub fn new(gpus: u32, span: SimTime, load: f64, seed: u64) -> Self {
        Self {
            gpus,
            largest: gpus,
            span,
            load,
            sizes: SizeMix::hpn(),
            median: SimTime::from_seconds(3_600.0),
            sigma: 1.85,
            longest: span,
            tide: 0.0,
            arrivals: Vec::new(),
            seed,
        }
    }

    /// GPU-seconds of jobs over those that the cluster has in the span.
    pub fn load_of(&self, jobs: &[SubmittedJob]) -> f64 {
        let offered: f64 = jobs.iter().map(SubmittedJob::gpu_seconds).sum();
        offered / self.capacity()
    }

    /// GPU-seconds of the cluster in the span.
    fn capacity(&self) -> f64 {
        f64::from(self.gpus) * self.span.seconds()
    }

    /// The jobs, in the order in which they are submitted; of each the class is drawn, too ([`JobClass::by_lot`]).
    ///
    /// The last job drawn, which is submitted at any time, lasts as long as the load leaves it.
    ///
    /// # Errors
    /// [`WorkloadError`] naming what cannot be drawn from.
    pub fn jobs(&self) -> Result<Vec<SubmittedJob>, WorkloadError> {
        self.check()?;
        let sizes = self.sizes.up_to(self.gpus.min(self.largest))?;
        let mut of_sizes = stream::named(self.seed, "job stream: sizes");
        let mut of_durations = stream::named(self.seed, "job stream: durations");
        let mut of_classes = stream::named(self.seed, "job stream: classes");
        let target = self.load * self.capacity();
        let (mut offered, mut drawn) = (0.0, Vec::new());
        while offered < target {
            let gpus = sizes.by_lot(of_sizes.random());
            let factor = (self.sigma * lot::normal(&mut of_durations)).exp();
            let seconds = (self.median.seconds() * factor).min(self.longest.seconds());
            let duration = SimTime::from_seconds(seconds);
            let class = JobClass::by_lot(gpus, of_classes.random());
            // The last job takes what is left of the load.
            let left = SimTime::from_seconds((target - offered) / f64::from(gpus));
            offered += f64::from(gpus) * seconds;
            drawn.push((gpus, duration.min(left).max(SimTime::from_ps(1)), class));
            if drawn.len() as f64 > JOBS_MAX {
                return Err(self.too_many());
            }
        }
        let mut times = self.submissions(drawn.len());
        times.sort_unstable();
        let digits = drawn.len().to_string().len();
        let jobs = times.into_iter().zip(drawn).enumerate();
        let jobs = jobs.map(|(number, (submitted, (gpus, duration, class)))| SubmittedJob {
            name: format!("job-{:0digits$}", number + 1),
            submitted,
            gpus,
            duration,
            class,
            places: Vec::new(),
            near: Vec::new(),
        });
        Ok(jobs.collect())
    }

    /// Times of submission, in no order: even over the span, thinned where the tide is low, or
    /// as those of a list.
    fn submissions(&self, count: usize) -> Vec<SimTime> {
        let mut stream = stream::named(self.seed, "job stream: submissions");
        if !self.arrivals.is_empty() {
            return arrivals::submissions(&self.arrivals, self.span, count, &mut stream);
        }
        let mut times = Vec::with_capacity(count);
        while times.len() < count {
            let (at, lot): (f64, f64) = (stream.random(), stream.random());
            let seconds = at * self.span.seconds();
            let turn = std::f64::consts::TAU * (seconds - HIGH_TIDE) / DAY;
            if lot * (1.0 + self.tide) <= 1.0 + self.tide * turn.cos() {
                times.push(SimTime::from_seconds(seconds));
            }
        }
        times
    }

    fn check(&self) -> Result<(), WorkloadError> {
        let wrong = |field, value: String, accepted: &str| Err(WorkloadError::new(field, value, accepted));
        if self.gpus == 0 {
            return wrong("gpus", "0".into(), "a cluster has at least one GPU");
        }
        if self.span == SimTime::ZERO || self.span == SimTime::NEVER {
            return wrong(
                "span",
                format!("{} s", self.span.seconds()),
                "write a time over 0 and below 213 days",
            );
        }
        if !(self.load > 0.0 && self.load <= 10.0) {
            return wrong("load", self.load.to_string(), "write a number over 0 and up to 10");
        }
        if self.median == SimTime::ZERO || self.longest == SimTime::ZERO {
            return wrong("duration", "0 s".into(), "write a median and a longest duration over 0");
        }
        if !(self.sigma >= 0.0 && self.sigma <= 5.0) {
            return wrong("sigma", self.sigma.to_string(), "write a number from 0 to 5");
        }
        if !(self.tide >= 0.0 && self.tide <= 1.0) {
            return wrong("tide", self.tide.to_string(), "write a number from 0 to 1");
        }
        let mean = self.median.seconds() * (self.sigma * self.sigma / 2.0).exp();
        let mean = mean.min(self.longest.seconds());
        if self.load * self.capacity() / (mean * f64::from(self.gpus)) > JOBS_MAX {
            return Err(self.too_many());
        }
        Ok(())
    }

    fn too_many(&self) -> WorkloadError {
        let accepted = format!(
            "these durations make more than {JOBS_MAX} jobs: write a shorter span or a longer median"
        );
        WorkloadError::new("span", format!("{} s", self.span.seconds()), accepted)
    }
}

#[cfg(test)]
mod tests;
