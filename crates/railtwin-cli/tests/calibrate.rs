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
    assert!(answer.out.starts_with("15 kinds of tests, 15 tests of nccl-tests, hgx-h100"), "{}", answer.out);
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

/// A table of perftest as it prints it, of `t = l + B / b` in us and bytes per us.
fn perftest(title: &str, columns: &str, row: impl Fn(u64) -> String) -> String {
    let line = "-".repeat(87);
    let rows: String = (1..24).map(|power| row(1 << power)).collect();
    format!(
        "{line}\n                    {title}\n Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 1\t\t\
         Transport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n TX depth        : 128\n Mtu             : \
         4096[B]\n Link type       : IB\n{line}\n local address: LID 0x01 QPN 0x0089 PSN 0x1\n{line}\n {columns}\n{rows}{line}\n"
    )
}

/// What two NICs do holds plain transfers, from a file too: a transfer takes what ib_write_lat measured.
#[test]
fn perftest_becomes_caps_of_plain_transfers() {
    let folder = tempfile::tempdir().unwrap();
    let time = |bytes: u64| if bytes <= 4096 { 4.0 + bytes as f64 / 10e3 } else { 4.5 + bytes as f64 / 40e3 };
    let latency = perftest(
        "RDMA_Write Latency Test",
        "#bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    \
         t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ",
        |bytes| {
            let us = time(bytes);
            format!(
                " {bytes}       1000          {us:.2}           {us:.2}         {us:.2}     \t       \
                 {us:.2}        \t0.00   \t\t{us:.2}    \t\t{us:.2}   \n"
            )
        },
    );
    let bandwidth = perftest(
        "RDMA_Write BW Test",
        "#bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
        |bytes| {
            let us = 0.1 + bytes as f64 / 40e3;
            format!(
                " {bytes}       5000          0.00           {:.4}         {:.6}\n",
                bytes as f64 / us / 125.0,
                1.0 / us
            )
        },
    );
    written(folder.path(), "lat.log", &latency);
    written(folder.path(), "bw.log", &bandwidth);
    let caps = shown(&folder.path().join("caps.toml"));
    let host = "[fabric]\npreset = \"leaf-spine\"\nleaves = 1\nhosts_per_leaf = 2\nuplinks = 1\n[fabric.host]\n\
                model = \"hgx-h100\"\nnic_ports = 1\nnic_port_capacity = \"400 Gbps\"\n";
    let job = |bytes: &str| {
        format!(
            "[[job]]\ngpus = 16\nworkload = {{ traffic = \"shift\", bytes = \"{bytes} B\", shift = 8 }}\n"
        )
    };
    let scenario = |caps: &str, bytes: u64| {
        let text = format!("schema = 1\nname = \"s\"\n{host}{caps}{}", job(&bytes.to_string()));
        written(folder.path(), &format!("s{bytes}.toml"), &text)
    };
    let fabric = scenario("", 1);
    let answer = railtwin(&["calibrate", &shown(folder.path()), "--fabric", &fabric, "--out", &caps]);
    assert_eq!((answer.status, answer.notes.as_str()), (0, ""), "{}", answer.out);
    for words in [
        "2 runs of perftest, hgx-h100",
        "write latency, RC, 1 queue pair, packets of 4096 B",
        "plain transfers",
    ] {
        assert!(answer.out.contains(words), "{words} is missing:\n{}", answer.out);
    }
    for bytes in [64, 2048, 1 << 16, 1 << 20, 1 << 23] {
        let run = railtwin(&["run", &scenario("caps = \"caps.toml\"\n", bytes), "--no-folder", "--json"]);
        assert_eq!(run.status, 0, "{}", run.notes);
        let run: Value = serde_json::from_str(&run.out).unwrap();
        let took = run["figures"]["step_time"].as_f64().unwrap() * 1e6;
        assert!((took / time(bytes) - 1.0).abs() < 0.02, "{bytes} B: {took} us, measured {}", time(bytes));
    }
    // Without what hosts are the wire is not known, and without a run for latency no start.
    std::fs::remove_file(folder.path().join("lat.log")).unwrap();
    let blind = railtwin(&["calibrate", &shown(&folder.path().join("bw.log"))]);
    for words in ["say what hosts are with --fabric", "the start of a plain transfer: no run of ib_write_lat"]
    {
        assert!(blind.out.contains(words), "{words} is missing:\n{}", blind.out);
    }
}

