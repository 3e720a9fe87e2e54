//! `railtwin paths`: a path and a UDP source port for every queue pair.
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use railtwin::cost::Cost;
use railtwin::queue_pairs::{Demand, plan, plan_jobs, without_paths};
use railtwin::{Question, Resolved};
use railtwin_fabric::{DeviceId, Fabric};
use railtwin_routing::LinkMask;
use railtwin_scenario::{Balancer, ControlSpec, Scenario};
use railtwin_store::input::{self, Kind};
use railtwin_store::write_whole;

use crate::foreseen::goes_on;
use crate::overwritten::refuse_input;
use crate::paths_demands::{Demanded, MOST_QUEUE_PAIRS, count, parse};
use crate::paths_table::{Planned, csv_of, parquet_of};
use crate::{CliError, Streams};

/// Most queue pairs of one call: their table takes a few GiB.
const MOST_ROWS: u64 = 1 << 24;

/// Arguments of `paths`.
#[derive(Args, Debug)]
pub struct PathsArgs {
    /// A scenario, of which [fabric], [routing], [control] and the seed are read, and without DEMANDS its jobs
    #[arg(value_name = "SCENARIO")]
    scenario: String,
    /// A CSV with the columns source and target, and if you like queue_pairs, job and bytes; default what the scenario's
    /// own jobs open, in the order of a run
    #[arg(value_name = "DEMANDS")]
    demands: Option<String>,
    /// Who picks the paths; default as the scenario says
    #[arg(long, value_name = "BALANCER", value_parser = PossibleValuesParser::new(Balancer::NAMES))]
    balancer: Option<String>,
    /// Queue pairs of each NIC port where a row does not say; default as the scenario says
    #[arg(long, value_name = "COUNT")]
    queue_pairs: Option<String>,
    /// The replicate of the run, whose draw gives queue-pair numbers and hash seeds
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    replicate: u32,
    /// Write the table to a file, as Parquet if its name ends in .parquet, else as CSV
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A cable that is down, such as leaf-5:uplink-2 or host-3/nic-1:port-0
    #[arg(long, value_name = "CABLE")]
    down: Vec<String>,
}

pub(crate) fn run(args: &PathsArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if let Some(path) = &args.output {
        let read: Vec<&Path> = std::iter::once(&args.scenario).chain(&args.demands).map(Path::new).collect();
        refuse_input("--output", path, &read)?;
    }
    let question = Question::read(Path::new(&args.scenario)).map_err(|error| CliError::of(error, ""))?;
    let scenario = scenario_of(args, &question)?;
    let wrong = |error| CliError::of(error, &question.text);
    let resolved = question.resolve(&scenario).map_err(wrong)?;
    if !goes_on(&Cost::of_paths(&resolved), streams)? {
        return Ok(());
    }
    let case = &resolved.case;
    if let Some(why) = without_paths(case.routing.balancer) {
        let name = scenario.routing.balancer;
        let file = &args.scenario;
        let message = format!("{file}: under balancer {name} queue pairs have no path of their own: {why}");
        return Err(CliError::input(message, "choose another one with --balancer"));
    }
    let Some(file) = args.demands.as_deref() else {
        return of_jobs(args, &resolved, streams);
    };
    let bytes = input::read(Path::new(file), Kind::Data).map_err(|error| {
        CliError::input(format!("cannot read {file}: {error}"), "name a CSV file of demands")
    })?;
    let rows = parse(file, &bytes)?;
    let queue_pairs = queue_pairs(args, case.routing.queue_pairs)?;
    let (names, demands) = demands(file, &case.fabric, &rows, queue_pairs)?;
    let mask = mask(&case.fabric, &args.down)?;
    let queue_pairs = plan(case, args.replicate, &demands, &mask);
    let planned =
        Planned { fabric: &case.fabric, jobs: &names, demands: &demands, queue_pairs: &queue_pairs };
    write(args.output.as_deref(), &planned, streams)
}

/// The paths of what the jobs of the scenario open.
fn of_jobs(args: &PathsArgs, resolved: &Resolved, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let case = &resolved.case;
    queue_pairs(args, case.routing.queue_pairs)?;
    let mask = mask(&case.fabric, &args.down)?;
    let (demands, queue_pairs) = plan_jobs(case, args.replicate, &mask);
    if demands.is_empty() {
        let message = format!("{}: its jobs open no connection between hosts", args.scenario);
        return Err(CliError::input(
            message,
            "name a CSV file of demands, or a scenario with jobs on several hosts",
        ));
    }
    let names: Vec<&str> = case.work.jobs.iter().map(|job| job.name.as_str()).collect();
    let planned =
        Planned { fabric: &case.fabric, jobs: &names, demands: &demands, queue_pairs: &queue_pairs };
    write(args.output.as_deref(), &planned, streams)
}

/// What decides which paths are chosen, and not when that is told or moved.
fn deciding(control: &ControlSpec) -> ControlSpec {
    let &ControlSpec { hosts, entries, zones, hashed_zones, levels, candidates, .. } = control;
    ControlSpec { hosts, entries, zones, hashed_zones, levels, candidates, ..ControlSpec::default() }
}

