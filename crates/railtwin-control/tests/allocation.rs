//! Paths by replay: every source port takes the path that it was given for, on every fabric and hash.

use crate::fabrics;
use fabrics::*;
use proptest::prelude::*;
use railtwin_control::paths::{Assignment, Demand, JobId, LinkState, PathAllocator, Reason};
use railtwin_fabric::LinkId;
use railtwin_fabric::preset::{DcnPlus, LeafSpine};
use railtwin_routing::{LinkMask, NicPort, Routing, Seeds};
use railtwin_testkit::draws::any_ecmp;
use railtwin_testkit::fabrics::{self as testkit, network_cables};
use railtwin_units::Rate;

/// Most used link and sum of uses, before the assignment was made.
fn burden(uses: &[u64], between: &[LinkId]) -> (u64, u64) {
    let uses = || between.iter().map(|link| uses[link.index()]);
    (uses().max().unwrap_or(0), uses().sum())
}

/// Least burden of all paths that land on `landing`.
fn least(
    routing: &Routing<'_>,
    uses: &[u64],
    given: &Assignment,
    landing: Option<u32>,
) -> Option<(u64, u64)> {
    let paths = routing.paths(given.source, given.target).ok()?;
    let lands = |path: &Vec<LinkId>| {
        let last = path[path.len() - 1].reverse();
        let accesses = routing.forwarding.accesses(given.target).iter();
        landing.is_none_or(|port| accesses.clone().any(|access| access.link == last && access.port == port))
    };
    paths.filter(lands).map(|path| burden(uses, &path[1..path.len() - 1])).min()
}

