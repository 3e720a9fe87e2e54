//! What is given to `diagnose`, read: files of any format, folders of such files, or one run folder.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use railtwin_diagnosis::rules::BaselineStore;
use railtwin_diagnosis::what_if::Work;
use railtwin_formats::telemetry::{
    Content, FlightRecorderDump, Format, Hints, Merged, Merger, RasSnapshot, decode_sysfs, reading_of_name,
};
use railtwin_live::reader::RankFile;
use railtwin_records::{Component, Counter, NOT_YET, Observation};
use railtwin_store::input::{self, Kind};
use railtwin_units::SimTime;
use rayon::prelude::*;

use super::archive;
use super::between::Ways;
use super::dump_folders::DumpFolders;
use super::files::{Decoded, Loaded, Refused, batches, load, load_bytes};
use super::live::LiveFolders;
use super::names::Names;
use super::{ScenarioText, live, run_folder, slow_job, sysfs_trees};
use crate::error::Error;

/// File that makes a folder a run folder.
pub(super) const RUN_FILE: &str = "run.json";
/// Readings whose files are no further apart were copied together; then they are taken for so long apart.
const SAME_NS: u64 = 500_000_000;
const APART_NS: u64 = 60_000_000_000;
/// Files of an archive that are decoded side by side.
const MEMBERS: usize = 256;
/// Most files that an error names.
const NAMED_MAX: usize = 8;

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Records, states and tests of all files, joined.
    pub merged: Merged,
    /// All that ranks of Megatron traces did, by file.
    pub work: Vec<(String, Work)>,
    /// Whether there are dumps of a Flight Recorder.
    pub flight_recorder: bool,
    /// The scenario of the run folder, where one was given.
    pub scenario: Option<ScenarioText>,
    /// The engine of the run that the records are of; none for files of a cluster.
    pub engine: Option<String>,
    /// When observation began and ended and what was known when; none where nothing but times of records tell it.
    pub observation: Option<Observation>,
    /// How long probes took in another record, in which all was well.
    pub baselines: BaselineStore,
    /// Names of the cluster as the fabric has them, where they are given.
    pub names: Option<Names>,
    /// Dumps of the same job of a later time.
    pub later: Vec<FlightRecorderDump>,
    /// States of RAS of the same job of a later time.
    pub later_ras: Vec<(String, RasSnapshot)>,
    /// What was measured between hosts in another record, in which all was well.
    pub ways: Option<Ways>,
    /// Live records of ranks, by file.
    pub live: Vec<RankFile>,
    /// A job that stands still for so long hangs; none: as the thresholds have it.
    pub hang_limit: Option<SimTime>,
    /// Files that could not be read.
    pub unread: Vec<Unread>,
    /// What a reader should know of all of them together.
    pub notes: Vec<String>,
}

/// A file that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unread {
    /// Its name.
    pub source: String,
    /// Why not.
    pub reason: String,
    /// Whether it is telemetry: of a format that is known, or named by who gave it. What else lies in a folder may be
    /// anything.
    pub known: bool,
    /// The rank of which it is the dump, where it is one.
    pub rank: Option<u32>,
    /// Whether there is nothing in it: a process that cannot run leaves such a dump.
    pub empty: bool,
}

impl Inputs {
    /// Reads files, and folders with all that is in them. `job` names the job where files do not.
    ///
    /// A file that is given more than once is read once.
    /// A file that cannot be read is passed over and told in [`Inputs::unread`], as long as another can. Files without times
    /// of their own have that of their last change, so that readings of counters can follow each other.
    ///
    /// # Errors
    /// [`Error::File`] for a name of which there is nothing; where nothing can be read at all the error of the one file,
    /// or [`Error::Argument`] that names them all; [`Error::Argument`] for a run folder beside other inputs, and for two
    /// folders with dumps of the same ranks.
    pub fn read(paths: &[PathBuf], job: &str) -> Result<Self, Error> {
        if let Some(folder) = paths.iter().find(|path| path.join(RUN_FILE).is_file()) {
            if paths.len() > 1 {
                let shown = folder.display();
                return Err(Error::Argument(format!(
                    "{shown} is a run folder and stands beside other inputs; give it alone"
                )));
            }
            return run_folder::read(folder);
        }
        let mut reading = Reading {
            merger: Merger::new(job),
            job,
            inputs: Self::default(),
            first: None,
            counted: BTreeMap::new(),
            times: BTreeMap::new(),
            taken: BTreeSet::new(),
            again: 0,
            empty: BTreeSet::new(),
            folders: DumpFolders::default(),
            live_folders: LiveFolders::default(),
        };
        let mut read = 0_usize;
        for path in paths {
            if let Some(taken) = reading.take_stream(path)? {
                read += taken;
                continue;
            }
            let mut files = vec![path.clone()];
            // Errors of the name itself are errors of the call.
            let about = path.metadata().map_err(|error| Error::File {
                path: path.display().to_string(),
                problem: error.to_string(),
            })?;
            if about.is_dir() {
                files = files_below(path, &mut reading.inputs.unread);
            }
            if about.is_dir() {
                let (trees, rest) = sysfs_trees::trees_of(path, files);
                for tree in &trees {
                    read += usize::from(reading.is_new(&tree.folder) && reading.take_tree(tree));
                }
                files = rest;
            }
            files.retain(|file| reading.is_new(file));
            for batch in batches(&files) {
                read += reading.take(batch, !about.is_dir());
            }
        }
        if read == 0 {
            return Err(reading.nothing(paths));
        }
        reading.folders.check()?;
        reading.live_folders.check()?;
        let Reading { merger, mut inputs, again, .. } = reading;
        if again > 0 {
            inputs.notes.push(format!("{again} files are given more than once: each is read once"));
        }
        inputs.merged = merger.finish();
        Ok(inputs)
    }

