//! Every balancer on small fabrics with dead links: what all of them keep to, and what each promises.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use railtwin_engine::Connection;
use railtwin_engine::choose::{Chooser, ChosenPaths, View};
use railtwin_engine::opened::Draw;
use railtwin_engine::{Balancer, RoutingCase};
use railtwin_fabric::preset::Hpn;
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric, LinkId};
use railtwin_routing::{Fields, Forwarding, LinkMask, NicPort, QueuePairNumbers, Routing};
use railtwin_testkit::fabrics::{self, network_cables, nics, plain};

/// Connections with their queue-pair numbers.
struct Opened {
    connections: Vec<Connection>,
    numbers: Vec<(u32, u32)>,
}

fn open(ports: u32, queue_pairs: u32, pairs: &[(DeviceId, DeviceId)]) -> Opened {
    let mut counters: BTreeMap<DeviceId, QueuePairNumbers> = BTreeMap::new();
    let mut next = |nic: DeviceId| {
        counters.entry(nic).or_insert_with(|| QueuePairNumbers::from_stream(u64::from(nic.0))).allocate()
    };
    let mut opened = Opened { connections: Vec::new(), numbers: Vec::new() };
    for &(source, target) in pairs {
        let (first, count) = (opened.numbers.len() as u32, ports * queue_pairs);
        opened.connections.push(Connection { job: 0, source, target, first, count, ports, bytes: 1e9 });
        opened.numbers.extend((0..count).map(|_| (next(source), next(target))));
    }
    opened
}

fn case(balancer: Balancer, resilient: bool) -> RoutingCase {
    RoutingCase { balancer, resilient, ..RoutingCase::default() }
}

fn choose(
    fabric: &Fabric,
    case: &RoutingCase,
    opened: &Opened,
    mask: &LinkMask,
    planned: &LinkMask,
) -> ChosenPaths {
    let Opened { connections, numbers } = opened;
    let draw = Draw { draw: 7, ecmp: case.ecmp };
    Chooser::new(fabric, case, draw, connections, numbers).choose(View { mask, planned })
}

/// A fabric and the ports of its NICs.
fn fabric(kind: u8) -> (Fabric, u32) {
    let host = |ports| fabrics::host(2, ports, 200);
    match kind {
        0 => (fabrics::hpn(host(2), 2, 3, 4).build().unwrap(), 2),
        1 => (Hpn { planes: false, ..fabrics::hpn(host(2), 2, 3, 4) }.build().unwrap(), 2),
        2 => (fabrics::dcn_plus(host(2), 2).build().unwrap(), 2),
        3 => (fabrics::leaves(host(1), 3, 3, 4).build().unwrap(), 1),
        _ => (plain(2, 4, 3), 1),
    }
}

fn of(fabric: &Fabric, cables: &[CableId]) -> LinkMask {
    let mut mask = LinkMask::none(fabric);
    cables.iter().for_each(|&cable| mask.set_cable(cable, true));
    mask
}

/// Queue pairs of all connections, with the connection.
fn rows(opened: &Opened) -> impl Iterator<Item = (u32, u32, &Connection)> {
    opened
        .connections
        .iter()
        .flat_map(|c| (0..c.count).map(move |queue_pair| (c.first + queue_pair, queue_pair, c)))
}

fn all(paths: &ChosenPaths, opened: &Opened) -> Vec<(Vec<LinkId>, Vec<f64>, u16, u32)> {
    let one = |row| {
        let path = paths.path(row);
        (path.links.to_vec(), path.parts.to_vec(), path.source_port, path.landed_port)
    };
    rows(opened).map(|(row, ..)| one(row)).collect()
}

/// The port of `nic` that a link comes in by, among its cabled backend ports.
fn port_of(fabric: &Fabric, nic: DeviceId, link: LinkId) -> Option<u32> {
    let forwarding = Forwarding::new(fabric, &LinkMask::none(fabric));
    forwarding.accesses(nic).iter().find(|access| access.link == link.reverse()).map(|access| access.port)
}

