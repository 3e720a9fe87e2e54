//! A record that is wrong costs that record: the others of its file are read, it is counted and named.

use proptest::prelude::*;
use proptest::sample::Index;
use railtwin_formats::telemetry::{
    FlightRecorderDump, Hints, InspectorDump, KinetoTrace, Merger, RasSnapshot, Skipped, XpuTimerSnapshot,
    decode, megatron_trace, parse_counter_listing, parse_dcgm, parse_ethtool, parse_nccl_tests_json,
    parse_nccl_tests_log, parse_node_exporter, parse_rdma_statistic,
};
use railtwin_records::{Column, Component, Table};
use serde_json::{Value, json};

/// Records of a file; a decoder gives what it read by their numbers.
const RECORDS: usize = 6;

/// What a decoder gave: numbers of the records that it read, and what it skipped.
type Read = (Vec<usize>, Skipped);

/// A format as a file of numbered records.
struct Lines {
    name: &'static str,
    head: &'static str,
    record: fn(usize) -> String,
    tail: &'static str,
    read: fn(&[u8]) -> Read,
}

fn nics(telemetry: railtwin_formats::telemetry::Telemetry) -> Read {
    let number = |component: &Component| {
        let digits = component.name().rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    let numbers = telemetry.directory.entities.iter().filter_map(|info| number(&info.component));
    (numbers.collect(), telemetry.skipped)
}

fn hints() -> Hints {
    Hints { host: Some("h".into()), ..Hints::default() }
}

const LINES: [Lines; 8] = [
    Lines {
        name: "NCCL Inspector",
        head: "",
        record: |at| {
            let record = json!({
                "header": { "id": "0x7f", "rank": 1, "n_ranks": 2 },
                "metadata": { "inspector_output_format_version": "v4.0", "hostname": "h1", "pid": 7 },
                "coll_perf": { "coll": "AllReduce", "coll_sn": at, "coll_msg_size_bytes": 8, "coll_exec_time_us": 2 },
            });
            record.to_string()
        },
        tail: "",
        read: |bytes| {
            let dump = InspectorDump::parse("a.log", bytes).expect("records are left");
            (dump.records.iter().map(|record| record.sequence as usize).collect(), dump.skipped)
        },
    },
    Lines {
        name: "nccl-tests",
        head: "# nccl-tests version 2.17.6\n# size count type redop root time algbw busbw #wrong\n",
        record: |at| format!("  {} 256 float none -1 5.5 0.1 0.2 0", 1 << (10 + at)),
        tail: "# Avg bus bandwidth    : 0.2\n",
        read: |bytes| {
            let log = parse_nccl_tests_log("a.log", bytes).expect("rows are left");
            let sizes = log.tests[0].results.iter().map(|row| row.bytes);
            let number = |bytes: u64| (0..RECORDS).find(|at| bytes == 1 << (10 + at));
            (sizes.filter_map(number).collect(), log.skipped)
        },
    },
    Lines {
        name: "xpu_timer",
        head: "# TYPE XPU_TIMER_COMMON_HANG gauge\n",
        record: |at| format!("XPU_TIMER_COMMON_HANG{{job_name=\"j\",local_rank=\"0\",rank=\"{at}\"}} 0"),
        tail: "",
        read: |bytes| {
            let read = XpuTimerSnapshot::parse("a.prom", bytes).expect("ranks are left");
            let ours = read.ranks.iter().filter(|rank| rank.job == "j" && rank.hung == Some(false));
            (ours.map(|rank| rank.rank as usize).collect(), read.skipped.clone())
        },
    },
    Lines {
        name: "DCGM",
        head: "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n",
        record: |at| format!("DCGM_FI_DEV_GPU_TEMP{{gpu=\"{at}\",Hostname=\"h\"}} 40"),
        tail: "",
        read: |bytes| nics(parse_dcgm("a.prom", bytes, &hints()).expect("GPUs are left")),
    },
    Lines {
        name: "node_exporter",
        head: "# TYPE node_infiniband_link_downed_total counter\n",
        record: |at| format!("node_infiniband_link_downed_total{{device=\"mlx5_{at}\",port=\"1\"}} 3"),
        tail: "",
        read: |bytes| nics(parse_node_exporter("a.prom", bytes, &hints()).expect("NICs are left")),
    },
    Lines {
        name: "ethtool",
        head: "NIC statistics:\n",
        // Every record is a block of its own, so that it has a number.
        record: |at| format!("# mlx5_{at}\n     rx_symbol_err_phy: 40"),
        tail: "",
        read: |bytes| nics(parse_ethtool("a.txt", bytes, &hints()).expect("NICs are left")),
    },
    Lines {
        name: "counter listing",
        head: "",
        record: |at| format!("/sys/class/infiniband/mlx5_{at}/ports/1/hw_counters/out_of_sequence:4"),
        tail: "",
        read: |bytes| nics(parse_counter_listing("a.txt", bytes, &hints()).expect("NICs are left")),
    },
    Lines {
        name: "rdma statistic",
        head: "",
        record: |at| format!("link mlx5_{at}/1 out_of_sequence 4 local_ack_timeout_err 2"),
        tail: "",
        read: |bytes| nics(parse_rdma_statistic("a.txt", bytes, &hints()).expect("NICs are left")),
    },
];

/// A format as one JSON document with a list of numbered records.
struct Document {
    name: &'static str,
    whole: fn(Vec<Value>) -> Value,
    record: fn(usize) -> Value,
    read: fn(&[u8]) -> Read,
}

const DOCUMENTS: [Document; 5] = [
    Document {
        name: "NCCL RAS",
        whole: |ranks| {
            json!({ "nccl_version": "2.29.1", "communicators_count": 1,
                "communicators": [{ "hash": "0x1", "size": 99, "ranks": ranks, "missing_ranks": [] }] })
        },
        record: |at| {
            json!({ "rank": at, "host": "h", "pid": 10 + at, "cuda_dev": 0, "status": { "init_state": 0 },
                "collective_counts": { "AllReduce": 12 } })
        },
        read: |bytes| {
            let read = RasSnapshot::parse("a.json", bytes).expect("ranks are left");
            (read.communicators[0].ranks.iter().map(|rank| rank.rank as usize).collect(), read.skipped)
        },
    },
    Document {
        name: "Flight Recorder",
        whole: |entries| {
            json!({ "version": "2.7", "pg_config": { "0": { "name": "0", "desc": "d", "ranks": "[0, 1]" } },
                "entries": entries, "rank": 0 })
        },
        record: |at| {
            json!({ "process_group": ["0", "d"], "collective_seq_id": at, "profiling_name": "nccl:all_reduce",
                "input_sizes": [[3, 4]], "input_dtypes": ["Float"], "time_created_ns": 5, "state": "completed",
                "is_p2p": false })
        },
        read: |bytes| {
            let dump = FlightRecorderDump::parse("a.json", bytes, None).expect("entries are left");
            (dump.entries.iter().map(|entry| entry.sequence as usize).collect(), dump.skipped)
        },
    },
    Document {
        name: "Kineto",
        whole: |events| json!({ "distributedInfo": { "rank": 0, "world_size": 2 }, "traceEvents": events }),
        record: |at| {
            json!({ "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ts": at, "dur": 2,
                "args": { "stream": 7, "device": 0, "Seq": at, "Process Group Name": "0" } })
        },
        read: |bytes| {
            let trace = KinetoTrace::parse("a.json", bytes, None).expect("kernels are left");
            (trace.kernels.iter().map(|kernel| (kernel.start_ns / 1000) as usize).collect(), trace.skipped)
        },
    },
    Document {
        name: "nccl-tests JSON",
        whole: |results| {
            json!({ "args": ["/opt/all_reduce_perf"], "nccl_version": 22902, "results": results,
                "average_bus_bandwidth": { "bandwidth": 0.1 } })
        },
        record: |at| {
            json!({ "size": at, "count": 2, "type": "float",
                "out_of_place": { "time": 1.5, "alg_bw": 0.1, "bus_bw": 0.1, "nwrong": 0 } })
        },
        read: |bytes| {
            let log = parse_nccl_tests_json("a.json", bytes).expect("results are left");
            (log.tests[0].results.iter().map(|result| result.bytes as usize).collect(), log.skipped)
        },
    },
    Document {
        name: "rdma statistic JSON",
        whole: |links| Value::Array(links),
        record: |at| json!({ "ifname": format!("mlx5_{at}"), "port": 1, "out_of_sequence": 5 }),
        read: |bytes| nics(parse_rdma_statistic("a.json", bytes, &hints()).expect("links are left")),
    },
];

/// All places of a value below it.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    let mut below = |key: &str, value: &Value| {
        let path = format!("{at}/{key}");
        all.push(path.clone());
        places(value, &path, all);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(row, value)| below(&row.to_string(), value));
        }
        _ => {}
    }
}

