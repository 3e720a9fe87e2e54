//! Switches that choose by slice, by destination or with resilient hashing, and packets sprayed over all.

use crate::fabrics;
use std::collections::{BTreeMap, BTreeSet};

use fabrics::any_masked;
use proptest::prelude::*;
use railtwin_fabric::preset::{DcnPlus, FatTree, Hpn, LeafSpine};
use railtwin_fabric::{DeviceId, Fabric, HostId, LinkId};
use railtwin_routing::{
    DestinationOrder, EcmpConfig, FiveTuple, Forwarding, HashFunction, HashKey, HashSpec, LinkMask, NicPort,
    Routing, Seeds, Selection, nic_ip,
};
use railtwin_testkit::draws::{any_ecmp, host};
use railtwin_testkit::fabrics::nics;

fn crc32() -> EcmpConfig {
    EcmpConfig::new(HashSpec::new(HashFunction::Crc32).with_seed(3), Seeds::PerSwitch)
}

fn path(routing: &Routing<'_>, source: DeviceId, target: DeviceId, port: u16) -> Vec<LinkId> {
    let key = HashKey::of(FiveTuple::roce(nic_ip(source), nic_ip(target), port));
    let mut links = Vec::new();
    routing.route(NicPort { nic: source, port: 0 }, target, &key, &mut links).expect("a way is left");
    links
}

/// Meta RoCE section 4.1.2: with one uplink for each downlink a full rack to a full rack has no collision, and
/// every flow to a destination takes the same uplink number whatever its source.
#[test]
fn slices_give_each_destination_its_uplink() {
    let fabric = LeafSpine { leaves: 4, hosts_per_leaf: 2, uplinks: 16, ..LeafSpine::default() };
    let fabric = fabric.build().expect("a small leaf-spine");
    let whole = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let ecmp = crc32();
    let routing = Routing::new(&fabric, &whole, &ecmp).with_selection(Selection::Slice, &whole);
    let mut used = BTreeSet::new();
    for host in 0..2 {
        for nic in 0..8 {
            let (source, target) = (fabric.nic(HostId(host), nic), fabric.nic(HostId(host + 2), nic));
            let uplink = path(&routing, source, target, 0xC000)[1];
            assert_eq!(uplink, path(&routing, source, target, 0xD123)[1]);
            used.insert(uplink);
        }
    }
    assert_eq!(used.len(), 16);
}

fn shifted(fabric: &Fabric, routing: &Routing<'_>, shift: usize) -> BTreeMap<LinkId, u32> {
    let nics = nics(fabric);
    let mut count = BTreeMap::new();
    for (row, &source) in nics.iter().enumerate() {
        for link in path(routing, source, nics[(row + shift) % nics.len()], 0xC000) {
            *count.entry(link).or_insert(0) += 1;
        }
    }
    count
}

/// D-mod-K routes every shift of a full fat-tree without two flows on a link.
#[test]
fn destination_modulo_has_no_conflict_on_shifts() {
    for k in [4, 8] {
        let fabric = FatTree { k, ..FatTree::default() }.build().expect("a fat-tree");
        let whole = Forwarding::new(&fabric, &LinkMask::none(&fabric));
        let order = DestinationOrder::new(&fabric, &whole);
        let ecmp = crc32();
        let routing = Routing::new(&fabric, &whole, &ecmp).with_selection(Selection::DModK(&order), &whole);
        for shift in [1, 3, (k * k * k / 8) as usize] {
            let worst = shifted(&fabric, &routing, shift).into_values().max();
            assert_eq!(worst, Some(1), "k {k}, shift {shift}");
        }
        let hashed = Routing::new(&fabric, &whole, &ecmp);
        assert!(shifted(&fabric, &hashed, (k * k * k / 8) as usize).into_values().max() > Some(1));
    }
}

