//! What evidence is compared with: another record in which all was well, or dumps and states of the same job of a later time.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::rules::{BaselineStore, Limits, PathKey};
use railtwin_formats::telemetry::{Merged, RasSnapshot};

use super::between::Ways;
use super::inputs::{Inputs, RUN_FILE, Unread};
use super::run_folder;
use crate::error::Error;

impl Inputs {
    /// Has probes, and measurements between hosts, compared with those of another record, in which all was well: a run
    /// folder, or a file or folder of files such as logs of perftest and tables of probes. Delays of paths of the same NICs,
    /// port and source port are compared, loaded and unloaded apart; what is no path there is learnt from its own first
    /// rounds. Measurements are compared way by way, of the same kind and size.
    ///
    /// # Errors
    /// [`Error::Store`] and [`Error::Argument`] for a folder that cannot be read, and for one without probes enough and
    /// without measurements between hosts.
    pub fn compare_with(&mut self, folder: &Path) -> Result<(), Error> {
        let shown = folder.display();
        let of_run = folder.join(RUN_FILE).is_file();
        let healthy =
            if of_run { run_folder::read(folder)? } else { Self::read(&[folder.to_owned()], "job")? };
        let known = healthy.unread.iter().filter(|file| file.known);
        if let Some(unread) = known.clone().next() {
            let Unread { source, reason, .. } = unread;
            if of_run {
                return Err(Error::Argument(format!(
                    "{source}: {reason}; run the scenario of the baseline again"
                )));
            }
            let count = known.count();
            self.notes.push(format!("baseline: {count} of its files could not be read, {source}: {reason}"));
        }
        let Merged { telemetry, pairs, .. } = &healthy.merged;
        let (limits, deviations) = (Limits::default(), Settings::default().deviations);
        self.baselines = BaselineStore::of(&telemetry.directory, &telemetry.batch, &limits, deviations);
        let ways = Ways::of(pairs);
        if self.baselines.is_empty() && ways.is_empty() {
            let (rows, rounds) = (telemetry.batch.probes.len(), limits.rounds);
            let remedy = match of_run {
                true => "run a scenario with [control] probes or [telemetry] probes for longer",
                false => {
                    "give a run folder with probes, tables of probes, or logs of perftest named after both hosts"
                }
            };
            return Err(Error::Argument(format!(
                "{shown} holds no baseline: {rows} rows of probes, and no path was answered in {rounds} rounds; {remedy}"
            )));
        }
        let measured = Ways::of(&self.merged.pairs);
        if !self.baselines.is_empty() || measured.is_empty() {
            self.note_paths(folder, limits.rounds);
        }
        if !ways.is_empty() && !measured.is_empty() {
            let (shared, all) = (measured.shared(&ways), measured.len());
            self.notes
                .push(format!("{shared} of {all} ways between hosts are compared with those of {shown}"));
        }
        self.ways = Some(ways).filter(|ways| !ways.is_empty());
        Ok(())
    }

    /// Notes how many of the probed paths are compared with the baselines of a folder: those answered in so many rounds.
    fn note_paths(&mut self, folder: &Path, rounds: usize) {
        let shown = folder.display();
        let probed = self.answered_rounds();
        let known = &self.baselines;
        let with = |least: usize| {
            let is = |(path, rounds): &(&PathKey, &[usize; 2])| {
                let under =
                    |loaded: bool| known.get(path, loaded).is_some() && rounds[usize::from(loaded)] >= least;
                under(false) || under(true)
            };
            probed.iter().filter(is).count()
        };
        let (shared, compared) = (with(0), with(rounds));
        self.notes.push(match shared {
            0 => {
                format!(
                    "none of {} probed paths is one of {shown}: nothing is compared with it",
                    probed.len()
                )
            }
            _ => format!("{compared} of {} probed paths are compared with {shown}", probed.len()),
        });
        if shared > compared {
            self.notes.push(format!(
                "{} paths of {shown} were answered in fewer than {rounds} rounds under the load, or without load, of which \
                 it has a baseline",
                shared - compared,
            ));
        }
    }

    /// By path the rounds of probes that were answered without load and under it.
    fn answered_rounds(&self) -> BTreeMap<PathKey, [usize; 2]> {
        let flows = &self.merged.telemetry.directory.flows;
        let probes = &self.merged.telemetry.batch.probes;
        let mut probed: BTreeMap<PathKey, [usize; 2]> = BTreeMap::new();
        for row in 0..probes.len() {
            let Some(flow) = flows.get(probes.flow[row] as usize) else { continue };
            let rounds = probed.entry(PathKey::of(flow)).or_default();
            let is_answered = probes.delay_ns[row] > 0 && probes.lost[row] < probes.sent[row];
            rounds[usize::from(probes.loaded[row])] += usize::from(is_answered);
        }
        probed
    }

    /// Has dumps of a Flight Recorder, and states of RAS, compared with others of the same job that were made later: a job of
    /// which they are equal stood still between.
    ///
    /// # Errors
    /// Those of [`Self::read`]; [`Error::Argument`] where there are neither here or there, where a file is given as both, and
    /// where a state of RAS says that it was taken no later.
    pub fn look_again(&mut self, paths: &[PathBuf], job: &str) -> Result<(), Error> {
        let later = Self::read(paths, job)?;
        let shown = paths.first().map_or(String::new(), |path| path.display().to_string());
        let (dumps, states) = (!later.merged.flight_recorder.is_empty(), !later.merged.ras.is_empty());
        let without = |who: &str, what: &str| {
            Err(Error::Argument(format!(
                "--later {shown}: {who} holds {what}; give dumps or states of one job, of two times"
            )))
        };
        if !dumps && !states {
            return without(&shown, "no dump of a Flight Recorder and no state of RAS");
        }
        let before = "what it is later than";
        if dumps && self.merged.flight_recorder.is_empty() {
            return without(before, "no dump of a Flight Recorder");
        }
        if states && self.merged.ras.is_empty() {
            return without(before, "no state of RAS");
        }
        let real = |file: &String| Path::new(file).canonicalize().ok();
        let ras = |merged: &Merged| merged.ras.iter().map(|(file, _)| file.clone()).collect::<Vec<String>>();
        let first = self.merged.flight_files.iter().cloned().chain(ras(&self.merged));
        let first: BTreeSet<PathBuf> = first.filter_map(|file| real(&file)).collect();
        let mut second = later.merged.flight_files.iter().cloned().chain(ras(&later.merged));
        if let Some(file) = second.find(|file| real(file).is_some_and(|real| first.contains(&real))) {
            return Err(Error::Argument(format!(
                "--later {file}: is given as one of before, too; give dumps that were made at another time"
            )));
        }
        let last = self.merged.ras.iter().map(|(_, state)| &state.timestamp).max();
        let no_later = |(_, state): &&(String, RasSnapshot)| {
            !state.timestamp.is_empty() && last.is_some_and(|last| state.timestamp <= *last)
        };
        if let Some((file, state)) = later.merged.ras.iter().find(no_later) {
            return Err(Error::Argument(format!(
                "--later {file}: was taken at {}, which is no later than that of before; give one that was taken later",
                state.timestamp
            )));
        }
        for unread in later.unread.iter().filter(|file| file.known) {
            self.notes.push(format!("later: {} could not be read: {}", unread.source, unread.reason));
        }
        self.merged.unsure.extend(later.merged.unsure.iter().copied());
        self.later = later.merged.flight_recorder;
        self.later_ras = later.merged.ras;
        Ok(())
    }
}
