//! Damaged files of all forms of trees: an error or a topology, never a panic, and soon.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
use proptest::prelude::*;
use railtwin_topology::named;
use railtwin_topology::{FORMS, SourceFile};

use crate::tree_support::{fixture, read_fixture, write};

const FORMS_READ: [&str; 5] = ["slurm", "slurm-yaml", "topograph", "netq", "volcano"];

/// Files of every form: the fixtures, and what is written of them.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut files = Vec::new();
    for model in ["model_small-tree.yaml", "model_medium.yaml", "model_dual-xclr-irregular.yaml"] {
        files.push(("topograph", fixture(model)));
        let topology = read_fixture("topograph", model);
        for form in ["slurm", "slurm-yaml", "netq"] {
            files.push((form, write(form, &topology)[0].text.clone().into_bytes()));
        }
    }
    files.push((
        "volcano",
        write("volcano", &read_fixture("topograph", "model_medium.yaml"))[0].text.clone().into_bytes(),
    ));
    files.push(("slurm", fixture("expected_slurm_tree.conf")));
    files.push(("netq", fixture("netq_topology_graph.json")));
    files.push(("netq", fixture("netq_compute_nodes.json")));
    files
}

/// Reads bytes as a form, and writes what is read as every form.
fn survives(form: &str, bytes: &[u8]) {
    let source = SourceFile { name: "damaged", bytes };
    for known in FORMS {
        let _ = (known.is_one)(&source);
    }
    let Ok(topology) = (named(form).unwrap().read.unwrap())(&[source]) else { return };
    let _ = topology.counts();
    for known in ["slurm", "slurm-yaml", "topograph", "netq", "volcano", "kueue", "node-labels"] {
        let _ = (named(known).unwrap().write.unwrap())(&topology, &Default::default());
    }
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(usize, u8),
    Cut(usize),
    Drop(usize),
    Twice(usize),
    Swap(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        any::<usize>().prop_map(Damage::Cut),
        any::<usize>().prop_map(Damage::Drop),
        any::<usize>().prop_map(Damage::Twice),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Damage::Swap(a, b)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let count = lines.len();
    match *damage {
        Damage::Flip(at, byte) => {
            let at = at % bytes.len();
            bytes[at] = byte;
            return;
        }
        Damage::Cut(at) => {
            bytes.truncate(at % bytes.len());
            return;
        }
        Damage::Drop(at) => {
            lines.remove(at % count);
        }
        Damage::Twice(at) => lines.insert(at % count, lines[at % count].clone()),
        Damage::Swap(a, b) => lines.swap(a % count, b % count),
    }
    *bytes = lines.concat();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_read_or_refused(which in any::<usize>(), all in prop::collection::vec(damage(), 1..6)) {
        let files = files();
        let (form, mut bytes) = files[which % files.len()].clone();
        all.iter().for_each(|one| apply(&mut bytes, one));
        survives(form, &bytes);
    }

    #[test]
    fn random_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        words in "(SwitchName=|BlockName=|switches:|blocks:|- switch: |\n|  |Nodes=|Switches=|a|b|\\[|1-|\\]|,|nodes: |\\{|\\}|:| )*",
    ) {
        for form in FORMS_READ {
            survives(form, &bytes);
            survives(form, words.as_bytes());
        }
    }
}

#[test]
fn deep_and_wide_files_end_soon() {
    use std::fmt::Write as _;
    // A chain of many switches, each over all hosts of a leaf, closed to a loop.
    let mut chain = String::new();
    for at in 0..20_000 {
        let _ = writeln!(chain, "SwitchName=s{at} Switches=s{},s0", at + 1);
    }
    chain.push_str("SwitchName=s20000 Nodes=n1 Switches=s0\n");
    survives("slurm", chain.as_bytes());
    // A host under very many leaves.
    let mut wide = String::new();
    for at in 0..20_000 {
        let _ = writeln!(wide, "SwitchName=s{at} Nodes=n1,n2");
    }
    survives("slurm", wide.as_bytes());
    for text in ["[".repeat(100_000), "{\"a\":".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(20_000)]
    {
        for form in FORMS_READ {
            survives(form, text.as_bytes());
        }
    }
    let bomb = (0..9).fold(String::from("l0: &l0 [x]\n"), |text, at| {
        format!("{text}l{}: &l{} [{}]\n", at + 1, at + 1, vec![format!("*l{at}"); 9].join(","))
    });
    for form in ["slurm-yaml", "topograph", "volcano"] {
        survives(form, format!("{bomb}switches: *l9\nblocks: *l9\n").as_bytes());
    }
}
