//! The causes behind one error: told apart by counters, unknown without.
use railtwin_diagnosis::rules::{
    ErrorCause, ErrorEvidence, ErrorJoin, GpuHealth, Limits, SizeMismatch, Xid, classify_error, xid_meaning,
};
use railtwin_records::{Batch, Component, Counter, FaultKind, Finding, NOT_YET, Syndrome};

use crate::rules::fixture::{SECOND, World, add, named, readings, small};

fn gpu(host: u32) -> Component {
    Component::Gpu(format!("host-{host}/gpu-0"))
}

fn rank(number: u32) -> Component {
    Component::Rank(format!("train/{number}"))
}

#[test]
fn without_a_signal_the_cause_is_unknown() {
    let shares = classify_error(&ErrorEvidence::default());
    assert_eq!(shares.likeliest(), (ErrorCause::Unknown, 1.0));
    let gone = ErrorEvidence { process_gone: Some(true), ..ErrorEvidence::default() };
    assert_eq!(classify_error(&gone).likeliest(), (ErrorCause::Unknown, 1.0));
}

#[test]
fn each_cause_is_told_from_its_signals() {
    let gone = ErrorEvidence { process_gone: Some(true), ..ErrorEvidence::default() };
    let alive = ErrorEvidence { process_gone: Some(false), ..ErrorEvidence::default() };
    // Rows of the confusion matrix: the signals, with what follows from each cause at peers, and the cause.
    let rows = [
        (ErrorEvidence { ecc_errors: 1.0, timeouts_towards: 1.0, ..gone }, ErrorCause::GpuFault),
        (ErrorEvidence { xid: 79, ..gone }, ErrorCause::GpuFault),
        (ErrorEvidence { xid: 74, nvlink_errors: 30.0, ..gone }, ErrorCause::GpuFault),
        (ErrorEvidence { out_of_memory_kills: 1.0, timeouts_towards: 1.0, ..gone }, ErrorCause::OutOfMemory),
        (ErrorEvidence { link_down: true, timeouts_towards: 1.0, ..alive }, ErrorCause::NetworkDisconnect),
        (ErrorEvidence { timeouts_on_path: true, ..alive }, ErrorCause::NetworkDisconnect),
        (ErrorEvidence { size_mismatch: true, ..alive }, ErrorCause::SizeMismatch),
        (ErrorEvidence { size_mismatch: true, xid: 31, ..gone }, ErrorCause::SizeMismatch),
        // What follows any death of a process says nothing.
        (ErrorEvidence { timeouts_towards: 1.0, ..gone }, ErrorCause::Unknown),
        (ErrorEvidence { xid: 45, ..gone }, ErrorCause::Unknown),
    ];
    for (evidence, cause) in rows {
        let shares = classify_error(&evidence);
        assert_eq!(shares.likeliest().0, cause, "{evidence:?} gives {shares:?}");
        assert!((shares.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn xids_are_of_the_gpu_or_of_the_program() {
    for number in [48, 64, 95] {
        assert_eq!(xid_meaning(number), Some(Xid::Memory));
    }
    for number in [63, 94] {
        assert_eq!(xid_meaning(number), Some(Xid::MemoryContained));
    }
    for number in [13, 31, 43] {
        assert_eq!(xid_meaning(number), Some(Xid::Application));
    }
    assert_eq!((xid_meaning(74), xid_meaning(79)), (Some(Xid::NvLink), Some(Xid::OffBus)));
    assert_eq!((xid_meaning(45), xid_meaning(0)), (Some(Xid::Follows), None));
    // What is to be done at once is a reset by NVIDIA's catalog.
    for number in [46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 154, 156, 158] {
        assert!(xid_meaning(number).is_some_and(|xid| xid.hardware() > 0.5), "{number}");
    }
    // The number of an event of NVLink 5 does not tell whether it is fatal.
    for number in 144..=150 {
        assert!(xid_meaning(number).is_some_and(|xid| xid.hardware() < 0.5), "{number}");
    }
    // The program is to be started anew, or nothing is to be done.
    for number in [8, 11, 32, 44, 66, 93, 106, 121, 137, 157, 160, 162, 163] {
        assert_eq!(xid_meaning(number), None, "{number}");
    }
}

/// GPUs and hosts that are well for a while, and ranks alive; then what `after` adds each second.
fn run(
    world: &World,
    detector: &mut dyn railtwin_diagnosis::Detector,
    seconds: u64,
    after: impl Fn(u64, &mut Batch),
) -> Vec<Finding> {
    let mut found = Vec::new();
    for second in 0..seconds {
        let mut batch = readings(second * SECOND, Counter::Xid, &[]);
        if second == 0 {
            for (row, info) in world.directory.entities.iter().enumerate() {
                let zero = match info.component {
                    Component::Gpu(_) => vec![Counter::EccErrors, Counter::NvlinkErrors, Counter::Xid],
                    Component::Host(_) => vec![Counter::OutOfMemoryKills],
                    Component::Nic(_) => vec![Counter::AckTimeouts, Counter::LinkDowns],
                    _ => vec![],
                };
                for counter in zero {
                    add(&mut batch, 0, counter, &[(row as u32, 0.0)]);
                }
                if let Component::Rank(_) = info.component {
                    add(&mut batch, 0, Counter::ProcessAlive, &[(row as u32, 1.0)]);
                }
            }
        }
        after(second, &mut batch);
        found.extend(world.feed(detector, &batch));
    }
    found
}

#[test]
fn an_ecc_error_and_hard_xids_name_the_gpu_and_soft_ones_the_job_first() {
    let world = small();
    let entity = world.entity(gpu(3));
    let at_two = |counter: Counter, value: f64| {
        let mut detector = GpuHealth::new(Limits::default());
        run(&world, &mut detector, 4, |second, batch| {
            if second >= 2 {
                add(batch, second * SECOND, counter, &[(entity, value)]);
            }
        })
    };
    let found = at_two(Counter::EccErrors, 1.0);
    assert_eq!((found.len(), named(&found[0])), (1, vec![gpu(3)]));
    let found = at_two(Counter::Xid, 79.0);
    assert_eq!((found[0].faults[0], named(&found[0])), (FaultKind::GpuError, vec![gpu(3)]));
    let found = at_two(Counter::Xid, 31.0);
    assert_eq!(named(&found[0]), [Component::Job("train".into()), gpu(3)]);
    assert!(at_two(Counter::Xid, 45.0).is_empty());
    assert!(at_two(Counter::NvlinkErrors, 9.0).is_empty());
    assert_eq!(named(&at_two(Counter::NvlinkErrors, 10.0)[0]), [gpu(3)]);
}

#[test]
fn a_low_clock_needs_three_readings_and_an_idle_gpu_is_not_slow() {
    let world = small();
    let told = |mhz: f64, celsius: f64, seconds: u64| {
        let mut detector = GpuHealth::new(Limits::default());
        run(&world, &mut detector, seconds, |second, batch| {
            for host in 0..16 {
                let entity = world.entity(gpu(host));
                let (clock, heat) = if host == 3 { (mhz, celsius) } else { (1980.0, 60.0) };
                add(batch, second * SECOND, Counter::GpuClockMhz, &[(entity, clock)]);
                add(batch, second * SECOND, Counter::GpuTemperature, &[(entity, heat)]);
            }
        })
    };
    assert!(told(1400.0, 88.0, 2).is_empty());
    let found = told(1400.0, 88.0, 3);
    assert_eq!((named(&found[0]), found[0].faults[0]), (vec![gpu(3)], FaultKind::SlowGpu));
    assert!(told(1400.0, 60.0, 3)[0].confidence < found[0].confidence);
    assert!(told(0.9 * 1980.0, 60.0, 9).is_empty(), "at the limit of a tenth");
    assert!(told(345.0, 40.0, 9).is_empty(), "idle");
}

#[test]
fn a_dead_process_with_an_ecc_error_is_the_gpu() {
    let world = small();
    let mut detector = ErrorJoin::new(Limits::default());
    let found = run(&world, &mut detector, 6, |second, batch| {
        if second >= 2 {
            add(batch, second * SECOND, Counter::ProcessAlive, &[(world.entity(rank(5)), 0.0)]);
            add(batch, second * SECOND, Counter::EccErrors, &[(world.entity(gpu(5)), 2.0)]);
        }
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].faults[0], named(&found[0])), (FaultKind::GpuError, vec![gpu(5)]));
    assert_eq!(found[0].syndrome, Syndrome::Crash);
}

#[test]
fn a_dead_process_on_a_host_that_kills_for_memory_is_the_rank() {
    let world = small();
    let mut detector = ErrorJoin::new(Limits::default());
    let host = Component::Host("host-5".into());
    let found = run(&world, &mut detector, 6, |second, batch| {
        if second >= 2 {
            add(batch, second * SECOND, Counter::ProcessAlive, &[(world.entity(rank(5)), 0.0)]);
            add(batch, second * SECOND, Counter::OutOfMemoryKills, &[(world.entity(host.clone()), 1.0)]);
        }
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].faults[0], named(&found[0])), (FaultKind::Crash, vec![rank(5), host.clone()]));
    assert!(found[0].advice.contains("memory"));
}

#[test]
fn a_dead_process_without_a_signal_is_told_when_others_outlive_it() {
    let world = small();
    let mut detector = ErrorJoin::new(Limits::default());
    let found = run(&world, &mut detector, 200, |second, batch| {
        if second >= 2 {
            add(batch, second * SECOND, Counter::ProcessAlive, &[(world.entity(rank(5)), 0.0)]);
        }
        // Much later the others give up as well: they follow.
        if second >= 90 {
            for other in (0..16).filter(|&other| other != 5) {
                add(batch, second * SECOND, Counter::ProcessAlive, &[(world.entity(rank(other)), 0.0)]);
            }
        }
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].at_ns, named(&found[0])), (4 * SECOND, vec![rank(5)]));
    assert!(found[0].advice.contains("no signal tells why"));
}

#[test]
fn a_job_that_ends_has_not_crashed() {
    let world = small();
    let mut detector = ErrorJoin::new(Limits::default());
    let found = run(&world, &mut detector, 20, |second, batch| {
        for number in (0..16).filter(|&number| second >= 5 + number / 12) {
            let entity = world.entity(rank(number as u32));
            add(batch, second * SECOND, Counter::ProcessAlive, &[(entity, 0.0)]);
        }
    });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_nic_without_link_that_all_time_out_towards_is_a_dead_cable() {
    let world = small();
    let mut detector = ErrorJoin::new(Limits::default());
    let found = run(&world, &mut detector, 6, |second, batch| {
        let time_ns = second * SECOND;
        add(batch, time_ns, Counter::LinkUp, &[(world.nic(5), if second < 2 { 1.0 } else { 0.0 })]);
        for host in (0..16).filter(|&host| host != 5) {
            let late = if second < 4 { 0.0 } else { 4.0 };
            add(batch, time_ns, Counter::AckTimeouts, &[(world.nic(host), late)]);
        }
    });
    assert_eq!(found.len(), 1, "{found:?}");
    let cable = Component::Cable("host-5/nic-0:port-0".into());
    assert_eq!(named(&found[0]), [cable, Component::Nic("host-5/nic-0".into())]);
    assert_eq!(found[0].faults, [FaultKind::Down]);
    assert!(found[0].evidence.iter().any(|row| row.value == 1.0 && row.words().contains("15 NICs")));
}

#[test]
fn the_rank_that_brings_other_bytes_is_told_with_its_job() {
    let world = small();
    let told = |odd: Option<u32>, kind: &str| {
        let mut world = small();
        for shape in &mut world.directory.shapes {
            shape.kind = kind.into();
        }
        let mut detector = SizeMismatch::new(Limits::default());
        let mut batch = Batch { until_ns: SECOND, ..Batch::default() };
        for number in 0..16u32 {
            let shape = u32::from(Some(number) == odd);
            batch.operations.push(0, number, 7, shape, 100, NOT_YET);
        }
        let found = world.feed(&mut detector, &batch);
        assert!(world.feed(&mut detector, &batch).is_empty(), "told once");
        found
    };
    for odd in [0, 3, 15] {
        let found = told(Some(odd), "all-reduce");
        assert_eq!(named(&found[0]), [rank(odd), Component::Job("train".into())]);
        assert_eq!((found[0].evidence[0].value, found[0].evidence[0].expected), (2097152.0, 1048576.0));
    }
    assert!(told(None, "all-reduce").is_empty());
    assert!(told(Some(3), "all-to-all").is_empty(), "experts take unlike shares");
    drop(world);
}
