//! `railtwin export` and `railtwin check config`: what is written, FRR's own judgement of it, and what is refused.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{railtwin, shown, written};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A call of FRR's `vtysh`: on the path, or unpacked by `scripts/need` with its libraries.
fn vtysh() -> Option<Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join("vtysh").is_file()) {
        return Some(Command::new("vtysh"));
    }
    let tools = repository().join("target/tools/usr");
    let unpacked = tools.join("bin/vtysh");
    if !unpacked.is_file() {
        let loud = b"SKIPPED: there is no vtysh (apt-get install frr)\n";
        std::io::stderr().write_all(loud).unwrap();
        return None;
    }
    let libraries = std::fs::read_dir(tools.join("lib")).unwrap().map(|entry| entry.unwrap().path());
    let libraries: Vec<PathBuf> = libraries.flat_map(|folder| [folder.join("frr"), folder]).collect();
    let mut command = Command::new(unpacked);
    command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap());
    Some(command)
}

/// Whether FRR accepts a file, and what it says.
fn accepts(file: &Path, own: &Path) -> Option<(bool, String)> {
    let mut command = vtysh()?;
    std::fs::write(own.join("vtysh.conf"), "").unwrap();
    let output = command.args(["-C", "-f"]).arg(file).arg("--config_dir").arg(own).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Folders of an export, in order of names.
fn folders(of: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

const SMALL: [&str; 10] = [
    "--set",
    "segments=2",
    "--set",
    "hosts=2",
    "--set",
    "spare_hosts=0",
    "--set",
    "spines=4",
    "--set",
    "host.nics=2",
];

#[test]
fn frr_accepts_each_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.conf");
    std::fs::write(&bad, "router bgp 65000\n no such setting\n").unwrap();
    let Some((accepted, said)) = accepts(&bad, folder.path()) else { return };
    if said.contains("shared libraries") {
        std::io::stderr().write_all(format!("SKIPPED: vtysh does not start: {said}").as_bytes()).unwrap();
        return;
    }
    assert!(!accepted && said.contains("Unknown command"), "the judge sees mistakes: {said}");
    let cases: [(&str, &[&str]); 4] = [
        ("hpn", &["hpn"]),
        ("pinned", &["leaf-spine", "--pinned", "--bfd", "100 ms"]),
        ("pods", &["dcn-plus", "--set", "pods=2", "--set", "hosts=2"]),
        ("tree", &["fat-tree", "--set", "k=4"]),
    ];
    for (name, what) in cases {
        let out = folder.path().join(name);
        let small: &[&str] = if name == "hpn" { &SMALL } else { &[] };
        let at = shown(&out);
        let call = [&["export"], what, &["--to", "frr", &at], small].concat();
        let outcome = railtwin(&call);
        assert_eq!(outcome.status, 0, "{}", outcome.notes);
        let mut checked = 0;
        for switch in folders(&out) {
            let (accepted, said) = accepts(&switch.join("frr.conf"), folder.path()).unwrap();
            assert!(accepted && said.trim().is_empty(), "{}: {said}", switch.display());
            checked += 1;
        }
        assert!(checked >= 6, "{name}: {checked}");
    }
}

#[test]
fn exports_are_written_whole_and_pass_the_check() {
    let folder = tempfile::tempdir().unwrap();
    for form in ["frr", "sonic"] {
        let out = folder.path().join(form);
        let at = shown(&out);
        let call =
            |more: &[&str]| railtwin(&[&["export", "hpn", "--to", form, &at], &SMALL[..], more].concat());
        let outcome = call(&[]);
        assert_eq!(outcome.status, 0, "{}", outcome.notes);
        assert!(outcome.out.ends_with(&format!(" files in {at}\n")), "{}", outcome.out);
        assert_eq!(folders(&out).len(), 8 + 8, "eight leaves and eight spines, and nothing else");
        call(&[]).assert_refused(&["holds files already", "--force"]);
        assert_eq!(call(&["--force"]).status, 0);
        let checked = railtwin(&["check", "config", &at]);
        assert_eq!(checked.status, 0, "{}", checked.out);
        assert!(checked.out.starts_with("no mistake in"), "{}", checked.out);
        assert!(checked.out.contains("8 leaves, 16 hashes of switches"), "{}", checked.out);
    }
    let again = folder.path().join("again");
    railtwin(&[&["export", "hpn", "--to", "sonic", &shown(&again)], &SMALL[..]].concat());
    let file = |of: &Path| std::fs::read(of.join("leaf-3/config_db.json")).unwrap();
    assert_eq!(file(&again), file(&folder.path().join("sonic")), "the same call writes the same");
}

#[test]
fn a_changed_folder_is_accused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("frr");
    railtwin(&[&["export", "hpn", "--to", "frr", &shown(&out), "--bfd", "50 ms"], &SMALL[..]].concat());
    std::fs::remove_file(out.join("leaf-0/bgp-watch.sh")).unwrap();
    let lacp = std::fs::read_to_string(out.join("leaf-0/lacp.sh")).unwrap();
    std::fs::write(out.join("leaf-1/lacp.sh"), lacp).unwrap();
    let outcome = railtwin(&["check", "config", &shown(&out), "--json"]);
    assert_eq!(outcome.status, 1, "{}", outcome.notes);
    let data: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let rules: Vec<&str> =
        data["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["lacp-port-id", "dead-daemon", "bfd-interval"]);
}

#[test]
fn hosts_and_the_hash_of_cores_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts");
    let outcome = railtwin(&[&["export", "hpn", "--to", "hosts", &shown(&hosts)], &SMALL[..]].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.notes);
    let bond = std::fs::read_to_string(hosts.join("host-3/10-bond1.netdev")).unwrap();
    assert!(bond.contains("Mode=802.3ad"), "{bond}");
    let core = folder.path().join("core");
    let call = |more: &[&str]| {
        railtwin(&[&["export", "hpn", "--to", "core-hash", &shown(&core)], &SMALL[..], more].concat())
    };
    call(&[]).assert_refused(&["has no core", "two pods"]);
    assert!(!core.exists(), "nothing is written on an error");
    let more = ["--set", "pods=2", "--set", "cores=4", "--down", "core-0:downlink-3"];
    let outcome = call(&more);
    assert_eq!((outcome.status, outcome.out.as_str()), (0, format!("1 file in {}\n", shown(&core)).as_str()));
    let table = std::fs::read_to_string(core.join("core-hash.csv")).unwrap();
    assert!(table.lines().any(|line| line.ends_with(",downlink-3,hash")), "{table}");
}

