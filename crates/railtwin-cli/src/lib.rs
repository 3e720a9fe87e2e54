//! The `railtwin` command as a library: arguments in, text on two streams and an exit status out.
//!
//! Standard output carries data only; progress, notes and errors go to standard error.
//! Exit status: 0 all well, 1 the answer is «no» (a missed expectation, a failed write), 2 the call or its
//! input was wrong, 141 the reader of the output has gone.
//!
//! What is written to either stream is printable: [`Printable`] stands before both, so that no name from outside acts
//! on a terminal.
//!
//! A verb is a file with its arguments and its `run`; [`args::Verb`] names it and [`run`] calls it.
#![allow(clippy::disallowed_methods, reason = "a door: files and clocks are touched here")]

pub mod anonymize;
mod args;
pub mod asked;
mod blueprint;
mod calibrate;
mod calibrate_held_back;
mod calibrate_plain;
mod calibrate_scale;
mod check;
mod check_bandwidth;
mod check_bandwidth_answer;
mod check_bandwidth_json;
mod check_bandwidth_text;
mod check_config;
mod check_wiring;
mod check_wiring_json;
mod check_wiring_names;
mod check_wiring_observed;
mod check_wiring_page;
mod check_wiring_text;
mod check_wiring_work;
mod cluster;
mod compare;
mod compare_engines;
mod design;
mod design_compare;
mod design_intent;
mod design_list;
mod design_report;
mod diagnose;
mod diagnose_live;
mod diagnose_request;
mod diagnose_what_if;
mod downtime;
mod downtime_incidents;
mod downtime_life;
mod downtime_lines;
mod downtime_plan;
mod downtime_replay;
mod downtime_settings;
mod downtime_table3;
mod downtime_text;
mod engine_args;
mod errors;
mod evidence;
mod excerpt;
mod explain;
mod explain_request;
mod export;
mod export_captures;
mod export_config;
mod export_order;
mod export_site;
mod export_topology;
mod export_write;
mod field_error;
mod foreseen;
mod impact;
mod import;
mod import_facts;
mod import_host;
mod import_scenario;
mod interference;
mod intranode;
mod intranode_measured;
mod intranode_regression;
mod lab;
mod lab_check;
mod lab_gap;
mod lab_run;
mod lab_site;
mod label;
mod memory_watch;
mod meter;
mod one_point;
mod other_command;
mod overwritten;
mod paths;
mod paths_demands;
mod paths_table;
mod report;
mod reproduce;
mod run;
mod run_live;
mod run_point;
mod schedule;
mod schedule_args;
mod schedule_run;
mod schedule_what_if;
mod schema;
mod score;
mod storage_table;
mod sweep;
mod sweep_processes;
mod sweep_ray;
mod sweep_slurm;
mod sweep_table;
mod table;
mod told;
mod topology_files;
mod triage;
mod triage_request;
mod tune;
mod units;
mod upgrade;
mod watch;
mod worker;

use std::ffi::OsString;
use std::io::{self, LineWriter, Write};
use std::process::ExitCode;

use clap::Parser;
use railtwin_store::input;
use railtwin_store::printable::Printable;

use args::{Args, Verb};
pub use errors::CliError;
use sweep_processes::Program;

/// Exit status of a command whose reader has gone: as of one that SIGPIPE ended.
const READER_GONE: u8 = 141;

/// Sets how much of a file is read, as the flag says, else as the environment does, and how much memory may be taken.
fn set_limit(args: &Args) -> Result<(), CliError> {
    let limit = match args.input_limit {
        Some(limit) => Some(limit),
        None => input::limit_of_environment().map_err(|text| CliError::refused(&text))?,
    };
    input::set_limit(limit);
    railtwin::memory::set_limit(args.memory.map(|bytes| bytes.0));
    foreseen::ask(args.estimate);
    // The processes of a job have one thread each: signals are read by it, and its CPU time is the cost of recording.
    if !matches!(args.verb, Verb::Worker(_) | Verb::Lab(_)) {
        memory_watch::begin();
    }
    Ok(())
}

/// The streams that a verb writes to.
pub struct Streams<'a> {
    /// Data.
    pub out: &'a mut dyn Write,
    /// All else.
    pub notes: &'a mut dyn Write,
}

