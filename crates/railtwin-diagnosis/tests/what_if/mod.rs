//! Slow jobs whose cause is known: played through by a program that knows no graph.
mod pipeline;

use proptest::prelude::*;
use railtwin_diagnosis::Settings;
use railtwin_diagnosis::what_if::{Blame, Graph, Operation, Role, Way, Work, blame, what_if};

use crate::common::Lot;
use pipeline::Job;

fn told(job: &Job) -> Blame {
    blame(&Graph::of(&job.play().0), &Settings::default())
}

fn named(told: &Blame) -> Vec<u32> {
    told.ranks.iter().flat_map(|slow| slow.ranks.clone()).collect()
}

/// Shapes that all tests go through: replicas, stages.
const SHAPES: [(u32, u32); 6] = [(2, 4), (8, 2), (4, 4), (16, 1), (3, 8), (32, 2)];

#[test]
fn a_replay_with_recorded_durations_takes_as_long_as_the_job() {
    for (replicas, stages) in SHAPES {
        let mut job = Job::healthy(replicas, stages, 7);
        job.lengths = 0.3;
        job.slow = vec![(1, 1.4, 0.6)];
        let (work, took) = job.play();
        let graph = Graph::of(&work);
        assert_eq!((graph.circular, graph.one_ended), (0, 0));
        let whole = what_if(&graph, work.operations.len()).unwrap();
        assert_eq!(whole.steps.len(), took.len());
        for (step, took) in whole.steps.iter().zip(took) {
            assert!((step.replayed_ns / took - 1.0).abs() < 1e-4, "{replicas} x {stages}: {step:?} {took}");
        }
    }
}

#[test]
fn a_job_whose_operations_are_alike_is_its_own_ideal() {
    let mut job = Job::healthy(4, 4, 3);
    job.jitter = [0.0; 2];
    let (work, _) = job.play();
    let whole = what_if(&Graph::of(&work), work.operations.len()).unwrap();
    // Transfers vary by 2 %.
    assert!(whole.slowdown.iter().all(|slow| (slow - 1.0).abs() < 1e-3), "{:?}", whole.slowdown);
    // A stage that is twice as heavy is slow by the mean over all and not by that over like stages.
    job.last_stage = 2.0;
    let (work, _) = job.play();
    let whole = what_if(&Graph::of(&work), work.operations.len()).unwrap();
    let [mean, like] = whole.slowdown;
    assert!(mean > 1.3 && (like - 1.0).abs() < 1e-3, "{mean} {like}");
    assert_eq!(whole.stages[0].name, "3");
    // What is saved with this stage at the mean is all that there is to save, or more: others would then be the longest.
    assert!(whole.stages[0].saved[0] >= 1.0 - 1.0 / mean - 1e-3, "{:?}", whole.stages[0]);
}

#[test]
fn a_rank_whose_optimizer_holds_everybody_back_stands_alone() {
    for (replicas, stages) in SHAPES {
        let mut job = Job::healthy(replicas, stages, 11);
        let rank = job.rank(1, stages - 1);
        // An optimizer takes a twentieth of a forward computation: it must be long to cost a hundredth of a step.
        let step = job.forward_ns * f64::from(3 * (job.microbatches + stages));
        let times = 1.0 + 0.05 * step / (job.forward_ns / 20.0);
        job.slow_optimizer = vec![(rank, times)];
        let found = told(&job);
        assert_eq!(named(&found), [] as [u32; 0], "{replicas} x {stages}");
        let [slow] = &found.alone[..] else { panic!("{replicas} x {stages}: {:?}", found.alone) };
        assert_eq!((slow.rank, slow.kind.as_str(), slow.steps), (rank, "optimizer", 32));
        assert!((slow.times / times - 1.0).abs() < 1e-3 && (0.03..0.06).contains(&slow.cost), "{slow:?}");
        // One that is a little longer costs nothing worth a word.
        job.slow_optimizer = vec![(rank, 1.2)];
        assert_eq!(told(&job).alone, []);
    }
    // Two hold each other's cost up: each is told by what it costs with the other mended.
    let mut job = Job::healthy(8, 2, 11);
    job.slow_optimizer = vec![(3, 30.0), (12, 25.0)];
    let found: Vec<u32> = told(&job).alone.iter().map(|slow| slow.rank).collect();
    assert_eq!(found, [3, 12]);
}

