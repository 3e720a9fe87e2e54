//! A question on disk: the scenario's text, the folder that its paths are relative to, what it reads.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use railtwin_engine::Case;
use railtwin_scenario::{EngineName, Scenario, Source, SweepPoint, expand_on};
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
    /// Threads that one run of the packet engine uses; no part of the case, the result does not depend on it.
    pub threads: u32,
}

impl Question {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::File { path: path.display().to_string(), problem: error.to_string() })?;
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

    /// Resolves one point.
    ///
    /// # Errors
    /// [`Error::Scenario`] with the place of what cannot be resolved.
    pub fn resolve(&self, scenario: &Scenario) -> Result<Resolved, Error> {
        let hashes = RefCell::new(BTreeMap::new());
        let read = |path: &str| {
            let given = self.files.iter().find(|(name, _)| *name == path).map(|(_, bytes)| bytes.to_vec());
            let bytes = match given {
                Some(bytes) => bytes,
                None => std::fs::read(self.folder.join(path)).map_err(|error| error.to_string())?,
            };
            hashes.borrow_mut().insert(path.to_owned(), hex(&Sha256::digest(&bytes)));
            Ok(bytes)
        };
        let source = Source { file: &self.file, text: &self.text };
        let case = scenario.resolve(source, &read)?;
        let mut case_text = scenario.to_toml();
        for (path, hash) in hashes.into_inner() {
            case_text.push_str(&format!("# {path} sha256 {hash}\n"));
        }
        let case_hash = hex(&Sha256::digest(case_text.as_bytes()));
        Ok(Resolved { scenario: scenario.clone(), case, case_text, case_hash, threads: self.threads })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
