//! The table of `railtwin paths`: a row for each queue pair, as CSV or Parquet.
use std::io::Write;

use railtwin::queue_pairs::{Demand, QueuePair};
use railtwin_fabric::{Fabric, NONE};
use railtwin_records::{Column, Table};
use railtwin_store::parquet_write;

use crate::CliError;

const COLUMNS: [&str; 10] = [
    "job",
    "source",
    "target",
    "index",
    "queue_pair",
    "port",
    "source_port",
    "landed_port",
    "path",
    "reason",
];

/// Queue pairs with all that their rows name.
pub(crate) struct Planned<'a> {
    pub(crate) fabric: &'a Fabric,
    /// Names of jobs by number.
    pub(crate) jobs: &'a [&'a str],
    pub(crate) demands: &'a [Demand],
    pub(crate) queue_pairs: &'a [QueuePair],
}

impl Planned<'_> {
    fn job(&self, row: &QueuePair) -> String {
        self.jobs[self.demands[row.demand as usize].job as usize].to_owned()
    }

    fn source(&self, row: &QueuePair) -> String {
        self.fabric.device_name(self.demands[row.demand as usize].source)
    }

    fn target(&self, row: &QueuePair) -> String {
        self.fabric.device_name(self.demands[row.demand as usize].target)
    }

    /// The cables of a path, from the access cable of the source to that of the target.
    fn path(&self, row: &QueuePair) -> String {
        let names: Vec<String> = row.links.iter().map(|link| self.fabric.cable_name(link.cable())).collect();
        names.join(">")
    }
}

/// Writes the table as CSV; what a stranded queue pair lacks is empty.
pub(crate) fn csv_of(planned: &Planned<'_>, out: &mut dyn Write) -> Result<(), CliError> {
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => CliError::Write(error),
        other => CliError::Folder(format!("cannot write the table: {other:?}")),
    };
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS).map_err(failed)?;
    for row in planned.queue_pairs {
        let of_path = |text: String| if row.links.is_empty() { String::new() } else { text };
        let record = [
            planned.job(row),
            planned.source(row),
            planned.target(row),
            row.index.to_string(),
            row.number.to_string(),
            row.port.to_string(),
            of_path(row.source_port.to_string()),
            of_path(row.landed_port.to_string()),
            planned.path(row),
            row.reason.to_owned(),
        ];
        writer.write_record(record).map_err(failed)?;
    }
    Ok(writer.flush()?)
}

/// The table as Parquet; `source_port` 0 and `landed_port` 4294967295 stand for none.
pub(crate) fn parquet_of(planned: &Planned<'_>) -> Result<Vec<u8>, CliError> {
    let rows = planned.queue_pairs;
    let text = |name: &str, of: &dyn Fn(&QueuePair) -> String| {
        let values: Vec<String> = rows.iter().map(of).collect();
        Column::coded(name, values.iter().map(String::as_str))
    };
    let number =
        |name: &str, of: &dyn Fn(&QueuePair) -> u32| Column::u32(name, rows.iter().map(of).collect());
    let of_path = |row: &QueuePair, value: u32, none: u32| if row.links.is_empty() { none } else { value };
    let columns = vec![
        text(COLUMNS[0], &|row| planned.job(row)),
        text(COLUMNS[1], &|row| planned.source(row)),
        text(COLUMNS[2], &|row| planned.target(row)),
        number(COLUMNS[3], &|row| row.index),
        number(COLUMNS[4], &|row| row.number),
        number(COLUMNS[5], &|row| row.port),
        number(COLUMNS[6], &|row| of_path(row, u32::from(row.source_port), 0)),
        number(COLUMNS[7], &|row| of_path(row, row.landed_port, NONE)),
        text(COLUMNS[8], &|row| planned.path(row)),
        text(COLUMNS[9], &|row| row.reason.to_owned()),
    ];
    parquet_write::encode(&Table::new("paths", columns)).map_err(|error| CliError::Folder(error.to_string()))
}