/// A job's records name the algorithm and every rank; where they name no hosts the caller does.
#[test]
fn step_logs_are_fitted_as_tests_are() {
    let folder = tempfile::tempdir().unwrap();
    let trace = |rank: u32| {
        let kernels: Vec<String> = (0..12_u32)
            .map(|number| {
                let elements = 1_u64 << (20 + number % 6);
                // The last rank comes last in even operations, the first one in odd ones.
                let waits = f64::from(if number % 2 == rank % 2 { 300 } else { 0 });
                let took = 50.0 + elements as f64 * 4.0 / 100e3 + waits;
                format!(
                    "{{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)\",\"ts\":{},\
                     \"dur\":{took},\"args\":{{\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":{elements},\
                     \"Out msg nelems\":{elements},\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\",\"stream\":7}}}}",
                    f64::from(number) * 1e5
                )
            })
            .collect();
        format!(
            "{{\"distributedInfo\":{{\"rank\":{rank},\"world_size\":2}},\"traceEvents\":[{}]}}",
            kernels.join(",")
        )
    };
    let one = written(folder.path(), "rank_0.json", &trace(0));
    let refused = railtwin(&["calibrate", &one]);
    assert_eq!(refused.status, 2);
    assert!(refused.notes.contains("logged nothing"), "{}", refused.notes);
    written(folder.path(), "rank_1.json", &trace(1));
    let refused = railtwin(&["calibrate", &shown(folder.path())]);
    assert_eq!(refused.status, 2);
    assert!(refused.notes.contains("--gpus"), "{}", refused.notes);
    let answer = railtwin(&["calibrate", &shown(folder.path()), "--gpus", "1", "--json"]);
    let data: Value = serde_json::from_str(&answer.out).unwrap();
    let kind = &data["kinds"][0];
    assert_eq!((&kind["hosts"], &kind["gpus"], &kind["tests"]), (&2.into(), &1.into(), &12.into()));
    let range = &kind["ranges"][0];
    assert_eq!(range["algorithm"], "ring");
    // Two steps of 25 us and 100 GB/s: nobody's wait is among it.
    assert!((range["step_us"].as_f64().unwrap() - 25.0).abs() < 0.1, "{range}");
    assert!((range["bus_gb_per_s"].as_f64().unwrap() - 100.0).abs() < 0.1, "{range}");
    let text = railtwin(&["calibrate", &shown(folder.path()), "--gpus", "1"]).out;
    assert!(text.contains("of 12 operations of step logs"), "{text}");
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

/// A table of all-reduces over hosts of 4: trees, and rings from 4 MiB a host on; `slow` times as long over 64 GPUs.
fn table(slow: f64) -> String {
    let mut text = "gpus,hosts,bytes,time_out_of_place_us\n".to_owned();
    for hosts in [2_u32, 4, 8, 16] {
        for power in 3..32 {
            let (ranks, bytes) = (f64::from(4 * hosts), f64::from(1_u32 << power));
            let tree = 20e-6 + bytes / 50e9 + f64::from(hosts).log2() * (15e-6 + bytes.min(8e6) / 40e9);
            let ring = 2.0 * (ranks - 1.0) * (40e-6 + bytes / ranks / 90e9);
            let is_ring = hosts > 2 && (1_u64 << power) >= u64::from(hosts) << 22;
            let seconds =
                if is_ring { ring } else { tree } * if hosts == 16 && power > 19 { slow } else { 1.0 };
            text.push_str(&format!("{},{hosts},{},{}\n", 4 * hosts, 1_u64 << power, seconds * 1e6));
        }
    }
    text
}

#[test]
fn larger_clusters_are_predicted_and_held_against_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = shown(&folder.path().join("times.csv"));
    std::fs::write(&path, table(1.0)).unwrap();
    let held = railtwin(&["calibrate", &path, "--fit-up-to", "16"]);
    assert_eq!(held.status, 0);
    for words in
        ["asked for 32, 64", "straight line in log2(GPUs)", "constants of the nearest number of hosts"]
    {
        assert!(held.out.contains(words), "{words}: {}", held.out);
    }
    let data = railtwin(&["calibrate", &path, "--fit-up-to", "16", "--json"]).json();
    let tail = |way: &str| data[way]["p90"].as_f64().unwrap();
    assert!(tail("model") < tail("nearest") && data["line"]["sizes"] == 58, "{data:#}");
    let asked = railtwin(&["calibrate", &path, "--ask", "64,512", "--json"]).json();
    let sizes = asked["asked"][1]["sizes"].as_array().unwrap();
    assert_eq!((&asked["asked"][1]["gpus"], &asked["asked"][1]["fitted_gpus"]), (&512.into(), &64.into()));
    assert!(sizes.iter().all(|row| row["low_us"].as_f64() <= row["high_us"].as_f64()), "{sizes:?}");
    assert!(railtwin(&["calibrate", &path, "--ask", "512"]).out.contains("asked for 8 x as many"));
    railtwin(&["calibrate", &path, "--ask", "66"]).assert_refused(&["--ask 66", "multiple of 4"]);
    railtwin(&["calibrate", &path, "--fit-up-to", "64"]).assert_refused(&["no larger cluster"]);
    railtwin(&["calibrate", &path, "--setting", "x"]).assert_refused(&["--setting x"]);
}

