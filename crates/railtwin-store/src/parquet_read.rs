//! A Parquet file of ours as a table again: exact types, or one error that says what is wrong.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parquet::basic::Repetition;
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::FileMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use railtwin_records::{Column, SCHEMA, Table};

use crate::columns::{Growing, Kind, Shape};
use crate::error::StoreError;
use crate::input;
use crate::parquet_write::{SCHEMA_KEY, TABLE_KEY, types};
use crate::seal;

/// Our own tables may be so many times larger in memory than what is read of a file.
const TABLE_FACTOR: u64 = 4;
/// Bytes that a value takes in memory.
const VALUE_BYTES: u64 = 8;
/// Text of so many rows is held as separate values while it is coded.
const TEXT_BATCH_ROWS: usize = 1 << 16;

/// The table in the bytes of a file that [`crate::parquet_write`] wrote; `path` is named in errors.
///
/// Text columns come with their dictionary in order of first use.
///
/// # Errors
/// [`StoreError::CorruptTable`] for bytes that are damaged or not ours, [`StoreError::NewerSchema`] for a file
/// of a newer railtwin.
pub fn decode(path: &Path, bytes: Vec<u8>) -> Result<Table, StoreError> {
    let corrupt = |what: String| StoreError::CorruptTable { path: path.to_owned(), what };
    seal::verify(&bytes).map_err(corrupt)?;
    // Bytes that another program sealed may still lead the decoder astray, which here and there panics.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode_sealed(path, bytes)));
    decoded
        .unwrap_or_else(|_| Err(corrupt("cannot be decoded: its lengths contradict each other".to_owned())))
}

/// The table in the file at `path`.
///
/// # Errors
/// Those of [`decode`], and [`StoreError::Io`] when the file cannot be read.
pub fn read(path: &Path) -> Result<Table, StoreError> {
    let bytes = input::read(path, input::Kind::Data).map_err(StoreError::io(path, "read the table"))?;
    decode(path, bytes)
}

/// Refuses row groups that would take more than `limit` bytes in memory: a value that repeats takes none in the file.
pub(crate) fn check_size(rows: impl Iterator<Item = i64>, columns: usize, limit: u64) -> Result<(), String> {
    let rows = rows.map(|rows| u64::try_from(rows).unwrap_or(u64::MAX)).fold(0, u64::saturating_add);
    let bytes = rows.saturating_mul(columns as u64).saturating_mul(VALUE_BYTES);
    if bytes <= limit {
        return Ok(());
    }
    let variable = input::LIMIT_VARIABLE;
    Err(format!(
        "its {rows} rows of {columns} columns take more than {limit} bytes, the most that is unpacked \
         (--input-limit or {variable} sets another)"
    ))
}

fn decode_sealed(path: &Path, bytes: Vec<u8>) -> Result<Table, StoreError> {
    let reading = Reading { path: path.to_owned() };
    let file = SerializedFileReader::new(Bytes::from(bytes)).map_err(|problem| reading.parquet(&problem))?;
    let metadata = file.metadata().file_metadata();
    let name = reading.table_name(metadata)?;
    let shape = reading.shape(metadata)?;
    let rows = (0..file.num_row_groups()).map(|index| file.metadata().row_group(index).num_rows());
    check_size(rows, shape.0.len(), input::limit(input::Kind::Data).saturating_mul(TABLE_FACTOR))
        .map_err(|what| reading.corrupt(what))?;
    let mut columns: Vec<Growing> = shape.0.iter().map(|(_, kind)| Growing::new(*kind)).collect();
    for index in 0..file.num_row_groups() {
        let group = file.get_row_group(index).map_err(|problem| reading.parquet(&problem))?;
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| reading.corrupt(format!("row group {index} has a negative number of rows")))?;
        for (at, growing) in columns.iter_mut().enumerate() {
            reading.extend(growing, group.as_ref(), at, rows)?;
        }
    }
    let names = shape.0.into_iter().map(|(name, _)| name);
    let column = |(name, growing): (String, Growing)| Column { name, data: growing.finish() };
    Ok(Table::new(&name, names.zip(columns).map(column).collect()))
}

/// Knows the file whose name stands in errors.
struct Reading {
    path: PathBuf,
}

impl Reading {
    fn corrupt(&self, what: String) -> StoreError {
        StoreError::CorruptTable { path: self.path.clone(), what }
    }

    fn parquet(&self, problem: &ParquetError) -> StoreError {
        self.corrupt(format!("cannot be decoded: {problem}"))
    }

    /// The table's name, after a look at the schema version.
    fn table_name(&self, metadata: &FileMetaData) -> Result<String, StoreError> {
        let value = |key: &str| {
            let entries = metadata.key_value_metadata()?;
            entries.iter().find(|entry| entry.key == key)?.value.as_deref()
        };
        let schema = value(SCHEMA_KEY).unwrap_or("nothing");
        let found: u32 = schema
            .parse()
            .map_err(|_| self.corrupt(format!("{SCHEMA_KEY} is `{schema}` and not a version such as 1")))?;
        if found > SCHEMA {
            return Err(StoreError::NewerSchema { path: self.path.clone(), found, known: SCHEMA });
        }
        let name = value(TABLE_KEY).map(str::to_owned);
        name.ok_or_else(|| self.corrupt(format!("its metadata has no {TABLE_KEY}")))
    }

    fn shape(&self, metadata: &FileMetaData) -> Result<Shape, StoreError> {
        let columns = metadata.schema_descr().columns().iter();
        let shape = columns.map(|column| Ok((column.name().to_owned(), self.kind(column)?)));
        shape.collect::<Result<_, _>>().map(Shape)
    }

