//! Random fabrics of presets, and what is the same of two topologies whatever names devices have.
use std::collections::BTreeMap;

use proptest::prelude::*;
use railtwin_fabric::preset::{AiZone, DcnPlus, FatTree, Hpn, LeafSpine, Preset, Rlft};
use railtwin_fabric::{Fabric, HostSpec};
use railtwin_topology::{SourceFile, Topology, WriteOptions};
use railtwin_units::{Rate, SimTime};

/// A form by its name.
pub fn form(name: &str) -> &'static railtwin_topology::Form {
    railtwin_topology::FORMS.iter().find(|form| form.name == name).expect("a form of this name")
}

/// Reads text by a form.
pub fn read(name: &str, text: &str) -> Result<Topology, railtwin_formats::FormatError> {
    form(name).read.expect("a form that is read")(&[SourceFile { name: "test", bytes: text.as_bytes() }])
}

/// Writes the one file of a form.
pub fn write(name: &str, topology: &Topology) -> Result<String, railtwin_formats::FormatError> {
    let written = form(name).write.expect("a form that is written")(topology, &WriteOptions::default())?;
    assert_eq!(written.len(), 1);
    Ok(written[0].text.clone())
}

/// Hosts of small fabrics: GPUs, NICs, ports of a NIC.
fn host() -> impl Strategy<Value = HostSpec> {
    (1_u32..=4, 1_u32..=2).prop_map(|(gpus, ports)| HostSpec {
        gpus: Some(gpus),
        nics: Some(gpus),
        nic_ports: Some(ports),
        ..HostSpec::default()
    })
}

/// Small fabrics of every preset.
pub fn fabrics() -> impl Strategy<Value = Fabric> {
    let leaf_spine = (1_u32..=4, 1_u32..=3, 1_u32..=3, 1_u32..=2, host()).prop_map(
        |(leaves, hosts_per_leaf, uplinks, parallel, host)| {
            let leaves = leaves * host.nic_ports.unwrap_or(1);
            Preset::LeafSpine(LeafSpine {
                leaves,
                hosts_per_leaf,
                uplinks,
                parallel,
                host,
                ..LeafSpine::default()
            })
        },
    );
    let fat_tree =
        (1_u32..=3).prop_map(|half| Preset::FatTree(FatTree { k: 2 * half, ..FatTree::default() }));
    let hpn = (1_u32..=2, 1_u32..=3, 0_u32..=1, any::<bool>(), host()).prop_map(
        |(segments, hosts, spares, planes, host)| {
            let (segments, hosts, spare_hosts) = (Some(segments), Some(hosts), Some(spares));
            Preset::Hpn(Hpn { segments, hosts, spare_hosts, planes, spines: Some(2), host, ..Hpn::default() })
        },
    );
    let rlft = (1_u32..=3, 2_u32..=3)
        .prop_map(|(half, stages)| Preset::Rlft(Rlft { ports: 2 * half, stages, ..Rlft::default() }));
    let ai_zone = (1_u32..=2, 1_u32..=2, 1_u32..=3).prop_map(|(segments, hosts, uplinks)| {
        Preset::AiZone(AiZone { segments, hosts, uplinks, ..AiZone::default() })
    });
    let dcn_plus = (1_u32..=2, 1_u32..=2, 1_u32..=2, host()).prop_map(|(pods, segments, hosts, host)| {
        let (spines, parallel, cores) = (2, 2, 2);
        Preset::DcnPlus(DcnPlus {
            pods,
            segments,
            hosts,
            spines,
            parallel,
            cores,
            host,
            ..DcnPlus::default()
        })
    });
    prop_oneof![3 => leaf_spine, 1 => fat_tree, 3 => hpn, 1 => rlft, 1 => ai_zone, 2 => dcn_plus]
        .prop_filter_map("fits", |preset| preset.build().ok())
}

/// A cable by what its ends are: tiers (0 of hosts), rate, delay.
type Kind = ([u8; 2], Option<Rate>, Option<SimTime>);

/// GPUs of a host, and its NVLink: rate and delay.
type Inside = (Option<u32>, Option<(Rate, SimTime)>);

/// Everything of a topology that a form without names keeps.
#[derive(Debug, PartialEq)]
pub struct Outline {
    pub hosts: usize,
    pub switches: BTreeMap<String, u32>,
    pub cables: BTreeMap<Kind, u32>,
    /// GPUs and NVLink of hosts, by how many have them.
    pub inside: BTreeMap<Inside, u32>,
    /// Degrees of switches by tier and degree.
    pub degrees: BTreeMap<(u8, usize), u32>,
}

/// The outline of a topology.
pub fn outline(topology: &Topology) -> Outline {
    let list = &topology.list;
    let tier = |device: u32| topology.tier(device).unwrap_or(0);
    let mut cables = BTreeMap::new();
    for cable in list.cables() {
        let mut tiers = cable.ports.map(|port| tier(list.device_of(port)));
        tiers.sort_unstable();
        let rate = list.ports()[cable.ports[0] as usize].rate;
        *cables.entry((tiers, rate, cable.delay)).or_default() += 1;
    }
    let mut inside = BTreeMap::new();
    for host in topology.hosts() {
        let about = &topology.about[host as usize];
        *inside.entry((about.gpus, about.nvlink)).or_default() += 1;
    }
    let mut degrees = BTreeMap::new();
    for switch in topology.switches() {
        let ports = &list.devices()[switch as usize].ports;
        let degree = ports.iter().filter(|&&port| list.peer(port).is_some()).count();
        *degrees.entry((tier(switch), degree)).or_default() += 1;
    }
    Outline { hosts: topology.hosts().count(), switches: topology.counts().switches, cables, inside, degrees }
}
