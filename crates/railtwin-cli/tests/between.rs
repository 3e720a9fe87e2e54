//! `railtwin diagnose` on measurements between hosts: perftest, tables of probes, TCP_INFO, counters of a host, baselines.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::path::{Path, PathBuf};

use harness::{Outcome, railtwin, shown, written};
use serde_json::{Value, json};

fn ours(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry").join(path).canonicalize().unwrap()
}

fn diagnose(args: &[&str]) -> (u8, Value) {
    let Outcome { status, out, notes } = railtwin(&[&["diagnose", "--json"], args].concat());
    assert!(status < 2, "{notes}");
    (status, serde_json::from_str(&out).unwrap())
}

/// Names of the suspects of all findings that accuse.
fn accused(answer: &Value) -> Vec<String> {
    let findings =
        answer["findings"].as_array().unwrap().iter().filter(|finding| finding["accuses"] == json!(true));
    findings
        .flat_map(|finding| finding["suspects"].as_array().unwrap())
        .map(|suspect| suspect["component"]["name"].as_str().unwrap().to_owned())
        .collect()
}

/// A share between 0 and 1 that looks drawn.
fn drawn(a: usize, b: usize) -> f64 {
    let mixed = (a * 131 + b + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 40) as f64 / (1_u64 << 24) as f64
}

/// Logs of perftest of all 28 pairs of 8 hosts; `scale` is of a pair.
fn logs(folder: &Path, latency: bool, scale: impl Fn(usize, usize) -> f64) {
    for a in 0..8 {
        for b in a + 1..8 {
            let factor = scale(a, b) * (1.0 + 0.02 * drawn(a, b));
            let (title, columns, row) = if latency {
                let us = 2.4 * factor;
                (
                    "RDMA_Write Latency Test",
                    "t_min[usec] t_max[usec] t_typical[usec] t_avg[usec]",
                    format!("{us:.2} {:.2} {us:.2} {us:.2}", us * 4.0),
                )
            } else {
                let rate = 390.0 * factor;
                (
                    "RDMA_Write BW Test",
                    "BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]",
                    format!("0.00 {rate:.2} {:.6}", rate * 125.0 / 65536.0),
                )
            };
            let bytes = if latency { 2 } else { 65536 };
            let text = format!(
                "---\n                    {title}\n Dual-port       : OFF\t\tDevice         : mlx5_0\n Connection type : RC\n---\n \
                 local address: LID 0x{:02x} QPN 0x0032 PSN 0x5f2841\n remote address: LID 0x{:02x} QPN 0x003a PSN 0xc0fd7e\n---\n \
                 #bytes     #iterations    {columns}\n {bytes}      5000             {row}\n---\n",
                a + 1,
                b + 1
            );
            written(folder, &format!("node{a}_node{b}.log"), &text);
        }
    }
}

#[test]
fn perftest_between_all_pairs_names_the_slow_host_and_nobody_else() {
    for (latency, factor) in [(false, 0.5), (true, 4.0)] {
        let folder = tempfile::tempdir().unwrap();
        logs(folder.path(), latency, |_, _| 1.0);
        let (status, answer) = diagnose(&[&shown(folder.path())]);
        assert_eq!((status, accused(&answer)), (0, Vec::<String>::new()), "{answer}");
        let bad = tempfile::tempdir().unwrap();
        logs(bad.path(), latency, |a, b| if a == 5 || b == 5 { factor } else { 1.0 });
        let (status, answer) = diagnose(&[&shown(bad.path())]);
        assert_eq!((status, accused(&answer)), (1, vec!["node5".to_owned()]), "{answer}");
        assert_eq!(answer["findings"][0]["evidence"][0]["table"], json!("perftest"));
        // A fifth less or more shows beside a baseline of files, and nowhere else.
        let little = tempfile::tempdir().unwrap();
        logs(little.path(), latency, |a, b| match (a == 5 || b == 5, latency) {
            (true, true) => 1.5,
            (true, false) => 0.8,
            _ => 1.0,
        });
        let (_, answer) = diagnose(&[&shown(little.path()), "--baseline", &shown(folder.path())]);
        assert_eq!(accused(&answer), ["node5"], "{answer}");
        assert!(answer["notes"].to_string().contains("28 of 28 ways"), "{answer}");
        let (status, answer) = diagnose(&[&shown(folder.path()), "--baseline", &shown(folder.path())]);
        assert_eq!((status, accused(&answer)), (0, Vec::<String>::new()), "{answer}");
    }
}

