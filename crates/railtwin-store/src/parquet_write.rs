//! One table as one Parquet file, with the same bytes for the same table.
use std::collections::BTreeSet;
use std::io::{Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use railtwin_records::{SCHEMA, Table};

use crate::columns::{Kind, Shape, View};
use crate::error::StoreError;
use crate::seal;

/// Key of the schema version in the file's metadata.
pub const SCHEMA_KEY: &str = "railtwin.schema";
/// Key of the table's name in the file's metadata.
pub const TABLE_KEY: &str = "railtwin.table";
/// Most rows of a row group: enough to compress well, few enough that a group fits memory many times.
const ROWS_PER_GROUP: usize = 1 << 20;
/// Text is coded by a dictionary up to this size in a row group; 100 000 port names need about 4 MiB.
const TEXT_DICTIONARY_BYTES: usize = 32 << 20;

/// A table as the bytes of a Parquet file.
///
/// `u64` is INT64 and `u32` INT32, both with the unsigned logical type; `f64` is DOUBLE; text is BYTE_ARRAY
/// with the string type, coded by a dictionary. Columns are required; pages are compressed by Snappy.
///
/// # Errors
/// [`StoreError::Unwritable`] when the table has no column, two columns of one name, columns of unequal
/// length, or a text code outside its dictionary.
pub fn encode(table: &Table) -> Result<Vec<u8>, StoreError> {
    let place = PathBuf::from(format!("{}.parquet", table.name));
    let mut encoder = Encoder::new(Cursor::new(Vec::new()), &place, &table.name, Shape::of(table))?;
    encoder.append(table)?;
    Ok(encoder.finish()?.into_inner())
}

/// Writes tables of one shape into one file, each as one row group or more.
pub(crate) struct Encoder<F: Read + Write + Seek + Send> {
    place: PathBuf,
    shape: Shape,
    writer: SerializedFileWriter<F>,
}

impl<F: Read + Write + Seek + Send> Encoder<F> {
    /// Begins a file; `place` is named in errors.
    pub(crate) fn new(file: F, place: &Path, table: &str, shape: Shape) -> Result<Self, StoreError> {
        let fail = |what: String| StoreError::Unwritable { path: place.to_owned(), what };
        check_columns(&shape).map_err(fail)?;
        let begun = schema(&shape).and_then(|schema| {
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties(table, &shape)))
        });
        let writer = begun.map_err(|problem| fail(problem.to_string()))?;
        Ok(Self { place: place.to_owned(), shape, writer })
    }

    /// Adds the rows of a table.
    pub(crate) fn append(&mut self, table: &Table) -> Result<(), StoreError> {
        let found = Shape::of(table);
        if found != self.shape {
            return Err(StoreError::ColumnsDiffer {
                path: self.place.clone(),
                found: found.text(),
                wanted: self.shape.text(),
            });
        }
        check_values(table).map_err(|what| self.fail(what))?;
        let rows = table.rows();
        for begin in (0..rows).step_by(ROWS_PER_GROUP) {
            let end = rows.min(begin + ROWS_PER_GROUP);
            self.append_group(table, begin, end).map_err(|problem| self.fail(problem.to_string()))?;
        }
        Ok(())
    }

    fn append_group(&mut self, table: &Table, begin: usize, end: usize) -> parquet::errors::Result<()> {
        let mut group = self.writer.next_row_group()?;
        for column in &table.columns {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            match (writer.untyped(), View::of(&column.data)) {
                (ColumnWriter::Int64ColumnWriter(writer), View::U64(values)) => {
                    let values: Vec<i64> =
                        values[begin..end].iter().map(|value| value.cast_signed()).collect();
                    writer.write_batch(&values, None, None)?;
                }
                (ColumnWriter::Int32ColumnWriter(writer), View::U32(values)) => {
                    let values: Vec<i32> =
                        values[begin..end].iter().map(|value| value.cast_signed()).collect();
                    writer.write_batch(&values, None, None)?;
                }
                (ColumnWriter::DoubleColumnWriter(writer), View::F64(values)) => {
                    writer.write_batch(&values[begin..end], None, None)?;
                }
                (ColumnWriter::ByteArrayColumnWriter(writer), View::Text { dictionary, codes }) => {
                    let texts: Vec<ByteArray> = dictionary.iter().map(|text| text.as_str().into()).collect();
                    let values: Vec<_> =
                        codes[begin..end].iter().map(|&code| texts[code as usize].clone()).collect();
                    writer.write_batch(&values, None, None)?;
                }
                (_, view) => unreachable!("the schema was made for {:?} of {}", view.kind(), column.name),
            }
            writer.close()?;
        }
        group.close().map(|_| ())
    }

    /// Ends and seals the file.
    pub(crate) fn finish(self) -> Result<F, StoreError> {
        let fail = |what: String| StoreError::Unwritable { path: self.place.clone(), what };
        let mut file = self.writer.into_inner().map_err(|problem| fail(problem.to_string()))?;
        seal::seal(&mut file).map_err(|problem| fail(problem.to_string()))?;
        Ok(file)
    }

    fn fail(&self, what: String) -> StoreError {
        StoreError::Unwritable { path: self.place.clone(), what }
    }
}

