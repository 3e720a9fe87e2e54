//! Laws of whole runs on random small fabrics and jobs: conservation, scaling, symmetry, faults.
use std::sync::Arc;

use proptest::prelude::*;
use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::lower::Lowering;
use railtwin_engine::{
    Balancer, CableState, Case, Engine, Fault, Reaction, RoutingCase, RunLog, SlotOrder, Split, WorkGraph,
};
use railtwin_fabric::preset::{Hpn, LeafSpine};
use railtwin_fabric::{CableClass, Fabric, HostModel, HostSpec, LinkId};
use railtwin_flowsim::{FlowEngine, Shortcuts};
use railtwin_routing::LinkMask;
use railtwin_testkit::fabrics::network_cables;
use railtwin_testkit::{fabrics, near};
use railtwin_units::{Rate, SimTime};
use railtwin_workload::{Algorithm, Axis, Collective, Operation, OperationId, Pattern, PlanBuilder, Work};

/// One operation: collective, algorithm, bytes, whether it waits for the one before.
type Drawn = (usize, usize, u64, bool);

/// A case as drawn.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    fabric: u8,
    jobs: Vec<(u32, Vec<Drawn>)>,
    pub(crate) seed: u64,
    queue_pairs: u32,
    dynamic: bool,
    pxn: bool,
    pub(crate) balancer: Balancer,
    steps: u32,
    /// Priorities by job, over and over.
    pub(crate) priorities: Vec<u8>,
}

pub(crate) fn draws() -> impl Strategy<Value = Draw> {
    let operation = (0usize..6, 0usize..3, 1u64..200_000_000, prop::bool::ANY);
    let job = (1u32..=3, prop::collection::vec(operation, 1..5));
    let balancer = prop::sample::select(Balancer::ALL.to_vec());
    let flags = (prop::bool::ANY, prop::bool::ANY, balancer);
    let priorities = prop_oneof![Just(vec![0]), prop::collection::vec(0u8..3, 1..4)];
    let fields =
        (0u8..4, prop::collection::vec(job, 1..4), any::<u64>(), 1u32..4, flags, 1u32..3, priorities);
    fields.prop_map(|(fabric, jobs, seed, queue_pairs, (dynamic, pxn, balancer), steps, priorities)| Draw {
        fabric,
        jobs,
        seed,
        queue_pairs,
        dynamic,
        pxn,
        balancer,
        steps,
        priorities,
    })
}

/// Hosts of four GPUs, to keep cases small.
fn host(ports: u32) -> HostSpec {
    fabrics::host(4, ports, 200)
}

fn fabric(kind: u8) -> Fabric {
    let hpn = fabrics::hpn(host(2), 2, 5, 3);
    let built = match kind {
        0 => hpn.build(),
        1 => Hpn { planes: false, ..hpn }.build(),
        2 => fabrics::dcn_plus(host(2), 3).build(),
        _ => fabrics::leaves(host(1), 4, 3, 2).build(),
    };
    built.expect("small presets build")
}

fn collective(drawn: &Drawn) -> (Collective, Algorithm) {
    let collective = Collective::ALL[drawn.0];
    let able = Algorithm::ALL.into_iter().cycle().skip(drawn.1).find(|a| a.check(collective).is_ok());
    (collective, able.expect("every collective has an algorithm"))
}

impl Draw {
    pub(crate) fn case(&self) -> Case {
        self.on(fabric(self.fabric), &PlacementPolicy::Spread)
    }

    fn on(&self, fabric: Fabric, policy: &PlacementPolicy) -> Case {
        let fabric = Arc::new(fabric);
        let mut placer = Placer::new(&fabric, self.seed);
        let (mut work, mut placements) = (WorkGraph::default(), Vec::new());
        for (row, (hosts, operations)) in self.jobs.iter().enumerate() {
            let ranks = hosts * fabric.host_models()[0].gpus;
            placements.push(placer.place(&row.to_string(), ranks, policy).expect("jobs fit"));
            let mut builder = PlanBuilder::new(ranks, vec!["all".into()]);
            let mut last: Vec<OperationId> = Vec::new();
            for drawn in operations {
                let (collective, algorithm) = collective(drawn);
                let communicators = vec![(0..ranks).collect()];
                let pattern = Pattern::new(Axis::Other, collective, Some(algorithm), communicators);
                let pattern = builder.pattern(pattern);
                let name = builder.name(collective.name());
                let work = Work::Communicate { pattern, bytes: drawn.2 };
                let after = if drawn.3 { last.clone() } else { Vec::new() };
                last = vec![builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &after)];
            }
            work.push(format!("job-{row}"), SimTime::from_ns(7 * row as u64), builder.finish(), self.steps);
            work.jobs[row].priority = self.priorities[row % self.priorities.len()];
        }
        let routing = RoutingCase {
            balancer: self.balancer,
            queue_pairs: self.queue_pairs,
            split: if self.dynamic { Split::Dynamic } else { Split::Static },
            pxn: self.pxn,
            ..RoutingCase::default()
        };
        let reaction = Reaction::INSTANT;
        Case { seed: self.seed, routing, reaction, ..Case::new(fabric, work, placements) }
    }
}

