//! The recordings of eight real ranks, each beside the same job and fault simulated, judged by the same judge:
//! `cargo run -p railtwin-replay --example beside_reality [FOLDER]`.
//!
//! FOLDER holds a folder for each recording, with `r0.jsonl` and so on and `truth.json`; without it those in data/live are
//! taken. Every fault that has no recording there is simulated at rank 3.
#![allow(clippy::disallowed_methods, reason = "recordings lie in files")]
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use railtwin_live::reader;

#[path = "../tests/beside/mod.rs"]
mod beside;

use beside::{FAULTS, Measured, Told};

/// A recording of a fault.
struct Recording {
    name: String,
    fault: String,
    rank: u32,
    told: Told,
}

fn read(folder: &Path) -> Option<Recording> {
    let truth: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("truth.json")).ok()?).ok()?;
    let files =
        (0..).map_while(|rank| Some((rank, std::fs::read(folder.join(format!("r{rank}.jsonl"))).ok()?)));
    let files = files.map(|(rank, bytes)| reader::read(&bytes, Some(rank)));
    Some(Recording {
        name: folder.file_name()?.to_string_lossy().into_owned(),
        fault: truth["fault"].as_str()?.to_owned(),
        rank: u32::try_from(truth["rank"].as_u64()?).ok()?,
        told: Told { records: reader::merged(files), fault_ns: truth["t"].as_u64()? },
    })
}

fn answer(told: &Told) -> String {
    let all = told.incidents();
    let lines: Vec<String> = all.iter().map(|one| told.words(one)).collect();
    if lines.is_empty() { "nothing | – | –".to_owned() } else { lines.join("; ") }
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.1}"))
}

fn measured(of: &Measured) -> String {
    let pings = of.pings_us.map_or("–".to_owned(), |pings| pings.map(|us| format!("{us:.0}")).join(" / "));
    let [step, operation, apart] = [of.step_ms, of.operation_ms, of.apart_ms].map(number);
    format!("{step} | {operation} | {apart} | {} | {pings} | {:.1} %", of.resent, 100.0 * of.lost)
}

fn main() -> ExitCode {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/live");
    let folder = std::env::args().nth(1).map_or(shipped, PathBuf::from);
    let entries =
        std::fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| read(&entry.ok()?.path()));
    let mut recordings: Vec<Recording> = entries.collect();
    recordings.sort_by(|a, b| a.name.cmp(&b.name));
    let place = |fault: &str| FAULTS.iter().position(|one| *one == fault).unwrap_or(FAULTS.len());
    recordings.sort_by_key(|recording| place(&recording.fault));
    let simulated =
        |fault: &str, rank| (format!("simulated {fault}, rank {rank}"), Told::simulated(1, fault, rank));
    let mut rows: Vec<(String, Told)> =
        vec![("simulated, no fault".to_owned(), Told::simulated(1, "none", 0))];
    for fault in FAULTS {
        let mut ranks: Vec<u32> = Vec::new();
        for recording in recordings.iter().filter(|recording| recording.fault == fault) {
            rows.push((format!("{}, rank {}", recording.name, recording.rank), recording.told.clone()));
            if !ranks.contains(&recording.rank) {
                ranks.push(recording.rank);
            }
        }
        let ranks = if ranks.is_empty() { vec![3] } else { ranks };
        rows.extend(ranks.into_iter().map(|rank| simulated(fault, rank)));
    }
    println!("| run | answer | opened, s | confirmed, s |\n| --- | --- | --- | --- |");
    for (name, told) in &rows {
        println!("| {name} | {} |", answer(told));
    }
    println!();
    println!(
        "| run | | step, ms | operation, ms | ends apart, ms | resent | pings, us: quartile / median / 9th decile | pings lost |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, told) in &rows {
        for (when, after) in [("before", false), ("after", true)] {
            println!("| {name} | {when} | {} |", measured(&told.measured(after)));
        }
    }
    ExitCode::SUCCESS
}
