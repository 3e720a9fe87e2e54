//! Tables that grow while a run goes on: parts that can be read at once, merged when the run ends.
use std::fs::{self, File};
use std::path::Path;

use railtwin_records::Table;

use crate::atomic;
use crate::columns::{GrowingTable, Shape};
use crate::error::StoreError;
use crate::parquet_write::{Encoder, check_values};
use crate::run_folder::{RunFolder, read_if_there};

/// Rows after which a part is written without being asked: some MB of memory per table.
const ROWS_PER_PART: usize = 1 << 18;

/// Writes one table of a run folder, chunk by chunk.
///
/// Chunks gather in memory; [`Self::flush`] makes them a part `name.part-0000.parquet` that readers see.
/// [`Self::finish`] merges the parts into `name.parquet`. A writer that is dropped without it leaves the parts,
/// which stay readable: that is what an interrupted run has to show.
#[derive(Debug)]
pub struct TableWriter {
    folder: RunFolder,
    name: String,
    waiting: Option<GrowingTable>,
    parts: u64,
    rows_per_part: usize,
}

impl TableWriter {
    pub(crate) fn new(folder: RunFolder, name: &str) -> Self {
        Self { folder, name: name.to_owned(), waiting: None, parts: 0, rows_per_part: ROWS_PER_PART }
    }

    /// The writer with another number of rows after which a part is written by itself.
    #[must_use]
    pub fn rows_per_part(self, rows: usize) -> Self {
        Self { rows_per_part: rows.max(1), ..self }
    }

    /// Adds rows. The first chunk, which may be empty, decides the columns; the names of chunks do not count.
    ///
    /// # Errors
    /// [`StoreError::ColumnsDiffer`] for other columns than the first chunk's and [`StoreError::Unwritable`] for
    /// columns of unequal length or codes without text; the rows are not taken then. Those of [`Self::flush`];
    /// the rows are kept then.
    pub fn append(&mut self, chunk: &Table) -> Result<(), StoreError> {
        let found = Shape::of(chunk);
        let path = || self.folder.table_path(&self.name);
        check_values(chunk).map_err(|what| StoreError::Unwritable { path: path(), what })?;
        let waiting = self.waiting.get_or_insert_with(|| GrowingTable::new(found.clone()));
        if waiting.shape != found {
            return Err(StoreError::ColumnsDiffer {
                path: path(),
                found: found.text(),
                wanted: waiting.shape.text(),
            });
        }
        waiting.extend(chunk);
        if waiting.rows() >= self.rows_per_part { self.flush() } else { Ok(()) }
    }

    /// Makes all rows so far visible to readers.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] for what Parquet cannot hold, [`StoreError::Io`].
    pub fn flush(&mut self) -> Result<(), StoreError> {
        let Some(waiting) = &mut self.waiting else {
            return Ok(());
        };
        if waiting.rows() == 0 && self.parts > 0 {
            return Ok(());
        }
        let shape = waiting.shape.clone();
        let part = waiting.take(&self.name);
        let path = self.folder.part_path(&self.name, self.parts);
        let written = write_table_file(&path, &self.name, shape, |encoder| encoder.append(&part));
        match written {
            Ok(()) => self.parts += 1,
            // The rows wait on: a later part must not leave a gap where these belong.
            Err(_) => waiting.extend(&part),
        }
        written
    }

    /// Merges all parts into the finished table, part by part, and takes them away.
    ///
    /// A documented table to which nothing was appended becomes an empty one.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] when nothing was appended to a table that the records do not document;
    /// [`StoreError::CorruptTable`] when a part was damaged meanwhile; [`StoreError::Io`].
    pub fn finish(mut self) -> Result<(), StoreError> {
        let path = self.folder.table_path(&self.name);
        let mut waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None => GrowingTable::new(self.documented(&path)?),
        };
        let shape = waiting.shape.clone();
        let last = waiting.take(&self.name);
        write_table_file(&path, &self.name, shape, |encoder| {
            for number in 0..self.parts {
                encoder.append(&self.part(number)?)?;
            }
            encoder.append(&last)
        })?;
        // From the last to the first: a reader that lists in between finds no gap.
        for number in (0..self.parts).rev() {
            let part = self.folder.part_path(&self.name, number);
            fs::remove_file(&part).map_err(StoreError::io(&part, "remove the merged part"))?;
        }
        Ok(())
    }

    fn part(&self, number: u64) -> Result<Table, StoreError> {
        let path = self.folder.part_path(&self.name, number);
        let gone =
            || StoreError::CorruptTable { path: path.clone(), what: "has gone during the run".to_owned() };
        read_if_there(&path, &self.name)?.ok_or_else(gone)
    }

    fn documented(&self, path: &Path) -> Result<Shape, StoreError> {
        Shape::documented(&self.name).ok_or_else(|| StoreError::Unwritable {
            path: path.to_owned(),
            what: "nothing was appended, so its columns are unknown; append an empty table".to_owned(),
        })
    }
}

/// Writes a table's file atomically; `fill` appends the rows.
pub(crate) fn write_table_file(
    path: &Path,
    name: &str,
    shape: Shape,
    fill: impl FnOnce(&mut Encoder<File>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    atomic::write_with(path, |file| {
        let mut encoder = Encoder::new(file, path, name, shape)?;
        fill(&mut encoder)?;
        encoder.finish().map(|_| ())
    })
}

/// The number in `name.part-0012.parquet`, if that is what the file name is.
pub(crate) fn part_number(file: &str, name: &str) -> Option<u64> {
    let digits = file.strip_prefix(name)?.strip_prefix(".part-")?.strip_suffix(".parquet")?;
    if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}
