//! The folder of one run: made whole, replaced file by file, readable at any moment.
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use railtwin_records::Table;

use crate::atomic;
use crate::belongings;
use crate::columns::{GrowingTable, Shape};
use crate::error::{StoreError, check_name};
use crate::input::{self, Kind};
use crate::lock::Lock;
use crate::parquet_read;
use crate::run_info::{RunInfo, Status, read_json, refuse_newer, write_json};
use crate::table_writer::{TableWriter, part_number, write_table_file};

/// Facts of the run.
pub const RUN_FILE: &str = "run.json";
/// The scenario as its author wrote it.
pub const SCENARIO_FILE: &str = "scenario.toml";
/// The fabric that the case resolved to.
pub const FABRIC_FILE: &str = "fabric.toml";
/// The page that shows the run.
pub const REPORT_FILE: &str = "report.html";
/// The operations as a Perfetto trace.
pub const TRACE_FILE: &str = "trace.json.gz";
/// What follows the name of a table in its file's name.
pub(crate) const TABLE_SUFFIX: &str = ".parquet";
/// Hidden names that are tried for a new folder, in case dead processes left some behind.
const HIDDEN_NAMES: u32 = 1000;
/// Readings of a table that may fall into its merging, which happens once per run.
const READ_ATTEMPTS: u32 = 4;

/// A run folder that is there and has a readable `run.json`.
///
/// One process writes it, any number read it at the same time. Who made it holds its lock as long as a clone of
/// that folder lives, and the system takes the lock back from a process that dies.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Of who made the folder.
    lock: Option<Lock>,
}

impl RunFolder {
    /// Makes the folder of a run that begins: `run.json`, `scenario.toml` and `fabric.toml`.
    ///
    /// They are written in a hidden sibling that is then renamed, so a start that fails leaves nothing.
    /// Missing folders above are made, and taken away again when the start fails.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when there is something at `path`: the caller decides whether to reuse it
    /// ([`Self::find`]) or to run again ([`Self::remove`]). [`StoreError::Busy`] when another process was faster and
    /// is writing it. [`StoreError::Io`] when the system refuses.
    pub fn create(path: &Path, info: &RunInfo, scenario: &str, fabric: &str) -> Result<Self, StoreError> {
        if path.symlink_metadata().is_ok() {
            return Err(taken(path));
        }
        let made = make_parents(path)?;
        let created = create_hidden(path).and_then(|hidden| {
            let filled = fill(&hidden, path, info, scenario, fabric);
            if filled.is_err() {
                // The first error is the one to tell.
                let _ = fs::remove_dir_all(&hidden);
            }
            filled
        });
        if created.is_err() {
            remove_empty(&made);
        }
        created.map(|lock| Self { path: path.to_owned(), lock: Some(lock) })
    }