/// The scenario without what `paths` does not read, of a sweep that varies nothing of the rest.
fn scenario_of(args: &PathsArgs, question: &Question) -> Result<Scenario, CliError> {
    let file = &args.scenario;
    let mut bare: Vec<Scenario> = Vec::new();
    for point in question.points().map_err(|error| CliError::of(error, &question.text))? {
        let of_jobs = args.demands.is_none();
        let Scenario { seed, fabric, mut routing, control, jobs, frontend, storage, caps, packet, .. } =
            point.scenario;
        if let Some(name) = &args.balancer {
            routing.balancer = Balancer::named(name).expect("the call was checked");
        }
        if let Some(count) = args.queue_pairs.as_deref().and_then(count).filter(|_| of_jobs) {
            routing.queue_pairs = count;
        }
        let control = deciding(&control);
        let bare_one = Scenario { seed, routing, control, ..Scenario::new("paths", fabric) };
        let scenario =
            if of_jobs { Scenario { jobs, frontend, storage, caps, packet, ..bare_one } } else { bare_one };
        if !bare.contains(&scenario) {
            bare.push(scenario);
        }
    }
    match bare.pop() {
        Some(scenario) if bare.is_empty() => Ok(scenario),
        _ => {
            let jobs = if args.demands.is_none() { " and jobs" } else { "" };
            let message = format!("{file} has {} fabrics, routings and seeds{jobs}", bare.len() + 1);
            Err(CliError::input(message, "`paths` wants one: write one value for each of their keys"))
        }
    }
}

fn queue_pairs(args: &PathsArgs, of_scenario: u32) -> Result<u32, CliError> {
    match &args.queue_pairs {
        None => Ok(of_scenario.max(1)),
        Some(text) => count(text).ok_or_else(|| {
            let help = format!("write a whole number from 1 to {MOST_QUEUE_PAIRS}");
            CliError::input(format!("--queue-pairs cannot be {text:?}"), help)
        }),
    }
}

/// The dead links of the named cables.
fn mask(fabric: &Fabric, down: &[String]) -> Result<LinkMask, CliError> {
    let mut mask = LinkMask::none(fabric);
    for name in down {
        let cable = fabric.cable_named(name).ok_or_else(|| {
            let help = "cables are named by a port, such as leaf-5:uplink-2 or host-3/nic-1:port-0";
            CliError::input(format!("--down {name}: the fabric has no such cable"), help)
        })?;
        mask.set_cable(cable, true);
    }
    Ok(mask)
}

/// A connection for each source NIC of each row, and the names of jobs by their number.
fn demands<'r>(
    file: &str,
    fabric: &Fabric,
    rows: &'r [Demanded],
    queue_pairs: u32,
) -> Result<(Vec<&'r str>, Vec<Demand>), CliError> {
    let (mut jobs, mut demands) = (Vec::new(), Vec::new());
    let mut total = 0u64;
    for row in rows {
        let at = |column: &str, name: &str| format!("{file}:{}: column {column}: {name:?}", row.line);
        let nics = |column: &str, name: &str| {
            nics_named(fabric, name).ok_or_else(|| {
                let hosts = fabric.hosts().len();
                let nics = fabric.host_models().first().map_or(0, |model| model.nics);
                let help = format!(
                    "hosts are host-0 to host-{}, NICs such as host-0/nic-0 to host-0/nic-{}",
                    hosts.saturating_sub(1),
                    nics.saturating_sub(1)
                );
                CliError::input(format!("{} is no host or NIC of the fabric", at(column, name)), help)
            })
        };
        let (sources, targets) = (nics("source", &row.source)?, nics("target", &row.target)?);
        if sources.len() != targets.len() {
            let message =
                format!("{}: {:?} has {} NICs", at("target", &row.target), row.source, sources.len());
            let help = "name two hosts, whose NICs are paired rail by rail, or two NICs";
            return Err(CliError::input(format!("{message}, this has {}", targets.len()), help));
        }
        let name = row.job.as_str();
        let job = jobs.iter().position(|known| *known == name).unwrap_or_else(|| {
            jobs.push(name);
            jobs.len() - 1
        });
        for (source, target) in sources.into_iter().zip(targets) {
            let queue_pairs = row.queue_pairs.unwrap_or(queue_pairs);
            let ports = (0..).take_while(|&port| fabric.access_link(source, port).is_some()).count();
            total += u64::from(queue_pairs) * ports as u64;
            let bytes = row.bytes.unwrap_or(1) as f64;
            demands.push(Demand { job: job as u32, source, target, queue_pairs, bytes });
        }
        if total > MOST_ROWS {
            let message = format!("{file}:{}: more than {MOST_ROWS} queue pairs up to here", row.line);
            return Err(CliError::input(message, "split the demands into several files"));
        }
    }
    Ok((jobs, demands))
}

/// One NIC, or those of a host in order of rails.
fn nics_named(fabric: &Fabric, name: &str) -> Option<Vec<DeviceId>> {
    let (host, nic) = match name.split_once('/') {
        Some((host, nic)) => (host, Some(nic.strip_prefix("nic-")?.parse::<u32>().ok()?)),
        None => (name, None),
    };
    let host = fabric.host_named(host)?;
    let nics = fabric.host_model(host).nics;
    match nic {
        Some(nic) => (nic < nics).then(|| vec![fabric.nic(host, nic)]),
        None => Some((0..nics).map(|nic| fabric.nic(host, nic)).collect()),
    }
}

/// The table into a file or the stream of data.
fn write(output: Option<&Path>, planned: &Planned<'_>, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let Some(path) = output else {
        return csv_of(planned, &mut *streams.out);
    };
    let is_parquet = path.extension().is_some_and(|extension| extension == "parquet");
    let bytes = match is_parquet {
        true => parquet_of(planned)?,
        false => {
            let mut bytes = Vec::new();
            csv_of(planned, &mut bytes)?;
            bytes
        }
    };
    let failed = |error| CliError::Folder(format!("cannot write {}: {error}", path.display()));
    write_whole(path, &bytes).map_err(failed)?;
    Ok(writeln!(streams.notes, "{} queue pairs in {}", planned.queue_pairs.len(), path.display())?)
}
