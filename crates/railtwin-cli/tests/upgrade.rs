//! `railtwin upgrade`: waves of switches, and sets of leaves that are stacked or not.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use std::path::Path;

use railtwin_cli::{Streams, run};
use serde_json::Value;

fn railtwin(args: &[&str]) -> (u8, String, String) {
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let args = std::iter::once("railtwin").chain(args.iter().copied());
    let mut streams = Streams { out: &mut out, notes: &mut notes };
    let status = run(args.map(Into::into), &mut streams);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status, text(out), text(notes))
}

fn json(args: &[&str]) -> (u8, Value) {
    let (status, out, notes) = railtwin(&[args, &["--json"]].concat());
    (status, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{notes}")))
}

#[test]
fn leaves_that_know_nothing_of_each_other_are_upgraded_without_a_gap() {
    for to in ["1.1", "2.0"] {
        let (status, plan) = json(&["upgrade", "hpn", "--from", "1.0", "--to", to]);
        assert_eq!(
            (status, plan["reachable"].as_bool(), plan["kind"].as_str()),
            (0, Some(true), Some("non-stacked"))
        );
        let waves = plan["waves"].as_array().unwrap();
        // Sixteen leaves of each of 15 segments, half of them in each of two waves; quarters of 60 spines a plane.
        let sizes: Vec<usize> = waves.iter().map(|wave| wave["switches"].as_array().unwrap().len()).collect();
        assert_eq!(sizes[..6], [120, 120, 30, 30, 30, 30]);
        assert!(waves.iter().all(|wave| wave["nics_cut"] == 0 && wave["apart"].is_null()));
    }
}

#[test]
fn stacked_leaves_have_a_moment_without_both_where_versions_differ_too_much() {
    let (status, small) = json(&["upgrade", "hpn", "--stacked", "--from", "4.1", "--to", "4.2"]);
    assert_eq!((status, small["moments_without_both_leaves"].as_u64()), (0, Some(0)));
    assert!(small["waves"].as_array().unwrap().iter().all(|wave| wave["nics_weaker"] == 0), "in service");
    let (status, large) = json(&["upgrade", "hpn", "--stacked", "--from", "4.1", "--to", "5.0"]);
    assert_eq!((status, large["moments_without_both_leaves"].as_u64()), (1, Some(1)));
    let (_, out, _) = railtwin(&["upgrade", "hpn", "--stacked", "--from", "4.1", "--to", "5.0"]);
    assert!(out.contains("each host is without both for 3.000 s"), "{out}");
}

#[test]
fn hosts_with_one_leaf_are_cut() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("upgrade-one-leaf.toml");
    std::fs::write(
        &file,
        "schema = 1\nname = \"a\"\n[fabric]\npreset = \"hpn\"\ndual_tor = false\nsegments = 2\n",
    )
    .unwrap();
    let (status, out, _) = railtwin(&["upgrade", file.to_str().unwrap()]);
    assert_eq!(status, 1);
    assert!(out.contains("hosts are cut or apart"), "{out}");
}

#[test]
fn wrong_calls_are_refused() {
    for (args, words) in [
        (&["upgrade", "hpn", "--to", "new"][..], "\"new\" is no version: write two numbers, such as 4.2"),
        (&["upgrade", "hpn", "--at-once", "1.5"], "1.5 is no share above 0 and below 1"),
        (&["upgrade", "no-such.toml"], "no-such.toml"),
    ] {
        let (status, out, notes) = railtwin(args);
        assert!(status == 2 && out.is_empty() && notes.contains(words), "{args:?}: {notes}");
    }
}
