//! Closed forms, conservation and shortcuts: the engine against arithmetic on small cases.
use railtwin_control::PlacementPolicy;
use railtwin_engine::{CableState, Case, Engine, Fault, RunLog, Split};
use railtwin_fabric::preset::{Hpn, LeafSpine};
use railtwin_fabric::{CableClass, Fabric, HostSpec, LinkId};
use railtwin_flowsim::{FlowEngine, Shortcuts};
use railtwin_testkit::closed_forms::ring_bytes;
use railtwin_testkit::{cases, fabrics, works};
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Collective, Experts, Group};

/// One leaf, `hosts` hosts of `gpus` GPUs, NICs of one 400 Gbps port, no delays.
fn one_leaf(hosts: u32, gpus: u32) -> Fabric {
    let none = Some(SimTime::ZERO);
    let host = HostSpec { nvlink_delay: none, pcie_delay: none, ..fabrics::host(gpus, 1, 400) };
    let spec = fabrics::one_leaf(host, hosts);
    LeafSpine { delay: SimTime::ZERO, switch_latency: SimTime::ZERO, ..spec }
        .build()
        .expect("small cases are well formed")
}

fn seconds(case: &Case) -> f64 {
    let log = FlowEngine::default().run(case, 0);
    assert_eq!(log.unfinished, 0);
    log.end.seconds()
}

fn close(ours: f64, expected: f64) {
    assert!((ours / expected - 1.0).abs() < 1e-6, "{ours} is not {expected}");
}

#[test]
fn a_ring_takes_what_the_bus_factor_says() {
    let nic = 50e9;
    for (hosts, bytes) in [(2, 1 << 30), (3, 12_345_678), (8, 1 << 20)] {
        let one = |collective| {
            let plan = works::collective(hosts, collective, Algorithm::Ring, bytes, 1);
            seconds(&cases::job(one_leaf(hosts, 1), plan))
        };
        let part = ring_bytes(hosts, bytes) / nic;
        close(one(Collective::AllReduce), 2.0 * part);
        close(one(Collective::AllGather), part);
        close(one(Collective::ReduceScatter), part);
    }
}

/// Three senders over one uplink: who goes first has all of it, the next what is left, and those of one priority share.
#[test]
fn higher_priorities_are_served_first() {
    let bytes = [1 << 30, 2 << 30, 1 << 30];
    let ends = |priorities: [u8; 3]| {
        let plans = (0..)
            .zip(bytes)
            .map(|(from, bytes)| (works::send(bytes, 1), PlacementPolicy::Hosts(vec![from, from + 3])));
        let mut case = cases::jobs(fabrics::leaf_spine(2, 3, 1, (400, 400), 0), plans.collect());
        for (job, priority) in case.work.jobs.iter_mut().zip(priorities) {
            job.priority = priority;
        }
        let log = FlowEngine::default().run(&case, 0);
        log.times.end.iter().map(|end| end.seconds() * 50e9 / f64::from(1 << 30)).collect::<Vec<_>>()
    };
    for (priorities, expected) in [
        ([0, 0, 0], [3.0, 4.0, 3.0]),
        ([7, 0, 0], [1.0, 4.0, 3.0]),
        ([0, 1, 2], [4.0, 3.0, 1.0]),
        ([1, 0, 1], [2.0, 4.0, 2.0]),
    ] {
        for (end, expected) in ends(priorities).into_iter().zip(expected) {
            close(end, expected);
        }
    }
}

#[test]
fn aggregated_trees_move_what_a_ring_does_in_fewer_steps() {
    for hosts in [2, 3, 7, 8, 13] {
        for collective in [Collective::AllGather, Collective::ReduceScatter] {
            let plan = works::collective(hosts, collective, Algorithm::Pat, 12_345_678, 1);
            let took = seconds(&cases::job(one_leaf(hosts, 1), plan));
            close(took, ring_bytes(hosts, 12_345_678) / 50e9);
        }
        let mut fabric = fabrics::one_leaf(fabrics::plain_host(1, 400), hosts);
        fabric.switch_latency = SimTime::from_ns(700);
        fabric.delay = SimTime::from_ns(300);
        let bytes = u64::from(hosts);
        let plan = works::collective(hosts, Collective::AllGather, Algorithm::Pat, bytes, 1);
        let log = FlowEngine::default().run(&cases::job(fabric.build().unwrap(), plan), 0);
        let steps = f64::from(hosts).log2().ceil() as u64;
        // Steps of two 300 ns hops and one switch, and all parts but one at 50 GB/s.
        assert_eq!(log.end, SimTime::from_ns(steps * 1_300) + SimTime::from_ps((bytes - 1) * 20));
    }
}

