//! What tests of forms of wiring share: fabrics, comparison of topologies, damage.
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use railtwin_fabric::cable_list::{DeviceRole, nic_and_port};
use railtwin_fabric::preset::{AiZone, DcnPlus, FatTree, Hpn, Layout, LeafSpine, Rlft};
use railtwin_fabric::{Fabric, Frontend, HostSpec, Network, Outside, Storage};
use railtwin_topology::{Counts, Form, SourceFile, Topology, WriteOptions, Written};
use railtwin_units::{Rate, SimTime};

/// A fabric that says its name alone where a property fails.
pub struct Built(pub Fabric);

impl std::fmt::Debug for Built {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {} hosts, {} cables", self.0.name(), self.0.all_hosts().len(), self.0.cable_count())
    }
}

/// A small fabric of any preset, with and without a frontend and hosts that store.
pub fn fabrics() -> impl Strategy<Value = Built> {
    let frontend = Just(Frontend { hosts_per_leaf: 2, leaf_sets: 2, ..Frontend::default() });
    let storage = (1..4_u32, 0..3_u32, any::<bool>()).prop_map(|(hosts, gateways, on_backend)| Storage {
        hosts,
        gateways,
        on: if on_backend { Network::Backend } else { Network::Frontend },
    });
    let outside = (proptest::option::of(frontend), proptest::option::of(storage))
        .prop_map(|(frontend, storage)| Outside { frontend, storage });
    let presets = (0..8_u32, 1..3_u32, 1..4_u32, 0..2_u32).prop_map(|(which, segments, count, spare)| {
        let host = HostSpec { nics: Some(4), gpus: Some(4), ..HostSpec::default() };
        let hpn = Hpn {
            segments: Some(segments),
            hosts: Some(count),
            spare_hosts: Some(spare),
            host: host.clone(),
            ..Hpn::default()
        };
        let layout: Box<dyn Layout> = match which {
            0 => Box::new(Hpn { spines: Some(4), ..hpn }),
            1 => Box::new(Hpn { spines: Some(4), pods: 2, cores: Some(4), ..hpn }),
            2 => Box::new(Hpn { spines: Some(4), dual_tor: false, ..hpn }),
            3 => Box::new(DcnPlus {
                pods: 1,
                hosts: count,
                segments,
                spines: 2,
                parallel: 2,
                host,
                ..DcnPlus::default()
            }),
            4 => Box::new(AiZone { hosts: count, uplinks: 4, host, ..AiZone::default() }),
            5 => Box::new(LeafSpine {
                leaves: 4,
                hosts_per_leaf: count,
                uplinks: 2,
                parallel: 2,
                host,
                ..LeafSpine::default()
            }),
            6 => Box::new(FatTree { k: 4, ..FatTree::default() }),
            _ => Box::new(Rlft { ports: 4, stages: 2 + spare, ..Rlft::default() }),
        };
        layout.spec()
    });
    (presets, outside)
        .prop_filter_map("counts that fit", |(spec, outside)| Some(Built(outside.build(&spec.ok()?).ok()?)))
}

/// The form of a name.
pub fn form_named(name: &str) -> &'static Form {
    railtwin_topology::named(name).expect("a form of this name")
}

/// Reads sources by the form of a name; it must be the form that they look like.
pub fn read(name: &str, sources: &[(&str, &[u8])]) -> Topology {
    let sources: Vec<SourceFile<'_>> =
        sources.iter().map(|&(name, bytes)| SourceFile { name, bytes }).collect();
    assert_eq!(railtwin_topology::form_of(&sources).map(|form| form.name), Some(name));
    (form_named(name).read.expect("is read"))(&sources).expect(name)
}

/// Writes a topology by the form of a name.
pub fn write(name: &str, topology: &Topology) -> Result<Vec<Written>, railtwin_formats::FormatError> {
    (form_named(name).write.expect("is written"))(topology, &WriteOptions::default())
}

/// Reads what was written.
pub fn read_back(name: &str, written: &[Written]) -> Topology {
    let sources: Vec<(&str, &[u8])> =
        written.iter().map(|file| (file.path.as_str(), file.text.as_bytes())).collect();
    read(name, &sources)
}

