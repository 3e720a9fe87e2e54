//! The replay without jitter against the flow engine that it takes its durations from.
#![allow(clippy::unwrap_used, reason = "a test")]
use crate::kit;
use kit::{Job, case, healthy_log, replay};
use railtwin_engine::{CableState, Engine, Fault, RankTrouble};
use railtwin_fabric::HostId;
use railtwin_flowsim::FlowEngine;
use railtwin_records::Batch;
use railtwin_telemetry::{Jitter, Progress, Settings};
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Collective};

fn quiet() -> Settings {
    Settings { jitter: Jitter::NONE, ..Settings::default() }
}

fn jobs() -> Vec<(&'static str, Job)> {
    let with = |job: Job, collective, algorithm| Job { dp: (collective, algorithm), ..job };
    vec![
        ("dp", Job::new(1, 1, 32, 1)),
        ("dp tree", with(Job::new(1, 1, 32, 1), Collective::AllReduce, Algorithm::Tree)),
        ("dp nvls", with(Job::new(1, 1, 32, 1), Collective::AllReduce, Algorithm::NvlsRing)),
        ("tp and dp", with(Job::new(8, 1, 8, 1), Collective::ReduceScatter, Algorithm::Ring)),
        ("pp", Job::new(8, 4, 2, 1)),
        ("ep", Job::new(1, 1, 32, 16)),
    ]
}

#[test]
fn a_quiet_step_takes_as_long_as_the_engine_says() {
    for (name, job) in jobs() {
        let case = case(job, 1);
        let engine = healthy_log(&case).end.ps() as f64 / 1e3;
        let (mut replay, _) = replay(&case, quiet(), &[]);
        let mut batch = Batch::default();
        assert_eq!(replay.step(&mut batch), Progress::Ended);
        let ours = replay.last_step_ns() as f64;
        assert!((ours / engine - 1.0).abs() < 1e-6, "{name}: {ours} against {engine} ns");
        assert!(!batch.operations.is_empty() && !batch.messages.is_empty(), "{name}");
        println!(
            "{name}: {ours} ns, {} operations, {} messages",
            batch.operations.len(),
            batch.messages.len()
        );
    }
}

#[test]
fn a_slow_gpu_takes_what_its_computation_adds() {
    let mut case = case(Job::new(1, 1, 32, 1), 1);
    let engine = healthy_log(&case).end.ps() as f64 / 1e3;
    case.rank_faults = vec![kit::trouble(5, RankTrouble::Slow(1.5))];
    let (mut replay, _) = replay(&case, quiet(), &[]);
    let mut batch = Batch::default();
    replay.step(&mut batch);
    // Two layers, forward and two backward passes of 20 ms each.
    let expected = engine + 0.5 * 6.0 * 20e6;
    assert!((replay.last_step_ns() as f64 / expected - 1.0).abs() < 1e-6);
}

/// A port that is down from the start: its queue pairs share the other port of the NIC, which both ways of looking at
/// the network find for themselves.
#[test]
fn a_nic_on_one_port_takes_what_the_engine_finds() {
    for (name, job) in jobs() {
        let mut case = case(job, 1);
        let healthy = healthy_log(&case).end.ps() as f64;
        let nic = case.fabric.nic(HostId(1), 3);
        let cable = case.fabric.access_link(nic, 0).unwrap().cable();
        case.faults = vec![Fault { at: SimTime::ZERO, cable, state: CableState::Down }];
        let engine = FlowEngine::default().run(&case, 0).end.ps() as f64;
        let (mut replay, _) = replay(&case, quiet(), &[SimTime::ZERO]);
        replay.step(&mut Batch::default());
        let ours = replay.last_step_ns() as f64 * 1e3;
        println!("{name}: engine {:.4} of healthy, replay {:.4}", engine / healthy, ours / healthy);
        assert!((ours / engine - 1.0).abs() < 0.01, "{name}: {ours} against {engine} ps");
    }
}

/// Half of what both ports of a NIC carry: the reduce-scatter over its rail takes the time of half the rate.
#[test]
fn a_throttled_nic_takes_what_its_rate_says() {
    let job = Job { dp: (Collective::ReduceScatter, Algorithm::Ring), ..Job::new(8, 1, 8, 1) };
    let mut case = case(job, 1);
    let (mut quick, _) = replay(&case, quiet(), &[]);
    quick.step(&mut Batch::default());
    let nic = case.fabric.nic(HostId(1), 3);
    case.impairments = vec![kit::throttled(case.fabric.access_link(nic, 0).unwrap(), 0.5)];
    let (mut slow, _) = replay(&case, quiet(), &[SimTime::ZERO]);
    slow.step(&mut Batch::default());
    // 1 GiB among eight over a port of 200 Gbps for each half: 7/8 GiB at 50 GB/s, then at 25 GB/s.
    let more = (7.0 / 8.0) * f64::from(1 << 30) / 50.0;
    let found = slow.last_step_ns() as f64 - quick.last_step_ns() as f64;
    assert!((found / more - 1.0).abs() < 1e-3, "{found} ns more, {more} expected");
}
