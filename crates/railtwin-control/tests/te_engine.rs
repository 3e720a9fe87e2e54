//! Traffic engineering on small fabrics: nothing too full where it need not be, flows whole, paths alive.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use railtwin_control::te::{
    Demand, Engine, EngineOptions, FlowPlacement, TrafficMatrix, ZonePolicies, ZonePolicy,
};
use railtwin_fabric::preset::{FatTree, Hpn};
use railtwin_fabric::{CableId, DeviceId, Fabric, HostId, HostSpec};
use railtwin_routing::{Forwarding, LinkMask, NicPort, Prefixes};
use railtwin_testkit::fabrics::{self, nics};
use railtwin_units::Rate;

/// Two hosts of eight 400G NICs under each leaf, as in Meta's racks.
fn zone(leaves: u32, uplinks: u32) -> Fabric {
    fabrics::leaves(fabrics::host(8, 1, 400), leaves, 2, uplinks).build().expect("valid")
}

fn demand(source: DeviceId, target: DeviceId, gbps: u64) -> Demand {
    Demand { source: NicPort { nic: source, port: 0 }, target, rate: Rate::from_gbps(gbps) }
}

fn place(fabric: &Fabric, mask: &LinkMask, matrix: &TrafficMatrix, options: EngineOptions) -> FlowPlacement {
    let forwarding = Forwarding::new(fabric, mask);
    Engine::new(Prefixes::by_leaf_set(fabric), options).place(fabric, &forwarding, matrix, None)
}

fn none() -> EngineOptions {
    let policy = ZonePolicies { usual: ZonePolicy::Nowhere, ..ZonePolicies::default() };
    EngineOptions { policy, ..EngineOptions::default() }
}

/// All sixteen NICs of leaf 0 send at line rate to those of leaf 1.
fn leaf_to_leaf(fabric: &Fabric) -> TrafficMatrix {
    let nics = nics(fabric);
    (0..16).map(|nic| demand(nics[nic], nics[16 + nic], 400)).collect()
}

#[test]
fn sixteen_flows_fill_sixteen_uplinks() {
    let fabric = zone(4, 16);
    let placement =
        place(&fabric, &LinkMask::none(&fabric), &leaf_to_leaf(&fabric), EngineOptions::default());
    assert_eq!(placement.max_utilization(&fabric), 1.0);
    let uplinks: BTreeSet<_> = placement.entries().map(|entry| entry.next).collect();
    assert_eq!(uplinks.len(), 16);

    // At four fifths of line rate all links in use are full to four fifths (section 4.4.2).
    let ease = |demand: &Demand| Demand { rate: Rate::from_gbps(320), ..*demand };
    let eased: TrafficMatrix = leaf_to_leaf(&fabric).demands().iter().map(ease).collect();
    let placement = place(&fabric, &LinkMask::none(&fabric), &eased, EngineOptions::default());
    let used: Vec<f64> = placement.load_bits_per_s.iter().copied().filter(|&load| load > 0.0).collect();
    assert_eq!(used, [320e9; 32]);
}

