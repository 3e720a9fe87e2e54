//! Hosts, small fabrics, and their parts by name.
use std::sync::Arc;

use railtwin_fabric::preset::{DcnPlus, FatTree, Hpn, LeafSpine};
use railtwin_fabric::{
    CableClass, CableId, DeviceId, DeviceKind, Fabric, HostId, HostModel, HostSpec, LinkId,
};
use railtwin_units::{Rate, SimTime};

/// A host with a NIC for every GPU, of so many ports of so many Gbps each; inside it is an HGX H800.
pub fn host(gpus: u32, ports: u32, gbps: u64) -> HostSpec {
    let capacity = Some(Rate::from_gbps(gbps));
    HostSpec {
        gpus: Some(gpus),
        nics: Some(gpus),
        nic_ports: Some(ports),
        nic_port_capacity: capacity,
        ..HostSpec::named("hgx-h800")
    }
}

/// A host of one GPU whose NIC has so many ports of so many Gbps each, behind a PCIe that does not bind.
pub fn plain_host(ports: u32, gbps: u64) -> HostSpec {
    let pcie = HostModel::plain(Rate::from_gbps(u64::from(ports) * gbps)).pcie;
    HostSpec { pcie: Some(pcie), model: Some("plain".to_owned()), ..host(1, ports, gbps) }
}

/// A host of one GPU whose NIC has two ports of so many Gbps each.
pub fn dual_port(gbps: u64) -> HostSpec {
    plain_host(2, gbps)
}

/// Hosts under one leaf that has no uplinks: no path but one.
pub fn one_leaf(host: HostSpec, hosts: u32) -> LeafSpine {
    LeafSpine { host, leaves: 1, hosts_per_leaf: hosts, uplinks: 0, ..LeafSpine::default() }
}

/// Leaves with so many hosts and uplinks each, every uplink to a spine of its own.
pub fn leaves(host: HostSpec, leaves: u32, hosts_per_leaf: u32, uplinks: u32) -> LeafSpine {
    LeafSpine { host, leaves, hosts_per_leaf, uplinks, ..LeafSpine::default() }
}

/// The same of hosts with one GPU and one port of 400 Gbps.
pub fn plain(leaves: u32, hosts_per_leaf: u32, uplinks: u32) -> Fabric {
    self::leaves(plain_host(1, 400), leaves, hosts_per_leaf, uplinks).build().expect("a small leaf-spine")
}

/// A leaf-spine fabric of plain hosts whose switches take no time: leaves, hosts of a leaf, spines, rate of hosts and of
/// uplinks in Gbps, delay of every cable in ns.
pub fn leaf_spine(
    leaves: u32,
    hosts: u32,
    spines: u32,
    (gbps, uplink): (u64, u64),
    delay: u64,
) -> Arc<Fabric> {
    let preset = LeafSpine {
        uplink_capacity: Rate::from_gbps(uplink),
        delay: SimTime::from_ns(delay),
        switch_latency: SimTime::ZERO,
        ..self::leaves(plain_host(1, gbps), leaves, hosts, spines)
    };
    Arc::new(preset.build().expect("a small leaf-spine"))
}

/// A fat-tree of switches with `k` ports of so many Gbps, its cables as long as the preset has them.
pub fn fat_tree(k: u32, gbps: u64) -> Arc<Fabric> {
    let preset = FatTree { k, capacity: Rate::from_gbps(gbps), ..FatTree::default() };
    Arc::new(preset.build().expect("a small fat-tree"))
}

/// The fabric of the peers' measurements: 16 leaves of 8 hosts, 8 spines, 100 Gbps and 1 us everywhere.
pub fn t128() -> Arc<Fabric> {
    leaf_spine(16, 8, 8, (100, 100), 1_000)
}

/// Two leaves with four uplinks each and half of the hosts each, every GPU with a port of 100 Gbps.
pub fn rails(hosts: u32, gpus: u32) -> Arc<Fabric> {
    let preset = leaves(host(gpus, 1, 100), 2, hosts / 2, 4);
    Arc::new(preset.build().expect("a small leaf-spine"))
}

/// A pod of an HPN without spare hosts: segments, hosts of a segment, spines of a plane.
pub fn hpn(host: HostSpec, segments: u32, hosts: u32, spines: u32) -> Hpn {
    let (segments, hosts, spines) = (Some(segments), Some(hosts), Some(spines));
    Hpn { host, segments, hosts, spare_hosts: Some(0), spines, ..Hpn::default() }
}

/// Two pods of two segments of so many hosts, two spines of two parallel uplinks and four cores.
pub fn dcn_plus(host: HostSpec, hosts: u32) -> DcnPlus {
    DcnPlus { host, pods: 2, segments: 2, hosts, spines: 2, parallel: 2, cores: 4, ..DcnPlus::default() }
}

/// GPUs of all hosts.
pub fn gpus(fabric: &Fabric) -> u32 {
    fabric.hosts().iter().map(|host| fabric.host_models()[host.model as usize].gpus).sum()
}

/// All backend NICs, host by host.
pub fn nics(fabric: &Fabric) -> Vec<DeviceId> {
    let hosts = (0..fabric.hosts().len()).map(HostId::from_index);
    let of = |host| (0..fabric.host_model(host).nics).map(move |nic| fabric.nic(host, nic));
    hosts.flat_map(of).collect()
}

/// The first NIC of a host.
pub fn nic(fabric: &Fabric, host: u32) -> DeviceId {
    fabric.nic(HostId(host), 0)
}

/// The link into the first port of a host's first NIC.
pub fn into_host(fabric: &Fabric, host: u32) -> LinkId {
    fabric.access_link(nic(fabric, host), 0).expect("its first port is cabled").reverse()
}

/// Whether a cable leads from a NIC to a switch, or from switch to switch.
pub fn is_network(fabric: &Fabric, cable: CableId) -> bool {
    fabric.cable_class(cable) >= CableClass::Access
}

/// Cables between NICs and switches and among switches.
pub fn network_cables(fabric: &Fabric) -> Vec<CableId> {
    fabric.cables().filter(|&cable| is_network(fabric, cable)).collect()
}

/// All ways from the link out of one NIC to the link into another, over one leaf or two with a spine between.
pub fn ways(fabric: &Fabric, up: LinkId, down: LinkId) -> Vec<Vec<LinkId>> {
    let (first, last) = (fabric.target(up), fabric.source(down));
    if first == last {
        return vec![vec![up, down]];
    }
    let spines = fabric.neighbors(first).iter().filter(|(_, far)| fabric.kind(*far) == DeviceKind::Switch);
    let over = |&(link, spine): &(LinkId, DeviceId)| {
        let onward = fabric.neighbors(spine).iter().filter(|(_, leaf)| *leaf == last);
        onward.map(move |&(onward, _)| vec![up, link, onward, down])
    };
    spines.flat_map(over).collect()
}

/// The links of a class.
pub fn links_of(fabric: &Fabric, class: CableClass) -> Vec<LinkId> {
    let links = (0..fabric.link_count()).map(LinkId::from_index);
    links.filter(|link| fabric.cable_class(link.cable()) == class).collect()
}
