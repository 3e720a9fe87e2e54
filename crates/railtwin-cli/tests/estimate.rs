//! `--estimate`: what a verb would take, printed; nothing runs and nothing is written.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use serde_json::Value;

use crate::harness::{railtwin, shown, written};

const JOB: &str = "schema = 1\nname = \"a\"\nfabric = { preset = \"fat-tree\", k = 4 }\n\
                   job = [{ gpus = 16, workload = { traffic = \"shift\", shift = 5, bytes = \"1 MB\" } }]\n";

fn json(call: &[&str]) -> Value {
    let outcome = railtwin(&[call, &["--estimate=json"]].concat());
    assert_eq!(outcome.status, 0, "{call:?}: {}", outcome.notes);
    serde_json::from_str(&outcome.out).unwrap()
}

#[test]
fn verbs_say_what_they_take_and_do_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "a.toml", JOB);
    let (runs, paths) = (folder.path().join("runs"), folder.path().join("paths.csv"));
    let (out, output) = (shown(&runs), shown(&paths));
    let calls: [&[&str]; 11] = [
        &["run", &scenario, "--out", &out],
        &["run", &scenario, "--out", &out, "--engine", "packet"],
        &["sweep", &scenario, "--out", &out],
        &["interference", &scenario],
        &["impact", &scenario, "leaf-0"],
        &["schedule", &scenario, "--what-if"],
        &["paths", &scenario, "--output", &output],
        &["diagnose", &scenario],
        &["design", "hpn"],
        &["score"],
        &["schema"],
    ];
    for call in calls {
        let cost = json(call);
        assert!(cost["bytes"].as_f64().unwrap() > 1e6, "{call:?}: {cost}");
        assert!(cost["seconds"].as_f64().unwrap() > 0.0, "{call:?}: {cost}");
        assert_eq!(cost["fits"], true, "{call:?}: {cost}");
        assert!(!cost["of"].as_str().unwrap().is_empty(), "{call:?}: {cost}");
    }
    assert!(!runs.exists() && !paths.exists());
    let text = railtwin(&["run", &scenario, "--estimate", "--memory", "1 MiB"]);
    assert_eq!(text.status, 0, "{}", text.notes);
    let lines: Vec<&str> = text.out.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(lines, ["memory", "time", "of"]);
    assert!(text.out.contains("does not fit: 1 MiB may be used"), "{}", text.out);
}

#[test]
fn more_work_takes_more_and_what_has_no_estimate_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = |text: &str| {
        let scenario = written(folder.path(), "a.toml", text);
        json(&["run", &scenario, "--engine", "packet"])["seconds"].as_f64().unwrap()
    };
    let ratio = seconds(&JOB.replace("1 MB", "100 MB")) / seconds(&JOB.replace("1 MB", "10 MB"));
    assert!((9.0..11.0).contains(&ratio), "{ratio}");
    let rows = [json(&["reproduce", "QX10"]), json(&["reproduce", "QH03"])]
        .map(|cost| cost["seconds"].as_f64().unwrap());
    assert!(rows[0] > 10.0 * rows[1], "{rows:?}");
    let lives = railtwin(&["downtime", "--run", "a.toml", "--estimate"]);
    lives.assert_refused(&["--estimate", "`downtime --run` has none"]);
    let wrong = railtwin(&["schema", "--estimate=xml"]);
    assert_eq!(wrong.status, 2, "{}", wrong.out);
}