/// Runs the command on the process's own streams. `args` begins with the program's name; `is_open` says whether the
/// process was started with a standard output at all.
pub fn main(args: impl IntoIterator<Item = OsString>, is_open: bool) -> ExitCode {
    memory_watch::allow();
    let mut out: Box<dyn Write> = if is_open { standard_output() } else { Box::new(Closed) };
    let mut streams = Streams { out: &mut out, notes: &mut io::stderr() };
    ExitCode::from(run(args, &mut streams))
}

/// Standard output without the kindness of [`io::stdout`], to which a stream that cannot be written to is no error.
#[cfg(unix)]
fn standard_output() -> Box<dyn Write> {
    use std::os::fd::AsFd;
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(owned) => Box::new(LineWriter::new(std::fs::File::from(owned))),
        Err(_) => Box::new(Closed),
    }
}

#[cfg(not(unix))]
fn standard_output() -> Box<dyn Write> {
    Box::new(LineWriter::new(io::stdout()))
}

/// A standard output that was closed before the process began.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("standard output is closed"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the command on given streams and returns its exit status. `args` begins with the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>, streams: &mut Streams<'_>) -> u8 {
    run_of(&[], args, streams)
}

/// The same where the command is no file that can be started: `own` are the words that start it, a Python interpreter
/// first. Sweeps start it once for each point.
pub fn run_of(own: &[OsString], args: impl IntoIterator<Item = OsString>, streams: &mut Streams<'_>) -> u8 {
    let call: Vec<OsString> = args.into_iter().collect();
    let (mut out, mut notes) = (Printable::new(&mut *streams.out), Printable::new(&mut *streams.notes));
    let streams = &mut Streams { out: &mut out, notes: &mut notes };
    let outcome = match Args::try_parse_from(&call) {
        Ok(args) => set_limit(&args).and_then(|()| match &args.verb {
            Verb::Design(args) => design::run(args, streams),
            Verb::Run(args) => run::run(args, streams),
            Verb::Reproduce(args) => reproduce::run(args, streams),
            Verb::Sweep(args) => {
                Program::of(own, &call[0]).and_then(|program| sweep::run(args, &program, streams))
            }
            Verb::Compare(args) => compare::run(args, streams),
            Verb::Report(args) => report::run(args, streams),
            Verb::Paths(args) => paths::run(args, streams),
            Verb::Interference(args) => interference::run(args, streams),
            Verb::Cluster(args) => cluster::run(args, streams),
            Verb::Intranode(args) => intranode::run(args, streams),
            Verb::Impact(args) => impact::run(args, streams),
            Verb::Upgrade(args) => upgrade::run(args, streams),
            Verb::Schedule(args) => schedule::run(args, streams),
            Verb::Import(args) => import::run(args, streams),
            Verb::Export(args) => export::run(args, streams),
            Verb::Downtime(args) => downtime::run(args, streams),
            Verb::RunPoint(args) => run_point::run(args, streams),
            Verb::Diagnose(args) => diagnose::run(args, streams),
            Verb::Calibrate(args) => calibrate::run(args, streams),
            Verb::Explain(args) => explain::run(args, streams),
            Verb::Triage(args) => triage::run(args, streams),
            Verb::Watch(args) => watch::run(args, streams),
            Verb::Tune(args) => tune::run(args, streams),
            Verb::Check(args) => check::run(args, streams),
            Verb::Score(args) => score::run(args, streams),
            Verb::Worker(args) => worker::run(args, own, streams),
            Verb::Lab(args) => lab::run(args, &call, streams),
            Verb::Schema => schema::run(streams),
        }),
        Err(asked) if !asked.use_stderr() => write!(streams.out, "{asked}").map_err(CliError::from),
        Err(wrong) => Err(CliError::Call(wrong)),
    };
    match outcome.and_then(|()| Ok(streams.out.flush()?)) {
        Ok(()) => 0,
        // A reader that has seen enough (`| head`) needs no words, but what was to be said did not arrive.
        Err(error) if error.is_closed_stream() => READER_GONE,
        Err(error) => {
            // With standard error gone as well there is nobody left to tell.
            let _ = error.show(streams.notes);
            error.status()
        }
    }
}