/// Each GPU sends and takes 9/8 of the buffer: 1/8 of it more than its own, which it is the head of.
#[test]
fn reduction_in_the_switch_of_one_host_is_held_by_nvlink() {
    let plan = works::collective(8, Collective::AllReduce, Algorithm::Nvls, 1 << 30, 1);
    close(seconds(&cases::job(one_leaf(1, 8), plan)), f64::from(1 << 30) * 9.0 / 8.0 / 200e9);
}

#[test]
fn a_ring_over_eight_gpus_a_host_is_held_by_nvlink() {
    // 8 NICs of 50 GB/s would give 400 GB/s; NVLink gives 200 GB/s a direction.
    let plan = works::collective(32, Collective::AllReduce, Algorithm::Ring, 1 << 30, 1);
    let took = seconds(&cases::job(one_leaf(4, 8), plan));
    let busbw = (1u64 << 30) as f64 / took * 2.0 * 31.0 / 32.0;
    close(busbw, 200e9);
}

#[test]
fn all_to_all_is_held_by_what_leaves_a_host() {
    let (hosts, gpus, bytes) = (4_u32, 8_u32, 1_u64 << 30);
    let plan = works::collective(hosts * gpus, Collective::AllToAll, Algorithm::Direct, bytes, 1);
    let took = seconds(&cases::job(one_leaf(hosts, gpus), plan));
    let n = f64::from(hosts * gpus);
    let leaving_a_nic = bytes as f64 * (n - f64::from(gpus)) / n;
    close(took, leaving_a_nic / 50e9);
}

/// Low-latency kernels as an all-to-all. Normal ones by what a token reaches: the NIC holds four hosts, NVLink two.
#[test]
fn kernels_of_experts_are_held_by_a_nic_or_by_nvlink() {
    let experts = Experts { total: 256, top_k: 8, most_hosts: Some(4) };
    let bytes = 1_u64 << 30;
    for collective in [Collective::ExpertDispatch, Collective::ExpertCombine] {
        let plan = works::collective(32, collective, Algorithm::Direct, bytes, 1);
        close(seconds(&cases::job(one_leaf(4, 8), plan)), bytes as f64 * 24.0 / 32.0 / 50e9);
        for (hosts, is_of_nic) in [(1, false), (2, false), (4, true)] {
            let mut plan = works::collective(hosts * 8, collective, Algorithm::Forward, bytes, 1);
            plan.patterns[0].experts = Some(experts);
            let (on_nic, on_nvlink) = experts.carried(Group::of(hosts, 8));
            let times = (bytes as f64 * on_nic / 50e9, bytes as f64 * on_nvlink / 200e9);
            assert_eq!(times.0 > times.1, is_of_nic);
            let (ours, most) = (seconds(&cases::job(one_leaf(hosts, 8), plan)), times.0.max(times.1));
            // Over several hosts bundles have equal parts of NVLink whatever they carry, so that some of what crosses the NIC
            // too is left at the end.
            match hosts {
                1 => close(ours, most),
                _ => assert!((most..1.15 * most).contains(&ours), "{ours} for {most} or little more"),
            }
        }
    }
}

#[test]
fn latency_is_paid_once_for_every_stage() {
    let mut fabric = fabrics::one_leaf(fabrics::plain_host(1, 400), 4);
    fabric.switch_latency = SimTime::from_ns(700);
    fabric.delay = SimTime::from_ns(300);
    let plan = works::collective(4, Collective::AllGather, Algorithm::Ring, 4, 1);
    let log = FlowEngine::default().run(&cases::job(fabric.build().unwrap(), plan), 0);
    // Three stages of two 300 ns hops and one switch, and 3 bytes at 50 GB/s.
    assert_eq!(log.end, SimTime::from_ns(3 * 1_300) + SimTime::from_ps(60));
}

