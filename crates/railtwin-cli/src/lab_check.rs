//! `railtwin lab check`: all of the lab in order, each result beside what is expected.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use railtwin_lab::check::{CheckPlan, Checker, LabChecks, LabFinding};
use railtwin_lab::page::{BondCheck, render};
use railtwin_lab::{Lab, LabError, bond, lacks};
use railtwin_store::write_whole;

use crate::lab_run::case_of;
use crate::lab_site::{frr, hold_words, plant, plant_of, refuse_page, site_of_lab, sizes};
use crate::{CliError, Streams};

/// Arguments of `lab check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The scenario: its fabric is built, its jobs run
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Draws of each balancer
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    draws: u32,
    /// Seconds of each draw
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = crate::lab_gap::seconds)]
    seconds: f64,
    /// Links that are silenced while C4P probes
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    silenced: u32,
    /// Leave the bond of Open vSwitch out
    #[arg(long)]
    no_bond: bool,
    /// Write a page with all results beside the simulation
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The part that runs within the namespaces of a lab
    #[arg(long, value_name = "PART", hide = true)]
    pub(crate) part: Option<String>,
}

/// File of the results of a part, in the folder of the lab.
const RESULTS: &str = "checks.json";
/// Balancers that are compared.
const BALANCERS: [&str; 3] = ["ecmp", "c4p", "disjoint"];
/// Least time between two labs in which all leftovers of the first must be gone, s.
const GONE_S: f64 = 2.0;

/// Builds labs one after the other, and checks them.
pub(crate) fn run(
    lab: &Lab,
    name: &str,
    args: &CheckArgs,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    if let Some(lack) = lacks() {
        return skipped(&lack, streams);
    }
    let what = args.scenario.display().to_string();
    let plant = plant(&what, &[], &Default::default())?;
    if let Err(lack) = frr(&plant) {
        return skipped(&lack.to_string(), streams);
    }
    if lab.is_up() {
        let message = format!("a lab is up in {}", lab.folder.display());
        return Err(CliError::input(message, "railtwin lab down, or another --name"));
    }
    for balancer in BALANCERS {
        case_of(&plant, &args.scenario, balancer)?;
    }
    if let Some(path) = &args.page {
        refuse_page(path)?;
    }
    if !args.json {
        writeln!(
            streams.out,
            "a fabric of namespaces, real packets, the simulation beside them: two to three minutes"
        )?;
    }
    let mut all = LabChecks::default();
    // The first lab is that of the second again, so that their maps can be compared; the third has BFD.
    let labs: [(&str, Option<&str>); 3] = [("map", None), ("all", None), ("bfd", Some("100 ms"))];
    for (part, bfd) in labs {
        let found = one(lab, name, (args, part, bfd), &mut all, streams);
        if found.is_err() {
            // What is up would stay up.
            let _ = lab.down();
        }
        found?;
    }
    if !args.no_bond {
        bonds(&mut all, args, streams)?;
    }
    finish(&all, args, streams)
}

fn skipped(lack: &str, streams: &mut Streams<'_>) -> Result<(), CliError> {
    Ok(writeln!(streams.out, "SKIPPED: {lack}\n0 of 1 as expected, 0 missed, 1 skipped")?)
}

