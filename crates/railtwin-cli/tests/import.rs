//! `railtwin import`: what it says of published files, and that the scenarios it writes run.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::path::{Path, PathBuf};

use harness::{railtwin, shown, small, written};
use serde_json::json;

/// A file of the repository.
fn ours(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    shown(&root.join(path))
}

const CHAKRA: &str = "crates/railtwin-formats/tests/data/chakra_astra_micro/all_reduce_8npus_1MB_all_reduce";

#[test]
fn a_simai_workload_is_told_in_our_words() {
    let file = ours("data/simai/simai_workload_analytical.txt");
    let answer = railtwin(&["import", &file, "--json"]).json();
    assert_eq!(answer["format"], "simai");
    let facts = &answer["facts"];
    for (key, count) in [
        ("gpus", 9216),
        ("tp", 2),
        ("pp", 12),
        ("dp", 384),
        ("ep", 16),
        ("micro_batches", 24),
        ("rows", 1789),
    ] {
        assert_eq!(facts[key], json!(count), "{key}");
    }
    // Sums of the columns, taken with awk.
    assert_eq!(facts["bytes_pp"], json!(50_331_648));
    let text = std::fs::read_to_string(&file).unwrap();
    let cells = |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let rows: Vec<Vec<String>> = text.lines().skip(2).map(cells).filter(|row| row.len() == 12).collect();
    let sum = |suffix: &str| -> u64 {
        let columns = [(3, 4), (6, 7), (9, 10)];
        let of_row = |row: &Vec<String>| -> u64 {
            let hits = columns.iter().filter(|(kind, _)| row[*kind].ends_with(suffix));
            let keep = |kind: &str| suffix != "_EP" || !kind.ends_with("_DP_EP");
            hits.filter(|(kind, _)| keep(&row[*kind]))
                .map(|(_, bytes)| row[*bytes].parse::<u64>().unwrap())
                .sum()
        };
        rows.iter().map(of_row).sum()
    };
    assert_eq!(facts["bytes_ep"], json!(sum("_EP")));
    assert_eq!(facts["bytes_dp_ep"].as_u64().unwrap_or(0), sum("_DP_EP"));
    let nanoseconds: u64 = rows
        .iter()
        .map(|row| [2, 5, 8, 11].map(|c| row[c].parse::<u64>().unwrap()).iter().sum::<u64>())
        .sum();
    assert!((facts["compute_s"].as_f64().unwrap() / (nanoseconds as f64 * 1e-9) - 1.0).abs() < 1e-9);
    let text = railtwin(&["import", &file]);
    assert!(
        text.out.contains("micro-batches") && text.out.contains("collectives of all rows, ep"),
        "{}",
        text.out
    );
}

/// Imports with a scenario, then runs it.
fn runs(folder: &Path, files: &[&str], gpus: u64) -> serde_json::Value {
    let scenario = folder.join("imported.toml");
    let named = shown(&scenario);
    let call = [&["import"], files, &["--scenario", &named]].concat();
    let imported = railtwin(&call);
    assert_eq!(imported.status, 0, "{}", imported.notes);
    assert!(imported.out.contains("scenario  "));
    railtwin(&call).assert_refused(&["exists already", "--force"]);
    assert_eq!(railtwin(&[&call[..], &["--force"]].concat()).status, 0);
    let answer =
        railtwin(&["run", &shown(&scenario), "--out", &shown(&folder.join("runs")), "--json"]).json();
    assert!(answer["figures"]["gpus_active"].as_f64().unwrap() >= gpus as f64);
    assert_eq!(answer["figures"]["operations_unfinished"].as_f64(), Some(0.0));
    answer
}

#[test]
fn a_scenario_around_a_simai_workload_runs() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a \"b\"");
    std::fs::create_dir(&inner).unwrap();
    let file = inner.join("work.txt");
    std::fs::copy(ours("data/simai/simai_micro_all_reduce.txt"), &file).unwrap();
    let answer = runs(folder.path(), &[&shown(&file)], 8);
    assert!(answer["figures"]["step_time"].as_f64().unwrap() > 1e-3, "556 us of computation, twice");
}

