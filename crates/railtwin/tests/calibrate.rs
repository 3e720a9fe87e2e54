//! What was fitted to half of the sizes of a real cluster, run by the engines, against the other half.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::Path;

use proptest::prelude::*;
use railtwin::{Question, Run};
use railtwin_calibration::calibrate::{Calibration, Sources, calibrate, calibrate_all};
use railtwin_fabric::HostModel;
use railtwin_formats::telemetry::{
    Hints, Merger, NcclTest, NcclTestDevice, NcclTestMeasure, NcclTestResult, decode, parse_nccl_tests_log,
    parse_nccl_tests_table,
};
use railtwin_workload::{Algorithm, Collective, Group};

type Logs = Vec<(String, Vec<NcclTest>)>;

fn wide() -> Logs {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/nccl_tests_h100_wide");
    let mut logs = Logs::new();
    for name in ["nccl_N10_G1.log", "nccl_N10_G8.log", "nccl_N1_G8_cnode3-002.log"] {
        let tests = parse_nccl_tests_log(name, &std::fs::read(folder.join(name)).unwrap()).unwrap().tests;
        logs.push((name.to_owned(), tests));
    }
    logs
}

/// Every other size of each test, from the first or the second on.
fn half(logs: &Logs, turn: usize) -> Logs {
    let mut half = logs.clone();
    for test in half.iter_mut().flat_map(|(_, tests)| tests) {
        let mut row = 0;
        test.results.retain(|_| {
            row += 1;
            (row - 1) % 2 == turn
        });
    }
    half
}

/// Seconds of one operation on hosts under one leaf, by an engine, at the costs of a file.
fn simulated(engine: &str, caps: &Path, hosts: u32, local: u32, kind: Collective, bytes: u64) -> f64 {
    let gpus = if local == 8 { String::new() } else { format!("gpus = {local}\nnics = {local}\n") };
    let text = format!(
        "schema = 1\nname = \"held-out\"\nengine = \"{engine}\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 1\n\
         hosts_per_leaf = {hosts}\nuplinks = 1\n[fabric.host]\nmodel = \"hgx-h100\"\n{gpus}nic_ports = 1\n\
         nic_port_capacity = \"400 Gbps\"\ncaps = \"{}\"\n[[job]]\nhosts = {hosts}\n\
         collective = {{ kind = \"{kind}\", bytes = \"{bytes} B\" }}\n[packet]\nstart_jitter = \"0 s\"\n",
        caps.display()
    );
    let question = Question::of_text("held-out.toml", &text, Path::new("/"));
    let point = question.points().unwrap().remove(0);
    Run::of(question.resolve(&point.scenario).unwrap(), &|| ()).figure("step_time").unwrap()
}

/// Median and 90th percentile of errors, ascending.
fn spread(mut errors: Vec<f64>) -> (f64, f64) {
    errors.sort_unstable_by(f64::total_cmp);
    (errors[errors.len() / 2], errors[errors.len() * 9 / 10])
}

/// The three collectives of a ring, ten hosts of one and of eight GPUs and one host, 32 MiB to 16 GiB: the flow engine with
/// caps of one half of the sizes, at the other half.
#[test]
fn flows_meet_the_sizes_that_were_left_out() {
    let logs = wide();
    let folder = tempfile::tempdir().unwrap();
    let caps = folder.path().join("caps.toml");
    std::fs::write(&caps, calibrate(&half(&logs, 0), None).file().to_toml()).unwrap();
    let (mut rings, mut others) = (Vec::new(), Vec::new());
    for (test, (collective, group)) in half(&logs, 1).iter().flat_map(|(_, tests)| tests).zip(in_order(&logs))
    {
        for result in &test.results {
            let times: Vec<f64> = [&result.out_of_place, &result.in_place]
                .into_iter()
                .flatten()
                .map(|measure| measure.time_us * 1e-6)
                .collect();
            let measured = times.iter().sum::<f64>() / times.len() as f64;
            let ours = simulated("flow", &caps, group.0, group.1, collective, result.bytes);
            let error = (ours / measured - 1.0).abs();
            match collective {
                Collective::AllToAll | Collective::SendReceive => others.push(error),
                _ => rings.push(error),
            }
        }
    }
    assert_eq!((rings.len(), others.len()), (45, 30));
    let (median, tail) = spread(rings);
    println!("all-reduce, all-gather, reduce-scatter: median {median:.4}, 90th percentile {tail:.4}");
    assert!(median <= 0.02 && tail <= 0.06, "{median} {tail}");
    let (median, tail) = spread(others);
    println!("all-to-all, send/receive: median {median:.4}, 90th percentile {tail:.4}");
    assert!(median <= 0.02 && tail <= 0.08, "{median} {tail}");
}

