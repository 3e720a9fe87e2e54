//! Readers over random bytes and damaged files.
use proptest::prelude::*;
use railtwin_topology::nccl::NcclHost;
use railtwin_topology::{SourceFile, Topology};

use crate::fabrics::form;

/// Forms with a whole file of each.
fn whole() -> Vec<(&'static str, Vec<u8>)> {
    let data = |path: &str| {
        std::fs::read(format!("{}/../../data/{path}", env!("CARGO_MANIFEST_DIR"))).expect("a file of data")
    };
    let fabric = railtwin_fabric::preset::FatTree { k: 4, ..Default::default() }.build().expect("small");
    let topology = Topology::of_fabric(&fabric);
    let written = |name: &str| crate::fabrics::write(name, &topology).expect("a fat tree").into_bytes();
    let mut lingjun = data("lingjun/topo.csv");
    lingjun.truncate(4_000);
    vec![
        ("simai", written("simai")),
        ("hpcc", written("hpcc")),
        ("htsim", data("htsim/test.topo")),
        ("htsim", data("htsim/leaf_spine_tiny.topo")),
        ("astra-sim", b"topology: [ Ring, Switch ]\nnpus_count: [ 4, 4 ]\nbandwidth: [ 50.0, 25.0 ]\nlatency: [ 500, 10 ]\n".to_vec()),
        ("lingjun", lingjun),
        ("nccl", data("nccl_topology_xml/p4d-24xl-topo.xml")),
        ("nccl", data("nccl_topology_xml/ncv4-topo.xml")),
    ]
}

fn read(name: &str, bytes: &[u8]) {
    let source = SourceFile { name: "damaged", bytes };
    if name == "nccl" {
        NcclHost::is_one(&source);
        if let Ok(host) = NcclHost::parse(&source) {
            let _ = host.host_model();
            let _ = host.to_xml();
        }
        return;
    }
    let form = form(name);
    (form.is_one)(&source);
    if let Ok(topology) = form.read.expect("a form that is read")(&[source]) {
        let _ = topology.counts();
        if let Some(write) = form.write {
            let _ = write(&topology, &railtwin_topology::WriteOptions::default());
        }
    }
}

/// A change of a file: what is done, where, and a byte for it.
fn damaged(bytes: &[u8], (kind, at, byte): (u8, usize, u8)) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = at % bytes.len().max(1);
    match kind {
        // A change before may have left nothing.
        0 if bytes.is_empty() => {}
        0 => bytes[at] = byte,
        1 => bytes.truncate(at),
        _ => {
            let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
            let row = at % lines.len();
            match kind {
                2 => drop(lines.remove(row)),
                3 => lines.insert(row, lines[row]),
                _ => {
                    let other = usize::from(byte) % lines.len();
                    lines.swap(row, other);
                }
            }
            return lines.join(&b'\n');
        }
    }
    bytes
}

#[test]
fn forms_know_their_own_files_and_no_other() {
    for (name, bytes) in whole() {
        let source = SourceFile { name: "whole", bytes: &bytes };
        let ours = ["simai", "hpcc", "htsim", "astra-sim", "lingjun"].map(form);
        let known: Vec<&str> =
            ours.iter().filter(|form| (form.is_one)(&source)).map(|form| form.name).collect();
        assert_eq!(known, if name == "nccl" { vec![] } else { vec![name] });
    }
}

#[test]
fn deep_and_large_files_end() {
    let deep = format!("<system version=\"1\"><cpu numaid=\"0\">{}", "<pci busid=\"0\">".repeat(200_000));
    assert!(NcclHost::parse(&SourceFile { name: "deep", bytes: deep.as_bytes() }).is_err());
    read("simai", b"67108864 8 0 0 1 A100\n\n0 1 1Gbps 1ns 0\n");
    read("simai", b"4294967295 1 4294967295 1 1 A100\n\n0 1 1Gbps 1ns 0\n");
    read("hpcc", b"67108864 67108863 1\n0\n0 1 1Gbps 1ns 0\n");
    read("astra-sim", b"topology: [Switch, Switch]\nnpus_count: [4000000, 4000000]\n");
    read("astra-sim", format!("topology: {}\nnpus_count: 1\n", "[".repeat(30_000)).as_bytes());
    read("astra-sim", format!("topology: 1\nnpus_count: {}\n", "- ".repeat(15_000)).as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn damaged_files_do_not_panic(changes in prop::collection::vec((0_u8..5, any::<usize>(), any::<u8>()), 1..4)) {
        for (name, bytes) in whole() {
            let bytes = changes.iter().fold(bytes, |bytes, &change| damaged(&bytes, change));
            read(name, &bytes);
        }
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), text in "[0-9 \n.GbpsmnA:,\\[\\]<>/\"a-z_=]{0,300}") {
        for (name, _) in whole() {
            read(name, &bytes);
            read(name, text.as_bytes());
        }
    }
}