#[test]
fn wrong_calls_of_export_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = shown(&folder.path().join("out"));
    let call = |what: &str, more: &[&str]| railtwin(&[&["export", what, "--to", "frr", &out], more].concat());
    railtwin(&["export", "hpn", "--to", "frr"]).assert_refused(&["no folder to write", "out/"]);
    call("hpm", &[]).assert_refused(&["there is no preset called \"hpm\"", "leaf-spine"]);
    call("hpn", &["--set", "segments"]).assert_refused(&["--set segments", "key"]);
    call("hpn", &["--set", "segment=2"]).assert_refused(&["segment"]);
    call("hpn", &["--bfd", "1500 us"]).assert_refused(&["an interval of BFD", "100 ms"]);
    call("hpn", &["--down", "leaf-0:uplink-0"]).assert_refused(&["core-hash"]);
    call("hpn", &["--pinned"]).assert_refused(&["pinned routes", "segments"]);
    let sweep = "schema = 1\nname = \"a\"\n[fabric]\npreset = \"hpn\"\nsegments = [1, 2]\nhosts = 2\n";
    let sweep = written(folder.path(), "sweep.toml", sweep);
    call(&sweep, &[]).assert_refused(&["several fabrics"]);
    assert!(!folder.path().join("out").exists());
}

#[test]
fn settings_of_a_file_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let leaf = |name: &str, offset: u32| {
        format!(
            "[[leaf]]\nname = \"{name}\"\nset = \"rack-1\"\nsystem_id = \"00:00:5e:00:01:01\"\nport_offset = {offset}\n"
        )
    };
    let rest = "[daemons]\ndead = \"watcher\"\nbfd = \"100 ms\"\n[hosts]\narp_to_both = true\n[checklist]\n\
                pcie_credits = true\nrelaxed_ordering = true\ntopology_aware_ranks = true\n\
                zero_byte_messages_eliminated = true\n";
    let text = |second: u32| format!("schema = 1\n{rest}{}{}", leaf("a", 300), leaf("b", second));
    let good = written(folder.path(), "good.toml", &text(600));
    let outcome = railtwin(&["check", "config", &good]);
    assert_eq!(outcome.status, 0, "{}{}", outcome.out, outcome.notes);
    let bad = written(folder.path(), "bad.toml", &text(300));
    let outcome = railtwin(&["check", "config", &bad]);
    assert_eq!(outcome.status, 1);
    for words in ["1 mistake in", "lacp-port-id", "set rack-1: a has 301 to 428, b has 301 to 428", "HPN 4.2"]
    {
        assert!(outcome.out.contains(words), "{}", outcome.out);
    }
    let wrong = written(folder.path(), "wrong.toml", &text(300).replace("port_offset", "port_ofset"));
    let outcome = railtwin(&["check", "config", &wrong]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.notes.contains("unknown key `port_ofset`"), "{}", outcome.notes);
    railtwin(&["check", "config", "missing"]).assert_refused(&["cannot read missing", "TOML"]);
    let empty = shown(folder.path());
    railtwin(&["check", "config", &empty]).assert_refused(&["holds no folder with a frr.conf"]);
}

#[test]
fn a_scenario_is_judged_by_its_reaction_and_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let text = "schema = 1\nname = \"a\"\n[fabric]\npreset = \"leaf-spine\"\n[routing]\nseeds = \"shared\"\n\
                [reaction]\narp_proxy = false\nbfd = \"150 ms\"\n";
    let outcome = railtwin(&["check", "config", &written(folder.path(), "a.toml", text)]);
    assert_eq!(outcome.status, 1, "{}", outcome.notes);
    for rule in ["arp-proxy", "bfd-interval", "hash-seeds"] {
        assert!(outcome.out.contains(&format!("\n{rule}: ")), "{}", outcome.out);
    }
    assert_eq!(railtwin(&["check", "config", "hpn"]).status, 0);
}
