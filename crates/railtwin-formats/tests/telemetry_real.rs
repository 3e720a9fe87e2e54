//! Telemetry of real clusters: facts of the files in `data/telemetry`, counted apart from our decoders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use railtwin_formats::telemetry::{
    Content, Format, Hints, KinetoTrace, MegatronOperation, MegatronRole, Merger, NcclTest, Times,
    XpuTimerSnapshot, decode, detect_format, megatron_trace,
};
use railtwin_store::parquet_foreign::decode_foreign;

macro_rules! real {
    ($path:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/telemetry/", $path)).as_slice()
    };
}

const PAIR: &[u8] = real!("nccl_tests_h100/nccl_N2_G8_cnode3-002_cnode3-003.log");
const SMOKE: &[u8] = real!("nccl_tests_h100/nccl_smoke_N2_G1_cnode3-002_cnode3-003.log");
const HEALTHY: &[u8] = real!("xpu_timer/normal.prom");
const HUNG: &[u8] = real!("xpu_timer/hang_all.prom");
const TWO_RANKS: &[u8] = real!("kineto/two_ranks_a100_rank0.json");
const ONE_RANK: &[u8] = real!("kineto/one_rank_v100_rank0.json");
const OLD: [&[u8]; 2] =
    [real!("kineto/sampled_rank0_of_128.json"), real!("kineto/sampled_rank1_of_128.json")];
const MEGATRON: &[u8] = real!("megatron_straggler/trace-ST.parquet");

