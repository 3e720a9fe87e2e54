//! `railtwin lab run`: the jobs of a scenario as real ranks, by balancer and draw.
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use railtwin::Question;
use railtwin_engine::Case;
use railtwin_formats::switch_config::PlanOptions;
use railtwin_lab::bandwidth::{LabJob, jobs_of};
use railtwin_lab::check::{CheckPlan, draws};
use railtwin_lab::master::{LabBalancer, MasterSetting, serve};
use railtwin_lab::page::{BandwidthDraw, LabReport, render};
use railtwin_lab::{Lab, LabError, Plant, now_ns};
use railtwin_store::write_whole;
use railtwin_units::SimTime;

use crate::lab_site::{refuse_page, sizes};
use crate::table::TextTable;
use crate::{CliError, Streams};

/// Arguments of `lab run`.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The scenario, whose fabric is that of the lab; its jobs are all-reduces over rings with one rank a NIC
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Balancer that chooses the paths
    #[arg(long, value_name = "BALANCER", value_delimiter = ',', default_values = ["ecmp", "c4p", "disjoint"],
          value_parser = ["ecmp", "c4p", "disjoint"])]
    balancer: Vec<String>,
    /// Draws of each
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    draws: u32,
    /// Seconds of each draw
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = crate::lab_gap::seconds)]
    seconds: f64,
    /// Write a page with the draws beside the simulation
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Arguments of `lab master`.
#[derive(Args, Debug)]
pub(crate) struct MasterArgs {
    /// The socket that ranks connect to (`[paths] socket` of a job file)
    #[arg(value_name = "SOCKET")]
    socket: PathBuf,
    /// Balancer that chooses the paths
    #[arg(long, value_name = "BALANCER", default_value = "c4p", value_parser = ["ecmp", "c4p", "disjoint"])]
    balancer: String,
    /// C4P probes all paths this often, such as "100 ms"
    #[arg(long, value_name = "TIME", value_parser = period)]
    probes: Option<SimTime>,
    /// Seconds to serve; default for ever
    #[arg(long, value_name = "SECONDS", value_parser = crate::lab_gap::seconds)]
    seconds: Option<f64>,
}

