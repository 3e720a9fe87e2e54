//! `railtwin paths`: a path and a UDP source port for every queue pair.
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use railtwin_fabric::{DeviceId, Fabric, FabricError};
use railtwin_routing::{EcmpConfig, HashSpec, LinkMask};
use railtwin_scenario::{Balancer, FabricSpec, RoutingSpec, Seeds, expand};

use crate::design::at_field;
use crate::paths_demands::{Demanded, MOST_QUEUE_PAIRS, count, parse};
use crate::paths_rows::{Assigned, Connection, assign};
use crate::paths_table::{csv_of, parquet_of};
use crate::{CliError, Streams};

/// Most queue pairs of one call: their table takes a few GiB.
const MOST_ROWS: u64 = 1 << 24;

/// Arguments of `paths`.
#[derive(Args, Debug)]
pub struct PathsArgs {
    /// A scenario, of which [fabric] and [routing] are read
    #[arg(value_name = "SCENARIO")]
    scenario: String,
    /// A CSV with the columns source and target, and if you like queue_pairs and job
    #[arg(value_name = "DEMANDS")]
    demands: String,
    /// Who picks the paths; default as the scenario says
    #[arg(long, value_name = "WHO")]
    balancer: Option<PathBalancer>,
    /// Queue pairs of each NIC port where a row does not say; default as the scenario says
    #[arg(long, value_name = "COUNT")]
    queue_pairs: Option<String>,
    /// Write the table to a file, as Parquet if its name ends in .parquet, else as CSV
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A cable that is down, such as leaf-5:uplink-2 or host-3/nic-1:port-0
    #[arg(long, value_name = "CABLE")]
    down: Vec<String>,
}

/// Who picks the path of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PathBalancer {
    /// One allocator for all jobs: least used links, left port to left port
    C4p,
    /// Each connection by itself: source ports whose paths share no link
    Disjoint,
    /// The switches, by hashing the source ports that Linux derives
    Ecmp,
}

pub(crate) fn run(args: &PathsArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let (fabric, routing) = read_scenario(&args.scenario)?;
    let file = args.demands.as_str();
    let bytes = std::fs::read(file).map_err(|error| {
        CliError::input(format!("cannot read {file}: {error}"), "name a CSV file of demands")
    })?;
    let rows = parse(file, &bytes)?;
    let queue_pairs = queue_pairs(args, &routing)?;
    let connections = connections(file, &fabric, &rows, queue_pairs)?;
    let mask = mask(&fabric, &args.down)?;
    let balancer = args.balancer.unwrap_or(match routing.balancer {
        Balancer::Disjoint => PathBalancer::Disjoint,
        _ => PathBalancer::Ecmp,
    });
    let assigned = assign(&fabric, &ecmp(&routing), &mask, balancer, &connections);
    write(args.output.as_deref(), &fabric, &assigned, streams)
}

/// The fabric and the routing of a scenario whose sweep, if it has one, varies neither.
fn read_scenario(file: &str) -> Result<(Fabric, RoutingSpec), CliError> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        CliError::input(format!("cannot read {file}: {error}"), "name a scenario file with a [fabric]")
    })?;
    let refuse = |error| CliError::Scenario { error, text: text.clone() };
    let mut specs: Vec<(FabricSpec, RoutingSpec)> = Vec::new();
    for point in expand(file, &text).map_err(refuse)? {
        let spec = (point.scenario.fabric, point.scenario.routing);
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }
    if specs.len() > 1 {
        let message = format!("{file} has {} fabrics and routings", specs.len());
        return Err(CliError::input(message, "`paths` wants one: write one value for each of their keys"));
    }
    match specs.pop() {
        Some((FabricSpec::Preset(preset), routing)) => {
            let wrong = |error: FabricError| refuse(at_field(&error, "fabric.", file, &text));
            Ok((preset.build().map_err(wrong)?, routing))
        }
        _ => {
            let message = format!("{file} imports a fabric; `paths` works on fabrics that it builds");
            Err(CliError::input(message, "write a preset under [fabric]"))
        }
    }
}

/// How switches hash: as when the scenario is run.
fn ecmp(spec: &RoutingSpec) -> EcmpConfig {
    let seeds = match spec.seeds {
        Seeds::Shared => railtwin_routing::Seeds::Shared,
        Seeds::PerTier => railtwin_routing::Seeds::PerTier,
        Seeds::PerSwitch => railtwin_routing::Seeds::PerSwitch,
    };
    let ecmp = EcmpConfig::new(HashSpec::new(spec.hash).with_fields(spec.fields), seeds);
    if spec.core_per_port { ecmp.with_core_per_port() } else { ecmp }
}

fn queue_pairs(args: &PathsArgs, routing: &RoutingSpec) -> Result<u32, CliError> {
    match &args.queue_pairs {
        None => Ok(routing.queue_pairs.max(1)),
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

/// A connection for each port of each source NIC of each row.
fn connections(
    file: &str,
    fabric: &Fabric,
    rows: &[Demanded],
    queue_pairs: u32,
) -> Result<Vec<Connection>, CliError> {
    let mut connections = Vec::new();
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
        for (source, target) in sources.into_iter().zip(targets) {
            let queue_pairs = row.queue_pairs.unwrap_or(queue_pairs);
            for port in (0..).take_while(|&port| fabric.access_link(source, port).is_some()) {
                total += u64::from(queue_pairs);
                let source = railtwin_routing::NicPort { nic: source, port };
                connections.push(Connection { job: row.job.clone(), source, target, queue_pairs });
            }
        }
        if total > MOST_ROWS {
            let message = format!("{file}:{}: more than {MOST_ROWS} queue pairs up to here", row.line);
            return Err(CliError::input(message, "split the demands into several files"));
        }
    }
    Ok(connections)
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
fn write(
    output: Option<&Path>,
    fabric: &Fabric,
    assigned: &[Assigned<'_>],
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let Some(path) = output else {
        return csv_of(fabric, assigned, &mut *streams.out);
    };
    let is_parquet = path.extension().is_some_and(|extension| extension == "parquet");
    let bytes = match is_parquet {
        true => parquet_of(fabric, assigned)?,
        false => {
            let mut bytes = Vec::new();
            csv_of(fabric, assigned, &mut bytes)?;
            bytes
        }
    };
    let failed = |error| CliError::Folder(format!("cannot write {}: {error}", path.display()));
    std::fs::write(path, bytes).map_err(failed)?;
    Ok(writeln!(streams.notes, "{} queue pairs in {}", assigned.len(), path.display())?)
}
