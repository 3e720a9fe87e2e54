//! Decoders of telemetry never panic: arbitrary bytes, and real files with changes.

use proptest::prelude::*;
use railtwin_formats::telemetry::{
    FlightRecorderDump, Hints, InspectorDump, KinetoTrace, Merger, RasSnapshot, XpuTimerSnapshot, decode,
    megatron_trace, parse_cluster_log, parse_counter_listing, parse_dcgm, parse_ethtool, parse_lldp,
    parse_nccl_tests_json, parse_nccl_tests_log, parse_node_exporter, parse_perftest, parse_perftest_json,
    parse_probe_table, parse_prometheus, parse_rdma_statistic, parse_ss,
};
use railtwin_records::{Column, Table};

macro_rules! real {
    ($path:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/telemetry/", $path)).as_slice()
    };
}

/// Real files, and short samples of what cannot be shipped.
const SEEDS: [&[u8]; 28] = [
    real!("nccl_tests_h100/nccl_smoke_N2_G1_cnode3-002_cnode3-003.log"),
    real!("xpu_timer/hang_all.prom"),
    real!("kineto/two_ranks_a100_rank0.json"),
    br#"{"header":{"id":"0x7f","rank":1,"n_ranks":2,"nnodes":1},
    "metadata":{"inspector_output_format_version":"v4.0","dump_timestamp_us":500,"hostname":"h1","pid":7},
    "coll_perf":{"coll":"AllReduce","coll_sn":3,"coll_msg_size_bytes":1024,"coll_exec_time_us":20,
    "event_trace_ts":{"kernel_events":[{"kernel_start_ts":1,"kernel_stop_ts":2}]}}}"#,
    br#"{"nccl_version":"2.29.1","communicators_count":1,
    "communicators":[{"hash":"0x1","size":2,"ranks":[{"rank":0,"host":"h","pid":1,"cuda_dev":0,
    "status":{"init_state":0},"collective_counts":{"AllReduce":12}}],"missing_ranks":[{"rank":1,"status":{"unresponsive":true}}]}]}"#,
    br#"{"version":"2.7","pg_config":{"0":{"name":"0","desc":"d","ranks":"[0, 1]"}},
    "entries":[{"process_group":["0","d"],"collective_seq_id":1,"profiling_name":"nccl:all_reduce",
    "input_sizes":[[3,4]],"input_dtypes":["Float"],"time_created_ns":5,"duration_ms":1.5,"state":"completed","is_p2p":false}],"rank":0}"#,
    real!("flight_recorder/lock_gil_2nd/_dump_15"),
    b"0: :::MLLOG {\"key\":\"tracked_stats\",\"value\":{\"train_step_time\":8.4}}\n",
    b"run,event,step_s\n0,step,8.4\n0,eval_start,\n1,step,8.5\n",
    b"{\"perf/step_time_seconds\": 0.83, \"step\": 12.0}\n{\"perf/step_time_seconds\": 0.84, \"step\": 13}\n",
    b"DLLL {\"type\": \"LOG\", \"step\": 3, \"data\": {\"train_step_timing in s\": 9.5}}\n",
    b"step,elapsed,val_loss\n0,0:00:10,\n10,0:01:10,\n10,,2.5\n20,1 day, 0:00:10,\n",
    b"step    1/18865 | loss 11.0 | 383.55 ms | 136 tok/s\nstep: 3  loss: 8  tps: 1,000  \niter 10: loss 9, time 13ms, mfu\n",
    b"NIC statistics:\n rx_discards_phy: 3\n rx_prio3_pause_duration: 48736\n",
    b"DCGM_FI_DEV_SM_CLOCK_HERTZ{gpu=\"1\",Hostname=\"h\"} 1.41e+09\nDCGM_EXP_XID_ERRORS_COUNT{gpu=\"0\",xid=\"31\"} 2 5\n",
    br#"[{"ifname":"mlx5_0","port":1,"out_of_sequence":5,"local_ack_timeout_err":2}]"#,
    b"                    RDMA_Write BW Test\n Number of qps   : 1\t\tTransport type : IB\n Mtu             : 4096[B]\n\
    ---\n #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n\
    65536      1000             10402.09            10401.68 \t\t 0.166427\n---\n",
    b"1,3<stdout>:gpu-7:99:101 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.9<33333> with \
    status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.1.0.7 remoteGids ::ffff:10.1.0.9 hca mlx5_3\n\
    0: gpu-7:99:99 [4] NCCL INFO comm 0x55 rank 36 nranks 64 cudaDev 4 nvmlDev 4 busId 9b000 commId 0x5a - Init COMPLETE\n\
    gpu-7:99:99 [4] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.7<0>\n\
    [2026-11-24 10:11:12] gpu-7:99:99 [4] net_ib.cc:9 NCCL WARN NET/IB : mlx5_3:1 Got async event : port error\n",
    b"[rank3]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: \
    WorkNCCL(SeqNum=808, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n\
    [rank3]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 3] Exception (either an error or \
    timeout) detected by watchdog at work: 808, last enqueued NCCL work: 811, last completed NCCL work: 807.\n\
    [rank3]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:663] Stack trace of the failed collective: \n#1 step from /job/train.py:88\n\
    [rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n",
    b"Nov 24 10:00:00 gpu-2 kernel: [ 5.000001] NVRM: Xid (PCI:0000:4b:00): 79, pid=1, name=python, GPU has fallen off the bus.\n\
    [Tue Nov 24 10:00:00 2026] mlx5_core 0000:29:00.0 ens1np0: Link down\n\
    2026-11-24T10:00:00,123456+00:00 nvidia 0000:1b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer\n\
    kern  :err   : [ 77.000001] Out of memory: Killed process 4242 (python3) total-vm:1kB\n",
    b"{\ntest_info: {\ntest: RDMA_Write_BW_Test,\nDevice: \"mlx5_0\",\n},\nresults: {\nMsgSize: 65536,\n\
    n_iterations: 5000,\nBW_average: 328.61,\nMsgRate: 0.626777,\n},\n}\n",
    b"time,src,dst,sent,lost,rtt_us\n2025-06-01T00:00:01Z,h1,h2,10,0,5.2\n2025-06-01T00:00:01Z,h2,h1,10,10,\n",
    b"ESTAB 0 0 10.0.0.1:40000 10.0.0.2:5000\n\t cubic rtt:0.213/0.011 mss:8948 cwnd:10 data_segs_out:1000 \
    delivery_rate 9.5Gbps busy:120ms retrans:0/12\n",
    b"NCCL version 2.26.2 compiled with CUDA 12.6\nJob summary\n\nCommunicators... (0.00s)\n\nGroup Comms\n\
    0 1 4 8 32 32 RUNNING MISMATCH\n\n#0-0 (fa93) MISMATCH\nCommunicator ranks have different AllGather operation counts\n\
    30 ranks have launched up to operation 640\n2 ranks have launched up to operation 641\nRank 12 -- GPU 4 managed by \
    process 32 on node h4\nRank 13 -- GPU 5 managed by process 33 on node h4\n",
    real!("lldp/clnet36.json"),
    b"lldp.eth0.via=LLDP\nlldp.eth0.chassis.mac=0c:4f:9b:c4:18:61\nlldp.eth0.chassis.name=leaf-3\nlldp.eth0.port.ifname=swp7\n\
    lldp.eth0.port.ttl=120\nlldp.eth1.5.via=LLDP\nlldp.eth1.5.chassis.mac=aa:bb\nlldp.eth1.5.port.local=612\n\
    lldp.eth1.5.port.descr=Ethernet8\n",
    b"LLDP neighbors:\nInterface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:01:00\n  Chassis:\n    ChassisID:    mac aa:bb\n    \
    SysName:      leaf-3\n  Port:\n    PortID:       ifname swp7\n    PortDescr:    Eth7\n",
    b"# RTT in us\n,h1,h2,h3\nh1,0,10,12\nh2,10,0,timeout\nh3,12,11,0\n",
];

