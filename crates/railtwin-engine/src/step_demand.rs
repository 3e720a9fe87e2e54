//! What a step of a job computes, read off its plan: all that a scheduler can know of it before it ran.
use railtwin_control::controller::StepDemand;
use railtwin_units::SimTime;
use railtwin_workload::{OperationId, Plan, Work};

/// Of a plan of which each pattern sends `sent` bytes between hosts for each byte that operations ask of it.
///
/// Where communication takes no time a step is as long as its longest chain of computation. An operation that
/// communicates has some of it before it and some behind it; together they are what cannot go on beside it. Of several
/// such operations the mean counts, by what they send between hosts in a step, the mean where they are not in every step:
/// with all of them in one go, as the model of Crux has it, it is what a step computes before that. Every rank class
/// stands for as many GPUs as another.
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
            let share = plan.share_of_steps(OperationId::from_index(row));
            let crosses = asked as f64 * share * sent[pattern.index()];
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

#[cfg(test)]
mod tests {
    use railtwin_workload::plan::PlanBuilder;
    use railtwin_workload::{Axis, Collective, Operation, Pattern, PatternId};

    use super::*;

    const fn ms(ms: u64) -> SimTime {
        SimTime::from_ns(ms * 1_000_000)
    }

    fn compute(name: u32, time: SimTime) -> Operation {
        Operation { lane: 0, name, axis: Axis::Compute, work: Work::Compute(time) }
    }

    fn send(name: u32, pattern: PatternId, bytes: u64) -> Operation {
        Operation { lane: 0, name, axis: Axis::Dp, work: Work::Communicate { pattern, bytes } }
    }

    #[test]
    fn what_stands_in_line_with_communication_is_told_from_what_goes_on_beside_it() {
        let mut plan = PlanBuilder::new(8, vec!["all".to_owned()]);
        let name = plan.name("work");
        let ranks = vec![(0..8).collect()];
        let between = plan.pattern(Pattern::new(Axis::Dp, Collective::AllReduce, None, ranks.clone()));
        let inside = plan.pattern(Pattern::new(Axis::Tp, Collective::AllReduce, None, ranks));
        // 3 ms, then communication that nothing waits for beside 2 ms, and communication in the middle of these.
        let first = plan.push(compute(name, ms(3)), &[]);
        plan.push(send(name, between, 100), &[first]);
        let second = plan.push(compute(name, ms(1)), &[first]);
        let middle = plan.push(send(name, inside, 1_000), &[second]);
        plan.push(compute(name, ms(1)), &[middle]);
        let plan = plan.finish();
        let of = |sent: &[f64]| step_demand(&plan, sent);
        let alone = of(&[2.0, 0.0]);
        assert_eq!((alone.gpus, alone.compute, alone.in_line), (8, ms(5), ms(3)));
        assert!((alone.work - 0.04).abs() < 1e-12, "{}", alone.work);
        // In the middle of all that is computed, nothing goes on beside it; the mean is by what is sent: 200 and 600.
        assert_eq!(of(&[0.0, 1.0]).in_line, ms(5));
        assert_eq!(of(&[2.0, 0.6]).in_line, SimTime::from_seconds((200.0 * 0.003 + 600.0 * 0.005) / 800.0));
        // What is in every tenth step sends a tenth of it in a step.
        let mut seldom = plan.clone();
        let operation = OperationId(3);
        seldom.occasional.push(railtwin_workload::Occasional { operation, every: 10, loose: false });
        assert_eq!(step_demand(&seldom, &[2.0, 6.0]).in_line, of(&[2.0, 0.6]).in_line);
        // Who sends nothing between hosts computes all of its step.
        assert_eq!(of(&[0.0, 0.0]).in_line, ms(5));
    }
}
