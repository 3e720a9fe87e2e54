//! `railtwin intranode`: traffic inside hosts and between them, over loads.
use std::path::PathBuf;

use clap::Args;
use railtwin::Question;
use railtwin::intranode::{SHORT_OF, Told, saturations, told};
use railtwin_store::Figure;
use serde_json::json;

use crate::meter::Meter;
use crate::table::TextTable;
use crate::units::shown;
use crate::{CliError, Streams};

/// Arguments of `intranode`.
#[derive(Args, Debug)]
pub struct IntranodeArgs {
    /// A scenario with [intranode]; all points of its sweep are run
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Threads for each point; points run side by side where this is 1
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &IntranodeArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let question = Question::read(&args.scenario).map_err(|error| CliError::of(error, ""))?;
    let wrong = |error| CliError::of(error, &question.text);
    let points = question.points().map_err(wrong)?;
    let mut asked = Vec::with_capacity(points.len());
    for point in &points {
        asked.push((point.label.clone(), question.intranode(&point.scenario, args.threads).map_err(wrong)?));
    }
    let meter = Meter::new(asked.len() as u64);
    let told = told(&asked, args.threads == 1, &|| meter.tick());
    meter.finish();
    let first = &asked[0].1;
    let name = &first.name;
    let saturations = saturations(&told);
    if args.json {
        let saturations: Vec<_> =
            saturations.iter().map(|(label, load)| json!({ "label": label, "load": load })).collect();
        let all = json!({ "name": name, "points": told, "saturations": saturations });
        return Ok(writeln!(streams.out, "{all:#}")?);
    }
    writeln!(streams.out, "{name}: {} GPUs\n", first.gpus)?;
    write!(streams.out, "{}", table(&told))?;
    if !saturations.is_empty() {
        writeln!(
            streams.out,
            "\nFirst load at which less than {:.0} % of the offer arrives:",
            100.0 * (1.0 - SHORT_OF)
        )?;
        for (label, load) in &saturations {
            let label: Vec<String> = label.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
            let load = load.map_or("none".to_owned(), |load| format!("{load}"));
            writeln!(streams.out, "{}", [label.join(", "), load].join("  ").trim_start())?;
        }
    }
    Ok(())
}

/// Columns of figures: name, heading.
const COLUMNS: [(&str, &str); 16] = [
    ("bandwidth", "bandwidth"),
    ("offered_rate", "offered"),
    ("intra_rate", "intra"),
    ("inter_rate", "inter"),
    ("carried_share", "carried"),
    ("refused_share", "refused"),
    ("intra_latency", "intra latency"),
    ("inter_latency", "inter latency"),
    ("inter_latency_source_gpu", "source GPU"),
    ("inter_latency_source_intra", "source intra"),
    ("inter_latency_source_nic", "source NIC"),
    ("inter_latency_inter", "network"),
    ("inter_latency_target_nic", "target NIC"),
    ("inter_latency_target_intra", "target intra"),
    ("inter_latency_target_gpu", "target GPU"),
    ("inter_latency_longest", "longest"),
];

/// A line for each point, a column for each figure that some point has.
fn table(told: &[Told]) -> String {
    let columns: Vec<_> =
        COLUMNS.iter().filter(|(name, _)| told.iter().any(|one| one.value(name).is_some())).collect();
    let mut table = TextTable::default();
    let axes = told.first().map_or(&[][..], |one| &one.label);
    let heads = axes.iter().map(|(axis, _)| axis.rsplit('.').next().unwrap_or(axis).to_owned());
    let heads = heads.chain(columns.iter().map(|(_, head)| (*head).to_owned()));
    table.row(std::iter::once(if axes.is_empty() { "point".to_owned() } else { String::new() }).chain(heads));
    for (row, one) in (1..).zip(told) {
        let labels = one.label.iter().map(|(_, value)| value.clone());
        let cells = columns.iter().map(|(name, _)| {
            let figure = one.figures.iter().find(|figure| figure.name == *name);
            figure.map_or("–".to_owned(), cell)
        });
        table.row(std::iter::once(row.to_string()).chain(labels).chain(cells));
    }
    table.text()
}

fn cell(figure: &Figure) -> String {
    match (figure.unit.as_str(), figure.value) {
        // As perftest and the paper's table have it.
        ("bytes_per_s", Some(value)) => format!("{:.3} GB/s", value * 1e-9),
        (unit, value) => shown(value, unit),
    }
}
