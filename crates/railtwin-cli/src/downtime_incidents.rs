//! The incidents of `railtwin downtime`: a CSV, or a JSON list of objects with the same fields.
use std::collections::BTreeMap;
use std::path::Path;

use railtwin_reliability::downtime::{Booking, Incident, What, book};
use railtwin_reliability::failure_rates::Cause;
use railtwin_store::input::{self, Kind};
use serde_json::Value;

use crate::CliError;
use crate::downtime_text::{MOMENT, Moment};

/// Fields of an incident.
const FIELDS: [&str; 11] = [
    "job",
    "kind",
    "cause",
    "checkpoint",
    "failed",
    "detected",
    "isolated",
    "restarted",
    "lost",
    "job_start",
    "job_stop",
];
/// Kinds of incidents, with the times and shares that each needs.
const KINDS: [(&str, &[&str]); 4] = [
    ("crash", &["checkpoint", "failed", "detected", "isolated", "restarted"]),
    ("startup", &["failed", "isolated", "restarted"]),
    ("slow-communication", &["failed", "restarted", "lost"]),
    ("slow-other", &["failed", "restarted", "lost"]),
];
/// The job of rows that name none.
const DEFAULT_JOB: &str = "job-0";

/// A job with its account, in hours.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) booking: Booking,
}

/// One row as written: where it stands, and its fields that are not empty.
#[derive(Debug)]
struct Row {
    place: String,
    fields: BTreeMap<&'static str, String>,
}

/// Reads and books the incidents of a file, job by job in the order of their names. `hours` is how long each job was
/// watched, where the file does not say.
pub(crate) fn read(file: &str, hours: Option<f64>) -> Result<Vec<Job>, CliError> {
    let help = "name a .csv or .json file of incidents";
    let bytes = input::read(Path::new(file), Kind::Data)
        .map_err(|error| CliError::input(format!("cannot read {file}: {error}"), help))?;
    parse(file, &bytes, hours)
}

fn parse(file: &str, bytes: &[u8], hours: Option<f64>) -> Result<Vec<Job>, CliError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        CliError::input(format!("{file}:{line}: is no UTF-8 text"), "incidents are a CSV or JSON file")
    })?;
    let rows = if file.ends_with(".json") { json_rows(file, text)? } else { csv_rows(file, text)? };
    if rows.is_empty() {
        let help = "write a row for each crash; a job without crashes needs no account";
        return Err(CliError::input(format!("{file}: has no incident"), help));
    }
    let mut dated = None;
    let mut jobs: BTreeMap<String, Vec<Read>> = BTreeMap::new();
    for row in rows {
        let name = row.fields.get("job").map_or(DEFAULT_JOB, String::as_str).to_owned();
        jobs.entry(name).or_default().push(incident(row, &mut dated)?);
    }
    jobs.into_iter().map(|(name, rows)| job(file, name, &rows, hours)).collect()
}

/// An incident with its row, and when the row says that the job began and ended.
struct Read {
    row: Row,
    incident: Incident,
    start: Option<f64>,
    stop: Option<f64>,
}

impl Row {
    fn wrong(&self, field: &str, accepted: &str) -> CliError {
        let place = &self.place;
        match self.fields.get(field) {
            Some(value) => {
                CliError::input(format!("{place}: {field} cannot be {value:?}"), format!("write {accepted}"))
            }
            None => CliError::input(format!("{place}: {field} is missing"), format!("write {accepted}")),
        }
    }
}

fn incident(row: Row, dated: &mut Option<bool>) -> Result<Read, CliError> {
    let text = |field: &str| row.fields.get(field).map(String::as_str);
    let kind = text("kind").unwrap_or("crash");
    let Some((_, needed)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        return Err(row.wrong("kind", &format!("one of {}", KINDS.map(|(name, _)| name).join(", "))));
    };
    let is_slow = kind.starts_with("slow");
    let useless = |field: &&'static str| {
        let known = ["job", "kind", "job_start", "job_stop"].contains(field) || needed.contains(field);
        !known && (*field != "cause" || is_slow)
    };
    if let Some(field) = row.fields.keys().find(|field| useless(field)) {
        return Err(row.wrong(field, &format!("nothing there: kind {kind} has no {field}")));
    }
    let mut moment = |field: &str| -> Result<f64, CliError> {
        let moment = text(field).and_then(Moment::parse).ok_or_else(|| row.wrong(field, MOMENT))?;
        let is_date = matches!(moment, Moment::Date(_));
        match *dated.get_or_insert(is_date) == is_date {
            true => Ok(moment.hours()),
            false => Err(row.wrong(field, MOMENT)),
        }
    };
    let at = moment("failed")?;
    let restarted = moment("restarted")?;
    let cause = match text("cause") {
        None => Cause::Unknown,
        Some(name) => {
            let names = || row.wrong("cause", &format!("one of {}", Cause::names()));
            Cause::parse(name).ok_or_else(names)?
        }
    };
    let what = match kind {
        "crash" => What::Crash {
            checkpoint: moment("checkpoint")?,
            detected: moment("detected")?,
            isolated: moment("isolated")?,
            restarted,
            cause,
        },
        "startup" => What::Startup { isolated: moment("isolated")?, restarted, cause },
        _ => {
            let lost = text("lost").and_then(|text| text.parse().ok());
            let lost = lost.filter(|lost| (0.0..=1.0).contains(lost));
            let accepted = "the share of time that was lost, 0 to 1: 0.2 where steps took a quarter longer";
            let lost = lost.ok_or_else(|| row.wrong("lost", accepted))?;
            What::Slowdown { until: restarted, lost, communication: kind == "slow-communication" }
        }
    };
    let mut perhaps = |field| text(field).map(|_| moment(field)).transpose();
    let (start, stop) = (perhaps("job_start")?, perhaps("job_stop")?);
    Ok(Read { row, incident: Incident { at, what }, start, stop })
}

