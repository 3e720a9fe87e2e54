//! `railtwin explain`: what it takes, what it says, what it refuses.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may fail, and looks into a folder"
)]
use std::path::Path;

use crate::harness::{railtwin, shown, written};

/// Eight hosts with one cable that becomes slow, recorded.
const SLOWED: &str = r#"
schema = 1
name = "slowed"
[run]
steps = 40
[fabric]
preset = "hpn"
segments = 1
hosts = 8
spare_hosts = 0
host = { model = "hgx-h100" }
[[job]]
name = "train"
hosts = 8
collective = { kind = "all-reduce", bytes = "256 MiB", compute = "5 ms" }
[telemetry]
[[fault]]
at = "0.1 s"
cable = "host-5/nic-3:port-0"
kind = "slow"
capacity = 0.2
"#;

fn report(name: &str) -> String {
    shown(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/reports").join(name))
}

#[test]
fn a_run_with_a_slowed_cable_names_the_cable_first() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "slowed.toml", SLOWED);
    let runs = shown(&folder.path().join("runs"));
    assert_eq!(railtwin(&["run", &file, "--out", &runs, "--json"]).status, 0);
    let run = std::fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().path());
    let run = run.into_iter().find(|path| path.join("run.json").is_file()).unwrap();
    let answer = railtwin(&["explain", &shown(&run), "--draws", "4", "--json"]);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    let first = &answer.json()["hypotheses"][0];
    assert_eq!(first["area"], "fabric", "{first}");
    assert!(first["says"].as_str().unwrap().contains("cable host-5/nic-3:port-0"), "{first}");
    assert!(first["shown_by"][0].as_str().unwrap().contains("confidence"), "{first}");
    // A fifth of one of two ports.
    assert!(first["share"].as_f64().is_some_and(|share| (0.1..0.35).contains(&share)), "{first}");
}

#[test]
fn a_log_tells_its_own_setting_and_figure() {
    let answer = railtwin(&["explain", &report("03-gdr-disabled.log")]);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    assert!(answer.out.starts_with("10.0 GB/s measured"), "{}", answer.out);
    assert!(answer.out.contains("likeliest: GPUDirect RDMA is off"), "{}", answer.out);
    assert!(answer.out.contains("1. remedy: load nvidia_peermem"), "{}", answer.out);
    assert!(answer.out.contains("assumed: hosts are hgx-a100"), "{}", answer.out);
    let low = railtwin(&["check", "bandwidth", &report("03-gdr-disabled.log")]);
    assert!(low.out.contains("next: railtwin explain"), "{}", low.out);
}

#[test]
fn wrong_calls_say_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "slowed.toml", SLOWED);
    let cases = [
        (vec![], "nothing says which job was measured"),
        (vec!["--hosts", "4"], "nothing says what was measured"),
        (vec!["--hosts", "4", "--busbw", "5"], "write a bandwidth such as 180 GB/s"),
        (vec!["--hosts", "4", "--busbw", "nan GB/s"], "write a bandwidth such as 180 GB/s"),
        (vec!["--hosts", "4", "--step-time", "0 s"], "write a time such as"),
        (vec!["--hosts", "4", "--busbw", "5 GB/s", "--host", "dgx"], "write one of hgx-h800"),
        (vec!["--hosts", "4", "--busbw", "5 GB/s", "--gpus", "9"], "has 8 GPUs"),
        (vec!["--hosts", "4", "--busbw", "5 GB/s", "--collective", "sum"], "write one of all-reduce"),
        (vec!["--hosts", "4", "--busbw", "5 GB/s", "--bytes", "many"], "write a size such as"),
        (vec!["--scenario", &file, "--busbw", "5 GB/s", "--job", "x"], "jobs are train"),
        (vec!["--scenario", &file, "--hosts", "4"], "cannot be used with"),
        (vec!["nowhere.log"], "nowhere.log"),
    ];
    for (args, words) in cases {
        let answer = railtwin(&[&["explain"], &args[..]].concat());
        assert_eq!(answer.status, 2, "{args:?} {}", answer.out);
        assert!(answer.notes.contains(words), "{args:?}: {}", answer.notes);
    }
}
