//! Files in, answer out.
#![allow(clippy::disallowed_methods, reason = "a test reads and writes files")]
use std::path::{Path, PathBuf};

use railtwin_reading::{Diagnosed, Inputs, diagnosis_of};
use railtwin_records::Finding;

/// The answer to files with these names and texts.
pub fn diagnose(files: &[(String, String)]) -> Diagnosed {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    read(folder.path())
}

/// The answer to one file.
pub fn of_text(name: &str, text: &str) -> Diagnosed {
    diagnose(&[(name.to_owned(), text.to_owned())])
}

/// The answer to a file or folder.
pub fn read(path: &Path) -> Diagnosed {
    let inputs = Inputs::read(&[path.to_owned()], "job").expect("inputs");
    diagnosis_of(inputs, None, "job").expect("an answer")
}

/// A file or folder of `data/telemetry/reports`.
pub fn report(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/reports").join(name)
}

/// The text of such a file.
pub fn report_text(name: &str) -> String {
    std::fs::read_to_string(report(name)).expect("a report")
}

/// Names of the suspects of findings that accuse.
pub fn accused(answer: &Diagnosed) -> Vec<String> {
    let accusing = answer.findings.iter().filter(|finding| finding.accuses());
    accusing
        .flat_map(|finding| &finding.suspects)
        .map(|suspect| suspect.component.name().to_owned())
        .collect()
}

/// Findings that name a component.
pub fn naming<'a>(answer: &'a Diagnosed, name: &str) -> Vec<&'a Finding> {
    let names = |finding: &&Finding| finding.suspects.iter().any(|one| one.component.name() == name);
    answer.findings.iter().filter(names).collect()
}

/// Asserts that the answer finds nothing and has status 0.
#[track_caller]
pub fn assert_silent(answer: &Diagnosed) {
    assert!(answer.findings.is_empty(), "{:#?}", answer.findings);
    assert!(answer.is_well(), "{}", answer.sentence());
}
