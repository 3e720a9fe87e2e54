//! Diagnosis of what a run wrote says what the run says.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use railtwin::diagnose::{Diagnosed, Inputs, diagnose};
use railtwin::{Question, Run};
use railtwin_records::Finding;
use railtwin_records::observation::OBSERVATION;

/// How far two confidences may be apart: they are worked out from the same records.
const BOUND: f64 = 1e-9;

fn regressions(begins: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/regressions");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(begins);
    let mut files: Vec<PathBuf> = files.filter(named).collect();
    files.sort();
    files
}

fn run(file: &Path, text: &str) -> Run {
    let question = Question::of_text(&file.display().to_string(), text, file.parent().unwrap());
    Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ())
}

fn of_folder(folder: &Path) -> Diagnosed {
    diagnose(Inputs::read(&[folder.to_owned()], "job").unwrap(), None, "job").unwrap()
}

/// Syndrome, when, suspects with shares, confidence: in an order that does not hang on how findings are sorted.
fn told(findings: &[Finding]) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = findings
        .iter()
        .map(|finding| {
            let suspect = |one: &railtwin_records::Suspect| {
                format!("{} {} {:.6}", one.component.kind(), one.component.name(), one.share)
            };
            let suspects: Vec<String> = finding.suspects.iter().map(suspect).collect();
            let (name, at, since) = (finding.syndrome.name(), finding.at_ns, finding.since);
            (format!("{name} at {at} since {since:?}: {}", suspects.join(", ")), finding.confidence)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// Thresholds of a scenario hold for its run folder too.
#[test]
fn a_run_folder_is_looked_at_with_its_own_thresholds() {
    let file = regressions("find-hang").remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    for limit in ["5 s", "60 s"] {
        let run = run(&file, &format!("{text}\n[telemetry.detectors]\nhang = \"{limit}\"\n"));
        let written = tempfile::tempdir().unwrap();
        let folder = written.path().join("run");
        run.write(&folder).unwrap();
        let (first, second) = (told(&run.telemetry.unwrap().findings), told(&of_folder(&folder).findings));
        assert!(!first.is_empty());
        assert_eq!(
            first.iter().map(|one| &one.0).collect::<Vec<_>>(),
            second.iter().map(|one| &one.0).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_run_folder_is_diagnosed_as_the_run_was() {
    let mut accusing = 0;
    for file in regressions("find-").into_iter().chain(regressions("fault-")) {
        let mut text = std::fs::read_to_string(&file).unwrap();
        if !text.contains("[telemetry]") {
            text.push_str("\n[telemetry]\nsteps = 60\ncounters = \"1 s\"\nprobes = \"2 s\"\n");
        }
        let run = run(&file, &text);
        let shown = file.display();
        // What cannot be replayed says so and has no telemetry.
        let Some(in_run) = &run.telemetry else {
            assert!(!run.info.warnings.is_empty(), "{shown}");
            continue;
        };
        let written = tempfile::tempdir().unwrap();
        let folder = written.path().join("run");
        run.write(&folder).unwrap();
        let again = of_folder(&folder);
        let (first, second) = (told(&in_run.findings), told(&again.findings));
        let names = |all: &[(String, f64)]| all.iter().map(|one| one.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&first), names(&second), "{shown}");
        for (first, second) in first.iter().zip(&second) {
            assert!(
                (first.1 - second.1).abs() <= BOUND,
                "{shown}: {} and {}: {}",
                first.1,
                second.1,
                first.0
            );
        }
        let end_s = (in_run.span_ns[1] - in_run.span_ns[0]) as f64 / 1e9;
        assert!((again.seconds - end_s).abs() < 1e-6, "{shown}: observed for {} of {end_s} s", again.seconds);
        accusing += usize::from(again.accusations() > 0);
    }
    assert!(accusing >= 3, "{accusing}: find-hang, find-slow-cable and find-slow-gpu accuse");
}

#[test]
fn a_rank_that_hangs_is_named_from_the_folder_and_not_without_the_end_of_observation() {
    let file = regressions("find-hang").remove(0);
    let run = run(&file, &std::fs::read_to_string(&file).unwrap());
    let written = tempfile::tempdir().unwrap();
    let folder = written.path().join("run");
    run.write(&folder).unwrap();
    let told = of_folder(&folder);
    assert_eq!(told.sentence(), "rank train/6: the others wait for it, confidence 0.95");
    assert!(told.tables().iter().any(|table| table.name == OBSERVATION));
    let payload = run.payload().unwrap();
    let chain = &payload["diagnosis"]["chain"];
    let culprit = chain["culprit"].as_u64().expect("the rank that never comes is waited for");
    assert_eq!(culprit, 6, "{chain}");
    // A folder of an older version has no such table: it is read, nobody is accused, and that is no bare "nothing".
    std::fs::remove_file(folder.join("observation.parquet")).unwrap();
    let inputs = Inputs::read(&[folder], "job").unwrap();
    let told = diagnose(inputs, None, "job").unwrap();
    assert_eq!(told.accusations(), 0);
    assert!(told.notes.iter().any(|note| note.contains("when its observation ended")), "{:?}", told.notes);
}

#[test]
fn a_table_that_is_torn_costs_that_table() {
    let file = regressions("find-hang").remove(0);
    let run = run(&file, &std::fs::read_to_string(&file).unwrap());
    let written = tempfile::tempdir().unwrap();
    let folder = written.path().join("run");
    run.write(&folder).unwrap();
    let tear = |name: &str| {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    };
    tear("messages.parquet");
    let told = of_folder(&folder);
    assert_eq!(
        told.sentence(),
        "rank train/6: the others wait for it, confidence 0.95; 1 table could not be read"
    );
    assert!(told.unread[0].source.ends_with("messages.parquet") && !told.is_well());
    // Without its operations there is nothing to look at, and that is an error with the reason.
    tear("rank_operations.parquet");
    let error = Inputs::read(&[folder], "job").unwrap_err().to_string();
    assert!(error.contains("holds no telemetry that can be read"), "{error}");
    assert!(error.contains("rank_operations"), "{error}");
}
