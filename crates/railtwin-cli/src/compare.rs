//! `railtwin compare`: two run folders against each other, as tables and as a page with both.
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use railtwin::cost::files::{Reading, of_files};
use railtwin::headline::{Headline, of_scenarios};
use railtwin::report::page;
use railtwin_scenario::Scenario;
use railtwin_store::compare::{Comparison, FigureComparison, Side, TableComparison};
use railtwin_store::{RunFolder, RunInfo, Status, StoreError};
use serde_json::json;

use crate::compare_engines::{Engines, told_apart};
use crate::foreseen::goes_on;
use crate::report::{note_stand_in, payload, write_page};
use crate::table::TextTable;
use crate::{CliError, Streams, units};

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The run folder that is compared with
    #[arg(value_name = "RUN_A")]
    left: PathBuf,
    /// The run folder that is compared
    #[arg(value_name = "RUN_B")]
    right: PathBuf,
    /// Where the page with both runs goes; default compare-<a>-<b>.html in the current folder
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Only the figures of what ran, without those of the fabrics and without tables
    #[arg(long)]
    brief: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CompareArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&of_files(&[args.left.clone(), args.right.clone()], Reading::FOLDERS), streams)? {
        return Ok(());
    }
    let unreadable = |error: StoreError| CliError::unreadable(&error);
    let open = |path: &Path| {
        let folder = RunFolder::open(path)?;
        let info = folder.info()?;
        Ok((folder, info))
    };
    let (left, left_info) = open(&args.left).map_err(unreadable)?;
    let (right, right_info) = open(&args.right).map_err(unreadable)?;
    let comparison = railtwin_store::compare(&left, &right).map_err(unreadable)?;
    let infos = told_apart([&left_info, &right_info]);
    let infos = [&infos[0], &infos[1]];
    let engines = Engines::of([&left, &right], infos).map_err(unreadable)?;
    let scenarios = [scenario_of(&left), scenario_of(&right)];
    let scenarios = if let [Some(left), Some(right)] = &scenarios { Some([left, right]) } else { None };
    let headline = of_scenarios(infos[0], infos[1], scenarios);
    let text = both_on_a_page(args, infos, headline.as_ref(), streams)?;
    let path = match &text {
        Some(text) => {
            let path = args.report.clone().unwrap_or_else(|| default_path(&args.left, &args.right));
            write_page(&path, text)?;
            Some(path)
        }
        None => None,
    };
    if args.json {
        let mut value = serde_json::to_value(&comparison).expect("text and numbers are JSON");
        value["headline"] = json!(headline.as_ref().map(|headline| &headline.text));
        value["evidence"] = json!(headline.as_ref().map_or(&[][..], |headline| &headline.evidence));
        value["same_results"] = json!(comparison.same_results());
        value["report"] = json!(path);
        value["engines"] = json!(engines.as_ref().map(Engines::json));
        writeln!(streams.out, "{}", serde_json::to_string_pretty(&value).expect("a JSON value is text"))?;
    } else {
        let said = Said { headline: headline.as_ref(), engines: engines.as_ref(), page: path.as_deref() };
        write_text(&comparison, &said, args.brief, streams.out)?;
    }
    Ok(())
}

/// The scenario of a run folder; none where it cannot be read, as of another version.
fn scenario_of(folder: &RunFolder) -> Option<Scenario> {
    Scenario::parse("scenario.toml", &folder.scenario().ok()?).ok()
}

/// The page with both runs; none where a run has no report and no page was asked for.
fn both_on_a_page(
    args: &CompareArgs,
    infos: [&RunInfo; 2],
    headline: Option<&Headline>,
    streams: &mut Streams<'_>,
) -> Result<Option<String>, CliError> {
    let mut runs = Vec::new();
    for (folder, info) in [&args.left, &args.right].into_iter().zip(infos) {
        let payload = payload(folder)?;
        let is_weeks = payload.as_ref().is_some_and(|payload| payload.cluster.is_some());
        let Some(mut run) = payload.and_then(|payload| payload.runs.into_iter().next()) else {
            let (why, help) = match is_weeks {
                true => (
                    "is of weeks of jobs",
                    "leave --report away, or ask `railtwin cluster --policy A,B --report FILE`, whose page has several \
                     policies",
                ),
                false => (
                    "has no report.html",
                    "leave --report away, or run the scenario again: a run with jobs gets a report",
                ),
            };
            let message = format!("no page of both: {} {why}", folder.display());
            if args.report.is_some() {
                return Err(CliError::input(message, help));
            }
            writeln!(streams.notes, "{message}")?;
            return Ok(None);
        };
        run["name"] = json!(info.name);
        runs.push(run);
    }
    if let Some(headline) = headline {
        runs[1]["headline"] = json!(headline.text);
        runs[1]["evidence"] = json!(headline.evidence);
    }
    note_stand_in(streams)?;
    Ok(Some(page(&format!("{} and {}", infos[0].name, infos[1].name), &runs)))
}

fn default_path(left: &Path, right: &Path) -> PathBuf {
    let name = |path: &Path| {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        whole.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned())
    };
    PathBuf::from(format!("compare-{}-{}.html", name(left), name(right)))
}

