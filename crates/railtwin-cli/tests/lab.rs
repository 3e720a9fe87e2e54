//! `railtwin lab` where it refuses: wrong names and values are told before anything is built.
use crate::harness::railtwin;

#[track_caller]
fn refused(call: &[&str], status: u8, said: &[&str]) {
    let outcome = railtwin(call);
    assert_eq!(outcome.status, status, "{call:?}: {}", outcome.notes);
    let pieces = outcome.notes.split_whitespace().filter(|piece| *piece != "│");
    let notes = pieces.collect::<Vec<_>>().join(" ");
    for text in said {
        assert!(notes.contains(text), "{call:?} does not say {text:?}: {notes}");
    }
}

#[test]
fn fabrics_that_no_lab_runs_are_refused() {
    refused(&["lab", "up", "no-such"], 2, &["no preset called \"no-such\"", "leaf-spine"]);
    refused(&["lab", "up", "hpn"], 2, &["switches and hosts are more than a lab runs, 96"]);
    let single = ["lab", "up", "leaf-spine", "--set", "leaves=0"];
    refused(&single, 2, &["leaves"]);
    refused(&["lab", "up", "no-such.toml"], 2, &["cannot read no-such.toml"]);
}

#[test]
fn two_cables_of_a_nic_into_one_leaf_are_refused() {
    let small = ["--set", "segments=2", "--set", "hosts=1", "--set", "spare_hosts=0", "--set", "spines=2"];
    let call = [&["lab", "up", "hpn", "--set", "dual_tor=false"], &small[..]].concat();
    refused(&call, 2, &["has 2 cables into leaf-", "one cable from a NIC to each leaf"]);
}

#[test]
fn names_and_values_are_refused() {
    refused(
        &["lab", "probe", "--name", "a/b"],
        2,
        &["\"a/b\" is no name of a lab", "letters, digits, - and _"],
    );
    refused(&["lab", "probe", "--ports", "0"], 2, &["0 is not in 1..=16384"]);
    refused(
        &["lab", "gap", "--fault", "fire leaf-0"],
        2,
        &["is no fault", "link, node, daemon, silent, gray or loss"],
    );
    refused(&["lab", "gap", "--seconds", "0"], 2, &["0 is no time", "0.1 to 600"]);
    refused(&["lab", "run", "x.toml", "--draws", "0"], 2, &["0 is not in 1..=1000"]);
    refused(&["lab", "run", "x.toml", "--balancer", "magic"], 2, &["magic", "ecmp, c4p, disjoint"]);
}

#[test]
fn a_lab_that_is_not_up_is_told() {
    for call in [&["lab", "probe"][..], &["lab", "repair", "leaf-0"], &["lab", "fail", "link", "leaf-0:up0"]]
    {
        let call = [call, &["--name", "never-up-in-tests"]].concat();
        refused(&call, 1, &["no lab is up in /run/railtwin-lab/never-up-in-tests", "railtwin lab up FABRIC"]);
    }
    let outcome = railtwin(&["lab", "down", "--name", "never-up-in-tests"]);
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "no lab was up\n"));
}
