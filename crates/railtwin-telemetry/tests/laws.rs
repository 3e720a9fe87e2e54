//! What every replay keeps to, whatever its chance and its faults.
#![allow(clippy::unwrap_used, reason = "a test")]
use crate::kit;
use std::collections::BTreeMap;

use kit::{Job, case, replay, trouble};
use proptest::prelude::*;
use railtwin_engine::RankTrouble;
use railtwin_fabric::{HostId, LinkId};
use railtwin_records::telemetry::{Batch, Counter, NOT_YET};
use railtwin_records::{Component, Directory, FaultKind, Truth};
use railtwin_telemetry::{Collision, CounterSettings, Counters, Jitter, Progress, Replay, Settings};
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Collective};

fn quiet() -> Settings {
    Settings { jitter: Jitter::NONE, ..Settings::default() }
}

/// Enter and end of each rank in each operation of each communicator.
fn spans(batch: &Batch) -> BTreeMap<(u32, u32, u32), (u64, u64)> {
    let o = &batch.operations;
    let row = |i: usize| ((o.communicator[i], o.sequence[i], o.rank[i]), (o.enter_ns[i], o.end_ns[i]));
    (0..o.len()).map(row).collect()
}

fn steps(replay: &mut Replay, count: usize) -> Batch {
    let mut batch = Batch::default();
    for _ in 0..count {
        replay.step(&mut batch);
    }
    batch
}

