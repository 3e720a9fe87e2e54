//! What is given to `diagnose`, read: files of any format, folders of such files, or one run folder.
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use railtwin_formats::telemetry::{
    Content, Format, Hints, MegatronCompute, Merged, Merger, Times, decode, detect_format, megatron_trace,
};
use railtwin_records::observation::OBSERVATION;
use railtwin_records::{Component, Counter, NOT_YET, Observation, telemetry_read};
use railtwin_store::{RunFolder, StoreError, input, parquet_foreign};

use crate::Question;
use crate::error::Error;

/// File that makes a folder a run folder.
const RUN_FILE: &str = "run.json";
/// Tables of a run folder that hold telemetry.
const TABLES: [&str; 7] =
    ["ranks", "communicators", "rank_operations", "queue_pairs", "messages", "counters", "probes"];

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Records, states and tests of all files, joined.
    pub merged: Merged,
    /// Computation of ranks, from Megatron traces.
    pub compute: Vec<MegatronCompute>,
    /// Whether there are dumps of a Flight Recorder.
    pub flight_recorder: bool,
    /// The scenario of the run folder, where one was given.
    pub question: Option<Question>,
    /// The engine of the run that the records are of; none for files of a cluster.
    pub engine: Option<String>,
    /// When observation began and ended and what was known when; none where nothing but times of records tell it.
    pub observation: Option<Observation>,
    /// What a reader should know of files that were passed over.
    pub notes: Vec<String>,
}

impl Inputs {
    /// Reads files, and folders with all that is in them. `job` names the job where files do not.
    ///
    /// A file of a folder whose format is not known is passed over with a note; one that is named must be known. Files
    /// without times of their own have that of their last change, so that readings of counters can follow each other.
    ///
    /// # Errors
    /// [`Error::File`] for what cannot be opened, [`Error::Format`] and [`Error::Store`] for what cannot be read,
    /// [`Error::Argument`] for a run folder beside other inputs and for inputs that hold nothing.
    pub fn read(paths: &[PathBuf], job: &str) -> Result<Self, Error> {
        if let Some(folder) = paths.iter().find(|path| path.join(RUN_FILE).is_file()) {
            if paths.len() > 1 {
                let shown = folder.display();
                return Err(Error::Argument(format!(
                    "{shown} is a run folder and stands beside other inputs; give it alone"
                )));
            }
            return Self::of_run(folder);
        }
        let mut reading = Reading { merger: Merger::new(job), job, inputs: Self::default() };
        for path in paths {
            if path.is_dir() {
                let files = files_below(path)?;
                let mut known = 0;
                for file in &files {
                    known += u32::from(reading.take(file, true)?);
                }
                if known == 0 {
                    let shown = path.display();
                    let count = files.len();
                    return Err(Error::Argument(format!(
                        "{shown}: none of its {count} files is of a format that is known; give files of telemetry, a \
                         folder of them or a run folder"
                    )));
                }
            } else {
                reading.take(path, false)?;
            }
        }
        let Reading { merger, mut inputs, .. } = reading;
        inputs.merged = merger.finish();
        Ok(inputs)
    }

    fn of_run(path: &Path) -> Result<Self, Error> {
        let folder = RunFolder::open(path)?;
        let there = folder.table_names()?;
        let wanted = TABLES.iter().filter(|name| there.iter().any(|table| table == *name));
        let tables = wanted.map(|name| folder.table(name)).collect::<Result<Vec<_>, StoreError>>()?;
        let shown = path.display().to_string();
        if !tables
            .iter()
            .any(|table| ["rank_operations", "counters", "probes"].contains(&table.name.as_str()))
        {
            return Err(Error::Argument(format!(
                "{shown} holds no telemetry; run its scenario with telemetry, so that it has the tables {}",
                TABLES.join(", ")
            )));
        }
        let (directory, batch) = telemetry_read::read(&tables)
            .map_err(|error| Error::Argument(format!("{shown}: {error}; run the scenario again")))?;
        let scenario = folder.scenario()?;
        let mut inputs = Self { engine: Some(folder.info()?.engine), ..Self::default() };
        inputs.question = Some(Question::of_text(&format!("{shown}/scenario.toml"), &scenario, path));
        inputs.observation = match there.iter().any(|table| table == OBSERVATION) {
            true => Some(
                Observation::read(&folder.table(OBSERVATION)?, &batch)
                    .map_err(|error| Error::Argument(format!("{shown}: {error}; run the scenario again")))?,
            ),
            false => {
                inputs.notes.push(format!(
                    "{shown} does not tell when its observation ended: what stands at its last time stamp is judged \
                     then, and may have stood for longer; run the scenario again"
                ));
                None
            }
        };
        let telemetry = &mut inputs.merged.telemetry;
        (telemetry.directory, telemetry.batch, telemetry.times) = (directory, batch, Times::Kernels);
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
}

impl Reading<'_> {
    /// Takes a file; whether its format is known. `lenient` passes over one that is not.
    fn take(&mut self, path: &Path, lenient: bool) -> Result<bool, Error> {
        let name = path.display().to_string();
        let failed = |error: std::io::Error| Error::File { path: name.clone(), problem: error.to_string() };
        let bytes = match input::read_unpacked(path) {
            Ok(bytes) => bytes,
            // One file of many: too large, or packed and broken.
            Err(error) if lenient => {
                self.inputs.notes.push(format!("{name}: {error}; passed over"));
                return Ok(false);
            }
            Err(error) => return Err(failed(error)),
        };
        if bytes.is_empty() && !lenient {
            return Err(Error::Argument(format!("{name} is empty; give a file of telemetry")));
        }
        match detect_format(&bytes) {
            None if lenient => {
                self.inputs.notes.push(format!("{name}: of no format that is known, passed over"));
                return Ok(false);
            }
            Some(Format::Parquet) => {
                let table = parquet_foreign::decode_foreign(path, bytes)?;
                let trace = megatron_trace(&name, self.job, &table)?;
                self.merger.add_telemetry(&name, Format::Parquet, trace.telemetry);
                self.inputs.compute.extend(trace.compute);
                return Ok(true);
            }
            _ => {}
        }
        let changed = path.metadata().and_then(|metadata| metadata.modified()).map_err(failed)?;
        let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
        let time_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        let imported = decode(&name, &bytes, &Hints { time_ns, ..Hints::default() })?;
        self.inputs.flight_recorder |= matches!(imported.content, Content::FlightRecorder(_));
        self.merger.add(imported);
        Ok(true)
    }
}

/// All files below a folder in order of their paths; hidden ones are left out.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error: std::io::Error| Error::File {
        path: folder.display().to_string(),
        problem: error.to_string(),
    };
    let mut entries = std::fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    entries.sort();
    let mut files = Vec::new();
    for path in entries {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        // A link to a folder could lead in a circle.
        if path.is_dir() && !path.is_symlink() {
            files.extend(files_below(&path)?);
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

/// What counters that were read once can tell: totals since the start, without a rate.
pub(crate) fn single_readings(inputs: &Inputs) -> Vec<String> {
    let (directory, counters) = (&inputs.merged.telemetry.directory, &inputs.merged.telemetry.batch.counters);
    let mut readings: std::collections::BTreeMap<(u32, Counter), (u32, f64)> = Default::default();
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
