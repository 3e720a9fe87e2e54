//! `railtwin impact` and `railtwin schedule --what-if`.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::railtwin;

const JOBS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/jobs");

fn json(call: &[&str]) -> Value {
    let answer = railtwin(call);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    serde_json::from_str(&answer.out).unwrap()
}

fn refused(call: &[&str]) -> String {
    let answer = railtwin(call);
    assert_eq!(answer.status, 2, "{}", answer.out);
    answer.notes
}

/// Writes a scenario and gives its path.
fn scenario(folder: &tempfile::TempDir, fabric: &str) -> String {
    let path = folder.path().join("impact.toml");
    let text = format!(
        "schema = 1\nname = \"impact\"\n[fabric]\n{fabric}\n[[job]]\nname = \"ring\"\nhosts = 3\n\
         collective = {{ kind = \"all-reduce\", bytes = \"64 MB\" }}\n[[job]]\nname = \"pair\"\nhosts = 2\n\
         collective = {{ kind = \"all-reduce\", bytes = \"64 MB\" }}\n"
    );
    #[allow(clippy::disallowed_methods, reason = "a test writes files")]
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn job<'a>(found: &'a Value, name: &str) -> &'a Value {
    found["jobs"].as_array().unwrap().iter().find(|job| job["name"] == name).unwrap()
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

#[test]
fn a_host_is_drained_onto_a_backup_host_of_its_segment() {
    let folder = tempfile::tempdir().unwrap();
    let hpn = "preset = \"hpn\"\nsegments = 2\nhosts = 3\nspines = 4\nspare_hosts = 1";
    let file = scenario(&folder, hpn);
    let found = json(&["impact", &file, "host-1", "--json"]);
    assert_eq!((&found["kind"], &found["stand_in"]), (&"host".into(), &"host-3".into()));
    let ring = job(&found, "ring");
    let touched = numbers(&ring["touched"]);
    assert!((8..16).all(|rank| touched.contains(&rank)), "{touched:?}");
    // All hosts of a segment hang on the same leaves: nothing changes, as nothing crosses a spine.
    assert_eq!(ring["before"]["step_s"], ring["drained"]["step_s"]);
    assert_eq!(numbers(&job(&found, "pair")["touched"]), [0_u64; 0]);
    // Nobody uses the backup host.
    let spare = json(&["impact", &file, "host-3", "--json"]);
    assert!(spare["stand_in"].is_null());
    assert!(numbers(&job(&spare, "ring")["touched"]).is_empty());
}

#[test]
fn who_has_one_way_only_cannot_run_without_it() {
    let folder = tempfile::tempdir().unwrap();
    // NICs of one port.
    let single = "preset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 3\nuplinks = 2\nrails_per_leaf = 8\n\
                  host = { model = \"hgx-a100\", nic_ports = 1, nic_port_capacity = \"200 Gbps\" }";
    let file = scenario(&folder, single);
    let found = json(&["impact", &file, "leaf-0", "--json"]);
    assert_eq!(numbers(&job(&found, "ring")["cut"]), (0..24).collect::<Vec<u64>>());
    assert!(job(&found, "ring")["drained"]["step_s"].is_null());
    assert!(job(&found, "pair")["drained"]["step_s"].is_f64());
    let text = railtwin(&["impact", &file, "leaf-0"]).out;
    assert!(text.contains("cannot run: 24 ranks lose their only way"), "{text}");
    assert!(text.contains("ring: ranks 0–23"), "{text}");
    // No backup host is there: a free host of the other leaf takes over, and a second has nowhere to go.
    let host = railtwin(&["impact", &file, "host-1"]).out;
    assert!(host.contains("drained, free host host-5 in segment 1 has the ranks of host-1"), "{host}");
    assert!(host.contains("free hosts left: none"), "{host}");
    let both = railtwin(&["impact", &file, "host-1", "host-0"]).out;
    assert!(both.contains("cannot run: 8 ranks lose their GPUs, and no host is free"), "{both}");
    let nic = json(&["impact", &file, "host-1/nic-2", "--json"]);
    assert_eq!(numbers(&job(&nic, "ring")["cut"]), [10]);
    assert!(numbers(&job(&nic, "ring")["touched"]).contains(&10));
    // A cable by the name of a link is the cable.
    let port = json(&["impact", &file, "host-1/nic-2:port-0 > leaf-0:downlink-10", "--json"]);
    assert_eq!((&port["kind"], &port["jobs"][0]["cut"]), (&"cable".into(), &nic["jobs"][0]["cut"]));
}