pub(crate) fn run(case: &Case) -> RunLog {
    FlowEngine::default().run(case, 1)
}

/// Bytes by link that the bundles ask for in a static table: whole volumes on their paths.
fn asked(case: &Case) -> Vec<f64> {
    let mut case = case.clone();
    case.routing.split = Split::Static;
    let table = Lowering::new(&case, 1).table(&LinkMask::none(&case.fabric), false).0;
    let mut links = vec![0.0; case.fabric.link_count()];
    for operation in 0..case.work.operations {
        let Work::Communicate { pattern, bytes } =
            case.work.operation(OperationId::from_index(operation)).work
        else {
            continue;
        };
        for bundle in table.bundles_of(pattern) {
            for (link, share) in table.links_of(bundle) {
                links[link.index()] += share * table.volume[bundle] * bytes as f64;
            }
        }
    }
    links
}

/// Bytes that NICs send and receive, summed over the ports of each: a dynamic split moves bytes among them.
fn by_nic(case: &Case, links: &[f64]) -> Vec<f64> {
    let fabric = &case.fabric;
    let mut sums = vec![0.0; 2 * fabric.device_count()];
    for cable in fabric.cables().filter(|&cable| fabric.cable_class(cable) == CableClass::Access) {
        let (up, down) = (cable.forward(), cable.backward());
        sums[2 * fabric.source(up).index()] += links[up.index()];
        sums[2 * fabric.source(up).index() + 1] += links[down.index()];
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn bytes_are_conserved_and_no_link_is_over_full(draw in draws()) {
        let case = draw.case();
        let (log, asked) = (run(&case), asked(&case));
        prop_assert_eq!(log.unfinished, 0);
        for (ours, wanted) in by_nic(&case, &log.link_bytes).iter().zip(by_nic(&case, &asked)) {
            prop_assert!(near(*ours, wanted, 1e-6, 1.0), "a NIC carries {} of {}", ours, wanted);
        }
        // What controllers decide of a job that comes later depends on who is there then.
        let late = case.work.jobs.iter().any(|job| job.start > SimTime::ZERO);
        let shifts = case.routing.is_dynamic() || late && case.routing.balancer.has_controller();
        for (link, (&bytes, &wanted)) in log.link_bytes.iter().zip(&asked).enumerate() {
            prop_assert!(shifts || near(bytes, wanted, 1e-6, 1.0), "link {link}: {bytes} of {wanted}");
            let most = case.fabric.capacity(LinkId(link as u32)).bytes_per_s() * log.end.seconds();
            prop_assert!(bytes <= most * (1.0 + 1e-8) + 1.0, "link {link}: {bytes} over {most}");
        }
        for (start, end) in log.times.start.iter().zip(&log.times.end) {
            prop_assert!(start <= end);
        }
    }

    #[test]
    fn shortcuts_threads_and_repeats_change_nothing(draw in draws()) {
        let case = draw.case();
        let log = run(&case);
        prop_assert_eq!(&log, &run(&case));
        for threads in [1, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            prop_assert_eq!(&log, &pool.install(|| run(&case)));
        }
        let plain = FlowEngine { shortcuts: Shortcuts::NONE }.run(&case, 1);
        for (a, b) in log.times.end.iter().zip(&plain.times.end) {
            prop_assert!(near(a.seconds(), b.seconds(), 1e-8, 1e-11), "{} {}", a, b);
        }
        for (a, b) in log.link_bytes.iter().zip(&plain.link_bytes) {
            prop_assert!(near(*a, *b, 1e-6, 1.0), "{} {}", a, b);
        }
    }

    #[test]
    fn k_times_the_capacity_takes_a_kth_of_the_time(draw in draws(), k in 2u64..7) {
        let make = |k: u64| {
            let scale = |rate: Rate| Rate::from_bits_per_s(rate.bits_per_s() * k);
            let (own, none) = (host(1), Some(SimTime::ZERO));
            let model = HostModel::hgx_h800();
            let host = HostSpec {
                nvlink: model.nvlink.map(scale),
                nvlink_delay: none,
                pcie: Some(scale(model.pcie)),
                pcie_delay: none,
                nic_port_capacity: own.nic_port_capacity.map(scale),
                ..own
            };
            let spec = fabrics::leaves(host, 4, 3, 2);
            let uplink_capacity = scale(spec.uplink_capacity);
            let spec = LeafSpine { uplink_capacity, delay: SimTime::ZERO, switch_latency: SimTime::ZERO, ..spec };
            let mut case = draw.on(spec.build().unwrap(), &PlacementPolicy::Spread);
            case.work.jobs.iter_mut().for_each(|job| job.start = SimTime::ZERO);
            run(&case)
        };
        let (slow, fast) = (make(1), make(k));
        for (a, b) in slow.times.end.iter().zip(&fast.times.end) {
            prop_assert!(near(a.seconds(), b.seconds() * k as f64, 1e-7, 1e-10), "{} {}", a, b);
        }
    }

    /// Under one leaf all hosts are alike, whatever their places.
    #[test]
    fn relabelling_hosts_of_a_leaf_changes_nothing(draw in draws()) {
        let leaf = || fabrics::one_leaf(host(1), 10);
        let packed = draw.on(leaf().build().unwrap(), &PlacementPolicy::Packed);
        let random = draw.on(leaf().build().unwrap(), &PlacementPolicy::Random);
        let (a, b) = (run(&packed), run(&random));
        for (a, b) in a.times.end.iter().zip(&b.times.end) {
            prop_assert!(near(a.seconds(), b.seconds(), 1e-8, 1e-11), "{} {}", a, b);
        }
    }

    #[test]
    fn steps_of_a_lone_job_take_as_many_times_one(mut draw in draws(), steps in 2u32..5) {
        draw.jobs.truncate(1);
        draw.steps = 1;
        let one = run(&draw.case()).end;
        draw.steps = steps;
        let all = run(&draw.case()).end;
        prop_assert!(near(all.seconds(), one.seconds() * f64::from(steps), 1e-8, 1e-10), "{} {}", all, one);
    }

    /// Cables that fail and come back: every operation still ends, and every byte arrives.
    #[test]
    fn mended_faults_lose_no_byte(
        draw in draws(),
        faults in prop::collection::vec((any::<prop::sample::Index>(), 0u64..5_000, 1u64..5_000), 1..4),
    ) {
        let mut case = draw.case();
        let healthy = run(&case);
        let cables = network_cables(&case.fabric);
        for (cable, at_us, for_us) in &faults {
            let cable = cables[cable.index(cables.len())];
            let at = |us: u64| SimTime::from_ns(us * 1_000);
            case.faults.push(Fault { at: at(*at_us), cable, state: CableState::Down });
            case.faults.push(Fault { at: at(at_us + for_us), cable, state: CableState::Up });
        }
        case.faults.sort();
        let log = run(&case);
        prop_assert_eq!(log.unfinished, 0);
        prop_assert_eq!(&log.pattern_bytes, &healthy.pattern_bytes);
        let sum = |log: &RunLog| by_nic(&case, &log.link_bytes).iter().sum::<f64>();
        prop_assert!(near(sum(&log), sum(&healthy), 1e-6, 10.0), "{} {}", sum(&log), sum(&healthy));
        prop_assert_eq!(&log, &run(&case));
        let plain = FlowEngine { shortcuts: Shortcuts::NONE }.run(&case, 1);
        for (a, b) in log.times.end.iter().zip(&plain.times.end) {
            prop_assert!(near(a.seconds(), b.seconds(), 1e-7, 1e-10), "{} {}", a, b);
        }
        for (link, (a, b)) in log.link_bytes.iter().zip(&plain.link_bytes).enumerate() {
            prop_assert!(near(*a, *b, 1e-5, 10.0), "link {}: {} {}", link, a, b);
        }
    }

    /// A lone collective whose cable fails for a while is never faster for it, where no other path exists.
    #[test]
    fn a_fault_without_another_path_never_helps(mut draw in draws(), cable in any::<prop::sample::Index>(), at in 0u64..4_000) {
        draw.jobs.truncate(1);
        draw.jobs[0].1.truncate(1);
        let leaf = fabrics::one_leaf(host(1), 4);
        let mut case = draw.on(leaf.build().unwrap(), &PlacementPolicy::Packed);
        let healthy = run(&case);
        let cables = network_cables(&case.fabric);
        let cable = cables[cable.index(cables.len())];
        let at = SimTime::from_ns(at * 1_000);
        case.faults.push(Fault { at, cable, state: CableState::Down });
        let lost = run(&case);
        case.faults.push(Fault { at: at + SimTime::from_ns(500_000), cable, state: CableState::Up });
        let mended = run(&case);
        prop_assert_eq!(mended.unfinished, 0);
        // The moment of the fault is rounded to a picosecond, and so is the end.
        let early = healthy.end.since(mended.end.min(healthy.end));
        prop_assert!(early.seconds() <= 2e-12 + healthy.end.seconds() * 1e-9, "{} {}", healthy.end, mended.end);
        // Unfinished only where the lost cable still had bytes to carry.
        let table = Lowering::new(&case, 1).table(&LinkMask::none(&case.fabric), false).0;
        let used = table.links.iter().any(|link| link.cable() == cable);
        prop_assert!(used || lost.unfinished == 0);
        prop_assert!(lost.unfinished == 0 || at < healthy.end);
    }
}

/// A fault at the very moment of an end voids the end's event: the operation must end all the same.
#[test]
fn a_fault_at_the_moment_of_the_end_loses_nothing() {
    for (dynamic, alone, jobs) in [false, true].into_iter().flat_map(|dynamic| {
        [false, true].into_iter().flat_map(move |alone| (1..3).map(move |jobs| (dynamic, alone, jobs)))
    }) {
        let jobs = vec![(2, vec![(0, 0, 100_000_000, false)]); jobs];
        let draw = Draw {
            priorities: vec![0],
            fabric: 3,
            jobs,
            seed: 5,
            queue_pairs: 1,
            dynamic,
            pxn: true,
            balancer: Balancer::Ecmp,
            steps: 1,
        };
        let mut case = draw.case();
        let engine = FlowEngine { shortcuts: Shortcuts { alone, ..Shortcuts::ALL } };
        let table = Lowering::new(&case, 1).table(&LinkMask::none(&case.fabric), false).0;
        // A cable that is said to come back but never was away: nothing else changes.
        let cable = network_cables(&case.fabric)[0];
        let healthy = engine.run(&case, 1);
        for (end, latency) in healthy.times.end.iter().zip(&table.latency) {
            for early_ps in [0, 1] {
                let at = SimTime::from_ps(end.ps() - latency.ps() - early_ps);
                case.faults = vec![Fault { at, cable, state: CableState::Up }];
                let log = engine.run(&case, 1);
                assert_eq!(
                    log.unfinished, 0,
                    "dynamic {dynamic}, alone {alone}, {early_ps} ps before the end"
                );
                assert!(log.end.ps().abs_diff(healthy.end.ps()) <= 10);
            }
        }
    }
}

/// Courses before and after a fault, with no new routes between: each puts its own bytes on links.
#[test]
fn a_fault_changes_the_course_of_later_operations() {
    let operations = vec![(0, 0, 40_000_000, false)];
    let jobs = vec![(2, operations)];
    let draw = Draw {
        priorities: vec![0],
        fabric: 0,
        jobs,
        seed: 5,
        queue_pairs: 1,
        dynamic: true,
        pxn: true,
        balancer: Balancer::Ecmp,
        steps: 5,
    };
    let mut case = draw.case();
    // The others carry on without the queue pair that stands still.
    case.routing.slot_order = SlotOrder::Any;
    let table = Lowering::new(&case, 1).table(&LinkMask::none(&case.fabric), false).0;
    let access = |link: &&LinkId| case.fabric.cable_class(link.cable()) == CableClass::Access;
    let cable = table.links.iter().find(access).expect("the job crosses the network").cable();
    let second = run(&case).times.end[1];
    let at = SimTime::from_ps(second.ps() / 4 * 3);
    case.faults = vec![Fault { at, cable, state: CableState::Down }];
    let never = SimTime::from_ns(1_000_000_000_000);
    case.reaction = Reaction { detection: never.into(), ..Reaction::INSTANT };
    let log = run(&case);
    let plain = FlowEngine { shortcuts: Shortcuts::NONE }.run(&case, 1);
    assert_eq!((log.unfinished, plain.unfinished), (0, 0));
    for (link, (a, b)) in log.link_bytes.iter().zip(&plain.link_bytes).enumerate() {
        assert!(near(*a, *b, 1e-6, 1.0), "link {link}: {a} {b}");
    }
}

/// What is issued together on one communicator runs in the order of the plan.
#[test]
fn a_communicator_runs_in_the_order_of_the_plan() {
    let jobs = vec![(2, vec![(0, 0, 40_000_000, false)])];
    let draw = Draw {
        priorities: vec![0],
        fabric: 3,
        jobs,
        seed: 5,
        queue_pairs: 1,
        dynamic: false,
        pxn: true,
        balancer: Balancer::Ecmp,
        steps: 1,
    };
    let mut case = draw.case();
    let mut plan = case.work.jobs[0].plan.clone();
    let operation = plan.operations[0];
    plan.operations = vec![operation; 3];
    plan.dependency_start = vec![0; 4];
    case.work = WorkGraph::default();
    case.work.push("job".into(), SimTime::ZERO, plan, 1);
    let log = run(&case);
    assert_eq!(log.unfinished, 0);
    assert!(log.times.end.is_sorted() && log.times.start.is_sorted(), "{:?}", log.times);
}
