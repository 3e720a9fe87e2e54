//! `bandwidth::check` on real logs, on logs made low, and on anything else: it never panics.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::Path;

use proptest::prelude::*;
use railtwin_calibration::bandwidth::{Checked, Operation, Verdict, check};
use railtwin_fabric::HostModel;
use railtwin_formats::telemetry::{
    NcclTest, NcclTestDevice, NcclTestMeasure, NcclTestResult, parse_nccl_tests_json, parse_nccl_tests_log,
};

type Logs = Vec<(String, Vec<NcclTest>)>;

/// The logs of a folder of shipped telemetry, in order of their names.
fn ours(folder: &str) -> Logs {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry").join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let tests = parse_nccl_tests_log(&name, &std::fs::read(&path).unwrap()).unwrap().tests;
        (name, tests)
    };
    paths.into_iter().map(read).collect()
}

fn verdict(checked: &Checked, collective: &str, shape: &str) -> (Verdict, f64) {
    let group = checked.groups.iter().find(|g| g.kind.collective == collective && g.kind.shape() == shape);
    let group = group.unwrap_or_else(|| panic!("no {collective} {shape}"));
    (group.verdict, group.share().unwrap())
}

#[test]
fn pairs_of_a_healthy_cluster_are_normal() {
    let checked = check(&ours("nccl_tests_h100"), None);
    assert!(checked.is_well(), "{:?}", checked.low);
    assert_eq!((checked.tests, checked.groups.len()), (92, 4));
    let (verdict, share) = verdict(&checked, "all-to-all", "2 x 8");
    assert_eq!(verdict, Verdict::Normal);
    assert!((0.99..1.01).contains(&share), "{share}");
}

/// One GPU a host reaches what a NIC of 400 Gbps carries; NVLS exceeds the line rate of NVLink; ten hosts with eight GPUs
/// each are at a third of it with send/receive, while their pairs are at nine tenths.
#[test]
fn wide_tests_are_held_against_line_rate() {
    let checked = check(&ours("nccl_tests_h100_wide"), None);
    let near = |collective: &str, shape: &str, share: f64| {
        let (verdict, found) = verdict(&checked, collective, shape);
        assert!((found - share).abs() < 0.02, "{collective} {shape}: {found}");
        verdict
    };
    assert_eq!(near("all-reduce", "10 x 1", 0.995), Verdict::Normal);
    assert_eq!(near("all-reduce", "1 x 8", 1.068), Verdict::Normal);
    assert_eq!(near("all-gather", "10 x 8", 0.812), Verdict::Normal);
    assert_eq!(near("send/receive", "10 x 8", 0.311), Verdict::Low);
    let low = checked.groups.iter().filter(|group| group.verdict != Verdict::Normal).count();
    assert_eq!((low, checked.low.len()), (1, 0), "tests without peers are named by their kind");
}

/// Two pairs of a sick cluster collapse with size in both of their tests, two have no result.
#[test]
fn pairs_that_collapse_and_pairs_without_result_come_out() {
    let checked = check(&ours("nccl_tests_h100_one_gpu"), None);
    let mut pairs: Vec<&[String]> = checked.low.iter().map(|test| test.hosts.as_slice()).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!((checked.low.len(), pairs.len()), (4, 2));
    assert_eq!(pairs, [["cnode2-002", "cnode2-003"], ["cnode2-002", "cnode2-006"]]);
    for test in &checked.low {
        let (best, last) = test.falls.unwrap();
        assert!(test.below_peers && test.share.unwrap() < 0.2 && last < 0.15 * best, "{test:?}");
    }
    let ended: Vec<&[String]> = checked.ended.iter().map(|test| test.hosts.as_slice()).collect();
    assert_eq!(ended, [["cnode2-002", "cnode2-008"], ["cnode2-003", "cnode2-008"]]);
    let count = checked.hosts.iter().find(|count| count.host == "cnode2-002").unwrap();
    assert_eq!((count.low, count.ended, count.of), ((2, 2), (1, 2), 4));
    // The whole cluster is far from what its NICs carry.
    assert!(checked.groups.iter().all(|group| group.verdict == Verdict::Low));
}

#[test]
fn a_test_below_its_peers_is_named_and_noise_is_not() {
    let mut logs = ours("nccl_tests_h100");
    for result in &mut logs[7].1[0].results {
        for measure in [&mut result.out_of_place, &mut result.in_place].into_iter().flatten() {
            measure.bus_gb_per_s *= 0.88;
        }
    }
    let checked = check(&logs, None);
    let named: Vec<&str> = checked.low.iter().map(|test| test.file.as_str()).collect();
    assert_eq!(named, [logs[7].0.as_str()]);
    assert!((checked.low[0].share.unwrap() - 0.88).abs() < 0.01);
}

#[test]
fn more_than_the_bound_shows_that_the_hosts_are_others() {
    let slow = HostModel { nics: 4, ..HostModel::hgx_a100() };
    let checked = check(&ours("nccl_tests_h100"), Some(&slow));
    assert!(checked.groups.iter().any(|group| group.verdict == Verdict::AboveBound));
}

#[test]
fn small_messages_are_bound_by_latency() {
    let rates = [(8_u64, 0.1), (1 << 20, 20.0), (1 << 30, 40.0)];
    let checked = check(&[("log".to_owned(), vec![made("all_reduce_perf", 2, 1, &rates)])], None);
    let latency: Vec<bool> = checked.groups[0].sizes.iter().map(|row| row.latency).collect();
    assert_eq!(latency, [true, false, false], "half is not below half");
}

