//! The graph of operations of one step: what each rank class computes and communicates, after what.
use railtwin_units::{SimTime, dense_id};

use crate::collective::{Algorithm, Collective};
use crate::cost::Cost;
use crate::experts::{Experts, forward};
use crate::extent::shape_of;
use crate::memory::Memory;
use crate::shape::{HostLayout, Member, Shape};

dense_id!(
    /// One operation of a plan.
    OperationId
);
dense_id!(
    /// One communication pattern of a plan.
    PatternId
);

railtwin_units::choice! {
    /// The kind of parallelism that an operation belongs to.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    #[repr(u8)]
    pub enum Axis {
        /// Computation.
        Compute = "compute",
        /// Tensor parallel.
        Tp = "tp",
        /// Pipeline parallel.
        Pp = "pp",
        /// Data parallel.
        Dp = "dp",
        /// Expert parallel.
        Ep = "ep",
        /// Data parallel among the ranks that hold the same expert.
        DpEp = "dp_ep",
        /// A communicator that no axis names.
        Other = "other",
        /// Checkpoints, data, inference: between ranks and hosts without GPUs.
        Storage = "storage",
    }
}

/// Which way ranks exchange bytes with hosts that have no GPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StorageWay {
    /// From ranks to storage.
    Write,
    /// From storage to ranks.
    Read,
    /// From gateways to ranks that serve.
    Request,
    /// From ranks that serve to gateways.
    Answer,
}

/// An operation that has not its place in every step, or does not hold the next one up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occasional {
    /// The operation.
    pub operation: OperationId,
    /// It runs in every so many steps, at first in the step of this number, counted from 1; in others it takes no time. 0 =
    /// in none.
    pub every: u32,
    /// The next step does not wait for it; its communicator does, before it runs again.
    pub loose: bool,
}

impl Occasional {
    /// Whether it runs in step `step`, counted from 0.
    #[inline]
    pub const fn is_due(&self, step: u32) -> bool {
        self.every > 0 && (step + 1).is_multiple_of(self.every)
    }
}

/// Communicators that run the same collective at the same time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Axis of the communicators.
    pub axis: Axis,
    /// What they run.
    pub collective: Collective,
    /// How.
    pub algorithm: Algorithm,
    /// Whether another algorithm may take its place: nobody asked for this one.
    pub open: bool,
    /// What hosts add to what the network takes.
    pub cost: Cost,
    /// Ranks of each communicator in its order; for send/receive senders and receivers alternate.
    pub communicators: Vec<Vec<u32>>,
    /// Where ranks exchange bytes with storage hosts, each as many as the operation has: then every rank stands twice in
    /// its communicator, where others have a sender and a receiver.
    pub storage: Option<StorageWay>,
    /// Experts that dispatch and combine exchange tokens with; none elsewhere.
    pub experts: Option<Experts>,
}

impl Pattern {
    /// A pattern at no cost but the network's, with the algorithm asked for or else the simplest.
    pub fn new(
        axis: Axis,
        collective: Collective,
        algorithm: Option<Algorithm>,
        communicators: Vec<Vec<u32>>,
    ) -> Self {
        let open = algorithm.is_none();
        let algorithm = algorithm.unwrap_or(Algorithm::default_for(collective));
        Self {
            axis,
            collective,
            algorithm,
            open,
            cost: Cost::default(),
            communicators,
            storage: None,
            experts: None,
        }
    }

    /// What ranks write to storage hosts, or read from them.
    pub fn of_storage(way: StorageWay, ranks: &[u32]) -> Self {
        let twice = ranks.iter().flat_map(|&rank| [rank, rank]).collect();
        let algorithm = Some(Algorithm::Direct);
        let pattern = Self::new(Axis::Storage, Collective::SendReceive, algorithm, vec![twice]);
        Self { storage: Some(way), ..pattern }
    }