fn text(format: &Lines, wrong: Option<(usize, Vec<u8>)>) -> Vec<u8> {
    let mut bytes = format.head.as_bytes().to_vec();
    for at in 0..RECORDS {
        match &wrong {
            Some((row, record)) if *row == at => bytes.extend(record),
            _ => bytes.extend((format.record)(at).bytes()),
        }
        bytes.push(b'\n');
    }
    bytes.extend(format.tail.bytes());
    bytes
}

#[test]
fn what_is_whole_is_read_and_nothing_is_skipped() {
    let all: Vec<usize> = (0..RECORDS).collect();
    for format in &LINES {
        let (read, skipped) = (format.read)(&text(format, None));
        assert_eq!((read, skipped.count()), (all.clone(), 0), "{}", format.name);
    }
    for format in &DOCUMENTS {
        let whole = (format.whole)(all.iter().map(|&at| (format.record)(at)).collect());
        let (read, skipped) = (format.read)(whole.to_string().as_bytes());
        assert_eq!((read, skipped.count()), (all.clone(), 0), "{}", format.name);
    }
}

#[test]
fn members_that_are_not_known_change_nothing() {
    fn grown(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.values_mut().for_each(grown);
                members.insert("zz_of_a_later_version".to_owned(), json!({ "a": [1, "x"], "b": null }));
            }
            Value::Array(items) => items.iter_mut().for_each(grown),
            _ => {}
        }
    }
    let all: Vec<usize> = (0..RECORDS).collect();
    for format in &DOCUMENTS {
        let mut records: Vec<Value> = all.iter().map(|&at| (format.record)(at)).collect();
        // Counts by kind have kinds for keys.
        records.iter_mut().filter(|one| one.get("collective_counts").is_none()).for_each(grown);
        let mut whole = (format.whole)(records);
        if let Some(members) = whole.as_object_mut() {
            members.insert("zz_of_a_later_version".to_owned(), json!([{}]));
        }
        let (read, skipped) = (format.read)(whole.to_string().as_bytes());
        assert_eq!((read, skipped.count()), (all.clone(), 0), "{}", format.name);
    }
    let mut record: Value = serde_json::from_str(&(LINES[0].record)(3)).expect("JSON");
    grown(&mut record);
    let dump = InspectorDump::parse("a.log", record.to_string().as_bytes()).expect("a dump");
    assert_eq!((dump.records.len(), dump.skipped.count()), (1, 0));
}

