//! `railtwin lab`: a fabric of network namespaces with real routers, and what becomes of real packets there.
use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Args, Subcommand};
use railtwin::cost::Cost;
use railtwin_fabric::LinkId;
use railtwin_lab::bond::ResponderOptions;
use railtwin_lab::faults::{self, LabFault};
use railtwin_lab::plant::routes_within;
use railtwin_lab::probe::{Carrier, PortPath};
use railtwin_lab::{Lab, LabError, LabRefusal, Plant, lacks};
use serde_json::{Value, json};

use crate::export_config::ConfigArgs;
use crate::foreseen::goes_on;
use crate::lab_check::{self, BondArgs, CheckArgs};
use crate::lab_gap::{self, GapArgs};
use crate::lab_run::{self, MasterArgs, RunArgs};
use crate::lab_site::{frr, hold_words, plant, plant_of, site_of_lab};
use crate::table::TextTable;
use crate::{CliError, Streams};

/// Arguments of `lab`.
#[derive(Args, Debug)]
pub struct LabArgs {
    #[command(subcommand)]
    what: LabVerb,
    /// Name of the lab, where several are up
    #[arg(long, global = true, value_name = "NAME", default_value = "fabric")]
    name: String,
    /// Runs within the namespaces of the lab
    #[arg(long, global = true, hide = true)]
    inside: bool,
}

/// Time for routes to stand behind a repair, ns.
const ROUTES_NS: u64 = 5_000_000_000;

/// Verbs of `lab`.
#[derive(Subcommand, Debug)]
enum LabVerb {
    /// Build a fabric: switches with FRR and the exported configuration, hosts with a cable to each of their leaves
    Up(UpArgs),
    /// Remove the fabric
    Down,
    /// Send packets by many source ports, and say which path each took beside the predicted one
    Probe(ProbeArgs),
    /// Break something
    Fail {
        #[command(subcommand)]
        fault: FaultArgs,
    },
    /// Mend a cable or a switch: links up, nothing dropped, daemons running
    Repair {
        /// A cable by one of its ends, such as leaf-0:up3, or a switch
        #[arg(value_name = "CABLE|SWITCH")]
        what: String,
    },
    /// Measure the worst gap of UDP and TCP flows through a fault, a packet each millisecond
    Gap(GapArgs),
    /// Run the jobs of a scenario as real ranks on the paths of each balancer
    Run(RunArgs),
    /// Serve paths to ranks: connections register, source ports come back, and others when a path dies
    Master(MasterArgs),
    /// Build labs, and hold all that they show against what is expected and against the simulation
    Check(CheckArgs),
    /// Hold our LACP on two leaves against the bond of Open vSwitch, with traffic
    Bond(BondArgs),
    /// LACP of one port of a leaf
    #[command(hide = true)]
    Lacp {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Hold the namespaces
    #[command(hide = true)]
    Hold,
}

/// Arguments of `lab up`.
#[derive(Args, Debug)]
struct UpArgs {
    /// A preset by its name, or a scenario (*.toml)
    #[arg(value_name = "PRESET|SCENARIO")]
    what: String,
    /// Sets any key of [fabric] of a preset, such as leaves=4
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Arguments of `lab probe`.
#[derive(Args, Debug)]
struct ProbeArgs {
    /// Host that sends [default: the first]
    #[arg(long, value_name = "HOST")]
    from: Option<String>,
    /// Host that receives [default: the last]
    #[arg(long, value_name = "HOST")]
    to: Option<String>,
    /// Source ports
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=16_384))]
    ports: u16,
    /// Packets of connected UDP sockets in place of TCP connections
    #[arg(long)]
    udp: bool,
    /// Print JSON: every port with its links
    #[arg(long)]
    json: bool,
}