/// Of several devices each is drained alone and all together: together they touch what each does.
#[test]
fn several_devices_are_drained_together() {
    let folder = tempfile::tempdir().unwrap();
    let leaves = "preset = \"leaf-spine\"\nleaves = 3\nhosts_per_leaf = 3\nuplinks = 2\nrails_per_leaf = 8\n\
                  host = { model = \"hgx-a100\", nic_ports = 1, nic_port_capacity = \"200 Gbps\" }";
    let file = scenario(&folder, leaves);
    let found = json(&["impact", &file, "host-1", "spine-0", "host-3", "--json"]);
    let (each, together) = (found["devices"].as_array().unwrap(), &found["together"]);
    let names: Vec<&str> = each.iter().map(|one| one["device"].as_str().unwrap()).collect();
    assert_eq!(names, ["host-1", "spine-0", "host-3"]);
    for (row, alone) in each.iter().zip(names) {
        assert_eq!(*row, json(&["impact", &file, alone, "--json"]), "{alone}");
    }
    for name in ["ring", "pair"] {
        let all =
            |one: &Value| -> BTreeSet<u64> { numbers(&job(one, name)["touched"]).into_iter().collect() };
        let union: BTreeSet<u64> = each.iter().flat_map(all).collect();
        assert_eq!(all(together), union, "{name}");
    }
    // Hosts 0 to 4 have jobs. Each of the two goes to the nearest free host: 5 beside 3, the first of the others for 1.
    let stand_ins = |one: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        one["stand_ins"].as_array().unwrap().iter().map(|it| (text(&it["lost"]), text(&it["by"]))).collect()
    };
    let pair = |lost: &str, by: &str| (lost.to_owned(), by.to_owned());
    assert_eq!(stand_ins(&each[2]), [pair("host-3", "host-5")]);
    assert_eq!(stand_ins(together), [pair("host-1", "host-5"), pair("host-3", "host-6")]);
    let free = together["free_hosts"].as_array().unwrap().iter().map(|host| host["host"].as_str().unwrap());
    assert_eq!(free.collect::<Vec<_>>(), ["host-7", "host-8"]);
    assert!(job(together, "ring")["drained"]["step_s"].is_f64(), "{together}");
    let twice = refused(&["impact", &file, "host-1", "host-1"]);
    assert!(twice.contains("host-1 is named twice"), "{twice}");
}

#[test]
fn storage_hosts_and_frontend_nics_are_drained_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("storage.toml");
    let text = "schema = 1\nname = \"storage\"\n[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 3\nspines = 4\n\
                [storage]\nhosts = 2\n[[job]]\nname = \"ring\"\nhosts = 2\ncheckpoint = { bytes_per_gpu = \"100 MB\" }\n\
                collective = { kind = \"all-reduce\", bytes = \"64 MB\" }\n";
    #[allow(clippy::disallowed_methods, reason = "a test writes files")]
    std::fs::write(&path, text).unwrap();
    let file = path.display().to_string();
    let storage = json(&["impact", &file, "storage-0", "--json"]);
    assert_eq!(storage["kind"], "host");
    assert!(storage["jobs"][0]["queue_pairs"].as_u64() > Some(0), "{storage}");
    let nic = json(&["impact", &file, "storage-0/nic-0", "--json"]);
    assert_eq!((&nic["kind"], &nic["jobs"]), (&"NIC".into(), &storage["jobs"]));
    let frontend = json(&["impact", &file, "host-0/frontend-nic-0", "--json"]);
    assert!(
        !numbers(&frontend["jobs"][0]["cut"]).is_empty()
            || frontend["jobs"][0]["queue_pairs"].as_u64() > Some(0)
    );
    assert!(refused(&["impact", &file, "storage-2"]).contains("called \"storage-2\""));
}