#[test]
fn what_waits_for_a_rank_is_not_taken_for_work_of_its_own() {
    // A kind that no reader knows as a collective: all but the last rank wait within it and end with it. Of two replicas
    // the one that waits takes longer.
    let mut job = Job::healthy(2, 2, 13);
    job.slow = vec![(job.rank(0, 0), 1.3, 1.0)];
    let (mut work, _) = job.play();
    for one in &mut work.operations {
        if one.role == Role::Collective && one.kind == 4 {
            (one.role, one.group) = (Role::Alone, None);
        }
    }
    let found = blame(&Graph::of(&work), &Settings::default());
    assert_eq!(found.alone, []);
}

#[test]
fn a_step_that_is_long_once_is_told_as_such_and_not_as_uneven_sequences() {
    for (replicas, stages) in SHAPES {
        let mut job = Job::healthy(replicas, stages, 17);
        assert_eq!(told(&job).long_steps, [], "healthy");
        job.long_step = Some((20, 2.0, None));
        let found = told(&job);
        assert_eq!(
            (named(&found), &found.alone[..], &found.lengths),
            (vec![], &[][..], &None),
            "{replicas} x {stages}"
        );
        let [long] = &found.long_steps[..] else { panic!("{:?}", found.long_steps) };
        assert!(
            long.step == 20 && long.ranks.is_empty() && (long.computation - 2.0).abs() < 0.02,
            "{long:?}"
        );
        assert!((long.took_ns[0] / long.took_ns[1] - 2.0).abs() < 0.1, "{long:?}");
        let rank = job.rank(1, 0);
        job.long_step = Some((20, 3.0, Some(rank)));
        let found = told(&job);
        assert_eq!((named(&found), &found.lengths), (vec![], &None), "{replicas} x {stages}");
        let [long] = &found.long_steps[..] else { panic!("{:?}", found.long_steps) };
        assert!(
            matches!(long.ranks[..], [(one, times)] if one == rank && (times - 3.0).abs() < 0.1),
            "{long:?}"
        );
    }
    // Sequences that are uneven in all steps are told beside it.
    let mut job = Job::healthy(8, 2, 17);
    job.lengths = 0.3;
    assert!(told(&job).lengths.is_some());
    job.long_step = Some((20, 3.0, None));
    let found = told(&job);
    assert!(found.lengths.is_some() && found.long_steps.len() == 1, "{found:?}");
}

#[test]
fn jobs_of_which_no_component_is_slow_accuse_nobody() {
    for seed in 0..2 {
        for (replicas, stages) in SHAPES {
            let healthy = Job::healthy(replicas, stages, 100 + seed);
            let heavy = Job { last_stage: 1.6, ..healthy.clone() };
            let uneven = Job { lengths: 0.35, ..healthy.clone() };
            let paused = Job { pauses: (0.02, false), ..healthy.clone() };
            let collects = Job { pauses: (0.02, true), ..healthy.clone() };
            let all = Job { last_stage: 1.5, lengths: 0.3, pauses: (0.01, false), ..healthy.clone() };
            let brief = Job { steps: 8, lengths: 0.5, ..healthy.clone() };
            let bare = Job { posted: false, lengths: 0.3, last_stage: 1.4, ..healthy.clone() };
            for job in [&healthy, &heavy, &uneven, &paused, &collects, &all, &brief, &bare] {
                let told = told(job);
                let nobody = told.ranks.is_empty() && told.pairs.is_empty() && told.alone.is_empty();
                assert!(nobody, "{job:?}: {told:?}");
            }
            let told = told(&healthy);
            assert!(told.lengths.is_none() && told.pauses.is_none() && told.replicas.is_empty(), "{told:?}");
            assert_eq!(told.long_steps, []);
        }
    }
}

