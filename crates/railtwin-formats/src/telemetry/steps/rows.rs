//! Rows of a table, from values between commas or from a JSON object in each line.
use std::borrow::Cow;

use serde_json::Value;

use crate::error::FormatError;
use crate::telemetry::input;
use crate::telemetry::log_time::{LogTime, before};

const CSV: &str = "CSV of steps";
const JSON: &str = "JSON lines of steps";
/// Most keys of JSON lines that are columns: a program that makes up a key for each step tells no table.
const KEYS_MAX: usize = 4096;
/// Objects within objects that are looked into.
const DEPTH_MAX: usize = 4;
/// What stands between values.
const BETWEEN: u8 = b',';

/// A table: its name in errors, the names of its columns, and its rows, one by one.
pub(super) struct Rows<'a> {
    pub format: &'static str,
    pub names: Vec<String>,
    text: Cow<'a, str>,
    delimiter: u8,
}

/// What stands between values: what the head has most of.
fn delimiter(head: &str) -> u8 {
    let count = |sign: char| head.matches(sign).count();
    [(';', b';'), ('\t', b'\t'), (',', b',')]
        .into_iter()
        .max_by_key(|(sign, _)| count(*sign))
        .map_or(BETWEEN, |of| of.1)
}

/// Names in the first line of a table.
pub(super) fn head_of(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .delimiter(delimiter(line))
        .from_reader(line.as_bytes());
    let first = reader.records().next().and_then(Result::ok);
    let name = |name: &str| name.trim_start_matches('\u{feff}').trim_start_matches('#').trim().to_owned();
    first.map(|row| row.iter().map(name).collect()).unwrap_or_default()
}

/// Keys and values of an object, those of objects within it behind a slash.
fn flat(
    object: &serde_json::Map<String, Value>,
    before: &str,
    depth: usize,
    take: &mut dyn FnMut(String, String),
) {
    for (key, value) in object {
        let name = if before.is_empty() { key.clone() } else { format!("{before}/{key}") };
        match value {
            Value::Object(within) if depth < DEPTH_MAX => flat(within, &name, depth + 1, take),
            Value::String(text) => take(name, text.clone()),
            Value::Number(number) => take(name, number.to_string()),
            _ => {}
        }
    }
}

/// The object of a line, behind what a program puts before it, such as `DLLL`.
fn object(line: &str) -> Option<serde_json::Map<String, Value>> {
    let at = line.find('{')?;
    match serde_json::from_str(line.get(at..)?.trim_end()) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Names of the columns of JSON lines in order of their first sight.
pub(super) fn keys<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let (mut names, mut known) = (Vec::new(), std::collections::BTreeSet::new());
    for object in lines.filter_map(object) {
        flat(&object, "", 0, &mut |name, _| {
            if names.len() < KEYS_MAX && known.insert(name.clone()) {
                names.push(name);
            }
        });
    }
    names
}

impl<'a> Rows<'a> {
    /// Those of a table between commas, tabs or semicolons.
    pub(super) fn of_csv(source_name: &str, bytes: &'a [u8]) -> Result<Self, FormatError> {
        let text = input::lossy(CSV, source_name, bytes)?;
        let first = text.lines().next().unwrap_or_default();
        let (names, delimiter) = (head_of(first), delimiter(first));
        Ok(Self { format: CSV, names, text, delimiter })
    }

    /// Those of JSON lines: a key is a column, one of an object within an object behind a slash.
    pub(super) fn of_json(source_name: &str, bytes: &'a [u8]) -> Result<Self, FormatError> {
        let text = input::lossy(JSON, source_name, bytes)?;
        let names = keys(text.lines());
        Ok(Self { format: JSON, names, text, delimiter: BETWEEN })
    }

    pub(super) fn is_json(&self) -> bool {
        self.format == JSON
    }

    /// Rows with their lines, counted from 1; none for a line that is no row. Empty lines are passed over.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (u64, Option<csv::StringRecord>)> + '_> {
        if self.is_json() {
            let at: std::collections::BTreeMap<&str, usize> =
                self.names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
            let lines = (1_u64..).zip(self.text.lines()).filter(|(_, line)| !line.trim().is_empty());
            return Box::new(lines.map(move |(number, line)| {
                let row = object(line).map(|object| {
                    let mut row = vec![String::new(); at.len()];
                    flat(&object, "", 0, &mut |name, value| {
                        if let Some(&column) = at.get(name.as_str()) {
                            row[column] = value;
                        }
                    });
                    csv::StringRecord::from(row)
                });
                (number, row)
            }));
        }
        let reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .delimiter(self.delimiter)
            .from_reader(self.text.as_bytes());
        Box::new((2_u64..).zip(reader.into_records().map(Result::ok)))
    }

    /// A number; a comma for its point where it does not part values.
    pub(super) fn number(&self, text: &str) -> Option<f64> {
        let text = text.trim();
        let plain = text.parse::<f64>().ok();
        plain.or_else(|| text.replace(',', ".").parse().ok().filter(|_| self.delimiter != b','))
    }

    /// A time in seconds: a number of which `unit` are one, `1:02:03.5` (`1 day, 1:02:03`), or a date with its time.
    pub(super) fn seconds(&self, text: &str, unit: f64) -> Option<f64> {
        self.number(text).map(|value| value / unit).or_else(|| duration(text)).or_else(|| date(text))
    }
}

/// `1:02:03.5` with days before it as Python writes them.
fn duration(text: &str) -> Option<f64> {
    let (days, clock) = match text.split_once(',') {
        Some((days, clock)) => {
            let days = days.trim().strip_suffix("days").or_else(|| days.trim().strip_suffix("day"))?;
            (days.trim().parse::<u32>().ok()?, clock)
        }
        None => (0, text),
    };
    let parts: Vec<&str> = clock.trim().split(':').collect();
    let [hours, minutes, seconds] = parts[..] else { return None };
    let whole = |text: &str| text.parse::<u32>().ok().map(f64::from);
    let seconds = seconds.parse::<f64>().ok().filter(|seconds| (0.0..60.0).contains(seconds))?;
    let minutes = whole(minutes).filter(|minutes| *minutes < 60.0)?;
    Some(86_400.0 * f64::from(days) + 3600.0 * whole(hours)? + 60.0 * minutes + seconds)
}

/// Seconds since 1970 of a date with its time.
fn date(text: &str) -> Option<f64> {
    if !(text.contains(':') && text.contains('-')) {
        return None;
    }
    match before(text).time {
        Some(LogTime::At(ns)) => Some(ns as f64 / 1e9),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_durations_or_dates() {
        let rows = Rows::of_csv("a", b"step,time\n").expect("a table");
        let seconds = |text: &str, unit| rows.seconds(text, unit);
        assert_eq!(seconds("1500", 1e3), Some(1.5));
        assert_eq!(seconds("0:01:09", 1e3), Some(69.0));
        assert_eq!(seconds("1 day, 1:55:25.5", 1.0), Some(86_400.0 + 6925.5));
        let dates = ["2026-11-24 10:11:12.5", "2026-11-24T10:11:10.25Z"].map(|text| seconds(text, 1.0));
        assert!(
            matches!(dates, [Some(later), Some(before)] if (later - before - 2.25).abs() < 1e-6),
            "{dates:?}"
        );
        for text in ["", "x", "1:2", "1:99:00", "a:b:c", "2026-11-24", "-1:00:00", "1 day"] {
            assert_eq!(seconds(text, 1.0), None, "{text}");
        }
    }
}