    /// Whether an operation has no end: only then can records show a hang.
    pub fn has_open(&self) -> bool {
        self.merged.telemetry.batch.operations.end_ns.contains(&NOT_YET)
    }
}

struct Reading<'a> {
    merger: Merger,
    job: &'a str,
    inputs: Inputs,
    /// The error of the first file that could not be read.
    first: Option<Error>,
    /// Readings of one thing, by what their names have in common: which they are, and their times.
    times: BTreeMap<String, Vec<(u64, u64)>>,
    /// Files and trees that were taken, by the paths that they have without links, and how many came again.
    taken: BTreeSet<PathBuf>,
    again: usize,
    /// Files of archives without a byte.
    empty: BTreeSet<PathBuf>,
    /// Where dumps of a Flight Recorder lie.
    folders: DumpFolders,
    live_folders: LiveFolders,
    /// Bytes of files of which each counts as one more piece of evidence, with their names.
    counted: BTreeMap<Vec<u8>, String>,
}

impl Reading<'_> {
    /// Whether a file or tree was not taken yet: what stands in a folder and is named beside it is one piece of evidence.
    fn is_new(&mut self, path: &Path) -> bool {
        let is_new = path.canonicalize().map_or(true, |real| self.taken.insert(real));
        self.again += usize::from(!is_new);
        is_new
    }

    /// Reads a folder copied from `/sys`.
    fn take_tree(&mut self, tree: &sysfs_trees::Tree) -> bool {
        let source = tree.folder.display().to_string();
        let time_ns = self.in_order(&source, tree.time_ns);
        let hints = Hints { time_ns, host: tree.host.clone(), ..Hints::default() };
        let read =
            tree.read().map_err(|error| Error::File { path: source.clone(), problem: error.to_string() });
        match read.and_then(|files| Ok(decode_sysfs(&source, &files, &hints)?)) {
            Ok(imported) => {
                self.merger.add(imported);
                true
            }
            Err(error) => {
                let reason = match &error {
                    Error::Format(error) => error.without_source(),
                    other => other.to_string(),
                };
                self.inputs.unread.push(Unread { source, reason, known: true, rank: None, empty: false });
                self.first.get_or_insert(error);
                false
            }
        }
    }

    /// The time of a reading, so that readings whose names put them in order (`node1_t1.txt`, `node1_t2.txt`) are in it:
    /// files that were copied or unpacked have the time of that.
    fn in_order(&mut self, source: &str, time_ns: u64) -> u64 {
        let Some((name, order)) = reading_of_name(source) else { return time_ns };
        let known = self.times.entry(name).or_default();
        let before = known.iter().filter(|(other, _)| *other < order).map(|(_, time)| *time).max();
        let after = known.iter().filter(|(other, _)| *other > order).map(|(_, time)| *time).min();
        let mut time = time_ns;
        if let Some(before) = before.filter(|before| time <= before.saturating_add(SAME_NS)) {
            time = before.saturating_add(APART_NS);
        }
        if let Some(after) = after.filter(|after| time.saturating_add(SAME_NS) >= *after) {
            time = after.saturating_sub(APART_NS);
        }
        known.push((order, time));
        if time != time_ns {
            let note = "times of readings that their names put in order are not told by their files: they are taken for a \
                        minute apart";
            if !self.inputs.notes.iter().any(|known| known == note) {
                self.inputs.notes.push(note.to_owned());
            }
        }
        time
    }

    /// Takes files, which are read and decoded side by side and joined in their order; how many could be read. `named` says
    /// that they stand on the command line.
    fn take(&mut self, paths: &[PathBuf], named: bool) -> usize {
        let loaded: Vec<Result<Loaded, Refused>> = paths.par_iter().map(|path| load(path)).collect();
        self.take_loaded(paths, loaded, named)
    }

    /// Takes standard input or an archive; how many files could be read. None for a path that is neither.
    fn take_stream(&mut self, path: &Path) -> Result<Option<usize>, Error> {
        if path.as_os_str() == archive::STANDARD_INPUT {
            return self.take_bytes(path, archive::standard_input()?, true).map(Some);
        }
        if !archive::is_named(path) || !path.is_file() {
            return Ok(None);
        }
        if !self.is_new(path) {
            return Ok(Some(0));
        }
        let failed = |error: std::io::Error| Error::File {
            path: path.display().to_string(),
            problem: error.to_string(),
        };
        self.take_bytes(path, input::read(path, Kind::Data).map_err(failed)?, false).map(Some)
    }

    /// Takes the bytes of standard input or of an archive; how many files could be read.
    fn take_bytes(&mut self, path: &Path, bytes: Vec<u8>, is_stream: bool) -> Result<usize, Error> {
        if !archive::is_archive(&bytes) {
            let name = if is_stream { "standard input".to_owned() } else { path.display().to_string() };
            let loaded = load_bytes(name, bytes, 0);
            return Ok(self.take_loaded(&[path.to_owned()], vec![loaded], true));
        }
        let mut read = 0;
        let mut members = archive::members(path, &bytes)?.into_iter().peekable();
        drop(bytes);
        while members.peek().is_some() {
            let batch: Vec<archive::Member> = members.by_ref().take(MEMBERS).collect();
            let paths: Vec<PathBuf> = batch.iter().map(|one| one.path.clone()).collect();
            let without = batch.iter().filter(|one| one.bytes.is_empty());
            self.empty.extend(without.map(|one| one.path.clone()));
            let loaded = batch
                .into_par_iter()
                .map(|one| load_bytes(one.path.display().to_string(), one.bytes, one.time_ns))
                .collect();
            read += self.take_loaded(&paths, loaded, false);
        }
        Ok(read)
    }

    fn take_loaded(&mut self, paths: &[PathBuf], loaded: Vec<Result<Loaded, Refused>>, named: bool) -> usize {
        // Times of readings hang on those before them.
        let timed: Vec<Result<(Loaded, u64), Refused>> = loaded
            .into_iter()
            .map(|loaded| {
                loaded.map(|file| {
                    let is_table = file.format == Some(Format::Parquet);
                    let time_ns = if is_table { 0 } else { self.in_order(&file.name, file.time_ns) };
                    (file, time_ns)
                })
            })
            .collect();
        let decoded: Vec<Result<(Loaded, Decoded), Refused>> = timed
            .into_par_iter()
            .map(|file| file.and_then(|(file, time_ns)| file.decode(time_ns, self.job)))
            .collect();
        let mut read = 0;
        for (path, decoded) in paths.iter().zip(decoded) {
            match decoded {
                Ok((file, decoded)) => {
                    self.join(path, file, decoded);
                    read += 1;
                }
                Err(refused) => self.refuse(path, refused, named),
            }
        }
        read
    }

    /// Keeps why a file could not be read.
    fn refuse(&mut self, path: &Path, (error, known, rank): Refused, named: bool) {
        let is_empty_file = path.metadata().is_ok_and(|about| about.is_file() && about.len() == 0);
        let empty = is_empty_file || self.empty.contains(path);
        let reason = match &error {
            Error::Format(error) => error.without_source(),
            Error::File { problem, .. } => problem.clone(),
            other => other.to_string(),
        };
        let source = path.display().to_string();
        self.inputs.unread.push(Unread { source, reason, known: known || named, rank, empty });
        self.first.get_or_insert(error);
    }

    /// Joins a file to those before it.
    fn join(&mut self, path: &Path, file: Loaded, decoded: Decoded) {
        let imported = match decoded {
            Decoded::Trace(trace) => {
                self.merger.add_telemetry(&file.name, Format::Parquet, trace.telemetry);
                self.inputs.work.push((file.name, slow_job::work_of(trace.kinds, &trace.operations)));
                return;
            }
            Decoded::Live(records) => {
                self.live_folders.add(path, &records);
                self.merger.add_file(live::notes_of(&file.name, &records));
                self.inputs.live.push(*records);
                return;
            }
            Decoded::File(imported) => imported,
        };
        // A log that fails twice and one that lies there twice are not the same. Logs of two tests differ in times and in
        // process identities, but for those that tell neither; states of RAS have their time.
        let counts = match &imported.content {
            Content::NcclTests(tests) => tests.iter().all(|test| !test.devices.is_empty()),
            Content::Ras(_) => true,
            _ => false,
        };
        if let Content::FlightRecorder(dump) = &imported.content {
            self.inputs.flight_recorder = true;
            self.folders.add(path, dump, &file.bytes);
        }
        if counts {
            if let Some(first) = self.counted.get(&file.bytes) {
                self.merger.add_copy(*imported, first);
                return;
            }
            self.counted.insert(file.bytes, file.name);
        }
        self.merger.add(*imported);
    }

    /// The error where nothing could be read.
    fn nothing(self, paths: &[PathBuf]) -> Error {
        let unread = &self.inputs.unread;
        let whole = match paths {
            [path] if path.is_dir() => {
                format!("{}: none of its {} files could be read", path.display(), unread.len())
            }
            _ => format!("none of {} files could be read", unread.len()),
        };
        match (self.first, &paths) {
            (Some(first), [path]) if !path.is_dir() => first,
            _ => {
                let named =
                    unread.iter().take(NAMED_MAX).map(|one| format!("{}: {}", one.source, one.reason));
                let mut list: Vec<String> = named.map(|text| text.replace("; ", ", ")).collect();
                let more = unread.len() - list.len();
                list.extend((more > 0).then(|| format!("and {more} more")));
                let list = if list.is_empty() { String::new() } else { format!(" ({})", list.join(", ")) };
                Error::Argument(format!(
                    "{whole}{list}; give files of telemetry, a folder of them or a run folder"
                ))
            }
        }
    }
}

