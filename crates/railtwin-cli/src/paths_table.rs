//! The table of `railtwin paths`: a row for each queue pair, as CSV or Parquet.
use std::io::Write;

use railtwin_control::paths::Path;
use railtwin_fabric::{Fabric, NONE};
use railtwin_records::{Column, Table};
use railtwin_store::parquet_write;

use crate::CliError;
use crate::paths_rows::Assigned;

const COLUMNS: [&str; 9] =
    ["job", "source", "target", "queue_pair", "port", "source_port", "landed_port", "path", "reason"];

/// The cables of a path, from the access cable of the source to that of the target.
fn path_text(fabric: &Fabric, path: &Path) -> String {
    let names: Vec<String> = path.links().iter().map(|link| fabric.cable_name(link.cable())).collect();
    names.join(">")
}

/// Writes the table as CSV; what a stranded queue pair lacks is empty.
pub(crate) fn csv_of(fabric: &Fabric, rows: &[Assigned<'_>], out: &mut dyn Write) -> Result<(), CliError> {
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => CliError::Write(error),
        other => CliError::Folder(format!("cannot write the table: {other:?}")),
    };
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS).map_err(failed)?;
    for row in rows {
        let or_empty = |text: Option<String>| text.unwrap_or_default();
        let record = [
            row.connection.job.clone(),
            fabric.device_name(row.connection.source.nic),
            fabric.device_name(row.connection.target),
            row.queue_pair.to_string(),
            row.connection.source.port.to_string(),
            or_empty(row.way.map(|way| way.source_port.to_string())),
            or_empty(row.way.map(|way| way.landed.to_string())),
            or_empty(row.way.map(|way| path_text(fabric, &way.path))),
            row.reason.to_owned(),
        ];
        writer.write_record(record).map_err(failed)?;
    }
    Ok(writer.flush()?)
}

/// The table as Parquet; `source_port` 0 and `landed_port` 4294967295 stand for none.
pub(crate) fn parquet_of(fabric: &Fabric, rows: &[Assigned<'_>]) -> Result<Vec<u8>, CliError> {
    let text = |name: &str, of: &dyn Fn(&Assigned<'_>) -> String| {
        let values: Vec<String> = rows.iter().map(of).collect();
        Column::coded(name, values.iter().map(String::as_str))
    };
    let number =
        |name: &str, of: &dyn Fn(&Assigned<'_>) -> u32| Column::u32(name, rows.iter().map(of).collect());
    let columns = vec![
        text(COLUMNS[0], &|row| row.connection.job.clone()),
        text(COLUMNS[1], &|row| fabric.device_name(row.connection.source.nic)),
        text(COLUMNS[2], &|row| fabric.device_name(row.connection.target)),
        number(COLUMNS[3], &|row| row.queue_pair),
        number(COLUMNS[4], &|row| row.connection.source.port),
        number(COLUMNS[5], &|row| row.way.map_or(0, |way| u32::from(way.source_port))),
        number(COLUMNS[6], &|row| row.way.map_or(NONE, |way| way.landed)),
        text(COLUMNS[7], &|row| row.way.map_or(String::new(), |way| path_text(fabric, &way.path))),
        text(COLUMNS[8], &|row| row.reason.to_owned()),
    ];
    parquet_write::encode(&Table::new("paths", columns)).map_err(|error| CliError::Folder(error.to_string()))
}
