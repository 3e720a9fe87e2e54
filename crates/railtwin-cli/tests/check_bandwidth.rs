//! `railtwin check bandwidth`: text, data, and calls that are wrong.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use crate::harness::{railtwin, shown, small, written};
use serde_json::{Value, json};

/// A path of the shipped telemetry.
fn ours(path: &str) -> String {
    shown(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../data/telemetry")
            .join(path)
            .canonicalize()
            .unwrap(),
    )
}

fn check(args: &[&str]) -> (u8, String) {
    let answer = railtwin(&[&["check", "bandwidth"], args].concat());
    assert_eq!(answer.notes, "", "an answer is no error");
    (answer.status, answer.out)
}

fn data(args: &[&str]) -> (u8, Value) {
    let (status, out) = check(&[&["--json"], args].concat());
    (status, serde_json::from_str(&out).unwrap())
}

#[test]
fn healthy_pairs_are_normal_in_one_screen() {
    let (status, out) = check(&[&ours("nccl_tests_h100")]);
    assert_eq!(status, 0, "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "normal: 92 tests, none below half of line rate or below its peers");
    assert!(lines[1].starts_with(
        "NVIDIA H100 80GB HBM3: host hgx-h100, 8 NICs of 49.0 GB/s of payload, NVLink of 450.0"
    ));
    assert!(lines[1].contains("--fabric says otherwise"), "{out}");
    let row = lines.iter().find(|line| line.starts_with("all-to-all")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..8], ["all-to-all", "2", "x", "8", "45", "16", "GiB", "91.8"]);
    assert!(row.contains("100 %   91.9    8 NICs   normal"), "{row}");
    assert!(out.contains("rows by size: --sizes prints them") && lines.len() < 15, "{out}");
    let (_, long) = check(&["--sizes", &ours("nccl_tests_h100")]);
    assert!(long.contains("algbw") && long.lines().count() > 20, "{long}");
}

#[test]
fn a_sick_cluster_names_its_pairs() {
    let (status, out) = check(&[&ours("nccl_tests_h100_one_gpu")]);
    assert_eq!(status, 1);
    let first = out.lines().next().unwrap();
    assert!(first.starts_with("low: ") && first.contains("4 tests are below 90 % of their peers"), "{first}");
    assert!(first.contains("2 tests ended without result; of 20 tests"), "{first}");
    for pair in ["cnode2-002, cnode2-003", "cnode2-002, cnode2-006", "cnode2-003, cnode2-008: send/receive"] {
        assert!(out.contains(pair), "{pair} is missing:\n{out}");
    }
    assert!(out.contains("host cnode2-002 is in 2 of the 2 low pairs"), "{out}");
}

#[test]
fn data_has_all_rows_under_stable_names() {
    let (status, answer) = data(&[&ours("nccl_tests_h100_wide")]);
    assert_eq!(status, 1);
    let kinds = answer["collectives"].as_array().unwrap();
    let kind = |collective: &str, shape: &str| {
        kinds
            .iter()
            .find(|kind| kind["collective"] == json!(collective) && kind["shape"] == json!(shape))
            .unwrap()
    };
    let one = kind("all-reduce", "10 x 1");
    assert!((one["bound_gb_per_s"].as_f64().unwrap() - 49.0187).abs() < 1e-3);
    assert_eq!((&one["bound_by"], &one["verdict"]), (&json!("1 NIC"), &json!("normal")));
    let largest = one["sizes"].as_array().unwrap().last().unwrap();
    assert_eq!(largest["bytes"], json!(17_179_869_184_u64));
    assert_eq!(largest["measurements"], json!(2));
    assert_eq!(kind("all-reduce", "1 x 8")["bound_by"], json!("NVLink, NVLS"));
    assert_eq!(kind("send/receive", "10 x 8")["verdict"], json!("low"));
    assert_eq!(answer["hosts_are"][0]["model"], json!("hgx-h100"));
    assert_eq!((&answer["low"], &answer["ended_without_result"]), (&json!([]), &json!([])));
}

#[test]
fn the_fabric_says_what_hosts_are() {
    let log = ours("nccl_tests_h100/nccl_smoke_N2_G1_cnode3-002_cnode3-003.log");
    let (_, out) = check(&["--fabric", "ai-zone", &log]);
    assert!(
        out.contains("host grand-teton") && out.contains("as ai-zone says; the GPU's name says hgx-h100"),
        "{out}"
    );
    let folder = tempfile::tempdir().unwrap();
    let text = small("bw", "[fabric.host]\nmodel = \"hgx-h100\"\nnic_ports = 1\n");
    let scenario = written(folder.path(), "cluster.toml", &text);
    // One port of 200 Gbps: 24.5 GB/s, less than was measured.
    let (_, answer) = data(&["--fabric", &scenario, &log]);
    assert!((answer["collectives"][0]["line_rate_gb_per_s"].as_f64().unwrap() - 24.509).abs() < 1e-3);
    assert_eq!(answer["collectives"][0]["verdict"], json!("above bound"));
    assert!(answer["answer"].as_str().unwrap().contains("exceed their bound"), "{}", answer["answer"]);
}

#[test]
fn json_of_nccl_tests_and_unknown_gpus_are_taken() {
    let text = r#"{"version":3,"args":["/opt/all_reduce_perf"],"config":{"devices":[
        {"rank":0,"hostname":"h0","device":0,"device_info":"Tesla V100"},
        {"rank":1,"hostname":"h1","device":0,"device_info":"Tesla V100"}]},
        "results":[{"size":1048576,"out_of_place":{"time":10.5,"alg_bw":10.0,"bus_bw":10.0}}],
        "average_bus_bandwidth":{"bandwidth":10.0}}"#;
    let folder = tempfile::tempdir().unwrap();
    let (status, out) = check(&[&written(folder.path(), "t.json", text)]);
    assert_eq!(status, 0, "{out}");
    assert!(out.starts_with("nothing low beside its peers in 1 test; line rate is not known\n"), "{out}");
    assert!(
        out.contains("the host of a Tesla V100 is not known") && out.contains("--fabric says what it is"),
        "{out}"
    );
}

#[test]
fn wrong_calls_say_what_would_be_right() {
    let log = ours("nccl_tests_h100_wide/nccl_N10_G1.log");
    let refused = |args: &[&str], words: &[&str]| {
        railtwin(&[&["check", "bandwidth"], args].concat()).assert_refused(words);
    };
    refused(&["--fabric", "hpm", &log], &["--fabric", "\"hpm\"", "leaf-spine", "scenario file"]);
    refused(&["--fabric", "none.toml", &log], &["none.toml", "No such file"]);
    refused(
        &[&ours("xpu_timer/normal.prom")],
        &["no file holds results of nccl-tests", "xpu_timer", "all_reduce_perf"],
    );
    refused(&[&ours("README.md")], &["README.md", "no format that is known"]);
    refused(&["nowhere"], &["nowhere", "No such file"]);
    let folder = tempfile::tempdir().unwrap();
    let row = "# size count type redop root time algbw busbw #wrong\n8 2 float sum -1 fast 1 1 0\n";
    let wrong = written(folder.path(), "wrong.log", &format!("# nccl-tests version 2.17.6\n{row}"));
    refused(
        &[&wrong],
        &["wrong.log:3", "column time", "\"fast\" is no number", "write the row as nccl-tests"],
    );
    assert_eq!(railtwin(&["check"]).status, 2);
}
