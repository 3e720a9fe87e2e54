//! What links carried, of the network only: from NIC to NIC.
use std::collections::BTreeMap;

use railtwin_engine::{Case, RunLog};
use railtwin_fabric::{CableClass, CableId, DeviceId, Fabric, LinkId, PortRole};
use railtwin_units::SimTime;

use crate::capacity::Capacities;

/// What stands at either end of a network link, from the hosts upwards.
pub const ENDS: [&str; 7] =
    ["nic", "leaf", "spine", "core", "frontend_leaf", "frontend_spine", "frontend_core"];

/// A hop: where a link begins and where it ends, as entries of [`ENDS`].
pub type Hop = (u8, u8);

/// The tier of a device: 0 for a NIC, then leaf, spine, core, and the same of the frontend.
pub fn tier(fabric: &Fabric, device: DeviceId) -> u8 {
    fabric.place(device).map_or(0, |place| place.tier)
}

/// The links between NICs, in order of their ids.
pub fn network_links(fabric: &Fabric) -> impl Iterator<Item = LinkId> + '_ {
    network_cables(fabric).flat_map(|cable| [cable.forward(), cable.backward()])
}

/// The links between NICs by hop, each in order of its id.
pub fn links_by_hop(fabric: &Fabric) -> BTreeMap<Hop, Vec<LinkId>> {
    let mut hops: BTreeMap<Hop, Vec<LinkId>> = BTreeMap::new();
    for link in network_links(fabric) {
        let ends = [fabric.source(link), fabric.target(link)].map(|device| tier(fabric, device));
        hops.entry((ends[0], ends[1])).or_default().push(link);
    }
    hops
}

/// The cables between NICs, in order.
pub fn network_cables(fabric: &Fabric) -> impl Iterator<Item = CableId> + '_ {
    fabric.cables().filter(|&cable| fabric.cable_class(cable) >= CableClass::Access)
}

/// Bytes of a link over what it could have carried meanwhile, 0..1, at the capacity that faults left it at each time.
pub fn utilization(case: &Case, log: &RunLog, capacities: &Capacities, link: LinkId) -> f64 {
    let most = capacities.bytes(case, link, (SimTime::ZERO, log.counted()));
    let used = if most > 0.0 { log.link_bytes[link.index()] / most } else { 0.0 };
    // Packets enter a link until the moment in which its cable dies.
    if capacities.is_whole(link) { used } else { used.min(1.0) }
}

/// Utilization of the most used network link.
pub fn worst_utilization(case: &Case, log: &RunLog, capacities: &Capacities) -> f64 {
    network_links(&case.fabric).map(|link| utilization(case, log, capacities, link)).fold(0.0, f64::max)
}

/// How evenly the uplinks of leaves are used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UplinkUse {
    /// Utilization of the least used uplink.
    pub min: f64,
    /// Mean over uplinks.
    pub mean: f64,
    /// Utilization of the most used uplink.
    pub max: f64,
}

/// Utilization of those uplinks of leaves that carried anything (Meta RoCE section 4.4.2); none where none did.
pub fn uplink_use(case: &Case, log: &RunLog, capacities: &Capacities) -> Option<UplinkUse> {
    let fabric = &case.fabric;
    let leaves = fabric.switches().iter().filter(|(_, place)| place.tier == 1);
    let ports = leaves.flat_map(|&(leaf, _)| fabric.ports(leaf));
    let up = ports.filter(|&port| fabric.port_role(port) == PortRole::Up);
    let links = up.filter_map(|port| fabric.cable_at(port).map(|cable| fabric.link_from(cable, port)));
    let used: Vec<f64> = links
        .map(|link| utilization(case, log, capacities, link))
        .filter(|&utilization| utilization > 0.0)
        .collect();
    let min = used.iter().copied().reduce(f64::min)?;
    let max = used.iter().copied().reduce(f64::max)?;
    Some(UplinkUse { min, mean: used.iter().sum::<f64>() / used.len() as f64, max })
}

#[cfg(test)]
mod tests {
    use crate::{Question, Run};

    /// One flow each way: one uplink of four is used at each leaf, and fully.
    #[test]
    fn unused_uplinks_do_not_count() {
        let text = "schema = 1\nname = \"b\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\n\
                    hosts_per_leaf = 1\nuplinks = 4\nhost = { model = \"plain\" }\n[[job]]\nhosts = 2\n\
                    collective = { kind = \"send-receive\", bytes = \"10 GB\" }\n";
        let question = Question::of_text("b.toml", text, std::path::Path::new("."));
        let run = Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ());
        for part in ["min", "mean", "max"] {
            let value = run.figure(&format!("leaf_uplink_utilization_{part}")).unwrap();
            assert!((0.999..=1.0).contains(&value), "{part}: {value}");
        }
    }

    /// Half of the bytes on an uplink of twice the capacity of the NIC: a quarter is used by each of two queue pairs
    /// on links of their own, half where one link takes both.
    #[test]
    fn utilization_tells_spread_from_collision() {
        let value = |balancer: &str, name: &str| {
            let text = format!(
                "schema = 1\nname = \"b\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\n\
                 hosts_per_leaf = 1\nuplinks = 2\nuplink_capacity = \"800 Gbps\"\nhost = {{ model = \"plain\" }}\n\
                 [routing]\nbalancer = \"{balancer}\"\nqueue_pairs = 2\n[[job]]\nhosts = 2\n\
                 collective = {{ kind = \"send-receive\", bytes = \"10 GB\" }}\n"
            );
            let question = Question::of_text("b.toml", &text, std::path::Path::new("."));
            let run = Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ());
            run.figure(&format!("leaf_uplink_utilization_{name}")).unwrap()
        };
        assert!((value("disjoint", "min") - 0.25).abs() < 1e-3);
        assert!((value("pinned", "min") - 0.5).abs() < 1e-3);
        assert_eq!(value("pinned", "max"), value("pinned", "mean"));
    }
}
