//! What tests of trees share: files, random fabrics, edges by name.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_fabric::Fabric;
use railtwin_fabric::preset::{AiZone, DcnPlus, FatTree, Hpn, Layout, LeafSpine, Rlft, Tier2};
use railtwin_formats::FormatError;
use railtwin_topology::named;
use railtwin_topology::{SourceFile, Topology, WriteOptions, Written};
use railtwin_units::Rate;

/// Folder of fixtures.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/topograph/");

/// A fixture.
pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{DATA}{name}")).unwrap()
}

/// Reads a text as one form.
pub fn read(form: &str, text: &str) -> Result<Topology, FormatError> {
    let sources = [SourceFile { name: "file", bytes: text.as_bytes() }];
    (named(form).unwrap().read.unwrap())(&sources)
}

/// Reads a fixture as one form.
pub fn read_fixture(form: &str, name: &str) -> Topology {
    let bytes = fixture(name);
    (named(form).unwrap().read.unwrap())(&[SourceFile { name, bytes: &bytes }]).unwrap()
}

/// Writes one form.
pub fn write(form: &str, topology: &Topology) -> Vec<Written> {
    write_with(form, topology, &WriteOptions::default())
}

/// Writes one form with options.
pub fn write_with(form: &str, topology: &Topology, options: &WriteOptions) -> Vec<Written> {
    (named(form).unwrap().write.unwrap())(topology, options).unwrap()
}

/// Reads what was written.
pub fn read_back(form: &str, files: &[Written]) -> Topology {
    let sources: Vec<SourceFile<'_>> =
        files.iter().map(|file| SourceFile { name: &file.path, bytes: file.text.as_bytes() }).collect();
    (named(form).unwrap().read.unwrap())(&sources).unwrap()
}

/// Names of devices at the ends of each cable, sorted.
pub fn edges(topology: &Topology) -> BTreeSet<[String; 2]> {
    let list = &topology.list;
    let name = |port: u32| list.devices()[list.device_of(port) as usize].name.clone();
    list.cables()
        .iter()
        .map(|cable| {
            let mut ends = cable.ports.map(name);
            ends.sort();
            ends
        })
        .collect()
}

/// Kinds and devices of findings.
pub fn findings(topology: &Topology) -> Vec<(&str, &str)> {
    topology.findings.iter().map(|finding| (finding.kind, finding.device.as_str())).collect()
}

/// What is seen of the finding of a kind.
pub fn seen<'a>(topology: &'a Topology, kind: &str) -> &'a str {
    &topology.findings.iter().find(|finding| finding.kind == kind).unwrap().seen
}

/// A fabric that says its name alone where a property fails.
pub struct Built(pub Fabric);

impl std::fmt::Debug for Built {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {} hosts, {} cables", self.0.name(), self.0.all_hosts().len(), self.0.cable_count())
    }
}

/// Small fabrics of all presets.
pub fn fabrics() -> impl Strategy<Value = Built> {
    (0..9_u32, 1..4_u32, 1..4_u32, 0..2_u32).prop_filter_map(
        "counts that fit",
        |(which, segments, hosts, spare)| {
            let hpn = Hpn {
                segments: Some(segments),
                hosts: Some(hosts),
                spare_hosts: Some(spare),
                spines: Some(4),
                cores: Some(4),
                spine_up: Some(4),
                ..Hpn::default()
            };
            let layout: Box<dyn Layout> = match which {
                0 => Box::new(hpn),
                1 => Box::new(Hpn { pods: 2, ..hpn }),
                2 => Box::new(Hpn { planes: false, ..hpn }),
                3 => Box::new(Hpn { tier2: Tier2::RailOnly, ..hpn }),
                4 => Box::new(LeafSpine {
                    leaves: 16 * segments,
                    hosts_per_leaf: hosts,
                    uplinks: 4,
                    ..LeafSpine::default()
                }),
                5 => Box::new(FatTree {
                    k: 2 * segments,
                    capacity: Rate::from_gbps(400),
                    ..FatTree::default()
                }),
                6 => Box::new(Rlft { ports: 2 * hosts, stages: 2 + spare, ..Rlft::default() }),
                7 => Box::new(AiZone { pods: segments, segments: hosts, spine_up: 2, ..AiZone::default() }),
                _ => Box::new(DcnPlus {
                    pods: segments,
                    segments: hosts,
                    hosts: 2,
                    spines: 2,
                    parallel: 1,
                    cores: 4,
                    ..DcnPlus::default()
                }),
            };
            Some(Built(layout.spec().ok()?.build().ok()?))
        },
    )
}
