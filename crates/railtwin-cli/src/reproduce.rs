//! `railtwin reproduce`: the figures of the papers beside ours.
use std::io::Write;
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use railtwin::reproduce::{Reproduced, reproduce};

use crate::table::TextTable;
use crate::{CliError, Streams};

/// Arguments of `reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// Ids of rows, such as QH24; all when none is given
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The papers' length instead of short windows
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(args: &ReproduceArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let start = Instant::now();
    let spinner = ProgressBar::new_spinner();
    let progress = |scenario: &str| {
        spinner.set_message(scenario.to_owned());
        spinner.tick();
    };
    let clock = || start.elapsed().as_secs_f64();
    let table =
        reproduce(&args.ids, args.full, &clock, &progress).map_err(|error| CliError::of(error, ""))?;
    spinner.finish_and_clear();
    if args.json {
        let text = serde_json::to_string_pretty(&table).expect("rows are JSON");
        return Ok(writeln!(streams.out, "{text}")?);
    }
    write_text(&table, streams.out)
}

fn write_text(table: &[Reproduced], out: &mut dyn Write) -> Result<(), CliError> {
    let mut text = TextTable::default();
    let head = ["id", "figure", "paper", "ours", "accepted", "", "kind", "seconds"];
    text.row(head.map(str::to_owned));
    for row in table {
        let number = |value: f64| number(value, row.paper);
        let bound = |bound: Option<f64>| bound.map_or("…".to_owned(), number);
        let met = match (row.met, &row.skipped) {
            (Some(true), _) => "met",
            (Some(false), _) => "MISSED",
            (None, Some(_)) => "skipped",
            (None, None) => "put in",
        };
        text.row([
            row.id.clone(),
            row.figure.clone(),
            number(row.paper),
            row.ours.map_or("–".to_owned(), number),
            format!("{} – {}", bound(row.low), bound(row.high)),
            met.to_owned(),
            format!("{:?}", row.kind).to_lowercase(),
            format!("{:.1}", row.seconds),
        ]);
    }
    write!(out, "{}", text.text())?;
    for row in table {
        if let Some(reason) = &row.skipped {
            writeln!(out, "{} {}: skipped, {reason}", row.id, row.figure)?;
        }
        if let Some(reason) = &row.reason {
            writeln!(out, "{} {}: –, {reason}", row.id, row.figure)?;
        }
    }
    let met = table.iter().filter(|row| row.met == Some(true)).count();
    let missed = table.iter().filter(|row| row.met == Some(false)).count();
    let skipped = table.iter().filter(|row| row.skipped.is_some()).count();
    let put_in = table.len() - met - missed - skipped;
    Ok(writeln!(out, "{met} met, {missed} missed, {put_in} put in, {skipped} skipped")?)
}

/// Up to four digits after the point; large numbers, and those beside a small one of the paper, with their exponent.
fn number(value: f64, paper: f64) -> String {
    let small = paper != 0.0 && paper.abs() < 0.02;
    match value.abs() {
        large if small || large >= 1e6 => format!("{value:.4e}"),
        _ => format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}
