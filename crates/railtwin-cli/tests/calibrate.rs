//! `railtwin calibrate`: the table, the file that scenarios take, and calls that are wrong.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::Path;

use serde_json::Value;

use crate::harness::{railtwin, shown, written};

/// A path of the shipped telemetry.
fn ours(path: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry");
    shown(&data.join(path).canonicalize().unwrap())
}

#[test]
fn logs_become_caps_that_a_scenario_takes() {
    let folder = tempfile::tempdir().unwrap();
    let caps = shown(&folder.path().join("caps.toml"));
    let answer = railtwin(&["calibrate", &ours("nccl_tests_h100_wide"), "--out", &caps]);
    assert_eq!((answer.status, answer.notes.as_str()), (0, ""), "{}", answer.out);
    assert!(answer.out.starts_with("15 kinds of tests, 15 tests, hgx-h100"), "{}", answer.out);
    for words in ["errors over sizes that were left out", "not identified by these logs", "tree", "nvls"] {
        assert!(answer.out.contains(words), "{words} is missing:\n{}", answer.out);
    }
    let scenario = folder.path().join("s.toml");
    let text = "schema = 1\nname = \"s\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 10\n\
                [fabric.host]\nmodel = \"hgx-h100\"\ncaps = \"caps.toml\"\n[[job]]\nhosts = 10\n\
                collective = { kind = \"all-reduce\", bytes = \"16 GiB\" }\n";
    std::fs::write(&scenario, text).unwrap();
    let run = railtwin(&["run", &shown(&scenario), "--no-folder", "--json"]);
    assert_eq!(run.status, 0, "{}", run.notes);
    let run: Value = serde_json::from_str(&run.out).unwrap();
    // Measured: 105.9 and 105.1 ms.
    let step = run["figures"]["step_time"].as_f64().unwrap();
    assert!((0.103..0.109).contains(&step), "{step}");
    // The same logs again take the place of the file; a file that holds something else is left alone.
    assert_eq!(railtwin(&["calibrate", &ours("nccl_tests_h100_wide"), "--out", &caps]).status, 0);
    let other = railtwin(&["calibrate", &ours("nccl_tests_h100_wide"), "--out", &shown(&scenario)]);
    assert_eq!(other.status, 2);
    assert!(other.notes.contains("exists already and holds no caps"), "{}", other.notes);
    assert_eq!(std::fs::read_to_string(&scenario).unwrap(), text);
}

#[test]
fn what_is_known_can_be_written_down() {
    let known = railtwin(&["calibrate", "--known", "hgx-h100"]);
    assert_eq!(known.status, 0);
    assert!(
        known.out.starts_with("# What collectives cost a host of 8 H100") && known.out.contains("[[cap]]")
    );
    let unknown = railtwin(&["calibrate", "--known", "dgx-1"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.notes.contains("write one of hgx-h800, hgx-h100"), "{}", unknown.notes);
}

#[test]
fn what_holds_no_sizes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "log.txt", "nothing of use\n");
    let refused = railtwin(&["calibrate", &path]);
    assert_eq!(refused.status, 2, "{}", refused.out);
    assert_eq!(refused.out, "");
    let missing = railtwin(&["calibrate", "nowhere.log"]);
    assert_eq!(missing.status, 2);
    assert!(missing.notes.contains("nowhere.log"), "{}", missing.notes);
}

/// Fitted on one half of the sizes and tested on the other, as the table says.
#[test]
fn data_has_the_errors_of_sizes_that_were_left_out() {
    let answer = railtwin(&["calibrate", "--json", &ours("nccl_tests_h100_wide")]);
    let data: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(data["host_model"], "hgx-h100");
    let kinds = data["kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), 15);
    for kind in kinds {
        assert_eq!(kind["errors_left_out"][0].as_array().unwrap().len(), 5, "{kind}");
        assert!(kind["ranges"][0]["bus_gb_per_s"].as_f64().unwrap() > 0.0);
    }
}
