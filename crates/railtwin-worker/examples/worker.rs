//! The worker without the command around it: `worker JOB.toml --rank R | --all`.
use std::path::PathBuf;
use std::process::ExitCode;

use railtwin_worker::{Job, Program, WorkerError, run_all, run_inner, run_rank};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), WorkerError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let path = PathBuf::from(words.first().map_or("job.toml", String::as_str));
    let value = |flag: &str| words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let job = Job::read(&path)?;
    let file = std::env::current_exe().map_err(|error| WorkerError::Failed(error.to_string()))?;
    let program = Program { file, words: Vec::new(), job: path };
    let costs = match value("--rank").map(|rank| rank.parse().unwrap_or(usize::MAX)) {
        Some(rank) => match value("--shared") {
            Some(shared) => return run_inner(&job, rank, &PathBuf::from(shared)),
            None => vec![run_rank(&job, rank, &program, has("--follow"))?],
        },
        None => run_all(&job, &program)?,
    };
    costs.iter().for_each(|cost| println!("{}", cost.line()));
    Ok(())
}