#[test]
fn repeats_follow_each_other_and_bytes_are_conserved() {
    let once = works::collective(4, Collective::AllReduce, Algorithm::Ring, 1 << 20, 1);
    let thrice = works::collective(4, Collective::AllReduce, Algorithm::Ring, 1 << 20, 3);
    let one = seconds(&cases::job(one_leaf(4, 1), once));
    let case = cases::job(one_leaf(4, 1), thrice);
    let log = FlowEngine::default().run(&case, 0);
    close(log.end.seconds(), 3.0 * one);
    assert_eq!(log.solves, 1, "a course is found once");
    let sent = 3.0 * 1.5 * f64::from(1 << 20);
    for cable in case.fabric.cables().filter(|&c| case.fabric.cable_class(c) == CableClass::Access) {
        close(log.link_bytes[cable.forward().index()], sent);
        close(log.link_bytes[cable.backward().index()], sent);
    }
}

/// Two segments, hashing collisions, three jobs that meet on uplinks: work for every part of the engine.
fn crowded(split: Split) -> Case {
    let fabric = Hpn { segments: Some(2), hosts: Some(6), spines: Some(3), planes: false, ..Hpn::default() };
    let jobs = vec![
        (
            works::collective(32, Collective::AllReduce, Algorithm::Ring, 40_000_000, 3),
            PlacementPolicy::Spread,
        ),
        (
            works::collective(32, Collective::AllToAll, Algorithm::Direct, 30_000_000, 2),
            PlacementPolicy::Spread,
        ),
        (
            works::collective(16, Collective::AllReduce, Algorithm::NvlsRing, 50_000_000, 2),
            PlacementPolicy::Spread,
        ),
    ];
    let mut case = cases::jobs(fabric.build().expect("small cases are well formed"), jobs);
    case.routing.split = split;
    case.routing.queue_pairs = 2;
    case
}

fn run(case: &Case, alone: bool, remember: bool) -> RunLog {
    FlowEngine { shortcuts: Shortcuts { alone, remember, ..Shortcuts::NONE } }.run(case, 3)
}

#[test]
fn shortcuts_change_nothing() {
    for split in [Split::Static, Split::Dynamic] {
        let case = crowded(split);
        let plain = run(&case, false, false);
        assert_eq!(plain.unfinished, 0);
        let none = Shortcuts::NONE;
        for shortcuts in [
            Shortcuts { alone: true, ..none },
            Shortcuts { remember: true, ..none },
            Shortcuts { touched: true, ..none },
            Shortcuts { touched: true, alone: true, ..none },
            Shortcuts { touched: true, alike: true, ..none },
            Shortcuts::ALL,
        ] {
            let short = FlowEngine { shortcuts }.run(&case, 3);
            for (a, b) in plain.times.end.iter().zip(&short.times.end) {
                assert!(a.ps().abs_diff(b.ps()) <= 5 + a.ps() / 1_000_000_000, "{a} {b}");
            }
            for (a, b) in plain.link_bytes.iter().zip(&short.link_bytes) {
                assert!((a - b).abs() <= 1e-5 * (1.0 + a), "{a} {b}");
            }
        }
    }
}

/// Courses of two all-to-alls that start together: whoever finds them, the log is the same to the last bit.
#[test]
fn courses_found_by_several_threads_are_the_same() {
    let job = || {
        (
            works::collective(64, Collective::AllToAll, Algorithm::Direct, 30_000_000, 2),
            PlacementPolicy::Packed,
        )
    };
    let fabric =
        Hpn { segments: Some(2), hosts: Some(8), spare_hosts: Some(0), spines: Some(3), ..Hpn::default() };
    let case = cases::jobs(fabric.build().unwrap(), vec![job(), job()]);
    let serial = FlowEngine { shortcuts: Shortcuts { parallel: false, ..Shortcuts::ALL } }.run(&case, 0);
    assert_eq!(serial.unfinished, 0);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(serial, pool.install(|| FlowEngine::default().run(&case, 0)), "{threads} threads");
    }
}