/// Queue pairs on each link between switches.
fn crossings(fabric: &Fabric, paths: &ChosenPaths, opened: &Opened) -> BTreeMap<LinkId, u32> {
    let mut count = BTreeMap::new();
    for (row, ..) in rows(opened) {
        for &link in paths.path(row).links {
            let ends = [fabric.source(link), fabric.target(link)];
            if ends.iter().all(|&device| fabric.kind(device) == DeviceKind::Switch) {
                *count.entry(link).or_default() += 1;
            }
        }
    }
    count
}

type Drawn = (u8, Vec<(prop::sample::Index, prop::sample::Index)>, Vec<prop::sample::Index>, u32, bool);

fn drawn() -> impl Strategy<Value = Drawn> {
    let ends = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    let dead = prop::collection::vec(any::<prop::sample::Index>(), 0..5);
    (0u8..5, prop::collection::vec(ends, 1..12), dead, 1u32..4, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever was planned: a path is a walk over live links from NIC to NIC, a spread one conserves bytes and tells
    /// where it lands; there is none only where no port of the bond has a way; threads change nothing.
    #[test]
    fn paths_are_live_walks((kind, pairs, dead, queue_pairs, resilient) in drawn(), stale in any::<bool>()) {
        let (fabric, ports) = fabric(kind);
        let (nics, cables) = (nics(&fabric), network_cables(&fabric));
        let pick = |index: &prop::sample::Index| nics[index.index(nics.len())];
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| (pick(a), pick(b))).filter(|(a, b)| a != b).collect();
        let opened = open(ports, queue_pairs, &pairs);
        let dead: Vec<CableId> = dead.iter().map(|index| cables[index.index(cables.len())]).collect();
        let mask = of(&fabric, &dead);
        let planned = if stale { of(&fabric, &dead[..dead.len() / 2]) } else { mask.clone() };
        let forwarding = Forwarding::new(&fabric, &mask);
        let ecmp = RoutingCase::default().ecmp;
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        for balancer in Balancer::ALL {
            let case = case(balancer, resilient);
            let paths = choose(&fabric, &case, &opened, &mask, &planned);
            for threads in [1, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let again = pool.install(|| choose(&fabric, &case, &opened, &mask, &planned));
                prop_assert_eq!(all(&paths, &opened), all(&again, &opened));
            }
            for (row, _, connection) in rows(&opened) {
                let &Connection { source, target, .. } = connection;
                let path = paths.path(row);
                prop_assert!(path.links.iter().all(|&link| !mask.is_down(link)), "{balancer:?} crosses a dead link");
                if path.links.is_empty() {
                    let way = |port| routing.spread(NicPort { nic: source, port }, target).is_ok();
                    prop_assert!(!(0..ports).any(way), "{balancer:?} finds no way where there is one");
                    continue;
                }
                let (first, last) = (path.links[0], path.links[path.links.len() - 1]);
                prop_assert_eq!((fabric.source(first), fabric.target(last)), (source, target));
                let landed = path.links.iter().filter_map(|&link| port_of(&fabric, target, link)).min();
                prop_assert_eq!(Some(path.landed_port), landed, "{:?}", balancer);
                prop_assert_eq!(path.parts.is_empty(), !balancer.is_spread());
                if !balancer.is_spread() {
                    let joined = path.links.windows(2).all(|two| fabric.target(two[0]) == fabric.source(two[1]));
                    prop_assert!(joined, "{balancer:?}: {:?}", path.links);
                    continue;
                }
                let mut net: BTreeMap<DeviceId, f64> = BTreeMap::new();
                for (&link, &part) in path.links.iter().zip(path.parts) {
                    *net.entry(fabric.source(link)).or_default() -= part;
                    *net.entry(fabric.target(link)).or_default() += part;
                }
                for (device, sum) in net {
                    let due = f64::from(i8::from(device == target) - i8::from(device == source));
                    prop_assert!((sum - due).abs() < 1e-9, "{balancer:?}: device {} keeps {sum}", device.0);
                }
            }
        }
    }

    /// With groups that keep their numbers a dead cable moves nobody but those that crossed it: neither where who
    /// planned knows nothing of it, nor where a controller of paths does.
    #[test]
    fn a_dead_cable_moves_those_that_crossed_it(
        (kind, pairs, _, queue_pairs, _) in drawn(), cable in any::<prop::sample::Index>(),
    ) {
        let (fabric, ports) = fabric(kind);
        let nics = nics(&fabric);
        let pick = |index: &prop::sample::Index| nics[index.index(nics.len())];
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| (pick(a), pick(b))).filter(|(a, b)| a != b).collect();
        let opened = open(ports, queue_pairs, &pairs);
        let switched = network_cables(&fabric);
        let switched: Vec<_> = switched.iter().filter(|&&c| fabric.cable_class(c) > CableClass::Access).collect();
        let mask = of(&fabric, &[*switched[cable.index(switched.len())]]);
        let none = LinkMask::none(&fabric);
        for balancer in Balancer::ALL.into_iter().filter(|one| one.properties().by_switch.is_none()) {
            let case = case(balancer, true);
            let before = choose(&fabric, &case, &opened, &none, &none);
            let stale = choose(&fabric, &case, &opened, &mask, &none);
            for (row, ..) in rows(&opened) {
                let (old, new) = (before.path(row), stale.path(row));
                prop_assert_eq!(old.source_port, new.source_port);
                let crossed = old.links.iter().any(|&link| mask.is_down(link));
                prop_assert_eq!(crossed, old.links != new.links, "{:?}: {:?} {:?}", balancer, old, new);
            }
        }
        for resilient in [false, true] {
            let case = case(Balancer::C4p, resilient);
            let before = choose(&fabric, &case, &opened, &none, &none);
            let after = choose(&fabric, &case, &opened, &mask, &mask);
            for (row, ..) in rows(&opened) {
                let (old, new) = (before.path(row), after.path(row));
                let crossed = old.links.iter().any(|&link| mask.is_down(link));
                prop_assert!(crossed || old.links == new.links, "resilient {resilient}: {old:?} {new:?}");
            }
        }
    }
}

