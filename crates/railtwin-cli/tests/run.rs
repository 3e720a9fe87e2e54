//! `railtwin run`: its run folder, what it prints where, and when it runs again.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::process::Command;

use harness::{PROGRAM, folder_of, railtwin, shown, small, written};
use railtwin_store::{RunFolder, Status};

#[test]
fn a_run_folder_is_complete_and_reused() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "two.toml", &small("two", ""));
    let runs = shown(&folder.path().join("runs"));
    let call = ["run", &scenario, "--out", &runs, "--json"];
    let first = railtwin(&call).json();
    assert!(first["runs"][0]["wall_s"].is_number());
    let run = RunFolder::open(&folder_of(&first, 0)).unwrap();
    assert_eq!(run.info().unwrap().status, Status::Complete);
    let tables = ["actions", "exposed", "flows", "incidents", "links", "operations", "steps"];
    assert_eq!(run.table_names().unwrap(), tables);
    assert_eq!(run.table("steps").unwrap().rows(), 1);
    let again = railtwin(&call).json();
    assert!(again["runs"][0]["wall_s"].is_null(), "a complete folder is not run again");
    assert_eq!(again["figures"], first["figures"]);
    assert!(railtwin(&[&call[..], &["--force"]].concat()).json()["runs"][0]["wall_s"].is_number());

    // A run that was cut off is run again.
    let mut info = run.info().unwrap();
    info.status = Status::Running;
    run.write_info(&info).unwrap();
    assert!(railtwin(&call).json()["runs"][0]["wall_s"].is_number());
    assert_eq!(run.info().unwrap().status, Status::Complete);
}

#[test]
fn data_goes_to_one_stream_and_all_else_to_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "two.toml", &small("two", ""));
    let outcome =
        Command::new(PROGRAM).args(["run", &scenario, "--json"]).current_dir(folder.path()).output();
    let outcome = outcome.unwrap();
    assert!(outcome.status.success());
    let answer: serde_json::Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert!(answer["figures"]["busbw_mean"].as_f64().unwrap() > 0.0);
    let run = folder.path().join(folder_of(&answer, 0));
    assert!(run.starts_with(folder.path().join("runs")) && run.join("report.html").is_file());
    let text = railtwin(&["run", &scenario, "--no-folder"]);
    assert_eq!((text.status, text.notes.as_str()), (0, ""));
    assert!(text.out.contains("busbw_mean") && !text.out.contains("report.html"));
}

#[test]
fn a_missed_expectation_is_told_and_the_run_kept() {
    let folder = tempfile::tempdir().unwrap();
    let text = small("two", "[expect]\nbusbw_mean = { at_least = \"900 Tbps\" }\n");
    let scenario = written(folder.path(), "two.toml", &text);
    let runs = folder.path().join("runs");
    for _ in 0..2 {
        let outcome = railtwin(&["run", &scenario, "--out", &shown(&runs)]);
        assert_eq!(outcome.status, 1);
        assert!(outcome.notes.contains("busbw_mean is ") && outcome.out.contains("report"));
    }
    assert_eq!(std::fs::read_dir(&runs).unwrap().count(), 1);
}

#[test]
fn a_place_that_cannot_be_written_is_told_with_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "two.toml", &small("two", ""));
    let file = written(folder.path(), "file", "");
    for verb in ["run", "sweep"] {
        let outcome = railtwin(&[verb, &scenario, "--out", &format!("{file}/runs")]);
        assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{}", outcome.notes);
        assert!(outcome.notes.contains("runs") && outcome.notes.contains("cannot"), "{}", outcome.notes);
    }
}

#[test]
fn what_a_result_rests_on_and_what_is_wrong_with_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let collective = "collective = { kind = \"all-reduce\", bytes = \"64 MiB\" }";
    let text = small("two", "");
    assert!(text.contains(collective));
    let workload = "workload = { recipe = \"llama-7b\", dp = 16, memory = \"allow\" }";
    let scenario = written(folder.path(), "two.toml", &text.replace(collective, workload));
    let efficiency = "efficiency 0.5, the default, of 989.5 TFLOP/s (job.workload.efficiency)";
    let outcome = railtwin(&["run", &scenario, "--no-folder"]);
    assert_eq!(outcome.status, 0, "{}", outcome.notes);
    assert!(outcome.out.contains(&format!("\nassumed  {efficiency}\n")), "{}", outcome.out);
    assert!(
        outcome.out.contains("\nwarning  job job-0: a GPU of stage 0 needs 108.7 GiB"),
        "{}",
        outcome.out
    );
    assert!(outcome.out.contains("\ngpu_memory_optimizer"), "{}", outcome.out);
    let answer = railtwin(&["run", &scenario, "--no-folder", "--json"]).json();
    assert_eq!(answer["runs"][0]["assumed"][0], efficiency);
    assert!(answer["figures"]["gpu_memory_share"].as_f64().unwrap() > 1.0);
}

#[test]
fn the_headline_comes_first_in_text_and_json_and_from_a_folder_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "two.toml", &small("two", ""));
    let runs = shown(&folder.path().join("runs"));
    let call = ["run", &scenario, "--out", &runs];
    let answers: Vec<_> = (0..2).map(|_| railtwin(&[&call[..], &["--json"]].concat()).json()).collect();
    let headline = answers[0]["runs"][0]["headline"].as_str().unwrap();
    assert!(headline.starts_with("two: ") && headline.contains(" of bus bandwidth. "), "{headline}");
    assert_eq!(answers[1]["runs"][0]["headline"], headline);
    assert!(answers[1]["runs"][0]["wall_s"].is_null(), "nothing was simulated again");
    assert_eq!(railtwin(&call).out.lines().next(), Some(headline));
}
