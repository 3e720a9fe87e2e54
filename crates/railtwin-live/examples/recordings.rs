//! Judges every recording below a folder and prints what was seen beside the truth:
//! `cargo run -p railtwin-live --example recordings DIR`.
#![allow(clippy::disallowed_methods, reason = "recordings lie in files")]
use std::path::PathBuf;
use std::process::ExitCode;

#[path = "../tests/score/mod.rs"]
mod score;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        println!("name the folder that recordings.tar.gz was unpacked into");
        return ExitCode::FAILURE;
    };
    let mut runs: Vec<PathBuf> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("r0.jsonl").is_file())
        .collect();
    runs.sort();
    let mut wrong = 0;
    println!("{:<16} {:<9} {:>8} {:>9}  {:<44} verdict", "run", "fault", "opened s", "confirm s", "named");
    for run in &runs {
        let recording = score::Recording::read(run);
        let scored = score::score(&recording);
        wrong += usize::from(!scored.is_right());
        println!("{:<16} {scored}", recording.name);
    }
    println!("{} runs, {wrong} wrong", runs.len());
    if wrong == 0 && !runs.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