    /// Opens a run folder.
    ///
    /// # Errors
    /// [`StoreError::NotARunFolder`] without `run.json`, else those of [`Self::info`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let folder = Self { path: path.to_owned(), lock: None };
        folder.info().map(|_| folder)
    }

    /// Opens a run folder if there is something at `path`.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn find(path: &Path) -> Result<Option<Self>, StoreError> {
        if path.symlink_metadata().is_err() { Ok(None) } else { Self::open(path).map(Some) }
    }

    /// Takes the whole folder away, at once for readers; for a run that is to be run again. Only files that railtwin
    /// wrote are removed.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process writes it, [`StoreError::NotOurs`] naming what railtwin did not write:
    /// nothing is removed then. [`StoreError::Io`] when the system refuses.
    pub fn remove(self) -> Result<(), StoreError> {
        belongings::ours(&self.path)?;
        let _lock = match &self.lock {
            Some(held) => held.clone(),
            None => Lock::of(&self.path)?,
        };
        let hidden = atomic::beside(&self.path, "removing");
        // Of a process that died at it.
        if hidden.symlink_metadata().is_ok() {
            belongings::remove(&hidden)?;
        }
        fs::rename(&self.path, &hidden).map_err(StoreError::io(&self.path, "remove the run folder"))?;
        belongings::remove(&hidden)
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The facts of the run as they are now, each on one line and printable. A run that says it is running and that
    /// nobody writes was interrupted.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`] for a run of a newer railtwin, [`StoreError::Json`] for a damaged file.
    pub fn info(&self) -> Result<RunInfo, StoreError> {
        let path = self.path.join(RUN_FILE);
        // Before the file: who ends writes it first and lets go then.
        let is_held = Lock::is_held(&self.path);
        let mut info: RunInfo = read_json(&path, &self.run_text()?)?;
        if info.status == Status::Running && is_held == Some(false) {
            info.status = Status::Interrupted;
        }
        Ok(info.printable())
    }

    /// Replaces the facts of the run. With a status that is an end, who made the folder lets go of it.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`] when a newer railtwin wrote what is there, [`StoreError::Io`].
    pub fn write_info(&self, info: &RunInfo) -> Result<(), StoreError> {
        let path = self.path.join(RUN_FILE);
        refuse_newer(&path, &self.run_text()?)?;
        write_json(&path, info)?;
        if let (Some(lock), Status::Complete | Status::Interrupted) = (&self.lock, info.status) {
            lock.remove_file(&self.path);
        }
        Ok(())
    }

    /// The scenario's text.
    ///
    /// # Errors
    /// [`StoreError::Io`] when it cannot be read.
    pub fn scenario(&self) -> Result<String, StoreError> {
        self.text(SCENARIO_FILE)
    }

    /// The fabric's text.
    ///
    /// # Errors
    /// [`StoreError::Io`] when it cannot be read.
    pub fn fabric(&self) -> Result<String, StoreError> {
        self.text(FABRIC_FILE)
    }

    /// Names of the tables that are there, finished or growing, in alphabetical order.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be listed.
    pub fn table_names(&self) -> Result<Vec<String>, StoreError> {
        let stems = self.file_names()?.into_iter().filter_map(|name| {
            let stem = name.strip_suffix(TABLE_SUFFIX)?;
            let stem = stem.split_once('.').map_or(stem, |(stem, _)| stem);
            let ours = part_number(&name, stem).is_some() || name.len() == stem.len() + TABLE_SUFFIX.len();
            Some(stem.to_owned()).filter(|_| ours)
        });
        Ok(stems.collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// A table: the finished one, or the rows so far of one that grows.
    ///
    /// # Errors
    /// [`StoreError::NoSuchTable`], [`StoreError::CorruptTable`] naming the file, [`StoreError::NewerSchema`].
    pub fn table(&self, name: &str) -> Result<Table, StoreError> {
        check_name(&self.path, name, "table")?;
        let finished = self.table_path(name);
        for _ in 0..READ_ATTEMPTS {
            if let Some(table) = read_if_there(&finished, name)? {
                return Ok(table);
            }
            let parts = self.parts(name)?;
            let growing = self.read_parts(name, &parts)?;
            // While parts were read they may have been merged: then some may have been gone already.
            if finished.symlink_metadata().is_err()
                && let Some(table) = growing
            {
                return Ok(table);
            }
        }
        let present = self.table_names()?;
        let present = if present.is_empty() { "none yet".to_owned() } else { present.join(", ") };
        Err(StoreError::NoSuchTable { path: self.path.clone(), table: name.to_owned(), present })
    }

    /// Writes a table at once.
    ///
    /// # Errors
    /// [`StoreError::TableExists`], [`StoreError::BadName`], [`StoreError::Unwritable`], [`StoreError::Io`].
    pub fn write_table(&self, table: &Table) -> Result<(), StoreError> {
        self.refuse_table(&table.name)?;
        let path = self.table_path(&table.name);
        write_table_file(&path, &table.name, Shape::of(table), |encoder| encoder.append(table))
    }

    /// Begins a table that grows while the run goes on.
    ///
    /// # Errors
    /// [`StoreError::TableExists`] when it is there, finished or growing; [`StoreError::BadName`].
    pub fn table_writer(&self, name: &str) -> Result<TableWriter, StoreError> {
        self.refuse_table(name)?;
        Ok(TableWriter::new(self.clone(), name))
    }

    /// Writes or replaces the page that shows the run.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_report(&self, page: &[u8]) -> Result<(), StoreError> {
        atomic::write(&self.path.join(REPORT_FILE), page)
    }

    /// Writes or replaces the trace, which is given compressed.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_trace(&self, trace: &[u8]) -> Result<(), StoreError> {
        atomic::write(&self.path.join(TRACE_FILE), trace)
    }

    /// File of a finished table.
    pub(crate) fn table_path(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{TABLE_SUFFIX}"))
    }

    /// File of a part.
    pub(crate) fn part_path(&self, name: &str, number: u64) -> PathBuf {
        self.path.join(format!("{name}.part-{number:04}{TABLE_SUFFIX}"))
    }

    /// Numbers of the parts that are there, ascending.
    pub(crate) fn parts(&self, name: &str) -> Result<Vec<u64>, StoreError> {
        let mut numbers: Vec<_> =
            self.file_names()?.iter().filter_map(|file| part_number(file, name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The rows of these parts; none when there is no part or one of them has just gone.
    fn read_parts(&self, name: &str, numbers: &[u64]) -> Result<Option<Table>, StoreError> {
        let mut growing: Option<GrowingTable> = None;
        for (expected, &number) in (0..).zip(numbers) {
            let path = self.part_path(name, number);
            if number != expected {
                let what = format!("part {expected} of table `{name}`, which comes before it, is missing");
                return Err(StoreError::CorruptTable { path, what });
            }
            let Some(part) = read_if_there(&path, name)? else {
                return Ok(None);
            };
            let found = Shape::of(&part);
            let growing = growing.get_or_insert_with(|| GrowingTable::new(found.clone()));
            if growing.shape != found {
                let (found, wanted) = (found.text(), growing.shape.text());
                return Err(StoreError::ColumnsDiffer { path, found, wanted });
            }
            growing.extend(&part);
        }
        Ok(growing.map(|mut growing| growing.take(name)))
    }

    fn refuse_table(&self, name: &str) -> Result<(), StoreError> {
        check_name(&self.path, name, "table")?;
        if self.table_path(name).symlink_metadata().is_ok() || !self.parts(name)?.is_empty() {
            return Err(StoreError::TableExists { path: self.path.clone(), table: name.to_owned() });
        }
        Ok(())
    }

    fn run_text(&self) -> Result<String, StoreError> {
        let path = self.path.join(RUN_FILE);
        input::read_text(&path).map_err(|problem| match problem.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                StoreError::NotARunFolder { path: self.path.clone() }
            }
            _ => StoreError::io(&path, "read")(problem),
        })
    }

    fn text(&self, file: &str) -> Result<String, StoreError> {
        let path = self.path.join(file);
        input::read_text(&path).map_err(StoreError::io(&path, "read"))
    }

    /// Names of all files that are not hidden.
    fn file_names(&self) -> Result<BTreeSet<String>, StoreError> {
        let fail = || StoreError::io(&self.path, "list the run folder");
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.path).map_err(fail())? {
            let name = entry.map_err(fail())?.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                names.insert(name);
            }
        }
        Ok(names)
    }
}

