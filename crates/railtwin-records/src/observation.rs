//! How far a record goes: when observation began, when it ended, and what was known at every moment between.
//!
//! Rows of tables have times of the hosts that made them; what hangs makes no rows at all. So the moments at which
//! somebody looked are records themselves: without them nobody can tell a rank that stood still for a minute from one
//! whose last row is the last of the file.
use crate::table::{Column, ColumnData, Table};
use crate::telemetry::{Batch, NOT_YET};
use crate::telemetry_read::BadTable;

/// Name of the table.
pub const OBSERVATION: &str = "observation";

/// Tables whose rows a look counts, in the order of [`Look::rows`].
pub const OBSERVED: [&str; 4] = ["rank_operations", "messages", "counters", "probes"];

/// One moment at which all that had been told until then was taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// When, in nanoseconds on the clock of the controller.
    pub until_ns: u64,
    /// Rows of each of the tables [`OBSERVED`] that were known by then; none where the table no longer took any in.
    pub rows: [Option<u64>; 4],
}

/// All looks of a record: the first is its beginning, the last its end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Observation {
    /// In order of time.
    pub looks: Vec<Look>,
}

impl Observation {
    /// An observation that begins.
    pub fn from(begin_ns: u64) -> Self {
        Self { looks: vec![Look { until_ns: begin_ns, rows: [Some(0); 4] }] }
    }

    /// Adds a look at the records that are kept; `full` says which of the tables [`OBSERVED`] no longer take rows.
    pub fn look(&mut self, until_ns: u64, kept: &Batch, full: [bool; 4]) {
        let rows = rows_of(kept);
        let known = |table: usize| (!full[table]).then_some(rows[table]);
        self.looks.push(Look { until_ns, rows: [0, 1, 2, 3].map(known) });
    }

    /// Seconds from the first look to the last.
    pub fn seconds(&self) -> f64 {
        let ends = self.looks.first().zip(self.looks.last());
        ends.map_or(0.0, |(first, last)| last.until_ns.saturating_sub(first.until_ns) as f64 / 1e9)
    }

    /// The table `observation`. `source` says where the records come from.
    pub fn table(&self, source: &str) -> Table {
        let rows = |table: usize| {
            let values = self.looks.iter().map(|look| look.rows[table].unwrap_or(NOT_YET));
            Column::u64(OBSERVED[table], values.collect())
        };
        let mut columns =
            vec![Column::u64("until_ns", self.looks.iter().map(|look| look.until_ns).collect())];
        columns.extend((0..OBSERVED.len()).map(rows));
        columns.push(Column::coded("source", self.looks.iter().map(|_| source)));
        Table::new(OBSERVATION, columns)
    }

    /// Reads the table back, beside the records that it counts; `absent` names tables of which the records are not there:
    /// of those nothing was known at any time.
    ///
    /// # Errors
    /// [`BadTable`] for a column that is missing, times or counts that go back, and counts of rows that are not there.
    pub fn read(table: &Table, batch: &Batch, absent: &[&str]) -> Result<Self, BadTable> {
        let bad = |row, message| BadTable { table: table.name.clone(), row, message };
        let column = |name: &str| match table.column(name) {
            Some(ColumnData::U64(values)) => Ok(values),
            _ => Err(bad(None, format!("a column {name:?} of type u64 is needed"))),
        };
        let until_ns = column("until_ns")?;
        let mut counts = Vec::with_capacity(OBSERVED.len());
        for name in OBSERVED {
            counts.push(column(name)?);
        }
        let there = rows_of(batch);
        let mut observation = Self::default();
        for (row, &until_ns) in until_ns.iter().enumerate() {
            let rows = [0, 1, 2, 3].map(|table| match absent.contains(&OBSERVED[table]) {
                true => Some(0),
                false => Some(counts[table][row]).filter(|&count| count != NOT_YET),
            });
            let before = observation.looks.last().copied().unwrap_or_default();
            if until_ns < before.until_ns {
                return Err(bad(Some(row), format!("until_ns is {until_ns}, after {}", before.until_ns)));
            }
            for table in 0..OBSERVED.len() {
                let (Some(count), least) = (rows[table], before.rows[table].unwrap_or(0)) else { continue };
                if count < least || count > there[table] {
                    let message = format!(
                        "{} is {count}: from {least} to {} is accepted",
                        OBSERVED[table], there[table]
                    );
                    return Err(bad(Some(row), message));
                }
            }
            observation.looks.push(Look { until_ns, rows });
        }
        Ok(observation)
    }
}

fn rows_of(batch: &Batch) -> [u64; 4] {
    [batch.operations.len(), batch.messages.len(), batch.counters.len(), batch.probes.len()]
        .map(|rows| rows as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Counter;

    #[test]
    fn looks_come_back_as_they_went_and_wrong_counts_are_refused() {
        let mut kept = Batch::default();
        let mut observation = Observation::from(5);
        kept.operations.push(0, 0, 0, 0, 6, NOT_YET);
        observation.look(10, &kept, [false; 4]);
        kept.counters.push(30, 0, Counter::Drops, 1.0);
        // An hour in which nothing came is part of the record.
        observation.look(3_600_000_000_010, &kept, [false, true, false, false]);
        let table = observation.table("flow");
        assert_eq!(Observation::read(&table, &kept, &[]), Ok(observation.clone()));
        assert_eq!(observation.looks[2].rows, [Some(1), None, Some(1), Some(0)]);
        assert!((observation.seconds() - 3_600.000_000_005).abs() < 1e-9);
        let error = Observation::read(&table, &Batch::default(), &[]).unwrap_err().to_string();
        assert!(error.contains("table observation, row 1: rank_operations is 1: from 0 to 0"), "{error}");
        let mut back = observation.clone();
        back.looks[2].until_ns = 7;
        assert!(Observation::read(&back.table("flow"), &kept, &[]).is_err());
        let bare = Table::new(OBSERVATION, vec![Column::u64("until_ns", vec![1])]);
        assert!(Observation::read(&bare, &kept, &[]).unwrap_err().to_string().contains("rank_operations"));
    }
}
