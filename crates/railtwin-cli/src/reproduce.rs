//! `railtwin reproduce`: the figures of the papers beside ours.
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use railtwin_evaluation::reproduce::cost::cost;
use railtwin_evaluation::reproduce::{
    AgreedTable, Reproduced, accepted, add_robustness, asked_ids, keys, markdown, number, reproduce_where,
    totals,
};

use crate::foreseen::goes_on;
use crate::meter::cpu_seconds;
use crate::table::TextTable;
use crate::{CliError, Streams};

/// What is said of a figure that was agreed on.
const GONE: &str = "none of the table any more";

/// Arguments of `reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// Ids of rows, such as QH24, or ranges, such as QX01-QX15; all when none is given
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print the table as docs/reference/reproduction.md has it
    #[arg(long)]
    markdown: bool,
    /// The papers' length instead of short windows
    #[arg(long, conflicts_with = "agreed")]
    full: bool,
    /// Run each row for other reasonable values of what is fitted, too, and say in how many it stays met
    #[arg(long)]
    robustness: bool,
    /// Hold figures against those of a file, to the last printed digit; others end with status 1
    #[arg(long, value_name = "FILE")]
    agreed: Option<PathBuf>,
    /// Write figures and keys of slow cases into that file instead; seconds are then CPU seconds
    #[arg(long, requires = "agreed")]
    update: bool,
    /// Run only quick cases and cases whose key changed; --robustness then sweeps only cases with a new key and rows that changed
    #[arg(long, requires = "update", conflicts_with = "ids")]
    stale: bool,
    /// Run nothing and write the present keys: only if no result can have changed, such as after a move of files
    #[arg(long, requires = "agreed", conflicts_with_all = ["ids", "update"])]
    rekey: bool,
}

pub(crate) fn run(args: &ReproduceArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if let Some(path) = args.agreed.as_deref().filter(|_| args.rekey) {
        return rekey(path, streams);
    }
    if let Some(path) = args.agreed.as_deref().filter(|_| args.update) {
        check_place(path)?;
    }
    let ids = asked_ids(&args.ids).map_err(|error| CliError::of(error, ""))?;
    let agreed = args.agreed.as_deref().map(|path| read(path, args.update)).transpose()?;
    let known = agreed.clone().unwrap_or_default();
    let stale = if args.stale { known.stale(&keys_now()?) } else { BTreeSet::new() };
    let keep = |row: &Reproduced| !args.stale || !known.is_keyed(row) || stale.contains(&row.scenario);
    let cores = available_parallelism().map_or(1, usize::from);
    if !goes_on(&cost(&ids, &keep, args.full, cores).map_err(|error| CliError::of(error, ""))?, streams)? {
        return Ok(());
    }
    let start = Instant::now();
    let spinner = ProgressBar::new_spinner();
    let progress = |scenario: &str| {
        spinner.set_message(scenario.to_owned());
        spinner.tick();
    };
    // A busy machine must not decide which cases tests run.
    let clock = || cpu_seconds().filter(|_| args.update).unwrap_or_else(|| start.elapsed().as_secs_f64());
    let mut table = reproduce_where(&ids, &keep, args.full, &clock, &progress)
        .map_err(|error| CliError::of(error, ""))?;
    if args.robustness {
        let swept = |row: &Reproduced| {
            !args.stale
                || stale.contains(&row.scenario)
                || !known.changes(std::slice::from_ref(row)).is_empty()
        };
        add_robustness(&mut table, &swept, &progress).map_err(|error| CliError::of(error, ""))?;
    }
    spinner.finish_and_clear();
    if args.json {
        let text = serde_json::to_string_pretty(&table).expect("rows are JSON");
        writeln!(streams.out, "{text}")?;
    } else if args.markdown {
        let mut now = AgreedTable::default();
        now.take(&table);
        write!(streams.out, "{}", markdown(&table, &now))?;
    } else {
        write_text(&table, streams.out)?;
    }
    match (agreed, &args.agreed) {
        (Some(_), Some(path)) if args.update => update(path, &table, streams),
        (Some(agreed), _) => {
            let gone = agreed.gone(&ids).into_iter().map(|name| format!("{name}: {GONE}"));
            let changes: Vec<String> = agreed.changes(&table).into_iter().chain(gone).collect();
            if changes.is_empty() { Ok(()) } else { Err(CliError::Unexpected(changes)) }
        }
        (None, _) => Ok(()),
    }
}