/// The source port that the rule of the model page names, found by following every port: of the least burden among
/// the first 257, if that has the least most-used link of all paths; else the first with that link; else the least
/// burden that any port reaches. Paths are those that land on the source's own port.
fn by_the_rule(routing: &Routing<'_>, uses: &[u64], given: &Assignment) -> Option<u16> {
    let own = given.source.port;
    let (most, _) = least(routing, uses, given, Some(own))?;
    let follow = |port: u16| {
        let mut path = Vec::new();
        let key = key_of(given).with_source_port(port);
        let landed = routing.route(given.source, given.target, &key, &mut path).ok()?;
        (landed.port_index == own).then(|| (burden(uses, &path[1..path.len() - 1]), port))
    };
    let first = (0xC000..=0xC100).filter_map(follow).filter(|(burden, _)| burden.0 == most).min();
    let later = || (0xC101..=0xFFFF).filter_map(follow).find(|(burden, _)| burden.0 == most);
    let any = || (0xC000..=0xFFFF).filter_map(follow).min();
    first.or_else(later).or_else(any).map(|(_, port)| port)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn source_ports_are_those_of_the_rule(
        fabric in any_fabric(), ecmp in any_ecmp(), share in 0.0..0.2, seed: u64, drawn in any_demands(16),
        dying: prop::sample::Index,
    ) {
        // Cores that send by port of arrival have fewer paths than there are.
        let ecmp = railtwin_routing::EcmpConfig { core_per_port: false, ..ecmp };
        let mut allocator = PathAllocator::new(&fabric, ecmp, &masked(&fabric, share, seed));
        let mut uses = vec![0u64; fabric.link_count()];
        // What a death and a repair leave behind is no reason for other answers.
        for round in 0..2 {
            for given in allocator.allocate(JobId(round), &demands(&fabric, &drawn)) {
                let routing = Routing::new(&fabric, allocator.forwarding(), &ecmp);
                if matches!(given.reason, Reason::LeastUsed | Reason::NoPortReaches) {
                    prop_assert_eq!(Some(given.source_port), by_the_rule(&routing, &uses, &given), "{:?}", given);
                }
                given.path.links().iter().for_each(|link| uses[link.index()] += u64::from(given.weight));
            }
            let cable = *dying.get(&network_cables(&fabric));
            allocator.replan_cable(cable, LinkState::Down);
            allocator.replan_cable(cable, LinkState::Up);
            uses.fill(0);
            for (_, given) in all(&allocator) {
                given.path.links().iter().for_each(|link| uses[link.index()] += u64::from(given.weight));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Where all groups are powers of two and many queue pairs differ in nothing, a search goes on where the last one
    /// ended.
    #[test]
    fn many_queue_pairs_of_one_connection_go_by_the_rule(
        (spines, parallel, segments) in (0u32..=1, 0u32..=2, 0u32..=1), seed: u32, per_switch in prop::bool::weighted(0.2),
        drawn in any_demands(4), weights in prop::collection::vec(0u16..3, 3), count in 4u32..20,
    ) {
        let (spines, parallel, segments) = (1 << spines, 1 << parallel, 1 << segments);
        let (host, cores) = (railtwin_testkit::draws::host(2), spines * segments * parallel);
        let spec = DcnPlus { host, pods: 2, segments, hosts: 2, spines, parallel, cores, ..DcnPlus::default() };
        let fabric = spec.build().expect("a small fabric");
        let mut ecmp = crc32(if per_switch { Seeds::PerSwitch } else { Seeds::PerTier });
        ecmp.spec = ecmp.spec.with_seed(seed);
        let numbers: Vec<u32> = (2..2 + count).collect();
        let mut allocator = PathAllocator::new(&fabric, ecmp, &LinkMask::none(&fabric));
        let mut uses = vec![0u64; fabric.link_count()];
        for (one, weight) in demands(&fabric, &drawn).into_iter().zip(weights) {
            for given in allocator.allocate(JobId(0), &[Demand { queue_pairs: &numbers, weight, ..one }]) {
                let routing = Routing::new(&fabric, allocator.forwarding(), &ecmp);
                if matches!(given.reason, Reason::LeastUsed | Reason::NoPortReaches) {
                    prop_assert_eq!(Some(given.source_port), by_the_rule(&routing, &uses, &given), "{:?}", given);
                }
                given.path.links().iter().for_each(|link| uses[link.index()] += u64::from(given.weight));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn paths_are_the_least_used_and_their_ports_take_them(
        fabric in any_fabric(), ecmp in any_ecmp(), share in 0.0..0.3, seed: u64, drawn in any_demands(12),
    ) {
        let mask = masked(&fabric, share, seed);
        let mut allocator = PathAllocator::new(&fabric, ecmp, &mask);
        let demands = demands(&fabric, &drawn);
        let mut uses = vec![0u64; fabric.link_count()];
        for given in allocator.allocate(JobId(3), &demands) {
            let routing = Routing::new(&fabric, allocator.forwarding(), &ecmp);
            // Per-port cores narrow the paths that hashes could choose.
            let own = least(&routing, &uses, &given, Some(given.source.port));
            let found = burden(&uses, given.path.beyond_access());
            match given.reason {
                Reason::LeastUsed if ecmp.core_per_port => {
                    prop_assert!(own.is_some_and(|own| found >= own));
                }
                Reason::LeastUsed => prop_assert_eq!(Some(found.0), own.map(|own| own.0)),
                Reason::NoPortReaches => prop_assert!(own.is_some_and(|own| found >= own)),
                Reason::OtherPort if !ecmp.core_per_port => {
                    prop_assert!(given.landed != Some(given.source.port));
                }
                Reason::OtherPort => prop_assert!(given.landed != Some(given.source.port)),
                Reason::Stranded => prop_assert!(given.path.links().is_empty()),
                Reason::OverFaulty => prop_assert!(false, "nothing is faulty"),
            }
            for link in given.path.links() {
                uses[link.index()] += u64::from(given.weight);
            }
        }
        assert_sound(&fabric, &ecmp, &allocator);
        allocator.release(JobId(3));
        assert_sound(&fabric, &ecmp, &allocator);
        prop_assert!(allocator.jobs().next().is_none());
    }

    #[test]
    fn what_has_gone_leaves_no_trace(
        fabric in any_fabric(), ecmp in any_ecmp(), first in any_demands(8), second in any_demands(8),
    ) {
        let mask = LinkMask::none(&fabric);
        let mut fresh = PathAllocator::new(&fabric, ecmp, &mask);
        let mut used = fresh.clone();
        used.allocate(JobId(9), &demands(&fabric, &first));
        used.allocate(JobId(1), &demands(&fabric, &second));
        prop_assert!(used.release(JobId(9)) > 0);
        used.release(JobId(1));
        let wanted = demands(&fabric, &second);
        prop_assert_eq!(fresh.allocate(JobId(1), &wanted), used.allocate(JobId(2), &wanted));
    }

    #[test]
    fn a_dead_link_moves_only_what_crossed_it(
        fabric in any_fabric(), ecmp in any_ecmp(), drawn in any_demands(16),
        dying in prop::collection::vec((any::<prop::sample::Index>(), 0u8..3), 1..4),
    ) {
        let mut allocator = PathAllocator::new(&fabric, ecmp, &LinkMask::none(&fabric));
        allocator.allocate(JobId(0), &demands(&fabric, &drawn));
        let cables = network_cables(&fabric);
        for (cable, state) in dying {
            let cable = *cable.get(&cables);
            let state = [LinkState::Up, LinkState::Down, LinkState::Faulty][usize::from(state)];
            let before = all(&allocator);
            let replan = allocator.replan_cable(cable, state);
            assert_sound(&fabric, &ecmp, &allocator);
            let mut after = before.clone();
            for one in replan.moved.iter().chain(&replan.ported).chain(&replan.stranded) {
                prop_assert_eq!(after[one.index].1, one.before);
                after[one.index].1 = one.after;
            }
            // A reason may change where path and port stay.
            let ways = |all: &[(JobId, Assignment)]| -> Vec<_> {
                all.iter().map(|(_, given)| (given.path, given.source_port, given.landed)).collect()
            };
            prop_assert_eq!(ways(&after), ways(&all(&allocator)), "every change is told");
            for one in &replan.ported {
                prop_assert_eq!(one.before.path, one.after.path);
            }
            for one in &replan.moved {
                let crossed = one.before.path.links().iter().any(|link| link.cable() == cable);
                let routing = Routing::new(&fabric, allocator.forwarding(), &ecmp);
                // What else may move was stranded, or no port leads along its path any more.
                let reachable = routing.paths_by_source_port(one.before.source, one.before.target, &key_of(&one.before));
                let lost = !reachable.unwrap().iter().any(|path| path.links == one.before.path.links());
                prop_assert!(crossed || lost, "{one:?}");
                prop_assert!(state != LinkState::Up || lost || one.before.landed.is_none());
            }
            for (_, given) in all(&allocator) {
                let crosses = given.path.links().iter().any(|link| link.cable() == cable);
                prop_assert!(!crosses || state == LinkState::Up || given.reason == Reason::OverFaulty);
            }
        }
    }
}

/// Leaves with more uplinks than a column of ports has members, and groups of more than 64 at every tier: a queue pair
/// takes an unused way as long as there is one.
#[test]
fn queue_pairs_over_hundreds_of_uplinks_go_by_the_rule() {
    for (uplinks, parallel, count, step) in
        [(512, 1, 508, 16), (256, 1, 300, 32), (2, 64, 140, 32), (1, 96, 100, 32)]
    {
        let host = testkit::plain_host(2, 200);
        let capacity = Rate::from_gbps(25);
        let base = testkit::leaves(host, 6, 1, uplinks);
        let spec = LeafSpine { uplink_capacity: capacity, parallel, ..base };
        let fabric = spec.build().expect("a large leaf-spine");
        let ecmp = crc32(Seeds::PerTier);
        let mut allocator = PathAllocator::new(&fabric, ecmp, &LinkMask::none(&fabric));
        let mut uses = vec![0u64; fabric.link_count()];
        let nic = |host: u32| fabric.nic(railtwin_fabric::HostId(host), 0);
        let numbers: Vec<u32> = (2..2 + count).collect();
        for (target, share) in [(1, 1), (2, 4)] {
            let source = NicPort { nic: nic(0), port: 0 };
            let queue_pairs = &numbers[..numbers.len() / share];
            let demand = Demand { source, target: nic(target), queue_pairs, weight: 1 };
            for (at, given) in allocator.allocate(JobId(0), &[demand]).into_iter().enumerate() {
                if at % step == 0 || at + 1 == queue_pairs.len() {
                    let routing = Routing::new(&fabric, allocator.forwarding(), &ecmp);
                    let rule = by_the_rule(&routing, &uses, &given);
                    assert_eq!(Some(given.source_port), rule, "{uplinks} {parallel} {at}: {given:?}");
                }
                given.path.links().iter().for_each(|link| uses[link.index()] += u64::from(given.weight));
            }
        }
        assert_sound(&fabric, &ecmp, &allocator);
    }
}

/// C4 section III-B: left ports to left ports, and a leaf's servers over all spines alike.
#[test]
fn left_ports_stay_left_and_spines_carry_alike() {
    for seeds in [Seeds::Shared, Seeds::PerTier, Seeds::PerSwitch] {
        for planes in [true, false] {
            let fabric = hpn(1, 3, 16, 8, planes);
            let ecmp = crc32(seeds);
            let mut allocator = PathAllocator::new(&fabric, ecmp, &LinkMask::none(&fabric));
            let hosts = fabric.hosts().len() as u32;
            for host in 0..hosts {
                for (rail, port) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let source = NicPort { nic: fabric.nic(railtwin_fabric::HostId(host), rail), port };
                    let target = fabric.nic(railtwin_fabric::HostId((host + 16) % hosts), rail);
                    let demand = Demand { source, target, queue_pairs: &[2, 3], weight: 1 };
                    for given in allocator.allocate(JobId(host), &[demand]) {
                        assert_eq!(given.landed, Some(port));
                    }
                }
            }
            assert_sound(&fabric, &ecmp, &allocator);
            // 16 hosts, two queue pairs a port, eight spines: four on each uplink of a leaf.
            let polarised = seeds == Seeds::Shared && !planes;
            for cable in network_cables(&fabric) {
                if fabric.cable_class(cable) == railtwin_fabric::CableClass::LeafSpine && !polarised {
                    let both = [cable.forward(), cable.backward()].map(|link| allocator.crossings(link));
                    assert_eq!(both, [4, 4], "{seeds:?} {planes}");
                }
            }
            let reasons: Vec<Reason> = all(&allocator).iter().map(|(_, given)| given.reason).collect();
            assert_eq!(reasons.contains(&Reason::NoPortReaches), polarised);
        }
    }
}

/// A repair moves nothing of itself; asked for, a few moves bring the link back into even use.
#[test]
fn a_repaired_link_fills_up_only_when_asked() {
    let fabric = hpn(1, 2, 16, 8, true);
    let ecmp = crc32(Seeds::PerTier);
    let mut allocator = PathAllocator::new(&fabric, ecmp, &LinkMask::none(&fabric));
    let demand = |host: u32, port: u32| Demand {
        source: NicPort { nic: fabric.nic(railtwin_fabric::HostId(host), 0), port },
        target: fabric.nic(railtwin_fabric::HostId(host + 16), 0),
        queue_pairs: &[2, 3],
        weight: 1,
    };
    for host in 0..16 {
        allocator.allocate(JobId(host), &[demand(host, 0), demand(host, 1)]);
    }
    let cable = allocator.assignments(JobId(0)).next().unwrap().path.links()[1].cable();
    let dead = allocator.replan_cable(cable, LinkState::Down);
    assert_eq!((dead.moved.len(), allocator.crossings(cable.forward())), (4, 0));
    // The other 28 through the leaf's port, and nobody else, get a port for the path they have.
    assert!(dead.ported.len() <= 28 && dead.ported.len() > 20, "{}", dead.ported.len());
    let repaired = allocator.replan_cable(cable, LinkState::Up);
    assert_eq!((repaired.moved.len(), allocator.crossings(cable.forward())), (0, 0));
    let moves = allocator.rebalance(1);
    assert_eq!((moves.len(), allocator.crossings(cable.forward())), (1, 1));
    assert_eq!(allocator.rebalance(100).len(), 3);
    assert_eq!(allocator.rebalance(100), []);
    assert_eq!(allocator.crossings(cable.forward()), 4);
    assert_sound(&fabric, &ecmp, &allocator);
}

proptest! {
    #[test]
    fn rebalancing_lowers_the_most_used_links_and_stays_sound(
        fabric in any_fabric(), ecmp in any_ecmp(), drawn in any_demands(16), limit in 0usize..20,
        dead in any::<prop::sample::Index>(),
    ) {
        let mut allocator = PathAllocator::new(&fabric, ecmp, &LinkMask::none(&fabric));
        let cable = *dead.get(&network_cables(&fabric));
        allocator.replan_cable(cable, LinkState::Down);
        allocator.allocate(JobId(0), &demands(&fabric, &drawn));
        allocator.replan_cable(cable, LinkState::Up);
        let sorted = |allocator: &PathAllocator<'_>| {
            let cables = fabric.cables().filter(|&cable| fabric.cable_class(cable) != railtwin_fabric::CableClass::Access);
            let mut loads: Vec<u64> =
                cables.flat_map(|cable| [cable.forward(), cable.backward()]).map(|link| allocator.load(link)).collect();
            loads.sort_unstable_by_key(|&load| std::cmp::Reverse(load));
            loads
        };
        let before = sorted(&allocator);
        let moves = allocator.rebalance(limit);
        prop_assert!(moves.len() <= limit);
        prop_assert!(sorted(&allocator) <= before);
        prop_assert!(moves.is_empty() || sorted(&allocator) < before);
        assert_sound(&fabric, &ecmp, &allocator);
    }
}