/// Collective, hosts and GPUs of a host of each test, in the order of the logs.
fn in_order(logs: &Logs) -> Vec<(Collective, (u32, u32))> {
    let shapes = [(10, 1), (10, 8), (1, 8)];
    let name = |test: &NcclTest| match test.name.trim_end_matches("_perf") {
        "all_reduce" => Collective::AllReduce,
        "all_gather" => Collective::AllGather,
        "reduce_scatter" => Collective::ReduceScatter,
        "alltoall" => Collective::AllToAll,
        _ => Collective::SendReceive,
    };
    let all = logs.iter().zip(shapes);
    all.flat_map(|((_, tests), shape)| tests.iter().map(move |test| (name(test), shape))).collect()
}

/// Packets of a fitted ring and of a fitted host take as long as flows: latency and caps are the same in both.
#[test]
fn packets_cost_what_flows_cost() {
    let folder = tempfile::tempdir().unwrap();
    let caps = folder.path().join("caps.toml");
    std::fs::write(&caps, calibrate(&wide(), None).file().to_toml()).unwrap();
    for (hosts, local, kind) in
        [(1, 8, Collective::AllReduce), (10, 1, Collective::AllGather), (1, 8, Collective::AllToAll)]
    {
        let [flow, packet] =
            ["flow", "packet"].map(|engine| simulated(engine, &caps, hosts, local, kind, 64 << 20));
        let ratio = packet / flow;
        println!("{hosts} x {local} {kind}: packets over flows {ratio:.3}");
        assert!((0.95..1.06).contains(&ratio), "{hosts} x {local} {kind}: {ratio}");
    }
}

/// A model fitted on 2 and 4 hosts of 8, asked for 8: both engines take what it predicts, of trees and of rings.
#[test]
fn engines_take_what_a_model_predicts_of_more_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = "gpus,hosts,bytes,time_us\n".to_owned();
    for hosts in [2_u32, 4] {
        for power in 16..31 {
            let (ranks, bytes) = (f64::from(8 * hosts), f64::from(1_u32 << power));
            let tree = 120e-6 + bytes / 120e9 + f64::from(hosts).log2() * 40e-6;
            let ring = 2.0 * (ranks - 1.0) * (20e-6 + bytes / ranks / 300e9);
            let seconds = if hosts > 2 && power > 25 { ring } else { tree };
            table.push_str(&format!("{},{hosts},{},{}\n", 8 * hosts, 1_u64 << power, seconds * 1e6));
        }
    }
    let tests = parse_nccl_tests_table("t.csv", table.as_bytes()).unwrap().tests;
    let host = HostModel::named("hgx-h100").unwrap();
    let found = calibrate(&[("t.csv".to_owned(), tests)], Some(&host));
    let caps = folder.path().join("caps.toml");
    std::fs::write(&caps, found.file().to_toml()).unwrap();
    let model = &found.scaling[0].fit.model;
    let both = &["flow", "packet"][..];
    for (bytes, engines) in [(1_u64 << 20, both), (1 << 23, both), (1 << 32, &both[..1])] {
        let predicted = model.predict(Group::of(8, 8), bytes).unwrap().seconds;
        for engine in engines {
            let took = simulated(engine, &caps, 8, 8, Collective::AllReduce, bytes);
            assert!((took / predicted - 1.0).abs() < 0.1, "{engine} {bytes}: {took}, predicted {predicted}");
        }
    }
}

/// A step of a tree costs what NCCL's own model has, over hosts of eight GPUs; and the large end is a ring.
#[test]
fn the_tree_of_ten_hosts_is_found() {
    let found = calibrate(&wide(), None);
    assert_eq!(found.model.as_deref(), Some("hgx-h100"));
    let tree = found
        .fitted
        .iter()
        .find(|one| one.collective == Collective::AllReduce && one.group.ranks == 80)
        .unwrap();
    assert_eq!(tree.algorithms, [Algorithm::Tree, Algorithm::Ring]);
    let whole = tree.step(0) + tree.network[0] / 22.0;
    assert!((whole * 1e6 - 28.0).abs() < 1.0, "{whole}");
    let host =
        found.fitted.iter().find(|one| one.collective == Collective::AllReduce && one.group.ranks == 8);
    assert!(host.unwrap().algorithms.iter().all(|&algorithm| algorithm == Algorithm::Nvls));
}

