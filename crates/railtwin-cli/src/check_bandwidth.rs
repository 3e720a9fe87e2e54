//! `railtwin check bandwidth`: is my number normal?
use std::path::{Path, PathBuf};

use clap::Args;
use railtwin::cost::files::{Reading, of_files};
use railtwin::diagnose::diagnose;
use railtwin::host_model::model_of_fabric;
use railtwin_calibration::bandwidth;
use railtwin_fabric::HostModel;
use railtwin_formats::telemetry::FileNotes;
use railtwin_scaling::{judge, series};
use railtwin_scenario::{CapsFile, ScalingSpec};
use railtwin_workload::scaling::ScalingModel;

use crate::check_bandwidth_answer::{Answer, causes_of};
use crate::check_bandwidth_json::data;
use crate::check_bandwidth_text::shown;
use crate::evidence::{evidence, refused};
use crate::foreseen::goes_on;
use crate::{CliError, Streams};

/// Arguments of `check bandwidth`.
#[derive(Args, Debug)]
pub struct BandwidthArgs {
    /// Logs of nccl-tests, as text or JSON, or folders of them
    #[arg(value_name = "LOGS", required = true)]
    logs: Vec<PathBuf>,
    /// What the hosts are: a preset by name, such as hpn, or a scenario file; default as the name of the GPUs tells
    #[arg(long, value_name = "PRESET|SCENARIO")]
    fabric: Option<String>,
    /// Caps that `railtwin calibrate --out` wrote: their models say what large clusters take; default what the smaller ones of
    /// the logs say
    #[arg(long, value_name = "FILE")]
    caps: Option<PathBuf>,
    /// Print a row for each size, also where there are many
    #[arg(long)]
    sizes: bool,
    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &BandwidthArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let host = host_of(args.fabric.as_deref())?;
    if !goes_on(&of_files(&args.logs, Reading::EVIDENCE), streams)? {
        return Ok(());
    }
    let mut answer = answer_of(&args.logs, args.fabric.as_deref(), host)?;
    if let Some(path) = &args.caps {
        let models = models_of(path)?;
        answer.whole = judge(&series(&answer.logs), &models);
    }
    match args.json {
        true => writeln!(streams.out, "{:#}", data(&answer))?,
        false => write!(streams.out, "{}", shown(&answer, args.sizes))?,
    }
    streams.out.flush()?;
    if answer.is_well() { Ok(()) } else { Err(CliError::Accused) }
}

/// The models of a file of caps.
fn models_of(path: &Path) -> Result<Vec<ScalingModel>, CliError> {
    let name = path.display().to_string();
    let text = railtwin_store::input::read_text(path).map_err(|error| {
        CliError::input(
            format!("cannot read {name}: {error}"),
            "name a file that `railtwin calibrate --out` wrote",
        )
    })?;
    let file = CapsFile::parse(&name, &text).map_err(|error| CliError::of(error.into(), ""))?;
    if file.scaling.is_empty() {
        let help = "calibrate with tests over two numbers of hosts or more";
        return Err(CliError::input(format!("{name} has no model for any number of hosts"), help));
    }
    Ok(file.scaling.iter().map(ScalingSpec::model).collect())
}

/// The host model of `--fabric`.
pub(crate) fn host_of(fabric: Option<&str>) -> Result<Option<HostModel>, CliError> {
    fabric.map(model_of_fabric).transpose().map_err(|error| match error {
        error @ railtwin::Error::Argument(_) => CliError::refused(&format!("--fabric: {error}")),
        other => CliError::of(other, ""),
    })
}

/// Reads logs and holds their bandwidths against those of `host` and of each other.
pub(crate) fn answer_of(
    paths: &[PathBuf],
    fabric: Option<&str>,
    host: Option<HostModel>,
) -> Result<Answer, CliError> {
    let inputs = evidence(paths, "job")?;
    let logs = inputs.merged.nccl_tests.clone();
    if logs.is_empty() {
        let named: Vec<String> = inputs
            .merged
            .files
            .iter()
            .map(|file| format!("{} is {}", file.source, file.format.name()))
            .collect();
        let what = match named.first() {
            Some(first) if named.len() == 1 => first.clone(),
            Some(first) => format!("{first}, and {} more files", named.len() - 1),
            None => paths.first().map_or(String::new(), |path| path.display().to_string()),
        };
        let help = "give what a test such as all_reduce_perf prints, as text or JSON";
        return Err(CliError::input(format!("no file holds results of nccl-tests: {what}"), help));
    }
    let (files, others): (Vec<FileNotes>, Vec<FileNotes>) = inputs
        .merged
        .files
        .iter()
        .cloned()
        .partition(|file| logs.iter().any(|(name, _)| *name == file.source));
    // The same files may name why: what NCCL chose stands between the rows of a test.
    let told = diagnose(inputs, None, "job").map_err(|error| refused(error, ""))?;
    Ok(Answer {
        causes: causes_of(&told.findings),
        checked: bandwidth::check(&logs, host.as_ref()),
        whole: judge(&series(&logs), &[]),
        logs,
        fabric: fabric.map(str::to_owned),
        files,
        unread: told.unread,
        others: others.len(),
    })
}