#[test]
fn an_unknown_device_is_told_with_the_nearest_names() {
    let file = format!("{JOBS}/two-tenants.toml");
    let wrong = refused(&["impact", &file, "leef-3"]);
    assert!(
        wrong.contains("called \"leef-3\"") && wrong.contains("the nearest names are leaf-3,"),
        "{wrong}"
    );
    let port = refused(&["impact", &file, "leaf-0:uplink-99"]);
    assert!(port.contains("leaf-0:uplink-9"), "{port}");
    let nic = refused(&["impact", &file, "host-0/nic-77"]);
    assert!(nic.contains("host-0/nic-7"), "{nic}");
    refused(&["impact", &file, ""]);
}

#[test]
fn placements_are_held_against_each_other() {
    let file = format!("{JOBS}/where-to-place.toml");
    let found = json(&["schedule", "--what-if", &file, "--draws", "4", "--json"]);
    assert_eq!(found["job"], "train");
    let ways = found["ways"].as_array().unwrap();
    let steps: Vec<f64> = ways.iter().map(|way| way["outcome"]["step_s"].as_f64().unwrap()).collect();
    assert!(steps.is_sorted(), "{steps:?}");
    assert_eq!(
        (&ways[0]["placement"], &ways[0]["outcome"]["segments"]),
        (&"segment-first".into(), &1.into())
    );
    let written = ways.iter().find(|way| way["is_written"] == true).unwrap();
    assert_eq!((&written["placement"], &written["outcome"]["segments"]), (&"packed".into(), &2.into()));
    // What is written is what a run of it says.
    let others: Vec<&Value> =
        ways[0]["outcome"]["others"].as_array().unwrap().iter().map(|one| &one["job"]).collect();
    assert_eq!(others, ["tenant-a", "tenant-b"]);
    let named = json(&["schedule", "--what-if", &file, "--job", "tenant-b", "--draws", "2", "--json"]);
    assert_eq!(named["ways"].as_array().unwrap().iter().filter(|way| way["is_written"] == true).count(), 1);
    let wrong = refused(&["schedule", "--what-if", &file, "--job", "nobody"]);
    assert!(wrong.contains("tenant-a, tenant-b, train"), "{wrong}");
}

/// Hosts that a placement names give the job its size, in every other placement as well.
#[test]
fn a_job_that_names_its_hosts_keeps_its_size_in_each_placement() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, job: &str| {
        let path = folder.path().join(name);
        let text = format!(
            "schema = 1\nname = \"named\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 3\n\
             rails_per_leaf = 8\nuplinks = 4\nhost.model = \"hgx-h800\"\n[[job]]\nname = \"first\"\nhosts = 2\n\
             collective = {{ kind = \"all-reduce\", bytes = \"10 MB\" }}\n[[job]]\nname = \"second\"\n{job}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"10 MB\" }}\n"
        );
        #[allow(clippy::disallowed_methods, reason = "a test writes files")]
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let steps = |file: &str| -> Vec<(Value, Value)> {
        let found = json(&["schedule", "--what-if", file, "--draws", "2", "--json"]);
        let ways = found["ways"].as_array().unwrap().clone();
        let ran = ways.into_iter().filter(|way| way["is_written"] == false && !way["outcome"].is_null());
        let mut steps: Vec<(Value, Value)> =
            ran.map(|way| (way["placement"].clone(), way["outcome"]["step_s"].clone())).collect();
        steps.sort_by_key(|step| step.0.to_string());
        steps
    };
    let (named, sized) = (
        write("named.toml", "placement = { hosts = [2, 5] }"),
        write("sized.toml", "hosts = 2\nplacement = { hosts = [2, 5] }"),
    );
    let found = steps(&named);
    assert!(found.len() >= 3, "{found:?}");
    assert_eq!(found, steps(&sized));
    // A job that is larger than the hosts that it names is refused with both numbers.
    let small = write("small.toml", "gpus = 32\nplacement = { hosts = [2, 5] }");
    for call in [vec!["schedule", "--what-if", &small], vec!["run", &small, "--no-folder"]] {
        let wrong = refused(&call);
        let words: Vec<&str> = wrong.split_whitespace().collect();
        assert!(
            words.join(" ").contains("the placement names 2 of 4 hosts (2, 5), but the job has 32 ranks"),
            "{wrong}"
        );
    }
}

