//! Hosts that steer without a controller: only their own leaves are asked (HPN section 6.1).

use crate::fabrics;
use std::collections::BTreeMap;

use fabrics::*;
use proptest::prelude::*;
use railtwin_control::paths::{HostAgent, Refreshed};
use railtwin_fabric::{CableClass, DeviceId, Fabric, HostId, LinkId};
use railtwin_routing::{
    EcmpConfig, FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, Seeds, nic_ip,
};
use railtwin_testkit::draws::any_ecmp;
use railtwin_testkit::fabrics::{network_cables, nics};

/// The links of each connection's packets; none for one without a way.
fn paths(
    fabric: &Fabric,
    tables: &Forwarding,
    ecmp: &EcmpConfig,
    agent: &HostAgent<'_>,
) -> Vec<Option<Vec<LinkId>>> {
    let routing = Routing::new(fabric, tables, ecmp);
    let path = |one: &railtwin_control::paths::Connection| {
        let tuple = FiveTuple::roce(nic_ip(one.source.nic), nic_ip(one.target), one.source_port);
        let key = HashKey::of(tuple).with_target_qp(one.queue_pair);
        let mut path = Vec::new();
        routing.route(one.source, one.target, &key, &mut path).ok().map(|_| path)
    };
    agent.connections().iter().map(path).collect()
}

fn own_nics(fabric: &Fabric, host: HostId) -> Vec<DeviceId> {
    (0..fabric.host_model(host).nics).map(|rail| fabric.nic(host, rail)).collect()
}

#[test]
fn a_dead_uplink_costs_one_message_and_moves_its_own_connections() {
    let fabric = hpn(1, 2, 4, 8, true);
    let ecmp = crc32(Seeds::PerSwitch);
    let mut mask = LinkMask::none(&fabric);
    let healthy = Forwarding::new(&fabric, &mask);
    let (host, target) = (HostId(0), HostId(4));
    let nics = own_nics(&fabric, host);
    let mut agent = HostAgent::new(&fabric, ecmp, &nics);
    for &nic in &nics {
        for port in 0..2 {
            for queue_pair in 10..18 {
                let to = fabric.nic(target, nic.0 - nics[0].0);
                agent.connect(NicPort { nic, port }, to, queue_pair, &mut &healthy).unwrap();
            }
        }
    }
    // Eight queue pairs a port on the eight uplinks of its leaf.
    let mut uses = BTreeMap::new();
    for path in paths(&fabric, &healthy, &ecmp, &agent).into_iter().flatten() {
        *uses.entry(path[1]).or_insert(0) += 1;
    }
    assert_eq!((uses.len(), uses.values().max()), (32, Some(&1)));
    assert_eq!((agent.messages(), agent.leaves().len()), (4, 4));

    let dead = agent.connections()[3].uplink.unwrap();
    mask.set_cable(dead.cable(), true);
    let after = Forwarding::new(&fabric, &mask);
    let leaf = fabric.switch_row(fabric.source(dead)).unwrap();
    let before = agent.connections().to_vec();
    let Refreshed { kept, ported, moved, stranded } = agent.refresh(leaf, &mut &after);
    assert_eq!((agent.messages(), kept + ported, moved, stranded), (5, 7, 1, 0));
    for (path, (old, new)) in
        paths(&fabric, &after, &ecmp, &agent).into_iter().zip(before.iter().zip(agent.connections()))
    {
        let path = path.unwrap();
        assert_eq!(Some(path[1]), new.uplink);
        assert!(path[1] != dead);
        let of_leaf = fabric.switch_row(fabric.target(path[0])) == Some(leaf);
        assert!(of_leaf || old == new, "other leaves were not asked");
        assert!(old.uplink == new.uplink || old.uplink == Some(dead));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn connections_go_where_the_agent_says_whatever_dies(
        fabric in any_fabric(), ecmp in any_ecmp(), host: prop::sample::Index,
        targets in prop::collection::vec(any::<(prop::sample::Index, u16)>(), 1..10),
        deaths in prop::collection::vec(any::<prop::sample::Index>(), 1..5),
    ) {
        let host = HostId(host.index(fabric.hosts().len()) as u32);
        let own = own_nics(&fabric, host);
        let mut mask = LinkMask::none(&fabric);
        let mut tables = Forwarding::new(&fabric, &mask);
        let mut agent = HostAgent::new(&fabric, ecmp, &own);
        let everywhere = nics(&fabric);
        for (index, (target, draw)) in targets.iter().enumerate() {
            let source = NicPort { nic: own[index % own.len()], port: u32::from(*draw) % 2 };
            agent.connect(source, *target.get(&everywhere), u32::from(*draw), &mut &tables);
        }
        let cables: Vec<_> = network_cables(&fabric)
            .into_iter()
            .filter(|&cable| fabric.cable_class(cable) != CableClass::Access)
            .collect();
        for death in deaths.iter().filter(|_| !cables.is_empty()) {
            let cable = *death.get(&cables);
            mask.set_cable(cable, !mask.is_down(cable.forward()));
            tables = Forwarding::new(&fabric, &mask);
            let before = agent.clone();
            for leaf in agent.leaves() {
                let (asked, new) = (agent.messages(), agent.refresh(leaf, &mut &tables));
                let concerned = new.kept + new.ported + new.moved + new.stranded;
                prop_assert_eq!(agent.messages() - asked, u64::from(concerned > 0));
            }
            for (path, (old, new)) in paths(&fabric, &tables, &ecmp, &agent)
                .into_iter()
                .zip(before.connections().iter().zip(agent.connections()))
            {
                prop_assert!(path.is_none() || path.as_ref().map(|path| path[1]) == new.uplink);
                prop_assert!(new.uplink.is_none_or(|link| !mask.is_down(link)));
                // Who can stay stays: it moves only off a link that its leaf no longer takes.
                if let Some(link) = old.uplink.filter(|&link| Some(link) != new.uplink) {
                    let leaf = fabric.switch_row(fabric.source(link)).unwrap();
                    let group = tables.next_links(leaf, new.target);
                    prop_assert!(!group.contains(&link) || group.len() > 1);
                }
            }
        }
    }
}
