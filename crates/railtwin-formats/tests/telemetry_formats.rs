//! Telemetry that no licence lets us ship: samples written here after the documented schemas.

use railtwin_formats::telemetry::{
    Content, FlightRecorderDump, FlightState, Format, Hints, Imported, InspectorDump, Merged, Merger,
    RasSnapshot, Times, decode, detect_format,
};
use railtwin_records::{Component, Counter, NOT_YET};

/// One line of NCCL Inspector v4.0; `trace` is empty or a verbose trace.
fn inspector(rank: u32, coll: &str, number: u64, trace: &str) -> String {
    format!(
        concat!(
            r#"{{"header":{{"id":"0x7f8c","rank":{rank},"n_ranks":2,"nnodes":2}},"#,
            r#""metadata":{{"inspector_output_format_version":"v4.0","git_rev":"","#,
            r#""rec_mechanism":"profiler_plugin","dump_timestamp_us":1000000,"hostname":"host-{rank}","#,
            r#""pid":{}}},"coll_perf":{{"coll":"{coll}","coll_sn":{number},"coll_msg_size_bytes":1048576,"#,
            r#""coll_exec_time_us":250,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":4.2,"#,
            r#""coll_busbw_gbs":4.2{trace}}}}}"#,
        ),
        100 + rank,
        rank = rank,
        coll = coll,
        number = number,
        trace = trace
    ) + "\n"
}

/// A verbose trace of two channels.
fn trace(start: u64, stop: u64) -> String {
    format!(
        concat!(
            r#","event_trace_ts":{{"coll_start_ts":{},"coll_stop_ts":{},"kernel_events":[{{"channel_id":0,"#,
            r#""kernel_start_ts":{start},"kernel_stop_ts":{},"kernel_record_ts":{stop}}},{{"channel_id":1,"#,
            r#""kernel_start_ts":{},"kernel_stop_ts":{stop},"kernel_record_ts":0}}]}}"#,
        ),
        start - 5,
        start - 4,
        stop - 1,
        start + 1,
        start = start,
        stop = stop
    )
}

fn merged(files: &[(&str, &str)]) -> Merged {
    let mut merger = Merger::new("job");
    for (name, text) in files {
        merger.add(decode(name, text.as_bytes(), &Hints::default()).expect("a good file"));
    }
    merger.finish()
}

/// What is said of the one record of a file that is wrong.
fn complaint(name: &str, text: &str) -> String {
    let imported = decode(name, text.as_bytes(), &Hints::default()).expect("the rest of the file is read");
    assert_eq!(imported.skipped.count(), 1);
    imported.skipped.first().next().expect("it is named")
}

fn refusal(name: &str, text: &str) -> String {
    decode(name, text.as_bytes(), &Hints::default()).expect_err("a bad file").to_string()
}

#[test]
fn inspector_ranks_may_log_different_subsets() {
    let first =
        inspector(0, "AllReduce", 7, &trace(500, 750)) + &inspector(0, "AllReduce", 8, &trace(800, 900));
    let second =
        inspector(1, "AllReduce", 8, &trace(810, 900)) + &inspector(1, "AllReduce", 8, &trace(810, 900));
    let merged = merged(&[("a.log", &first), ("b.log", &second)]);
    let (directory, operations) = (&merged.telemetry.directory, &merged.telemetry.batch.operations);
    assert_eq!(merged.telemetry.times, Times::Kernels);
    // The last snapshot that is dumped again is no second operation.
    assert_eq!((operations.sequence.clone(), operations.rank.clone()), (vec![7, 8, 8], vec![0, 0, 1]));
    assert_eq!((operations.enter_ns[0], operations.end_ns[0]), (500_000, 750_000));
    assert_eq!((directory.communicators.len(), directory.communicators[0].ranks.clone()), (1, vec![0, 1]));
    assert_eq!(directory.hosts[1].name, "host-1");
    assert_eq!(directory.shapes[0].bytes, 1 << 20);
}