#[test]
fn what_makes_a_job_slow_is_told_as_what_it_is() {
    for (replicas, stages) in SHAPES {
        let healthy = Job::healthy(replicas, stages, 11);
        let heavy = told(&Job { last_stage: 1.6, ..healthy.clone() }).stage;
        assert_eq!(heavy.is_some(), stages > 1);
        assert!(heavy.is_none_or(|one| one.stage == stages - 1 && (one.excess - 0.6).abs() < 0.02));
        let uneven = told(&Job { lengths: 0.35, ..healthy.clone() });
        let lengths = uneven.lengths.expect("uneven sequences");
        assert!(lengths.correlation > 0.95 && lengths.cost > 0.01, "{lengths:?}");
        let paused = told(&Job { pauses: (0.03, false), ..healthy.clone() });
        let pauses = paused.pauses.expect("pauses");
        assert!(pauses.count > 10 && pauses.recorded == 0 && paused.lengths.is_none(), "{pauses:?}");
        let collects =
            told(&Job { pauses: (0.03, true), ..healthy.clone() }).pauses.expect("recorded pauses");
        assert_eq!(collects.recorded, collects.count);
    }
}

#[test]
fn a_rank_that_holds_the_job_back_stands_alone() {
    let (mut missed, mut all) = (0, 0);
    for seed in 0..4 {
        for (replicas, stages) in SHAPES {
            let mut lot = Lot(seed * 31 + u64::from(replicas));
            let slow = (lot.uniform() * f64::from(replicas * stages)) as u32;
            let healthy = Job::healthy(replicas, stages, 500 + seed);
            let times = 1.15 + lot.uniform();
            let always = Job { slow: vec![(slow, times, 1.0)], ..healthy.clone() };
            let heavy = Job { last_stage: 1.3, ..always.clone() };
            let bare = Job { posted: false, ..always.clone() };
            let uneven = Job { lengths: 0.2, slow: vec![(slow, times + 0.3, 1.0)], ..healthy.clone() };
            for job in [&always, &heavy, &bare, &uneven] {
                let told = told(job);
                let names = named(&told);
                assert!(names.is_empty() || names == [slow], "{job:?}: {told:?}");
                assert!(told.pairs.is_empty(), "{job:?}: {told:?}");
                all += 1;
                // Beside a stage that is heavier than it is slow it costs nothing, and that is said.
                let harmless = told.harmless.iter().any(|one| one.ranks == [slow]);
                missed += usize::from(names.is_empty() && !harmless);
            }
        }
    }
    assert!(missed * 50 <= all, "{missed} of {all} are not seen");
}

#[test]
fn two_slow_ranks_are_both_told_with_what_each_costs() {
    let healthy = Job::healthy(8, 2, 42);
    let job = Job { slow: vec![(3, 1.5, 1.0), (12, 1.5, 1.0)], ..healthy };
    let told = told(&job);
    let mut names = named(&told);
    names.sort_unstable();
    assert_eq!(names, [3, 12], "{told:?}");
    assert!(told.ranks.iter().all(|one| one.cost > 0.1 && one.apart), "{told:?}");
}

#[test]
fn a_replica_whose_stages_are_all_slow_is_told_as_a_replica() {
    let job = Job { slow_replica: Some((2, 1.3)), ..Job::healthy(8, 4, 5) };
    let told = told(&job);
    assert!(told.ranks.is_empty(), "{told:?}");
    assert!(matches!(told.replicas[..], [(2, share)] if (share - 0.3).abs() < 0.02), "{told:?}");
}

#[test]
fn a_pair_with_slow_transfers_stands_alone() {
    for seed in 0..3 {
        // Transfers that take as long as half a computation are in the way of the pipeline.
        let job = Job { slow_pair: Some((1, 0, 40.0)), ..Job::healthy(4, 4, seed) };
        let told = told(&job);
        assert!(told.ranks.is_empty(), "{told:?}");
        let mut pairs: Vec<[u32; 2]> = told.pairs.iter().map(|pair| pair.ranks).collect();
        pairs.iter_mut().for_each(|pair| pair.sort_unstable());
        pairs.dedup();
        assert_eq!(pairs, [[job.rank(1, 0), job.rank(1, 1)]], "{told:?}");
    }
}