/// Books one job.
fn job(file: &str, name: String, rows: &[Read], hours: Option<f64>) -> Result<Job, CliError> {
    let incidents: Vec<Incident> = rows.iter().map(|read| read.incident.clone()).collect();
    let first = incidents.iter().map(|incident| match incident.what {
        What::Crash { checkpoint, .. } => checkpoint,
        _ => incident.at,
    });
    let told = rows.iter().filter_map(|read| read.start).reduce(f64::min);
    let start = told.unwrap_or_else(|| first.fold(f64::INFINITY, f64::min));
    let stop = match (hours, rows.iter().filter_map(|read| read.stop).reduce(f64::max)) {
        (Some(hours), _) => start + hours,
        (None, Some(stop)) if told.is_some() => stop,
        _ => {
            let message = format!("{file}: does not say how long {name} was watched");
            return Err(CliError::input(
                message,
                "write --hours, or job_start and job_stop in a row of the job",
            ));
        }
    };
    if stop <= start {
        let row = rows.iter().find(|read| read.stop == Some(stop)).unwrap_or(&rows[0]);
        return Err(row.row.wrong("job_stop", "a time after job_start"));
    }
    let booking = book(start, stop, &incidents).map_err(|error| {
        let row = &rows[error.index].row;
        let value = row.fields.get(error.field).map_or("", String::as_str);
        let message = format!("{}: {} cannot be {value:?}: it {}", row.place, error.field, error.problem);
        let help = "write checkpoint, failed, detected, isolated, restarted in the order of time, within the hours \
                    that the job was watched";
        CliError::input(message, help)
    })?;
    Ok(Job { name, booking })
}

fn known(name: &str) -> Option<&'static str> {
    FIELDS.into_iter().find(|field| *field == name)
}

fn unknown(place: &str, name: &str) -> CliError {
    CliError::input(format!("{place}: unknown field {name:?}"), format!("fields are {}", FIELDS.join(", ")))
}

fn csv_rows(file: &str, text: &str) -> Result<Vec<Row>, CliError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| malformed(file, &error))?.clone();
    // Errors quote the file: one of whose columns none is ours may be anybody's.
    if !header.iter().any(|name| known(name).is_some()) {
        let help = format!("columns are {}", FIELDS.join(", "));
        return Err(CliError::input(format!("{file}:1: none of the columns is of incidents"), help));
    }
    let mut names = Vec::new();
    for name in &header {
        let field = known(name).ok_or_else(|| unknown(&format!("{file}:1"), name))?;
        if names.contains(&field) {
            let message = format!("{file}:1: column {name} is there twice");
            return Err(CliError::input(message, "name each column once"));
        }
        names.push(field);
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed(file, &error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let filled = names.iter().zip(&record).filter(|(_, value)| !value.is_empty());
        let fields = filled.map(|(name, value)| (*name, value.to_owned())).collect();
        rows.push(Row { place: format!("{file}:{line}"), fields });
    }
    Ok(rows)
}

fn malformed(file: &str, error: &csv::Error) -> CliError {
    let line = error.position().map_or(1, csv::Position::line);
    let (message, help) = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let message = format!("{file}:{line}: has {len} fields, the first line has {expected_len}");
            (message, "write as many fields in every row; leave a field empty where it does not apply")
        }
        _ => (format!("{file}:{line}: {error}"), "incidents are a CSV file with a first line of names"),
    };
    CliError::input(message, help)
}