#[test]
fn runs_of_perftest_that_died_are_counted_by_host() {
    let folder = tempfile::tempdir().unwrap();
    logs(folder.path(), false, |_, _| 1.0);
    for other in [0, 1, 2, 6] {
        let (a, b) = (other.min(4), other.max(4));
        let text = " RDMA_Write BW Test\n Device : mlx5_0\n #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n \
                    Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n";
        written(folder.path(), &format!("node{a}_node{b}.log"), text);
    }
    let (status, answer) = diagnose(&[&shown(folder.path())]);
    assert_eq!((status, &answer["failed_tests"]), (1, &json!(4)));
    assert_eq!(accused(&answer), ["node4"], "{answer}");
    assert!(answer.to_string().contains("Failed status 12"), "{answer}");
}

/// A table of probes of 6 hosts in `rounds` rounds.
fn mesh(rounds: usize, row: impl Fn(usize, usize) -> (u32, f64)) -> String {
    let mut text = "time,src,dst,sent,lost,rtt_us\n".to_owned();
    for round in 0..rounds {
        for a in 0..6 {
            for b in (0..6).filter(|b| *b != a) {
                let (lost, rtt) = row(a, b);
                let rtt = if lost < 10 {
                    format!("{:.2}", rtt * (1.0 + 0.05 * drawn(a * 7 + round, b)))
                } else {
                    String::new()
                };
                text.push_str(&format!("{},h{a},h{b},10,{lost},{rtt}\n", 1_748_736_000 + 10 * round));
            }
        }
    }
    text
}

#[test]
fn tables_of_probes_tell_hosts_ways_and_directions() {
    let folder = tempfile::tempdir().unwrap();
    let well = written(folder.path(), "well.csv", &mesh(2, |_, _| (0, 12.0)));
    assert_eq!(diagnose(&[&well]).0, 0);
    let slow = mesh(2, |a, b| (0, if a == 2 || b == 2 { 48.0 } else { 12.0 }));
    let (_, answer) = diagnose(&[&written(folder.path(), "slow.csv", &slow)]);
    assert_eq!(accused(&answer), ["h2"], "{answer}");
    let lost = mesh(2, |a, b| if (a, b) == (1, 4) { (10, 0.0) } else { (0, 12.0) });
    let (_, answer) = diagnose(&[&written(folder.path(), "lost.csv", &lost)]);
    assert_eq!(accused(&answer), ["h1 > h4"], "{answer}");
    assert!(answer.to_string().contains("one direction alone"), "{answer}");
    // As a matrix, with nothing but a word where there was no answer.
    let cell = |a: usize, b: usize| match (a, b) {
        (a, b) if a == b => "0".to_owned(),
        (1, 4) => "timeout".to_owned(),
        (a, b) => format!("{:.2}", 12.0 + drawn(a, b)),
    };
    let line = |a: usize| format!("h{a},{}\n", (0..6).map(|b| cell(a, b)).collect::<Vec<_>>().join(","));
    let matrix = format!("rtt_us,h0,h1,h2,h3,h4,h5\n{}", (0..6).map(line).collect::<String>());
    let (_, answer) = diagnose(&[&written(folder.path(), "matrix.csv", &matrix)]);
    assert_eq!(accused(&answer), ["h1 > h4"], "{answer}");
}

#[test]
fn paths_with_too_few_rounds_are_not_called_compared() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, steps: u32| {
        let text = format!(
            "schema = 1\nname = \"{name}\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 2\n\
             uplinks = 2\n[[job]]\nname = \"job\"\ngpus = 16\nsteps = {steps}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"1 GB\", compute = \"100 ms\" }}\n\
             [telemetry]\nprobes = \"100 ms\"\n"
        );
        let scenario = written(folder.path(), &format!("{name}.toml"), &text);
        let out = shown(&folder.path().join(name));
        let done = railtwin(&["run", &scenario, "--out", &out]);
        assert_eq!(done.status, 0, "{}", done.notes);
        shown(&std::fs::read_dir(&out).unwrap().next().unwrap().unwrap().path())
    };
    let (well, short) = (run("well", 60), run("short", 3));
    let said = |of: &str| railtwin(&["diagnose", of, "--baseline", &well, "--all"]).out;
    let (whole, few) = (said(&well), said(&short));
    assert!(!whole.contains(" 0 of ") && whole.contains("probed paths are compared"), "{whole}");
    let words = few.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("0 of ") && words.contains("answered in fewer than 5 rounds"), "{few}");
}

