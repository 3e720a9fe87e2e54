//! The design report: what a fabric consists of, counted on the built graph and nowhere else.
use std::collections::BTreeSet;

use railtwin_units::Rate;
use serde::Serialize;

use crate::connectivity::single_points_of_failure;
use crate::graph::{CableClass, DeviceId, DeviceKind, Fabric, HostId, NONE, PortRole};
use crate::name::tier_name;

/// Ports and capacity of one tier's switches, of the first switch of the tier.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TierReport {
    /// `leaf`, `spine` or `core`, of the frontend network `frontend-leaf` and so on.
    pub tier: &'static str,
    /// Switches of the tier.
    pub switches: u32,
    /// Cabled ports towards active hosts or lower switches.
    pub down_ports: u32,
    /// Capacity of one such port.
    pub down_capacity: Rate,
    /// Ports towards backup hosts.
    pub spare_ports: u32,
    /// Ports away from the hosts, cabled or held for the tier above.
    pub up_ports: u32,
    /// Capacity of one such port.
    pub up_capacity: Rate,
    /// Capacity of all ports.
    pub chip_used: Rate,
    /// Active down capacity over up capacity; none for the top tier.
    pub oversubscription: Option<f64>,
    /// The same with the backup hosts live.
    pub oversubscription_with_spares: Option<f64>,
}

/// What a fabric consists of.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DesignReport {
    /// Name of the fabric.
    pub fabric: String,
    /// Pods.
    pub pods: u32,
    /// Segments in all pods.
    pub segments: u32,
    /// Planes of tier 2; 1 when it is not split.
    pub planes: u32,
    /// Scale-up domains of active hosts, where such a domain is made of several hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domains_active: Option<u32>,
    /// Active hosts: all trays of scale-up domains.
    pub hosts_active: u32,
    /// Backup hosts.
    pub hosts_spare: u32,
    /// GPUs of active hosts.
    pub gpus_active: u32,
    /// GPUs of backup hosts.
    pub gpus_spare: u32,
    /// Active GPUs in the first segment.
    pub gpus_per_segment: u32,
    /// GPUs of backup hosts in the first segment.
    pub spare_gpus_per_segment: u32,
    /// Active GPUs in the first pod.
    pub gpus_per_pod: u32,
    /// Active GPUs under the first leaf (the leaf set that a NIC reaches).
    pub gpus_per_leaf_set: u32,
    /// Leaves in the first segment.
    pub leaves_per_segment: u32,
    /// Leaves that the first host reaches.
    pub leaves_per_host: u32,
    /// Spines of one plane in the first pod.
    pub spines_per_plane: u32,
    /// The tiers, leaf first.
    pub tiers: Vec<TierReport>,
    /// Cables of this report that are one physical cable: 2 where ports of switches are split in two.
    #[serde(skip_serializing_if = "is_one")]
    pub breakout: u32,
    /// Cables from active hosts to leaves.
    pub cables_access: u32,
    /// Cables from backup hosts to leaves.
    pub cables_access_spare: u32,
    /// Cables from leaf to spine.
    pub cables_leaf_spine: u32,
    /// Cables from spine to core.
    pub cables_spine_core: u32,
    /// Cables between switches of one tier, or between NICs.
    #[serde(skip_serializing_if = "is_none")]
    pub cables_peer: u32,
    /// Cables from all hosts to leaves of the frontend.
    #[serde(skip_serializing_if = "is_none")]
    pub cables_frontend_access: u32,
    /// Cables from leaf to spine of the frontend.
    #[serde(skip_serializing_if = "is_none")]
    pub cables_frontend_leaf_spine: u32,
    /// Cables from spine to core of the frontend.
    #[serde(skip_serializing_if = "is_none")]
    pub cables_frontend_spine_core: u32,
    /// Storage hosts, wherever they stand.
    #[serde(skip_serializing_if = "is_none")]
    pub storage_hosts: u32,
    /// Gateways, wherever they stand.
    #[serde(skip_serializing_if = "is_none")]
    pub gateways: u32,
    /// Backend capacity of the first host.
    pub host_backend: Rate,
    /// Frontend capacity of the first host.
    pub host_frontend: Rate,
    /// NVLink over NIC capacity of one GPU, per direction; none without NVLink.
    pub nvlink_to_nic: Option<f64>,
    /// Choices that a host has for a path from one of its ports to another segment of its pod: the
    /// product of fan-outs on the way up, then 1 if the way down is decided (HPN table 1).
    pub path_choices: u32,
    /// Leaves whose loss alone cuts off a NIC.
    pub leaf_single_points_of_failure: u32,
    /// BGP speakers where switches alone speak it: one daemon each.
    pub bgp_speakers: u32,
    /// The same where hosts speak BGP in place of LACP (HPN section 4.2 rejects that: slower convergence, ten times as
    /// many daemons to upgrade).
    pub bgp_speakers_with_hosts: u32,
}