#[test]
fn inspector_without_traces_knows_durations_only() {
    let merged = merged(&[("a.log", &inspector(0, "AllGather", 1, ""))]);
    assert_eq!(merged.telemetry.times, Times::Durations);
    let operations = &merged.telemetry.batch.operations;
    assert_eq!((operations.enter_ns[0], operations.end_ns[0]), (999_750_000, 1_000_000_000));
    let notes = merged.telemetry.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(notes.contains("1 of 1 operations have no kernel times"), "{notes}");
    assert!(notes.contains("communicator 0x7f8c: 1 of 2 ranks logged"), "{notes}");
}

#[test]
fn inspector_numbers_of_two_kinds_are_not_mixed() {
    let text = inspector(0, "AllReduce", 1, "") + &inspector(0, "AllGather", 1, "");
    let merged = merged(&[("a.log", &text)]);
    let mut names: Vec<_> =
        merged.telemetry.directory.communicators.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["0x7f8c all-gather", "0x7f8c all-reduce"]);
}

#[test]
fn inspector_4_3_tells_header_and_metadata_once() {
    let text = r#"{"header":{"id":"0xa","comm_name":"DP Group 0","rank":1,"n_ranks":4,"nnodes":1},
"metadata":{"inspector_output_format_version":"v4.3","dump_timestamp_us":50,"hostname":"h","pid":9},"n_records":3}
{"coll_perf":{"coll":"ReduceScatter","coll_algo":"RING","coll_proto":"LL","coll_sn":1,"coll_msg_size_bytes":8,"coll_exec_time_us":2}}
{"coll_perf":{"coll":"ReduceScatter","coll_algo":"RING","coll_proto":"LL","coll_sn":2,"coll_msg_size_bytes":8,"coll_exec_time_us":2}}
{"p2p_perf":{"p2p":"Send","p2p_sn":3,"p2p_peer":0,"p2p_msg_size_bytes":8,"p2p_exec_time_us":2}}
{"coll_perf":{"coll":"Reduce"#;
    let dump = InspectorDump::parse("a.log", text.as_bytes()).expect("v4.3");
    assert_eq!((dump.records.len(), dump.point_to_point), (2, 1));
    assert_eq!((dump.records[1].algorithm.as_str(), dump.records[1].sequence), ("ring", 2));
    assert!(dump.notes[0].to_string().contains("line 6: the last object is cut short"), "{:?}", dump.notes);
    assert!(dump.notes[1].contains("1 point-to-point records skipped"));
    let merged = merged(&[("a.log", text)]);
    assert_eq!(merged.telemetry.directory.communicators[0].axis, "dp");
}

#[test]
fn inspector_refusals_name_line_field_and_value() {
    let good = inspector(0, "AllReduce", 1, "");
    let text = good.clone() + &good.replace("v4.0", "v9.1");
    assert_eq!(
        complaint("a.log", &text),
        "line 2: metadata.inspector_output_format_version: \"v9.1\" is a version that is not read"
    );
    assert_eq!(
        refusal("a.log", &good.replace("v4.0", "v9.1")),
        "a.log:1: metadata.inspector_output_format_version: \"v9.1\" is a version that is not read; read are v4.0, \
         v4.1, v4.2, v4.3; Prometheus output of the Inspector is not"
    );
    let text = good.replace("\"coll_sn\":1", "\"coll_sn\":-1");
    assert!(refusal("a.log", &text).starts_with("a.log:1: coll_perf.coll_sn: \"-1\" is not a whole number"));
    let text = good.replace("\"rank\":0", "\"rank\":2");
    assert!(refusal("a.log", &text).contains("header.n_ranks: \"2\" is too small; rank 2 needs more ranks"));
}

#[test]
fn inspector_ranks_come_from_the_communicator_that_all_have() {
    let small = |rank: u32, id: &str, host: u32| {
        inspector(rank, "AllReduce", 4, "").replace("0x7f8c", id).replace(
            &format!("host-{rank}\",\"pid\":{}", 100 + rank),
            &format!("host-{host}\",\"pid\":{}", 100 + host),
        )
    };
    let world = |rank: u32| {
        let line = inspector(rank, "AllGather", 9, "")
            .replace("0x7f8c", "0xw")
            .replace("\"n_ranks\":2", "\"n_ranks\":4");
        line + &small(rank % 2, if rank < 2 { "0xt0" } else { "0xt1" }, rank)
    };
    let texts: Vec<String> = (0..4).map(world).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|text| ("x.log", text.as_str())).collect();
    let merged = merged(&files);
    let directory = &merged.telemetry.directory;
    let second = directory.communicators.iter().find(|it| it.name == "0xt1").expect("there");
    let ranks: Vec<u32> = second.ranks.iter().map(|&row| directory.ranks[row as usize].rank).collect();
    assert_eq!((ranks, directory.ranks.len()), (vec![2, 3], 4));
}

