//! The `railtwin` command as a library: arguments in, text on two streams and an exit status out.
//!
//! Standard output carries data only; progress, notes and errors go to standard error.
//! Exit status: 0 all well, 1 the answer is «no» (a missed expectation, a failed write), 2 the call or its
//! input was wrong.
//!
//! A verb is a file with its arguments and its `run`; [`args::Verb`] names it and [`run`] calls it.
#![allow(clippy::disallowed_methods, reason = "a door: files and clocks are touched here")]

pub mod args;
mod compare;
mod compare_engines;
mod design;
mod diagnose;
mod downtime;
mod downtime_incidents;
mod downtime_plan;
mod downtime_replay;
mod downtime_settings;
mod downtime_table3;
mod downtime_text;
mod engine_args;
mod errors;
mod import;
mod import_facts;
mod import_scenario;
mod meter;
mod paths;
mod paths_demands;
mod paths_rows;
mod paths_table;
mod report;
mod reproduce;
mod run;
mod run_point;
mod schema;
mod score;
mod sweep;
mod sweep_processes;
mod sweep_table;
mod table;
mod units;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Verb};
pub use errors::CliError;

/// The streams that a verb writes to.
pub struct Streams<'a> {
    /// Data.
    pub out: &'a mut dyn Write,
    /// All else.
    pub notes: &'a mut dyn Write,
}

/// Runs the command on the process's own streams. `args` begins with the program's name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let (mut out, mut notes) = (std::io::stdout().lock(), std::io::stderr());
    let mut streams = Streams { out: &mut out, notes: &mut notes };
    ExitCode::from(run(args, &mut streams))
}

/// Runs the command on given streams and returns its exit status. `args` begins with the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>, streams: &mut Streams<'_>) -> u8 {
    let call: Vec<OsString> = args.into_iter().collect();
    let outcome = match Args::try_parse_from(&call) {
        Ok(args) => match &args.verb {
            Verb::Design(args) => design::run(args, streams),
            Verb::Run(args) => run::run(args, streams),
            Verb::Reproduce(args) => reproduce::run(args, streams),
            Verb::Sweep(args) => sweep::run(args, &call[0], streams),
            Verb::Compare(args) => compare::run(args, streams),
            Verb::Report(args) => report::run(args, streams),
            Verb::Paths(args) => paths::run(args, streams),
            Verb::Import(args) => import::run(args, streams),
            Verb::Downtime(args) => downtime::run(args, streams),
            Verb::RunPoint(args) => run_point::run(args, streams),
            Verb::Diagnose(args) => diagnose::run(args, streams),
            Verb::Score(args) => score::run(args, streams),
            Verb::Schema => schema::run(streams),
        },
        Err(asked) if !asked.use_stderr() => write!(streams.out, "{asked}").map_err(CliError::from),
        Err(wrong) => Err(CliError::Call(wrong)),
    };
    // A reader that has seen enough (`| head`) closes the stream; that is no error of ours.
    match outcome.and_then(|()| Ok(streams.out.flush()?)) {
        Ok(()) => 0,
        Err(error) if error.is_closed_stream() => 0,
        Err(error) => {
            // With standard error gone as well there is nobody left to tell.
            let _ = error.show(streams.notes);
            error.status()
        }
    }
}
