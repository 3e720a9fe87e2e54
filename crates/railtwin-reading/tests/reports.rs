//! Public reports of people who run clusters, with the right answer of each, and inputs that look like them and are well.
use std::path::Path;

use railtwin_reading::{Diagnosed, Inputs, diagnosis_of};

/// Diagnoses files by name and text.
fn of(files: &[(&str, &str)]) -> Diagnosed {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    diagnosis_of(Inputs::read(&[folder.path().to_owned()], "job").unwrap(), None, "job").unwrap()
}

/// Diagnoses a report by the begin of its name.
fn report(begin: &str) -> Diagnosed {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/reports");
    let mut entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let path = entries.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(begin)).unwrap();
    diagnosis_of(Inputs::read(&[path], "job").unwrap(), None, "job").unwrap()
}

/// Names of all suspects of findings that accuse.
fn accused(told: &Diagnosed) -> Vec<String> {
    let accusing = told.findings.iter().filter(|finding| finding.accuses());
    accusing.flat_map(|one| one.suspects.iter().map(|suspect| suspect.component.name().to_owned())).collect()
}

#[test]
fn print_all() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/reports");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let told = diagnosis_of(Inputs::read(&[path.clone()], "job").unwrap(), None, "job").unwrap();
        println!(
            "=== {} well={} accused={:?}",
            path.file_name().unwrap().to_string_lossy(),
            told.is_well(),
            accused(&told)
        );
        for line in told.screen() {
            println!("{line}");
        }
        for note in &told.notes {
            println!("note: {note}");
        }
    }
    let _ = (of(&[("a.log", "x")]), report("01"));
}