#[test]
fn chakra_traces_are_found_by_their_common_name_or_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = ours(CHAKRA);
    let answer = railtwin(&["import", &prefix, "--json"]).json();
    assert_eq!((&answer["format"], &answer["facts"]["ranks"]), (&json!("chakra"), &json!(8)));
    assert_eq!(answer["facts"]["all_reduce_nodes"], json!(8));
    let files: Vec<String> = (0..8).rev().map(|rank| format!("{prefix}.{rank}.et")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let by_files = railtwin(&[&["import"], &files[..], &["--json"]].concat()).json();
    assert_eq!(by_files["facts"], answer["facts"]);
    railtwin(&[&["import"], &files[..3]].concat()).assert_refused(&["rank 0", "from 0 on"]);
    runs(folder.path(), &[&prefix], 8);
}

#[test]
fn communicators_come_with_chakra_traces() {
    let folder = tempfile::tempdir().unwrap();
    let group = ours("data/telemetry/reports/34-chakra-group-in-group");
    let answer = railtwin(&["import", &group, "--json"]).json();
    assert_eq!(answer["facts"]["ranks"], json!(8));
    // Four ranks reduce, then all eight gather.
    assert_eq!(answer["facts"]["all_reduce_nodes"], json!(4));
    assert_eq!(answer["facts"]["all_gather_nodes"], json!(8));
    runs(folder.path(), &[&group], 8);
    let alone = format!("{group}/sub");
    railtwin(&["import", &alone]).assert_refused(&["is no communicator", "communicators' JSON file"]);
    let json = format!("{group}/comm_group.json");
    railtwin(&["import", &alone, &json, &json]).assert_refused(&["second file of communicators"]);
    let empty = tempfile::tempdir().unwrap();
    railtwin(&["import", &shown(empty.path())]).assert_refused(&["holds no file"]);
}

#[test]
fn a_topology_of_simai_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = ours("data/telemetry/reports/33-simai-topology.txt");
    let answer = railtwin(&["import", &file, "--json"]).json();
    let facts = &answer["facts"];
    assert_eq!((&answer["format"], &facts["gpus"]), (&json!("simai-topology"), &json!(6)));
    assert_eq!((&facts["nvswitches"], &facts["links"]), (&json!(1), &json!(14)));
    let out = shown(&folder.path().join("out.toml"));
    railtwin(&["import", &file, "--scenario", &out]).assert_refused(&["no scenario can be written"]);
}

#[test]
fn a_lingjun_topology_is_a_fabric() {
    let folder = tempfile::tempdir().unwrap();
    let file = ours("data/lingjun/topo.csv");
    let answer = railtwin(&["import", &file, "--json"]).json();
    assert_eq!((&answer["format"], &answer["facts"]["hosts"]), (&json!("lingjun"), &json!(847)));
    assert_eq!(answer["facts"]["leaves"], json!(119));
    assert_eq!(answer["design"]["gpus_active"], json!(847 * 8));
    assert!(railtwin(&["import", &file]).out.contains("cables leaf to spine"));
    runs(folder.path(), &[&file], 847 * 8);
}

