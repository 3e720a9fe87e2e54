//! The acts of every rank in a step, one after another.
use railtwin::Error;
use railtwin_engine::Case;
use railtwin_workload::{Collective, OperationId, Plan, Work};

/// One thing that a rank does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Act {
    /// Loads data, ns.
    Load(f64),
    /// Computes, ns.
    Compute(f64),
    /// Runs the ring with so many bytes.
    Ring(u64),
}

/// A computation whose name has this word loads data: a slow GPU does not lengthen it.
const LOADS: &str = "data";

/// The acts of a step and the pattern that all operations run, counted within the job.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Program {
    pub(crate) acts: Vec<Act>,
    pub(crate) pattern: usize,
}

impl Program {
    /// Reads the plan of a job.
    pub(crate) fn of(case: &Case, job: usize) -> Result<Self, Error> {
        let plan = &case.work.jobs[job].plan;
        let refused = |what: &str| Err(Error::Argument(format!("live records of a simulated job: {what}")));
        if plan.lanes.len() != 1 || !plan.occasional.is_empty() {
            return refused(
                "all ranks must do the same in every step; leave away pp, storage and checkpoints",
            );
        }
        let mut acts = Vec::with_capacity(plan.operations.len());
        let mut pattern: Option<usize> = None;
        for (row, operation) in plan.operations.iter().enumerate() {
            if row > 0 && !waits_for(plan, row, row - 1) {
                return refused("operations must follow one another; overlap is not told");
            }
            match operation.work {
                Work::Compute(time) => {
                    let ns = time.ps() as f64 / 1e3;
                    let loads =
                        plan.names.get(operation.name as usize).is_some_and(|name| name.contains(LOADS));
                    acts.push(if loads { Act::Load(ns) } else { Act::Compute(ns) });
                }
                Work::Communicate { pattern: of, bytes } => {
                    let first = *pattern.get_or_insert(of.index());
                    let (one, other) = (&plan.patterns[first], &plan.patterns[of.index()]);
                    let is_same =
                        one.communicators == other.communicators && one.collective == other.collective;
                    if !is_same || one.communicators.len() != 1 || one.collective == Collective::SendReceive {
                        return refused("all operations must be the same collective of one communicator");
                    }
                    acts.push(Act::Ring(bytes));
                }
            }
        }
        let Some(pattern) = pattern else { return refused("the job must communicate") };
        if plan.patterns[pattern].communicators[0].len() != plan.ranks as usize {
            return refused("the communicator must be over all ranks of the job");
        }
        Ok(Self { acts, pattern })
    }
}

/// Whether an operation waits for another, directly or by others.
fn waits_for(plan: &Plan, row: usize, before: usize) -> bool {
    let mut open = vec![row];
    while let Some(at) = open.pop() {
        for need in plan.dependencies_of(OperationId::from_index(at)) {
            match need.index() {
                need if need == before => return true,
                need if need > before => open.push(need),
                _ => {}
            }
        }
    }
    false
}