impl DesignReport {
    /// Counts a fabric.
    pub fn of(fabric: &Fabric) -> Self {
        let hosts = fabric.hosts();
        let gpus = |keep: &dyn Fn(&crate::graph::Host) -> bool| -> u32 {
            hosts.iter().filter(|h| keep(h)).map(|h| fabric.host_models()[h.model as usize].gpus).sum()
        };
        let trays = |spare: bool| -> u32 {
            let of = hosts.iter().filter(|h| h.spare == spare);
            of.map(|h| fabric.host_models()[h.model as usize].trays).sum()
        };
        let has_trays = fabric.host_models().iter().any(|model| model.trays > 1);
        let services = (fabric.all_hosts().len() - hosts.len()) as u32;
        let first = hosts.first().map_or((NONE, NONE), |h| (h.pod, h.segment));
        let in_first = |h: &crate::graph::Host| (h.pod, h.segment) == first;
        let leaves: Vec<_> = fabric.switches().iter().filter(|(_, p)| p.tier == 1).collect();
        let spines: Vec<_> = fabric.switches().iter().filter(|(_, p)| p.tier == 2).collect();
        let planes: BTreeSet<u32> = spines.iter().map(|(_, p)| p.plane).collect();
        let access = count_access(fabric);
        let class = |class| fabric.cables().filter(|&c| fabric.cable_class(c) == class).count() as u32;
        let model = (!hosts.is_empty()).then(|| fabric.host_model(HostId(0)));
        Self {
            fabric: fabric.name().to_owned(),
            pods: hosts.iter().map(|h| h.pod).collect::<BTreeSet<_>>().len() as u32,
            segments: hosts.iter().map(|h| (h.pod, h.segment)).collect::<BTreeSet<_>>().len() as u32,
            planes: planes.len().max(1) as u32,
            domains_active: has_trays.then(|| hosts.iter().filter(|h| !h.spare).count() as u32),
            hosts_active: trays(false),
            hosts_spare: trays(true),
            gpus_active: gpus(&|h| !h.spare),
            gpus_spare: gpus(&|h| h.spare),
            gpus_per_segment: gpus(&|h| !h.spare && in_first(h)),
            spare_gpus_per_segment: gpus(&|h| h.spare && in_first(h)),
            gpus_per_pod: gpus(&|h| !h.spare && h.pod == first.0),
            gpus_per_leaf_set: leaves.first().map_or(0, |(leaf, _)| gpus_under(fabric, *leaf)),
            leaves_per_segment: leaves.iter().filter(|(_, p)| (p.pod, p.segment) == first).count() as u32,
            leaves_per_host: model.map_or(0, |_| leaves_of_host(fabric, HostId(0))),
            spines_per_plane: spines
                .iter()
                .filter(|(_, p)| p.pod == first.0 && Some(&p.plane) == planes.first())
                .count() as u32,
            tiers: (1..=6).filter_map(|tier| tier_report(fabric, tier)).collect(),
            breakout: fabric.breakout(),
            cables_access: access.0,
            cables_access_spare: access.1,
            cables_leaf_spine: class(CableClass::LeafSpine),
            cables_spine_core: class(CableClass::SpineCore),
            cables_peer: class(CableClass::Peer),
            cables_frontend_access: class(CableClass::FrontendAccess),
            cables_frontend_leaf_spine: class(CableClass::FrontendLeafSpine),
            cables_frontend_spine_core: class(CableClass::FrontendSpineCore),
            storage_hosts: fabric.storage_hosts().len() as u32,
            gateways: fabric.gateways().len() as u32,
            host_backend: model.map_or(Rate::ZERO, |_| host_capacity(fabric, PortRole::Backend)),
            host_frontend: model.map_or(Rate::ZERO, |_| host_capacity(fabric, PortRole::Frontend)),
            nvlink_to_nic: model.and_then(|m| {
                let nic = host_capacity(fabric, PortRole::Backend).bits_per_s() as f64 / f64::from(m.gpus);
                m.nvlink.map(|nvlink| nvlink.bits_per_s() as f64 / nic)
            }),
            path_choices: path_choices(fabric),
            leaf_single_points_of_failure: single_points_of_failure(fabric, 1).len() as u32,
            bgp_speakers: fabric.switches().len() as u32,
            bgp_speakers_with_hosts: fabric.switches().len() as u32 + trays(false) + trays(true) + services,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Access cables of active hosts, storage hosts among them, and of backup hosts.
fn count_access(fabric: &Fabric) -> (u32, u32) {
    let mut counts = (0, 0);
    for cable in fabric.cables().filter(|&c| fabric.cable_class(c) == CableClass::Access) {
        let host = fabric.host_of(fabric.source(cable.forward())).expect("access cables start at a NIC");
        if fabric.host(host).spare { counts.1 += 1 } else { counts.0 += 1 }
    }
    counts
}

/// Active GPUs whose NIC has a cable into `leaf`.
fn gpus_under(fabric: &Fabric, leaf: DeviceId) -> u32 {
    let nics: BTreeSet<DeviceId> = fabric
        .neighbors(leaf)
        .iter()
        .map(|&(_, device)| device)
        .filter(|&d| fabric.kind(d) == DeviceKind::Nic)
        .filter(|&d| fabric.host_of(d).is_some_and(|h| !fabric.host(h).spare))
        .collect();
    let gpus: BTreeSet<DeviceId> = nics
        .iter()
        .flat_map(|&nic| fabric.neighbors(nic).iter().map(|&(_, device)| device))
        .filter(|&d| fabric.kind(d) == DeviceKind::Gpu)
        .collect();
    gpus.len() as u32
}

fn leaves_of_host(fabric: &Fabric, host: HostId) -> u32 {
    let nics = (0..fabric.host_model(host).nics).map(|nic| fabric.nic(host, nic));
    let leaves: BTreeSet<DeviceId> = nics
        .flat_map(|nic| fabric.neighbors(nic).iter().map(|&(_, device)| device))
        .filter(|&d| fabric.kind(d) == DeviceKind::Switch)
        .collect();
    leaves.len() as u32
}

/// Capacity of the first host's ports of one role.
fn host_capacity(fabric: &Fabric, role: PortRole) -> Rate {
    let host = HostId(0);
    let devices = fabric.devices().take_while(|&d| fabric.host_of(d) == Some(host));
    let ports = devices.flat_map(|d| fabric.ports(d)).filter(|&p| fabric.port_role(p) == role);
    Rate::from_bits_per_s(ports.map(|p| fabric.port_capacity(p).bits_per_s()).sum())
}

fn tier_report(fabric: &Fabric, tier: u8) -> Option<TierReport> {
    let mut of_tier = fabric.switches().iter().filter(|(_, p)| p.tier == tier);
    let (device, _) = of_tier.clone().next()?;
    let (mut down, mut spare, mut up, mut used) = ((0, Rate::ZERO), 0, (0, Rate::ZERO), 0);
    for port in fabric.ports(*device) {
        used += fabric.port_capacity(port).bits_per_s();
        match fabric.port_role(port) {
            PortRole::Up => {
                up = (up.0 + 1, fabric.port_capacity(port));
                continue;
            }
            PortRole::Peer => continue,
            _ => {}
        }
        let link = fabric.cable_at(port).map(|cable| fabric.link_from(cable, port));
        let host = link.and_then(|link| fabric.host_of(fabric.target(link)));
        if host.is_some_and(|host| fabric.host(host).spare) {
            spare += 1;
        } else {
            down = (down.0 + 1, fabric.port_capacity(port));
        }
    }
    let capacity = |(count, rate): (u32, Rate)| (rate * u64::from(count)).bits_per_s() as f64;
    let ratio = |ports: u32| (up.0 > 0).then(|| capacity((ports, down.1)) / capacity(up));
    Some(TierReport {
        tier: tier_name(tier),
        switches: of_tier.by_ref().count() as u32,
        down_ports: down.0,
        down_capacity: down.1,
        spare_ports: spare,
        up_ports: up.0,
        up_capacity: up.1,
        chip_used: Rate::from_bits_per_s(used),
        oversubscription: ratio(down.0),
        oversubscription_with_spares: ratio(down.0 + spare),
    })
}

/// Fan-outs that decide a path between two segments of a pod, multiplied: uplinks of the leaf, then the
/// ways from a spine down to the leaves of the target NIC.
fn path_choices(fabric: &Fabric) -> u32 {
    let Some(first) = fabric.hosts().first() else {
        return 0;
    };
    let other = fabric.hosts().iter().position(|h| h.pod == first.pod && h.segment != first.segment);
    let Some(other) = other.map(HostId::from_index) else {
        return 1;
    };
    let leaves = |host: HostId| -> Vec<DeviceId> {
        let nic = fabric.nic(host, 0);
        let switches = fabric.neighbors(nic).iter().map(|&(_, device)| device);
        switches.filter(|&d| fabric.kind(d) == DeviceKind::Switch).collect()
    };
    let targets = leaves(other);
    let Some(&leaf) = leaves(HostId(0)).first() else {
        return 0;
    };
    let spines: Vec<DeviceId> = up_neighbors(fabric, leaf).collect();
    let down = |spine: DeviceId| fabric.neighbors(spine).iter().filter(|(_, d)| targets.contains(d)).count();
    let ways = spines.iter().map(|&spine| down(spine)).max().unwrap_or(0);
    (spines.len() * ways) as u32
}

fn up_neighbors(fabric: &Fabric, leaf: DeviceId) -> impl Iterator<Item = DeviceId> + '_ {
    let is_up = |link: crate::LinkId| fabric.cable_class(link.cable()) != CableClass::Peer;
    let above = move |&(link, device): &(crate::LinkId, DeviceId)| {
        fabric.place(device).filter(|_| is_up(link)).map(|_| device)
    };
    fabric.neighbors(leaf).iter().filter_map(above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::{AiZone, DcnPlus, FatTree, Hpn, LeafSpine, Tier2};

    fn report(fabric: Fabric) -> DesignReport {
        DesignReport::of(&fabric)
    }

    #[test]
    fn hpn_counts_equal_the_paper() {
        let r = report(Hpn::default().build().unwrap());
        assert_eq!((r.gpus_active, r.gpus_spare, r.segments, r.planes), (15_360, 960, 15, 2));
        assert_eq!((r.gpus_per_segment, r.spare_gpus_per_segment, r.leaves_per_segment), (1024, 64, 16));
        assert_eq!((r.gpus_per_leaf_set, r.leaves_per_host, r.spines_per_plane), (128, 16, 60));
        let leaf = &r.tiers[0];
        assert_eq!((leaf.switches, leaf.down_ports, leaf.spare_ports, leaf.up_ports), (240, 128, 8, 60));
        assert_eq!(leaf.chip_used, Rate::from_gbps(51_200));
        assert!((leaf.oversubscription.unwrap() - 16.0 / 15.0).abs() < 1e-12);
        let spine = &r.tiers[1];
        assert_eq!((spine.switches, spine.down_ports, spine.up_ports), (120, 120, 8));
        assert_eq!(spine.oversubscription, Some(15.0));
        assert_eq!((r.cables_access, r.cables_access_spare, r.cables_leaf_spine), (30_720, 1_920, 14_400));
        assert_eq!((r.bgp_speakers, r.bgp_speakers_with_hosts), (360, 360 + 1_920 + 120));
        assert_eq!((r.host_backend, r.host_frontend), (Rate::from_gbps(3_200), Rate::from_gbps(400)));
        assert_eq!((r.nvlink_to_nic, r.path_choices, r.leaf_single_points_of_failure), (Some(4.0), 60, 0));
    }

    #[test]
    fn rail_only_tier_2_has_sixteen_planes() {
        let r = report(Hpn { tier2: Tier2::RailOnly, ..Hpn::default() }.build().unwrap());
        assert_eq!((r.planes, r.gpus_active, r.tiers[1].down_ports), (16, 122_880, 120));
    }

    #[test]
    fn dcn_plus_counts_equal_the_paper_with_eight_parallel_cables() {
        let r = report(DcnPlus::default().build().unwrap());
        assert_eq!((r.gpus_active, r.pods, r.gpus_per_segment, r.gpus_per_pod), (16_384, 32, 128, 512));
        let switches: Vec<u32> = r.tiers.iter().map(|t| t.switches).collect();
        assert_eq!(switches, [256, 256, 128]);
        assert_eq!((r.cables_access, r.cables_leaf_spine, r.cables_spine_core), (32_768, 16_384, 16_384));
        assert_eq!((r.tiers[0].oversubscription, r.tiers[1].oversubscription), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn several_pods_share_the_core_evenly() {
        let fabric = Hpn { pods: 3, segments: Some(2), hosts: Some(2), ..Hpn::default() }.build().unwrap();
        for &(device, place) in fabric.switches().iter().filter(|(_, p)| p.tier == 3) {
            let mut pods = [0; 3];
            for &(_, spine) in fabric.neighbors(device) {
                let spine = fabric.place(spine).unwrap();
                assert_eq!(spine.plane, place.plane, "planes stay apart in the core");
                pods[spine.pod as usize] += 1;
            }
            assert_eq!(pods, [8; 3]);
        }
    }

    #[test]
    fn fat_tree_of_48_holds_27648_hosts() {
        let r = report(FatTree { k: 48, ..FatTree::default() }.build().unwrap());
        assert_eq!(r.gpus_active, 27_648);
        assert_eq!(r.tiers.iter().map(|t| t.switches).sum::<u32>(), 5 * 48 * 48 / 4);
    }

    #[test]
    fn a_leaf_with_more_ports_than_its_chip_is_refused() {
        let error = Hpn { hosts: Some(200), ..Hpn::default() }.build().unwrap_err().to_string();
        assert!(error.contains("a leaf switch needs 208 × 200 Gbps down"), "{error}");
        assert!(Hpn { segments: Some(16), ..Hpn::default() }.build().is_err());
    }

    #[test]
    fn a_switch_that_nobody_builds_is_refused_where_no_chip_is_said() {
        // 64 hosts × 8 NICs × one port of 200 Gbps each, and 32 × 400 Gbps up.
        let wide = LeafSpine { leaves: 2, hosts_per_leaf: 64, uplinks: 32, ..LeafSpine::default() };
        let error = wide.build().unwrap_err().to_string();
        assert!(
            error.contains("115.2 Tbps in all, but the largest such switch that there is has 102.4 Tbps")
        );
        assert!(error.contains("as chip"), "{error}");
        let said = LeafSpine { chip: Some(Rate::from_gbps(115_200)), ..wide.clone() };
        assert!(said.build().is_ok(), "who says what the switch has is believed");
        let fits = LeafSpine { hosts_per_leaf: 56, ..wide };
        assert!(fits.build().is_ok(), "102.4 Tbps to the last port");
        // 1,154 leaves of one uplink of 400 Gbps each are 461.6 Tbps in a spine; 1,152 fill the largest.
        let many = LeafSpine { leaves: 1_154, hosts_per_leaf: 1, uplinks: 1, ..LeafSpine::default() };
        let error = many.build().unwrap_err().to_string();
        assert!(error.contains("a spine switch needs 1154 × 400 Gbps down"), "{error}");
        assert!(LeafSpine { leaves: 1_152, ..many }.build().is_ok());
        let racks = AiZone { hosts: 40, ..AiZone::default() }.build().unwrap_err().to_string();
        assert!(racks.contains("135.2 Tbps in all"), "{racks}");
        let tree = FatTree { k: 256, capacity: Rate::from_gbps(800), ..FatTree::default() }
            .build()
            .unwrap_err()
            .to_string();
        assert!(tree.contains("needs 204.8 Tbps, but the largest chip"), "{tree}");
    }
}