#[test]
fn rates_that_were_found_once_are_not_solved_for_again() {
    // Two equal jobs on one spine, five operations each: they meet in the same way five times.
    let fabric = Hpn { segments: Some(2), hosts: Some(2), spines: Some(1), planes: false, ..Hpn::default() };
    let job = || {
        (
            works::collective(16, Collective::AllReduce, Algorithm::Ring, 40_000_000, 5),
            PlacementPolicy::Spread,
        )
    };
    let case = cases::jobs(fabric.build().unwrap(), vec![job(), job()]);
    let (plain, remembered) = (run(&case, false, false), run(&case, false, true));
    assert_eq!(plain.times, remembered.times);
    assert!(2 * remembered.solves <= plain.solves, "{} of {}", remembered.solves, plain.solves);
}

#[test]
fn the_same_case_gives_the_same_log() {
    let case = crowded(Split::Static);
    assert_eq!(FlowEngine::default().run(&case, 3), FlowEngine::default().run(&case, 3));
    assert_eq!(run(&case, true, true), run(&case, true, true));
    let other = FlowEngine::default().run(&case, 4);
    assert_ne!(run(&case, true, true).link_bytes, other.link_bytes, "replicates draw anew");
}

#[test]
fn no_link_carries_more_than_its_capacity() {
    for split in [Split::Static, Split::Dynamic] {
        let case = crowded(split);
        let log = run(&case, true, true);
        let seconds = log.end.seconds();
        for (link, bytes) in log.link_bytes.iter().enumerate() {
            let most = case.fabric.capacity(LinkId(link as u32)).bytes_per_s() * seconds;
            assert!(*bytes <= most * (1.0 + 1e-9), "link {link}: {bytes} of {most}");
        }
    }
}

#[test]
fn a_dynamic_split_is_never_slower_than_a_static_one_here() {
    let (fixed, free) = (crowded(Split::Static), crowded(Split::Dynamic));
    let sum = |case: &Case| -> f64 { (0..8).map(|r| FlowEngine::default().run(case, r).end.seconds()).sum() };
    assert!(sum(&free) < sum(&fixed));
}

#[test]
fn a_cable_down_for_a_while_costs_that_while() {
    let fabric = one_leaf(2, 1);
    let make = |faults: &[(u64, CableState)], fabric: Fabric| {
        let cable = fabric.cable_named("host-0/nic-0:port-0").unwrap();
        let plan = works::collective(2, Collective::AllReduce, Algorithm::Ring, 50_000_000_000, 1);
        let mut case = cases::job(fabric, plan);
        let fault = |&(at_ms, state)| Fault { at: SimTime::from_ns(at_ms * 1_000_000), cable, state };
        case.faults = faults.iter().map(fault).collect();
        case
    };
    close(seconds(&make(&[], fabric.clone())), 1.0);
    let mended = make(&[(300, CableState::Down), (800, CableState::Up)], fabric.clone());
    // Mended after half a second; the next retransmission goes out 2^20 · 4.096 us after the loss.
    close(seconds(&mended), 1.0 + 4.294_967_296);
    let log = FlowEngine::default().run(&mended, 0);
    close(
        log.link_bytes
            [mended.fabric.access_link(mended.fabric.nic(railtwin_fabric::HostId(0), 0), 0).unwrap().index()],
        50e9,
    );
    let lost = FlowEngine::default().run(&make(&[(300, CableState::Down)], fabric), 0);
    let kinds: Vec<&str> = lost.incidents.iter().map(|incident| incident.kind.name()).collect();
    assert_eq!((lost.unfinished, kinds), (1, vec!["down", "stalled", "halted"]));
}

#[test]
fn a_dual_port_nic_goes_on_at_half_rate() {
    // The full NVLink of an H100: on an H800 the NVSwitch would hold the healthy run.
    let host = HostSpec::named("hgx-h100");
    let fabric = Hpn { host, segments: Some(1), hosts: Some(2), spare_hosts: Some(0), ..Hpn::default() };
    let fabric = fabric.build().unwrap();
    let plan = works::collective(16, Collective::AllReduce, Algorithm::NvlsRing, 8_000_000_000, 1);
    let mut case = cases::job(fabric, plan);
    let healthy = seconds(&case);
    let cable = case.fabric.cable_named("host-0/nic-0:port-0").unwrap();
    case.faults = vec![Fault { at: SimTime::ZERO, cable, state: CableState::Down }];
    let hurt = seconds(&case);
    assert!(
        (hurt / healthy - 2.0).abs() < 0.01,
        "the rail with one port left takes twice as long: {hurt} {healthy}"
    );
}
