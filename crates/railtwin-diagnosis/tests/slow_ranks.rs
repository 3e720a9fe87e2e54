//! Late ranks are found by their own clocks alone, and nobody is accused by chance.
use crate::common;
use common::{World, names};
use proptest::prelude::*;
use railtwin_diagnosis::{Diagnosis, KernelTime, Settings, SlowRanks, slow_detectors};
use railtwin_records::{Batch, FaultKind, Finding, NOT_YET, OperationColumns, Syndrome};

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
fn pauses_at_random_are_chance_and_hide_no_straggler() {
    for (tp, dp, pauses) in [(1, 64, 0.003), (8, 16, 0.01), (2, 2, 0.01)] {
        for seed in 0..3 {
            let world = World { tp, dp, pauses, seed, jitter: 0.03, steps: 1000, ..World::default() };
            assert_eq!(found(&world), [], "{tp} {dp} {pauses} {seed}");
            let findings = found(&World { slow: vec![(1, 1.2)], ..world });
            assert_eq!(
                findings.iter().map(|f| names(f)[0].clone()).collect::<Vec<_>>(),
                ["host-0/gpu-1"],
                "{tp} {dp} {pauses} {seed}"
            );
        }
    }
}

#[test]
fn one_long_pause_is_no_straggler() {
    let world = World { dp: 16, late: vec![(3, 5e8, 1000)], ..World::default() };
    assert_eq!(found(&world), []);
}

#[test]
fn a_slow_communicator_of_operations_alone_asks_for_more() {
    // DP rings over 8 hosts, one per rail: the slow one has a NIC of each host, and nothing tells which.
    let findings = found(&World { tp: 8, dp: 8, slow_dp: vec![(3, 1.5)], ..World::default() });
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].syndrome, Syndrome::CommunicationSlow);
    assert!(findings[0].suspects.is_empty() && findings[0].advice.contains("probes"), "{findings:#?}");
    assert!(findings[0].evidence[0].words().contains("dp-3"));
}

#[test]
fn a_slow_communicator_of_few_names_its_nics() {
    let findings = found(&World { tp: 8, dp: 2, slow_dp: vec![(5, 1.3)], ..World::default() });
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(names(&findings[0]), ["host-0/nic-5", "host-1/nic-5"]);
}

#[test]
fn checkpoints_of_all_are_left_alone_unless_they_take_much() {
    let stall = |ns: f64, every: usize| (0..32).map(|rank| (rank, ns, every)).collect::<Vec<_>>();
    let world = World { dp: 32, steps: 400, late: stall(6e7, 50), ..World::default() };
    assert_eq!(found(&world), []);
    let much = found(&World { late: stall(3e8, 40), ..world });
    assert_eq!(much.len(), 1, "{much:#?}");
    assert_eq!(names(&much[0]), ["storage", "job"]);
}

#[test]
fn kernel_time_finds_a_plain_straggler_and_accuses_healthy_ranks() {
    let plain = World { dp: 32, slow: vec![(7, 1.5)], ..World::default() };
    let findings = plain.found_by(Box::new(KernelTime::default()));
    assert_eq!(names(&findings[0]), ["job/7"]);
    // A healthy job has a rank that waits least too, and it is accused now and then.
    let healthy = World { tp: 8, dp: 16, steps: 400, jitter: 0.1, ..World::default() };
    assert!(!healthy.found_by(Box::new(KernelTime::default())).is_empty());
    assert_eq!(found(&healthy), []);
}

/// The same rows in another order; each rank's are still told in the batch in which they ended.
fn by_communicator(batch: &Batch) -> Batch {
    let from = &batch.operations;
    let mut rows: Vec<usize> = (0..from.len()).collect();
    rows.sort_by_key(|&row| (from.communicator[row], from.rank[row], from.sequence[row]));
    let mut operations = OperationColumns::default();
    for row in rows {
        let (communicator, rank, sequence) = (from.communicator[row], from.rank[row], from.sequence[row]);
        // First as one that has not ended.
        operations.push(communicator, rank, sequence, from.shape[row], from.enter_ns[row], NOT_YET);
        operations.push(communicator, rank, sequence, from.shape[row], from.enter_ns[row], from.end_ns[row]);
    }
    Batch { operations, ..batch.clone() }
}

#[test]
fn order_of_rows_changes_nothing() {
    let world = World { tp: 4, dp: 8, slow: vec![(13, 1.3)], ..World::default() };
    let (directory, mut findings) = (world.directory(), Vec::new());
    let mut diagnosis = Diagnosis::with(Settings::default(), vec![Box::new(SlowRanks::default())]);
    for batch in world.batches() {
        diagnosis.observe(&directory, None, &by_communicator(&batch), &mut findings);
    }
    assert_eq!(findings, found(&world));
    assert_eq!(findings.len(), 1);
}

#[test]
fn rows_that_name_nobody_are_passed_over() {
    let world = World { dp: 4, ..World::default() };
    let (directory, mut findings) = (world.directory(), Vec::new());
    let mut diagnosis = Diagnosis::with(Settings::default(), slow_detectors());
    let mut batch = Batch { until_ns: 1, ..Batch::default() };
    for (communicator, rank, shape) in [(9, 0, 0), (4, 99, 0), (4, 0, 77), (u32::MAX, u32::MAX, u32::MAX)] {
        batch.operations.push(communicator, rank, u32::MAX, shape, 10, 5);
        batch.operations.push(communicator, rank, 0, shape, 10, 15);
        batch.messages.push(communicator, 0, 0, rank, 0, 1, 1, 0, 0, 0, 0, 0, 0);
    }
    batch.counters.push(0, 5, railtwin_records::Counter::LinkDowns, f64::NAN);
    batch.probes.push(0, 5, true, 1, 1, 0, f64::NAN);
    diagnosis.observe(&directory, None, &batch, &mut findings);
    assert_eq!(findings, []);
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