/// All files below a folder in order of their paths; hidden ones are left out. What is no folder and no file is told in
/// `unread`.
fn files_below(folder: &Path, unread: &mut Vec<Unread>) -> Vec<PathBuf> {
    let shown = folder.display().to_string();
    let mut tell = |error: std::io::Error| {
        unread.push(Unread {
            source: shown.clone(),
            reason: error.to_string(),
            known: true,
            rank: None,
            empty: false,
        });
    };
    let mut paths = Vec::new();
    match std::fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                match entry {
                    Ok(entry) => paths.push(entry.path()),
                    Err(error) => tell(error),
                }
            }
        }
        Err(error) => tell(error),
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        if path.join(RUN_FILE).is_file() {
            let reason = "is a run folder, which is given alone".to_owned();
            unread.push(Unread {
                source: path.display().to_string(),
                reason,
                known: false,
                rank: None,
                empty: false,
            });
            continue;
        }
        // A link to a folder could lead in a circle.
        if path.is_dir() {
            if !path.is_symlink() {
                files.extend(files_below(&path, unread));
            }
        } else {
            files.push(path);
        }
    }
    files
}

/// What counters that were read once can tell: totals since the start, without a rate.
pub(crate) fn single_readings(inputs: &Inputs) -> Vec<String> {
    let (directory, counters) = (&inputs.merged.telemetry.directory, &inputs.merged.telemetry.batch.counters);
    let mut readings: BTreeMap<(u32, Counter), (u32, f64)> = Default::default();
    for row in 0..counters.len() {
        let cell = readings.entry((counters.entity[row], counters.counter[row])).or_default();
        *cell = (cell.0 + 1, counters.value[row]);
    }
    let once = readings.iter().filter(|(_, (count, _))| *count == 1);
    let count = once.clone().count();
    if count == 0 {
        return Vec::new();
    }
    let is_trouble = |counter: Counter| {
        use Counter::{
            AckTimeouts, Drops, EccErrors, LinkDowns, NvlinkErrors, OutOfMemoryKills, ReceiveErrors,
        };
        matches!(
            counter,
            AckTimeouts | Drops | EccErrors | LinkDowns | NvlinkErrors | OutOfMemoryKills | ReceiveErrors
        )
    };
    let name = |component: &Component| format!("{} {}", component.kind(), component.name());
    let mut notes = vec![format!(
        "{count} of {} counters were read once: they count from the start of the device, so that what goes wrong now \
         cannot be told from what went wrong long ago; give a second reading",
        readings.len()
    )];
    let mut told: Vec<(f64, String)> = once
        .filter(|((_, counter), (_, value))| is_trouble(*counter) && *value > 0.0)
        .filter_map(|((entity, counter), (_, value))| {
            let info = directory.entities.get(*entity as usize)?;
            Some((*value, format!("{}: {} = {value} since its start", name(&info.component), counter.name())))
        })
        .collect();
    told.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let more = told.len().saturating_sub(8);
    notes.extend(told.into_iter().take(8).map(|(_, text)| text));
    if more > 0 {
        notes.push(format!("and {more} more counters of trouble that are not 0"));
    }
    notes
}