#[test]
fn a_large_run_that_is_slow_as_a_whole_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let [well, slow, caps] =
        ["well.csv", "slow.csv", "caps.toml"].map(|name| shown(&folder.path().join(name)));
    std::fs::write(&well, table(1.0)).unwrap();
    std::fs::write(&slow, table(2.0)).unwrap();
    assert!(!railtwin(&["check", "bandwidth", &well]).out.contains("as a whole"));
    let found = railtwin(&["check", "bandwidth", &slow]);
    assert_eq!(found.status, 1);
    assert!(found.out.contains("1 large run is slow as a whole"), "{}", found.out);
    assert!(found.out.contains("all-reduce over 64 GPUs is slow as a whole"), "{}", found.out);
    assert!(found.out.contains("predicted"), "{}", found.out);
    // Alone, beside caps of the run that was well.
    let alone = table(2.0)
        .lines()
        .filter(|line| !line.contains(",2,") && !line.contains(",8,"))
        .collect::<Vec<_>>()
        .join("\n");
    std::fs::write(&slow, alone).unwrap();
    assert_eq!(railtwin(&["calibrate", &well, "--out", &caps]).status, 0);
    let found = railtwin(&["check", "bandwidth", &slow, "--caps", &caps, "--json"]);
    assert_eq!(found.status, 1);
    let found: Value = serde_json::from_str(&found.out).unwrap();
    let runs = found["whole_runs"].as_array().unwrap();
    let slow_gpus: Vec<_> =
        runs.iter().filter(|run| run["slow"] == true).map(|run| run["gpus"].clone()).collect();
    assert_eq!(slow_gpus, [serde_json::json!(64)], "{runs:?}");
    std::fs::write(&slow, table(2.0)).unwrap();
    let told = railtwin(&["diagnose", &slow, "--json"]);
    assert!(format!("{}{}", told.out, told.notes).contains("slow as a whole"), "{}", told.out);
}