#[test]
fn neighbors_of_two_hosts_hear_switches_of_two_vendors() {
    let read = |name: &str, bytes: &[u8]| {
        let imported = decode(name, bytes, &Hints::default()).expect("a real file");
        assert_eq!((imported.format, imported.skipped.count()), (Format::Lldp, 0));
        match imported.content {
            Content::Neighbors(all) => {
                all.into_iter().map(|info| [info.port, info.neighbor, info.neighbor_port]).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        }
    };
    let one = read("lldp/bjg45.json", real!("lldp/bjg45.json"));
    assert_eq!(one, [["bjg45/ens11f0", "bj08-m1-a10-40-swl017", "25GE1/0/39"]]);
    let two = read("clnet36.json", real!("lldp/clnet36.json"));
    let wanted = [
        ["clnet36/ens14f0np0", "CL-A052A", "Twenty-FiveGigE1/0/16"],
        ["clnet36/eth0", "CL-RLF233", "FourHundredGigE1/0/98"],
    ];
    assert_eq!(two, wanted);
}

fn tests_of(name: &str, bytes: &[u8]) -> Vec<NcclTest> {
    let imported = decode(name, bytes, &Hints::default()).expect("a real log");
    assert_eq!((imported.format, imported.notes.len()), (Format::NcclTestsLog, 0));
    match imported.content {
        Content::NcclTests(tests) => tests,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pair_log_holds_two_tests() {
    let tests = tests_of("pair.log", PAIR);
    let names: Vec<_> = tests.iter().map(|test| (test.name.as_str(), test.complete)).collect();
    assert_eq!(names, [("alltoall_perf", true), ("sendrecv_perf", true)]);
    assert_eq!(tests[0].version, "2.17.8 nccl-headers=22902 nccl-library=22902");
    assert_eq!(tests[0].devices.len(), 16);
    let last = &tests[1].devices[15];
    assert_eq!((last.rank, last.host.as_str(), last.gpu, last.pid), (15, "cnode3-003", 7, 978_552));
    assert_eq!((last.bus.as_str(), last.product.as_str()), ("0000:df:00", "NVIDIA H100 80GB HBM3"));
    let row = &tests[0].results[2];
    assert_eq!((row.bytes, row.elements, row.data_type.as_str()), (17_179_869_184, 134_217_728, "double"));
    let (out, within) = (row.out_of_place.as_ref().expect("both"), row.in_place.as_ref().expect("both"));
    assert_eq!((out.time_us, out.bus_gb_per_s, out.wrong), (174_994.0, 92.04, Some(0)));
    assert_eq!((within.time_us, within.algorithm_gb_per_s, within.wrong), (175_000.0, 98.17, None));
    assert_eq!((tests[0].average_bus_gb_per_s, tests[0].out_of_bounds), (Some(91.9179), Some(0)));
}

#[test]
fn a_smoke_log_holds_other_sizes() {
    let tests = tests_of("smoke.log", SMOKE);
    assert_eq!(tests[0].name, "all_reduce_perf");
    assert_eq!(tests.iter().map(|test| test.results.len()).collect::<Vec<_>>(), [5, 5]);
}

#[test]
fn all_pairs_of_ten_hosts_are_there() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/telemetry/nccl_tests_h100");
    let hosts: Vec<String> = (2..12).map(|host| format!("cnode3-{host:03}")).collect();
    let mut averages = Vec::new();
    for (at, first) in hosts.iter().enumerate() {
        for second in &hosts[at + 1..] {
            let path = format!("{folder}/nccl_N2_G8_{first}_{second}.log");
            #[allow(clippy::disallowed_methods, reason = "a test reads its data")]
            let bytes = std::fs::read(Path::new(&path)).expect("a log of each pair");
            for test in tests_of(&path, &bytes) {
                let of: BTreeSet<_> = test.devices.iter().map(|device| device.host.as_str()).collect();
                assert_eq!(of, BTreeSet::from([first.as_str(), second.as_str()]));
                averages.push(test.average_bus_gb_per_s.expect("complete"));
            }
        }
    }
    assert_eq!(averages.len(), 90);
}

#[test]
fn xpu_timer_tells_who_hangs() {
    for (bytes, hung) in [(HEALTHY, 0), (HUNG, 8)] {
        assert_eq!(detect_format(bytes), Some(Format::XpuTimer));
        let snapshot = XpuTimerSnapshot::parse("a.prom", bytes).expect("real metrics");
        assert_eq!((snapshot.ranks.len(), snapshot.hung().count()), (8, hung));
        let third = &snapshot.ranks[2];
        assert_eq!((third.rank, third.local_rank, third.host.as_str()), (2, 2, "11.36.23.0"));
        let gauge = third.gauges.iter().find(|gauge| gauge.metric == "MM_KERNEL_AVG_LATENCY");
        let gauge = gauge.expect("there");
        assert_eq!((gauge.operation.as_str(), gauge.level.as_str(), gauge.value), ("Matmul", "7", 19_063.0));
    }
    let mut merger = Merger::new("job");
    merger.add(decode("hang_all.prom", HUNG, &Hints::default()).expect("metrics"));
    let merged = merger.finish();
    assert_eq!(merged.files[0].held, "8 ranks, 8 hung");
    assert_eq!(merged.telemetry.directory.jobs, ["aistudio-155220033"]);
    assert_eq!(merged.telemetry.directory.hosts.len(), 1);
}

#[test]
fn kineto_kernels_with_metadata_become_operations() {
    let mut merger = Merger::new("resnet");
    merger.add(decode("trace.json", TWO_RANKS, &Hints::default()).expect("a real trace"));
    let merged = merger.finish();
    let (directory, batch) = (&merged.telemetry.directory, &merged.telemetry.batch);
    // 15 all-reduces and 6 broadcasts of rank 0; rank 1 is known from the group alone.
    assert_eq!((batch.operations.len(), directory.ranks.len(), directory.communicators.len()), (21, 2, 1));
    assert_eq!(directory.communicators[0].name, "0");
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for &shape in &batch.operations.shape {
        *kinds.entry(&directory.shapes[shape as usize].kind).or_default() += 1;
    }
    assert_eq!(kinds, BTreeMap::from([("all-reduce", 15), ("broadcast", 6)]));
    let large = directory.shapes.iter().find(|shape| shape.bytes == 6_637_568 * 4).expect("the largest");
    assert_eq!((large.algorithm.as_str(), large.data_type.as_str()), ("ring", "float32"));
    let took = batch.operations.end_ns.iter().zip(&batch.operations.enter_ns).map(|(end, enter)| end - enter);
    // 2636.669 us; times since 1970 in microseconds keep a quarter of one.
    assert!(took.into_iter().any(|ns| ns.abs_diff(2_636_669) < 300));
    assert_eq!(batch.operations.sequence.iter().max(), Some(&20));
    assert_eq!((merged.telemetry.times, merged.compute[0].1.kernels), (Times::Kernels, 30));
}

#[test]
fn old_kernels_without_a_group_are_kept_and_said() {
    let mut merger = Merger::new("dlrm");
    for (rank, bytes) in OLD.into_iter().enumerate() {
        let imported = decode(&format!("rank{rank}.json"), bytes, &Hints::default()).expect("a real trace");
        assert!(imported.notes[0].to_string().contains("10 of 10 NCCL kernels tell no process group"));
        merger.add(imported);
    }
    let merged = merger.finish();
    let directory = &merged.telemetry.directory;
    assert_eq!((directory.ranks.len(), merged.telemetry.batch.operations.len()), (2, 20));
    assert_eq!(directory.communicators[0].name, "stream 84");
    assert!(merged.telemetry.notes.is_empty(), "{:?}", merged.telemetry.notes);
    let mut twice = Merger::new("dlrm");
    for name in ["a_rank0.json", "b_rank0.json"] {
        twice.add(decode(name, OLD[0], &Hints::default()).expect("a real trace"));
    }
    assert!(twice.finish().telemetry.notes[0].to_string().starts_with("rank 0 has 2 files"));
    assert_eq!(directory.shapes[0].kind, "send-receive");
}

#[test]
fn a_trace_without_nccl_kernels_says_why() {
    let trace = KinetoTrace::parse("trace.json", ONE_RANK, None).expect("a real trace");
    assert!(trace.kernels.is_empty() && trace.compute.kernels == 20);
    assert_eq!(
        trace.notes,
        ["no operations: 6 calls of NCCL launched no kernel, because the job has one rank"]
    );
}

#[test]
fn a_megatron_trace_becomes_operations_of_its_groups() {
    assert_eq!(detect_format(MEGATRON), Some(Format::Parquet));
    let refusal = decode("trace.parquet", MEGATRON, &Hints::default()).expect_err("a table").to_string();
    assert!(refusal.contains("dp_rank, stage, rank"), "{refusal}");
    let table = decode_foreign(Path::new("trace-ST.parquet"), MEGATRON.to_vec()).expect("flat columns");
    let trace = megatron_trace("trace-ST.parquet", "ST", &table).expect("a real trace");
    let directory = &trace.telemetry.directory;
    let operations = &trace.telemetry.batch.operations;
    // 6,784 rows less 256 layernorm all-reduces of one rank each and 2,816 computations.
    let alone = |operation: &&MegatronOperation| {
        use MegatronRole::{Alone, Backward, Forward, Pause};
        matches!(operation.role, Forward | Backward | Alone | Pause)
            || trace.kinds[operation.kind as usize] == "optimizer-clip-main-grad"
    };
    assert_eq!((operations.len(), trace.operations.len()), (6784 - 256 - 2816, 6784));
    assert_eq!(trace.operations.iter().filter(alone).count(), 2816);
    assert!(trace.telemetry.notes[0].to_string().starts_with("256 operations left out"));
    // 4 stages of data parallelism, 2 embeddings, 3 pairs of stages, both ways, twice.
    assert_eq!((directory.ranks.len(), directory.communicators.len()), (8, 4 + 2 + 12));
    // Every operation has both of its ranks.
    let mut members: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for row in 0..operations.len() {
        let key = (operations.communicator[row], operations.sequence[row]);
        assert!(members.entry(key).or_default().insert(operations.rank[row]), "{key:?} twice");
    }
    assert!(members.values().all(|ranks| ranks.len() == 2));
    // Stage 3 computes longest, as the trace's authors say too: its slowdown is 1.23, that of others below 1.
    let mut forward: BTreeMap<u32, u64> = BTreeMap::new();
    for piece in trace.operations.iter().filter(|piece| piece.role == MegatronRole::Forward) {
        *forward.entry(piece.stage).or_default() += piece.duration_ns;
    }
    assert_eq!(forward.iter().max_by_key(|(_, ns)| **ns).map(|(stage, _)| *stage), Some(3));
}