/// One lab: up, its part, and its end by a signal.
fn one(
    lab: &Lab,
    name: &str,
    (args, part, bfd): (&CheckArgs, &str, Option<&str>),
    all: &mut LabChecks,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let config = bfd.map_or_else(Vec::new, |bfd| vec![format!("bfd={bfd}")]);
    let site = site_of_lab(&args.scenario.display().to_string(), &[], &config)?;
    let seconds = lab.up(&hold_words(name), &site, true)?;
    let with = bfd.map_or_else(String::new, |bfd| format!(" with BFD each {bfd}"));
    let seen = format!("{seconds:.2} s");
    // BFD takes its time to negotiate its interval.
    let most = if bfd.is_some() { 12.0 } else { 6.0 };
    let up = LabFinding::new(format!("fabric up{with}"), format!("under {most:.0} s"), seen, seconds < most);
    add(all, up, args, streams)?;
    if part == "all" {
        let plant = plant_of(lab)?;
        all.report.fabric = plant.plan.fabric.clone();
        all.report.sizes = sizes(&plant);
        all.report.up_s = Some(seconds);
    }
    streams.out.flush()?;
    let found = entered(lab, name, args, part)?;
    all.findings.extend(found.findings);
    all.report.gaps.extend(found.report.gaps);
    all.report.bandwidth.extend(found.report.bandwidth);
    all.report.prediction = found.report.prediction.or(all.report.prediction.take());
    all.report.avoided = found.report.avoided.or(all.report.avoided.take());
    if part == "all" {
        let same = found.map.iter().zip(&all.map).filter(|(one, other)| one == other).count();
        let is_same = found.map == all.map;
        let seen = format!("{same} of {}", found.map.len());
        add(
            all,
            LabFinding::new("the same map in the next lab", "every port", seen, is_same),
            args,
            streams,
        )?;
    }
    if !found.map.is_empty() {
        all.map = found.map;
    }
    let left = lab.kill(GONE_S)?;
    if part == "map" {
        let seen = format!("{left} processes");
        add(
            all,
            LabFinding::new("left behind by kill -9 of the holder", "0 processes", seen, left == 0),
            args,
            streams,
        )?;
    }
    Ok(())
}

/// Results of a part, which runs within the namespaces of the lab.
fn entered(lab: &Lab, name: &str, args: &CheckArgs, part: &str) -> Result<LabChecks, CliError> {
    let scenario = args.scenario.display().to_string();
    let words = ["lab", "check", &scenario, "--name", name, "--inside", "--part", part];
    let mut words: Vec<String> = words.map(str::to_owned).to_vec();
    let numbers = [("--draws", args.draws.to_string()), ("--silenced", args.silenced.to_string())];
    for (key, value) in numbers.into_iter().chain([("--seconds", args.seconds.to_string())]) {
        words.extend([key.to_owned(), value]);
    }
    if args.json {
        words.push("--json".into());
    }
    let status = lab.enter(&words)?;
    if status != 0 {
        return Err(CliError::Inside(u8::try_from(status).unwrap_or(1)));
    }
    let text = lab.kept(RESULTS).unwrap_or_default();
    Ok(serde_json::from_str(&text).map_err(|error| LabError(format!("{RESULTS}: {error}")))?)
}

/// A call of this program in private namespaces, which ends with this process.
fn apart(own: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]);
    command.arg("--mount-proc").arg(own);
    command
}

/// The scene of a bond, in namespaces of its own.
fn bonds(all: &mut LabChecks, args: &CheckArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if let Some(lack) = bond::lacks() {
        all.report.notes.push(format!("No bond of Open vSwitch: {lack}."));
        if !args.json {
            writeln!(streams.out, "SKIPPED: the bond of Open vSwitch: {lack}")?;
        }
        return Ok(());
    }
    let own = std::env::current_exe()?;
    let mut command = apart(&own);
    let output = command.args(["lab", "bond", "--inside", "--json"]).output()?;
    let report: bond::BondReport = serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        LabError(format!("the bond of Open vSwitch: {}", said.trim()))
    })?;
    for row in report.rows {
        let bond::BondRow { name, expected, seen, ok } = row;
        let check =
            BondCheck { name: name.clone(), expected: expected.clone(), observed: seen.clone(), is_ok: ok };
        all.report.bonds.push(check);
        add(all, LabFinding::new(format!("bond: {name}"), expected, seen, ok), args, streams)?;
    }
    Ok(())
}

fn add(
    all: &mut LabChecks,
    finding: LabFinding,
    args: &CheckArgs,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    if !args.json {
        writeln!(streams.out, "{}", line(&finding))?;
    }
    all.findings.push(finding);
    Ok(())
}

