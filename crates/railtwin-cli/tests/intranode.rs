//! `railtwin intranode`: a pair of hosts beside perftest, order of saturation, equation 3 fitted again, wrong calls.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use serde_json::Value;

use crate::harness::{railtwin, shown, written};

const PAIR: &str = r#"
schema = 1
name = "pair"
[fabric]
preset = "rlft"
ports = 4
capacity = "96.97 Gbps"
[intranode]
message = ["1 KiB", "4 KiB"]
pcie = {}
[intranode.pair]
measure = ["bandwidth", "latency"]
messages = 10
"#;

pub const SWEEP: &str = r#"
schema = 1
name = "sweep"
[fabric]
preset = "rlft"
ports = 4
host = { gpus = 8, nics = 1, nvlink = "512 Gbps" }
[intranode]
inter = [0.3, 0.5, 1.0]
load = [0.01, 0.2, 0.4]
unpack = "8.58 ns"
duration = "40 us"
warm_up = "25 us"
buffer = "44 KiB"
queue = "16 KiB"
"#;

/// What perftest prints: GB/s and us by size.
fn log(rows: &[(u64, f64, f64)]) -> String {
    let mut text =
        " RDMA_Write BW Test\n #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n"
            .to_owned();
    rows.iter()
        .for_each(|(bytes, rate, _)| text.push_str(&format!(" {bytes} 5000 0.00 {:.2} 0.1\n", rate * 8.0)));
    text.push_str("---\n RDMA_Write Latency Test\n #bytes #iterations t_avg[usec] tps average\n");
    rows.iter().for_each(|(bytes, _, time)| text.push_str(&format!(" {bytes} 1000 {time:.2} 1.0\n")));
    text
}

#[test]
fn a_pair_stands_beside_perftest_and_is_fitted() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "pair.toml", PAIR);
    // Table 1 of SAURON, ib_write.
    let table = log(&[(512, 1.75, 1.58), (1024, 3.30, 1.70), (4096, 11.02, 2.46), (16384, 11.53, 3.88)]);
    let logs = written(folder.path(), "write.log", &table);
    let answer = railtwin(&["intranode", &scenario, "--validate", &logs]);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    assert!(answer.out.contains("errors: bandwidth"), "{}", answer.out);
    // That no host has a name matters to who compares hosts, not here.
    assert!(!answer.notes.contains("two hosts"), "{}", answer.notes);
    assert!(!answer.notes.contains("warning: "), "{}", answer.notes);
    let text = PAIR.replace("[intranode]", "[intranode]\narrivals = \"poisson\"");
    let idle = written(folder.path(), "idle.toml", &text);
    let answer = railtwin(&["intranode", &idle, "--validate", &logs]);
    assert!(answer.notes.contains("warning: intranode.arrivals changes nothing"), "{}", answer.notes);
    let answer = railtwin(&["intranode", &scenario, "--validate", &logs, "--fit", "gap,overhead", "--json"]);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    let data: Value = serde_json::from_str(&answer.out).unwrap();
    let fit = &data["tests"][0]["fit"];
    assert_eq!(fit["keys"][0]["key"], "intranode.pair.gap");
    assert!(fit["toml"].as_str().unwrap().contains("overhead = \""), "{fit}");
    assert!(fit["errors"]["latency"]["mean"].as_f64().unwrap() < 0.1, "{fit}");
    let refused = |args: &[&str], words: &str| {
        let answer = railtwin(args);
        assert_eq!(answer.status, 2, "{}", answer.out);
        assert!(answer.notes.contains(words), "{words}: {}", answer.notes);
    };
    refused(&["intranode", &scenario, "--validate", &logs, "--fit", "speed"], "no key that is fitted");
    refused(&["intranode", &scenario, "--validate", &scenario], "pair.toml");
    let sweep = written(folder.path(), "sweep.toml", SWEEP);
    refused(&["intranode", &sweep, "--validate", &logs], "several values of intranode.inter");
    let one = written(
        folder.path(),
        "one.toml",
        &SWEEP.replace("[0.3, 0.5, 1.0]", "0.3").replace("[0.01, 0.2, 0.4]", "1.0"),
    );
    refused(&["intranode", &one, "--validate", &logs], "has no pair of hosts");
    refused(&["intranode", &scenario, "--regress"], "a pair of hosts has no share");
}