const RAS: &str = r#"{
  "nccl_version": "2.29.1", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,
  "timestamp": "2026-05-01 10:00:00", "communicators_count": 1,
  "communicators": [
    { "hash": "0xae94", "secondary_hash": "0xb7:0xb8", "size": 4, "ranks_count": 3, "missing_ranks_count": 1,
      "ranks": [
        { "rank": 0, "host": "10.0.0.1", "pid": 12, "cuda_dev": 0, "nvml_dev": 3,
          "status": { "init_state": 0, "async_error": 0, "finalize_called": false, "destroy_flag": false, "abort_flag": false },
          "collective_counts": { "Broadcast": 1, "Reduce": 0, "AllGather": 5, "ReduceScatter": 5, "AllReduce": 641 } },
        { "rank": 1, "host": "10.0.0.1", "pid": 13, "cuda_dev": 1, "nvml_dev": 1, "status": { "abort_flag": true },
          "collective_counts": { "Broadcast": 1, "AllGather": 5, "ReduceScatter": 5, "AllReduce": 640 } },
        { "rank": 2, "host": "10.0.0.2", "pid": 14, "cuda_dev": 0, "nvml_dev": 0,
          "collective_counts": { "Broadcast": 1, "AllGather": 5, "ReduceScatter": 5, "AllReduce": 641 } }
      ],
      "missing_ranks": [
        { "rank": 3, "host": "10.0.0.2", "pid": 15, "cuda_dev": 1,
          "nvml_dev": 1
          "status": { "unresponsive": true, "considered_dead": false } }
      ] } ],
  "ras": { "collection_time_sec": 0.01, "timeouts_count": 2 }
}"#;

#[test]
fn ras_tells_who_is_behind_and_who_is_missing() {
    assert_eq!(detect_format(RAS.as_bytes()), Some(Format::NcclRas));
    let snapshot = RasSnapshot::parse("ras.json", RAS.as_bytes()).expect("a missing comma is put in");
    assert!(snapshot.notes[0].to_string().contains("2.28.9"));
    let communicator = &snapshot.communicators[0];
    assert_eq!((communicator.size, communicator.ranks.len(), snapshot.timeouts), (4, 3, 2));
    assert_eq!(communicator.behind(), [(1, "all-reduce", 640, 641)]);
    assert!(communicator.ranks[1].status.aborted && !communicator.ranks[0].status.aborted);
    let missing = &communicator.missing[0];
    assert_eq!((missing.rank, missing.unresponsive, missing.dead), (3, true, false));
    let whole = RAS.replace("\"nvml_dev\": 1\n", "\"nvml_dev\": 1,\n");
    assert!(RasSnapshot::parse("ras.json", whole.as_bytes()).expect("no comma missing").notes.is_empty());
    let wrong = whole.replace("\"rank\": 2", "\"rank\": 9");
    assert_eq!(
        complaint("ras.json", &wrong),
        "communicators[0].ranks[2].rank: \"9\" is no rank of its communicator"
    );
}

