//! What a step of a job computes, read off its plan: all that a scheduler can know of it before it ran.
use railtwin_control::controller::StepDemand;
use railtwin_units::SimTime;
use railtwin_workload::{Plan, Work};

/// Of a plan of which each pattern sends `sent` bytes between hosts for each byte that operations ask of it.
///
/// Where communication takes no time a step is as long as its longest chain of computation. An operation that
/// communicates has some of it before it and some behind it; together they are what cannot go on beside it. Of several
/// such operations the mean counts, by what they send between hosts: with all of them in one go, as the model of Crux
/// has it, it is what a step computes before that. Every rank class stands for as many GPUs as another.
pub fn step_demand(plan: &Plan, sent: &[f64]) -> StepDemand {
    let count = plan.operations.len();
    let time = |operation: usize| match plan.operations[operation].work {
        Work::Compute(time) => time,
        Work::Communicate { .. } => SimTime::ZERO,
    };
    // Computation up to the end of each operation, and after it.
    let (mut upto, mut after) = (vec![SimTime::ZERO; count], vec![SimTime::ZERO; count]);
    let waits = |operation: usize| {
        let range = plan.dependency_start[operation] as usize..plan.dependency_start[operation + 1] as usize;
        plan.dependencies[range].iter().map(|earlier| earlier.index())
    };
    let mut computing = 0.0;
    for operation in 0..count {
        let before = waits(operation).map(|earlier| upto[earlier]).max().unwrap_or(SimTime::ZERO);
        upto[operation] = before.saturating_add(time(operation));
        computing += time(operation).seconds();
    }
    for operation in (0..count).rev() {
        let own = after[operation].saturating_add(time(operation));
        waits(operation).for_each(|earlier| after[earlier] = after[earlier].max(own));
    }
    let (mut bytes, mut in_line) = (0.0, 0.0);
    for (row, operation) in plan.operations.iter().enumerate() {
        if let Work::Communicate { pattern, bytes: asked } = operation.work {
            let crosses = asked as f64 * sent[pattern.index()];
            bytes += crosses;
            in_line += crosses * upto[row].saturating_add(after[row]).seconds();
        }
    }
    let compute = upto.into_iter().max().unwrap_or(SimTime::ZERO);
    let in_line = if bytes > 0.0 { SimTime::from_seconds(in_line / bytes) } else { compute };
    let lanes = plan.lanes.len().max(1) as f64;
    let work = f64::from(plan.ranks) * computing / lanes;
    StepDemand { gpus: plan.ranks, compute, in_line, work }
}