fn line(finding: &LabFinding) -> String {
    let LabFinding { name, expected, seen, ok } = finding;
    let mark = if *ok { "ok    " } else { "MISSED" };
    format!("{mark}  {name}: {seen} (expected: {expected})")
}

fn finish(all: &LabChecks, args: &CheckArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if let Some(path) = &args.page {
        write_whole(path, render(&all.report).as_bytes())
            .map_err(|error| CliError::Folder(error.to_string()))?;
    }
    let missed = all.findings.iter().filter(|finding| !finding.ok).count();
    let count = all.findings.len();
    let skipped = usize::from(!args.no_bond && all.report.bonds.is_empty());
    match args.json {
        true => {
            let text = serde_json::to_string_pretty(all).map_err(|error| LabError(error.to_string()))?;
            writeln!(streams.out, "{text}")?;
        }
        false => writeln!(
            streams.out,
            "{} of {count} as expected, {missed} missed, {skipped} skipped",
            count - missed
        )?,
    }
    if missed == 0 { Ok(()) } else { Err(CliError::Accused) }
}

/// A part within the namespaces of a lab.
pub(crate) fn inside(
    lab: &Lab,
    args: &CheckArgs,
    part: &str,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let plant = plant_of(lab)?;
    let frr = frr(&plant)?;
    let mut checker = Checker::new(&plant, &frr, &lab.folder);
    let is_quiet = args.json;
    let mut say = |finding: &LabFinding| {
        if !is_quiet {
            // Progress; the results are in a file.
            let _ = writeln!(streams.out, "{}", line(finding)).and_then(|()| streams.out.flush());
        }
    };
    match part {
        "map" => checker.paths(&mut say)?,
        "bfd" => checker.gaps(&mut say)?,
        _ => {
            checker.paths(&mut say)?;
            checker.back(&mut say)?;
            checker.gaps(&mut say)?;
            let plan = CheckPlan { draws: args.draws, seconds: args.seconds, silenced: args.silenced };
            let of = |name: &str| {
                let (case, jobs) = case_of(&plant, &args.scenario, name)?;
                Ok((name.to_owned(), case, jobs))
            };
            let cases = BALANCERS.into_iter().map(of).collect::<Result<Vec<_>, CliError>>()?;
            checker.bandwidth(&cases, plan, &mut say)?;
        }
    }
    let text = serde_json::to_string(&checker.checks).map_err(|error| LabError(error.to_string()))?;
    Ok(lab.keep(RESULTS, &text)?)
}

/// Arguments of `lab bond`.
#[derive(Args, Debug)]
pub(crate) struct BondArgs {
    /// Write the LACPDUs of both sides as a capture (pcapng)
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The scene of a bond: by this call outside, in private namespaces of its own inside.
pub(crate) fn bond(
    args: &BondArgs,
    call: &[OsString],
    is_inside: bool,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    if let Some(lack) = bond::lacks() {
        return Ok(writeln!(streams.out, "SKIPPED: {lack}")?);
    }
    let own = std::env::current_exe()?;
    if !is_inside {
        let mut command = apart(&own);
        let status = command.args(call.iter().skip(1)).arg("--inside").status()?;
        return match status.code().unwrap_or(1) {
            0 => Ok(()),
            status => Err(CliError::Inside(u8::try_from(status).unwrap_or(1))),
        };
    }
    let responder = vec![own.into(), "lab".into(), "lacp".into()];
    let options = bond::BondOptions { responder, capture: args.capture.clone() };
    let report = bond::run(&options, &mut |text| {
        // Progress.
        let _ = writeln!(streams.notes, "{text}");
    })?;
    match args.json {
        true => {
            let text = serde_json::to_string_pretty(&report).map_err(|error| LabError(error.to_string()))?;
            writeln!(streams.out, "{text}")?;
        }
        false => write!(streams.out, "{report}")?,
    }
    if report.is_good() { Ok(()) } else { Err(CliError::Accused) }
}
