//! `demo_watch [--program RAILTWIN] [--watch RAILTWIN] [--healthy SECONDS] [--only NAME,…] [--no-hog] [--keep]`:
//! eight real ranks under faults, and what a watcher says of them. Status 1 where a limit is missed.
#![allow(clippy::disallowed_methods, reason = "a laboratory: processes and files are its matter")]
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use railtwin_lab::fault::InjectedFault;
use railtwin_lab::job::JobSite;
use railtwin_lab::trial::{self, TrialPlan};
use railtwin_lab::{LabError, lacks};

/// Mark of the process that runs within private namespaces.
const INSIDE: &str = "--inside";
const RANKS: usize = 8;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = if words.iter().any(|word| word == INSIDE) { inside(&words) } else { outside(&words) };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

/// Starts itself again in private namespaces: when it ends, nothing of them is left.
fn outside(words: &[String]) -> Result<ExitCode, LabError> {
    if let Some(lack) = lacks() {
        println!("SKIPPED: {lack}");
        return Ok(ExitCode::SUCCESS);
    }
    let own = std::env::current_exe().map_err(|error| LabError(error.to_string()))?;
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    let status = command.arg(own).arg(INSIDE).args(words).status();
    let status = status.map_err(|error| LabError(format!("unshare: {error}")))?;
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(2)).unwrap_or(2)))
}

fn inside(words: &[String]) -> Result<ExitCode, LabError> {
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let value =
        |flag: &str| words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1)).cloned();
    let program = PathBuf::from(value("--program").unwrap_or_else(|| "target/release/railtwin".into()));
    let program =
        program.canonicalize().map_err(|error| LabError(format!("{}: {error}", program.display())))?;
    let folder = std::env::temp_dir().join(format!("railtwin-lab-{}", railtwin_lab::now_ns()));
    std::fs::create_dir_all(&folder).map_err(|error| LabError(format!("{}: {error}", folder.display())))?;
    let watcher = value("--watch").map_or_else(|| program.clone(), PathBuf::from);
    let only = value("--only");
    let is_asked = |fault: &&InjectedFault| {
        only.as_ref().is_none_or(|only| only.split(',').any(|one| fault.name().starts_with(one)))
    };
    let plan = TrialPlan {
        site: JobSite { program, folder: folder.clone(), ranks: RANKS },
        watcher,
        faults: InjectedFault::ALL.iter().filter(is_asked).copied().collect(),
        healthy_s: value("--healthy").and_then(|value| value.parse().ok()).unwrap_or(20.0),
        hog: !has("--no-hog"),
    };
    println!("eight ranks in namespaces, files in {}; times in s since the fault", folder.display());
    println!("{}", trial::head());
    let outcomes = trial::run(&plan, &mut |line| println!("{line}"))?;
    let missed = outcomes.iter().filter(|one| !one.is_skipped && !one.misses.is_empty()).count();
    let skipped = outcomes.iter().filter(|one| one.is_skipped).count();
    println!(
        "{} of {} as expected, {missed} missed, {skipped} skipped",
        outcomes.len() - missed - skipped,
        outcomes.len()
    );
    if !has("--keep") && missed == 0 {
        // What is left of it is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&folder);
    }
    Ok(ExitCode::from(u8::from(missed > 0)))
}
