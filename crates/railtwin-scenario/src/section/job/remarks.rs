//! Jobs that are allowed and likely not meant.
use railtwin_workload::{Operation, Pattern, Plan, Work as OperationWork};

use super::{JobSpec, Work, Workload};

/// A collective or transfers that send nothing. Axes of one rank are normal in training, and so in a trace.
pub(crate) fn of_job(name: &str, plan: &Plan, spec: &JobSpec) -> Option<String> {
    let alone = |pattern: &Pattern| {
        pattern.storage.is_none()
            && pattern.communicators.iter().all(|ranks| ranks.iter().all(|rank| *rank == ranks[0]))
    };
    let what = match &spec.work {
        Work::Collective(collective) => collective.kind.name(),
        Work::Workload(Workload::Traffic(_)) => "traffic",
        Work::Workload(_) => return None,
    };
    let asks = |operation: &Operation| match operation.work {
        OperationWork::Communicate { pattern, .. } => alone(&plan.patterns[pattern.index()]),
        OperationWork::Compute(_) => false,
    };
    plan.operations.iter().any(asks).then(|| {
        let of = match plan.ranks {
            1 => "the job has one rank".to_owned(),
            ranks => format!("each communicator of its {ranks} ranks has one"),
        };
        format!("job {name}: the {what} sends nothing and takes 0 s: {of}")
    })
}
