//! `railtwin report`: the report of a run folder again, with the page of this program.
use std::path::{Path, PathBuf};

use clap::Args;
use railtwin::cost::files::{Reading, of_files};
use railtwin::report::{Payload, payload_of};
use railtwin_store::input::{self, Kind};
use railtwin_store::run_folder::REPORT_FILE;
use railtwin_store::{RunFolder, write_whole};

use crate::foreseen::goes_on;
use crate::{CliError, Streams};

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Write to this file and leave the run folder's report as it is
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &ReportArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&of_files(&[args.run.join(REPORT_FILE)], Reading::FOLDERS), streams)? {
        return Ok(());
    }
    let folder = RunFolder::open(&args.run).map_err(|error| CliError::unreadable(&error))?;
    let Some(payload) = payload(&args.run)? else {
        let message = format!("{}: the run has no {REPORT_FILE}", args.run.display());
        let help = "a run gets one when it ends, where its scenario has jobs: run the scenario again";
        return Err(CliError::input(message, help));
    };
    let text = payload.page();
    let path = match &args.out {
        Some(path) => {
            write_page(path, &text)?;
            path.clone()
        }
        None => {
            let failed = |error: railtwin_store::StoreError| CliError::Folder(error.to_string());
            folder.write_report(text.as_bytes()).map_err(failed)?;
            args.run.join(REPORT_FILE)
        }
    };
    note_stand_in(streams)?;
    Ok(writeln!(streams.out, "{}", path.display())?)
}

/// What the report of a run folder carries; none where there is no report.
pub(crate) fn payload(run: &Path) -> Result<Option<Payload>, CliError> {
    let path = run.join(REPORT_FILE);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let wrong = |problem: String| {
        let help = "restore the file from a copy, or run its scenario again with --force";
        CliError::input(format!("{}: {problem}", path.display()), help)
    };
    let bytes = input::read(&path, Kind::Data).map_err(|error| wrong(format!("cannot read it: {error}")))?;
    let text =
        String::from_utf8(bytes).map_err(|_| wrong("not a report of railtwin: no UTF-8 text".into()))?;
    payload_of(&text).map(Some).map_err(|error| wrong(error.to_string()))
}

/// Writes a page outside of run folders, whole or not at all.
pub(crate) fn write_page(path: &Path, text: &str) -> Result<(), CliError> {
    write_whole(path, text.as_bytes())
        .map_err(|error| CliError::Folder(format!("cannot write {}: {error}", path.display())))
}

/// Says so where pages hold the stand-in.
pub(crate) fn note_stand_in(streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !railtwin::report::has_page() {
        writeln!(streams.notes, "this program was built without its page: the report says how to build it")?;
    }
    Ok(())
}