    fn kind(&self, column: &ColumnDescriptor) -> Result<Kind, StoreError> {
        let found = (column.physical_type(), column.logical_type_ref().cloned());
        let flat = column.path().parts().len() == 1;
        let required = column.self_type().get_basic_info().repetition() == Repetition::REQUIRED;
        let kinds = [Kind::U64, Kind::U32, Kind::F64, Kind::Text];
        let kind = kinds.into_iter().find(|kind| types(*kind) == found).filter(|_| flat && required);
        kind.ok_or_else(|| {
            let name = column.path().string();
            self.corrupt(format!(
                "column `{name}` is {found:?}; accepted are required unsigned INT64 and INT32, DOUBLE, and text"
            ))
        })
    }

    /// Adds one column of one row group.
    fn extend(
        &self,
        growing: &mut Growing,
        group: &dyn RowGroupReader,
        at: usize,
        rows: usize,
    ) -> Result<(), StoreError> {
        let fail = |problem: ParquetError| self.parquet(&problem);
        let mut done = 0;
        match (group.get_column_reader(at).map_err(fail)?, growing) {
            (ColumnReader::Int64ColumnReader(mut reader), Growing::U64(values)) => {
                let mut read = Vec::new();
                done = reader.read_records(rows, None, None, &mut read).map_err(fail)?.0;
                values.extend(read.into_iter().map(i64::cast_unsigned));
            }
            (ColumnReader::Int32ColumnReader(mut reader), Growing::U32(values)) => {
                let mut read = Vec::new();
                done = reader.read_records(rows, None, None, &mut read).map_err(fail)?.0;
                values.extend(read.into_iter().map(i32::cast_unsigned));
            }
            (ColumnReader::DoubleColumnReader(mut reader), Growing::F64(values)) => {
                done = reader.read_records(rows, None, None, values).map_err(fail)?.0;
            }
            (ColumnReader::ByteArrayColumnReader(mut reader), Growing::Text { coder, codes }) => {
                let mut read = Vec::new();
                while done < rows {
                    read.clear();
                    let wanted = TEXT_BATCH_ROWS.min(rows - done);
                    let count = reader.read_records(wanted, None, None, &mut read).map_err(fail)?.0;
                    if count == 0 {
                        break;
                    }
                    for text in &read {
                        let code = coder.code(text.data());
                        codes.push(
                            code.map_err(|problem| self.corrupt(format!("text is not UTF-8: {problem}")))?,
                        );
                    }
                    done += count;
                }
            }
            _ => return Err(self.corrupt(format!("column {at} is not of the type that its schema says"))),
        }
        if done != rows {
            return Err(
                self.corrupt(format!("column {at} ends after {done} of {rows} rows of its row group"))
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::parquet_write::encode;

    fn table() -> Table {
        let rows = 0..300_u32;
        let jobs: Vec<_> = rows.clone().map(|row| format!("job-{}", row % 7)).collect();
        let columns = vec![
            Column::u32("step", rows.clone().collect()),
            Column::u64("start_ps", rows.clone().map(|row| u64::from(row) << 40).collect()),
            Column::f64("utilization", rows.map(|row| f64::from(row) / 300.0).collect()),
            Column::coded("job", jobs.iter().map(String::as_str)),
        ];
        Table::new("steps", columns)
    }

    /// Bytes of a table with a change and a seal that fits it again, as another program could make them.
    fn forged(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = encode(&table()).expect("a good table");
        let key = seal::KEY.as_bytes();
        let at = bytes.windows(key.len()).rposition(|window| window == key).expect("sealed") + key.len() + 2;
        bytes.splice(at..at + seal::OPEN.len(), seal::OPEN.bytes());
        change(&mut bytes);
        let mut file = Cursor::new(bytes);
        // A change that hides the place of the seal leaves it open, which is refused as well.
        let _ = seal::seal(&mut file);
        file.into_inner()
    }

    fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
        let at = bytes.windows(from.len()).rposition(|window| window == from).expect("there");
        bytes[at..at + to.len()].copy_from_slice(to);
    }

    /// Without the guard some of these changes unwind into the caller.
    #[test]
    fn forged_bytes_give_an_error_or_a_table() {
        let length = encode(&table()).expect("a good table").len();
        let mut refused = 0;
        for at in 0..length {
            for change in [2, 128] {
                match decode(Path::new("steps.parquet"), forged(|bytes| bytes[at] ^= change)) {
                    Ok(_) => {}
                    Err(StoreError::CorruptTable { .. } | StoreError::NewerSchema { .. }) => refused += 1,
                    Err(error) => panic!("byte {at} by {change}: {error}"),
                }
            }
        }
        assert!(refused > length / 2, "{refused} refused");
    }

    #[test]
    fn a_table_of_a_newer_railtwin_is_refused() {
        let bytes = forged(|bytes| replace(bytes, b"railtwin.schema\x18\x011", b"railtwin.schema\x18\x019"));
        let error = decode(Path::new("steps.parquet"), bytes).expect_err("newer");
        assert!(matches!(error, StoreError::NewerSchema { found: 9, .. }), "{error}");
    }

    #[test]
    fn a_schema_that_is_no_number_is_told() {
        let bytes = forged(|bytes| replace(bytes, b"railtwin.schema\x18\x011", b"railtwin.schema\x18\x01x"));
        let error = decode(Path::new("steps.parquet"), bytes).expect_err("no version").to_string();
        assert!(error.contains("steps.parquet: railtwin.schema is `x`"), "{error}");
    }
}
