//! What became of jobs and of the cluster.
use crate::actions::JobAction;

/// One job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLife {
    /// Number of the job in the order of the question.
    pub job: usize,
    /// Seconds from the begin; none where it did not start.
    pub started: Option<f64>,
    /// The same of its end; none where the span ended first.
    pub ended: Option<f64>,
    /// Steps of it; all where it ended.
    pub steps: f64,
    /// Steps that [`Self::steps_own_s`] and its like are of; about `steps`.
    pub counted: f64,
    /// Seconds of a step alone, without checkpoints.
    pub step_alone: f64,
    /// Seconds of communication of a step alone.
    pub communication: f64,
    /// Share of a step alone in which its GPUs compute.
    pub computing_alone: f64,
    /// Whether another job's traffic ever crossed a link of its while both ran.
    pub shared_a_link: bool,
    /// Whether it ever shared a link that could not serve all at once.
    pub contended: bool,
    /// Seconds in which it so contended.
    pub contended_s: f64,
    /// Checkpoints that it wrote to their end.
    pub checkpoints: u32,
    /// Seconds for which it stood still to write them.
    pub writing_s: f64,
    /// Seconds that they would have taken with nobody else writing or training.
    pub writing_alone_s: f64,
    /// Seconds that its steps would have taken by the paths that the policy gives the job on an empty cluster, with nothing to
    /// read and nobody asking for inference.
    pub steps_own_s: f64,
    /// Seconds that its steps would have taken by their paths with no other job in the way, nothing to read and nobody asking
    /// for inference.
    pub steps_without_reads_s: f64,
    /// The same with what they read.
    pub steps_by_paths_s: f64,
    /// The same beside what inference took of links meanwhile.
    pub steps_beside_inference_s: f64,
    /// Hosts that it had; GPUs by (host, GPU) in the order of ranks.
    pub places: Vec<(u32, u32)>,
}

/// Steps alone that a job has had time for before what it got done of them says something of it.
const STEPS_TOLD: f64 = 10.0;

impl JobLife {
    /// A job that did not start.
    pub(crate) fn waiting(job: usize) -> Self {
        Self {
            job,
            started: None,
            ended: None,
            steps: 0.0,
            counted: 0.0,
            step_alone: 0.0,
            communication: 0.0,
            computing_alone: 0.0,
            shared_a_link: false,
            contended: false,
            contended_s: 0.0,
            checkpoints: 0,
            writing_s: 0.0,
            writing_alone_s: 0.0,
            steps_own_s: 0.0,
            steps_without_reads_s: 0.0,
            steps_by_paths_s: 0.0,
            steps_beside_inference_s: 0.0,
            places: Vec::new(),
        }
    }

    /// Times that it took of what its steps would have taken alone under the same policy, without the time in the queue; the
    /// checkpoints that it wrote are in it. None before it ended.
    pub fn slowdown(&self) -> Option<f64> {
        let ran = self.ended? - self.started?;
        Some(ran / (self.steps * self.step_alone * self.own_collisions()?))
    }

    /// Times that its steps take alone under the policy of what they take without collisions: what its own flows lose to
    /// each other on links that they share. None before it did a step.
    pub fn own_collisions(&self) -> Option<f64> {
        // Steps that are skipped over end a rounding off the whole number of them.
        let own = self.steps_own_s / (self.counted * self.step_alone);
        own.is_finite().then_some(own)
    }

    /// Share of the steps it would have done alone that it did, from its start to its end, or to the end of `span` seconds
    /// where it still ran then. Who was slowed most is the last to end: those that ended alone would not say so. None for
    /// a job that did not start, or had not the time for ten steps yet.
    pub fn throughput(&self, span: f64) -> Option<f64> {
        let ran = self.ended.unwrap_or(span) - self.started?;
        let told = self.ended.is_some() || ran >= STEPS_TOLD * self.step_alone;
        told.then(|| self.steps * self.step_alone / ran)
    }

