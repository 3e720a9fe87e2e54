//! Rows of a CSV by the names of their columns, and the values in them.
use railtwin_units::SimTime;
use railtwin_units::decimal::{self, DecimalError};

use super::{GPUS_MAX, PS, Read};
use crate::error::FormatError;

/// Where the columns stand.
pub(super) struct Columns {
    places: Vec<(&'static str, Option<usize>)>,
}

/// A row and its line.
pub(super) struct Row<'a> {
    columns: &'a Columns,
    fields: Vec<&'a str>,
    pub(super) line: u64,
}

impl Columns {
    /// Finds `needed` columns, all of them, and `others` if they are there; letter case does not matter.
    pub(super) fn find(
        read: &Read<'_>,
        header: &[&str],
        needed: &[&'static str],
        others: &[&'static str],
    ) -> Result<Self, FormatError> {
        let place = |name: &str| header.iter().position(|field| field.eq_ignore_ascii_case(name));
        for name in needed {
            if place(name).is_none() {
                let accepted = format!("the first line names the columns; needed are {}", needed.join(", "));
                return Err(read.error(format!("has no column {name}"), accepted).at_line(1));
            }
        }
        for name in needed.iter().chain(others) {
            let places = header.iter().zip(1..).filter(|(field, _)| field.eq_ignore_ascii_case(name));
            let places: Vec<String> = places.map(|(_, place): (_, u32)| place.to_string()).collect();
            if places.len() > 1 {
                let problem = format!(
                    "has the column {name} {} times, as columns {}",
                    places.len(),
                    places.join(" and ")
                );
                return Err(read.error(problem, "leave all but one of them away").at_line(1));
            }
        }
        let all = needed.iter().chain(others);
        Ok(Self { places: all.map(|&name| (name, place(name))).collect() })
    }

    /// Whether the column is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.places.iter().any(|&(column, place)| column == name && place.is_some())
    }

    pub(super) fn row<'a>(&'a self, fields: Vec<&'a str>, line: u64) -> Row<'a> {
        Row { columns: self, fields, line }
    }
}

impl<'a> Row<'a> {
    /// What stands in a column, trimmed; empty where there is none.
    pub(super) fn get(&self, name: &str) -> &'a str {
        let place =
            self.columns.places.iter().find(|(column, _)| *column == name).and_then(|(_, place)| *place);
        place.and_then(|place| self.fields.get(place)).map_or("", |field| field.trim())
    }

    /// An error about a column of this row, with what stands there.
    pub(super) fn error(
        &self,
        read: &Read<'_>,
        name: &str,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> FormatError {
        let error = read.error(problem, accepted).at_line(self.line).field(format!("column {name}"));
        if self.get(name).is_empty() { error } else { error.found(self.get(name)) }
    }

    /// What stands in a column that must not be empty.
    pub(super) fn needed(&self, read: &Read<'_>, name: &str, accepted: &str) -> Result<&'a str, FormatError> {
        match self.get(name) {
            "" => Err(self.error(read, name, "is empty", accepted)),
            value => Ok(value),
        }
    }

    /// A whole number of GPUs, 0 included.
    pub(super) fn gpus(&self, read: &Read<'_>, name: &str) -> Result<u32, FormatError> {
        let accepted = format!("write a whole number up to {GPUS_MAX}");
        let gpus = self.needed(read, name, &accepted)?.parse::<u32>().ok().filter(|&gpus| gpus <= GPUS_MAX);
        gpus.ok_or_else(|| self.error(read, name, "is not a number of GPUs", accepted))
    }
}

/// Plain seconds with any count of decimals, to the nearest picosecond.
pub(super) fn plain_seconds(text: &str) -> Result<SimTime, DecimalError> {
    if text.starts_with('.') {
        return Err(DecimalError::Malformed);
    }
    decimal::scaled(text, PS).map(SimTime::from_ps)
}

/// Why a column holds no time, in words: what is malformed is not `what`.
pub(super) fn no_time(error: DecimalError, what: &str) -> String {
    match error {
        DecimalError::Malformed => format!("is not {what}"),
        DecimalError::BelowOne => "is below one picosecond".to_owned(),
        DecimalError::TooLarge => "is longer than 213 days".to_owned(),
    }
}

/// Every row of a CSV with its line; quotes as in RFC 4180.
pub(super) fn csv_rows(read: &Read<'_>, text: &str) -> Result<Vec<(u64, csv::StringRecord)>, FormatError> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(1, csv::Position::line);
            let error = match error.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => read
                    .error(format!("the row has {len} fields"), format!("the first line has {expected_len}")),
                _ => read.error("is not a row of comma-separated values", "write UTF-8 text"),
            };
            error.at_line(line)
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        rows.push((line, record));
    }
    Ok(rows)
}
