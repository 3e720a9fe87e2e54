//! A question on disk: the scenario's text, the folder that its paths are relative to, what it reads.
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use railtwin_engine::{Case, Extent, Own};
use railtwin_fabric::Fabric;
use railtwin_formats::{JobList, job_list};
use railtwin_scenario::{EngineName, Scenario, Source, SweepPoint, expand_on};
use railtwin_store::input::{self, Kind};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// The text of a scenario and where it stands.
#[derive(Clone, Debug)]
pub struct Question {
    /// Name that errors show.
    pub file: String,
    /// The text.
    pub text: String,
    folder: PathBuf,
    engine: Option<EngineName>,
    threads: u32,
    files: &'static [(&'static str, &'static [u8])],
}

/// A point of a question, resolved.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The scenario.
    pub scenario: Scenario,
    /// The case that engines run.
    pub case: Case,
    /// Canonical text of the scenario and the hashes of the files that it reads.
    pub case_text: String,
    /// SHA-256 of `case_text`, 64 hex digits.
    pub case_hash: String,
    /// Files that it reads, by the paths that the scenario names.
    pub files: Vec<String>,
    /// Threads that one run of the packet engine uses; no part of the case, the result does not depend on it.
    pub threads: u32,
    /// Rows of the case, counted where they are first asked for. Another case has others.
    pub(crate) extent: OnceLock<Extent>,
}

impl Resolved {
    /// Has the fabric of another point where both are the same, so that it is there once.
    pub fn share_fabric(&mut self, other: &Self) {
        if self.case.fabric == other.case.fabric {
            self.case.fabric = Arc::clone(&other.case.fabric);
        }
    }

    /// Rows of the case: counting takes as long as the shapes of all its communicators.
    pub(crate) fn extent(&self) -> &Extent {
        self.extent.get_or_init(|| Extent::of(&self.case))
    }

    /// The same with controllers of one's own. Their names are part of what names the run; what they do is not, so who
    /// keeps runs must know which code made them.
    ///
    /// # Errors
    /// [`Error::Argument`] where switches do not hash source ports under the case's balancer, and for a name that is
    /// empty, there twice, or that of a controller of ours.
    pub fn with_controllers(mut self, own: Own) -> Result<Self, Error> {
        let balancer = self.case.routing.balancer;
        if let Some(why) = Own::refused_by(balancer) {
            return Err(Error::Argument(format!(
                "controllers cannot steer under balancer {balancer}, where {why}; write one of {}",
                Own::balancers()
            )));
        }
        if let Some(trouble) = own.trouble_of_names() {
            return Err(Error::Argument(trouble));
        }
        let names = own.names();
        // Keys that only controllers read are read now.
        let before = self.scenario.idle_keys(false);
        self.case.warnings.retain(|warning| !before.contains(warning));
        self.case.warnings.extend(self.scenario.idle_keys(true));
        self.case_text.push_str(&format!("# controllers {}\n", names.join(", ")));
        self.case_hash = hex(&Sha256::digest(self.case_text.as_bytes()));
        self.case.own = Some(own);
        Ok(self)
    }
}

