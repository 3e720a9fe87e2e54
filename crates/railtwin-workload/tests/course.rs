//! Courses, run by an executor that knows nothing but legs and waits: they end, take the time that the algorithm
//! promises, and let nothing leave before what it carries is there.
use proptest::prelude::*;
use railtwin_workload::chain_tree::chain_tree;
use railtwin_workload::course::{Course, Half, Leg, course};
use railtwin_workload::direct::{direct, pairs};
use railtwin_workload::nvls::nvls_ring;
use railtwin_workload::nvls_tree::nvls_tree;
use railtwin_workload::pat::pat;
use railtwin_workload::ring::ring;
use railtwin_workload::shape::by_host;
use railtwin_workload::{Bundle, Collective, Edge, HostLayout, Member, Shape, Wait};

const STAGED: [Collective; 4] =
    [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter, Collective::Broadcast];

/// Ranks over hosts with so many GPUs each; `sharing` GPUs have one NIC.
fn members(gpus: &[u32], sharing: u32) -> Vec<Member> {
    let places = (0u32..).zip(gpus).flat_map(|(host, &gpus)| (0..gpus).map(move |gpu| (host, gpu)));
    let member = |(rank, (host, gpu))| Member { rank, host, gpu, nic: gpu / sharing };
    (0..).zip(places).map(member).collect()
}

fn layout(sharing: u32, (nvlink, pxn): (bool, bool)) -> HostLayout {
    HostLayout::new((0..8 / sharing).map(|nic| nic * sharing).collect(), nvlink, pxn)
}

fn all_shapes(members: &[Member], layout: &HostLayout) -> Vec<Shape> {
    let mut shapes = vec![
        chain_tree(members, layout),
        nvls_ring(members, layout),
        nvls_tree(members, layout),
        direct(Collective::AllToAll, members, layout),
        pairs(members, layout),
    ];
    shapes.extend([Collective::AllGather, Collective::ReduceScatter].map(|kind| pat(kind, members, layout)));
    shapes.extend(STAGED.map(|collective| ring(collective, members, layout)));
    shapes
}

/// Row of the stage that a wait is for, if stage `s` waits at all.
fn awaited(course: &Course, wait: Wait, s: u32) -> Option<u32> {
    let stage = u32::try_from(i64::from(s) - i64::from(wait.lag)).ok()?;
    Some(stage.min(course.legs[wait.leg as usize].stages - 1))
}

/// Every stage of every leg after all that it waits for and after the stage before it.
///
/// # Panics
/// Where what is left waits for each other.
fn in_order(course: &Course, mut visit: impl FnMut(usize, u32)) {
    let mut done = vec![0; course.legs.len()];
    let all: u32 = course.legs.iter().map(|leg| leg.stages).sum();
    let mut left = all;
    while left > 0 {
        let before = left;
        for (row, leg) in course.legs.iter().enumerate() {
            while done[row] < leg.stages {
                let is_there = |wait: &Wait| {
                    awaited(course, *wait, done[row]).is_none_or(|stage| stage < done[wait.leg as usize])
                };
                if !course.waits_of(row).iter().all(is_there) {
                    break;
                }
                visit(row, done[row]);
                done[row] += 1;
                left -= 1;
            }
        }
        assert!(left < before, "{left} of {all} stages wait for each other");
    }
}

/// When the last stage has arrived, where each takes its leg for `time` and a leg carries one at a time.
fn finish(course: &Course, time: impl Fn(&Leg) -> u32) -> u32 {
    let mut arrived: Vec<Vec<u32>> = vec![Vec::new(); course.legs.len()];
    in_order(course, |row, s| {
        let waits = course.waits_of(row).iter();
        let awaited = waits.filter_map(|&w| Some(arrived[w.leg as usize][awaited(course, w, s)? as usize]));
        let start = awaited.chain(arrived[row].last().copied()).max().unwrap_or(0);
        arrived[row].push(start + time(&course.legs[row]));
    });
    arrived.iter().flatten().copied().max().unwrap_or(0)
}

