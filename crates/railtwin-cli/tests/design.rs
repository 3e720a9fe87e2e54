//! `railtwin design` and `railtwin schema`: what they print where, and their exit status.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test: scenario files are written for the command to read"
)]

use std::path::Path;
use std::process::Command;

use railtwin_cli::{Streams, run};

struct Outcome {
    status: u8,
    out: String,
    notes: String,
}

fn railtwin(args: &[&str]) -> Outcome {
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let args = std::iter::once("railtwin").chain(args.iter().copied());
    let mut streams = Streams { out: &mut out, notes: &mut notes };
    let status = run(args.map(Into::into), &mut streams);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { status, out: text(out), notes: text(notes) }
}

fn scenario(folder: &Path, fabric: &str) -> String {
    let path = folder.join("scenario.toml");
    std::fs::write(&path, format!("schema = 1\nname = \"a\"\n{fabric}")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The number at the end of the line that begins with `name`.
fn count(out: &str, name: &str) -> u32 {
    let rest = out.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    rest.trim().replace(',', "").parse().unwrap()
}

#[test]
fn hpn_counts_are_printed_and_the_build_time_is_no_data() {
    let Outcome { status, out, notes } = railtwin(&["design", "hpn"]);
    assert_eq!(status, 0, "{notes}");
    assert_eq!(count(&out, "GPUs, active"), 15_360);
    assert_eq!(count(&out, "cables leaf to spine"), 14_400);
    let lines: Vec<&str> = out.lines().collect();
    let blank = lines.iter().position(|line| line.is_empty()).unwrap();
    let widths: Vec<usize> = lines[..blank].iter().map(|line| line.chars().count()).collect();
    assert!(widths.iter().all(|&width| width == widths[0]), "columns end together:\n{out}");
    let leaf: Vec<&str> = lines[blank + 2].split_whitespace().collect();
    assert_eq!(leaf[..4], ["leaf", "240", "128", "200"]);
    assert!(!out.contains("built") && notes.starts_with("built hpn in "));
}

#[test]
fn options_change_the_preset() {
    let rail_only = railtwin(&["design", "hpn", "--tier2", "rail-only"]);
    assert_eq!(count(&rail_only.out, "GPUs, active"), 122_880);
    let single = railtwin(&["design", "hpn", "--single-tor", "--no-planes", "--segments", "2"]);
    assert_eq!(single.status, 0, "{}", single.notes);
    assert_eq!(count(&single.out, "leaves per host"), 8);
    assert_eq!(count(&single.out, "planes"), 1);
    assert!(count(&single.out, "leaves that are single points of failure") > 0);
    let set = railtwin(&[
        "design",
        "leaf-spine",
        "--set",
        "leaves=2",
        "--set",
        "host.model=plain",
        "--set",
        "host.nic_port_capacity=100 Gbps",
    ]);
    assert_eq!(set.status, 0, "{}", set.notes);
    let host = set.out.lines().find(|line| line.starts_with("backend capacity per host"));
    assert!(host.is_some_and(|line| line.ends_with(" 100 Gbps")), "{}", set.out);
}

#[test]
fn json_is_the_report_alone() {
    let Outcome { status, out, .. } = railtwin(&["design", "dcn-plus", "--pods", "2", "--json"]);
    assert_eq!(status, 0);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["gpus_active"], 1024);
    assert_eq!(report["tiers"][0]["tier"], "leaf");
}

#[test]
fn a_scenario_is_designed_once_for_each_fabric_of_its_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "[fabric]\npreset = \"fat-tree\"\nk = [4, 8]\n[routing]\nbalancer = [\"ecmp\", \"disjoint\"]\n";
    let file = scenario(folder.path(), text);
    let printed = railtwin(&["design", &file]);
    assert_eq!(printed.status, 0, "{}", printed.notes);
    assert_eq!(printed.out.matches("fabric.k = ").count(), 2);
    let json: serde_json::Value = serde_json::from_str(&railtwin(&["design", &file, "--json"]).out).unwrap();
    assert_eq!(json[1]["label"]["fabric.k"], "8");
    assert_eq!(json[1]["design"]["gpus_active"], 128);
    assert_eq!(json.as_array().unwrap().len(), 2);
}

