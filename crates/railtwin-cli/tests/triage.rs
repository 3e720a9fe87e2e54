//! `railtwin triage` on a fabric with a list of jobs, and without names.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and makes a folder")]
use std::path::{Path, PathBuf};

use crate::harness::{railtwin, shown, written};

const XID: &str = "kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.";

fn scenario() -> String {
    shown(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/jobs/forty-hosts.toml"))
}

/// Kernel logs of hosts with a GPU that is gone.
fn logs(folder: &Path, hosts: &[&str]) -> String {
    let logs = folder.join("logs");
    std::fs::create_dir(&logs).unwrap();
    for host in hosts {
        written(&logs, &format!("dmesg_{host}.log"), &format!("Nov  3 10:00:07 {host} {XID}\n"));
    }
    shown(&logs)
}

#[test]
fn a_list_of_jobs_costs_what_the_same_jobs_of_a_scenario_cost() {
    let folder = tempfile::tempdir().unwrap();
    let logs = logs(folder.path(), &["host-3", "host-25", "host-37"]);
    let list = "job,hosts\nlarge,\"host-[0-15,20-23]\"\nsmall,\"host-[24-31]\"\n";
    let jobs = written(folder.path(), "jobs.csv", list);
    let by_list = ["triage", &logs, "--fabric", &scenario(), "--jobs", &jobs, "--draws", "2", "--json"];
    let by_list = railtwin(&by_list);
    assert_eq!(by_list.status, 1, "{}", by_list.notes);
    let by_scenario = railtwin(&["triage", &logs, "--scenario", &scenario(), "--draws", "2", "--json"]);
    let json = |out: &str| -> serde_json::Value { serde_json::from_str(out).unwrap() };
    let (listed, known) = (json(&by_list.out), json(&by_scenario.out));
    let names = |value: &serde_json::Value| -> Vec<String> {
        value["orders"].as_array().unwrap().iter().map(|order| order["name"].to_string()).collect()
    };
    assert_eq!(names(&listed), ["\"host-3\"", "\"host-25\"", "\"host-37\""]);
    assert_eq!(names(&listed), names(&known));
    for at in 0..3 {
        let (one, other) = (&listed["orders"][at], &known["orders"][at]);
        for key in ["gpu_hours_per_hour", "replaced_by"] {
            assert_eq!(one[key], other[key], "{at} {key}");
        }
    }
    // Without jobs nothing is known of costs.
    let alone = railtwin(&["triage", &logs, "--fabric", &scenario()]);
    assert_eq!(alone.status, 1, "{}", alone.notes);
    assert!(alone.out.contains("1. host-25") && !alone.out.contains("GPU-h"), "{}", alone.out);
    let wrong = written(folder.path(), "wrong.csv", "job,hosts\na,gn1\n");
    railtwin(&["triage", &logs, "--fabric", &scenario(), "--jobs", &wrong])
        .assert_refused(&["wrong.csv: line 2", "no host \"gn1\""]);
    railtwin(&["triage", &logs]).assert_refused(&["no fabric is given"]);
}

#[test]
fn answers_go_out_without_names() {
    let folder = tempfile::tempdir().unwrap();
    let logs = logs(folder.path(), &["acme-gpu7", "acme-gpu9"]);
    let names = written(folder.path(), "names.csv", "acme-gpu7,host-3\nacme-gpu9,host-4\n");
    let calls: [&[&str]; 4] = [
        &["diagnose", &logs, "--anonymize"],
        &["diagnose", &logs, "--anonymize", "--all"],
        &["diagnose", &logs, "--anonymize", "--json"],
        &["triage", &logs, "--anonymize", "--fabric", &scenario(), "--names", &names],
    ];
    for call in calls {
        let answer = railtwin(call);
        assert_eq!(answer.status, 1, "{}", answer.notes);
        let folder = shown(&PathBuf::from(&logs));
        assert!(!answer.out.contains("acme") && !answer.out.contains(&folder), "{}", answer.out);
        assert!(answer.out.contains("host-00") && answer.out.contains("Xid 79"), "{}", answer.out);
    }
}