#[test]
fn files_of_htsim_are_a_fabric_and_a_workload() {
    let folder = tempfile::tempdir().unwrap();
    let tree = ours("data/htsim/leaf_spine_tiny.topo");
    let answer = railtwin(&["import", &tree, "--json"]).json();
    assert_eq!((&answer["format"], &answer["facts"]["spines"]), (&json!("htsim"), &json!(2)));
    runs(folder.path(), &[&tree], 32);
    let folder = tempfile::tempdir().unwrap();
    let matrix = ours("data/htsim/perm_16n_16c_2MB.cm");
    let answer = railtwin(&["import", &matrix, "--json"]).json();
    assert_eq!((&answer["format"], &answer["facts"]["bytes"]), (&json!("connections"), &json!(32_000_000)));
    runs(folder.path(), &[&matrix], 16);
    // Bundles at the top make no fabric of ours, and are counted all the same.
    let answer = railtwin(&["import", &ours("data/htsim/test.topo"), "--json"]).json();
    assert_eq!((&answer["counts"]["hosts"], &answer["findings"]), (&json!(8), &json!([])));
    // A folder as it is published, with its licence and README.
    let answer = railtwin(&["import", &ours("data/lingjun"), "--json"]).json();
    assert_eq!((&answer["format"], &answer["counts"]["hosts"]), (&json!("lingjun"), &json!(847)));
}

#[test]
fn what_cannot_be_imported_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| written(folder.path(), name, text);
    let simai = ours("data/simai/simai_micro_all_reduce.txt");
    let scenario = shown(&folder.path().join("out.toml"));
    let refuse = |files: &[&str], words: &[&str]| {
        railtwin(&[&["import"], files, &["--scenario", &scenario]].concat()).assert_refused(words);
        assert!(!PathBuf::from(&scenario).exists());
    };
    refuse(&[&write("a.bin", "\0\u{1}nothing")], &["a.bin", "no known format", "simai", "chakra", "lingjun"]);
    refuse(&[&write("empty", "")], &["no known format"]);
    refuse(&["/no/such/file"], &["/no/such/file", "accepted"]);
    refuse(&[&simai, &simai], &["2 files", "one file at a time"]);
    refuse(&[&simai, &ours("data/lingjun/topo.csv")], &["another format than simai: lingjun"]);
    let broken = std::fs::read_to_string(&simai).unwrap().replace("16777216", "12x");
    refuse(&[&write("broken.txt", &broken)], &["broken.txt:3", "column", "12x"]);
    refuse(&[&write("topo.csv", "ip,DSW,PSW,ASW\na,b\n")], &["topo.csv"]);
    refuse(&[&write("x.0.et", "{}")], &["x.0.et"]);
    refuse(&[&write("x.et", "")], &["<name>.<rank>.et"]);
    refuse(&[&simai, "--as", "lingjun"], &["no column ip"]);
    let wrong = railtwin(&["import", &simai, "--as", "goal"]);
    assert!(wrong.status == 2 && wrong.notes.contains("possible values: simai, chakra, connections"));
}

#[test]
fn who_gives_a_file_to_the_wrong_command_is_told_which_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "a.toml", &small("a", ""));
    let log = ours("data/telemetry/reports/07-nvls-invalid-argument.log");
    railtwin(&["import", &log]).assert_refused(&["no known format", "`railtwin diagnose`"]);
    railtwin(&["import", &scenario]).assert_refused(&["(scenario)", "`railtwin run`"]);
    let simai = ours("data/simai/simai_micro_all_reduce.txt");
    let marked = [b"\xef\xbb\xbf", &std::fs::read(&simai).unwrap()[..]].concat();
    let copy = folder.path().join("marked.txt");
    std::fs::write(&copy, marked).unwrap();
    assert_eq!(railtwin(&["import", &shown(&copy), "--json"]).json()["format"], "simai", "a byte order mark");
    std::fs::remove_file(copy).unwrap();
    let fabric = ours("data/topograph/model_large.yaml");
    for command in [&["diagnose"][..], &["calibrate"], &["check", "bandwidth"]] {
        let refuse =
            |file: &str, words: &[&str]| railtwin(&[command, &[file]].concat()).assert_refused(words);
        refuse(&fabric, &["no format that is known", "topograph", "`railtwin import`"]);
        refuse(&simai, &["(SimAI workload)", "`railtwin import`"]);
        refuse(&scenario, &["(scenario)", "`railtwin run`"]);
        refuse(&shown(folder.path()), &["(scenario)", "`railtwin run`"]);
    }
}