/// Two jobs of which one begins when the other has ended: as they are written they never meet, and they are placed to.
#[test]
fn jobs_are_all_there_whenever_they_begin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.toml");
    let text = "schema = 1\nname = \"two\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 3\n\
                uplinks = 1\nhost.model = \"hgx-h800\"\n[[job]]\nname = \"a\"\nhosts = 2\nstart = \"1 s\"\nsteps = 3\n\
                placement = { hosts = [0, 3] }\ncollective = { kind = \"all-reduce\", bytes = \"100 MB\" }\n\
                [[job]]\nname = \"b\"\nhosts = 2\nsteps = 2\ncount = 2\nplacement = \"spread\"\n\
                collective = { kind = \"all-reduce\", bytes = \"100 MB\" }\n";
    #[allow(clippy::disallowed_methods, reason = "a test writes files")]
    std::fs::write(&path, text).unwrap();
    let file = path.display().to_string();
    let found = json(&["schedule", "--what-if", &file, "--job", "b-1", "--draws", "6", "--json"]);
    assert_eq!(found["job"], "b");
    let of_a = |way: &Value| way["outcome"]["others"][0]["step_s"].as_f64();
    let steps: Vec<f64> = found["ways"].as_array().unwrap().iter().filter_map(of_a).collect();
    let (least, most) =
        (steps.iter().copied().fold(f64::MAX, f64::min), steps.iter().copied().fold(0.0, f64::max));
    assert!(most > 1.3 * least, "{steps:?}");
    let step = &found["ways"][0]["outcome"];
    assert!(
        step["p5_s"].as_f64() <= step["step_s"].as_f64() && step["step_s"].as_f64() <= step["p95_s"].as_f64()
    );
    // Without the job the other takes what it takes alone, wherever the job would be.
    let alone =
        json(&["interference", &file, "--draws", "6", "--json"])["jobs"][0]["alone_s"]["median"].as_f64();
    let alone = alone.unwrap();
    for way in found["ways"].as_array().unwrap().iter().filter(|way| !way["outcome"].is_null()) {
        let other = &way["outcome"]["others"][0];
        let without = other["without"]["step_s"].as_f64().unwrap();
        assert!((without - alone).abs() < 1e-9 * alone, "{without} {alone}");
        assert!(other["step_s"].as_f64() >= Some(without * (1.0 - 1e-9)), "{other}");
    }
    let text = railtwin(&["schedule", "--what-if", &file, "--job", "b-1", "--draws", "2"]).out;
    assert!(text.lines().any(|line| line.starts_with("without b ")), "{text}");
    let wrong = refused(&["schedule", "--what-if", &file, "--job", "b-2"]);
    assert!(wrong.contains("there are a, b (b-0 to b-1)"), "{wrong}");
    // What both cost each other as they are is in what draining costs, too.
    let impact = json(&["impact", &file, "leaf-2", "--draws", "6", "--json"]);
    let before = job(&impact, "a")["before"]["step_s"].as_f64().unwrap();
    assert!(before > 1.3 * least, "{before} {least}");
}
