//! Source ports sorted by path against the switches themselves.

use crate::fabrics;
use std::collections::BTreeMap;

use fabrics::any_masked;
use proptest::prelude::*;
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_routing::{FiveTuple, Forwarding, HashKey, NicPort, Routing, SteeredPath, nic_ip};
use railtwin_testkit::draws::any_ecmp;
use railtwin_testkit::fabrics::nics;

/// Checks `found` against a replay of every source port, one by one.
fn assert_foreseen(
    routing: &Routing<'_>,
    source: NicPort,
    target: DeviceId,
    key: &HashKey,
    found: &[SteeredPath],
) {
    let mut seen: BTreeMap<Vec<LinkId>, u16> = BTreeMap::new();
    for port in 0xC000..=0xFFFF {
        let mut path = Vec::new();
        let landed = routing.route(source, target, &key.with_source_port(port), &mut path);
        assert!(landed.is_ok());
        seen.entry(path).or_insert(port);
    }
    let found: BTreeMap<_, _> = found.iter().map(|path| (path.links.clone(), path.source_port)).collect();
    assert_eq!(found, seen);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_source_port_is_foreseen(
        (fabric, mask) in any_masked(), ecmp in any_ecmp(), source: prop::sample::Index,
        target: prop::sample::Index, qp: u32,
    ) {
        let forwarding = Forwarding::new(&fabric, &mask);
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        let nics = nics(&fabric);
        let (nic, target) = (*source.get(&nics), *target.get(&nics));
        let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target), 0)).with_target_qp(qp);
        let source = NicPort { nic, port: 0 };
        match routing.paths_by_source_port(source, target, &key) {
            Ok(found) => {
                assert_foreseen(&routing, source, target, &key, &found);
            }
            Err(error) => {
                let mut path = Vec::new();
                prop_assert_eq!(routing.route(source, target, &key, &mut path), Err(error));
            }
        }
    }
}
