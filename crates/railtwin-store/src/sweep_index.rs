//! The folder of a sweep: which cases there are, which run each one is, and which are done.
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use railtwin_records::SCHEMA;
use serde::{Deserialize, Serialize};

use crate::belongings;
use crate::error::{StoreError, check_name};
use crate::input;
use crate::lock::Lock;
use crate::printable::one_line;
use crate::run_folder::RunFolder;
use crate::run_info::{Status, read_json, refuse_newer, write_json};

/// Cases of the sweep and how far each has come.
pub const SWEEP_FILE: &str = "sweep.json";

/// The value of one axis of a sweep at one case.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisValue {
    /// The key of the scenario, such as `routing.balancer`.
    pub axis: String,
    /// Its value as text, such as `c4p`.
    pub value: String,
}

/// One case of a sweep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepCase {
    /// Values of the axes, in the scenario's order.
    pub label: Vec<AxisValue>,
    /// Its run, and the name of the run's folder within the sweep folder.
    pub run_id: String,
    /// How far it has come.
    pub status: Status,
}

impl SweepCase {
    /// A case that waits; `label` holds pairs of axis and value.
    pub fn waiting(label: &[(&str, &str)], run_id: &str) -> Self {
        let value = |(axis, value): &(&str, &str)| AxisValue { axis: (*axis).into(), value: (*value).into() };
        let label = label.iter().map(value).collect();
        Self { label, run_id: run_id.to_owned(), status: Status::Waiting }
    }
}

/// The label in one line: `routing.balancer = c4p, seed = 7`.
impl fmt::Display for SweepCase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<_> = self.label.iter().map(|at| format!("{} = {}", at.axis, at.value)).collect();
        out.write_str(&values.join(", "))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepFile {
    schema: u32,
    name: String,
    cases: Vec<SweepCase>,
}

/// A sweep folder: `sweep.json` and one run folder per case, named by its run id.
///
/// One process writes the index, and holds the folder's lock as long as a clone of it lives; the run folders are the
/// truth that it is brought up to date with when taken up.
#[derive(Clone, Debug)]
pub struct SweepIndex {
    path: PathBuf,
    name: String,
    cases: Vec<SweepCase>,
    /// Of who runs the sweep.
    _lock: Option<Lock>,
}

impl SweepIndex {
    /// Begins a sweep, or takes up the one that is there: cases whose run is complete stay complete.
    ///
    /// The cases are those given, in their order; a case that is no longer asked for leaves the index, but its run
    /// folder stays, and is found again when the case returns.
    ///
    /// # Errors
    /// [`StoreError::SameCase`] when two cases are one run, [`StoreError::BadName`] for a run id that cannot be
    /// a folder, [`StoreError::Busy`] when another process runs the sweep, [`StoreError::NewerSchema`],
    /// [`StoreError::Json`], [`StoreError::Io`].
    pub fn resume(path: &Path, name: &str, cases: Vec<SweepCase>) -> Result<Self, StoreError> {
        let mut first_of: BTreeMap<&str, &SweepCase> = BTreeMap::new();
        for case in &cases {
            check_name(path, &case.run_id, "run")?;
            if let Some(first) = first_of.insert(&case.run_id, case) {
                return Err(StoreError::SameCase {
                    path: path.to_owned(),
                    first: first.to_string(),
                    second: case.to_string(),
                    run_id: case.run_id.clone(),
                });
            }
        }
        fs::create_dir_all(path).map_err(StoreError::io(path, "make the sweep folder"))?;
        let file = path.join(SWEEP_FILE);
        if let Some(text) = read_text(&file)? {
            refuse_newer(&file, &text)?;
        }
        let lock = Some(Lock::of(path)?);
        let mut index = Self { path: path.to_owned(), name: name.to_owned(), cases, _lock: lock };
        index.look();
        index.write()?;
        Ok(index)
    }

    /// Opens a sweep folder to look at it; nothing is written.
    ///
    /// # Errors
    /// [`StoreError::NotASweepFolder`], [`StoreError::NewerSchema`], [`StoreError::Json`], [`StoreError::Io`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = path.join(SWEEP_FILE);
        let absent = || StoreError::NotASweepFolder { path: path.to_owned() };
        let text = read_text(&file)?.ok_or_else(absent)?;
        let is_held = Lock::is_held(path);
        let SweepFile { name, mut cases, .. } = read_json(&file, &text)?;
        for case in &mut cases {
            check_name(path, &case.run_id, "run")?;
            if case.status == Status::Running && is_held == Some(false) {
                case.status = Status::Interrupted;
            }
            for value in &mut case.label {
                *value = AxisValue {
                    axis: one_line(&value.axis).into_owned(),
                    value: one_line(&value.value).into_owned(),
                };
            }
        }
        Ok(Self { path: path.to_owned(), name: one_line(&name).into_owned(), cases, _lock: None })
    }

    /// Takes away the run folders of all cases, to run them again.
    ///
    /// # Errors
    /// Those of [`RunFolder::remove`]; nothing is removed when one of the folders holds what railtwin did not write.
    pub fn remove_runs(&mut self) -> Result<(), StoreError> {
        let folders = self.cases.iter().map(|case| RunFolder::find(&self.run_path(case)));
        let folders: Vec<RunFolder> = folders.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        folders.iter().try_for_each(|folder| belongings::ours(folder.path()).map(|_| ()))?;
        folders.into_iter().try_for_each(RunFolder::remove)?;
        self.look();
        self.write()
    }

    /// Name of the sweep's scenario.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All cases in their order.
    pub fn cases(&self) -> &[SweepCase] {
        &self.cases
    }

    /// The cases that have no complete run yet.
    pub fn pending(&self) -> impl Iterator<Item = &SweepCase> {
        self.cases.iter().filter(|case| case.status != Status::Complete)
    }

    /// The folder of a case's run.
    pub fn run_path(&self, case: &SweepCase) -> PathBuf {
        self.path.join(&case.run_id)
    }

    /// Notes how far a case has come.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Io`].
    pub fn set_status(&mut self, run_id: &str, status: Status) -> Result<(), StoreError> {
        let count = self.cases.len();
        let Some(case) = self.cases.iter_mut().find(|case| case.run_id == run_id) else {
            return Err(StoreError::NoSuchRun { path: self.path.clone(), run_id: run_id.to_owned(), count });
        };
        case.status = status;
        self.write()
    }

    /// Takes every status from the run folders. Nothing runs yet, so what says it runs was interrupted; a run
    /// folder that cannot be read counts as interrupted too, and is told of when the case runs again.
    fn look(&mut self) {
        for case in &mut self.cases {
            let folder = self.path.join(&case.run_id);
            let info = RunFolder::find(&folder).and_then(|run| run.map(|run| run.info()).transpose());
            case.status = match info {
                Ok(None) => Status::Waiting,
                Ok(Some(info)) if info.run_id == case.run_id && info.status == Status::Complete => {
                    Status::Complete
                }
                Ok(Some(_)) | Err(_) => Status::Interrupted,
            };
        }
    }

    fn write(&self) -> Result<(), StoreError> {
        let file = SweepFile { schema: SCHEMA, name: self.name.clone(), cases: self.cases.clone() };
        write_json(&self.path.join(SWEEP_FILE), &file)
    }
}

fn read_text(file: &Path) -> Result<Option<String>, StoreError> {
    match input::read_text(file) {
        Ok(text) => Ok(Some(text)),
        Err(problem) if problem.kind() == ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(StoreError::io(file, "read")(problem)),
    }
}