/// Kinds of faults.
#[derive(Subcommand, Clone, Debug)]
enum FaultArgs {
    /// A cable goes down: both ends lose light
    Link {
        /// The cable by one of its ends, such as leaf-0:up3
        #[arg(value_name = "CABLE")]
        what: String,
    },
    /// A switch loses all its links
    Node {
        /// The switch
        #[arg(value_name = "SWITCH")]
        what: String,
    },
    /// A daemon is killed
    Daemon {
        /// The switch, whose bgpd dies, or switch and daemon, such as spine-1:bfdd
        #[arg(value_name = "SWITCH[:DAEMON]")]
        what: String,
    },
    /// Packets that leave by one end of a cable are dropped; the link stays up
    Silent {
        /// The end, such as leaf-0:up3
        #[arg(value_name = "END")]
        what: String,
    },
    /// Data that leave by one end are lost; BGP, BFD, ARP and LACP pass
    Gray {
        /// The end, such as leaf-0:up3
        #[arg(value_name = "END")]
        what: String,
    },
    /// Each packet that leaves by one end is lost with a probability
    Loss {
        /// The end, such as leaf-0:up3
        #[arg(value_name = "END")]
        what: String,
        /// The probability
        #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
        share: f64,
    },
}

impl FaultArgs {
    fn fault(&self) -> LabFault {
        match self.clone() {
            Self::Link { what } => LabFault::Link(what),
            Self::Node { what } => LabFault::Node(what),
            Self::Daemon { what } => LabFault::Daemon(what),
            Self::Silent { what } => LabFault::Silent(what),
            Self::Gray { what } => LabFault::Gray(what),
            Self::Loss { what, share } => LabFault::Loss(what, share),
        }
    }
}

impl From<LabError> for CliError {
    fn from(error: LabError) -> Self {
        Self::Worker(error.to_string())
    }
}

impl From<LabRefusal> for CliError {
    fn from(refusal: LabRefusal) -> Self {
        Self::input(refusal.message, refusal.accepted)
    }
}

pub(crate) fn run(args: &LabArgs, call: &[OsString], streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("a lab on this host"), streams)? {
        return Ok(());
    }
    let lab = Lab::named(&args.name)?;
    if args.inside {
        Lab::follow()?;
    }
    match &args.what {
        LabVerb::Up(up) => self::up(&lab, args, up, streams),
        LabVerb::Down => {
            let text = if lab.down()? { "down" } else { "no lab was up" };
            Ok(writeln!(streams.out, "{text}")?)
        }
        LabVerb::Probe(_)
        | LabVerb::Fail { .. }
        | LabVerb::Repair { .. }
        | LabVerb::Gap(_)
        | LabVerb::Run(_)
        | LabVerb::Master(_)
            if !args.inside =>
        {
            match lab.enter(&inside(call))? {
                0 => Ok(()),
                status => Err(CliError::Inside(u8::try_from(status).unwrap_or(1))),
            }
        }
        LabVerb::Probe(probe) => self::probe(&plant_of(&lab)?, probe, streams),
        LabVerb::Fail { fault } => {
            let (plant, fault) = (plant_of(&lab)?, fault.fault());
            faults::fault(&plant, &fault)?.carry_out(&frr(&plant)?, &lab.folder)?;
            let (kind, name) = (fault.kind(), fault.name());
            Ok(writeln!(streams.out, "{kind} {name}: done; railtwin lab repair {name} mends it")?)
        }
        LabVerb::Repair { what } => {
            let plant = plant_of(&lab)?;
            faults::repair(&plant, what)?.carry_out(&frr(&plant)?, &lab.folder)?;
            if plant.plan.switches.iter().any(|switch| switch.timers.bfd.is_some()) {
                std::thread::sleep(std::time::Duration::from_millis(500));
            }
            match routes_within(&plant, ROUTES_NS)? {
                Ok(seconds) => {
                    writeln!(streams.out, "{what}: repaired; all routes stand after {seconds:.2} s")?
                }
                Err(missing) => {
                    let text = "is anything else broken, or still on its way?";
                    writeln!(streams.out, "{what}: repaired; {missing} after 5 s: {text}")?;
                }
            }
            Ok(())
        }
        LabVerb::Master(master) => lab_run::master(&lab, &plant_of(&lab)?, master, streams),
        LabVerb::Check(check) => match check.part.as_deref().filter(|_| args.inside) {
            Some(part) => lab_check::inside(&lab, check, part, streams),
            None => lab_check::run(&lab, &args.name, check, streams),
        },
        LabVerb::Bond(bond) => lab_check::bond(bond, call, args.inside, streams),
        LabVerb::Lacp { words } => {
            let options = ResponderOptions::of_words(words)?;
            match railtwin_lab::bond::respond(&options, &mut |_| {})? {}
        }
        LabVerb::Run(run) => lab_run::run(&lab, &plant_of(&lab)?, run, streams),
        LabVerb::Gap(gap) => {
            let plant = plant_of(&lab)?;
            lab_gap::run(&plant, (&frr(&plant)?, &lab.folder), gap, streams)
        }
        LabVerb::Hold => match lab.hold(&plant_of(&lab)?)? {},
    }
}

