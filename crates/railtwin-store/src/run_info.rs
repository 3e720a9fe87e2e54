//! `run.json`: what a run was, how it went and what came out of it.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use railtwin_records::SCHEMA;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::error::StoreError;
use crate::printable::one_line;

/// How far a run, or a case of a sweep, has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Not begun; only a case of a sweep can be so.
    Waiting,
    /// Begun and not ended; its tables hold what there is so far.
    Running,
    /// Ended as it should; its tables and figures are whole.
    Complete,
    /// Ended early; its tables hold what there was by then.
    Interrupted,
}

/// One number that sums up a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name, unique in the run, such as `step_time_mean`.
    pub name: String,
    /// The value; null when there is none, or none that is finite.
    pub value: Option<f64>,
    /// Unit of value, low and high, such as `s` or `Gbit/s`; empty for ratios.
    pub unit: String,
    /// A sentence on what it means or how it was made; may be empty.
    #[serde(default)]
    pub note: String,
    /// Lowest over what the figure sums up (replicates, steps); null when it sums up nothing.
    #[serde(default)]
    pub low: Option<f64>,
    /// Highest over what the figure sums up.
    #[serde(default)]
    pub high: Option<f64>,
    /// Why there is no value, such as `halted at 12.5 s`; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Figure {
    /// A figure of one value; what is not finite becomes null.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: Some(value).filter(|value| value.is_finite()),
            unit: unit.to_owned(),
            note: String::new(),
            low: None,
            high: None,
            reason: String::new(),
        }
    }

    /// A figure without a value, and why.
    pub fn missing(name: &str, unit: &str, reason: &str) -> Self {
        Self { reason: reason.to_owned(), ..Self::new(name, f64::NAN, unit) }
    }
}

/// The content of `run.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunInfo {
    /// Version of the run folder and its tables ([`railtwin_records::SCHEMA`]).
    pub schema: u32,
    /// Name of the run, from [`crate::run_id()`].
    pub run_id: String,
    /// Hash of the resolved case.
    pub case_hash: String,
    /// Name of the scenario.
    pub name: String,
    /// Engine that executed the case, such as `flow`.
    pub engine: String,
    /// Seed that every random stream is derived from.
    pub seed: u64,
    /// Version of railtwin that wrote the run.
    pub version: String,
    /// How far the run has come.
    pub status: Status,
    /// The answer in at most thirty words; empty while the run goes on, and where nothing was simulated.
    #[serde(default)]
    pub headline: String,
    /// Evidence lines of the headline: one sentence each, the most important first.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// What the reader of the results ought to know.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Whole numbers of how the engine worked, such as `events`.
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
    /// Numbers that sum up the run, in the order to show them.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Words about the case, such as `fabric = "leaf-spine, 16 hosts"`.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
}

impl RunInfo {
    /// The facts of a run that begins now, by an engine of this version of railtwin.
    pub fn starting(run_id: &str, case_hash: &str, name: &str, engine: &str, seed: u64) -> Self {
        Self {
            schema: SCHEMA,
            run_id: run_id.to_owned(),
            case_hash: case_hash.to_owned(),
            name: name.to_owned(),
            engine: engine.to_owned(),
            seed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            status: Status::Running,
            headline: String::new(),
            evidence: Vec::new(),
            warnings: Vec::new(),
            counters: BTreeMap::new(),
            figures: Vec::new(),
            facts: BTreeMap::new(),
        }
    }

    /// The same with every text on one line and printable ([`one_line`]): what stands in a file may be anybody's.
    pub(crate) fn printable(mut self) -> Self {
        let clean = |text: &mut String| {
            if let Cow::Owned(shown) = one_line(text) {
                *text = shown;
            }
        };
        [&mut self.run_id, &mut self.case_hash, &mut self.name, &mut self.engine, &mut self.version]
            .into_iter()
            .chain([&mut self.headline])
            .chain(&mut self.evidence)
            .chain(&mut self.warnings)
            .for_each(clean);
        for figure in &mut self.figures {
            [&mut figure.name, &mut figure.unit, &mut figure.note, &mut figure.reason]
                .into_iter()
                .for_each(clean);
        }
        let words =
            |(key, value): (String, String)| (one_line(&key).into_owned(), one_line(&value).into_owned());
        self.facts = self.facts.into_iter().map(words).collect();
        self
    }

    /// A figure by name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

/// Reads a JSON file that carries `schema`, and refuses newer ones before anything else about them.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, StoreError> {
    let fail = |source| StoreError::Json { path: path.to_owned(), source };
    refuse_newer(path, text)?;
    serde_json::from_str(text).map_err(fail)
}

/// Refuses a text whose `schema` is newer than ours; what is written in its place would lose its news.
pub(crate) fn refuse_newer(path: &Path, text: &str) -> Result<(), StoreError> {
    #[derive(Deserialize)]
    struct SchemaOnly {
        schema: u32,
    }
    let fail = |source| StoreError::Json { path: path.to_owned(), source };
    let SchemaOnly { schema: found } = serde_json::from_str(text).map_err(fail)?;
    if found > SCHEMA {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known: SCHEMA });
    }
    Ok(())
}

/// Replaces a JSON file whole: two spaces a level, keys in their declared order, a newline at the end.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|source| StoreError::Json { path: path.to_owned(), source })?;
    text.push(b'\n');
    atomic::write(path, &text)
}