/// A dump of Flight Recorder 2.7 after its writer: absent times are 0, lists of ranks are text.
fn flight(last: u64, state: &str, started: u64) -> String {
    let entry = |number: u64, state: &str, created: u64, started: u64, completed: u64| {
        format!(
            concat!(
                r#"{{"record_id":{number},"pg_id":0,"process_group":["0","default_pg"],"#,
                r#""collective_seq_id":{number},"p2p_seq_id":0,"op_id":{number},"profiling_name":"nccl:all_reduce","#,
                r#""input_sizes":[[3,4]],"input_dtypes":["BFloat16"],"output_sizes":[[3,4]],"#,
                r#""output_dtypes":["BFloat16"],"time_created_ns":{created},"time_discovered_started_ns":{started},"#,
                r#""time_discovered_completed_ns":{completed},"timeout_ms":600000,"is_p2p":false,"retired":false,"#,
                r#""state":"{state}","frames":[]}}"#,
            ),
            number = number,
            state = state,
            created = created,
            started = started,
            completed = completed
        )
    };
    let entries = [entry(1, "completed", 1000, 0, 5000), entry(last, state, 6000, started, 0)].join(",");
    format!(
        concat!(
            r#"{{"version":"2.7","nccl_version":"2.26","pg_config":{{"0":{{"name":"0","desc":"default_pg","#,
            r#""ranks":"[0, 1, 2]"}}}},"pg_status":{{"0":{{"last_enqueued_collective":2}}}},"#,
            r#""entries":[{entries}]}}"#,
        ),
        entries = entries
    )
}

#[test]
fn where_an_operation_was_asked_for_is_a_line_of_the_program() {
    let torch = r#"{"name":"all_reduce","filename":"/opt/conda/lib/python3.10/site-packages/torch/distributed/c10d.py","line":2501}"#;
    let own = r#"{"name":"step","filename":"/job/train.py","line":88}"#;
    let begun = r#"{"name":"_bootstrap","filename":"/usr/lib/python3.10/threading.py","line":973}"#;
    let of = |frames: &[&str]| {
        let text = flight(2, "started", 6500)
            .replace("\"frames\":[]", &format!("\"frames\":[{}]", frames.join(",")));
        let dump = FlightRecorderDump::parse("nccl_trace_rank_0", text.as_bytes(), None).expect("a dump");
        dump.entries[1].frame.clone()
    };
    assert_eq!(of(&[torch, own, begun]).as_deref(), Some("step (/job/train.py:88)"));
    assert_eq!(of(&[torch, begun]).as_deref(), Some("all_reduce (torch/distributed/c10d.py:2501)"));
    assert_eq!(of(&[]), None);
}

#[test]
fn the_rank_of_a_dump_is_told_by_name_folder_or_groups_and_by_one_of_them_alone() {
    let of = |name: &str, groups: &str| {
        let text =
            flight(2, "started", 6500).replace("\"pg_config\":{", &format!("\"pg_config\":{{{groups}"));
        FlightRecorderDump::parse(name, text.as_bytes(), None)
            .map(|dump| dump.rank)
            .map_err(|error| error.to_string())
    };
    let alone = r#""9":{"name":"9","desc":"tp","ranks":"[2]"},"#;
    let crossed =
        r#""8":{"name":"8","desc":"tp","ranks":"[1, 2]"},"9":{"name":"9","desc":"dp","ranks":"[0, 1, 7]"},"#;
    for (name, groups, rank) in [
        ("rank1/dump.pkl", "", 1),
        ("0.pkl", "", 0),
        ("dump.pkl", alone, 2),
        ("dump.pkl", crossed, 1),
        ("rank2/dump.pkl", alone, 2),
        ("rank1/dump.pkl", alone, 2),
        ("rank0/nccl_trace_rank_1", crossed, 1),
        ("rank0/nccl_trace_rank_0", crossed, 1),
    ] {
        assert_eq!(of(name, groups), Ok(rank), "{name} {groups}");
    }
    for (name, groups, problem) in
        [("dump.pkl", "", "tells no rank"), ("rank1/0.pkl", "", "is of rank 0 and of rank 1")]
    {
        let error = of(name, groups).expect_err(name);
        assert!(error.contains(problem) && error.contains("nccl_trace_rank_3.json"), "{error}");
    }
}

