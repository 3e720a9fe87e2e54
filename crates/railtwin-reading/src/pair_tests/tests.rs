//! Causes of real and made tests: the right place, an honest set of places, or nobody.
use std::path::Path;

use railtwin_formats::telemetry::{
    NcclTestDevice, NcclTestEnd, NcclTestMeasure, NcclTestResult, parse_nccl_tests_log,
};

use super::*;

fn logs(folder: &str) -> Vec<(String, Vec<NcclTest>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry").join(folder);
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).expect("a file");
        (name.clone(), parse_nccl_tests_log(&name, &bytes).expect("a log").tests)
    };
    paths.iter().filter(|path| path.extension().is_some_and(|end| end == "log")).map(read).collect()
}

/// A test of two hosts with some GPUs each, at three sizes; without a rate it failed at a source line.
fn test(hosts: [&str; 2], gpus: u32, rate: Option<f64>) -> NcclTest {
    let device = |at: usize, gpu: u32| NcclTestDevice {
        rank: at as u32 * gpus + gpu,
        host: hosts[at].to_owned(),
        gpu,
        bus: format!("0000:{gpu}b:00"),
        ..NcclTestDevice::default()
    };
    let result = |size: u64, rate: f64| {
        let measure = NcclTestMeasure { bus_gb_per_s: rate, ..NcclTestMeasure::default() };
        NcclTestResult { bytes: size << 26, out_of_place: Some(measure), ..NcclTestResult::default() }
    };
    let failure = NcclTestFailure {
        end: NcclTestEnd::Died,
        line: "h1: Test NCCL failure common.cu:1279 'unhandled system error / '".into(),
        number: 9,
        host: None,
        own: false,
        others: Vec::new(),
        after_bytes: None,
    };
    NcclTest {
        name: "all_reduce_perf".into(),
        devices: (0..2).flat_map(|at| (0..gpus).map(move |gpu| device(at, gpu))).collect(),
        results: rate.iter().flat_map(|rate| [1, 4, 32].map(|size| result(size, *rate))).collect(),
        complete: rate.is_some(),
        failure: rate.is_none().then_some(failure),
        ..NcclTest::default()
    }
}

fn files(tests: &[([&str; 2], Option<f64>)], gpus: u32) -> Vec<(String, Vec<NcclTest>)> {
    let log = |(hosts, rate): &([&str; 2], Option<f64>)| {
        (format!("{}_{}.log", hosts[0], hosts[1]), vec![test(*hosts, gpus, *rate)])
    };
    tests.iter().map(log).collect()
}

/// Names of suspects, the finding's confidence.
fn told(files: &[(String, Vec<NcclTest>)]) -> Vec<(Vec<String>, f64)> {
    let names = |one: &Finding| one.suspects.iter().map(|one| one.component.name().to_owned()).collect();
    of_nccl_tests(files).findings.iter().map(|one| (names(one), one.confidence)).collect()
}

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_slow_host_of_few_pairs_and_a_lone_pair_are_told_apart() {
    // NVIDIA/nccl-tests#106: gn44 is slow with two hosts that are well with others; of gn78 and gn84 nothing else is known.
    let few = files(
        &[
            (["gn04", "gn99"], Some(86.6)),
            (["gn32", "gn41"], Some(88.1)),
            (["gn41", "gn44"], Some(49.2)),
            (["gn44", "gn99"], Some(49.2)),
            (["gn84", "gn78"], Some(49.1)),
        ],
        8,
    );
    let found = told(&few);
    assert_eq!(found[0].0, ["gn44"]);
    assert!(found[0].1 > 0.9, "{found:?}");
    assert_eq!(found[1].0, ["gn78", "gn84", "gn78 > gn84"]);
    assert!(found.len() == 2 && found[1].1 < 0.5, "{found:?}");
}

#[test]
fn one_host_of_four_is_told_and_its_partners_are_not() {
    let rate = |pair: [&'static str; 2]| (pair, Some(if pair[1] == "gn44" { 49.3 } else { 88.05 }));
    let pairs = [
        ["gn41", "gn42"],
        ["gn41", "gn43"],
        ["gn41", "gn44"],
        ["gn42", "gn43"],
        ["gn42", "gn44"],
        ["gn43", "gn44"],
    ];
    assert_eq!(told(&files(&pairs.map(rate), 4)), [(names(&["gn44"]), 0.95)]);
}

#[test]
fn a_slow_pair_among_disjoint_ones_is_an_honest_set() {
    // deepspeedai/DeepSpeed#1617.
    let pairs =
        [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"], ["i", "j"], ["k", "l"], ["m", "n"], ["o", "p"]];
    let found = told(&files(&pairs.map(|pair| (pair, Some(if pair[0] == "c" { 8.8 } else { 88.05 }))), 4));
    assert_eq!(found[0].0, ["c", "d", "c > d"]);
    assert!(found.len() == 1 && found[0].1 < 0.5, "{found:?}");
    assert!(told(&files(&pairs.map(|pair| (pair, Some(88.05))), 4)).is_empty());
}

#[test]
fn deaths_with_one_host_are_told_once_and_single_ones_are_left() {
    let hosts = ["a", "b", "c", "d", "e", "f", "g"];
    let pairs = (0..7).flat_map(|a| (a + 1..7).map(move |b| [hosts[a], hosts[b]]));
    let rate = |pair: [&'static str; 2]| (pair, (!pair.contains(&"c") && pair != ["e", "f"]).then_some(40.0));
    let all = files(&pairs.map(rate).collect::<Vec<_>>(), 1);
    let verdict = of_nccl_tests(&all);
    assert_eq!((verdict.judged.len(), verdict.explained.len()), (7, 6));
    assert_eq!(told(&all)[0].0, ["c"]);
    assert_eq!(verdict.findings[0].evidence[0].value, 6.0);
}

#[test]
fn a_part_of_a_real_cluster_names_a_rail_of_its_hosts() {
    // Ten of 136 logs of a cluster in which this rail of nine hosts is bad, and cnode2-008 dies with three of them.
    let found = told(&logs("nccl_tests_h100_one_gpu"));
    let slow = ["cnode2-002 > cnode2-003", "cnode2-002 > cnode2-006", "0000:9d:00 of cnode2-002, cnode2-003"];
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].0.iter().all(|name| slow.contains(&name.as_str())), "{found:?}");
    assert!(found[0].0.iter().any(|name| name == slow[2]) && found[0].1 < 0.5, "{found:?}");
    assert_eq!(found[1].0, ["cnode2-008", "cnode2-002 > cnode2-008", "cnode2-003 > cnode2-008"]);
    assert!(of_nccl_tests(&logs("nccl_tests_h100")).findings.is_empty());
    assert!(of_nccl_tests(&logs("nccl_tests_h100_wide")).findings.is_empty());
}
