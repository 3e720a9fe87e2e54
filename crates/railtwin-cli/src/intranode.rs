//! `railtwin intranode`: traffic inside hosts and between them, over loads.
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::Args;
use railtwin::Question;
use railtwin::intranode::{
    FILLS, Order, SHORT_OF, Told, answer, cost, is_growing, orders, page, part_words, regressions,
    saturations, told, unsettled, warnings,
};
use railtwin_store::Figure;

use crate::foreseen::{goes_on, unknown};
use crate::meter::Meter;
use crate::report::{note_stand_in, write_page};
use crate::table::TextTable;
use crate::units::shown;
use crate::{CliError, Streams, intranode_measured, intranode_regression};

/// Arguments of `intranode`.
#[derive(Args, Debug)]
pub struct IntranodeArgs {
    /// A scenario with [intranode]; all points of its sweep are run
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: PathBuf,
    /// Threads for each point; points run side by side where this is 1
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// Logs of perftest (ib_write_bw, ib_read_lat, …), or folders of them: the pair of hosts of the scenario beside what
    /// they measured, at their sizes
    #[arg(long, value_name = "LOG", num_args = 1..)]
    pub(crate) validate: Vec<PathBuf>,
    /// Fit what the logs tell of the pair (overhead, gap, tlp_overhead, unpack), or these keys alone
    #[arg(
        long,
        value_name = "KEY,…",
        num_args = 0..=1,
        default_missing_value = "",
        requires = "validate"
    )]
    pub(crate) fit: Option<String>,
    /// Fit throughput over the share of traffic that leaves hosts, as SAURON's equation 3 is fitted
    #[arg(long, conflicts_with = "validate")]
    regress: bool,
    /// Print all figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a sweep over loads as one page, which opens offline
    #[arg(long, value_name = "FILE", conflicts_with = "validate")]
    report: Option<PathBuf>,
}

pub(crate) fn run(args: &IntranodeArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let question = Question::read(&args.scenario).map_err(|error| CliError::of(error, ""))?;
    if !args.validate.is_empty() {
        unknown("`intranode --validate`")?;
        return intranode_measured::run(args, &question, streams);
    }
    let wrong = |error| CliError::of(error, &question.text);
    let points = question.points().map_err(wrong)?;
    let asked = question.intranode_points(&points, args.threads).map_err(wrong)?;
    for warning in warnings(&asked) {
        writeln!(streams.notes, "warning: {warning}")?;
    }
    let side_by_side = if args.threads == 1 { available_parallelism().map_or(1, usize::from) } else { 1 };
    if let Some(cost) = cost(&asked, side_by_side).map_err(wrong)?
        && !goes_on(&cost, streams)?
    {
        return Ok(());
    }
    let meter = Meter::new(asked.len() as u64, "points");
    let told = told(&asked, args.threads == 1, &|| meter.tick());
    meter.finish();
    if let Some(path) = &args.report {
        let described = points[0].scenario.description.clone().unwrap_or_default();
        let page = page(&asked, &described, &told).map_err(|error| CliError::of(error, ""))?;
        write_page(path, &page)?;
        note_stand_in(streams)?;
    }
    let first = &asked[0].1;
    let name = &first.name;
    let (saturations, orders) = (saturations(&told), orders(&told));
    let found = match args.regress {
        true => regressions(&asked, &told).map_err(|error| CliError::of(error, ""))?,
        false => Vec::new(),
    };
    if args.json {
        let all = answer(&asked, &told, args.regress.then_some(&found[..]));
        writeln!(streams.out, "{all:#}")?;
        return verdict(&told);
    }
    writeln!(streams.out, "{name}: {} GPUs\n", first.gpus)?;
    write!(streams.out, "{}{}", table(&told), missing(&told))?;
    if !saturations.is_empty() {
        writeln!(
            streams.out,
            "\nFirst load at which less than {:.0} % of the offer arrives:",
            100.0 * (1.0 - SHORT_OF)
        )?;
        for (label, load) in &saturations {
            let load = load.map_or("none".to_owned(), |load| format!("{load}"));
            writeln!(streams.out, "{}", [label_of(label), load].join("  ").trim_start())?;
        }
    }
    let young: Vec<String> = unsettled(&told).map(|point| label_of(&point.label)).collect();
    if let Some(first) = young.first() {
        writeln!(
            streams.out,
            "\nNot settled at {} of {} points ({}{}): more than {:.0} % of the offer came to stand in queues and buffers, or \
             latency differs between both halves of the window (marked ≥), or a message took longer than warm_up. A longer \
             intranode.duration and warm_up carry less there, and latency is higher; intranode.longest lengthens both there.",
            young.len(),
            told.len(),
            if first.is_empty() { "the one asked for" } else { first },
            if young.len() > 1 { ", …" } else { "" },
            100.0 * FILLS,
        )?;
    }
    write!(streams.out, "{}", shown_orders(&orders))?;
    for found in &found {
        write!(streams.out, "\n{}", intranode_regression::shown(found))?;
    }
    if let Some(path) = &args.report {
        writeln!(streams.out, "\nreport  {}", path.display())?;
    }
    verdict(&told)
}

