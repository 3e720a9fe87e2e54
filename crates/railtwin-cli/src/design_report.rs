//! `railtwin design WHAT --report`: what the papers ask of a design, computed on its fabric.
use std::io::Write;
use std::path::Path;

use clap::Args;
use railtwin_fabric::Fabric;
use railtwin_fabric::cable_list::CableDesign;
use railtwin_fabric::clos::ClosSpec;
use railtwin_planning::facts::ingress::StepReads;
use railtwin_planning::page::render_report;
use railtwin_planning::report::{Limits, Section, sections};
use railtwin_scenario::Preset;
use railtwin_store::write_whole;
use railtwin_units::{Bytes, SimTime};
use serde_json::{Map, Value, json};

use crate::blueprint::of_list;
use crate::design_compare::spec_of;
use crate::design_intent::{IntentArgs, catalog, print_json};
use crate::export_site::site_of;
use crate::overwritten::refuse_input;
use crate::topology_files::is_blueprint;
use crate::{CliError, Streams};

/// Options of a report.
#[derive(Args, Default, Debug)]
pub struct ReportArgs {
    /// Also what the papers ask of a design: goals, price, losses, port budgets, search space, scale ladder, power, cooling,
    /// buildings, optics
    #[arg(long)]
    pub(crate) report: bool,
    /// Limit of a building's power in MW; default 18
    #[arg(long, value_name = "MW", requires = "report", value_parser = megawatts)]
    building: Option<f64>,
    /// Bytes that a GPU reads for a step, for the ingress of frontend racks
    #[arg(long, value_name = "BYTES", requires = "step", value_parser = |text: &str| text.parse::<Bytes>())]
    reads: Option<Bytes>,
    /// Time of that step
    #[arg(long, value_name = "TIME", requires = "reads", value_parser = |text: &str| text.parse::<SimTime>())]
    step: Option<SimTime>,
}

fn megawatts(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches("MW").trim().parse::<f64>().ok();
    number
        .filter(|megawatts| (0.001..=100_000.0).contains(megawatts))
        .ok_or_else(|| "write megawatts, such as 18".to_owned())
}

pub(crate) fn run(
    what: &str,
    settings: &[(&str, &str)],
    args: &ReportArgs,
    intent: &IntentArgs,
    as_json: bool,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    if let Some(page) = &intent.page {
        let parts = intent.parts.as_deref().unwrap_or(Path::new(what));
        refuse_input("--page", page, &[Path::new(what), parts])?;
    }
    let catalog = catalog(intent.parts.as_deref())?;
    let (fabric, spec) = design_of(what, settings)?;
    let limits = Limits {
        building_w: args.building.map_or(Limits::default().building_w, |megawatts| megawatts * 1e6),
        reads: args.reads.zip(args.step).map(|(bytes_per_gpu, step)| StepReads { bytes_per_gpu, step }),
        ..Limits::default()
    };
    let all = sections(&fabric, spec.as_ref(), &catalog, &limits);
    if let Some(path) = &intent.page {
        let html = render_report(what, &all);
        write_whole(path, html.as_bytes()).map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            CliError::input(message, "name a file in a folder that is there")
        })?;
        writeln!(streams.notes, "written to {}", path.display())?;
    }
    if as_json {
        let values: Map<String, Value> =
            all.iter().map(|section| (section.key.to_owned(), section.value.clone())).collect();
        return print_json(&json!({ "design": what, "report": values }), streams.out);
    }
    print_all(&all, streams.out)
}

fn print_all(all: &[Section], out: &mut dyn Write) -> Result<(), CliError> {
    for (row, section) in all.iter().enumerate() {
        if row > 0 {
            writeln!(out)?;
        }
        write!(out, "{}\n{}", section.title, section.text)?;
    }
    Ok(())
}

/// The fabric of a word, and its counts where it is built of some.
fn design_of(what: &str, settings: &[(&str, &str)]) -> Result<(Fabric, Option<ClosSpec>), CliError> {
    let is_built =
        Preset::NAMES.contains(&what) || (what.ends_with(".toml") && !is_blueprint(Path::new(what)));
    if is_built {
        let pairs: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let site = site_of(what, &pairs)?;
        return Ok((site.fabric, spec_of(what, settings).ok()));
    }
    let named = of_list(Path::new(what))?;
    if let Some((key, _)) = settings.iter().find(|(key, _)| *key != "rate") {
        let help = "write a scenario with preset = \"cables\", and the key under [fabric]";
        return Err(CliError::input(format!("--set {key}: the report of a file takes the rate alone"), help));
    }
    let rate = settings.first().and_then(|(_, value)| value.trim_matches('"').parse().ok());
    let built = named.list.fabric(&named.found, &CableDesign { rate, ..CableDesign::default() });
    let built = built.map_err(|error| CliError::refused(&format!("{what}: {error}")))?;
    Ok((built.fabric, None))
}
