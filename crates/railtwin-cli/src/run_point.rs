//! `railtwin run-point`: one point of a sweep in a process of its own; `railtwin sweep` starts these.
//!
//! Standard input brings the point's scenario and a zero byte, then stays open: when it closes, the sweep is gone
//! and this process ends too. Standard output has one line for each replicate that is done.
use std::fs;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use clap::Args;
use railtwin::Question;
use railtwin_store::RunFolder;

use crate::engine_args::counts;
use crate::{CliError, Streams};

/// Arguments of `run-point`.
#[derive(Args, Debug)]
pub struct RunPointArgs {
    /// The run folder
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// Folder that paths in the scenario are relative to
    #[arg(long, value_name = "FOLDER")]
    base: PathBuf,
    /// The id that the run must have
    #[arg(long, value_name = "ID")]
    run_id: String,
    /// Threads of a run of the packet engine
    #[arg(long, value_name = "COUNT", value_parser = counts())]
    threads: u32,
    /// Folder with the files that the scenario names: `paths.json`, a list of their paths, and `0`, `1`, … in its order
    #[arg(long, value_name = "FOLDER")]
    files: Option<PathBuf>,
}

/// What ends the scenario on standard input.
pub(crate) const END_OF_TEXT: u8 = 0;
/// The paths of files that came with a point.
const PATHS: &str = "paths.json";
/// Exit status when the sweep is gone: as of a command that Ctrl-C ended.
const ABANDONED: i32 = 130;

pub(crate) fn run(args: &RunPointArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let text = scenario_of_input()?;
    std::thread::spawn(end_with_the_sweep);
    let question = Question::of_text("the point", &text, &args.base).with_threads(args.threads);
    let question = match &args.files {
        Some(folder) => question.with_files(files_in(folder)?),
        None => question,
    };
    let wrong = |error| CliError::of(error, &text);
    let point = question.points().map_err(wrong)?.remove(0);
    let resolved = question.runnable(&point.scenario).map_err(wrong)?;
    if resolved.run_id() != args.run_id {
        let help = "let the files rest while the sweep runs, and run the same command again";
        return Err(CliError::input("a file that the scenario names has changed meanwhile", help));
    }
    let store = |error| CliError::of(railtwin::Error::Store(error), &text);
    if let Some(folder) = RunFolder::find(&args.folder).map_err(store)? {
        folder.remove().map_err(store)?;
    }
    let folder = resolved.begin(&args.folder).map_err(wrong)?;
    let (ticks, ticked) = channel();
    std::thread::scope(|scope| {
        // When nobody listens any more this process is about to end.
        let tick = move || ticks.send(()).unwrap_or(());
        let into = &folder;
        let run = scope.spawn(move || resolved.run_into(Some(into), &tick));
        for () in ticked {
            writeln!(streams.out)?;
            streams.out.flush()?;
        }
        let run = run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        run.and_then(|run| run.write_into(&folder)).map_err(wrong)
    })
}

fn scenario_of_input() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_until(END_OF_TEXT, &mut bytes)?;
    let text = String::from_utf8(bytes).ok().and_then(|text| text.strip_suffix('\0').map(str::to_owned));
    let help = "this verb is a part of `railtwin sweep`: call that one";
    text.ok_or_else(|| CliError::input("standard input does not hold a scenario and a zero byte", help))
}

/// The files that came with the point. They live as long as this process, which ends with the point.
fn files_in(folder: &Path) -> Result<&'static [(&'static str, &'static [u8])], CliError> {
    let paths: Vec<String> =
        serde_json::from_slice(&fs::read(folder.join(PATHS))?).map_err(io::Error::from)?;
    let files = paths.into_iter().enumerate().map(|(number, path)| {
        let bytes = fs::read(folder.join(number.to_string()))?;
        Ok((&*path.leak(), &*bytes.leak()))
    });
    Ok(files.collect::<io::Result<Vec<_>>>()?.leak())
}

/// Ends the process when the sweep closes its end, however the sweep ended.
fn end_with_the_sweep() {
    // Nothing comes; an error too means that nobody is there.
    let _ = io::stdin().lock().read(&mut [0]);
    std::process::exit(ABANDONED);
}
