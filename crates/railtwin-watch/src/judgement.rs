//! A judgement of all files in the spool: what `railtwin diagnose` says of them.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use railtwin::Question;
use railtwin::diagnose::names::Names;
use railtwin::diagnose::{Inputs, Sources, diagnose};
use railtwin_reading::answer::json_of;
use railtwin_records::{Component, Finding};
use railtwin_units::SimTime;
use serde_json::{Value, json};

use crate::error::WatchError;
use crate::findings::Found;

/// Places that are told of one line of evidence.
const PLACES: usize = 3;

/// Inputs of a judgement beside the files.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) question: Option<Question>,
    pub(crate) names: Option<PathBuf>,
    pub(crate) hang: SimTime,
    pub(crate) job: String,
    /// The folder that is watched: answers name files in it.
    pub(crate) folder: PathBuf,
}

/// Result of a judgement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judged {
    pub(crate) found: Vec<Found>,
    /// Files that could not be read.
    pub(crate) unread: u64,
    /// Why nothing could be judged, where that is so.
    pub(crate) problem: Option<String>,
    /// Whether there are files that can be read and were not judged: that says nothing against what was found before.
    pub(crate) is_refused: bool,
}

impl Site {
    /// Reads scenario and names once, so that what is wrong with them is said before anything is watched.
    pub(crate) fn check(&self) -> Result<(), WatchError> {
        if let Some(names) = &self.names {
            Names::read(names).map_err(railtwin::Error::from)?;
        }
        if let Some(question) = &self.question {
            railtwin::site::case_of(question)?;
        }
        Ok(())
    }

    /// Judges all files below a folder: together, or where that cannot be, since two jobs have dumps of the same ranks, each
    /// folder in it by itself.
    pub(crate) fn judge(&self, spool: &Path) -> Judged {
        let together = self.judge_together(spool, &[spool.to_owned()]);
        let parts = entries(spool);
        if together.problem.is_none() || parts.len() < 2 {
            return together;
        }
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            parts.into_iter().partition(|path| path.is_dir());
        let groups =
            folders.into_iter().map(|folder| vec![folder]).chain((!files.is_empty()).then_some(files));
        let judged: Vec<Judged> = groups.map(|paths| self.judge_together(spool, &paths)).collect();
        if judged.iter().all(|one| one.problem.is_some()) {
            return together;
        }
        let mut all = Judged::default();
        for one in judged {
            all.found.extend(one.found);
            all.unread += one.unread;
        }
        all
    }

    fn judge_together(&self, spool: &Path, paths: &[PathBuf]) -> Judged {
        let mut inputs = match Inputs::read(paths, &self.job) {
            Ok(inputs) => inputs,
            // Nothing in it can be read: there is no finding in that.
            Err(error) => return self.nothing(spool, &error.to_string()),
        };
        inputs.hang_limit = Some(self.hang);
        inputs.names = self.names.as_deref().and_then(|names| Names::read(names).ok());
        let unread = inputs.unread.iter().filter(|file| file.known).count() as u64;
        let told = match diagnose(inputs, self.question.as_ref(), &self.job) {
            Ok(told) => told,
            Err(error) => return Judged { is_refused: true, ..self.nothing(spool, &error.to_string()) },
        };
        let of = |(finding, sources): (&Finding, &Vec<Sources>)| {
            // The identity of a finding may hang on the names of its files.
            let mut finding = finding.clone();
            let lines = finding.evidence.iter_mut().flat_map(|line| &mut line.source);
            lines.for_each(|line| line.file = self.path(spool, &line.file));
            for suspect in &mut finding.suspects {
                if let Component::Job(name) = &mut suspect.component {
                    *name = self.path(spool, name);
                }
            }
            Found {
                finding: self.named(spool, json_of::finding(&finding)),
                sources: self.named(spool, places(sources)),
            }
        };
        let found = told.findings.iter().zip(&told.sources).map(of).collect();
        Judged { found, unread, ..Judged::default() }
    }

    fn nothing(&self, spool: &Path, problem: &str) -> Judged {
        let problem = self.path(spool, problem);
        Judged { problem: Some(problem), ..Judged::default() }
    }

    /// A text with the name of the folder that is watched in place of that of the spool.
    fn path(&self, spool: &Path, text: &str) -> String {
        text.replace(&*spool.to_string_lossy(), &self.folder.to_string_lossy())
    }

    /// The same with files named as they are in the folder that is watched.
    fn named(&self, spool: &Path, mut value: Value) -> Value {
        let (from, to) = (spool.to_string_lossy(), self.folder.to_string_lossy());
        rename(&mut value, &from, &to);
        value
    }
}

/// Entries of a folder in the order of names.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(list) => list.iter_mut().for_each(|one| rename(one, from, to)),
        Value::Object(map) => map.values_mut().for_each(|one| rename(one, from, to)),
        _ => {}
    }
}

fn places(sources: &[Sources]) -> Value {
    let line = |sources: &Sources| {
        let first = sources.first.iter().take(PLACES);
        first.map(|place| json!({ "file": place.file, "place": place.place })).collect::<Vec<_>>()
    };
    sources.iter().map(line).collect()
}

/// Judges in a thread of its own, so that live records are followed meanwhile.
#[derive(Debug)]
pub(crate) struct Judge {
    asks: Sender<PathBuf>,
    answers: Receiver<Judged>,
    is_busy: bool,
}

impl Judge {
    pub(crate) fn new(site: Arc<Site>) -> Self {
        let (asks, asked) = channel::<PathBuf>();
        let (gives, answers) = channel();
        std::thread::spawn(move || {
            for spool in asked {
                // Who asked may be gone.
                if gives.send(site.judge(&spool)).is_err() {
                    return;
                }
            }
        });
        Self { asks, answers, is_busy: false }
    }

    pub(crate) const fn is_busy(&self) -> bool {
        self.is_busy
    }

    pub(crate) fn ask(&mut self, spool: &Path) {
        self.is_busy = self.asks.send(spool.to_owned()).is_ok();
    }

    /// The answer, where there is one.
    pub(crate) fn answer(&mut self) -> Option<Judged> {
        let judged = self.answers.try_recv().ok()?;
        self.is_busy = false;
        Some(judged)
    }

    /// Waits for the answer to what was asked.
    pub(crate) fn wait(&mut self) -> Option<Judged> {
        if !self.is_busy {
            return None;
        }
        self.is_busy = false;
        self.answers.recv().ok()
    }
}
