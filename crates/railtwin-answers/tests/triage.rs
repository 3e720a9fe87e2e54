//! Four bad hosts of forty: order, costs and replacements are those of `impact`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use railtwin::Question;
use railtwin::diagnose::Inputs;
use railtwin::engines::engine;
use railtwin::impact::impact;
use railtwin::interference::Options;
use railtwin_answers::triage::{RestartHours, Triage, json_of, triage};
use railtwin_scenario::EngineName;

const OPTIONS: Options = Options { draws: 2, steps: 2 };

fn question() -> Question {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Question::read(&root.join("scenarios/jobs/forty-hosts.toml")).unwrap()
}

/// The triage of kernel logs, host and line by host.
fn triaged(logs: &[(&str, &str)]) -> Triage {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = (logs.iter())
        .map(|(host, line)| {
            let path = folder.path().join(format!("dmesg_{host}.log"));
            std::fs::write(&path, format!("Nov  3 10:00:07 {host} kernel: {line}\n")).unwrap();
            path
        })
        .collect();
    let question = question();
    let case = question.resolve(&question.points().unwrap()[0].scenario).unwrap().case;
    let inputs = Inputs::read(&files, "large").unwrap();
    let told = railtwin::site::diagnose(inputs, Some(&question), "large").unwrap();
    let by = engine(EngineName::Flow, 1);
    let found = triage(&told, &case, &*by, OPTIONS, RestartHours::default(), &|| ()).unwrap();
    // Whatever is taken out, it is what `impact` says of it.
    let names: Vec<String> = found.orders.iter().map(|order| order.culprit.name.clone()).collect();
    for (name, order) in names.iter().zip(&found.orders) {
        let alone = impact(&case, &*by, std::slice::from_ref(name), OPTIONS, &|| ()).unwrap();
        assert_eq!(alone.each[0], order.impact);
    }
    let json = json_of(&found, &case.fabric);
    assert_eq!(json["orders"].as_array().unwrap().len(), names.len());
    found
}

const XID: &str = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.";

#[test]
fn the_job_that_loses_most_comes_first_and_a_free_host_last() {
    let down = "mlx5_core 0000:9d:00.0 ens9np0: Link down";
    let found = triaged(&[("host-37", XID), ("host-25", XID), ("host-9", down), ("host-3", XID)]);
    let names: Vec<&str> = found.orders.iter().map(|order| order.culprit.name.as_str()).collect();
    assert_eq!(names, ["host-3", "host-25", "host-9", "host-37"]);
    let [large, small, nic, free] = &found.orders[..] else { panic!("four orders") };
    // 160 and 64 GPUs stand; a restart is half of 3 h and twice 10 min.
    assert_eq!(large.jobs[0].gpu_hours_per_hour, Some(160.0));
    assert!((large.jobs[0].restart_gpu_hours - 160.0 * (1.5 + 1.0 / 3.0)).abs() < 1e-9);
    assert_eq!((small.jobs[0].name.as_str(), small.jobs[0].gpu_hours_per_hour), ("small", Some(64.0)));
    // Nobody tells what the link costs the job.
    assert_eq!((nic.jobs[0].lost_share, nic.jobs[0].break_even_h()), (None, None));
    assert!(free.jobs.is_empty() && free.impact.stand_ins.is_empty());
    // Hosts of the same segment stand in, each for one.
    let together = found.together.as_ref().unwrap();
    let by: Vec<u32> = together.stand_ins.iter().map(|one| one.by.0).collect();
    let mut once = by.clone();
    once.dedup();
    assert!(
        by.len() == 3 && once.len() == 3 && by.iter().all(|host| (16..20).contains(host) || *host >= 32),
        "{by:?}"
    );
}

#[test]
fn healthy_logs_and_hosts_elsewhere_take_nobody_out() {
    let found = triaged(&[("host-3", "mlx5_core 0000:9d:00.0 ens9np0: Link up")]);
    assert!(found.orders.is_empty() && found.together.is_none() && found.unsure.is_empty());
    // A host that the fabric does not have keeps its name and is taken out of nothing.
    let found = triaged(&[("host-3", XID), ("other-1", XID)]);
    assert_eq!(found.orders.len(), 1);
    assert!(found.unplaced.iter().any(|one| one.name().starts_with("other-1")), "{:?}", found.unplaced);
}