    /// Whether it started and had not ended when the span did.
    pub fn is_running(&self) -> bool {
        self.started.is_some() && self.ended.is_none()
    }
}

/// An hour of the cluster, or what of it lies within the span.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Hour {
    /// GPU-seconds that jobs held.
    pub held: f64,
    /// GPU-seconds in which they computed.
    pub computed: f64,
    /// Seconds of waiting, summed over the jobs in the queue.
    pub waited: f64,
    /// Job-seconds in which jobs contended.
    pub contended: f64,
    /// Seconds of communication that jobs got done over links that others may cross, between hosts or over PCIe, each as if
    /// alone.
    pub communicated: f64,
    /// GPU-seconds of the computation that hung on it. Over `communicated` this is the GPU intensity of what links
    /// carried (Crux, definition 2).
    pub hung: f64,
}

/// How the time was gone through.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Effort {
    /// Times that jobs which share links were put together anew.
    pub epochs: u64,
    /// Steps of contending jobs that were computed.
    pub watched_steps: f64,
    /// Steps of contending jobs that were skipped.
    pub skipped_steps: f64,
    /// Checks of a pace after time was skipped, and how many of them did not find it.
    pub checks: u64,
    /// The same.
    pub checks_failed: u64,
    /// Times that paths and priorities were planned.
    pub plans: u64,
    /// Times that a job moved so that another fits a segment.
    pub moves: u64,
    /// Of the epochs those in which it can matter that levels do not hold on links inside hosts.
    pub ungated: u64,
}

/// Two jobs that contended for a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contended {
    /// Their numbers, the lower first.
    pub jobs: (usize, usize),
    /// Seconds.
    pub seconds: f64,
}

/// What became of all.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Lived {
    /// In the order of the question.
    pub jobs: Vec<JobLife>,
    /// Hour by hour.
    pub hours: Vec<Hour>,
    /// Who contended with whom for how long, in order.
    pub contended: Vec<Contended>,
    /// GPUs of the cluster that jobs may have.
    pub gpus: u32,
    /// Whether jobs read beside their steps.
    pub reads: bool,
    /// Share of the fullest link that inference takes, hour by hour; none where nobody serves.
    pub inference_shares: Option<Vec<f64>>,
    /// Seconds that were looked at.
    pub span: f64,
    /// How.
    pub effort: Effort,
    /// What was decided, in the order in which it took effect.
    pub actions: Vec<JobAction>,
}

impl Lived {
    /// Share of the time of the GPUs that jobs held in which they computed: GPU utilization as Crux has it.
    pub fn gpu_utilization(&self) -> f64 {
        let sum = |of: fn(&Hour) -> f64| self.hours.iter().map(of).sum::<f64>();
        sum(|hour| hour.computed) / sum(|hour| hour.held)
    }

    /// Share of the fullest link that inference takes when most is asked for; none where nobody serves.
    pub fn inference_share(&self) -> Option<f64> {
        self.inference_shares.as_ref().map(|shares| shares.iter().copied().fold(0.0, f64::max))
    }

    /// Share of the time of all GPUs in which jobs held them.
    pub fn occupancy(&self) -> f64 {
        self.hours.iter().map(|hour| hour.held).sum::<f64>() / (f64::from(self.gpus) * self.span)
    }

    /// Shares of the jobs that started, and of their GPUs, of which `holds` is true.
    pub fn share_of(&self, holds: impl Fn(&JobLife) -> bool) -> [f64; 2] {
        let started = || self.jobs.iter().filter(|job| job.started.is_some());
        let gpus = |job: &JobLife| job.places.len();
        let held = || started().filter(|job| holds(job));
        [
            held().count() as f64 / started().count() as f64,
            held().map(gpus).sum::<usize>() as f64 / started().map(gpus).sum::<usize>() as f64,
        ]
    }
}
