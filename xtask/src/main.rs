//! Checks of the house: `cargo xtask layers | tidy | idle | house [--list | --lower] | architecture [--check] [--root DIR]`.
//!
//! Exit status: 0 all well, 1 a rule is broken (each breach on its own line), 2 the call itself was wrong.
#![allow(clippy::disallowed_methods, reason = "a tool beside the layers: reading files is its work")]

mod architecture;
mod findings;
mod house;
mod idle;
mod layers;
mod links;
mod manifests;
mod rust_text;
mod settings;
mod sources;
mod tidy;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use findings::Findings;

const USAGE: &str = "usage: cargo xtask layers | tidy | idle | house [--list | --lower] | architecture [--check]   [--root DIR]";

fn main() -> ExitCode {
    let call = match parse(std::env::args().skip(1)) {
        Ok(call) => call,
        Err(message) => {
            eprintln!("error: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let outcome = match call.task {
        Task::Layers => layers::check(&call.root),
        Task::Idle => idle::check(&call.root),
        Task::Tidy => tidy::check(&call.root).and_then(|found| Ok(found.with(house::check(&call.root)?))),
        Task::House if call.lower => house::lower(&call.root),
        Task::House => house::report(&call.root, call.list),
        Task::Architecture if call.check => architecture::check(&call.root),
        Task::Architecture => architecture::rewrite(&call.root),
    };
    let findings = outcome.unwrap_or_else(Findings::of_failure);
    for line in &findings.story {
        println!("{line}");
    }
    for line in &findings.warnings {
        println!("warning: {line}");
    }
    for line in &findings.failures {
        eprintln!("error: {line}");
    }
    if findings.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Debug, PartialEq)]
enum Task {
    Layers,
    Tidy,
    Idle,
    House,
    Architecture,
}

#[derive(Debug)]
struct Call {
    task: Task,
    root: PathBuf,
    check: bool,
    list: bool,
    lower: bool,
}

fn parse(arguments: impl Iterator<Item = String>) -> Result<Call, String> {
    let mut arguments = arguments;
    let task = match arguments.next().as_deref() {
        Some("layers") => Task::Layers,
        Some("tidy") => Task::Tidy,
        Some("idle") => Task::Idle,
        Some("house") => Task::House,
        Some("architecture") => Task::Architecture,
        Some(other) => return Err(format!("no check is called `{other}`")),
        None => return Err("name the check to run".to_owned()),
    };
    let mut call = Call { task, root: workspace_root(), check: false, list: false, lower: false };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--check" if call.task == Task::Architecture => call.check = true,
            "--list" if call.task == Task::House => call.list = true,
            "--lower" if call.task == Task::House => call.lower = true,
            "--root" => call.root = arguments.next().ok_or("--root needs a folder")?.into(),
            other => return Err(format!("`{other}` is not understood here")),
        }
    }
    Ok(call)
}

/// The folder above this crate, as it stood when xtask was built: cargo rebuilds it where it is run.
fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &[&str]) -> Result<Call, String> {
        parse(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn options_are_read_and_unknown_ones_refused() {
        let call = parse_words(&["architecture", "--check", "--root", "somewhere"]).unwrap();
        assert!(call.check);
        assert_eq!(call.root, Path::new("somewhere"));
        assert!(parse_words(&["layers", "--check"]).is_err());
        assert!(parse_words(&["tidy", "--root"]).is_err());
        assert!(parse_words(&["swarm"]).unwrap_err().contains("swarm"));
        assert!(parse_words(&[]).is_err());
    }
}
