//! Memory and speed of `diagnose` on large inputs: `cargo bench -p railtwin --bench diagnose`; `-- --quick` for a tenth of it.
//!
//! Events of a real Kineto trace and a real dump of a Flight Recorder are repeated with other times and numbers. Each case runs
//! in a process of its own, so that its peak of memory is its own. Beside it stands a bound of the same run: the same files
//! read and parsed into nothing.
#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use railtwin::diagnose::{Inputs, diagnose};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// Data of the repository.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/telemetry/");
/// Variable by which a child knows the input that it diagnoses.
const INPUT: &str = "RAILTWIN_BENCH_INPUT";

/// Most bytes that the process ever held.
fn most() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) * 1024.0
}

/// A trace of so many bytes: events of a real one, again and again, later each time. `only` keeps kernels of NCCL alone.
fn trace(path: &Path, bytes: usize, only: bool) {
    let text =
        std::fs::read(format!("{DATA}kineto/two_ranks_a100_rank0.json")).expect("data of the repository");
    let value: Value = serde_json::from_slice(&text).expect("JSON");
    let events = value["traceEvents"].as_array().expect("events");
    let is_nccl = |event: &&Value| event["name"].as_str().is_some_and(|name| name.starts_with("nccl"));
    let events: Vec<&Value> = events.iter().filter(|event| !only || is_nccl(event)).collect();
    let mut text =
        String::from(r#"{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":2},"traceEvents":["#);
    let mut round = 0.0;
    while text.len() < bytes {
        for event in &events {
            let mut event = (*event).clone();
            if let Some(time) = event["ts"].as_f64() {
                event["ts"] = json!(time + 2e6 * round);
            }
            let comma = if text.ends_with('[') { "" } else { ",\n" };
            write!(text, "{comma}{event}").expect("memory");
        }
        round += 1.0;
    }
    text.push_str("],\"baseTimeNanoseconds\":1711964646000000000}");
    std::fs::write(path, text).expect("a place for files");
}

/// A value as a pickle of protocol 2 writes it.
fn pickle(value: &Value, out: &mut Vec<u8>) {
    let text = |text: &str, out: &mut Vec<u8>| {
        out.push(b'X');
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text.as_bytes());
    };
    match value {
        Value::Null => out.push(b'N'),
        Value::Bool(value) => out.push(if *value { 0x88 } else { 0x89 }),
        Value::Number(number) => {
            out.extend([0x8a, 8]);
            out.extend(number.as_i64().unwrap_or_default().to_le_bytes());
        }
        Value::String(one) => text(one, out),
        Value::Array(items) => {
            out.extend(b"](");
            items.iter().for_each(|item| pickle(item, out));
            out.push(b'e');
        }
        Value::Object(pairs) => {
            out.extend(b"}(");
            for (key, value) in pairs {
                text(key, out);
                pickle(value, out);
            }
            out.push(b'u');
        }
    }
}

/// The dump of a rank that has ended `operations` and waits in one of all ranks, which rank 0 never began.
fn dump(rank: usize, ranks: usize, operations: usize) -> Value {
    let all: Vec<usize> = (0..ranks).collect();
    let mates: Vec<usize> = (rank / 8 * 8..(rank / 8 * 8 + 8).min(ranks)).collect();
    let own = (1 + rank / 8).to_string();
    let (mut entries, mut numbers) = (Vec::new(), [0, 0]);
    for at in 0..=operations {
        let last = at == operations;
        let of = usize::from(!last && at % 5 != 4);
        numbers[of] += 1;
        let time = 1_758_610_505_592_849_034_u64 + 1_000_000 * at as u64;
        entries.push(json!({
            "record_id": at, "pg_id": of, "process_group": if of == 0 { ["0", "default_pg"] } else { [own.as_str(), "TP"] },
            "collective_seq_id": numbers[of], "p2p_seq_id": 0, "op_id": at, "profiling_name": "nccl:all_reduce",
            "time_created_ns": time, "input_sizes": [[4096, 1, 5120]], "input_dtypes": ["BFloat16"],
            "output_sizes": [[4096, 1, 5120]], "output_dtypes": ["BFloat16"],
            "state": if last { "scheduled" } else { "completed" }, "time_discovered_started_ns": null,
            "time_discovered_completed_ns": if last { Value::Null } else { json!(time + 500_000) },
            "retired": !last, "timeout_ms": 600_000, "is_p2p": false,
        }));
    }
    json!({
        "version": "2.9", "nccl_version": "2.27.3",
        "pg_config": {
            "0": { "name": "0", "desc": "default_pg", "ranks": json!(all).to_string() },
            own.as_str(): { "name": own, "desc": "TP", "ranks": json!(mates).to_string() },
        },
        "pg_status": {
            "0": { "last_enqueued_collective": numbers[0], "last_completed_collective": numbers[0] - 1 },
            "1": { "last_enqueued_collective": numbers[1], "last_completed_collective": numbers[1] },
        },
        "entries": entries,
    })
}