/// Meta RoCE section 4.4.1: with less than 1:1 left, whole flows fare worse than split ones.
#[test]
fn on_fourteen_uplinks_two_whole_flows_must_share_one() {
    let fabric = zone(4, 16);
    let mut mask = LinkMask::none(&fabric);
    for spine in ["spine-3", "spine-9"] {
        mask.set_device(&fabric, fabric.switch_named(spine).expect("16 spines"), true);
    }
    let matrix = leaf_to_leaf(&fabric);
    let engineered = place(&fabric, &mask, &matrix, EngineOptions::default());
    let split = place(&fabric, &mask, &matrix, none());
    assert_eq!(engineered.max_utilization(&fabric), 2.0, "half of line rate");
    let split = split.max_utilization(&fabric);
    assert!((1.0 / split - 14.0 / 16.0).abs() < 1e-9, "87.5 % at best, not {}", 1.0 / split);
    // At half of line rate two flows share a link in full.
    let ease = |demand: &Demand| Demand { rate: Rate::from_gbps(200), ..*demand };
    let eased: TrafficMatrix = matrix.demands().iter().map(ease).collect();
    assert_eq!(place(&fabric, &mask, &eased, EngineOptions::default()).max_utilization(&fabric), 1.0);

    // The reserve of two links in a leaf with eighteen uplinks (section 6.2) is what avoids that.
    let reserve = zone(4, 18);
    let mut mask = LinkMask::none(&reserve);
    for spine in ["spine-3", "spine-9"] {
        mask.set_device(&reserve, reserve.switch_named(spine).expect("18 spines"), true);
    }
    let placement = place(&reserve, &mask, &leaf_to_leaf(&reserve), EngineOptions::default());
    assert_eq!(placement.max_utilization(&reserve), 1.0);
}

#[test]
fn a_full_table_leaves_the_smallest_flows_to_hashes() {
    let fabric = zone(8, 16);
    let nics = nics(&fabric);
    // NIC 0 of leaf 0 sends to each other leaf, more to later ones; NIC 16 of leaf 1 to one.
    let mut demands: Vec<_> = (1..8).map(|leaf| demand(nics[0], nics[16 * leaf], 10 * leaf as u64)).collect();
    demands.push(demand(nics[16], nics[0], 1));
    let options = EngineOptions { entries_per_leaf: 3, ..EngineOptions::default() };
    let placement = place(&fabric, &LinkMask::none(&fabric), &demands.into_iter().collect(), options);
    let rates: Vec<_> =
        placement.flows.iter().map(|flow| (flow.rate_bits_per_s / 1e9, flow.next.is_some())).collect();
    let expected = [
        (10.0, false),
        (20.0, false),
        (30.0, false),
        (40.0, false),
        (50.0, true),
        (60.0, true),
        (70.0, true),
    ];
    assert_eq!(rates[..7], expected);
    assert_eq!(rates[7], (1.0, true), "another leaf has room of its own");
    assert_eq!(placement.beyond_limit, 4);
}

#[test]
fn flows_stay_where_they_are_good() {
    let fabric = zone(4, 16);
    let engine = Engine::new(Prefixes::by_leaf_set(&fabric), EngineOptions::default());
    let matrix = leaf_to_leaf(&fabric);
    let healthy = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let before = engine.place(&fabric, &healthy, &matrix, None);
    let mut mask = LinkMask::none(&fabric);
    mask.set_device(&fabric, fabric.switch_named("spine-0").expect("16 spines"), true);
    let degraded = Forwarding::new(&fabric, &mask);
    let after = engine.place(&fabric, &degraded, &matrix, Some(&before));
    let moved =
        |a: &FlowPlacement, b: &FlowPlacement| a.entries().zip(b.entries()).filter(|(a, b)| a != b).count();
    assert_eq!(moved(&before, &after), 1, "only the flow of the dead spine moves");
    assert_eq!(after.max_utilization(&fabric), 2.0);
    let restored = engine.place(&fabric, &healthy, &matrix, Some(&after));
    assert_eq!((moved(&after, &restored), restored.max_utilization(&fabric)), (1, 1.0));
}

#[test]
fn zones_across_are_left_to_hashes() {
    let fabric = FatTree { k: 4, ..FatTree::default() }.build().expect("valid");
    let nics = nics(&fabric);
    let matrix: TrafficMatrix =
        [demand(nics[0], nics[2], 100), demand(nics[1], nics[12], 100)].into_iter().collect();
    let placement = place(&fabric, &LinkMask::none(&fabric), &matrix, EngineOptions::default());
    let engineered: Vec<_> = placement.flows.iter().map(|flow| flow.next.is_some()).collect();
    assert_eq!(engineered, [true, false]);
    // Split over two spines and two cores each; whole, it fills a link from the leaf.
    let split =
        place(&fabric, &LinkMask::none(&fabric), &[matrix.demands()[1]].into_iter().collect(), none());
    let loads: Vec<_> =
        split.load_bits_per_s.iter().filter(|&&load| load > 0.0).map(|load| load / 1e9).collect();
    assert_eq!(loads.len(), 2 + 4 + 4 + 2);
    assert_eq!(loads.iter().sum::<f64>(), 400.0);
}

