//! `railtwin downtime --replay`: a recorded history of faults.
use std::path::Path;

use railtwin_reliability::downtime::history::{HISTORY_FORM, HistoryError, SHIPPED_HOSTS, read_history};
use railtwin_reliability::downtime::replay::{FaultEvent, Replay};
use railtwin_store::input::{self, Kind};
use serde_json::{Value, json};

use crate::CliError;
use crate::downtime_text::percent;
use crate::table::{TextTable, grouped};

/// Active and spare hosts of an HPN segment (C4, section III-A).
const SEGMENT: (u32, u32) = (128, 8);
/// Days of a row of the table over time.
const STRETCH: f64 = 30.0;

/// What the history comes to, as JSON and for people.
pub(crate) fn answer(
    file: Option<&str>,
    hours: Option<&str>,
    hosts: Option<&str>,
    availability: Option<&str>,
) -> Result<(Value, String), CliError> {
    if hours.is_some() {
        return Err(CliError::input("--hours does not go with --replay", "a history says its days itself"));
    }
    let help =
        "name a .json file with a list of events, such as data/failures/llm_cluster_faults_240_days.json";
    let file = file.ok_or_else(|| CliError::input("there is no history to replay", help))?;
    let wrong = |flag: &str, text: &str, accepted: &str| {
        CliError::input(format!("--{flag} cannot be {text:?}"), format!("write {accepted}"))
    };
    let hosts = match hosts {
        None => SHIPPED_HOSTS,
        Some(text) => {
            let count = text.parse().ok().filter(|count| (1..=10_000_000).contains(count));
            count.ok_or_else(|| wrong("hosts", text, "a whole number from 1 to 10,000,000"))?
        }
    };
    let asked = match availability {
        None => None,
        Some(text) => {
            let share = text.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
            Some(share.ok_or_else(|| wrong("availability", text, "a share between 0 and 1, such as 0.99"))?)
        }
    };
    let bytes = input::read(Path::new(file), Kind::Data)
        .map_err(|error| CliError::input(format!("cannot read {file}: {error}"), help))?;
    let events = events(file, &bytes)?;
    let replay = Replay::of(&events, hosts).map_err(|error| {
        let message = format!("{file}: event {}: {}", error.index + 1, error.problem);
        CliError::input(message, "--hosts says how many hosts there are; times are days from the start")
    })?;
    let shares: Vec<f64> = match asked {
        Some(share) => vec![share],
        None => vec![0.9, 0.99, 0.999],
    };
    let (active, spares) = SEGMENT;
    let run_out = replay.run_out(active, spares);
    let needed: Vec<Value> = shares
        .iter()
        .map(|&share| {
            let [recorded, poisson] = replay.spares(share);
            json!({ "share": share, "recorded": recorded, "poisson": poisson })
        })
        .collect();
    let notes = notes(&replay);
    let json = json!({
        "replay": replay,
        "notes": notes,
        "spares": needed,
        "segment": { "hosts": active, "spares": spares, "more_out_than_spares": run_out },
    });
    let notes: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
    let separator = if notes.is_empty() { "" } else { "\n" };
    Ok((json, format!("{}{separator}{notes}", text_of(&replay, &shares, run_out))))
}

/// What a reader should know of a record that does not begin and end with all hosts in service.
fn notes(replay: &Replay) -> Vec<String> {
    let mut notes = Vec::new();
    let mut tell = |count: u32, one: &str, many: &str, what: &str| {
        if count > 0 {
            notes.push(format!(
                "{} {what}",
                if count == 1 { one.to_owned() } else { format!("{count} {many}") }
            ));
        }
    };
    tell(
        replay.carried,
        "1 fault ends and does not begin:",
        "faults end and do not begin:",
        "taken to last from day 0, the start of the history, and counted neither among those that began nor in times of repair",
    );
    tell(
        replay.open,
        "1 fault does not end:",
        "faults do not end:",
        "taken to last until the last event of the history",
    );
    tell(
        replay.repeated,
        "1 fault begins again before it ends, and ends once:",
        "faults begin again before they end, and end once:",
        "taken for the same fault",
    );
    tell(replay.unordered, "1 event stands", "events stand", "behind a later one: put in order of time");
    notes
}

/// The events of a file.
fn events(file: &str, bytes: &[u8]) -> Result<Vec<FaultEvent>, CliError> {
    read_history(bytes).map_err(|error| {
        let message = match &error {
            HistoryError::Json { line, problem } => format!("{file}:{line}: is no JSON: {problem}"),
            _ => format!("{file}: {error}"),
        };
        CliError::input(message, HISTORY_FORM)
    })
}

fn text_of(replay: &Replay, shares: &[f64], run_out: f64) -> String {
    let mut facts = TextTable::default();
    let mut row = |name: &str, value: String| facts.row([name.to_owned(), value]);
    row(
        "hosts",
        format!("{}, of which {} had faults", grouped(replay.hosts), grouped(replay.hosts_with_faults)),
    );
    row("days", format!("{:.1}", replay.days));
    let before = match replay.carried {
        0 => String::new(),
        carried => format!(" and {carried} from before the start"),
    };
    row("faults", format!("{}{before}, of which {} did not end", grouped(replay.faults), replay.open));
    row("hosts out", format!("{:.2} on average, {} at most", replay.out_mean, replay.out_most));
    row("host-days in service", percent(replay.availability));
    for &share in shares {
        let [recorded, poisson] = replay.spares(share);
        let name = format!("spares for {} % of the time", share * 100.0);
        row(&name, format!("{recorded} as recorded, {poisson} by Poisson"));
    }
    let (active, spares) = SEGMENT;
    row(&format!("more than {spares} of {} out", active + spares), format!("{run_out:.3e} (binomial)"));
    let mut classes = TextTable::default();
    let head = ["class", "faults", "days between", "host-days between", "median days", "mean days"];
    classes.row(head.map(str::to_owned));
    for class in &replay.classes {
        let days = |days: Option<f64>| days.map_or("-".to_owned(), |days| format!("{days:.2}"));
        classes.row([
            class.class.clone(),
            grouped(class.faults),
            days(class.mtbf_days),
            class.mtbf_host_days.map_or("-".to_owned(), |days| format!("{days:.0}")),
            days(class.repair_days_median),
            days(class.repair_days_mean),
        ]);
    }
    format!("{}\n{}\n{}", facts.text(), over_time(replay).text(), classes.text())
}

/// Hosts out in stretches of thirty days.
fn over_time(replay: &Replay) -> TextTable {
    let mut table = TextTable::default();
    table.row(["days", "hosts out", "most"].map(str::to_owned));
    let count = (replay.days / STRETCH).ceil() as u32;
    for stretch in 0..count.min(1000) {
        let from = f64::from(stretch) * STRETCH;
        let until = (from + STRETCH).min(replay.days);
        let (mut sum, mut most) = (0.0, 0);
        for (index, &(begin, out)) in replay.out.iter().enumerate() {
            let end = replay.out.get(index + 1).map_or(replay.days, |next| next.0);
            let within = end.min(until) - begin.max(from);
            if within > 0.0 {
                sum += within * f64::from(out);
                most = most.max(out);
            }
        }
        let mean = if until > from { sum / (until - from) } else { 0.0 };
        table.row([format!("{from:.0} – {until:.0}"), format!("{mean:.2}"), most.to_string()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_history_is_named_by_its_file() {
        let message = |text: &str| events("h.json", text.as_bytes()).unwrap_err().to_string();
        assert_eq!(message("[{}]"), "h.json: event 1: node_id is missing");
        assert!(message("[\n").starts_with("h.json:2: is no JSON"));
    }
}
