//! `railtwin tune`: the choice by size, and calls that are wrong.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use serde_json::Value;

use crate::harness::railtwin;

/// The last size that goes by an algorithm and protocol, bytes.
fn last(data: &Value, algorithm: &str, protocol: &str) -> u64 {
    let ranges = data["ranges"].as_array().unwrap().iter();
    let fits = ranges.filter(|range| range["algorithm"] == algorithm && range["protocol"] == protocol);
    fits.map(|range| range["until_bytes"].as_u64().unwrap()).max().unwrap_or(0)
}

#[test]
fn a_longer_round_trip_asks_for_trees_and_ll128_at_larger_sizes() {
    let tuned = |round_trip: &str| {
        let call =
            ["tune", "all-reduce", "--hosts", "16", "--fabric", "grand-teton", "--json", "--round-trip"];
        let answer = railtwin(&[&call[..], &[round_trip]].concat());
        assert_eq!(answer.status, 0, "{}", answer.notes);
        serde_json::from_str::<Value>(&answer.out).unwrap()
    };
    let (near, far) = (tuned("10 us"), tuned("22 us"));
    assert!(last(&far, "tree", "ll128") > last(&near, "tree", "ll128"), "{near} {far}");
    let text = railtwin(&[
        "tune",
        "all-reduce",
        "--hosts",
        "16",
        "--fabric",
        "grand-teton",
        "--round-trip",
        "22 us",
    ]);
    assert!(text.out.contains("at 10 us, which NCCL assumes, it would be"), "{}", text.out);
}

#[test]
fn wrong_calls_say_what_is_right() {
    let cases = [
        (vec!["all-reduce", "--hosts", "2", "--fabric", "nowhere"], "or a host model"),
        (vec!["reduce-all", "--hosts", "2"], "write one of all-reduce"),
        (vec!["all-to-all", "--hosts", "2"], "no algorithm is known for all-to-all"),
        (vec!["all-reduce", "--hosts", "2", "--gpus", "9"], "has 8 GPUs"),
        (vec!["all-reduce", "--hosts", "2", "--round-trip", "soon"], "soon"),
        (vec!["all-reduce", "--hosts", "2", "--caps", "nowhere.toml"], "nowhere.toml"),
    ];
    for (args, words) in cases {
        let answer = railtwin(&[&["tune"], &args[..]].concat());
        assert_eq!(answer.status, 2, "{args:?}");
        assert!(answer.notes.contains(words), "{args:?}: {}", answer.notes);
    }
}
