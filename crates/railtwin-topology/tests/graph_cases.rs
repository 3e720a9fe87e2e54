//! Random fabrics of presets, random damage, and what is compared of two topologies.
use std::collections::BTreeMap;

use proptest::prelude::*;
use railtwin_fabric::preset::{AiZone, DcnPlus, FatTree, Hpn, LeafSpine, Rlft};
use railtwin_topology::{Counts, Form, SourceFile, Topology, WriteOptions, named};

/// The form of a name.
pub fn form(name: &str) -> &'static Form {
    named(name).expect("the form is one of the registry")
}

/// Reads one file.
pub fn read(name: &str, text: &[u8]) -> Topology {
    let reader = form(name).read.expect("the form is read");
    reader(&[SourceFile { name: "file", bytes: text }]).expect("the file is of the form")
}

/// Writes one file.
pub fn write(name: &str, topology: &Topology) -> String {
    let writer = form(name).write.expect("the form is written");
    let files = writer(topology, &WriteOptions::default()).expect("the form expresses the topology");
    assert_eq!(files.len(), 1);
    files[0].text.clone()
}

/// Topologies of small fabrics of every preset.
pub fn any_topology() -> impl Strategy<Value = Topology> {
    let fabrics = prop_oneof![
        (1_u32..4, 1_u32..4, 1_u32..3).prop_map(|(sets, hosts, parallel)| LeafSpine {
            leaves: sets * 2,
            hosts_per_leaf: hosts,
            uplinks: 2 * parallel,
            parallel,
            ..LeafSpine::default()
        }
        .build()),
        (1_u32..4).prop_map(|half| FatTree { k: half * 2, ..FatTree::default() }.build()),
        (1_u32..3, 1_u32..3, 0_u32..2, any::<bool>()).prop_map(|(segments, hosts, spare, planes)| Hpn {
            segments: Some(segments),
            hosts: Some(hosts),
            spare_hosts: Some(spare),
            planes,
            spines: Some(4),
            spine_up: Some(0),
            ..Hpn::default()
        }
        .build()),
        (1_u32..4, 2_u32..4)
            .prop_map(|(half, stages)| Rlft { ports: half * 2, stages, ..Rlft::default() }.build()),
        (1_u32..3, 1_u32..3).prop_map(|(segments, hosts)| AiZone {
            segments,
            hosts,
            uplinks: 4,
            ..AiZone::default()
        }
        .build()),
        (1_u32..3, 1_u32..3).prop_map(|(pods, hosts)| DcnPlus {
            pods,
            segments: 2,
            hosts,
            spines: 2,
            parallel: 2,
            cores: 2,
            ..DcnPlus::default()
        }
        .build()),
    ];
    fabrics.prop_filter_map("counts that do not fit together", |fabric| {
        fabric.ok().map(|fabric| Topology::of_fabric(&fabric))
    })
}

/// Number of cables by names of the devices at their ends and by rate.
pub fn joined(topology: &Topology) -> BTreeMap<[String; 2], Vec<Option<u64>>> {
    let mut found: BTreeMap<[String; 2], Vec<Option<u64>>> = BTreeMap::new();
    for cable in topology.list.cables() {
        let mut ends = cable.ports.map(|port| name(topology, topology.list.device_of(port)));
        ends.sort();
        let rate = topology.list.ports()[cable.ports[0] as usize].rate.map(|rate| rate.bits_per_s());
        found.entry(ends).or_default().push(rate);
    }
    found.values_mut().for_each(|rates| rates.sort_unstable());
    found
}

/// Device and port of both ends.
type NamedEnds = [(String, String); 2];

/// Rate in bit/s, delay in picoseconds.
type RateAndDelay = (Option<u64>, Option<u64>);

/// Cables by full names of their ports, with rate and delay.
pub fn cables(topology: &Topology) -> BTreeMap<NamedEnds, RateAndDelay> {
    let list = &topology.list;
    let end = |port: u32| (name(topology, list.device_of(port)), list.ports()[port as usize].name.clone());
    let all = list.cables().iter().map(|cable| {
        let mut ends = cable.ports.map(end);
        ends.sort();
        let rate = list.ports()[cable.ports[0] as usize].rate.map(|rate| rate.bits_per_s());
        (ends, (rate, cable.delay.map(|delay| delay.ps())))
    });
    all.collect()
}

/// Roles and networks by name.
pub fn roles(topology: &Topology) -> BTreeMap<String, String> {
    let devices = topology.list.devices().iter();
    devices.map(|device| (device.name.clone(), format!("{:?} {:?}", device.role, device.network))).collect()
}

fn name(topology: &Topology, device: u32) -> String {
    topology.list.devices()[device as usize].name.clone()
}

/// Findings by kind.
pub fn kinds(topology: &Topology) -> BTreeMap<&'static str, usize> {
    let mut found = BTreeMap::new();
    topology.findings.iter().for_each(|finding| *found.entry(finding.kind).or_default() += 1);
    found
}

/// Counts in one line.
pub fn line(counts: &Counts) -> String {
    let switches: Vec<String> =
        counts.switches.iter().map(|(tier, count)| format!("{tier} {count}")).collect();
    format!(
        "hosts {}, {}, adapters {}, cables {}, up {}, missing {}",
        counts.hosts,
        switches.join(", "),
        counts.adapters,
        counts.cables,
        counts.links_up,
        counts.links_missing
    )
}

/// One kind of damage to a file.
#[derive(Clone, Debug)]
pub enum Damage {
    /// A byte is another.
    Flip(prop::sample::Index, u8),
    /// The rest is gone.
    Cut(prop::sample::Index),
    /// A line is gone.
    Drop(prop::sample::Index),
    /// A line stands elsewhere too.
    Copy(prop::sample::Index, prop::sample::Index),
}

/// Some damage.
pub fn any_damage() -> impl Strategy<Value = Vec<Damage>> {
    let one = prop_oneof![
        3 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        1 => any::<prop::sample::Index>().prop_map(Damage::Cut),
        2 => any::<prop::sample::Index>().prop_map(Damage::Drop),
        2 => (any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(a, b)| Damage::Copy(a, b)),
    ];
    prop::collection::vec(one, 1..12)
}

/// A file with damage.
pub fn damaged(bytes: &[u8], damage: &[Damage]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for one in damage {
        if bytes.is_empty() {
            return bytes;
        }
        let mut lines: Vec<Vec<u8>> =
            bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        match one {
            Damage::Flip(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
                continue;
            }
            Damage::Cut(at) => {
                bytes.truncate(at.index(bytes.len()));
                continue;
            }
            Damage::Drop(at) => {
                lines.remove(at.index(lines.len()));
            }
            Damage::Copy(from, to) => {
                let line = lines[from.index(lines.len())].clone();
                lines.insert(to.index(lines.len()), line);
            }
        }
        bytes = lines.concat();
    }
    bytes
}

/// Reads damaged and random bytes with every reader; nothing may panic.
pub fn survive(name: &str, bytes: &[u8]) {
    let sources = [SourceFile { name: "file", bytes }];
    let _ = (form(name).is_one)(&sources[0]);
    let reader = form(name).read.expect("the form is read");
    match reader(&sources) {
        Ok(topology) => {
            let counts = topology.counts();
            assert_eq!(counts.cables as usize, topology.list.cables().len());
            assert_eq!(topology.about.len(), topology.list.devices().len());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