/// Every decoder, and what the merger makes of what they read.
fn all_of_them(bytes: &[u8]) {
    let hints = Hints::default();
    for hints in [hints.clone(), Hints { rank: Some(1), host: Some("h".into()), ..hints }] {
        let mut merger = Merger::new("job");
        match decode("a_1.json", bytes, &hints) {
            Ok(imported) => merger.add(imported),
            Err(error) => {
                let line = error.to_string();
                assert!(line.starts_with("a_1.json") && !line.contains('\n'), "{line}");
            }
        }
        let merged = merger.finish();
        let operations = &merged.telemetry.batch.operations;
        for row in 0..operations.len() {
            assert!(operations.end_ns[row] >= operations.enter_ns[row]);
            assert!((operations.rank[row] as usize) < merged.telemetry.directory.ranks.len());
        }
        let _ = InspectorDump::parse("a", bytes);
        let _ = RasSnapshot::parse("a", bytes)
            .map(|it| it.communicators.iter().map(|c| c.behind().len()).sum::<usize>());
        let _ = FlightRecorderDump::parse("a", bytes, hints.rank);
        let _ = parse_nccl_tests_log("a", bytes);
        let _ = parse_nccl_tests_json("a", bytes);
        let _ = parse_perftest("a", bytes);
        let _ = parse_cluster_log("logs/h1/dmesg.txt", bytes, &hints).map(|log| log.held());
        let _ = parse_perftest_json("a", bytes);
        let _ = parse_probe_table("a", bytes, &hints);
        let _ = parse_ss("a", bytes, &hints);
        let _ = parse_lldp("a", bytes, &hints);
        let _ = KinetoTrace::parse("a", bytes, hints.rank);
        let _ = parse_prometheus("a", bytes);
        let _ = XpuTimerSnapshot::parse("a", bytes);
        let _ = parse_dcgm("a", bytes, &hints);
        let _ = parse_node_exporter("a", bytes, &hints);
        let _ = parse_ethtool("a", bytes, &hints);
        let _ = parse_counter_listing("a", bytes, &hints);
        let _ = parse_rdma_statistic("a", bytes, &hints);
    }
}