/// What is said of both runs beside figures and tables.
struct Said<'a> {
    headline: Option<&'a Headline>,
    engines: Option<&'a Engines>,
    page: Option<&'a Path>,
}

fn write_text(
    comparison: &Comparison,
    said: &Said<'_>,
    brief: bool,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    for (letter, side) in [("A", &comparison.left), ("B", &comparison.right)] {
        writeln!(out, "{letter}  {}", side_text(side))?;
    }
    if let Some(engines) = said.engines {
        writeln!(out, "{}", engines.text())?;
    }
    if let Some(headline) = said.headline {
        writeln!(out, "{}", headline.text)?;
        for line in &headline.evidence {
            writeln!(out, "  {line}")?;
        }
    }
    let mut figures = TextTable::default();
    figures.row(["figure", "A", "B", "B - A", "(B - A) / A"].map(str::to_owned));
    let shown = comparison.figures.iter();
    let shown = shown.filter(|figure| !brief || railtwin::figures::is_of_run(&figure.name));
    // What one engine alone knows stands below what both say.
    let alone =
        |figure: &FigureComparison| said.engines.is_some() && figure.left.is_some() != figure.right.is_some();
    let (below, above): (Vec<_>, Vec<_>) = shown.partition(|figure| alone(figure));
    let links = said.engines.and_then(Engines::link_bytes);
    let rows: Vec<&FigureComparison> = above.into_iter().chain(&links).chain(below).collect();
    for figure in &rows {
        figures.row(figure_row(figure));
    }
    write!(out, "\n{}{}\n", figures.text(), reasons_text(&rows))?;
    if let Some(furthest) = said.engines.and_then(Engines::furthest_text) {
        writeln!(out, "{furthest}")?;
    }
    if !brief {
        write_tables(comparison, out)?;
    }
    if let Some(page) = said.page {
        writeln!(out, "report  {}", page.display())?;
    }
    Ok(())
}

fn write_tables(comparison: &Comparison, out: &mut dyn Write) -> Result<(), CliError> {
    let mut tables = TextTable::default();
    tables.row(["table", "rows in A", "rows in B", ""].map(str::to_owned));
    for table in &comparison.tables {
        tables.row(table_row(table));
    }
    match comparison.tables.is_empty() {
        true => writeln!(out, "neither run has tables")?,
        false => write!(out, "{}", tables.text())?,
    }
    if comparison.same_results() {
        writeln!(out, "all figures and tables are the same")?;
    }
    Ok(())
}

fn side_text(side: &Side) -> String {
    let state = match side.status {
        Status::Complete => String::new(),
        Status::Waiting | Status::Running => ", still running".to_owned(),
        Status::Interrupted => ", interrupted".to_owned(),
    };
    format!("{} {} ({} engine, railtwin {}{state})", side.name, side.run_id, side.engine, side.version)
}

fn figure_row(figure: &FigureComparison) -> [String; 5] {
    let unit = &figure.unit;
    let right_unit = figure.right_unit.as_ref().unwrap_or(unit);
    let cell = |value: Option<f64>, unit: &str, reason: &str| match value {
        Some(_) => units::shown(value, unit),
        None => units::missing(units::short(reason)),
    };
    [
        figure.name.clone(),
        cell(figure.left, unit, &figure.left_reason),
        cell(figure.right, right_unit, &figure.right_reason),
        match figure.difference {
            Some(0.0) | None if figure.same => "same".to_owned(),
            difference => units::shown(difference, unit),
        },
        figure.ratio.map_or_else(|| "–".to_owned(), |ratio| change(ratio - 1.0)),
    ]
}

/// A difference as part of what A has: with its sign, in percent.
fn change(part: f64) -> String {
    let sign = if part > 0.0 { "+" } else { "" };
    format!("{sign}{}", railtwin::headline::numbers::shown(part, "ratio"))
}

/// What the narrow cells of the table left out of why figures have no value, one line for each reason.
fn reasons_text(figures: &[&FigureComparison]) -> String {
    let side = |letter: &str, of: fn(&FigureComparison) -> &str| {
        units::reasons(letter, figures.iter().map(|figure| (figure.name.as_str(), of(figure))))
    };
    side("A", |figure| &figure.left_reason) + &side("B", |figure| &figure.right_reason)
}

fn table_row(table: &TableComparison) -> [String; 4] {
    let rows = |rows: Option<usize>| rows.map_or_else(|| "–".to_owned(), |rows| rows.to_string());
    let verdict = match (&table.difference, table.equal) {
        (_, true) => "equal".to_owned(),
        (Some(first), false) => {
            let place = first.row.map_or_else(|| "columns".to_owned(), |row| format!("row {row}"));
            format!("differ first in {place}, {}: {} | {}", first.column, first.left, first.right)
        }
        (None, false) => format!("only in {}", if table.rows_left.is_some() { "A" } else { "B" }),
    };
    [table.name.clone(), rows(table.rows_left), rows(table.rows_right), verdict]
}