    /// The shape of one of its communicators, whose members are these; not of storage.
    pub fn shape(&self, members: &[Member], layout: &HostLayout) -> Shape {
        match (self.algorithm, self.experts) {
            (Algorithm::Forward, Some(experts)) => forward(self.collective, members, layout, experts),
            _ => shape_of(self.collective, self.algorithm, members, layout),
        }
    }
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Computes for a time.
    Compute(SimTime),
    /// Runs a pattern's collective with so many bytes.
    Communicate {
        /// The pattern.
        pattern: PatternId,
        /// Bytes as the collective counts them.
        bytes: u64,
    },
}

/// One node of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Rank class that it belongs to.
    pub lane: u32,
    /// Row in [`Plan::names`].
    pub name: u32,
    /// Kind of parallelism.
    pub axis: Axis,
    /// What it does.
    pub work: Work,
}

/// One step of one job.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Ranks of the job.
    pub ranks: u32,
    /// Names of rank classes.
    pub lanes: Vec<String>,
    /// Names of operations.
    pub names: Vec<String>,
    /// Communication patterns.
    pub patterns: Vec<Pattern>,
    /// Operations; every dependency points to an earlier one.
    pub operations: Vec<Operation>,
    /// CSR of dependencies: operation `i` waits for `dependencies[start[i]..start[i + 1]]`.
    pub dependency_start: Vec<u32>,
    /// The operations waited for.
    pub dependencies: Vec<OperationId>,
    /// Operations that are not in every step or that the next step does not wait for, ascending.
    pub occasional: Vec<Occasional>,
    /// Floating point operations of the model in a step; none where the workload does not say.
    pub flops: Option<f64>,
    /// Tokens of a step; none where the workload does not say.
    pub tokens: Option<u64>,
    /// Bytes of a step by axis as HPN table 3 counts them, where the workload says.
    pub volumes: Vec<(Axis, u64)>,
    /// Memory of the GPU that holds most; none where the workload does not say.
    pub memory: Option<Memory>,
    /// What a reader of the result should know.
    pub notes: Vec<String>,
}

impl Plan {
    /// What is occasional of an operation; none where it is in every step and has to end with it.
    #[inline]
    pub fn occasional(&self, operation: OperationId) -> Option<&Occasional> {
        let row = self.occasional.binary_search_by_key(&operation, |one| one.operation).ok()?;
        self.occasional.get(row)
    }

    /// Whether an operation runs in step `step`, counted from 0.
    #[inline]
    pub fn is_due(&self, operation: OperationId, step: u32) -> bool {
        self.occasional(operation).is_none_or(|one| one.is_due(step))
    }

    /// Share of the steps in which an operation runs.
    #[inline]
    pub fn share_of_steps(&self, operation: OperationId) -> f64 {
        match self.occasional(operation).map_or(1, |one| one.every) {
            0 => 0.0,
            every => 1.0 / f64::from(every),
        }
    }

    /// Whether the next step waits for an operation.
    #[inline]
    pub fn ends_step(&self, operation: OperationId) -> bool {
        self.occasional(operation).is_none_or(|one| !one.loose)
    }

    /// Bytes that all operations of a step ask of each pattern together; of those that are not in every step as the mean.
    #[inline]
    pub fn bytes_by_pattern(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.patterns.len()];
        for (row, operation) in self.operations.iter().enumerate() {
            if let Work::Communicate { pattern, bytes } = operation.work {
                sums[pattern.index()] += bytes as f64 * self.share_of_steps(OperationId::from_index(row));
            }
        }
        sums
    }

    /// The operations that `operation` waits for.
    #[inline]
    pub fn dependencies_of(&self, operation: OperationId) -> &[OperationId] {
        let start = self.dependency_start[operation.index()] as usize;
        &self.dependencies[start..self.dependency_start[operation.index() + 1] as usize]
    }

    /// The ranks that a lane stands for, ascending: those of the communicators that its operations run on, of which
    /// the senders where it sends; all ranks of the job where it runs on none. With as many lanes as ranks each is
    /// the rank of its number.
    pub fn ranks_of_lane(&self, lane: u32) -> Vec<u32> {
        if self.lanes.len() == self.ranks as usize {
            return vec![lane];
        }
        let mut ranks = Vec::new();
        let mut seen = vec![false; self.patterns.len()];
        for operation in self.operations.iter().filter(|operation| operation.lane == lane) {
            let Work::Communicate { pattern, .. } = operation.work else { continue };
            if std::mem::replace(&mut seen[pattern.index()], true) {
                continue;
            }
            let pattern = &self.patterns[pattern.index()];
            let every = if pattern.collective == Collective::SendReceive { 2 } else { 1 };
            ranks.extend(pattern.communicators.iter().flat_map(|ranks| ranks.iter().step_by(every)));
            ranks.sort_unstable();
            ranks.dedup();
        }
        if ranks.is_empty() { (0..self.ranks).collect() } else { ranks }
    }

    /// Time that one lane computes.
    #[inline]
    pub fn compute_of_lane(&self, lane: u32) -> SimTime {
        let mut total = SimTime::ZERO;
        for operation in self.operations.iter().filter(|operation| operation.lane == lane) {
            if let Work::Compute(time) = operation.work {
                total += time;
            }
        }
        total
    }
}