impl Question {
    /// Reads a scenario file. What does not begin a line with `schema =` is none: nothing else is said of it, as it may
    /// be anybody's file, and errors of a scenario quote it.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read or is no scenario.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let failed = |problem: String| Error::File { path: path.display().to_string(), problem };
        let text = input::read_text(path).map_err(|error| failed(error.to_string()))?;
        if !is_scenario(&text) {
            return Err(failed("it is no scenario, as none of its lines begins with `schema =`".to_owned()));
        }
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        Ok(Self::of_text(&path.display().to_string(), &text, &folder))
    }

    /// A question from text; paths in it are relative to `folder`.
    pub fn of_text(file: &str, text: &str, folder: &Path) -> Self {
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
            folder: folder.to_path_buf(),
            engine: None,
            threads: 1,
            files: &[],
        }
    }

    /// Gives the question files by the paths that its text names, before any on disk.
    pub fn with_files(self, files: &'static [(&'static str, &'static [u8])]) -> Self {
        Self { files, ..self }
    }

    /// Asks an engine as if the text named it; none asks those that the text names.
    pub fn with_engine(self, engine: Option<EngineName>) -> Self {
        Self { engine, ..self }
    }

    /// Gives each run of the packet engine that many threads, 1 where nothing is said. The flow engine does not ask.
    pub fn with_threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    /// All points of the sweep; one for a plain scenario.
    ///
    /// # Errors
    /// [`Error::Scenario`] with every problem of the text.
    pub fn points(&self) -> Result<Vec<SweepPoint>, Error> {
        Ok(expand_on(self.engine, &self.file, &self.text)?)
    }

    /// The bytes of a file that the text names.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        let given = self.files.iter().find(|(name, _)| *name == path).map(|(_, bytes)| bytes.to_vec());
        match given {
            Some(bytes) => Ok(bytes),
            None => input::read(&self.folder.join(path), Kind::Data).map_err(|error| error.to_string()),
        }
    }

    /// The fabric of a point alone.
    pub fn fabric(&self, scenario: &Scenario) -> Result<Fabric, Error> {
        Reading::of(self).fabric(scenario)
    }

    /// Resolves one point.
    ///
    /// # Errors
    /// [`Error::Scenario`] with the place of what cannot be resolved.
    pub fn resolve(&self, scenario: &Scenario) -> Result<Resolved, Error> {
        let reading = Reading::of(self);
        let source = Source { file: &self.file, text: &self.text };
        let case = scenario.resolve(source, &|path: &str| reading.read(path))?;
        let CaseName { text: case_text, hash: case_hash, files } = reading.name_of(scenario);
        Ok(Resolved {
            scenario: scenario.clone(),
            case,
            case_text,
            case_hash,
            files,
            threads: self.threads,
            extent: OnceLock::new(),
        })
    }
}

/// The files that a point reads, each with its hash, for the name of its run.
pub(crate) struct Reading<'a> {
    question: &'a Question,
    hashes: RefCell<BTreeMap<String, String>>,
}

/// What names a case.
pub(crate) struct CaseName {
    /// Canonical text of the scenario and the hashes of the files that it reads.
    pub(crate) text: String,
    /// SHA-256 of the text, 64 hex digits.
    pub(crate) hash: String,
    /// Files that it reads, by the paths that the scenario names.
    pub(crate) files: Vec<String>,
}

impl<'a> Reading<'a> {
    pub(crate) fn of(question: &'a Question) -> Self {
        Self { question, hashes: RefCell::default() }
    }

    /// What a file holds, unpacked where it is packed.
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let bytes = self.question.bytes(path)?;
        self.hashes.borrow_mut().insert(path.to_owned(), hex(&Sha256::digest(&bytes)));
        unpacked(bytes)
    }

    /// The fabric of a point.
    pub fn fabric(&self, scenario: &Scenario) -> Result<Fabric, Error> {
        let source = Source { file: &self.question.file, text: &self.question.text };
        Ok(scenario.fabric(source, &|path: &str| self.read(path))?)
    }

    /// The list of jobs in the file `path`.
    pub(crate) fn job_list(&self, key: &str, path: &str) -> Result<JobList, Error> {
        let failed = |problem: String| {
            Error::Argument(format!(
                "{key}: cannot read {path}: {problem}; name a list of jobs, plain or as gzip: a CSV with the columns \
                 name,submitted,gpus,duration, the pods of openb or what `sacct --parsable2` prints"
            ))
        };
        let bytes = self.read(path).map_err(failed)?;
        Ok(job_list(path, &bytes)?)
    }

    /// The name of a point that has read all that it reads.
    pub(crate) fn name_of(self, scenario: &Scenario) -> CaseName {
        let (mut text, hashes) = (scenario.to_toml(), self.hashes.into_inner());
        for (path, hash) in &hashes {
            text.push_str(&format!("# {path} sha256 {hash}\n"));
        }
        let hash = hex(&Sha256::digest(text.as_bytes()));
        CaseName { text, hash, files: hashes.into_keys().collect() }
    }
}

/// Whether a text shows itself as a scenario: a line with the key `schema`.
pub fn is_scenario(text: &str) -> bool {
    let is_key = |line: &str| {
        let line = line.trim_start();
        let rest = line.strip_prefix("schema").or_else(|| line.strip_prefix("\"schema\""));
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    text.trim_start_matches('\u{feff}').lines().any(is_key)
}

/// What a file holds, unpacked where it is packed.
fn unpacked(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    match input::unpacked(&bytes).map_err(|error| error.to_string())? {
        Cow::Owned(plain) => Ok(plain),
        Cow::Borrowed(_) => Ok(bytes),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
