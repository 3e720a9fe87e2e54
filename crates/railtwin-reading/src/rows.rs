//! Stage 1: everything that judges look at, with the names and places of the site.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::hang::dumps::Dumps;
use railtwin_diagnosis::rules::BaselineStore;
use railtwin_fabric::Fabric;
use railtwin_formats::telemetry::{Merged, RasSnapshot, Times};
use railtwin_records::{Batch, Directory, Observation};

use super::between::Ways;
use super::inputs::{Inputs, Unread, single_readings};
use super::live::LiveAnswer;
use super::names::Names;
use super::{JobReplay, Site, flight, logs, neighbors, on_fabric, ras};
use crate::error::Error;

/// Everything that was read, in the form that judges take.
#[derive(Debug)]
pub struct Rows<'a> {
    /// The name of the job where files tell none.
    pub job: &'a str,
    /// The cluster, where a scenario describes it.
    pub site: Option<&'a Site>,
    /// Thresholds.
    pub settings: Settings,
    /// Records, states and tests of all files, without the directory and the batch.
    pub merged: Merged,
    /// Ranks, hosts and devices by the names of the files.
    pub as_read: Directory,
    /// Ranks, hosts and devices with their places in the fabric.
    pub directory: Directory,
    /// Operations, messages, counters and probes.
    pub batch: Batch,
    /// Worth of the times of operations.
    pub times: Times,
    /// Engine of the run that the records are of; none for files of a cluster.
    pub engine: Option<String>,
    /// Begin and end of observation, where the records have it.
    pub observation: Option<Observation>,
    /// Delays of probes in another record, of a good day.
    pub baselines: BaselineStore,
    /// Measurements between hosts in another record, of a good day.
    pub ways: Option<Ways>,
    /// Snapshots of RAS that are said to be of a later time.
    pub later_ras: Vec<(String, RasSnapshot)>,
    /// Dumps of a Flight Recorder, where there are any.
    pub dumps: Option<Dumps>,
    /// Traces that hold all operations of a job's steps.
    pub replays: Vec<JobReplay>,
    /// Incidents in live records, where there are any.
    pub live: LiveAnswer,
    /// Files that could not be read.
    pub unread: Vec<Unread>,
    /// Whether an operation has no end.
    pub has_open: bool,
}

impl Rows<'_> {
    /// The fabric of the site.
    pub fn fabric(&self) -> Option<&Fabric> {
        self.site.map(|site| &*site.fabric)
    }
}

/// Notes of the first stage: those that come first in an answer, and those that come last.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) first: Vec<String>,
    pub(super) last: Vec<String>,
}

/// Makes rows of inputs. Names are given beside them: later stages translate findings with them.
///
/// # Errors
/// [`Error::Argument`] for a site that has none of the hosts.
pub(super) fn rows_of<'a>(
    mut inputs: Inputs,
    site: Option<&'a Site>,
    settings: Settings,
    job: &'a str,
) -> Result<(Rows<'a>, Option<Names>, Notes), Error> {
    let mut notes = Notes { first: std::mem::take(&mut inputs.notes), last: single_readings(&inputs) };
    let has_open = inputs.has_open();
    let mut merged = std::mem::take(&mut inputs.merged);
    let mut directory = std::mem::take(&mut merged.telemetry.directory);
    let mut batch = std::mem::take(&mut merged.telemetry.batch);
    ras::fill_directory(&merged.ras, &inputs.later_ras, job, &mut directory);
    let told = logs::take_counters(&merged.logs, &merged.nccl_tests, job, &mut directory, &mut batch);
    notes.first.extend(told);
    let as_read = directory.clone();
    let mut names = inputs.names.take();
    notes.first.extend(place(&mut directory, site, names.as_mut(), inputs.engine.is_some())?);
    let (dumps, timed_out) = dumps_of(&inputs, &merged).unzip();
    let is_told = dumps.as_ref().is_some_and(|dumps: &Dumps| dumps.timed_out.is_some());
    // Where dumps show the hang, the timeout is told as what shows that the job stood still.
    let waited = logs::timeouts_note(&merged.logs).filter(|_| !is_told);
    notes.first.splice(0..0, waited);
    notes.first.extend(timed_out.flatten());
    let rows = Rows {
        job,
        site,
        settings,
        times: merged.telemetry.times,
        merged,
        as_read,
        directory,
        batch,
        engine: inputs.engine,
        observation: inputs.observation,
        baselines: inputs.baselines,
        ways: inputs.ways,
        later_ras: inputs.later_ras,
        dumps,
        replays: inputs.work.into_iter().map(|(file, work)| JobReplay::of(file, &work)).collect(),
        live: LiveAnswer::of(inputs.live, inputs.hang_limit.unwrap_or(settings.hang), job),
        unread: inputs.unread,
        has_open,
    };
    Ok((rows, names, notes))
}

/// Gives ranks and devices their places in the fabric of the site; gives notes on what was matched.
fn place(
    directory: &mut Directory,
    site: Option<&Site>,
    mut names: Option<&mut Names>,
    is_run: bool,
) -> Result<Vec<String>, Error> {
    let mut ports = BTreeMap::new();
    if let Some(names) = &mut names {
        if let Some(site) = site {
            names.check(&site.fabric)?;
        }
        ports = names.place(directory);
    }
    let Some(site) = site else { return Ok(Vec::new()) };
    if is_run {
        on_fabric::check(directory, &site.fabric, &site.file)?;
        return Ok(Vec::new());
    }
    neighbors::place(directory, &site.fabric, names);
    on_fabric::place(directory, site, &ports)
}

/// Dumps of a Flight Recorder, and a note on timeouts that are not of them; none without dumps.
fn dumps_of(inputs: &Inputs, merged: &Merged) -> Option<(Dumps, Option<String>)> {
    if !inputs.flight_recorder {
        return None;
    }
    // Ranks whose dump exists but cannot be parsed are never accused.
    let unread = |is_empty: bool| {
        inputs.unread.iter().filter(move |file| file.empty == is_empty).filter_map(|file| file.rank)
    };
    let torn: BTreeSet<u32> = merged.unsure.iter().copied().chain(unread(false)).collect();
    let empty: BTreeSet<u32> = unread(true).collect();
    let all = [merged.flight_recorder.as_slice(), &inputs.later].concat();
    let mut dumps = flight::dumps_of(&all, &torn, &empty);
    dumps.again = inputs.later.iter().map(|dump| dump.rank).collect();
    let (timed_out, other) = flight::timed_out(&dumps, &merged.logs);
    dumps.timed_out = timed_out;
    // A dump that nothing places may be that of the one rank without a dump.
    let is_placed = !inputs.unread.iter().any(|file| file.known && file.rank.is_none());
    dumps.silent = if is_placed { logs::silent(&merged.logs) } else { BTreeSet::new() };
    let ranks: BTreeSet<u32> = dumps.groups.iter().flat_map(|group| group.ranks.iter().copied()).collect();
    dumps.is_quiet = logs::are_quiet(&merged.logs, &ranks) || ras::is_quiet(&merged.ras, &inputs.later_ras);
    Some((dumps, other))
}