#[test]
fn flight_recorder_shows_who_is_within_what() {
    let (first, second) = (flight(2, "scheduled", 0), flight(2, "started", 6500));
    let merged = merged(&[("nccl_trace_rank_0.json", &first), ("d/nccl_trace_rank_1.json", &second)]);
    let (directory, operations) = (&merged.telemetry.directory, &merged.telemetry.batch.operations);
    assert_eq!(merged.files[0].held, "rank 0: 2 entries in 1 process groups, 1 not completed");
    assert_eq!(operations.end_ns, [5000, 5000, NOT_YET, NOT_YET]);
    assert_eq!((operations.sequence.clone(), operations.enter_ns[2]), (vec![1, 1, 2, 2], 6000));
    assert_eq!(directory.communicators[0].ranks.len(), 3);
    let shape = &directory.shapes[0];
    assert_eq!((shape.kind.as_str(), shape.data_type.as_str(), shape.bytes), ("all-reduce", "bfloat16", 24));
    assert!(merged.telemetry.notes.iter().any(|note| note.to_string().contains("dumps of 2 of 3 ranks")));
    assert_eq!(merged.telemetry.times, Times::Observed);
}

#[test]
fn flight_recorder_that_sees_starts_leaves_out_what_has_not_begun() {
    let text = flight(2, "scheduled", 0).replacen(
        "\"time_discovered_started_ns\":0",
        "\"time_discovered_started_ns\":1200",
        1,
    );
    let merged = merged(&[("nccl_trace_1.json", &text)]);
    assert_eq!(merged.telemetry.batch.operations.sequence, [1]);
    assert!(
        merged.telemetry.notes.iter().any(|note| note.to_string().contains("1 scheduled entries left out"))
    );
}

#[test]
fn flight_recorder_reads_pickles_of_data_and_refuses_others() {
    for bytes in [b"\x80\x02}q\x00.".as_slice(), b"PK\x03\x04rest"] {
        let error = decode("nccl_trace_rank_0", bytes, &Hints::default()).expect_err("a pickle").to_string();
        assert!(
            error.contains("is a pickle and no dump") && error.contains("_dump_nccl_trace_json"),
            "{error}"
        );
    }
    let evil = b"\x80\x02}X\x09\x00\x00\x00pg_configcos\nsystem\nX\x02\x00\x00\x00ls\x85Rs.";
    let error = decode("nccl_trace_rank_0", evil, &Hints::default()).expect_err("runs").to_string();
    assert!(
        error.contains("\"os.system\" would be imported by opcode GLOBAL, which is never done"),
        "{error}"
    );
    // A small one has no key of a dump, and is told no less.
    let small = b"\x80\x04}\x8c\x07version\x8c\x05posix\x94\x8c\x06system\x94\x93\x8c\x02id\x85Rs.";
    let error = decode("nccl_trace_rank_3", small, &Hints::default()).expect_err("runs").to_string();
    assert!(error.contains("\"posix.system\" would be imported by opcode STACK_GLOBAL"), "{error}");
    // A rank that stopped: nothing is open, and its counts say how far it came in which of its groups.
    let idle = include_bytes!("../../../data/telemetry/flight_recorder/lock_gil_2nd/_dump_15");
    let dump = FlightRecorderDump::parse("_dump_15", idle, None).expect("a dump");
    assert_eq!((dump.rank, dump.entries.len(), dump.version.as_str()), (15, 0, "2.9"));
    assert_eq!(dump.status.len(), dump.groups.len());
    let pipeline =
        dump.status.iter().find(|one| dump.groups[one.group].description == "PIPELINE_MODEL_PARALLEL_GROUP");
    assert_eq!(pipeline.map(|one| (one.enqueued, one.completed)), Some((Some(12222), Some(12222))));
    let waits = include_bytes!("../../../data/telemetry/flight_recorder/lock_gil_2nd/_dump_0");
    let dump = FlightRecorderDump::parse("_dump_0", waits, None).expect("a dump");
    let first = &dump.entries[0];
    assert_eq!((first.sequence, first.point_to_point, first.state), (12224, true, FlightState::Scheduled));
    assert_eq!(first.peer.map(|peer| (peer.sends, peer.other)), Some((false, 3)));
    assert_eq!(
        (dump.groups[first.group].ranks.as_slice(), first.timeout_ms),
        ([0, 4, 8, 12].as_slice(), Some(180_000))
    );
    let text = flight(2, "scheduled", 0);
    assert!(refusal("dump.json", &text).contains("ranks are in all of its process groups; name the file"));
    assert!(
        refusal("r_0.json", &text.replace("2.7", "3.1"))
            .contains("version: \"3.1\" is a version that is not read")
    );
    let text = text.replace("\"state\":\"scheduled\"", "\"state\":\"lost\"");
    assert_eq!(complaint("r_0.json", &text), "entries[1].state: \"lost\" is no state");
    let dump =
        FlightRecorderDump::parse("x", flight(4, "started", 7).as_bytes(), Some(5)).expect("rank by hint");
    assert_eq!((dump.rank, dump.entries[1].state), (5, FlightState::Started));
}

