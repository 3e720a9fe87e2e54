//! `railtwin lab run`: the jobs of a scenario as real ranks, by balancer and draw.
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use railtwin::Question;
use railtwin_engine::Case;
use railtwin_lab::bandwidth::{Bench, Draw, LabJob, jobs_of};
use railtwin_lab::master::{LabBalancer, MasterSetting};
use railtwin_lab::{Lab, Plant};
use railtwin_units::SimTime;

use crate::table::TextTable;
use crate::{CliError, Streams};

/// Arguments of `lab run`.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The scenario, whose fabric is that of the lab; its jobs are all-reduces over rings with one rank a NIC
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Who chooses paths
    #[arg(long, value_name = "BALANCER", value_delimiter = ',', default_values = ["ecmp", "c4p", "disjoint"],
          value_parser = ["ecmp", "c4p", "disjoint"])]
    balancer: Vec<String>,
    /// Draws of each
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    draws: u32,
    /// Seconds of each draw
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// Silence links so many times in each draw of C4P, and say how soon they are left; with --probes
    #[arg(long, value_name = "COUNT", requires = "probes", hide = true)]
    avoid: Option<u32>,
    /// C4P probes all paths this often, such as "100 ms"
    #[arg(long, value_name = "TIME", value_parser = |text: &str| text.parse::<SimTime>())]
    probes: Option<SimTime>,
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

pub(crate) fn setting(case: &Case, balancer: LabBalancer, draw: u32) -> MasterSetting {
    MasterSetting {
        balancer,
        ecmp: case.routing.ecmp,
        draw: u64::from(draw),
        timeout: Duration::from_millis(100),
    }
}

pub(crate) fn run(
    lab: &Lab,
    plant: &Plant,
    args: &RunArgs,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut table = TextTable::default();
    table.row(["balancer", "draw", "mean", "jobs"].map(str::to_owned));
    for balancer in &args.balancer {
        let (case, jobs) = case_of(plant, &args.scenario, balancer)?;
        let bench = Bench::of(plant, &jobs, &lab.folder, args.seconds)?;
        for draw in 0..args.draws {
            let name = format!("{balancer}-{draw}");
            let setting = setting(&case, balancer_of(balancer, args.probes), draw);
            let Draw { busbw, .. } = bench.run(&name, &setting, |master| {
                if let Some(samples) = args.avoid {
                    for one in railtwin_lab::bandwidth::avoid(plant, master, samples)? {
                        println!("{} {} {:?}", plant.fabric.link_name(one.link), one.lanes, one.seconds);
                    }
                    for note in master.notes() { println!("{:?}", note); }
                }
                Ok(())
            })?;
            let mbit = |rate: &f64| format!("{:.0}", rate / 1e6);
            let all: Vec<String> = busbw.iter().map(mbit).collect();
            let mean = busbw.iter().sum::<f64>() / busbw.len().max(1) as f64;
            table.row([balancer.clone(), draw.to_string(), mbit(&mean), all.join(" ")]);
        }
    }
    Ok(write!(streams.out, "{}", table.text())?)
}