#[test]
fn a_group_with_slow_collectives_is_told_as_a_set_with_what_it_costs() {
    for seed in 0..3 {
        assert_eq!(told(&Job::healthy(4, 4, seed)).groups, []);
        let job = Job { slow_group: Some((2, 40.0)), ..Job::healthy(4, 4, seed) };
        let told = told(&job);
        assert!(told.ranks.is_empty() && told.pairs.is_empty(), "{told:?}");
        let [group] = &told.groups[..] else { panic!("one group: {told:?}") };
        let ranks: Vec<u32> = (0..4).map(|replica| job.rank(replica, 2)).collect();
        assert_eq!(
            (&group.kind[..], &group.ranks, &group.stages),
            ("grads-reduce-scatter", &ranks, &vec![2])
        );
        // What the same job takes without it.
        let took = |job: &Job| job.play().1.iter().sum::<f64>();
        let cost = 1.0 - took(&Job { slow_group: None, ..job.clone() }) / took(&job);
        assert!((group.times - 40.0).abs() < 0.5 && (group.cost - cost).abs() < 0.005, "{group:?} {cost}");
        assert!(told.communication >= group.cost - 0.02, "{told:?}");
    }
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let role = prop_oneof![
        Just(Role::Compute(Way::Forward)),
        Just(Role::Compute(Way::Backward)),
        Just(Role::Send(Way::Forward)),
        Just(Role::Receive(Way::Forward)),
        Just(Role::Send(Way::Backward)),
        Just(Role::Receive(Way::Backward)),
        Just(Role::Collective),
        Just(Role::Alone),
        Just(Role::Pause),
    ];
    let who = (0_u32..4, 0_u32..2, 0_u32..3, 0_u64..3, 0_u32..5);
    let what = (role, prop::option::of(0_u32..3), 0_u64..3);
    let when = (0_u64..1_000_000_000, prop_oneof![0_u64..1_000_000, Just(0), Just(u64::MAX)]);
    (who, what, when).prop_map(
        |((rank, replica, stage, step, kind), (role, group, number), (start_ns, duration_ns))| Operation {
            rank,
            replica,
            stage,
            place: 0,
            chunk: stage,
            step,
            kind,
            role,
            group,
            number,
            start_ns,
            duration_ns,
        },
    )
}

proptest! {
    #[test]
    fn whatever_a_trace_holds_it_is_replayed_or_left_out(operations in prop::collection::vec(any_operation(), 0..60)) {
        let work = Work { kinds: vec!["a".into(), "b".into()], operations };
        let graph = Graph::of(&work);
        let told = blame(&graph, &Settings::default());
        prop_assert!(told.ranks.iter().all(|one| one.cost.is_finite()));
        if let Some(whole) = what_if(&graph, work.operations.len()) {
            prop_assert!(whole.slowdown.iter().all(|slow| slow.is_finite()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn the_order_of_rows_and_the_numbers_of_ranks_change_nothing(seed in 0_u64..1000) {
        let mut lot = Lot(seed);
        let job = Job { steps: 12, slow: vec![(5, 1.3, 1.0)], ..Job::healthy(4, 2, seed) };
        let (mut work, _) = job.play();
        let before = blame(&Graph::of(&work), &Settings::default());
        for row in (1..work.operations.len()).rev() {
            work.operations.swap(row, (lot.uniform() * (row + 1) as f64) as usize);
        }
        work.operations.iter_mut().for_each(|one| one.rank = 1000 - 3 * one.rank);
        let after = blame(&Graph::of(&work), &Settings::default());
        prop_assert_eq!(before.ranks.len(), after.ranks.len());
        for (a, b) in before.ranks.iter().zip(&after.ranks) {
            prop_assert_eq!(&a.ranks.iter().map(|rank| 1000 - 3 * rank).collect::<Vec<_>>(), &b.ranks);
            prop_assert!((a.cost - b.cost).abs() < 1e-9);
        }
    }
}