/// Dumps of all ranks but rank 0.
fn dumps(folder: &Path, ranks: usize, operations: usize, as_pickle: bool) {
    std::fs::create_dir_all(folder).expect("a place for files");
    for rank in 1..ranks {
        let value = dump(rank, ranks, operations);
        let mut bytes = vec![0x80, 2];
        if as_pickle {
            pickle(&value, &mut bytes);
            bytes.push(b'.');
        } else {
            bytes = value.to_string().into_bytes();
        }
        std::fs::write(folder.join(format!("nccl_trace_rank_{rank}")), bytes).expect("a place for files");
    }
}

fn files(path: &Path) -> Vec<PathBuf> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| entry.expect("readable").path()).collect(),
        Err(_) => vec![path.to_owned()],
    }
}

/// Diagnoses in this process, and prints seconds and the peak of memory.
fn child(path: &Path) {
    let start = Instant::now();
    let inputs = Inputs::read(&[path.to_owned()], "job").expect("inputs of the bench");
    let told = diagnose(inputs, None, "job").expect("inputs of the bench");
    println!("{} {} {}", start.elapsed().as_secs_f64(), most(), told.findings.len());
}

fn main() {
    if let Some(input) = std::env::var_os(INPUT) {
        return child(Path::new(&input));
    }
    let quick = std::env::args().any(|arg| arg == "--quick");
    let of = |all: usize| if quick { all / 10 } else { all };
    let place = tempfile::tempdir().expect("a place for files");
    let at = |name: &str| place.path().join(name);
    println!(
        "{:<34} {:>7} {:>7} {:>7} {:>13} {:>15}",
        "input", "MB", "s", "MB/s", "memory/input", "time/bound"
    );
    let show = |name: &str, path: &Path| {
        let files = files(path);
        let bytes: u64 = files.iter().map(|file| file.metadata().expect("readable").len()).sum();
        let start = Instant::now();
        for file in &files {
            let bytes = std::fs::read(file).expect("readable");
            if bytes.starts_with(b"{") {
                serde_json::from_slice::<IgnoredAny>(&bytes).expect("JSON");
            }
        }
        let bound = start.elapsed().as_secs_f64();
        let exe = std::env::current_exe().expect("a bench is a file");
        let made = std::process::Command::new(exe).env(INPUT, path).output().expect("a child");
        let text = String::from_utf8_lossy(&made.stdout);
        let told: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [seconds, most, _] = told[..] else { panic!("{}", String::from_utf8_lossy(&made.stderr)) };
        let bytes = bytes as f64;
        println!(
            "{name:<34} {:>7.1} {seconds:>7.2} {:>7.0} {:>13.2} {:>15.1}",
            bytes / 1e6,
            bytes / 1e6 / seconds,
            most / bytes,
            seconds / bound
        );
        let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
    };
    trace(&at("all_rank0.json"), of(345_000_000), false);
    show("Kineto trace", &at("all_rank0.json"));
    trace(&at("nccl_rank0.json"), of(60_000_000), true);
    show("Kineto trace, NCCL kernels alone", &at("nccl_rank0.json"));
    for ranks in [of(2048), of(4096)] {
        dumps(&at("pickles"), ranks, 20, true);
        show(&format!("dumps of {ranks} ranks, pickles"), &at("pickles"));
    }
    dumps(&at("json"), of(4096), 20, false);
    show(&format!("dumps of {} ranks, JSON", of(4096)), &at("json"));
    dumps(&at("long"), 64, of(2000), true);
    show(&format!("64 dumps of {} operations", of(2000)), &at("long"));
}