fn json_rows(file: &str, text: &str) -> Result<Vec<Row>, CliError> {
    let help = "incidents are a list of objects, such as [{ \"failed\": 12.5, … }]";
    let value: Value = serde_json::from_str(text)
        .map_err(|error| CliError::input(format!("{file}:{}: is no JSON: {error}", error.line()), help))?;
    let Value::Array(list) = value else {
        return Err(CliError::input(format!("{file}: is no list"), help));
    };
    let mut rows = Vec::new();
    for (index, one) in list.into_iter().enumerate() {
        let place = format!("{file}: incident {}", index + 1);
        let Value::Object(object) = one else {
            return Err(CliError::input(format!("{place}: is no object"), help));
        };
        if !object.is_empty() && !object.keys().any(|name| known(name).is_some()) {
            let help = format!("fields are {}", FIELDS.join(", "));
            return Err(CliError::input(format!("{place}: none of the fields is of incidents"), help));
        }
        let mut fields = BTreeMap::new();
        for (name, value) in object {
            let field = known(&name).ok_or_else(|| unknown(&place, &name))?;
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.trim().to_owned(),
                Value::Number(number) => number.to_string(),
                other => {
                    let message = format!("{place}: {field} cannot be {other}");
                    return Err(CliError::input(message, "write a text or a number"));
                }
            };
            if !text.is_empty() {
                fields.insert(field, text);
            }
        }
        rows.push(Row { place, fields });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = "job,cause,checkpoint,failed,detected,isolated,restarted\n";

    #[test]
    fn csv_and_json_of_the_same_incident_are_booked_alike() {
        let csv = parse("i.csv", format!("{HEAD}a,cuda,1,3,3.5,4,5\n").as_bytes(), Some(100.0)).unwrap();
        let json = r#"[{ "job": "a", "cause": "cuda", "checkpoint": 1, "failed": "3", "detected": 3.5,
                         "isolated": 4, "restarted": 5, "kind": null }]"#;
        let json = parse("i.json", json.as_bytes(), Some(100.0)).unwrap();
        assert_eq!((csv.len(), &csv[0].name, &csv[0].booking), (1, &json[0].name, &json[0].booking));
        assert_eq!(csv[0].booking.time.downtime(), 4.0);
    }

    #[test]
    fn wrong_files_are_named_by_line_field_and_value() {
        let message =
            |file: &str, text: &str, hours| parse(file, text.as_bytes(), hours).unwrap_err().to_string();
        let row = |row: &str| message("i.csv", &format!("{HEAD}{row}\n"), Some(10.0));
        assert_eq!(row("a,gpu,1,2,3,4,5"), "i.csv:2: cause cannot be \"gpu\"");
        assert_eq!(row("a,cuda,1,x,3,4,5"), "i.csv:2: failed cannot be \"x\"");
        assert_eq!(row("a,cuda,,2,3,4,5"), "i.csv:2: checkpoint is missing");
        assert_eq!(row("a,cuda,1,2,3,4,2023-06-01"), "i.csv:2: restarted cannot be \"2023-06-01\"");
        assert_eq!(row("a,cuda,1,4,3,4,5"), "i.csv:2: detected cannot be \"3\": it is before failed");
        let late = "i.csv:2: restarted cannot be \"50\": it is after the end of what was watched";
        assert_eq!(row("a,cuda,1,2,3,4,50"), late);
        assert_eq!(row("a,cuda"), "i.csv:2: has 2 fields, the first line has 7");
        assert_eq!(message("i.csv", HEAD, None), "i.csv: has no incident");
        assert_eq!(message("i.csv", "job,when\n", None), "i.csv:1: unknown field \"when\"");
        let unwatched = message("i.csv", &format!("{HEAD}a,cuda,1,2,3,4,5\n"), None);
        assert_eq!(unwatched, "i.csv: does not say how long a was watched");
        let slow = "kind,failed,restarted,lost,cause\nslow-other,1,2,0.5,cuda\n";
        assert_eq!(message("i.csv", slow, Some(9.0)), "i.csv:2: cause cannot be \"cuda\"");
        assert_eq!(message("i.json", "{}", None), "i.json: is no list");
        assert_eq!(message("i.json", "[1]", None), "i.json: incident 1: is no object");
        assert_eq!(message("i.json", "[{\"failed\": []}]", None), "i.json: incident 1: failed cannot be []");
    }

    proptest! {
        #[test]
        fn any_rows_parse_or_name_the_file(text in "[a-z0-9.,\"\n:TZ-]{0,120}", json in ".{0,60}") {
            for (file, text) in [("i.csv", format!("{HEAD}{text}")), ("i.json", json)] {
                if let Err(error) = parse(file, text.as_bytes(), Some(100.0)) {
                    prop_assert!(error.to_string().starts_with(file), "{error}");
                }
            }
        }
    }
}