/// Each host of one leaf to its counterpart under the next.
fn shifted(fabric: &Fabric, by: usize) -> Vec<(DeviceId, DeviceId)> {
    let nics = nics(fabric);
    (0..nics.len()).map(|i| (nics[i], nics[(i + by) % nics.len()])).filter(|(a, b)| a != b).collect()
}

#[test]
fn equal_flows_get_an_uplink_each() {
    let fabric = plain(2, 16, 16);
    let none = LinkMask::none(&fabric);
    let opened = open(1, 1, &shifted(&fabric, 16));
    for balancer in [Balancer::Te, Balancer::Pinned, Balancer::DModK, Balancer::C4p, Balancer::Flowlet] {
        let paths = choose(&fabric, &case(balancer, false), &opened, &none, &none);
        let mut up = crossings(&fabric, &paths, &opened);
        up.retain(|&link, _| fabric.place(fabric.source(link)).is_some_and(|place| place.tier == 1));
        assert_eq!((up.len(), up.values().max()), (32, Some(&1)), "{balancer:?}");
    }
}

#[test]
fn d_mod_k_has_no_conflict_on_any_shift() {
    let fabric = plain(4, 4, 4);
    let none = LinkMask::none(&fabric);
    for by in 1..16 {
        let opened = open(1, 1, &shifted(&fabric, by));
        let paths = choose(&fabric, &case(Balancer::DModK, false), &opened, &none, &none);
        let most = crossings(&fabric, &paths, &opened).into_values().max().unwrap_or(0);
        assert!(most <= 1, "shift by {by}: {most} on a link");
    }
}

