//! Late ranks are found by their own clocks alone, and nobody is accused by chance.
mod common;

use common::{World, names};
use proptest::prelude::*;
use railtwin_diagnosis::SlowRanks;
use railtwin_records::{FaultKind, Finding, Syndrome};

fn found(world: &World) -> Vec<Finding> {
    world.found_by(Box::new(SlowRanks::default()))
}

#[test]
fn a_slow_gpu_is_named_once() {
    for ranks in [4, 8, 16, 64] {
        let world = World { dp: ranks, slow: vec![(ranks / 2, 1.2)], ..World::default() };
        let findings = found(&world);
        assert_eq!(findings.len(), 1, "{ranks}: {findings:#?}");
        assert_eq!(findings[0].syndrome, Syndrome::NonCommunicationSlow);
        assert_eq!(findings[0].faults[0], FaultKind::SlowGpu);
        let rank = ranks / 2;
        assert_eq!(
            names(&findings[0]),
            [format!("host-{}/gpu-{}", rank / 8, rank % 8), format!("job/{rank}")]
        );
        assert!((0.1..0.25).contains(&findings[0].severity), "{}", findings[0].severity);
    }
}

#[test]
fn its_tensor_parallel_peers_are_victims() {
    let world = World { tp: 8, dp: 8, slow: vec![(19, 1.3)], ..World::default() };
    let findings = found(&world);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(names(&findings[0])[0], "host-2/gpu-3");
    assert_eq!(findings[0].faults[0], FaultKind::SlowGpu);
}

#[test]
fn slow_input_delays_the_first_computation_only() {
    let world = World { tp: 4, dp: 8, layers: 24, late: vec![(9, 6e6, 1)], ..World::default() };
    let findings = found(&world);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].faults[0], FaultKind::SlowData);
    assert!(names(&findings[0]).contains(&"job/9".to_owned()));
}

#[test]
fn stalls_of_every_so_many_steps_are_storage() {
    let world = World { dp: 16, steps: 160, late: vec![(5, 3e7, 20)], ..World::default() };
    let findings = found(&world);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].faults[0], FaultKind::StorageStall);
    assert!(names(&findings[0]).contains(&"job/5".to_owned()));
}

#[test]
fn all_ranks_of_a_host_are_the_host() {
    let slow = (8..16).map(|rank| (rank, 1.25)).collect();
    let findings = found(&World { tp: 8, dp: 8, slow, ..World::default() });
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(names(&findings[0]), ["host-1"]);
}

#[test]
fn hosts_that_stall_together_share_storage() {
    let late = (0..32).map(|rank| (rank, 4e7, 20)).collect();
    let findings = found(&World { dp: 128, steps: 160, late, ..World::default() });
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(names(&findings[0]), ["storage", "job"]);
}

#[test]
fn uneven_load_evens_out_and_a_straggler_does_not() {
    for seed in 0..8 {
        let even = World { dp: 32, steps: 256, imbalance: 0.25, seed, ..World::default() };
        assert_eq!(found(&even), []);
        let findings = found(&World { slow: vec![(7, 1.8)], ..even });
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!(names(&findings[0])[0], "host-0/gpu-7");
    }
}

#[test]
fn healthy_jobs_are_left_alone() {
    for (tp, dp, jitter) in [(1, 4, 0.1), (1, 64, 0.05), (2, 32, 0.1), (8, 16, 0.03), (8, 2, 0.2)] {
        for seed in 0..4 {
            let world = World { tp, dp, jitter, seed, steps: 200, ..World::default() };
            assert_eq!(found(&world), [], "{tp} {dp} {jitter} {seed}");
        }
    }
}

#[test]
fn one_long_pause_is_no_straggler() {
    let world = World { dp: 16, late: vec![(3, 5e8, 1000)], ..World::default() };
    assert_eq!(found(&world), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn clocks_and_scale_change_nothing(rank in 0_usize..32, scale in 2.0_f64..50.0) {
        let base = World { tp: 4, dp: 8, ranks_per_host: 4, slow: vec![(rank, 1.4)], ..World::default() };
        let seen = |world: &World| -> Vec<_> { found(world).iter().map(names).collect() };
        let expected = seen(&base);
        prop_assert_eq!(expected.len(), 1);
        prop_assert_eq!(&seen(&World { clock: |_| 0, ..base.clone() }), &expected);
        prop_assert_eq!(&seen(&World { clock: |host| (host as u64).pow(7) * 1_000_003, ..base.clone() }), &expected);
        prop_assert_eq!(&seen(&World { scale, ..base.clone() }), &expected);
        prop_assert_eq!(&seen(&World { row: |rank, ranks| ranks - 1 - rank, ..base }), &expected);
    }
}