/// Parallel cables: what went up different ones to a spine goes down different ones from it.
#[test]
fn destination_modulo_has_no_conflict_on_parallel_cables() {
    let host = host(2);
    let spec = DcnPlus { host, pods: 1, segments: 3, hosts: 2, spines: 2, parallel: 2, ..DcnPlus::default() };
    let fabric = spec.build().expect("a small DCN+");
    let whole = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let order = DestinationOrder::new(&fabric, &whole);
    let ecmp = crc32();
    let routing = Routing::new(&fabric, &whole, &ecmp).with_selection(Selection::DModK(&order), &whole);
    for shift in [4, 8] {
        assert_eq!(shifted(&fabric, &routing, shift).into_values().max(), Some(1), "shift {shift}");
    }
}

/// Without resilience a group of 60 that loses one re-hashes nearly all; with it only the lost one's flows.
#[test]
fn resilient_hashing_moves_only_the_flows_of_the_dead_member() {
    let fabric = Hpn { segments: Some(2), ..Hpn::default() }.build().expect("two segments");
    let whole = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let ecmp = crc32();
    let (source, target) = (fabric.nic(HostId(0), 0), fabric.nic(HostId(136), 0));
    let before = Routing::new(&fabric, &whole, &ecmp);
    let dead = path(&before, source, target, 0xC000)[1];
    let mut mask = LinkMask::none(&fabric);
    mask.set_cable(dead.cable(), true);
    let left = Forwarding::new(&fabric, &mask);
    let plain = Routing::new(&fabric, &left, &ecmp);
    let resilient = plain.with_resilience(&whole);
    let ports = || (0xC000..0xC400_u16).map(|port| path(&before, source, target, port));
    let on_dead = ports().filter(|links| links[1] == dead).count();
    let moved = |routing: &Routing<'_>| {
        let after = (0xC000..0xC400_u16).map(|port| path(routing, source, target, port));
        ports().zip(after).filter(|(old, new)| old != new).count()
    };
    assert!(on_dead > 0);
    assert_eq!(moved(&resilient), on_dead);
    assert!(moved(&plain) > 900, "{} of 1024", moved(&plain));
}

proptest! {
    /// Sprayed packets are conserved at every device, and use exactly the links of the paths that exist.
    #[test]
    fn spraying_conserves_and_uses_every_path((fabric, mask) in any_masked(), ecmp in any_ecmp(), pick: u64) {
        let forwarding = Forwarding::new(&fabric, &mask);
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        let nics = nics(&fabric);
        let (source, target) = (nics[pick as usize % nics.len()], nics[(pick >> 32) as usize % nics.len()]);
        let from = NicPort { nic: source, port: 0 };
        let (Ok(shares), Ok(paths)) = (routing.spread(from, target), routing.paths(from, target)) else {
            prop_assert!(routing.spread(from, target).is_err() && routing.paths(from, target).is_err());
            return Ok(());
        };
        let known: BTreeSet<LinkId> = paths.flatten().collect();
        prop_assert_eq!(&known, &shares.iter().map(|(link, _)| *link).collect::<BTreeSet<_>>());
        prop_assert_eq!(known.len(), shares.len(), "each link once");
        // In the order in which packets cross them.
        let (first, last) = (shares[0].0, shares[shares.len() - 1].0);
        prop_assert_eq!((fabric.source(first), fabric.target(last)), (source, target));
        let mut reached = BTreeSet::from([source]);
        for &(link, _) in &shares {
            prop_assert!(reached.contains(&fabric.source(link)), "link {} is left before it is reached", link.0);
            reached.insert(fabric.target(link));
        }
        let mut net: BTreeMap<DeviceId, f64> = BTreeMap::new();
        for (link, share) in shares {
            *net.entry(fabric.source(link)).or_default() -= share;
            *net.entry(fabric.target(link)).or_default() += share;
        }
        for (device, sum) in net {
            let due = f64::from(i8::from(device == target) - i8::from(device == source));
            prop_assert!((sum - due).abs() < 1e-9, "device {} keeps {sum}", device.0);
        }
    }
}