/// Waits and network fit in the time for which the rank was within, up to rounding.
fn check(directory: &Directory, batch: &Batch) {
    let spans = spans(batch);
    for (enter, end) in spans.values() {
        assert!(enter <= end);
    }
    let m = &batch.messages;
    for i in 0..m.len() {
        let flow = &directory.flows[m.flow[i] as usize];
        let span = |rank| spans.get(&(m.communicator[i], m.sequence[i], rank));
        if let Some((enter, end)) = span(flow.source) {
            let sent = m.network_ns[i] + m.data_wait_ns[i] + m.credit_wait_ns[i];
            assert!(sent <= end - enter + 5, "row {i}: {sent} of {}", end - enter);
        }
        let pairs = directory.communicators[m.communicator[i] as usize].axis == "pp";
        if let Some((enter, end)) = span(flow.target).filter(|_| !pairs) {
            let received = m.network_ns[i] + m.receive_wait_ns[i];
            assert!(received <= end - enter + 5, "row {i}: {received} of {}", end - enter);
        }
        assert!(m.first_wait_stage[i] <= m.stage[i] + m.stages[i]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn times_add_up(seed: u64, kind in 0_usize..6, slow in 0_u32..32, share in 0.2_f64..1.0) {
        let job = match kind {
            0 => Job::new(1, 1, 32, 1),
            1 => Job { dp: (Collective::AllReduce, Algorithm::Tree), ..Job::new(1, 1, 32, 1) },
            2 => Job { dp: (Collective::AllReduce, Algorithm::NvlsRing), ..Job::new(1, 1, 32, 1) },
            3 => Job::new(8, 1, 4, 1),
            4 => Job::new(8, 2, 2, 1),
            _ => Job::new(1, 1, 32, 16),
        };
        let mut case = case(job, 1);
        case.rank_faults = vec![trouble(slow, RankTrouble::Slow(1.3))];
        let nic = case.fabric.nic(HostId(1), 3);
        case.impairments = vec![kit::throttled(case.fabric.access_link(nic, 0).unwrap(), share)];
        // Clocks that drift stretch spans: one clock for all that is compared.
        let jitter = Jitter { clock_drift: 0.0, checkpoint_steps: 2, ..Jitter::default() };
        let settings = Settings { seed, jitter, ..Settings::default() };
        let (mut replay, directory) = replay(&case, settings, &[SimTime::ZERO]);
        let batch = steps(&mut replay, 3);
        prop_assert!(!batch.messages.is_empty());
        check(&directory, &batch);
    }
}

#[test]
fn the_same_seed_tells_the_same_and_another_does_not() {
    let case = case(Job::new(8, 1, 4, 1), 1);
    let run = |seed| {
        let (mut replay, directory) = replay(&case, Settings { seed, ..Settings::default() }, &[]);
        (steps(&mut replay, 4), directory)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

#[test]
fn the_late_rank_waits_least_and_its_successor_first() {
    let mut case = case(Job::new(8, 1, 8, 1), 1);
    let late = RankTrouble::Late { time: SimTime::from_ns(50_000_000), every: 1 };
    case.rank_faults = vec![trouble(16, late)];
    let (mut replay, directory) = replay(&case, quiet(), &[]);
    let batch = steps(&mut replay, 1);
    // Ranks of its host come late together, held by their tensor-parallel operations.
    let m = &batch.messages;
    let rows: Vec<usize> = (0..m.len()).filter(|&i| m.channel[i] == 0).collect();
    let total = |rank: u32| -> u64 {
        let into = rows.iter().filter(|&&i| directory.flows[m.flow[i] as usize].target == rank);
        into.map(|&i| m.receive_wait_ns[i]).sum()
    };
    let stage = |rank: u32| {
        let mut into = rows.iter().filter(|&&i| directory.flows[m.flow[i] as usize].target == rank);
        into.next().map(|&i| m.first_wait_stage[i]).unwrap()
    };
    for host in (0..8_u32).filter(|&host| host != 2) {
        assert!(total(16) < total(8 * host), "host {host}");
        assert_eq!(stage(8 * host), (host + 8 - 3) % 8, "host {host}");
    }
}

#[test]
fn a_hung_rank_holds_up_whom_it_meets_and_then_all() {
    for (what, shape_differs) in
        [(RankTrouble::Hang, false), (RankTrouble::Gone, false), (RankTrouble::Mismatch, true)]
    {
        let mut case = case(Job::new(8, 1, 4, 1), 1);
        case.rank_faults = vec![trouble(9, what)];
        let (mut replay, _) = replay(&case, quiet(), &[]);
        let mut batch = Batch::default();
        assert_eq!(replay.step(&mut batch), Progress::Stuck);
        let o = &batch.operations;
        let own: Vec<usize> = (0..o.len()).filter(|&i| o.rank[i] == 9).collect();
        let open: Vec<u32> = (0..o.len()).filter(|&i| o.end_ns[i] == NOT_YET).map(|i| o.rank[i]).collect();
        assert_eq!(own.is_empty(), !shape_differs, "{what:?}");
        // Its tensor-parallel peers wait at once; the others reach the gradients, which need a rank of that host.
        assert!((8..16).filter(|&rank| rank != 9).all(|rank| open.contains(&rank)), "{what:?}");
        assert!((0..8).all(|rank| open.contains(&rank)), "{what:?}");
        if shape_differs {
            let peer = (0..o.len()).find(|&i| o.rank[i] == 8 && o.communicator[i] == o.communicator[own[0]]);
            assert_ne!(o.shape[own[0]], o.shape[peer.unwrap()]);
        }
        let rows = o.len();
        assert_eq!(replay.step(&mut batch), Progress::Stuck);
        assert_eq!(batch.operations.len(), rows, "nothing more begins");
    }
}

#[test]
fn a_dead_path_lets_all_enter_and_none_end() {
    let mut case = case(Job::new(8, 1, 4, 1), 1);
    let nic = case.fabric.nic(HostId(1), 3);
    let links = [0, 1].map(|port| case.fabric.access_link(nic, port).unwrap());
    case.impairments = links.map(|link| kit::throttled(link, 0.0)).to_vec();
    let (mut replay, directory) = replay(&case, quiet(), &[SimTime::ZERO]);
    let mut batch = Batch::default();
    assert_eq!(replay.step(&mut batch), Progress::Stuck);
    let o = &batch.operations;
    let open: Vec<u32> = (0..o.len()).filter(|&i| o.end_ns[i] == NOT_YET).map(|i| o.rank[i]).collect();
    assert_eq!(open, [3, 11, 19, 27], "the communicator over that NIC, all within");
    let m = &batch.messages;
    let stopped: Vec<u32> = (0..m.len())
        .filter(|&i| m.messages[i] == 0)
        .map(|i| directory.flows[m.flow[i] as usize].source)
        .collect();
    assert!(!stopped.is_empty() && stopped.iter().all(|&source| source == 11), "{stopped:?}");
}

#[test]
fn a_throttled_link_shows_in_its_own_messages() {
    let mut case = case(Job::new(8, 1, 8, 1), 1);
    let nic = case.fabric.nic(HostId(2), 5);
    let link = case.fabric.access_link(nic, 1).unwrap();
    case.impairments = vec![kit::throttled(link, 0.4)];
    let (mut replay, directory) = replay(&case, quiet(), &[SimTime::ZERO]);
    let batch = steps(&mut replay, 1);
    let m = &batch.messages;
    let slowest = (0..m.len()).max_by_key(|&i| m.network_ns[i]).unwrap();
    let flow = &directory.flows[m.flow[slowest] as usize];
    assert!(flow.links.contains(&link.0));
    let others =
        (0..m.len()).filter(|&i| m.flow[i] != m.flow[slowest]).map(|i| m.network_ns[i]).max().unwrap();
    let ratio = m.network_ns[slowest] as f64 / others as f64;
    assert!((ratio - 2.5).abs() < 0.05, "{ratio}");
}

/// A job over two segments, so that its rings cross spines.
#[test]
fn another_job_s_visit_slows_messages_over_its_link_and_ends() {
    let case = case(Job::new(8, 1, 144, 1), 1);
    let (mut replay, directory) = replay(&case, quiet(), &[]);
    let calm = steps(&mut replay, 1);
    let spine = |link: &&u32| {
        let (source, target) = (case.fabric.source(LinkId(**link)), case.fabric.target(LinkId(**link)));
        case.fabric.place(source).is_some() && case.fabric.place(target).is_some()
    };
    let link = *directory.flows.iter().flat_map(|flow| &flow.links).find(spine).unwrap();
    let (from_ns, step_ns) = (replay.now_ns(), replay.last_step_ns());
    replay.add_collision(Collision { link, from_ns, until_ns: from_ns + step_ns, factor: 2.0 });
    let met = steps(&mut replay, 1);
    let after = steps(&mut replay, 2);
    assert_eq!(replay.collisions().len(), 1);
    let (calm, met) = (calm.messages, met.messages);
    let mut slower = 0;
    for i in 0..calm.len() {
        let times = met.network_ns[i] as f64 / calm.network_ns[i] as f64;
        let crosses = directory.flows[met.flow[i] as usize].links.contains(&link);
        assert!((times - if crosses { 2.0 } else { 1.0 }).abs() < 0.01, "{times}");
        slower += usize::from(crosses);
    }
    assert!(slower > 0);
    assert_eq!(after.messages.network_ns[calm.len()..], calm.network_ns[..]);
}

#[test]
fn counters_tell_of_losses_outages_and_processes() {
    let mut case = case(Job::new(8, 1, 4, 1), 1);
    let nic = case.fabric.nic(HostId(1), 3);
    let link = case.fabric.access_link(nic, 0).unwrap();
    let mut lossy = kit::throttled(link, 1.0);
    lossy.loss = 0.01;
    case.impairments = vec![lossy];
    case.rank_faults = vec![trouble(9, RankTrouble::Gone)];
    let component = Component::Gpu("host-0/gpu-1".into());
    case.truths = vec![Truth {
        from_ns: 0,
        until_ns: u64::MAX,
        kind: FaultKind::GpuError,
        component,
        severity: 0.0,
        cause: Some(railtwin_records::FaultCause::Ecc),
        source: Truth::WRITTEN.to_owned(),
    }];
    let (replay, mut directory) = replay(&case, quiet(), &[]);
    let settings = CounterSettings { bytes: true, ..CounterSettings::default() };
    let mut counters = Counters::new(&case, &replay, settings, &mut directory);
    let mut batch = Batch::default();
    counters.read(&replay, 0, &mut batch.counters);
    let at_start = batch.counters.len();
    assert!(at_start >= 32 * 5, "{at_start}");
    counters.read(&replay, 10_000_000_000, &mut batch.counters);
    let c = &batch.counters;
    let later = |counter: Counter| -> Vec<(&str, f64)> {
        let rows = (at_start..c.len()).filter(|&i| c.counter[i] == counter);
        rows.map(|i| (directory.entities[c.entity[i] as usize].component.name(), c.value[i])).collect()
    };
    let errors = later(Counter::ReceiveErrors);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].1 > 0.0);
    let receiving = (at_start..c.len()).find(|&i| c.counter[i] == Counter::ReceiveErrors).unwrap();
    assert_eq!(directory.entities[c.entity[receiving] as usize].link, Some(link.reverse().0));
    assert!(later(Counter::OutOfSequence).iter().all(|(name, _)| name.ends_with("nic-3")));
    assert!(!later(Counter::AckTimeouts).is_empty());
    // What holds from time zero on was told at the start.
    let dead = (0..at_start).find(|&i| c.counter[i] == Counter::ProcessAlive && c.value[i] == 0.0).unwrap();
    assert_eq!(directory.entities[c.entity[dead] as usize].component, Component::Rank("job/9".into()));
    assert!((0..at_start).any(|i| c.counter[i] == Counter::Xid && c.value[i] > 0.0));
}

#[test]
fn probes_find_loss_delay_and_rate() {
    let case = case(Job::new(8, 1, 4, 1), 1);
    let (replay, directory) = replay(&case, quiet(), &[]);
    let links = &directory.flows[0].links;
    let mut bad = kit::throttled(LinkId(links[0]), 0.5);
    (bad.loss, bad.delay) = (0.3, SimTime::from_ns(50_000));
    let mut batch = Batch::default();
    let paths = [(0, links.as_slice())];
    replay.probe(&paths, (&[], &[]), false, 1, &mut batch.probes);
    replay.probe(&paths, (&[bad], &[]), false, 1, &mut batch.probes);
    replay.probe(&paths, (&[], &[bad.link]), false, 1, &mut batch.probes);
    let p = &batch.probes;
    assert_eq!((p.lost[0], p.lost[2]), (0, p.sent[2]));
    assert!((15..45).contains(&p.lost[1]));
    assert_eq!(p.delay_ns[1] - p.delay_ns[0], 50_000);
    assert!(p.bits_per_s[1] < 0.5 * p.bits_per_s[0]);
}