/// In the shape of areal-project/AReaL#639: one size of 1 GiB over a socket between H800s.
#[test]
fn one_size_that_takes_longer_than_any_latency_is_low() {
    let one = |bytes: u64, rate: f64| {
        let log = ("a.log".to_owned(), vec![made("all_reduce_perf", 2, 1, &[(bytes, rate)])]);
        check(&[log], None).groups[0].verdict
    };
    assert_eq!(one(1 << 30, 2.9), Verdict::Low);
    assert_eq!(one(1 << 30, 45.0), Verdict::Normal);
    assert_eq!(one(1 << 12, 0.1), Verdict::TooSmall);
}

/// Below half of line rate (24.5 GB/s) a plateau is low, and what still rises is too small a size.
#[test]
fn what_still_rises_with_size_is_not_low() {
    let verdict = |rates: &[(u64, f64)]| {
        let logs = vec![("log".to_owned(), vec![made("all_reduce_perf", 2, 1, rates)])];
        check(&logs, None).groups[0].verdict
    };
    assert_eq!(verdict(&[(1 << 20, 10.0), (1 << 21, 16.0)]), Verdict::TooSmall);
    assert_eq!(verdict(&[(1 << 21, 16.0)]), Verdict::TooSmall);
    assert_eq!(verdict(&[(1 << 20, 15.0), (1 << 21, 16.0)]), Verdict::Low);
    assert_eq!(verdict(&[(1 << 20, 20.0), (1 << 21, 30.0)]), Verdict::Normal);
}

/// A test over hosts of `gpus` GPUs, with the bandwidth of each size.
fn made(program: &str, hosts: u32, gpus: u32, rates: &[(u64, f64)]) -> NcclTest {
    let device = |rank: u32| NcclTestDevice {
        rank,
        host: format!("h{}", rank / gpus.max(1)),
        product: "NVIDIA H100 80GB HBM3".to_owned(),
        ..NcclTestDevice::default()
    };
    let result = |&(bytes, rate): &(u64, f64)| {
        let measure = NcclTestMeasure { bus_gb_per_s: rate, ..NcclTestMeasure::default() };
        NcclTestResult { bytes, out_of_place: Some(measure), ..NcclTestResult::default() }
    };
    NcclTest {
        name: program.to_owned(),
        devices: (0..hosts * gpus).map(device).collect(),
        results: rates.iter().map(result).collect(),
        ..NcclTest::default()
    }
}

/// Whatever was checked is finite and in order.
fn assert_sound(checked: &Checked) {
    for group in &checked.groups {
        assert!(group.sizes.windows(2).all(|rows| rows[0].bytes < rows[1].bytes));
        for row in &group.sizes {
            assert!(row.median.is_finite() && row.worst.gb_per_s <= row.median && row.measurements > 0);
        }
        assert!(group.share().is_none_or(|share| share >= 0.0));
    }
    assert!(checked.low.iter().all(|test| test.group < checked.groups.len()));
}

proptest! {
    #[test]
    fn arbitrary_tests_never_panic(
        tests in proptest::collection::vec(
            (
                prop_oneof!["[a-z_]{0,12}", "(all_reduce|all_gather|alltoall|sendrecv|reduce|broadcast)_perf"],
                0..6_u32, 0..10_u32,
                proptest::collection::vec((any::<u64>(), any::<f64>()), 0..6),
            ),
            0..12,
        ),
        known: bool,
    ) {
        let read = tests.iter().map(|(name, hosts, gpus, rates)| made(name, *hosts, *gpus, rates)).collect();
        let host = HostModel::plain(railtwin_units::Rate::from_gbps(1));
        assert_sound(&check(&[("log".to_owned(), read)], known.then_some(&host)));
    }

    #[test]
    fn changed_logs_never_panic(
        which in 0..3_usize,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..8),
        cut: proptest::sample::Index,
    ) {
        let seeds = [
            include_bytes!("../../../data/telemetry/nccl_tests_h100_one_gpu/nccl_N2_G1_cnode2-002_cnode2-003.log").as_slice(),
            include_bytes!("../../../data/telemetry/nccl_tests_h100_one_gpu/nccl_N2_G1_cnode2-002_cnode2-008.log"),
            include_bytes!("../../../data/telemetry/nccl_tests_h100_wide/nccl_N1_G8_cnode3-002.log"),
        ];
        let mut bytes = seeds[which].to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok(log) = parse_nccl_tests_log("log", &bytes) {
            assert_sound(&check(&[("log".to_owned(), log.tests)], None));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for log in [parse_nccl_tests_log("log", &bytes), parse_nccl_tests_json("log", &bytes)].into_iter().flatten() {
            assert_sound(&check(&[("log".to_owned(), log.tests)], None));
        }
    }
}

#[test]
fn programs_without_a_bound_are_grouped_and_unknown() {
    let rates = [(1 << 30, 40.0)];
    let logs = vec![("log".to_owned(), vec![made("gather_perf", 2, 8, &rates), made("", 2, 8, &rates)])];
    let checked = check(&logs, None);
    let names: Vec<&str> = checked.groups.iter().map(|group| group.kind.collective.as_str()).collect();
    assert_eq!(names, ["gather", "unnamed test"]);
    assert!(checked.groups.iter().all(|group| group.verdict == Verdict::Unknown && group.bounds.is_err()));
    assert_eq!(Operation::of_program("gather_perf"), None);
}