/// Serves ranks, and tells what it hears and does.
pub(crate) fn master(
    _lab: &Lab,
    plant: &Plant,
    args: &MasterArgs,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let setting = MasterSetting {
        balancer: balancer_of(&args.balancer, args.probes),
        ecmp: PlanOptions::default().ecmp,
        draw: 0,
        timeout: Duration::from_millis(100),
    };
    if args.probes.is_some() && args.balancer != "c4p" {
        let message = format!("--probes: {} does not probe", args.balancer);
        return Err(CliError::input(message, "leave it out, or write --balancer c4p"));
    }
    let begin = now_ns();
    let mut told = 0;
    let served = serve(plant, &setting, &args.socket, |master| {
        loop {
            let notes = master.notes();
            for note in &notes[told..] {
                let seconds = (note.at_ns - begin) as f64 / 1e9;
                let failed = |error: std::io::Error| LabError(error.to_string());
                writeln!(streams.out, "{seconds:9.3} s  {}", note.text(plant)).map_err(failed)?;
                streams.out.flush().map_err(failed)?;
            }
            told = notes.len();
            if !master.is_running() {
                // Its error is told by the call that serves.
                return Ok(());
            }
            if args.seconds.is_some_and(|seconds| (now_ns() - begin) as f64 / 1e9 > seconds) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    Ok(served?)
}

/// Capacity of a link beyond which two processors no longer forward what the links would carry, Mbit/s.
const MBIT_MAX: u64 = 400;

/// A period of probes.
fn period(text: &str) -> Result<SimTime, String> {
    let time: SimTime = text.parse().map_err(|error| format!("{error}"))?;
    match time >= SimTime::from_ns(10_000_000) {
        true => Ok(time),
        false => Err(format!("{text} is too short for surveys of real packets: write 10 ms or more")),
    }
}

pub(crate) fn balancer_of(name: &str, probes: Option<SimTime>) -> LabBalancer {
    match name {
        "c4p" => LabBalancer::C4p(probes),
        "disjoint" => LabBalancer::Disjoint,
        _ => LabBalancer::Ecmp,
    }
}

/// The case of a scenario under a balancer, and its jobs in a lab.
pub(crate) fn case_of(
    plant: &Plant,
    scenario: &Path,
    balancer: &str,
) -> Result<(Case, Vec<LabJob>), CliError> {
    let question = Question::read(scenario).map_err(|error| CliError::of(error, ""))?;
    let wrong = |error| CliError::of(error, &question.text);
    let mut points = question.points().map_err(wrong)?;
    let shown = scenario.display();
    let at = points.iter().position(|point| point.scenario.routing.balancer.name() == balancer).unwrap_or(0);
    if points.is_empty() {
        return Err(CliError::input(format!("{shown} has no point"), "write a scenario with jobs"));
    }
    let mut point = points.swap_remove(at);
    if let Some(named) = railtwin_scenario::Balancer::named(balancer) {
        point.scenario.routing.balancer = named;
    }
    let resolved = question.resolve(&point.scenario).map_err(wrong)?;
    let case = resolved.case;
    if *case.fabric != plant.fabric {
        let message = format!("{shown}: its fabric is not that of the lab");
        return Err(CliError::input(message, format!("railtwin lab down, then railtwin lab up {shown}")));
    }
    let jobs = jobs_of(plant, &case)?;
    Ok((case, jobs))
}

pub(crate) fn run(
    lab: &Lab,
    plant: &Plant,
    args: &RunArgs,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    if let Some(path) = &args.page {
        refuse_page(path)?;
    }
    if plant.cables.iter().any(|cable| cable.mbit > MBIT_MAX) {
        let text = "the processors of this host may be the limit and not the links";
        writeln!(streams.notes, "note: links carry more than {MBIT_MAX} Mbps: {text}")?;
    }
    let plan = CheckPlan { draws: args.draws, seconds: args.seconds, silenced: 0 };
    let mut all: Vec<BandwidthDraw> = Vec::new();
    for balancer in &args.balancer {
        let (case, jobs) = case_of(plant, &args.scenario, balancer)?;
        if !case.faults.is_empty() || case.work.jobs.iter().any(|job| job.start > SimTime::ZERO) {
            let text = "faults, starts and steps of the scenario are not followed: all jobs run all the time";
            writeln!(streams.notes, "note: {text}")?;
        }
        all.extend(draws(plant, &lab.folder, (balancer, &case, &jobs), plan)?);
    }
    if let Some(path) = &args.page {
        let report = LabReport {
            fabric: plant.plan.fabric.clone(),
            sizes: sizes(plant),
            bandwidth: all.clone(),
            ..LabReport::default()
        };
        write_whole(path, render(&report).as_bytes()).map_err(|error| CliError::Folder(error.to_string()))?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&all).map_err(|error| LabError(error.to_string()))?;
        return Ok(writeln!(streams.out, "{text}")?);
    }
    let mbit = |rate: f64| format!("{:.0}", rate / 1e6);
    let list = |rates: &[f64]| rates.iter().map(|&rate| mbit(rate)).collect::<Vec<_>>().join(" ");
    let mut table = TextTable::default();
    let head =
        ["balancer", "draw", "Mbit/s", "simulated", "difference", "jobs", "simulated", "on the fullest link"];
    table.row(head.map(str::to_owned));
    for one in &all {
        let percent =
            one.ratio().map_or_else(String::new, |ratio| format!("{:+.1} %", 100.0 * (ratio - 1.0)));
        table.row([
            one.balancer.clone(),
            one.draw.to_string(),
            one.measured_mean().map_or_else(String::new, mbit),
            one.simulated_mean().map_or_else(String::new, mbit),
            percent,
            list(&one.measured),
            list(&one.simulated),
            one.most_on_a_link.to_string(),
        ]);
    }
    Ok(write!(streams.out, "{}", table.text())?)
}
