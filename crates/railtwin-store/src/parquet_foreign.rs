//! Parquet files of other programs as tables: flat columns of whole numbers, floats and text.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bytes::Bytes;
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use railtwin_records::{Column, Table};

use crate::error::StoreError;
use crate::input::{self, Kind};
use crate::parquet_read::check_size;

/// Most rows that are read; more is another kind of file than what is imported.
const ROWS_MAX: i64 = 1 << 31;

/// The table in the bytes of a Parquet file that another program wrote; `path` is named in errors, and its stem is the
/// name of the table.
///
/// Columns of INT32 and INT64 become whole numbers, or floats when a value is negative; FLOAT and DOUBLE become floats,
/// BYTE_ARRAY text. Codecs are those that the workspace builds in: none and Snappy.
///
/// # Errors
/// [`StoreError::ForeignTable`] for bytes that are damaged, nested columns, columns of other types, absent values, and
/// files of more than 2^31 rows.
pub fn decode_foreign(path: &Path, bytes: Vec<u8>) -> Result<Table, StoreError> {
    let corrupt = |what: String| StoreError::ForeignTable { path: path.to_owned(), what };
    // Bytes of other programs may lead the decoder astray, which here and there panics.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(path, bytes)));
    match decoded {
        Ok(decoded) => decoded.map_err(corrupt),
        Err(_) => Err(corrupt("cannot be decoded: its lengths contradict each other".to_owned())),
    }
}

/// The table in the file at `path`, as [`decode_foreign`] reads it.
///
/// # Errors
/// Those of [`decode_foreign`], and [`StoreError::Io`] when the file cannot be read.
pub fn read_foreign(path: &Path) -> Result<Table, StoreError> {
    let bytes = input::read(path, Kind::Data).map_err(StoreError::io(path, "read the table"))?;
    decode_foreign(path, bytes)
}