fn keys_now() -> Result<BTreeMap<String, String>, CliError> {
    keys().map_err(|error| CliError::of(error, ""))
}

/// Writes the present keys of the keyed cases into the file, and reports how many changed.
fn rekey(path: &Path, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let (mut agreed, now) = (read(path, false)?, keys_now()?);
    let count = agreed.stale(&now).len();
    agreed.rekey(&now);
    write_agreed(path, &agreed)?;
    Ok(writeln!(streams.notes, "{count} keys changed; nothing ran")?)
}

/// Writes figures into the file, beside those that others wrote while these came out.
fn update(path: &Path, table: &[Reproduced], streams: &mut Streams<'_>) -> Result<(), CliError> {
    let mut agreed = read(path, true)?;
    let (changes, gone) = (agreed.changes(table), agreed.gone(&[]));
    agreed.take(table);
    agreed.take_keys(table, &keys_now()?);
    write_agreed(path, &agreed)?;
    changes.iter().try_for_each(|line| writeln!(streams.notes, "{line}"))?;
    gone.iter().try_for_each(|name| writeln!(streams.notes, "{name}: {GONE}, left out"))?;
    Ok(())
}

fn write_agreed(path: &Path, agreed: &AgreedTable) -> Result<(), CliError> {
    railtwin_store::write_whole(path, agreed.text().as_bytes())
        .map_err(|error| CliError::Folder(format!("cannot write {}: {error}", path.display())))
}

/// Refuses a place where no file can be written, before runs that take hours.
fn check_place(path: &Path) -> Result<(), CliError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let problem = match path.metadata() {
        Ok(there) if there.is_dir() => "is a folder",
        Ok(there) if !there.is_file() => "is a device or pipe",
        _ if folder.is_some_and(|folder| !folder.is_dir()) => "there is no such folder",
        _ => return Ok(()),
    };
    let message = format!("--agreed {}: {problem}", path.display());
    Err(CliError::input(message, "name a file in a folder that is there"))
}

/// The agreed figures; none yet where they are to be written.
fn read(path: &Path, update: bool) -> Result<AgreedTable, CliError> {
    let shown = path.display();
    let text = match std::fs::read_to_string(path) {
        Err(error) if update && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(AgreedTable::default());
        }
        Err(error) => {
            let help = "name a file that `--update` wrote, such as golden/reproduction.tsv";
            return Err(CliError::input(format!("cannot read {shown}: {error}"), help));
        }
        Ok(text) => text,
    };
    AgreedTable::read(&text).map_err(|problem| CliError::refused(&format!("{shown}: {problem}")))
}

fn write_text(table: &[Reproduced], out: &mut dyn Write) -> Result<(), CliError> {
    let mut text = TextTable::default();
    let robust = table.iter().any(|row| row.robust.is_some());
    let head = ["id", "figure", "paper", "ours", "accepted", "", "kind", "seconds"];
    let stays = robust.then(|| "stays met".to_owned());
    text.row(head.map(str::to_owned).into_iter().chain(stays));
    for row in table {
        let number = |value: f64| number(value, row.paper);
        let cells = [
            row.id.clone(),
            row.figure.clone(),
            number(row.paper),
            row.ours.map_or("–".to_owned(), number),
            accepted(row),
            row.outcome().to_owned(),
            format!("{:?}", row.kind).to_lowercase(),
            format!("{:.1}", row.seconds),
        ];
        let stays =
            robust.then(|| row.robust.map_or("–".to_owned(), |of| format!("{} of {}", of.met, of.of)));
        text.row(cells.into_iter().chain(stays));
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
    let outcomes: Vec<&str> = table.iter().map(Reproduced::outcome).collect();
    Ok(writeln!(out, "{}", totals(&outcomes))?)
}