/// Grows a plan operation by operation.
#[derive(Debug)]
pub struct PlanBuilder {
    plan: Plan,
    codes: std::collections::BTreeMap<String, u32>,
}

impl PlanBuilder {
    /// An empty plan of `ranks` ranks with lanes.
    pub fn new(ranks: u32, lanes: Vec<String>) -> Self {
        let plan = Plan {
            ranks,
            lanes,
            names: Vec::new(),
            patterns: Vec::new(),
            operations: Vec::new(),
            dependency_start: vec![0],
            dependencies: Vec::new(),
            occasional: Vec::new(),
            flops: None,
            tokens: None,
            volumes: Vec::new(),
            memory: None,
            notes: Vec::new(),
        };
        Self { plan, codes: std::collections::BTreeMap::new() }
    }

    /// The code of an operation name.
    #[inline]
    pub fn name(&mut self, name: &str) -> u32 {
        if let Some(&code) = self.codes.get(name) {
            return code;
        }
        let code = self.plan.names.len() as u32;
        self.plan.names.push(name.to_owned());
        self.codes.insert(name.to_owned(), code);
        code
    }

    /// Adds a pattern.
    #[inline]
    pub fn pattern(&mut self, pattern: Pattern) -> PatternId {
        self.plan.patterns.push(pattern);
        PatternId::from_index(self.plan.patterns.len() - 1)
    }

    /// Adds an operation that waits for `after`.
    ///
    /// # Panics
    /// When it waits for a later one: plans are built in order.
    #[inline]
    pub fn push(&mut self, operation: Operation, after: &[OperationId]) -> OperationId {
        let id = OperationId::from_index(self.plan.operations.len());
        assert!(after.iter().all(|earlier| *earlier < id), "dependencies point to earlier operations");
        self.plan.operations.push(operation);
        self.plan.dependencies.extend_from_slice(after);
        self.plan.dependency_start.push(self.plan.dependencies.len() as u32);
        id
    }

    /// Goes on with a finished plan.
    pub fn over(plan: Plan) -> Self {
        let codes = plan.names.iter().cloned().zip(0..).collect();
        Self { plan, codes }
    }

    /// Adds an operation that runs in every so many steps; `loose` where the next step does not wait for it.
    pub fn push_occasional(
        &mut self,
        operation: Operation,
        after: &[OperationId],
        (every, loose): (u32, bool),
    ) -> OperationId {
        let operation = self.push(operation, after);
        self.plan.occasional.push(Occasional { operation, every, loose });
        operation
    }

    /// What is built so far.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Gives mutable access to what is not the graph: flops, tokens, notes.
    #[inline]
    pub fn facts(&mut self) -> (&mut Option<f64>, &mut Option<u64>, &mut Vec<String>) {
        (&mut self.plan.flops, &mut self.plan.tokens, &mut self.plan.notes)
    }

    /// The finished plan.
    #[inline]
    pub fn finish(self) -> Plan {
        self.plan
    }
}
