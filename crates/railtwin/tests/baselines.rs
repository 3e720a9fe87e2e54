//! Baselines of latency: what surveys of one run say of another, loaded and unloaded apart (Meta RoCE section 6.4.1).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use railtwin::diagnose::{Diagnosed, Inputs, diagnose};
use railtwin::{Question, Run};
use railtwin_records::{Component, FaultKind, Finding, Syndrome};

/// The scenario of the incident; each part of its text is replaced by the other.
fn scene(changes: &[(&str, &str)]) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/control/switch-image.toml");
    let mut text = std::fs::read_to_string(file).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

/// Runs the first point (the image is old) or the second (it is new) and writes its folder.
fn written(folder: &Path, name: &str, point: usize, changes: &[(&str, &str)]) -> PathBuf {
    let text = scene(changes);
    let question = Question::of_text("switch-image.toml", &text, Path::new("."));
    let points = question.points().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let resolved = question.resolve(&points[point].scenario).unwrap_or_else(|error| panic!("{error}"));
    let path = folder.join(name);
    Run::of(resolved, &|| ()).write(&path).unwrap();
    path
}

fn beside(run: &Path, baseline: &Path) -> Diagnosed {
    let mut inputs = Inputs::read(&[run.to_owned()], "job").unwrap();
    inputs.compare_with(baseline).unwrap();
    diagnose(inputs, None, "job").unwrap()
}

fn accused(told: &Diagnosed) -> Vec<&Finding> {
    told.findings.iter().filter(|finding| finding.accuses()).collect()
}

/// The same in packets, at sizes that take moments.
const PACKETS: [(&str, &str); 4] = [
    ("seed = 1", "engine = \"packet\"\nseed = 1"),
    ("500 MB", "2 MB"),
    ("probes = \"20 ms\"", "probes = \"100 us\""),
    ("steps = 20", "steps = 12"),
];

#[test]
fn an_image_that_takes_longer_is_found_by_baselines_alone_in_both_engines() {
    let folder = tempfile::tempdir().unwrap();
    for (name, changes) in [("flow", &[][..]), ("packet", &PACKETS[..])] {
        let old = written(folder.path(), &format!("{name}-old"), 0, changes);
        let new = written(folder.path(), &format!("{name}-new"), 1, changes);
        // Who knows no baseline learns that all has always taken so long.
        let alone = diagnose(Inputs::read(std::slice::from_ref(&new), "job").unwrap(), None, "job").unwrap();
        assert_eq!(alone.accusations(), 0, "{name} {:?}", alone.findings);
        assert_eq!(beside(&old, &old).accusations(), 0, "{name}");
        let told = beside(&new, &old);
        let [found] = accused(&told)[..] else { panic!("{name} {:?}", told.findings) };
        assert_eq!(found.syndrome, Syndrome::Latency, "{name}");
        assert_eq!(found.faults, [FaultKind::Latency], "{name}");
        assert_eq!(found.suspects[0].component, Component::Switch("spine-2".into()), "{name}");
        let added = found.evidence[0].value;
        assert!((added - 4_000.0).abs() < 400.0, "{name} {added}");
    }
}

/// Uplinks carry half of what they can to the last bit while the job sends: that is not more than half.
#[test]
fn a_link_at_half_of_its_capacity_is_not_loaded() {
    let text = scene(&[]);
    let question = Question::of_text("switch-image.toml", &text, Path::new("."));
    let run = Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ());
    let used = run.figure("leaf_uplink_utilization_max").unwrap();
    assert!((0.49..0.5).contains(&used), "{used}");
    let surveys = &run.simulation.as_ref().unwrap().log.surveys;
    let answers: Vec<_> = surveys.iter().flat_map(|survey| &survey.answers).collect();
    assert!(answers.len() > 500 && answers.iter().all(|answer| !answer.loaded), "{}", answers.len());
}

#[test]
fn a_run_that_is_merely_loaded_is_not_accused() {
    let folder = tempfile::tempdir().unwrap();
    // Few bytes between long waits: nothing is loaded. Then all hosts of all leaves send without end.
    for (name, packets) in [("flow", &[][..]), ("packet", &PACKETS[..])] {
        let quiet = [packets, &[("hosts = 8", "hosts = 2")]].concat();
        let busy = [packets, &[("hosts = 8", "hosts = 16"), ("uplinks = 4", "uplinks = 2")]].concat();
        let narrow = [&quiet[..], &[("uplinks = 4", "uplinks = 2")]].concat();
        let healthy = written(folder.path(), &format!("{name}-quiet"), 0, &without_fault(&narrow));
        let loaded = written(folder.path(), &format!("{name}-busy"), 0, &without_fault(&busy));
        let told = beside(&loaded, &healthy);
        let delay = |told: &Diagnosed| told.batch.probes.loaded.iter().any(|&loaded| loaded);
        assert!(delay(&told), "{name}: somebody met load");
        assert_eq!(told.accusations(), 0, "{name} {:?}", told.findings);
    }
}

/// The spine of the fault is there with two uplinks too.
fn without_fault<'a>(changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [changes, &[("spine-2", "spine-1")]].concat()
}

#[test]
fn a_folder_without_probes_enough_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let run = written(folder.path(), "run", 0, &[]);
    let refused = |baseline: &Path| {
        let mut inputs = Inputs::read(std::slice::from_ref(&run), "job").unwrap();
        inputs.compare_with(baseline).unwrap_err().to_string()
    };
    let never = written(folder.path(), "never", 0, &[("probes = \"20 ms\"", "probes = \"900 s\"")]);
    let few = written(folder.path(), "few", 0, &[("probes = \"20 ms\"", "probes = \"200 ms\"")]);
    for (baseline, says) in [
        (never.as_path(), "no telemetry"),
        (&few, "no path was answered in 5 rounds"),
        (Path::new("nowhere"), "nowhere"),
    ] {
        let error = refused(baseline);
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_damaged_baseline_is_an_error_and_never_a_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let run = written(folder.path(), "run", 0, &[]);
    let damaged = folder.path().join("damaged");
    std::fs::create_dir(&damaged).unwrap();
    for file in std::fs::read_dir(&run).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), damaged.join(file.file_name())).unwrap();
    }
    let inputs = || Inputs::read(std::slice::from_ref(&run), "job").unwrap();
    for table in ["probes", "queue_pairs", "ranks"] {
        let file = damaged.join(format!("{table}.parquet"));
        let whole = std::fs::read(&file).unwrap();
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
        let strategy = (any::<prop::sample::Index>(), 1_u8..=255, any::<bool>());
        let outcome = runner.run(&strategy, |(at, flip, cut)| {
            let mut bytes = whole.clone();
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] ^= flip;
            }
            std::fs::write(&file, &bytes).unwrap();
            let error = inputs().compare_with(&damaged).map_err(|error| error.to_string());
            prop_assert!(error.as_ref().is_err_and(|text| !text.contains('\n')), "{error:?}");
            Ok(())
        });
        outcome.unwrap();
        std::fs::write(&file, &whole).unwrap();
        inputs().compare_with(&damaged).unwrap();
    }
}
