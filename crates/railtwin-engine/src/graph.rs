//! The operations of all jobs of a case as one graph.
use railtwin_units::{SimTime, stream};
use railtwin_workload::{Operation, OperationId, PatternId, Plan, Work};

/// Highest priority: IEEE 802.1Q has eight classes of traffic, of which the network itself takes none here.
pub const PRIORITY_MAX: u8 = 7;

/// One job's share of the graph.
#[derive(Clone, PartialEq, Debug)]
pub struct JobGraph {
    /// Job name.
    pub name: String,
    /// When it starts.
    pub start: SimTime,
    /// When its processes are ended, whatever is left of its steps; [`SimTime::NEVER`] where they come to their end.
    pub until: SimTime,
    /// The job, by its row, that goes on with its steps after its processes were ended; none where none does.
    pub goes_on_as: Option<u32>,
    /// The plan of one step.
    pub plan: Plan,
    /// Steps, one after the other.
    pub steps: u32,
    /// First operation of the job in the graph; steps follow each other.
    pub first_operation: u32,
    /// First pattern of the job in the case.
    pub first_pattern: u32,
    /// What it sends goes before what jobs of lower priority send, 0 to [`PRIORITY_MAX`].
    pub priority: u8,
    /// Share by which computing takes longer or shorter at most, see [`WorkGraph::computing`].
    pub compute_jitter: f64,
    /// Share of a GPU's multiprocessors that computation has beside a collective; 1 = all.
    pub beside: f64,
}

impl JobGraph {
    /// Its operations in the graph.
    pub fn operations(&self) -> std::ops::Range<usize> {
        let first = self.first_operation as usize;
        first..first + self.plan.operations.len() * self.steps as usize
    }
}

/// All operations of a case. Operation `i` of step `k` of a job is `first + k · |plan| + i`; a step starts
/// when every operation of the step before has ended.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WorkGraph {
    /// The jobs.
    pub jobs: Vec<JobGraph>,
    /// Number of operations of all jobs and steps.
    pub operations: usize,
    /// Number of patterns of all jobs.
    pub patterns: usize,
}

impl WorkGraph {
    /// Adds a job of the lowest priority.
    pub fn push(&mut self, name: String, start: SimTime, plan: Plan, steps: u32) {
        let count = plan.operations.len() * steps as usize;
        let patterns = plan.patterns.len();
        self.jobs.push(JobGraph {
            name,
            start,
            until: SimTime::NEVER,
            goes_on_as: None,
            plan,
            steps,
            first_operation: self.operations as u32,
            first_pattern: self.patterns as u32,
            priority: 0,
            compute_jitter: 0.0,
            beside: 1.0,
        });
        self.operations += count;
        self.patterns += patterns;
    }

    /// How long computing of `time` takes in a step of a job: longer or shorter by up to its jitter, evenly, and alike for
    /// all that it computes in the step. `draw` is that of the replicate.
    #[inline]
    pub fn computing(&self, time: SimTime, (job, step): (usize, u32), draw: u64) -> SimTime {
        let jitter = self.jobs[job].compute_jitter;
        if jitter == 0.0 {
            return time;
        }
        let drawn = stream::mix(draw ^ stream::mix((job as u64) << 32 | u64::from(step)));
        let even = (drawn >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        SimTime::from_ps((time.ps() as f64 * (1.0 + jitter * even)).round() as u64)
    }

    /// The job that an operation belongs to.
    #[inline]
    pub fn job_of(&self, operation: OperationId) -> usize {
        self.jobs.partition_point(|job| job.first_operation <= operation.0) - 1
    }

    /// Job, step and row in the job's plan of an operation.
    #[inline]
    pub fn locate(&self, operation: OperationId) -> (usize, u32, OperationId) {
        let job = self.job_of(operation);
        let row = operation.0 - self.jobs[job].first_operation;
        let length = self.jobs[job].plan.operations.len() as u32;
        (job, row / length, OperationId(row % length))
    }

    /// Whether an operation runs in its step; one that does not ends as it begins.
    #[inline]
    pub fn is_due(&self, operation: OperationId) -> bool {
        let (job, step, row) = self.locate(operation);
        self.jobs[job].plan.is_due(row, step)
    }

    /// The operation with its pattern counted over the whole case.
    #[inline]
    pub fn operation(&self, operation: OperationId) -> Operation {
        let (job, _, row) = self.locate(operation);
        let mut found = self.jobs[job].plan.operations[row.index()];
        if let Work::Communicate { pattern, bytes } = found.work {
            let pattern = PatternId(pattern.0 + self.jobs[job].first_pattern);
            found.work = Work::Communicate { pattern, bytes };
        }
        found
    }
}