fn counters(imported: &Imported) -> Vec<(String, Counter, f64)> {
    let Content::Counters(telemetry) = &imported.content else { panic!("{imported:?}") };
    let (entities, rows) = (&telemetry.directory.entities, &telemetry.batch.counters);
    let name = |row: usize| entities[rows.entity[row] as usize].component.name().to_owned();
    (0..rows.len()).map(|row| (name(row), rows.counter[row], rows.value[row])).collect()
}

fn read(name: &str, text: &str) -> Imported {
    decode(name, text.as_bytes(), &Hints::default()).expect("a good file")
}

#[test]
fn dcgm_of_three_generations_tells_the_same() {
    let old = "dcgm_sm_clock{gpu=\"1\",uuid=\"GPU-a\",node=\"h\"} 1410\ndcgm_gpu_temp{gpu=\"1\",node=\"h\"} 60\n\
        dcgm_xid_errors{gpu=\"1\",node=\"h\"} 79\ndcgm_ecc_dbe_volatile_total{gpu=\"1\",node=\"h\"} 2\n\
        dcgm_nvlink_flit_crc_error_count_total{gpu=\"1\",node=\"h\"} 5\n";
    let middle = "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n\
        DCGM_FI_DEV_SM_CLOCK{gpu=\"1\",UUID=\"GPU-a\",device=\"nvidia1\",modelName=\"H100\",Hostname=\"h\"} 1410\n\
        DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",Hostname=\"h\"} 60\nDCGM_FI_DEV_XID_ERRORS{gpu=\"1\",Hostname=\"h\"} 79\n\
        DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"1\",Hostname=\"h\"} 2\nDCGM_FI_DEV_ECC_DBE_AGG_TOTAL{gpu=\"1\",Hostname=\"h\"} 1\n\
        DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{gpu=\"1\",Hostname=\"h\"} 3\n\
        DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{gpu=\"1\",Hostname=\"h\"} 2\n\
        DCGM_FI_DEV_MEMORY_TEMP{gpu=\"1\",Hostname=\"h\"} 9223372036854775794\n";
    let new = "DCGM_FI_DEV_SM_CLOCK_HERTZ{gpu=\"1\",Hostname=\"h\"} 1.41e+09\nDCGM_FI_DEV_GPU_TEMP_CELSIUS{gpu=\"1\",Hostname=\"h\"} 60\n\
        DCGM_FI_DEV_XID_ERROR{gpu=\"1\",Hostname=\"h\"} 79\nDCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"1\",Hostname=\"h\"} 2\n\
        DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL{gpu=\"1\",Hostname=\"h\"} 3\n\
        DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL{gpu=\"1\",Hostname=\"h\"} 2\n\
        DCGM_FI_PROF_PCIE_TX_BYTES{gpu=\"1\",Hostname=\"h\"} 12345\n";
    let expected: Vec<_> = [
        (Counter::EccErrors, 2.0),
        (Counter::NvlinkErrors, 5.0),
        (Counter::Xid, 79.0),
        (Counter::GpuClockMhz, 1410.0),
        (Counter::GpuTemperature, 60.0),
    ]
    .map(|(counter, value)| ("h/gpu-1".to_owned(), counter, value))
    .into();
    for text in [old, middle, new] {
        let imported = read("m.prom", text);
        assert_eq!((imported.format, counters(&imported)), (Format::Dcgm, expected.clone()));
    }
    assert!(
        read("m.prom", middle)
            .notes
            .iter()
            .any(|note| note.to_string().contains("1 values are DCGM's words"))
    );
    let counted =
        read("m.prom", "DCGM_EXP_XID_ERRORS_COUNT{gpu=\"0\",Hostname=\"h\",xid=\"31\"} 2 1700000000000\n");
    assert_eq!(counters(&counted), [("h/gpu-0".to_owned(), Counter::Xid, 31.0)]);
    let Content::Counters(telemetry) = counted.content else { panic!("counters") };
    assert_eq!(telemetry.batch.counters.time_ns, [1_700_000_000_000_000_000]);
    assert!(
        refusal("m.prom", "DCGM_FI_DEV_GPU_TEMP{gpu=\"x\",Hostname=\"h\"} 60\n")
            .contains("m.prom:1: DCGM_FI_DEV_GPU_TEMP, label gpu")
    );
}

