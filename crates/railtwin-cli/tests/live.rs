//! `railtwin diagnose` on live records of real ranks.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::path::{Path, PathBuf};

use harness::{Outcome, railtwin};
use railtwin_records::{Column, Table};
use railtwin_store::parquet_write::encode;
use serde_json::{Value, json};

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/live").join(name).canonicalize().unwrap()
}

fn diagnose(folder: &Path) -> (u8, Value) {
    let folder = folder.to_str().unwrap();
    let Outcome { status, out, notes } = railtwin(&["diagnose", folder, "--hang-limit", "5s", "--json"]);
    assert!(status < 2, "{notes}");
    (status, serde_json::from_str(&out).unwrap())
}

/// Kind, first suspect and its rank of each incident.
fn told(answer: &Value) -> Vec<(String, String, u64)> {
    let incidents = answer["incidents"].as_array().unwrap();
    let one = |incident: &Value| {
        let first = &incident["suspects"][0];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&incident["kind"]), text(&first["component"]["name"]), first["rank"].as_u64().unwrap())
    };
    incidents.iter().map(one).collect()
}

#[test]
fn a_folder_of_records_is_read_as_it_is() {
    for (name, kind, suspect, rank) in [
        ("kill-0", "killed-process", "job/6", 6),
        ("silent1-0", "silent-link", "rank-6/nic", 6),
        ("thr_up-0", "slow-link", "rank-0/nic", 0),
    ] {
        let folder = recording(name);
        let (status, answer) = diagnose(&folder);
        assert_eq!(told(&answer), [(kind.to_owned(), suspect.to_owned(), rank)], "{name}");
        assert_eq!((status, &answer["accusations"]), (1, &json!(1)), "{name}");
        let truth = std::fs::read_to_string(folder.join("truth.json")).unwrap();
        let truth: Value = serde_json::from_str(&truth).unwrap();
        let began_ns = truth["t"].as_u64().unwrap();
        let incident = &answer["incidents"][0];
        let after_s = |key: &str| (incident[key].as_u64().unwrap() as f64 - began_ns as f64) / 1e9;
        assert!((0.0..3.0).contains(&after_s("opened_at")), "{name}");
        if kind != "slow-link" {
            assert!((0.0..5.5).contains(&after_s("confirmed_at")), "{name}");
        }
        assert_eq!(answer["findings"][0]["at_ns"], incident["opened_at"], "{name}");
    }
}

#[test]
fn text_has_incidents_with_their_times() {
    let folder = recording("kill-0");
    let Outcome { status, out, .. } = railtwin(&["diagnose", folder.to_str().unwrap(), "--all"]);
    assert_eq!(status, 1);
    assert!(out.starts_with("rank job/6: died"), "{out}");
    assert!(out.contains("1. killed-process, opened at 1.5 s, confirmed at 1.5 s"), "{out}");
}

#[test]
fn what_is_damaged_or_of_a_later_version_is_told_and_the_rest_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..8 {
        let name = format!("r{rank}.jsonl");
        let mut text = std::fs::read_to_string(recording("kill-0").join(&name)).unwrap();
        if rank == 1 {
            text.insert_str(
                0,
                "{\"k\":\"hd\",\"t\":1,\"v\":7,\"rank\":1}\n{\"k\":\"later\",\"t\":2}\n{\"k\":\"hb\",\"t\"\n",
            );
        }
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let (_, answer) = diagnose(folder.path());
    assert_eq!(told(&answer).first().map(|one| one.2), Some(6));
    let file = &answer["files"][1];
    assert_eq!(file["skipped"]["count"], 1);
    assert!(file["skipped"]["first"][0].as_str().unwrap().starts_with("line 3"), "{file}");
    assert_eq!(file["notes"].as_array().unwrap().len(), 2, "{file}");
}

#[test]
fn a_parquet_file_of_records_is_read_without_a_run_folder() {
    let (mut ranks, mut lines) = (Vec::new(), Vec::new());
    for rank in 0..8_u32 {
        let text = std::fs::read_to_string(recording("silent1-0").join(format!("r{rank}.jsonl"))).unwrap();
        lines.extend(text.lines().map(str::to_owned));
        ranks.resize(lines.len(), rank);
    }
    let record = Column::coded("record", lines.iter().map(String::as_str));
    let table = Table::new("records", vec![Column::u32("rank", ranks), record]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("records.parquet"), encode(&table).unwrap()).unwrap();
    let (status, answer) = diagnose(folder.path());
    let lines = diagnose(&recording("silent1-0"));
    assert_eq!((status, told(&answer)), (lines.0, told(&lines.1)));
}

#[test]
fn records_of_two_jobs_in_a_call_are_refused() {
    let [one, other] = ["kill-0", "thr_up-0"].map(|name| recording(name).to_str().unwrap().to_owned());
    railtwin(&["diagnose", &one, &other]).assert_refused(&["hold live records of the same rank"]);
}

/// The job of the recordings with a fault, and a folder for its records.
fn simulated(folder: &Path, fault: &str) -> (String, String) {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/live");
    std::fs::copy(shipped.join("ring-of-eight.txt"), folder.join("ring-of-eight.txt")).unwrap();
    let text = std::fs::read_to_string(shipped.join("ring-of-eight.toml")).unwrap();
    let text = text.split("[expect]").next().unwrap().to_owned() + fault;
    let scenario = folder.join("job.toml");
    std::fs::write(&scenario, text).unwrap();
    (scenario.to_str().unwrap().to_owned(), folder.join("records").to_str().unwrap().to_owned())
}

#[test]
fn a_simulated_job_is_written_as_live_records_and_judged() {
    for (fault, kind, suspect) in [
        ("", "", ""),
        (
            "[[fault]]\nat = \"5 s\"\nrank = \"train/2\"\nkind = \"slow-gpu\"\nfactor = 2.0\n",
            "slow-compute",
            "job/2",
        ),
        ("[[fault]]\nat = \"5 s\"\nrank = \"train/2\"\nkind = \"hang\"\n", "stopped-process", "job/2"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (scenario, records) = simulated(folder.path(), fault);
        let outcome = railtwin(&["run", &scenario, "--no-folder", "--live-records", &records]);
        assert_eq!(outcome.status, 0, "{}", outcome.notes);
        let names = std::fs::read_dir(&records).unwrap().count();
        assert_eq!(names, 8, "a file for each rank");
        let (_, answer) = diagnose(Path::new(&records));
        let all: Vec<(String, String)> = told(&answer).into_iter().map(|one| (one.0, one.1)).collect();
        let wanted = (!kind.is_empty()).then(|| (kind.to_owned(), suspect.to_owned()));
        assert_eq!(all, Vec::from_iter(wanted), "{fault}");
        let again = railtwin(&["run", &scenario, "--no-folder", "--live-records", &records]);
        again.assert_refused(&["--live-records", "is not empty"]);
    }
}

#[test]
fn live_records_of_a_sweep_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fault = "[[fault]]\nat = \"5 s\"\nrank = \"train/2\"\nkind = \"slow-gpu\"\nfactor = [2.0, 3.0]\n";
    let (scenario, records) = simulated(folder.path(), fault);
    let outcome = railtwin(&["run", &scenario, "--no-folder", "--live-records", &records]);
    outcome.assert_refused(&["--live-records takes one point; this scenario has 2"]);
}