#[test]
fn seeds_are_read_by_their_decoder() {
    for seed in SEEDS {
        assert!(
            decode("a_1.json", seed, &Hints::default()).is_ok(),
            "{}",
            String::from_utf8_lossy(&seed[..40])
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        all_of_them(&bytes);
        let mut packed = vec![0x1f, 0x8b];
        packed.extend(&bytes);
        all_of_them(&packed);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "(\\{|\\[|#|NIC statistics:\n|link a/1 )?[ -~\n]{0,200}") {
        all_of_them(text.as_bytes());
    }

    #[test]
    fn changed_files_never_panic(
        seed in 0..SEEDS.len(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4),
        digits in proptest::collection::vec((any::<proptest::sample::Index>(), b'0'..=b'9'), 0..4),
        cut: proptest::sample::Index,
        whole: bool,
    ) {
        let mut bytes = SEEDS[seed].to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        // Digits for digits keep the syntax and change values.
        let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
        for (at, digit) in digits {
            if !places.is_empty() {
                bytes[places[at.index(places.len())]] = digit;
            }
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        all_of_them(&bytes);
    }

    #[test]
    fn arbitrary_tables_never_panic(
        rows in proptest::collection::vec((0..9_u32, any::<u64>(), 0..7_usize, any::<f64>(), 0..3_u32), 0..20),
    ) {
        const KINDS: [&str; 7] = ["gc", "forward-send", "forward-recv", "backward-send", "backward-recv",
            "grads-reduce-scatter", "layernorm-grads-all-reduce"];
        let whole = |of: fn(&(u32, u64, usize, f64, u32)) -> u64| rows.iter().map(of).collect::<Vec<u64>>();
        let time = || rows.iter().map(|row| row.3).collect::<Vec<f64>>();
        let columns = vec![
            Column::u32("dp_rank", rows.iter().map(|row| row.4).collect()),
            Column::u64("stage", whole(|row| u64::from(row.4) + row.1 % 2)),
            Column::u64("rank", whole(|row| u64::from(row.0))),
            Column::u64("step", whole(|row| row.1)),
            Column::coded("optype", rows.iter().map(|row| KINDS[row.2])),
            Column::f64("start_ts", time()),
            Column::f64("duration", time()),
            Column::u64("seq_id", whole(|row| row.1 % 5)),
        ];
        let _ = megatron_trace("t", "job", &Table::new("t", columns));
    }
}