#[test]
fn ethtool_gives_counters_of_a_nic() {
    let text = "NIC statistics:\n     rx_frobnications: 100\n     rx_discards_phy: 3\n     tx_discards_phy: 4\n\
        \x20    rx_prio0_pause_duration: 0\n\
        \x20    rx_prio3_pause_duration: 48736\n     tx_prio3_pause: 2847\n     tx_prio4_pause: 3\n     rx_symbol_err_phy: 9\n\
        \x20    rx_crc_errors_phy: 7\n     link_down_events_phy: 2\n     rx_bytes_phy: 5000\n     out_of_sequence: 44\n";
    let imported = read("x/ethtool_host-3_mlx5_1.txt", text);
    assert_eq!(imported.format, Format::Ethtool);
    let expected = [
        (Counter::OutOfSequence, 44.0),
        (Counter::LinkDowns, 2.0),
        (Counter::ReceiveErrors, 9.0),
        (Counter::Drops, 7.0),
        (Counter::PausedNs, 48_736_000.0),
        (Counter::PauseFramesSent, 2850.0),
        (Counter::BytesReceived, 5000.0),
    ];
    assert_eq!(
        counters(&imported),
        expected.map(|(counter, value)| ("host-3/mlx5_1".to_owned(), counter, value))
    );
    assert!(imported.notes.iter().any(|note| note.to_string().starts_with("1 counters")));
    assert_eq!(
        complaint("h_eth0.txt", &text.replace("44", "many")),
        "line 13: \"out_of_sequence: many\" has a value that is no number"
    );
    assert!(
        refusal("h_eth0.txt", "NIC statistics:\n  rx_queue_0_cache: 1\n")
            .contains("has no counter that is known")
    );
}