/// The contributions that each stage of each leg carries: its own, and of what it waits for all about the same chunk.
///
/// # Panics
/// Where one is summed twice.
fn carried(
    course: &Course,
    chunk: impl Fn(usize, u32) -> u32,
    own: impl Fn(usize, u32) -> u64,
) -> Vec<Vec<u64>> {
    let mut sets: Vec<Vec<u64>> = vec![Vec::new(); course.legs.len()];
    in_order(course, |row, s| {
        let mut set = own(row, s);
        for &wait in course.waits_of(row) {
            let Some(stage) = awaited(course, wait, s) else { continue };
            if chunk(wait.leg as usize, stage) == chunk(row, s) {
                let more = sets[wait.leg as usize][stage as usize];
                assert_eq!(set & more, 0, "leg {row}, stage {s} sums a contribution twice");
                set |= more;
            }
        }
        sets[row].push(set);
    });
    sets
}

fn ends(edge: &Edge) -> (u32, u32) {
    match *edge {
        Edge::Inside { host, .. } | Edge::InSwitch { host, .. } => (host, host),
        Edge::Network { source_host, target_host, .. } => (source_host, target_host),
    }
}

/// What holds for every course, whatever it carries.
fn check(shape: &Shape, bundle: &Bundle) -> Course {
    let edges = shape.edges_of(bundle);
    let course = course(shape, bundle);
    let mut halves = course.legs.iter();
    for (row, edge) in edges.iter().enumerate() {
        let expected: &[Half] = match edge {
            Edge::InSwitch { .. } => &[Half::Up, Half::Down],
            _ => &[Half::Whole],
        };
        for &half in expected {
            let leg = halves.next().expect("a leg for each half of each edge");
            assert_eq!((leg.edge as usize, leg.half), (row, half));
            assert!(leg.stages > 0);
        }
    }
    assert_eq!(halves.next(), None);
    assert_eq!(course.wait_start.len(), course.legs.len() + 1);
    assert_eq!(course.wait_start.last().copied(), Some(course.waits.len() as u32));
    for (row, leg) in course.legs.iter().enumerate() {
        for wait in course.waits_of(row) {
            let awaited = &edges[course.legs[wait.leg as usize].edge as usize];
            assert_eq!(ends(awaited).1, ends(&edges[leg.edge as usize]).0, "{wait:?} of leg {row}");
        }
    }
    in_order(&course, |_, _| ());
    course
}

fn every_layout() -> impl Iterator<Item = (u32, (bool, bool))> {
    let hows = [(true, true), (true, false), (false, true), (false, false)];
    [1, 2].into_iter().flat_map(move |sharing| hows.map(|how| (sharing, how)))
}

fn every_size() -> impl Iterator<Item = Vec<u32>> {
    (1..7).flat_map(|hosts| (1..9).map(move |gpus| vec![gpus; hosts]))
}

#[test]
fn every_course_ends() {
    for gpus in every_size() {
        for (sharing, how) in every_layout() {
            for shape in all_shapes(&members(&gpus, sharing), &layout(sharing, how)) {
                for bundle in &shape.bundles {
                    check(&shape, bundle);
                }
            }
        }
    }
}

/// Whether an edge of a ring carries on what has just come over the edge before, told from the members.
fn is_relay(edge: &Edge, local: &[usize]) -> bool {
    let (source, target) = ends(edge);
    source != target && local[source as usize] > 1
}