/// An end of a cable: device, port, rate.
type End = (String, String, Option<Rate>);

/// All cables by the names of their ends, with their rates and delays.
pub fn cables(topology: &Topology) -> BTreeMap<[End; 2], Option<SimTime>> {
    let list = &topology.list;
    let cables = list.cables().iter().map(|cable| {
        let mut ends = cable.ports.map(|port| {
            let port = &list.ports()[port as usize];
            (list.devices()[port.device as usize].name.clone(), port.name.clone(), port.rate)
        });
        ends.sort();
        (ends, cable.delay)
    });
    cables.collect()
}

/// Roles of all devices by name.
pub fn roles(topology: &Topology) -> BTreeMap<String, Option<DeviceRole>> {
    topology.list.devices().iter().map(|device| (device.name.clone(), device.role)).collect()
}

/// Counts, with adapters of hosts that have a cable alone: a form without free ports tells no others.
pub fn cabled_counts(topology: &Topology) -> Counts {
    let list = &topology.list;
    let adapters: BTreeSet<(u32, &str)> = topology
        .hosts()
        .flat_map(|host| list.devices()[host as usize].ports.iter().map(move |&port| (host, port)))
        .filter(|&(_, port)| list.peer(port).is_some())
        .map(|(host, port)| (host, nic_and_port(&list.ports()[port as usize].name).0))
        .collect();
    Counts { adapters: adapters.len() as u32, ..topology.counts() }
}

/// Kinds of findings.
pub fn kinds(topology: &Topology) -> BTreeSet<&'static str> {
    topology.findings.iter().map(|finding| finding.kind).collect()
}

/// A way to damage a text.
#[derive(Clone, Debug)]
pub enum Damage {
    /// Sets a byte.
    Byte(usize, u8),
    /// Cuts the end off.
    Cut(usize),
    /// Drops a line.
    Drop(usize),
    /// Writes a line twice.
    Double(usize),
    /// Swaps two lines.
    Swap(usize, usize),
}

/// Some ways at once.
pub fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let at = any::<usize>();
    let one = prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        at.prop_map(Damage::Cut),
        any::<usize>().prop_map(Damage::Drop),
        any::<usize>().prop_map(Damage::Double),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Damage::Swap(a, b)),
    ];
    proptest::collection::vec(one, 1..6)
}

/// Reads damaged sources, one after the other damaged; what matters is that nothing panics.
pub fn survives(name: &str, sources: &[(&str, &[u8])], damage: &[Damage]) {
    let reader = form_named(name).read.expect("is read");
    for at in 0..sources.len() {
        let bytes = damaged(sources[at].1, damage);
        let all = sources.iter().enumerate().map(|(row, &(name, own))| {
            let bytes = if row == at { bytes.as_slice() } else { own };
            SourceFile { name, bytes }
        });
        let all: Vec<SourceFile<'_>> = all.collect();
        let _ = railtwin_topology::form_of(&all);
        if let Ok(topology) = reader(&all) {
            assert_eq!(topology.about.len(), topology.list.devices().len());
            let _ = topology.counts();
        }
    }
}

fn damaged(bytes: &[u8], damage: &[Damage]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for one in damage {
        let count = lines.len().max(1);
        if lines.is_empty() {
            break;
        }
        match *one {
            Damage::Byte(at, byte) => {
                let line = &mut lines[at % count];
                let length = line.len().max(1);
                if let Some(old) = line.get_mut((at / count) % length) {
                    *old = byte;
                }
            }
            Damage::Cut(at) => {
                let line = at % count;
                lines.truncate(line + 1);
                let length = lines[line].len().max(1);
                lines[line].truncate((at / count) % length);
            }
            Damage::Drop(at) => {
                lines.remove(at % count);
            }
            Damage::Double(at) => {
                let line = lines[at % count].clone();
                lines.insert(at % count, line);
            }
            Damage::Swap(a, b) => lines.swap(a % count, b % count),
        }
    }
    lines.concat()
}