#[test]
fn a_sweep_over_loads_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "sweep.toml", SWEEP);
    let report = shown(&folder.path().join("page.html"));
    let answer = railtwin(&["intranode", &scenario, "--report", &report]);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    assert!(answer.out.contains(&format!("report  {report}")), "{}", answer.out);
    let page = std::fs::read_to_string(&report).unwrap();
    let data = page.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["intranode"]["axes"][0]["name"], "intranode.inter");
    assert_eq!(data["intranode"]["points"]["rows"], 9);
    assert!(
        data["intranode"]["headline"].as_str().unwrap().contains("first"),
        "{}",
        data["intranode"]["headline"]
    );
    let one = written(folder.path(), "one.toml", &SWEEP.replace("[0.01, 0.2, 0.4]", "0.4"));
    let answer = railtwin(&["intranode", &one, "--report", &report]);
    assert_eq!(answer.status, 2);
    assert!(answer.notes.contains("draws over loads"), "{}", answer.notes);
}

#[test]
fn a_sweep_says_what_saturates_first_and_equation_3() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "sweep.toml", SWEEP);
    let answer = railtwin(&["intranode", &scenario, "--regress"]);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    for words in
        ["in the order in which they saturate", "target NIC 0.", "equation 3 as printed", "15703.9", "16384"]
    {
        assert!(answer.out.contains(words), "{words}: {}", answer.out);
    }
    let answer = railtwin(&["intranode", &scenario, "--regress", "--json"]);
    let data: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(data["orders"].as_array().unwrap().len(), 3);
    assert_eq!(data["orders"][0]["parts"][0]["part"], "target_nic");
    assert!(data["regressions"][0]["models"].as_array().unwrap().len() >= 5);
    let missing = shown(&folder.path().join("no.toml"));
    assert_eq!(railtwin(&["intranode", &missing]).status, 2);
}

#[test]
fn keys_that_change_nothing_anywhere_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let with = |pcie: &str| {
        let text = SWEEP.replace("unpack = \"8.58 ns\"", &format!("header = \"4 B\"\npcie = {pcie}"));
        written(folder.path(), "idle.toml", &text.replace("[0.01, 0.2, 0.4]", "0.1"))
    };
    let scenario = with("{ root_latency = \"100 ns\" }");
    let answer = railtwin(&["intranode", &scenario]);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    let warned = |text: &str| text.lines().filter(|line| line.starts_with("warning: ")).count();
    assert_eq!(warned(&answer.notes), 2, "{}", answer.notes);
    let header =
        "warning: intranode.header changes nothing: [intranode.pcie] has max_payload and tlp_overhead";
    assert!(answer.notes.contains(header), "{}", answer.notes);
    assert!(answer.notes.contains("intranode.pcie.root_latency changes nothing"), "{}", answer.notes);
    // Where one point of an axis reads it, it changes something.
    let axis = with("{ root_latency = \"100 ns\", topology = [\"switch\", \"root-complex\"] }");
    let data: Value = serde_json::from_str(&railtwin(&["intranode", &axis, "--json"]).out).unwrap();
    let warnings = data["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].as_str().unwrap().starts_with("intranode.header "), "{warnings:?}");
}

#[test]
fn what_is_expected_is_judged_at_each_point() {
    let folder = tempfile::tempdir().unwrap();
    let of = |expect: &str| written(folder.path(), "sweep.toml", &format!("{SWEEP}[expect]\n{expect}\n"));
    let met = of(
        "carried_share = { at_least = 0.95, when = { load = 0.01 } }\ninter_latency = { at_most = \"1 ms\" }",
    );
    let answer = railtwin(&["intranode", &met]);
    assert_eq!(answer.status, 0, "{}", answer.notes);
    let missed = of("carried_share = { at_least = 0.9, when = { load = 0.4 } }");
    let answer = railtwin(&["intranode", &missed]);
    // Throughput stands, and what is missed stands with its point.
    assert_eq!(answer.status, 1, "{}", answer.notes);
    assert!(answer.out.contains("carried"), "{}", answer.out);
    assert!(answer.notes.contains("not as expected"), "{}", answer.notes);
    assert!(answer.notes.contains("intranode.load 0.4: carried_share is"), "{}", answer.notes);
    assert!(!answer.notes.contains("intranode.load 0.2"), "{}", answer.notes);
    let answer = railtwin(&["intranode", &missed, "--json"]);
    assert_eq!(answer.status, 1, "{}", answer.notes);
    let all: Value = serde_json::from_str(&answer.out).unwrap();
    let unexpected = |point: &Value| point["unexpected"].as_array().unwrap().len();
    let counts: Vec<usize> = all["points"].as_array().unwrap().iter().map(unexpected).collect();
    assert_eq!((counts[0], counts[1]), (0, 0), "{counts:?}");
    assert!(counts.iter().sum::<usize>() >= 1, "{counts:?}");
    // A figure that such runs have not.
    let answer = railtwin(&["intranode", &of("busbw_mean = { at_least = 1 }")]);
    assert_eq!(answer.status, 1, "{}", answer.notes);
    assert!(answer.notes.contains("the run has no such figure"), "{}", answer.notes);
}
