//! `bond [--capture FILE] [--json]`: our LACP on two leaves against the bond of Open vSwitch. Status 1 where an outcome is
//! not as expected.
#![allow(clippy::disallowed_methods, reason = "a laboratory: processes and files are its matter")]
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use railtwin_lab::LabError;
use railtwin_lab::bond::{BondOptions, ResponderOptions, lacks, respond, run};

/// Mark of the process that runs within private namespaces.
const INSIDE: &str = "--inside";
/// Mark of the process that is the LACP of a leaf.
const RESPOND: &str = "--respond";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first() {
        Some((first, rest)) if first == RESPOND => answer(rest),
        Some((first, rest)) if first == INSIDE => inside(rest),
        _ => outside(&words),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn answer(words: &[String]) -> Result<ExitCode, LabError> {
    let options = ResponderOptions::of_words(words)?;
    match respond(&options, &mut |line| println!("{line}"))? {}
}

/// Starts itself again in private namespaces: when it ends, nothing of them is left.
fn outside(words: &[String]) -> Result<ExitCode, LabError> {
    if let Some(lack) = lacks() {
        println!("SKIPPED: {lack}");
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    let status = command.arg(own()?).arg(INSIDE).args(words).status();
    let status = status.map_err(|error| LabError(format!("unshare: {error}")))?;
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(2)).unwrap_or(2)))
}

fn inside(words: &[String]) -> Result<ExitCode, LabError> {
    let at = words.iter().position(|word| word == "--capture");
    let options = BondOptions {
        responder: vec![own()?.into(), RESPOND.into()],
        capture: at.and_then(|at| words.get(at + 1)).map(PathBuf::from),
    };
    let is_json = words.iter().any(|word| word == "--json");
    let report = run(&options, &mut |line| eprintln!("{line}"))?;
    if is_json {
        println!("{}", serde_json::to_string_pretty(&report).map_err(|error| LabError(error.to_string()))?);
    } else {
        print!("{report}");
    }
    Ok(ExitCode::from(u8::from(!report.is_good())))
}

fn own() -> Result<PathBuf, LabError> {
    std::env::current_exe().map_err(|error| LabError(error.to_string()))
}