/// Whether all is as the scenario expects; what is not stands with the label of its point where there are several.
fn verdict(told: &[Told]) -> Result<(), CliError> {
    let named = |one: &Told, words: &str| match one.label.is_empty() {
        true => words.to_owned(),
        false => format!("{}: {words}", label_of(&one.label)),
    };
    let missed: Vec<String> =
        told.iter().flat_map(|one| one.unexpected.iter().map(move |words| named(one, words))).collect();
    if missed.is_empty() { Ok(()) } else { Err(CliError::Unexpected(missed)) }
}

/// What was chosen on axes, in a line.
pub(crate) fn label_of(label: &[(String, String)]) -> String {
    let label: Vec<String> = label.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
    label.join(", ")
}

/// Which parts saturate, a line for each choice on which some do.
fn shown_orders(orders: &[Order]) -> String {
    let mut text = String::new();
    for order in orders.iter().filter(|order| !order.parts.is_empty()) {
        if text.is_empty() {
            text.push_str("\nParts in the order in which they saturate, with the first load at which a message waits longer ");
            text.push_str("there than a whole one takes at the least load:\n");
        }
        let parts: Vec<String> =
            order.parts.iter().map(|one| format!("{} {}", part_words(one.part), one.load)).collect();
        text.push_str([label_of(&order.label), parts.join(", ")].join("  ").trim_start());
        text.push('\n');
    }
    text
}

/// Columns of figures: name, heading.
const COLUMNS: [(&str, &str); 20] = [
    ("bandwidth", "bandwidth"),
    ("offered_rate", "offered"),
    ("intra_rate", "intra"),
    ("inter_rate", "inter"),
    ("to_units_rate", "to units"),
    ("from_units_rate", "from units"),
    ("carried_share", "carried"),
    ("refused_share", "refused"),
    ("intra_latency", "intra latency"),
    ("inter_latency", "inter latency"),
    ("to_units_latency", "latency to units"),
    ("from_units_latency", "from units"),
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
            let text = figure.map_or("–".to_owned(), cell);
            if is_growing(one, name) { format!("≥{text}") } else { text }
        });
        table.row(std::iter::once(row.to_string()).chain(labels).chain(cells));
    }
    table.text()
}

/// Why figures of points have no value, a line for each reason.
fn missing(told: &[Told]) -> String {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (row, one) in (1..).zip(told) {
        for figure in one.figures.iter().filter(|figure| !figure.reason.is_empty()) {
            let head = COLUMNS.iter().find(|(name, _)| *name == figure.name).map_or("", |(_, head)| head);
            if head.is_empty() {
                continue;
            }
            let what = format!("{head}: {}", figure.reason);
            match reasons.iter_mut().find(|(reason, _)| *reason == what) {
                Some((_, points)) => points.push(row.to_string()),
                None => reasons.push((what, vec![row.to_string()])),
            }
        }
    }
    let line =
        |(reason, points): (String, Vec<String>)| format!("– {reason} (point {})\n", points.join(", "));
    reasons.into_iter().map(line).collect()
}

fn cell(figure: &Figure) -> String {
    match (figure.unit.as_str(), figure.value) {
        // As perftest and the paper's table have it.
        ("bytes_per_s", Some(value)) if value >= 1e6 => format!("{:.3} GB/s", value * 1e-9),
        ("bytes_per_s", Some(value)) => format!("{value:.3} B/s"),
        (unit, value) => shown(value, unit),
    }
}