/// The words of this call for the namespaces of the lab, without the program.
fn inside(call: &[OsString]) -> Vec<String> {
    let words = call.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    words.chain(["--inside".to_owned()]).collect()
}

fn probe(plant: &Plant, args: &ProbeArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let ends = railtwin_lab::probe::ends(plant, args.from.as_deref(), args.to.as_deref())?;
    let carrier = if args.udp { Carrier::Udp } else { Carrier::Tcp };
    let all = railtwin_lab::probe::probe(plant, ends, carrier, args.ports)?;
    let right = all.iter().filter(|one| one.is_right()).count();
    let names = |links: &[LinkId]| -> Vec<String> {
        let switches = links.iter().map(|&link| plant.fabric.target(link));
        switches
            .filter(|&device| plant.fabric.place(device).is_some())
            .map(|one| plant.fabric.device_name(one))
            .collect()
    };
    if args.json {
        let row = |one: &PortPath| {
            let (predicted, seen) = (names(&one.predicted), names(&one.seen));
            json!({ "port": one.port, "predicted": predicted, "seen": seen, "right": one.is_right() })
        };
        let rows: Vec<Value> = all.iter().map(row).collect();
        let data = json!({ "from": ends[0].node, "to": ends[1].node, "right": right, "ports": rows });
        return Ok(writeln!(streams.out, "{data:#}")?);
    }
    let mut paths: BTreeMap<Vec<String>, Vec<u16>> = BTreeMap::new();
    for one in &all {
        paths.entry(names(&one.seen)).or_default().push(one.port);
    }
    let mut table = TextTable::default();
    table.row(["path", "ports", "first", "wrong"].map(str::to_owned));
    for (path, ports) in &paths {
        let wrong = all.iter().filter(|one| ports.contains(&one.port) && !one.is_right()).count();
        let path = if path.is_empty() { "none".to_owned() } else { path.join(" ") };
        table.row([path, ports.len().to_string(), ports[0].to_string(), wrong.to_string()]);
    }
    let carrier = if args.udp { "UDP" } else { "TCP" };
    Ok(writeln!(
        streams.out,
        "{} to {}: {right} of {} source ports of {carrier} took the predicted path\n{}",
        ends[0].node,
        ends[1].node,
        all.len(),
        table.text().trim_end()
    )?)
}

fn up(lab: &Lab, args: &LabArgs, up: &UpArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let plant = plant(&up.what, &up.set, &up.config)?;
    if let Some(lack) = lacks() {
        return Err(CliError::Worker(format!("a lab cannot run here: {lack}")));
    }
    let site = site_of_lab(&up.what, &up.set, &up.config.words())?;
    let seconds = lab.up(&hold_words(&args.name), &site, false)?;
    let (switches, hosts) = (plant.plan.switches.len(), plant.plan.hosts.len());
    let cables = plant.cables.len();
    Ok(writeln!(
        streams.out,
        "{}: {switches} switches with FRR, {hosts} hosts, {cables} cables; all routes stand after {seconds:.2} s",
        plant.plan.fabric
    )?)
}