/// JSON and logs begin with brackets, too: what the others are decides.
#[test]
fn a_first_line_that_begins_with_a_bracket_costs_that_line() {
    for (format, bracket) in LINES.iter().flat_map(|format| [(format, b'['), (format, b'{')]) {
        let mut record = (format.record)(0).into_bytes();
        let from = record.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        record[from] = bracket;
        let (read, _) = (format.read)(&text(format, Some((0, record))));
        assert!((1..RECORDS).all(|at| read.contains(&at)), "{}: {read:?}", format.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Bytes of one record are changed, or it is cut short: all others are read.
    #[test]
    fn a_damaged_line_costs_that_line(
        format in 0..LINES.len(),
        row in 0..RECORDS,
        changes in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<Index>()),
    ) {
        let format = &LINES[format];
        let mut record = (format.record)(row).into_bytes();
        // The first line of a block names it; what is damaged is the last.
        let from = record.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        for (at, byte) in changes {
            let at = from + at.index(record.len() - from);
            // A line more is another record.
            record[at] = if matches!(byte, b'\n' | b'\r') { b'~' } else { byte };
        }
        if let Some(cut) = cut {
            record.truncate(from + cut.index(record.len() - from));
        }
        let shown = String::from_utf8_lossy(&record).into_owned();
        let (read, _) = (format.read)(&text(format, Some((row, record))));
        for at in (0..RECORDS).filter(|&at| at != row) {
            prop_assert!(read.contains(&at), "{}: record {at} is lost by {shown:?}", format.name);
        }
    }

    /// A member of one record has another type, or is not there: all others are read.
    #[test]
    fn a_wrong_member_costs_its_record(
        format in 0..DOCUMENTS.len(),
        row in 0..RECORDS,
        place: Index,
        value in prop_oneof![
            Just(Value::Null), Just(json!("x")), Just(json!(-1)), Just(json!([])), Just(json!({})), Just(json!(1e300)),
            Just(json!(true)), Just(json!("\u{fffd}")),
        ],
    ) {
        let format = &DOCUMENTS[format];
        let mut records: Vec<Value> = (0..RECORDS).map(|at| (format.record)(at)).collect();
        let mut all = Vec::new();
        places(&records[row], "", &mut all);
        let place = &all[place.index(all.len())];
        *records[row].pointer_mut(place).expect("a place of the record") = value.clone();
        let (read, skipped) = (format.read)((format.whole)(records).to_string().as_bytes());
        for at in (0..RECORDS).filter(|&at| at != row) {
            prop_assert!(read.contains(&at), "{}: record {at} is lost by {place} = {value}", format.name);
        }
        prop_assert!(read.len() + skipped.count() as usize <= RECORDS + 1);
    }

    /// A value of one row of a table that is no number, or negative, or beyond any clock: all others are read.
    #[test]
    fn a_wrong_cell_costs_its_row(row in 0..RECORDS, column in 0..2_usize, value in prop_oneof![Just(f64::NAN), Just(-1.0), Just(1e300)]) {
        let ranks: Vec<u32> = (0..RECORDS as u32).collect();
        let mut times = [vec![1.0; RECORDS], vec![2.0; RECORDS]];
        times[column][row] = value;
        let [start, duration] = times;
        let zeros = vec![0_u32; RECORDS];
        let table = Table::new("t", vec![
            Column::u32("dp_rank", ranks.clone()),
            Column::u32("stage", zeros.clone()),
            Column::u32("rank", ranks),
            Column::u32("step", zeros.clone()),
            Column::coded("optype", ["grads-reduce-scatter"; RECORDS]),
            Column::f64("start_ts", start),
            Column::f64("duration", duration),
            Column::u32("seq_id", zeros),
        ]);
        let telemetry = megatron_trace("t.parquet", "job", &table).expect("rows are left").telemetry;
        prop_assert_eq!(telemetry.batch.operations.len(), RECORDS - 1);
        prop_assert_eq!(telemetry.skipped.count(), 1);
    }
}

#[test]
fn a_sum_of_which_a_part_is_wrong_is_left_out() {
    let part = |link: &str, value: &str| {
        format!("DCGM_FI_DEV_NVLINK_{link}_ERROR_COUNT_TOTAL{{gpu=\"0\",Hostname=\"h\"}} {value}\n")
    };
    let warm = "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"h\"} 40\n";
    let read = |text: String| parse_dcgm("a.prom", text.as_bytes(), &hints()).expect("metrics");
    let whole = read(format!("{warm}{}{}", part("REPLAY", "7"), part("RECOVERY", "5")));
    assert_eq!(whole.batch.counters.len(), 2);
    // 7 now and 12 at the next reading would be an error that nobody made.
    let partial = read(format!("{warm}{}{}", part("REPLAY", "7"), part("RECOVERY", "five")));
    assert_eq!((partial.batch.counters.len(), partial.skipped.count()), (1, 1));
    assert!(
        partial.notes.iter().any(|note| note.to_string().starts_with("nvlink_errors: left out")),
        "{:?}",
        partial.notes
    );
}

#[test]
fn a_kernel_that_is_missing_leaves_the_others_without_numbers() {
    let events = |wrong: Option<usize>, numbered: bool| -> Vec<Value> {
        let event = |at: usize| {
            let mut event = (DOCUMENTS[2].record)(at);
            if wrong == Some(at) {
                event["dur"] = json!("long");
            }
            if !numbered {
                event["args"].as_object_mut().expect("an object").remove("Seq");
            }
            event
        };
        (0..RECORDS).map(event).collect()
    };
    let operations = |wrong, numbered| {
        let mut merger = Merger::new("job");
        for (rank, wrong) in [(0, None), (1, wrong)] {
            let text = (DOCUMENTS[2].whole)(events(wrong, numbered)).to_string();
            let hints = Hints { rank: Some(rank), ..Hints::default() };
            merger.add(decode(&format!("rank{rank}.json"), text.as_bytes(), &hints).expect("a trace"));
        }
        let merged = merger.finish();
        (
            merged.telemetry.batch.operations.len(),
            merged.telemetry.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        )
    };
    assert_eq!(operations(None, false).0, 2 * RECORDS);
    assert_eq!(operations(Some(2), true).0, 2 * RECORDS - 1, "numbers are told");
    let (count, notes) = operations(Some(2), false);
    assert_eq!(count, RECORDS, "the order of what is left would match wrong ones");
    assert!(notes.contains("5 NCCL kernels left out"), "{notes}");
}

#[test]
fn a_dump_whose_last_entry_is_wrong_says_nothing_of_its_rank() {
    let read = |row: usize| {
        let mut records: Vec<Value> = (0..RECORDS).map(|at| (DOCUMENTS[1].record)(at)).collect();
        records[row]["state"] = json!("lost");
        let text = (DOCUMENTS[1].whole)(records).to_string();
        let dump = FlightRecorderDump::parse("a.json", text.as_bytes(), None).expect("a dump");
        (dump.entries.len(), dump.unsure)
    };
    assert_eq!(read(RECORDS - 1), (RECORDS - 1, true));
    assert_eq!(read(1), (RECORDS - 1, false), "a later one says how far it came");
}
