//! The batch file of a Slurm job array whose tasks are the points of a sweep.
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use crate::CliError;
use crate::engine_args::EngineArgs;
use crate::sweep_processes::{Program, limit_words};

/// What is called in each task.
pub(crate) struct Call<'a> {
    pub(crate) scenario: &'a Path,
    pub(crate) out: &'a Path,
    pub(crate) engine: &'a EngineArgs,
    /// Points at a time in a task.
    pub(crate) jobs: Option<u32>,
}

/// Most tasks of an array: Slurm's `MaxArraySize` is 1001 where nobody says otherwise, and its highest index is one
/// less. More points than that share tasks.
const TASKS_MAX: usize = 1000;
/// What is counted of memory may be a third of what is taken ([`railtwin::Estimate`]).
const COUNTED: f64 = 3.0;
/// Least memory to ask for: the programs themselves, and what they read.
const MEMORY_MIN: f64 = (1_u64 << 30) as f64;
const MIB: f64 = (1_u64 << 20) as f64;

/// Writes the batch file: `points` in all, `bytes` counted for the largest.
pub(crate) fn write(
    call: &Call<'_>,
    name: &str,
    points: usize,
    bytes: f64,
    program: &Program,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let tasks = points.clamp(1, TASKS_MAX);
    let jobs = call.jobs.unwrap_or(1);
    let memory = match railtwin::memory::said() {
        Some(said) => said as f64,
        None => (bytes * COUNTED * f64::from(jobs)).max(MEMORY_MIN),
    };
    let words = program.words().iter().map(|word| quoted(word)).collect::<Result<Vec<_>, _>>()?;
    let engine: Vec<String> =
        call.engine.words().iter().map(|word| quoted(OsStr::new(word))).collect::<Result<_, _>>()?;
    let sweep = format!(
        "{} sweep {} --out {} {}",
        words.join(" "),
        whole(call.scenario)?,
        whole(call.out)?,
        engine.join(" ")
    );
    let shared = match points.div_ceil(tasks) {
        1 => "one in each task".to_owned(),
        most => format!("up to {most} in each task"),
    };
    writeln!(out, "#!/bin/bash")?;
    writeln!(out, "# The {points} points of {name}, {shared}. Submit it again to run what is missing.")?;
    writeln!(out, "# Options of the command sbatch go before these, such as --time or --array=1-{tasks}%8.")?;
    writeln!(out, "# When it is through, this prints the table of all points:")?;
    writeln!(out, "#   {sweep}")?;
    writeln!(out, "#SBATCH --job-name={name}")?;
    writeln!(out, "#SBATCH --array=1-{tasks}")?;
    writeln!(out, "#SBATCH --ntasks=1")?;
    writeln!(out, "#SBATCH --cpus-per-task={}", u64::from(jobs) * u64::from(call.engine.threads))?;
    writeln!(out, "#SBATCH --mem={:.0}M", (memory / MIB).ceil())?;
    writeln!(out, "#SBATCH --requeue")?;
    writeln!(out, "set -euo pipefail")?;
    if let Some(limit) = limit_words() {
        writeln!(out, "export RAILTWIN_INPUT_LIMIT={}", quoted(OsStr::new(&limit))?)?;
    }
    writeln!(out, "exec {sweep} --jobs {jobs} --points \"$SLURM_ARRAY_TASK_ID/{tasks}\"")?;
    Ok(())
}

/// A path from the root, as a word of the shell: the job begins in a folder of its own.
fn whole(path: &Path) -> Result<String, CliError> {
    quoted(std::path::absolute(path)?.as_os_str())
}

/// A word of the shell that means itself.
fn quoted(word: &OsStr) -> Result<String, CliError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match word.to_str() {
        Some(word) if !word.is_empty() && word.chars().all(plain) => Ok(word.to_owned()),
        // A line break would end the line of a comment.
        Some(word) if !word.chars().any(char::is_control) => Ok(format!("'{}'", word.replace('\'', "'\\''"))),
        _ => {
            let message = format!("{word:?} cannot stand in a batch file");
            Err(CliError::input(
                message,
                "name it without line breaks and other control characters, in UTF-8",
            ))
        }
    }
}