/// The table in a file, which must be the one that its file name says; none when the file is not there.
pub(crate) fn read_if_there(path: &Path, name: &str) -> Result<Option<Table>, StoreError> {
    let bytes = match input::read(path, Kind::Data) {
        Ok(bytes) => bytes,
        Err(problem) if problem.kind() == ErrorKind::NotFound => return Ok(None),
        Err(problem) => return Err(StoreError::io(path, "read the table")(problem)),
    };
    let table = parquet_read::decode(path, bytes)?;
    if table.name != name {
        let what = format!("holds table `{}` under another name", table.name);
        return Err(StoreError::CorruptTable { path: path.to_owned(), what });
    }
    Ok(Some(table))
}

/// Why there is no room at `path`.
fn taken(path: &Path) -> StoreError {
    match Lock::is_held(path) {
        Some(true) => StoreError::Busy { path: path.to_owned() },
        _ => StoreError::Exists { path: path.to_owned() },
    }
}

/// Makes the folders above `path` and returns those that were not there, from the top down.
fn make_parents(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let above = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let missing: Vec<_> = above.take_while(|folder| !folder.exists()).collect();
    let mut made = Vec::new();
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            Ok(()) => made.push(folder.to_owned()),
            // Another run of the same sweep was faster.
            Err(problem) if problem.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(problem) => {
                remove_empty(&made);
                return Err(StoreError::io(folder, "make the folder")(problem));
            }
        }
    }
    Ok(made)
}

/// Takes folders away from the lowest up, except where another process has put something meanwhile.
fn remove_empty(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

/// Makes an empty hidden folder beside `path`.
fn create_hidden(path: &Path) -> Result<PathBuf, StoreError> {
    let mut attempt = 0;
    loop {
        let hidden = atomic::beside(path, &format!("starting-{attempt}"));
        match fs::create_dir(&hidden) {
            Ok(()) => return Ok(hidden),
            Err(problem) if problem.kind() == ErrorKind::AlreadyExists && attempt < HIDDEN_NAMES => {
                attempt += 1
            }
            Err(problem) => return Err(StoreError::io(path, "make the run folder")(problem)),
        }
    }
}

fn fill(
    hidden: &Path,
    path: &Path,
    info: &RunInfo,
    scenario: &str,
    fabric: &str,
) -> Result<Lock, StoreError> {
    let lock = Lock::of(hidden)?;
    write_json(&hidden.join(RUN_FILE), info)?;
    atomic::write(&hidden.join(SCENARIO_FILE), scenario.as_bytes())?;
    atomic::write(&hidden.join(FABRIC_FILE), fabric.as_bytes())?;
    fs::rename(hidden, path).map_err(|problem| match problem.kind() {
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => taken(path),
        _ => StoreError::io(path, "make the run folder")(problem),
    })?;
    Ok(lock)
}