#[test]
fn what_has_no_way_is_said() {
    let fabric = zone(4, 16);
    let nics = nics(&fabric);
    let mut mask = LinkMask::none(&fabric);
    mask.set_cable(fabric.access_link(nics[0], 0).expect("cabled").cable(), true);
    let lost = [
        demand(nics[0], nics[20], 1),
        demand(nics[20], nics[0], 1),
        demand(nics[20], fabric.switches()[0].0, 1),
        Demand { source: NicPort { nic: nics[3], port: 1 }, ..demand(nics[3], nics[20], 1) },
    ];
    let local = demand(nics[2], nics[3], 1);
    let matrix: TrafficMatrix = lost.into_iter().chain([local]).collect();
    let placement = place(&fabric, &mask, &matrix, EngineOptions::default());
    let mut lost = lost.to_vec();
    lost.sort_unstable();
    assert_eq!(placement.unrouted, lost);
    assert!(placement.flows.is_empty(), "the leaf delivers the last one by itself");
}

/// A NIC with one leaf left takes only ways to that leaf, whatever the rest of its prefix can do.
#[test]
fn prefixes_with_lost_leaves_still_conserve_flow() {
    let pod = fabrics::hpn(HostSpec::default(), 2, 4, 4);
    let fabric = Hpn { planes: false, ..pod }.build().expect("valid");
    let target = |host| fabric.nic(HostId(host), 0);
    let mut mask = LinkMask::none(&fabric);
    mask.set_cable(fabric.access_link(target(4), 1).expect("cabled").cable(), true);
    let matrix: TrafficMatrix =
        [demand(target(0), target(4), 30), demand(target(0), target(5), 20)].into_iter().collect();
    let placement = place(&fabric, &mask, &matrix, EngineOptions::default());
    assert_eq!(placement.flows.len(), 1, "one prefix, one flow");
    check(&fabric, &mask, &placement);
    let into = |leaf: u32| -> f64 {
        let (device, _) = fabric.switches()[leaf as usize];
        let links = fabric.neighbors(device).iter().map(|(link, _)| link.reverse());
        links.map(|link| placement.load_bits_per_s[link.index()] / 1e9).sum()
    };
    let leaves: Vec<f64> = (0..fabric.switches().len() as u32).map(into).filter(|&load| load > 0.0).collect();
    assert!(leaves.contains(&40.0) && leaves.contains(&10.0), "30 + 20/2 and 20/2, not {leaves:?}");
}

/// What must hold of any placement: live links only, what enters a switch leaves it, entries whole.
fn check(fabric: &Fabric, mask: &LinkMask, placement: &FlowPlacement) {
    for link in mask.down_links() {
        assert_eq!(placement.load_bits_per_s[link.index()], 0.0, "dead links carry nothing");
    }
    assert!(placement.entries().all(|entry| !mask.is_down(entry.next)));
    let (mut sent, mut whole) = (BTreeMap::new(), BTreeMap::new());
    for flow in &placement.flows {
        let leaf = fabric.target(flow.ingress);
        *sent.entry(leaf).or_insert(0.0) += flow.rate_bits_per_s;
        if let Some(next) = flow.next {
            assert_eq!(fabric.source(next), leaf);
            *whole.entry(next).or_insert(0.0) += flow.rate_bits_per_s;
        }
    }
    let mut received = 0.0;
    for &(device, place) in fabric.switches() {
        let load = |link: railtwin_fabric::LinkId| placement.load_bits_per_s[link.index()];
        let out: f64 = fabric.neighbors(device).iter().map(|&(link, _)| load(link)).sum();
        let into: f64 = fabric.neighbors(device).iter().map(|&(link, _)| load(link.reverse())).sum();
        if place.tier == 1 {
            let own = sent.get(&device).copied().unwrap_or(0.0);
            assert!((out - own).abs() <= 1.0 + out * 1e-9, "a leaf sends what its NICs send: {out} {own}");
            received += into;
        } else {
            assert!((out - into).abs() <= 1.0 + out * 1e-9, "{out} leaves a switch, {into} enters it");
        }
    }
    let total: f64 = sent.values().sum();
    assert!((received - total).abs() <= 1.0 + total * 1e-9);
    for (link, rate) in whole {
        assert!(placement.load_bits_per_s[link.index()] >= rate - 1.0);
    }
}