#[test]
fn a_pinned_leaf_sends_up_by_the_slice_of_the_destination() {
    let fabric = plain(3, 4, 3);
    let none = LinkMask::none(&fabric);
    let nics = nics(&fabric);
    let pairs: Vec<_> =
        (0..4).flat_map(|a| (4..12).map(move |b| (a, b))).map(|(a, b)| (nics[a], nics[b])).collect();
    let opened = open(1, 2, &pairs);
    let paths = choose(&fabric, &case(Balancer::Pinned, false), &opened, &none, &none);
    let forwarding = Forwarding::new(&fabric, &none);
    let mut by_slice: BTreeMap<usize, BTreeSet<LinkId>> = BTreeMap::new();
    for (row, _, connection) in rows(&opened) {
        let slice = nics.iter().position(|&nic| nic == connection.target).unwrap() % 4;
        let group = forwarding.next_links(forwarding.accesses(connection.source)[0].leaf, connection.target);
        let up = paths.path(row).links[1];
        assert_eq!(group.len(), 3);
        by_slice.entry(slice).or_default().insert(up);
    }
    // Four slices on three uplinks: each slice keeps to one, the fourth shares.
    assert!(by_slice.values().all(|ups| ups.len() == 1), "{by_slice:?}");
    assert_eq!(by_slice.values().flatten().collect::<BTreeSet<_>>().len(), 3);
}

#[test]
fn c4p_evens_out_and_keeps_left_left() {
    let (fabric, none) = (plain(2, 4, 4), |fabric: &Fabric| LinkMask::none(fabric));
    let opened = open(1, 3, &shifted(&fabric, 4));
    let paths = choose(&fabric, &case(Balancer::C4p, false), &opened, &none(&fabric), &none(&fabric));
    // Twelve queue pairs of each leaf on four uplinks, and as many down.
    assert_eq!(
        crossings(&fabric, &paths, &opened).into_values().collect::<BTreeSet<_>>(),
        BTreeSet::from([3])
    );
    for kind in 0..2 {
        let (fabric, ports) = self::fabric(kind);
        let opened = open(ports, 2, &shifted(&fabric, 6));
        let paths = choose(&fabric, &case(Balancer::C4p, false), &opened, &none(&fabric), &none(&fabric));
        for (row, queue_pair, _) in rows(&opened) {
            assert_eq!(paths.path(row).landed_port, queue_pair % ports, "fabric {kind}");
        }
    }
}

/// Also where switches hash the queue pair, and where they keep the numbers of their groups.
#[test]
fn disjoint_paths_of_a_port_share_no_link_between_switches() {
    for (fields, resilient, stale) in [
        (Fields::FIVE_TUPLE, false, false),
        (Fields::FIVE_TUPLE, true, false),
        (Fields::FIVE_TUPLE, true, true),
        (Fields::FIVE_TUPLE | Fields::TARGET_QP, false, false),
        (Fields::FIVE_TUPLE | Fields::TARGET_QP, true, true),
    ] {
        for kind in [0, 1, 3] {
            let (fabric, ports) = fabric(kind);
            let opened = open(ports, 3, &shifted(&fabric, 6));
            let mut case = case(Balancer::Disjoint, resilient);
            case.ecmp.spec = case.ecmp.spec.with_fields(fields);
            // One of four ways to other leaves is dead; a second cable, far from these, dies unknown to hosts.
            let spines: Vec<CableId> =
                fabric.cables().filter(|&cable| fabric.cable_class(cable) == CableClass::LeafSpine).collect();
            let planned = of(&fabric, &spines[..1]);
            let mut mask = planned.clone();
            if stale {
                // A port that nobody uses: groups stay as planned.
                let last = *nics(&fabric).last().unwrap();
                let access = Forwarding::new(&fabric, &planned).accesses(last)[0].link;
                mask.set_link(access, true);
            }
            let paths = choose(&fabric, &case, &opened, &mask, &planned);
            for connection in &opened.connections[..opened.connections.len() - 1] {
                for port in 0..ports {
                    let of_port = (port..connection.count).step_by(ports as usize);
                    let mut used = BTreeSet::new();
                    for queue_pair in of_port {
                        let links = paths.path(connection.first + queue_pair).links;
                        for link in &links[1..links.len() - 1] {
                            assert!(
                                used.insert(*link),
                                "{fields} {resilient} {stale} fabric {kind}: {links:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}