fn check_columns(shape: &Shape) -> Result<(), String> {
    if shape.0.is_empty() {
        return Err("it has no column; give it one or more".to_owned());
    }
    let mut seen = BTreeSet::new();
    for (name, _) in &shape.0 {
        if name.is_empty() || !seen.insert(name) {
            return Err(format!(
                "column name `{name}` is empty or used twice; give each column its own name"
            ));
        }
    }
    Ok(())
}

/// Refuses columns of unequal length and codes without text.
pub(crate) fn check_values(table: &Table) -> Result<(), String> {
    let rows = table.rows();
    for column in &table.columns {
        let (name, length) = (&column.name, column.data.len());
        if length != rows {
            return Err(format!("column `{name}` has {length} rows where the first column has {rows}"));
        }
        if let View::Text { dictionary, codes } = View::of(&column.data)
            && let Some(code) = codes.iter().find(|&&code| code as usize >= dictionary.len())
        {
            let values = dictionary.len();
            return Err(format!("column `{name}` has code {code} where its dictionary has {values} values"));
        }
    }
    Ok(())
}

fn schema(shape: &Shape) -> parquet::errors::Result<Type> {
    let fields = shape.0.iter().map(|(name, kind)| {
        let (physical, logical) = types(*kind);
        let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        builder.with_logical_type(logical).build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("schema").with_fields(fields).build()
}

/// The Parquet types of a kind of column.
pub(crate) fn types(kind: Kind) -> (Physical, Option<LogicalType>) {
    match kind {
        Kind::U64 => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::U32 => (Physical::INT32, Some(LogicalType::integer(32, false))),
        Kind::F64 => (Physical::DOUBLE, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    }
}

/// Settings that leave no room for the clock, the machine or the library's version in the bytes.
fn properties(table: &str, shape: &Shape) -> WriterProperties {
    let key = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let metadata = vec![
        key(SCHEMA_KEY, SCHEMA.to_string()),
        key(TABLE_KEY, table.to_owned()),
        key(seal::KEY, seal::OPEN.to_owned()),
    ];
    let mut builder = WriterProperties::builder()
        .set_created_by("railtwin".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(ROWS_PER_GROUP))
        .set_key_value_metadata(Some(metadata));
    for (name, kind) in &shape.0 {
        let path = ColumnPath::from(vec![name.clone()]);
        builder = match kind {
            // A dictionary finds its values by ==, for which -0 is 0; floats rarely repeat anyway.
            Kind::F64 => builder.set_column_dictionary_enabled(path, false),
            Kind::Text => builder.set_column_dictionary_page_size_limit(path, TEXT_DICTIONARY_BYTES),
            Kind::U64 | Kind::U32 => builder,
        };
    }
    builder.build()
}