#[test]
fn rdma_statistic_comes_as_json_and_as_text() {
    let json = r#"[{"ifname":"mlx5_0","port":1,"rx_write_requests":10,"out_of_sequence":5,"local_ack_timeout_err":2,"rp_cnp_handled":7},
        {"ifname":"mlx5_1","port":1,"out_of_sequence":0,"optional-counters":["x"]}]"#;
    let text = "link mlx5_0/1 rx_write_requests 10 out_of_sequence 5\n\
        local_ack_timeout_err 2 rp_cnp_handled 7\nlink mlx5_1/1 out_of_sequence 0\n";
    for (name, text) in [("rdma_host-9.json", json), ("rdma_host-9.txt", text)] {
        let imported = read(name, text);
        assert_eq!(imported.format, Format::RdmaStatistic);
        let expected = [
            ("host-9/mlx5_0", Counter::OutOfSequence, 5.0),
            ("host-9/mlx5_0", Counter::AckTimeouts, 2.0),
            ("host-9/mlx5_0", Counter::Cnps, 7.0),
            ("host-9/mlx5_1", Counter::OutOfSequence, 0.0),
        ];
        assert_eq!(
            counters(&imported),
            expected.map(|(name, counter, value)| (name.to_owned(), counter, value))
        );
    }
    assert!(
        refusal("h.txt", "link mlx5_0/1 out_of_sequence x\n").contains("h.txt:1: \"x\" is no whole number")
    );
}

#[test]
fn listings_of_sys_name_their_nics() {
    let text = "/sys/class/infiniband/mlx5_2/ports/1/hw_counters/local_ack_timeout_err:38\n\
        /sys/class/infiniband/mlx5_2/ports/1/counters/port_xmit_data:100\n\
        /sys/class/infiniband/mlx5_2/ports/1/counters/symbol_error:1\n\
        /sys/class/infiniband/mlx5_2/ports/1/state:4: ACTIVE\n/sys/class/infiniband/mlx5_2/ports/1/link_layer:Ethernet\n";
    let imported = read("host-1.txt", text);
    let expected = [
        (Counter::AckTimeouts, 38.0),
        (Counter::LinkUp, 1.0),
        (Counter::ReceiveErrors, 1.0),
        (Counter::BytesSent, 400.0),
    ];
    assert_eq!(
        counters(&imported),
        expected.map(|(counter, value)| ("host-1/mlx5_2".to_owned(), counter, value))
    );
    let plain = decode(
        "list",
        b"out_of_sequence 12\nlink_downed 1\n",
        &Hints { host: Some("a".into()), nic: Some("nic-0".into()), ..Hints::default() },
    );
    assert_eq!(counters(&plain.expect("a listing"))[0], ("a/nic-0".to_owned(), Counter::OutOfSequence, 12.0));
}

#[test]
fn node_exporter_gives_hosts_and_nics() {
    let text = "# TYPE node_infiniband_link_downed_total counter\nnode_infiniband_link_downed_total{device=\"mlx5_0\",port=\"1\"} 3\n\
        node_vmstat_oom_kill 2\nnode_network_up{device=\"lo\"} 1\nnode_network_up{device=\"eth0\"} 0\nnode_load1 1.5\n";
    let imported = read("host-7.prom", text);
    let expected = [
        ("host-7", Counter::OutOfMemoryKills, 2.0),
        ("host-7/eth0", Counter::LinkUp, 0.0),
        ("host-7/mlx5_0", Counter::LinkDowns, 3.0),
    ];
    let mut found = counters(&imported);
    found.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(found, expected.map(|(name, counter, value)| (name.to_owned(), counter, value)));
    let Content::Counters(telemetry) = &imported.content else { panic!("counters") };
    assert!(
        telemetry
            .directory
            .entities
            .iter()
            .any(|entity| entity.component == Component::Host("host-7".into()))
    );
}

#[test]
fn what_nothing_knows_is_one_clear_error() {
    for text in ["", "hello\n", "{}", "[]", "{\"a\":1}", "name,value\n", "# busbw of F12\n"] {
        assert!(refusal("x", text).starts_with("x: is of no format that is known; read are"), "{text}");
    }
}
