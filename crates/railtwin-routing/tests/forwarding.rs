//! Every path is a live chain up and then down, and there is one wherever a search finds one.

use crate::fabrics;
use std::collections::{BTreeSet, VecDeque};

use fabrics::any_masked;
use proptest::prelude::*;
use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::{FiveTuple, Forwarding, HashKey, LinkMask, NicPort, NoRoute, Routing, nic_ip};
use railtwin_testkit::draws::any_ecmp;
use railtwin_testkit::fabrics::{is_network, nics};

/// Tier of a switch, 0 for a NIC.
fn tier(fabric: &Fabric, device: DeviceId) -> u8 {
    fabric.place(device).map_or(0, |place| place.tier)
}

/// Whether live links lead from a NIC's port to a NIC, first up and then down, by breadth-first
/// search over (device, has turned down) that knows nothing of forwarding tables.
fn search(fabric: &Fabric, mask: &LinkMask, first: LinkId, target: DeviceId) -> bool {
    if mask.is_down(first) {
        return false;
    }
    let mut seen = BTreeSet::new();
    let mut queue = VecDeque::from([(fabric.target(first), false)]);
    while let Some((device, turned)) = queue.pop_front() {
        if device == target {
            return true;
        }
        if tier(fabric, device) == 0 || !seen.insert((device, turned)) {
            continue;
        }
        for &(link, far) in fabric.neighbors(device) {
            let up = tier(fabric, far) > tier(fabric, device);
            if is_network(fabric, link.cable()) && !mask.is_down(link) && !(up && turned) {
                queue.push_back((far, !up));
            }
        }
    }
    false
}

/// Panics unless `path` is a chain of live links from the source to the target without a valley.
fn check_path(fabric: &Fabric, mask: &LinkMask, source: NicPort, target: DeviceId, path: &[LinkId]) {
    assert_eq!(Some(path[0]), fabric.access_link(source.nic, source.port));
    assert_eq!(fabric.target(path[path.len() - 1]), target);
    for pair in path.windows(2) {
        assert_eq!(fabric.target(pair[0]), fabric.source(pair[1]));
    }
    assert!(path.iter().all(|&link| !mask.is_down(link)));
    let tiers: Vec<u8> = path.iter().map(|&link| tier(fabric, fabric.target(link))).collect();
    let top = (0..tiers.len()).max_by_key(|&hop| tiers[hop]).expect("two hops or more");
    assert!(tiers[..=top].is_sorted_by(|a, b| a < b), "{tiers:?}");
    assert!(tiers[top..].is_sorted_by(|a, b| a > b), "{tiers:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn paths_are_sound_and_complete(
        (fabric, mask) in any_masked(), ecmp in any_ecmp(),
        pairs in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index, u16)>(), 32),
    ) {
        let forwarding = Forwarding::new(&fabric, &mask);
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        let nics = nics(&fabric);
        for (source, target, source_port) in pairs {
            let (nic, target) = (*source.get(&nics), *target.get(&nics));
            let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target), source_port));
            for access in forwarding.accesses(nic) {
                let source = NicPort { nic, port: access.port };
                let mut path = vec![LinkId(7)];
                match routing.route(source, target, &key, &mut path) {
                    Ok(landed) => {
                        check_path(&fabric, &mask, source, target, &path[1..]);
                        let last = path[path.len() - 1].reverse();
                        prop_assert_eq!(fabric.access_link(target, landed.port_index), Some(last));
                        let mut again = vec![LinkId(7)];
                        prop_assert_eq!(routing.route(source, target, &key, &mut again), Ok(landed));
                        prop_assert_eq!(again, path);
                    }
                    Err(error) => {
                        prop_assert_eq!(path, vec![LinkId(7)]);
                        let dead = mask.is_down(access.link);
                        let says_dead = matches!(error, NoRoute::SourcePortDown { .. });
                        prop_assert_eq!(dead, says_dead);
                        prop_assert!(!search(&fabric, &mask, access.link, target), "{}", error);
                    }
                }
            }
        }
    }
}