fn decode(path: &Path, bytes: Vec<u8>) -> Result<Table, String> {
    let told = |problem: &ParquetError| format!("cannot be decoded: {}", words(problem));
    let file = SerializedFileReader::new(Bytes::from(bytes)).map_err(|problem| told(&problem))?;
    let metadata = file.metadata().file_metadata();
    let rows = metadata.num_rows();
    if !(0..=ROWS_MAX).contains(&rows) {
        return Err(format!("has {rows} rows; accepted are up to {ROWS_MAX}"));
    }
    let groups = (0..file.num_row_groups()).map(|index| file.metadata().row_group(index).num_rows());
    check_size(groups, metadata.schema_descr().num_columns(), input::limit(Kind::Data))?;
    let mut columns = Vec::new();
    for (at, column) in metadata.schema_descr().columns().iter().enumerate() {
        let name = column.path().string();
        if column.path().parts().len() != 1 || column.max_rep_level() > 0 {
            return Err(format!("column `{name}` is nested; accepted are flat columns"));
        }
        let mut values = Values::Empty;
        for index in 0..file.num_row_groups() {
            let group = file.get_row_group(index).map_err(|problem| told(&problem))?;
            extend(&mut values, group.as_ref(), at, &name, column.max_def_level() > 0)?;
        }
        columns.push(values.finish(&name)?);
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("table");
    let length = columns.first().map_or(0, |column| column.data.len());
    if columns.iter().any(|column| column.data.len() != length) {
        return Err("its columns differ in length".to_owned());
    }
    Ok(Table::new(stem, columns))
}

/// What the decoder says, and of a codec that is not built in which it is.
fn words(problem: &ParquetError) -> String {
    let text = problem.to_string();
    match text.split_once("compile time: ") {
        Some((_, codec)) => format!("it is compressed with {codec}, which is not built in"),
        None => text,
    }
}

/// Values of one column as they are read.
enum Values {
    Empty,
    Whole(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl Values {
    fn finish(self, name: &str) -> Result<Column, String> {
        match self {
            Self::Empty => Ok(Column::u64(name, Vec::new())),
            Self::Float(values) => Ok(Column::f64(name, values)),
            Self::Whole(values) if values.iter().any(|&value| value < 0) => {
                Ok(Column::f64(name, values.into_iter().map(|value| value as f64).collect()))
            }
            Self::Whole(values) => {
                Ok(Column::u64(name, values.into_iter().map(i64::cast_unsigned).collect()))
            }
            Self::Text(values) => {
                let texts: Result<Vec<&str>, _> =
                    values.iter().map(|value| std::str::from_utf8(value.data())).collect();
                let texts = texts.map_err(|problem| format!("column `{name}` is not UTF-8: {problem}"))?;
                Ok(Column::coded(name, texts))
            }
        }
    }
}

fn extend(
    values: &mut Values,
    group: &dyn RowGroupReader,
    at: usize,
    name: &str,
    optional: bool,
) -> Result<(), String> {
    let told = |problem: ParquetError| format!("column `{name}` cannot be decoded: {}", words(&problem));
    let rows = usize::try_from(group.metadata().num_rows()).map_err(|_| "has a negative number of rows")?;
    let mut defined = Vec::new();
    let levels = optional.then_some(&mut defined);
    // Rows that are read, and those among them that have a value.
    let (read, present) = match group.get_column_reader(at).map_err(told)? {
        ColumnReader::Int32ColumnReader(mut reader) => {
            let mut some = Vec::new();
            let (read, present, _) = reader.read_records(rows, levels, None, &mut some).map_err(told)?;
            values.whole(some.into_iter().map(i64::from), name)?;
            (read, present)
        }
        ColumnReader::Int64ColumnReader(mut reader) => {
            let mut some = Vec::new();
            let (read, present, _) = reader.read_records(rows, levels, None, &mut some).map_err(told)?;
            values.whole(some, name)?;
            (read, present)
        }
        ColumnReader::FloatColumnReader(mut reader) => {
            let mut some = Vec::new();
            let (read, present, _) = reader.read_records(rows, levels, None, &mut some).map_err(told)?;
            values.float(some.into_iter().map(f64::from), name)?;
            (read, present)
        }
        ColumnReader::DoubleColumnReader(mut reader) => {
            let mut some = Vec::new();
            let (read, present, _) = reader.read_records(rows, levels, None, &mut some).map_err(told)?;
            values.float(some, name)?;
            (read, present)
        }
        ColumnReader::ByteArrayColumnReader(mut reader) => {
            let mut some = Vec::new();
            let (read, present, _) = reader.read_records(rows, levels, None, &mut some).map_err(told)?;
            values.text(some, name)?;
            (read, present)
        }
        _ => return Err(format!("column `{name}` is neither INT32, INT64, FLOAT, DOUBLE nor BYTE_ARRAY")),
    };
    if read != rows {
        return Err(format!("column `{name}` ends after {read} of {rows} rows of its row group"));
    }
    if present != rows {
        return Err(format!(
            "column `{name}` has {} rows without a value; accepted are none",
            rows - present
        ));
    }
    Ok(())
}

impl Values {
    fn whole(&mut self, more: impl IntoIterator<Item = i64>, name: &str) -> Result<(), String> {
        match self {
            Self::Empty => *self = Self::Whole(more.into_iter().collect()),
            Self::Whole(values) => values.extend(more),
            _ => return Err(format!("column `{name}` changes its type")),
        }
        Ok(())
    }

    fn float(&mut self, more: impl IntoIterator<Item = f64>, name: &str) -> Result<(), String> {
        match self {
            Self::Empty => *self = Self::Float(more.into_iter().collect()),
            Self::Float(values) => values.extend(more),
            _ => return Err(format!("column `{name}` changes its type")),
        }
        Ok(())
    }

    fn text(&mut self, more: impl IntoIterator<Item = ByteArray>, name: &str) -> Result<(), String> {
        match self {
            Self::Empty => *self = Self::Text(more.into_iter().collect()),
            Self::Text(values) => values.extend(more),
            _ => return Err(format!("column `{name}` changes its type")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_records::ColumnData;

    use super::*;

    const TRACE: &[u8] = include_bytes!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/telemetry/megatron_straggler/trace-ST.parquet"
    ));

    fn decoded(bytes: &[u8]) -> Result<Table, StoreError> {
        decode_foreign(Path::new("trace-ST.parquet"), bytes.to_vec())
    }

    #[test]
    fn a_file_of_another_program_is_a_table() {
        let table = decoded(TRACE).expect("a real trace");
        assert_eq!((table.name.as_str(), table.rows(), table.columns.len()), ("trace-ST", 6784, 11));
        let Some(ColumnData::Text { dictionary, codes }) = table.column("optype") else { panic!("text") };
        assert_eq!(dictionary.len(), 13);
        let gc = dictionary.iter().position(|word| word == "gc").expect("there");
        assert_eq!(codes.iter().filter(|&&code| code as usize == gc).count(), 256);
        // -1 stands for none here, and makes floats of the column.
        assert!(matches!(table.column("mb_id"), Some(ColumnData::F64(values)) if values.contains(&-1.0)));
        assert!(matches!(table.column("step"), Some(ColumnData::U64(values)) if values[0] == 23));
    }

    #[test]
    fn our_own_tables_are_read_too() {
        let table = Table::new("t", vec![Column::u64("a_ps", vec![1, 2]), Column::coded("b", ["x", "y"])]);
        let bytes = crate::parquet_write::encode(&table).expect("a good table");
        let again = decode_foreign(Path::new("t.parquet"), bytes).expect("flat columns");
        assert_eq!(again, table);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn damaged_files_never_panic(at in 0..TRACE.len(), byte: u8, cut in 0..TRACE.len()) {
            let mut bytes = TRACE.to_vec();
            bytes[at] = byte;
            let _ = decoded(&bytes);
            let _ = decoded(&bytes[..cut]);
        }
    }
}