/// 2 segments of 136 hosts make 5 sets of leaves of 64 hosts, 100 storage hosts and 4 gateways 2 more: 7 sets of 2
/// leaves, each with a cable to each of 32 spines. A host has a port under each leaf of its set.
#[test]
fn storage_and_frontend_of_a_scenario_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = "[fabric]\npreset = \"hpn\"\nsegments = 2\n";
    let alone = railtwin(&["design", &scenario(folder.path(), fabric)]).out;
    assert!(!alone.contains("frontend leaf") && !alone.contains("storage"), "{alone}");
    let text = format!("{fabric}[storage]\nhosts = 100\ngateways = 4\n");
    let Outcome { status, out, notes } = railtwin(&["design", &scenario(folder.path(), &text)]);
    assert_eq!(status, 0, "{notes}");
    assert_eq!((count(&out, "storage hosts"), count(&out, "gateways")), (100, 4));
    assert_eq!(count(&out, "cables host to frontend leaf"), (272 + 104) * 2);
    assert_eq!(count(&out, "cables frontend leaf to spine"), 14 * 32);
    let tier = |name: &str| -> Vec<String> {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().take(3).map(str::to_owned).collect()
    };
    assert_eq!(tier("frontend-leaf"), ["frontend-leaf", "14", "64"]);
    assert_eq!(tier("frontend-spine")[..2], ["frontend-spine", "32"]);
    assert_eq!(count(&out, "GPUs, active"), count(&alone, "GPUs, active"));
    // On the backend 100 storage hosts of one NIC stand where 13 hosts of eight would.
    let text = format!("{fabric}[storage]\nhosts = [100, 8]\non = \"backend\"\n");
    let out = railtwin(&["design", &scenario(folder.path(), &text)]).out;
    assert_eq!(count(&out, "hosts, active"), 256 - 13);
    assert_eq!(out.matches("storage.hosts = ").count(), 2, "{out}");
    let text = format!("{fabric}[storage]\nhosts = 2048\non = \"backend\"\n");
    let wrong = railtwin(&["design", &scenario(folder.path(), &text)]);
    assert!(wrong.status == 2 && wrong.notes.contains("scenario.toml:7:9"), "{}", wrong.notes);
    let leaves = "[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 2\nuplinks = 2\n";
    let plain = format!("{leaves}host = {{ model = \"plain\" }}\n[frontend]\n");
    let wrong = railtwin(&["design", &scenario(folder.path(), &plain)]);
    assert!(wrong.status == 2 && wrong.notes.contains("frontend NIC"), "{}", wrong.notes);
}

#[test]
fn errors_show_the_place_in_the_file_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), "[fabric]\npreset = \"hpn\"\nsegmnts = 4\n");
    let wrong = railtwin(&["design", &file]);
    assert_eq!((wrong.status, wrong.out.as_str()), (2, ""));
    for text in
        ["unknown key `segmnts`", "scenario.toml:5:1", "segmnts = 4", "help: did you mean `segments`?"]
    {
        assert!(wrong.notes.contains(text), "{text} is missing in\n{}", wrong.notes);
    }
    let file = scenario(folder.path(), "[fabric]\npreset = \"hpn\"\npods = 2\ncores = 7\n");
    let wrong = railtwin(&["design", &file]);
    assert_eq!(wrong.status, 2);
    for text in ["`cores` cannot be 7", "scenario.toml:6:9", "write a divisor of the 480 uplinks"] {
        assert!(wrong.notes.contains(text), "{text} is missing in\n{}", wrong.notes);
    }
}

#[test]
fn wrong_calls_have_status_2_and_print_no_data() {
    for (args, text) in [
        (&["design", "hnp"][..], "presets are hpn, dcn-plus, ai-zone, leaf-spine, fat-tree"),
        (&["design", "hpn", "--set", "colour=red"], "keys of preset `hpn` are pods, segments, hosts"),
        (&["design", "hpn", "--set", "spine=3"], "did you mean `spines`? keys of preset `hpn` are pods"),
        (&["design", "hpn", "--set", "spines"], "is no pair of key and value"),
        (&["design", "hpn", "--segments", "many"], "write a whole number"),
        (&["design", "fat-tree", "--single-tor"], "keys of preset `fat-tree` are k, capacity"),
        (&["design", "missing.toml"], "cannot read missing.toml"),
        (&["design", "missing.toml", "--pods", "2"], "change pods in [fabric]"),
        (&["design"], "required arguments"),
        (&["desing"], "design"),
    ] {
        let wrong = railtwin(args);
        assert_eq!((wrong.status, wrong.out.as_str()), (2, ""), "{args:?}");
        let notes = wrong.notes.replace("\n        ", " ").replace("\n  │ ", " ");
        assert!(notes.contains(text), "{args:?} says\n{}", wrong.notes);
    }
}

#[test]
fn help_and_version_and_schema_are_data() {
    assert!(railtwin(&["--help"]).out.contains("design"));
    let version = railtwin(&["--version"]);
    assert_eq!((version.status, version.out), (0, format!("railtwin {}\n", env!("CARGO_PKG_VERSION"))));
    let schema: serde_json::Value = serde_json::from_str(&railtwin(&["schema"]).out).unwrap();
    assert_eq!(schema["title"], "railtwin scenario");
}

#[test]
fn the_binary_writes_nothing_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_railtwin"));
        command.args(args).current_dir(folder.path()).output().unwrap()
    };
    let good = run(&["design", "fat-tree", "--set", "k=4", "--json"]);
    assert_eq!(good.status.code(), Some(0));
    assert!(serde_json::from_slice::<serde_json::Value>(&good.stdout).is_ok());
    assert_eq!(run(&["design", "fat-tree", "--set", "k=5"]).status.code(), Some(2));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