/// A permutation of `count` things and faults, from seeds.
fn permutation(count: usize) -> impl Strategy<Value = Vec<usize>> {
    Just((0..count).collect::<Vec<_>>()).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Kőnig 1916: 1:1 is enough for every permutation at line rate; so the engine must reach 100 %.
    #[test]
    fn any_permutation_fits_a_fabric_without_oversubscription(
        (leaves, order) in (2u32..10).prop_flat_map(|leaves| (Just(leaves), permutation(leaves as usize * 16))),
    ) {
        let fabric = zone(leaves, 16);
        let nics = nics(&fabric);
        let matrix: TrafficMatrix = order.iter().enumerate().map(|(source, &target)| demand(nics[source], nics[target], 400)).collect();
        let mask = LinkMask::none(&fabric);
        let placement = place(&fabric, &mask, &matrix, EngineOptions::default());
        check(&fabric, &mask, &placement);
        let crossing = order.iter().enumerate().filter(|&(source, &target)| source / 16 != target / 16).count();
        prop_assert_eq!(placement.flows.len(), crossing);
        prop_assert!(placement.max_utilization(&fabric) <= 1.0 + 1e-9, "{}", placement.max_utilization(&fabric));
    }

    #[test]
    fn placements_hold_together_under_faults(
        demands in prop::collection::vec((0usize..128, 0usize..128, 1u64..400), 1..200),
        faults in prop::collection::vec(any::<u32>(), 0..30),
        limit in 0usize..40,
    ) {
        let fabric = zone(8, 6);
        let nics = nics(&fabric);
        let mut mask = LinkMask::none(&fabric);
        for fault in faults {
            mask.set_cable(CableId(fault % fabric.cable_count() as u32), true);
        }
        let matrix: TrafficMatrix = demands.into_iter().map(|(source, target, gbps)| demand(nics[source], nics[target], gbps)).collect();
        let options = EngineOptions { entries_per_leaf: limit, ..EngineOptions::default() };
        let placement = place(&fabric, &mask, &matrix, options.clone());
        check(&fabric, &mask, &placement);
        prop_assert_eq!(&placement, &place(&fabric, &mask, &matrix, options.clone()), "the same again");

        let mut held = BTreeMap::new();
        placement.entries().for_each(|entry| *held.entry(fabric.target(entry.ingress)).or_insert(0) += 1);
        prop_assert!(held.values().all(|&held| held <= limit));

        // A second run that starts from the first is as sound, and from its own result moves nothing
        // that was not too full.
        let engine = Engine::new(Prefixes::by_leaf_set(&fabric), options);
        let forwarding = Forwarding::new(&fabric, &mask);
        let again = engine.place(&fabric, &forwarding, &matrix, Some(&placement));
        check(&fabric, &mask, &again);
        if placement.max_utilization(&fabric) <= 1.0 {
            prop_assert_eq!(placement.entries().collect::<Vec<_>>(), again.entries().collect::<Vec<_>>());
        }
    }
}