/// A ring's course over members on hosts 0, 1, …
fn check_ring(collective: Collective, members: &[Member], layout: &HostLayout) {
    let n = members.len() as u32;
    let local: Vec<usize> = by_host(members).iter().map(Vec::len).collect();
    let steps = if collective == Collective::AllReduce { 2 * (n - 1) } else { n - 1 };
    let shape = ring(collective, members, layout);
    for bundle in &shape.bundles {
        let course = check(&shape, bundle);
        let edges = shape.edges_of(bundle);
        let relays: Vec<bool> = edges.iter().map(|edge| is_relay(edge, &local)).collect();
        let hops = relays.iter().filter(|&&relay| !relay).count() as u32;
        assert_eq!((bundle.ring_hops, hops), (n, n));
        let time = |leg: &Leg| u32::from(!relays[leg.edge as usize]);
        assert_eq!(finish(&course, time), steps, "{collective:?} of {n}");
        let free =
            (0..edges.len()).filter(|&row| course.waits_of(row).iter().all(|wait| wait.lag > 0)).count();
        assert_eq!(free as u32, n, "the first stage of every hop is free");

        // Rank of each edge along the ring: a relay belongs to the hop before it.
        let mut next = 0;
        let rank: Vec<u32> = relays
            .iter()
            .map(|&relay| {
                next += u32::from(!relay);
                next - 1
            })
            .collect();
        let chunk = |row: usize, s: u32| (rank[row] + 2 * n - s) % n;
        // Reduce-scatter adds a contribution at each rank, and the last makes the sum; all-gather starts with it.
        let adds = |s: u32| match collective {
            Collective::AllReduce | Collective::ReduceScatter => s < n,
            _ => s == 0,
        };
        let own = |row: usize, s: u32| if !relays[row] && adds(s) { 1 << rank[row] } else { 0 };
        let sets = carried(&course, chunk, own);
        let all = (1_u64 << n) - 1;
        for (row, stages) in sets.iter().enumerate() {
            // Only the last edge of a hop brings something to the next rank.
            if rank.get(row + 1) == Some(&rank[row]) {
                continue;
            }
            let receiver = (rank[row] + 1) % n;
            for (s, &set) in (0..).zip(stages) {
                match collective {
                    // The last stage of the reduction lacks the receiver's own contribution only.
                    Collective::AllReduce | Collective::ReduceScatter if s == n - 2 => {
                        assert_eq!(set, all & !(1 << receiver));
                    }
                    Collective::AllReduce if s > n - 2 => assert_eq!(set, all),
                    Collective::AllGather => assert_eq!(set, 1 << chunk(row, s), "the chunk's owner"),
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn a_ring_takes_a_hop_time_for_each_stage_and_sums_everything_once() {
    for gpus in every_size().filter(|gpus| gpus.iter().sum::<u32>() > 1) {
        for (sharing, how) in every_layout() {
            for collective in STAGED {
                check_ring(collective, &members(&gpus, sharing), &layout(sharing, how));
            }
        }
    }
}

/// Host and GPU where an edge begins and where it ends, for hosts that have a NIC for each GPU.
fn gpus(edge: &Edge) -> [(u32, u32); 2] {
    match *edge {
        Edge::Inside { host, source_gpu, target_gpu, .. } => [(host, source_gpu), (host, target_gpu)],
        Edge::InSwitch { host, gpu, .. } => [(host, gpu); 2],
        Edge::Network { source_host, source_nic, target_host, target_nic, .. } => {
            [(source_host, source_nic), (target_host, target_nic)]
        }
    }
}

/// Checks that the legs of a tree bring every rank the sum of all, and tells how long that takes with one unit for
/// each leg.
fn check_tree(shape: &Shape, bundle: &Bundle, members: &[Member]) -> u32 {
    let course = check(shape, bundle);
    let edges = shape.edges_of(bundle);
    let edge = |row: usize| &edges[course.legs[row].edge as usize];
    let whole: Vec<usize> =
        (0..course.legs.len()).filter(|&row| course.legs[row].half == Half::Whole).collect();
    let in_switch = whole.len() < course.legs.len();
    // Of a pair the first edge goes towards the root, the second back.
    let back: Vec<usize> = whole.iter().copied().skip(1).step_by(2).collect();
    let brings = |row: &usize| course.legs[*row].half == Half::Down || back.contains(row);
    // No edge brings the root its result.
    let is_root = |gpu| !back.iter().any(|&row| gpus(edge(row))[1] == gpu);
    let bit = |gpu| members.iter().find(|m| (m.host, m.gpu) == gpu).map_or(0, |m| 1_u64 << m.rank);
    let own = |row: usize, _| {
        let source = gpus(edge(row))[0];
        let adds = match course.legs[row].half {
            Half::Up => true,
            Half::Down => false,
            Half::Whole => !in_switch && (!back.contains(&row) || is_root(source)),
        };
        if adds { bit(source) } else { 0 }
    };
    let sets = carried(&course, |_, _| 0, own);
    let all = (1_u64 << members.len()) - 1;
    for row in (0..course.legs.len()).filter(brings) {
        assert_eq!(sets[row], [all], "leg {row} brings less than the sum");
    }
    let mut reached: Vec<(u32, u32)> = (0..course.legs.len())
        .filter(|&row| brings(&row) && (course.legs[row].half == Half::Down) == in_switch)
        .map(|row| gpus(edge(row))[1])
        .collect();
    if !in_switch {
        reached.extend(members.iter().map(|m| (m.host, m.gpu)).filter(|&gpu| is_root(gpu)));
    }
    reached.sort_unstable();
    assert_eq!(reached, members.iter().map(|m| (m.host, m.gpu)).collect::<Vec<_>>(), "each rank once");
    finish(&course, |_| 1)
}

#[test]
fn trees_are_as_deep_as_they_say_and_sum_everything_once() {
    for gpus in every_size().filter(|gpus| gpus.iter().sum::<u32>() > 1) {
        for how in [(true, true), (false, false)] {
            let (members, layout) = (members(&gpus, 1), layout(1, how));
            let shape = chain_tree(&members, &layout);
            for bundle in &shape.bundles {
                assert_eq!(check_tree(&shape, bundle, &members), bundle.stages, "{gpus:?}");
            }
        }
        if gpus[0] > 1 {
            let (members, layout) = (members(&gpus, 1), layout(1, (true, true)));
            let shape = nvls_tree(&members, &layout);
            for bundle in &shape.bundles {
                assert_eq!(check_tree(&shape, bundle, &members), bundle.stages, "{gpus:?}");
            }
        }
    }
}

/// What a rank sends in a step has been through as many steps before as the set bits of a number below n allow, and a
/// reduction ends with the contributions of all.
#[test]
fn aggregated_trees_end_after_their_steps_with_everything() {
    for n in 2..40_u32 {
        let (members, layout) = (members(&vec![1; n as usize], 1), layout(1, (true, true)));
        let all = (1_u64 << n) - 1;
        for collective in [Collective::AllGather, Collective::ReduceScatter] {
            let shape = pat(collective, &members, &layout);
            let bundle = &shape.bundles[0];
            let course = check(&shape, bundle);
            assert_eq!(finish(&course, |_| 1), bundle.stages, "{collective} of {n}");
            // Whose data may have come to each rank when all steps are over.
            let edges = shape.edges_of(bundle);
            let mut sent: Vec<u64> = vec![0; edges.len()];
            let mut held: Vec<u64> = (0..n).map(|rank| 1 << rank).collect();
            in_order(&course, |row, _| {
                let (source, target) = ends(&edges[row]);
                let waits = course.waits_of(row).iter().map(|wait| sent[wait.leg as usize]);
                sent[row] = waits.fold(1 << source, |set, more| set | more);
                held[target as usize] |= sent[row];
            });
            assert!(held.iter().all(|&set| set == all), "{collective} of {n}");
        }
    }
}

#[test]
fn reduction_in_the_switch_sums_every_chunk_once() {
    for gpus in every_size().filter(|gpus| gpus[0] > 1) {
        let members = members(&gpus, 1);
        let (h, g) = (gpus.len() as u32, gpus[0]);
        let shape = nvls_ring(&members, &layout(1, (true, true)));
        assert_eq!(shape.bundles.len(), if h == 1 { 1 } else { g as usize });
        for bundle in &shape.bundles {
            let course = check(&shape, bundle);
            assert_eq!(finish(&course, |_| 1), bundle.stages, "{h} hosts");
            let ring_only = |leg: &Leg| u32::from(leg.half == Half::Whole);
            assert_eq!(finish(&course, ring_only), 2 * (h - 1), "{h} hosts");
            let edges = shape.edges_of(bundle);
            let host = |row: usize| ends(&edges[course.legs[row].edge as usize]).0;
            let chunk = |row: usize, s: u32| match course.legs[row].half {
                Half::Down => (host(row) + 1 + h - s) % h,
                _ => (host(row) + 2 * h - s) % h,
            };
            let own = |row: usize, _| match (course.legs[row].half, &edges[course.legs[row].edge as usize]) {
                (Half::Up, &Edge::InSwitch { host, gpu, .. }) => 1 << (host * g + gpu),
                _ => 0,
            };
            let all = (1_u64 << (h * g)) - 1;
            let sets = carried(&course, chunk, own);
            let mut down = 0;
            for (row, leg) in course.legs.iter().enumerate() {
                // Each carries the bytes of one chunk of the rail in a stage.
                let expected = if h > 1 && leg.half == Half::Whole { 2 * (h - 1) } else { h };
                assert_eq!(leg.stages, expected);
                if leg.half == Half::Down {
                    assert!(sets[row].iter().all(|&set| set == all), "leg {row}: {:x?}", sets[row]);
                    down += 1;
                }
            }
            assert_eq!(down, h * g);
        }
    }
}

#[test]
fn messages_wait_for_their_relays_only() {
    for gpus in every_size() {
        for (sharing, how) in every_layout() {
            let (members, layout) = (members(&gpus, sharing), layout(sharing, how));
            for shape in [direct(Collective::AllToAll, &members, &layout), pairs(&members, &layout)] {
                for bundle in &shape.bundles {
                    let course = check(&shape, bundle);
                    let edges = shape.edges_of(bundle);
                    for (row, edge) in edges.iter().enumerate() {
                        let waits = course.waits_of(row);
                        assert_eq!(course.legs[row].stages, 1);
                        assert!(waits.iter().all(|wait| wait.lag == 0));
                        let Edge::Network { source_host, target_host, source_nic, .. } = *edge else {
                            assert_eq!(waits, []);
                            continue;
                        };
                        let relay = layout.gpu_of_nic[source_nic as usize];
                        let relays = |edge: &Edge| {
                            matches!(*edge, Edge::Inside { host, target_gpu, .. }
                                if host == source_host && target_gpu == relay && source_host != target_host)
                        };
                        let expected: Vec<u32> =
                            (0..).zip(edges).filter(|(_, edge)| relays(edge)).map(|(row, _)| row).collect();
                        assert_eq!(waits.iter().map(|wait| wait.leg).collect::<Vec<_>>(), expected);
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn hosts_of_different_sizes_end_too(
        gpus in proptest::collection::vec(1u32..9, 1..7),
        sharing in 1u32..3,
        how: (bool, bool),
    ) {
        let (members, layout) = (members(&gpus, sharing), layout(sharing, how));
        for shape in all_shapes(&members, &layout) {
            for bundle in &shape.bundles {
                check(&shape, bundle);
            }
        }
        if members.len() > 1 {
            check_ring(Collective::AllReduce, &members, &layout);
            let shape = chain_tree(&members, &layout);
            for bundle in &shape.bundles {
                let course = course(&shape, bundle);
                prop_assert!(finish(&course, |_| 1) <= bundle.stages);
                if sharing == 1 {
                    check_tree(&shape, bundle, &members);
                }
            }
        }
    }
}
