//! Every small scenario runs and meets what it expects; every reference scenario resolves.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use railtwin::{Question, Run};

/// The scenario files of a folder, sorted.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "toml"));
    files.sort();
    files
}

/// What is wrong with those scenarios of a folder whose text is wanted, one line each.
fn broken(folder: &str, wanted: fn(&str) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for file in files(folder) {
        let question = Question::read(&file).unwrap();
        if !wanted(&question.text) {
            continue;
        }
        let points = match question.points() {
            Ok(points) => points,
            Err(error) => {
                broken.push(format!("{}: {error}", file.display()));
                continue;
            }
        };
        for point in points {
            let name = format!("{} {:?}", point.scenario.name, point.label);
            if Some(point.scenario.name.as_str()) != file.file_stem().and_then(|stem| stem.to_str()) {
                broken.push(format!("{name}: the name is not that of {}", file.display()));
            }
            if point.scenario.expect.is_empty() {
                broken.push(format!("{name}: nothing is expected"));
            }
            match question.resolve(&point.scenario) {
                Err(error) => broken.push(format!("{name}: {error}")),
                Ok(resolved) => {
                    let run = Run::of(resolved, &|| ());
                    broken.extend(
                        run.unexpected().iter().map(|u| {
                            format!("{name}: {} is {:?}, expected {}", u.figure, u.value, u.expected)
                        }),
                    );
                }
            }
        }
    }
    broken
}

#[test]
fn faults_of_the_papers_cost_what_they_are_expected_to() {
    let broken = broken("papers", |text| text.contains("[[fault]]") && text.contains("[expect]"));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_smallest_scenarios_meet_their_closed_forms() {
    assert!(files("smallest").len() >= 10);
    let broken = broken("smallest", |_| true);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn what_once_was_wrong_stays_right() {
    assert!(!files("regressions").is_empty());
    let broken = broken("regressions", |_| true);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_reference_scenarios_resolve() {
    assert!(!files("reference").is_empty());
    for file in files("reference") {
        let question = Question::read(&file).unwrap();
        for point in question.points().unwrap() {
            let resolved = question.resolve(&point.scenario).unwrap();
            assert!(resolved.case.work.operations > 0, "{}", file.display());
        }
    }
}