#[test]
fn baselines_of_files_and_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let well = mesh(8, |_, _| (0, 12.0));
    let before = written(folder.path(), "before.csv", &well);
    let later = mesh(8, |a, b| (0, if a == 3 || b == 3 { 20.0 } else { 12.0 }));
    let now = written(folder.path(), "now.csv", &later);
    let (_, answer) = diagnose(&[&now, "--baseline", &before]);
    assert!(!accused(&answer).is_empty() && accused(&answer).iter().all(|name| name == "h3"), "{answer}");
    let steps = written(folder.path(), "steps.csv", "run,event,step_s\n0,step,8.4\n");
    railtwin(&["diagnose", &now, "--baseline", &steps])
        .assert_refused(&["holds no baseline", "logs of perftest"]);
    railtwin(&["diagnose", &now, "--baseline", "nothing-there"]).assert_refused(&["nothing-there"]);
}

#[test]
fn the_tree_of_a_real_host_is_read_as_one() {
    let (status, answer) = diagnose(&[&shown(&ours("h100_infiniband_sysfs"))]);
    let trees: Vec<&Value> = answer["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|file| file["format"] == json!("sysfs tree"))
        .collect();
    assert_eq!((status, trees.len()), (0, 1), "{answer}");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("link_downed stands at 255"), "{notes}");
}

/// One reading of a tree accuses nobody, but a port that is down and a slow link are on the first screen, above counters.
#[test]
fn links_that_are_down_or_slow_are_told_first() {
    let folder = tempfile::tempdir().unwrap();
    for (nic, state, physical, rate) in [
        ("mlx5_0", "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"),
        ("mlx5_1", "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"),
        ("mlx5_2", "4: ACTIVE", "5: LinkUp", "100 Gb/sec (1X NDR)"),
        ("mlx5_3", "1: DOWN", "2: Polling", "400 Gb/sec (4X NDR)"),
    ] {
        let port = folder.path().join(format!("n1/infiniband/{nic}/ports/1"));
        std::fs::create_dir_all(port.join("counters")).unwrap();
        for (name, text) in
            [("state", state), ("phys_state", physical), ("rate", rate), ("counters/link_downed", "255")]
        {
            std::fs::write(port.join(name), text).unwrap();
        }
    }
    let told = railtwin(&["diagnose", &shown(folder.path())]);
    let also: Vec<&str> = told.out.lines().filter(|line| line.starts_with("also: ")).collect();
    assert!(also[0].contains("n1/mlx5_3: its link is down"), "{}", told.out);
    assert!(also[1].contains("n1/mlx5_2: its link runs at 100 Gb/sec"), "{}", told.out);
    assert!(also[2].contains("stands at 255"), "{}", told.out);
}

#[test]
fn two_readings_of_a_tree_are_rates() {
    let folder = tempfile::tempdir().unwrap();
    for (time, errors) in [("t1", 7), ("t2", 500_007)] {
        for node in ["n1", "n2", "n3", "n4"] {
            let at = folder.path().join(format!("{node}_{time}/infiniband/mlx5_0/ports/1/counters"));
            std::fs::create_dir_all(&at).unwrap();
            let errors = if node == "n3" { errors } else { 7 };
            std::fs::write(at.join("symbol_error"), format!("{errors}\n")).unwrap();
            std::fs::write(at.join("../state"), "4: ACTIVE\n").unwrap();
        }
    }
    let (status, answer) = diagnose(&[&shown(folder.path())]);
    assert_eq!((status, accused(&answer)), (1, vec!["n3/mlx5_0".to_owned()]), "{answer}");
}

#[test]
fn tcp_connections_that_lose_more_are_placed() {
    let folder = tempfile::tempdir().unwrap();
    for a in 1..=6 {
        let mut text = String::new();
        for b in (1..=6).filter(|b| *b != a) {
            let again = if a == 3 || b == 3 { 600 } else { 1 };
            text.push_str(&format!(
                "ESTAB 0 0 10.0.0.{a}:40000 10.0.0.{b}:5000\n\t cubic rto:204 rtt:{:.3}/0.011 mss:8948 cwnd:10 \
                 segs_out:9000 data_segs_out:8000 delivery_rate 9.5Gbps busy:120ms retrans:0/{again}\n",
                0.2 + 0.01 * drawn(a, b)
            ));
        }
        written(folder.path(), &format!("ss_node{a}.txt"), &text);
    }
    let (_, answer) = diagnose(&[&shown(folder.path())]);
    assert_eq!(accused(&answer), ["node3"], "{answer}");
}

#[test]
fn a_table_whose_lines_begin_like_a_metric_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let text = "framework,version\nnode_num,moe_tp,latency\nnode_1,2,x\n";
    let table = written(folder.path(), "moe.csv", text);
    railtwin(&["diagnose", &table]).assert_refused(&["is of no format that is known"]);
}