/// The same times as the Inspector would log them, with ranks that come late: the shortest of each operation is what was
/// measured, and the caps are the same.
#[test]
fn records_of_a_job_give_what_its_tests_give() {
    let mut logs = vec![wide().remove(2)];
    let mut dumps: Vec<String> = (0..8).map(|_| String::new()).collect();
    let mut number = 0;
    for test in &mut logs[0].1 {
        test.results.iter_mut().for_each(|result| result.in_place = None);
        let kind = match test.name.trim_end_matches("_perf") {
            "all_reduce" => "AllReduce",
            "all_gather" => "AllGather",
            "reduce_scatter" => "ReduceScatter",
            _ => continue,
        };
        for result in &test.results {
            let bytes = if kind == "AllReduce" { result.bytes } else { result.bytes / 8 };
            let took = result.out_of_place.as_ref().unwrap().time_us;
            number += 1;
            for (rank, dump) in (0_u32..).zip(&mut dumps) {
                // Another rank is the last one each time.
                let waited = took * 0.1 * f64::from((rank + number) % 8);
                dump.push_str(&format!(
                    "{{\"header\":{{\"id\":\"0x7f\",\"rank\":{rank},\"n_ranks\":8,\"nnodes\":1}},\"metadata\":\
                     {{\"inspector_output_format_version\":\"v4.0\",\"dump_timestamp_us\":1,\"hostname\":\"h\",\"pid\":{rank}}},\
                     \"coll_perf\":{{\"coll\":\"{kind}\",\"coll_sn\":{number},\"coll_msg_size_bytes\":{bytes},\
                     \"coll_exec_time_us\":{}}}}}\n",
                    took + waited
                ));
            }
        }
    }
    let mut merger = Merger::new("job");
    for (rank, dump) in dumps.iter().enumerate() {
        merger.add(decode(&format!("h-pid{rank}.log"), dump.as_bytes(), &Hints::default()).unwrap());
    }
    let merged = merger.finish();
    let model = HostModel::hgx_h100();
    let tests = calibrate(&logs, Some(&model));
    let sources = Sources { steps: Some(&merged.telemetry), ..Sources::default() };
    let steps = calibrate_all(&sources, Some(&model));
    let of = |found: &Calibration| {
        let rings = [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter];
        found.file().caps.into_iter().filter(|cap| rings.contains(&cap.collective)).collect::<Vec<_>>()
    };
    assert_eq!(of(&steps), of(&tests));
    assert_eq!((steps.fitted.len(), steps.fitted.iter().all(|one| one.steps)), (3, true));
    // Beside nccl-tests of the same kind they are left aside, and with a rank that logged nothing too.
    let both = calibrate_all(&Sources { nccl_tests: &logs, ..sources }, Some(&model));
    assert_eq!((of(&both), both.aside.len()), (of(&tests), 3));
    let mut merger = Merger::new("job");
    for (rank, dump) in dumps.iter().enumerate().skip(1) {
        merger.add(decode(&format!("h-pid{rank}.log"), dump.as_bytes(), &Hints::default()).unwrap());
    }
    let merged = merger.finish();
    let partial =
        calibrate_all(&Sources { steps: Some(&merged.telemetry), ..Sources::default() }, Some(&model));
    assert!(partial.fitted.is_empty() && partial.aside.iter().all(|one| one.why.contains("logged nothing")));
}

proptest! {
    /// Whatever a log holds, caps come out that scenarios take, or nothing.
    #[test]
    fn any_log_gives_caps_that_read(
        rows in proptest::collection::vec((0_u64..1 << 40, proptest::num::f64::ANY), 0..9),
        hosts in 0_u32..4,
        local in 1_u32..9,
        name in "(all_reduce|all_gather|alltoall|sendrecv|broadcast|reduce|hypercube)_perf",
    ) {
        let device = |rank: u32| {
            let host = format!("h{}", rank / local);
            NcclTestDevice { rank, host, product: "NVIDIA H100 80GB HBM3".to_owned(), ..NcclTestDevice::default() }
        };
        let result = |&(bytes, time_us): &(u64, f64)| {
            let measure = NcclTestMeasure { time_us, ..NcclTestMeasure::default() };
            NcclTestResult { bytes, out_of_place: Some(measure), ..NcclTestResult::default() }
        };
        let test = NcclTest {
            name,
            devices: (0..hosts * local).map(device).collect(),
            results: rows.iter().map(result).collect(),
            ..NcclTest::default()
        };
        let found = calibrate(&[("log".to_owned(), vec![test])], None);
        if !found.fitted.is_empty() {
            let text = found.file().to_toml();
            prop_assert!(railtwin_scenario::CapsFile::parse("caps.toml", &text).is_ok(), "{}", text);
        }
    }
}
