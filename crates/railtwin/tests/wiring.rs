//! Wrong cables in runs and in files of lldpd.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::Path;

use railtwin::diagnose::names::Names;
use railtwin::diagnose::{Diagnosed, Inputs, diagnose};
use railtwin::{Question, Run};
use railtwin_records::Syndrome;

const FABRIC: &str = "schema = 1\nname = \"eight\"\nseed = 3\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 4\n\
    uplinks = 8\nhost = { model = \"plain\", gpus = 2, nics = 2, nic_ports = 1, nic_port_capacity = \"200 Gbps\" }\n[[job]]\nname = \"a\"\n\
    steps = 3\nhosts = 8\ncollective = { kind = \"all-reduce\", algorithm = \"ring\", bytes = \"16 MiB\" }\n";

fn wrong(told: &Diagnosed) -> Vec<(String, f64)> {
    let found =
        told.findings.iter().filter(|finding| finding.syndrome == Syndrome::Wiring && finding.accuses());
    let mut all: Vec<(String, f64)> =
        found.map(|finding| (finding.suspects[0].component.name().to_owned(), finding.confidence)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn runs_of_both_engines_tell_which_cables_are_wrong_and_healthy_runs_name_nobody() {
    let folder = tempfile::tempdir().unwrap();
    for engine in ["flow", "packet"] {
        let fault = "[[fault]]\nat = \"0 s\"\nkind = \"wrong-cable\"\ncable = \"host-0/nic-0:port-0\"\nwith = \"host-5/nic-1:port-0\"\n";
        for (name, fault, count) in [("well", "", 0), ("wrong", fault, 2)] {
            let text = FABRIC.replace("seed = 3", &format!("seed = 3\nengine = \"{engine}\""))
                + "[telemetry]\ncounters = \"1 s\"\n"
                + fault;
            let question = Question::of_text("eight.toml", &text, Path::new("."));
            let point = question.points().unwrap().remove(0);
            let resolved = question.resolve(&point.scenario).unwrap_or_else(|error| panic!("{error}"));
            let path = folder.path().join(format!("{engine}-{name}"));
            let run = Run::of(resolved, &|| ());
            let in_run = run.telemetry.as_ref().map_or(0, |told| {
                told.findings.iter().filter(|finding| finding.syndrome == Syndrome::Wiring).count()
            });
            run.write(&path).unwrap();
            let told = diagnose(Inputs::read(&[path], "job").unwrap(), None, "job").unwrap();
            let found = wrong(&told);
            assert_eq!((found.len(), in_run), (count, count), "{engine} {name} {found:?}");
            assert!(found.iter().all(|(port, sure)| port.starts_with("host-") && *sure >= 0.9), "{found:?}");
        }
    }
}

/// A file of lldpd of each host: ports by a vendor's names, switches too.
fn files(folder: &Path, swapped: bool) {
    for host in 0..8 {
        let port = |number: usize| {
            let goes_to = match (swapped, host, number) {
                (true, 2, 1) => 1,
                (true, 6, 0) => 0,
                _ => host / 4,
            };
            format!(
                "{{\"ens{number}f0np0\": {{\"via\": \"LLDP\", \"chassis\": {{\"SW-A{goes_to}\": {{\"id\": {{\"type\": \"mac\", \"value\": \
                 \"0c:4f:{goes_to}\"}}}}}}, \"port\": {{\"id\": {{\"type\": \"ifname\", \"value\": \"400GE1/0/{}\"}}}}}}}}",
                2 * host + number
            )
        };
        let text = format!("{{\"lldp\": {{\"interface\": [{}, {}]}}}}", port(0), port(1));
        std::fs::write(folder.join(format!("node{host:02}_lldp.json")), text).unwrap();
    }
}

#[test]
fn files_of_lldpd_are_held_against_a_fabric_by_names_or_against_each_other() {
    let question = Question::of_text("eight.toml", FABRIC, Path::new("."));
    let mut names = String::new();
    for host in 0..8 {
        names += &format!("node{host:02},host-{host}\n");
        for port in 0..2 {
            names += &format!("node{host:02}/ens{port}f0np0,host-{host}/nic-{port}\n");
        }
    }
    for swapped in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path(), swapped);
        let read = || Inputs::read(&[folder.path().to_owned()], "job").unwrap();
        let mut inputs = read();
        inputs.names = Some(Names::parse("names.csv", &names).unwrap());
        let told = diagnose(inputs, Some(&question), "job").unwrap();
        let planned = wrong(&told);
        let ports: Vec<&str> = planned.iter().map(|(port, _)| port.as_str()).collect();
        let expected: &[&str] = if swapped { &["host-2/nic-1:port-0", "host-6/nic-0:port-0"] } else { &[] };
        assert_eq!(ports, expected, "{:?}", told.findings);
        assert!(told.notes.iter().any(|note| note.contains("neighbors of 16 of")), "{:?}", told.notes);
        // With names of switches the plan is surer.
        let mut inputs = read();
        let with = format!("{names}SW-A0,leaf-0\nSW-A1,leaf-1\n");
        inputs.names = Some(Names::parse("names.csv", &with).unwrap());
        let surer = wrong(&diagnose(inputs, Some(&question), "job").unwrap());
        assert!(surer.iter().zip(&planned).all(|(by_name, by_most)| by_name.1 > by_most.1), "{surer:?}");
        assert_eq!(surer.len(), planned.len());
        // Without a fabric nothing tells in which of two racks a host with a port in each stands.
        let alone = diagnose(read(), None, "job").unwrap();
        assert_eq!(wrong(&alone), [], "{:?}", alone.findings);
        if swapped {
            let screen = told.screen();
            assert!(
                screen.iter().any(|line| line.contains("is not plugged in where it should be")),
                "{screen:?}"
            );
            assert!(screen.len() <= 12);
            assert!(told.sources[0][0].count > 0, "{:?}", told.sources);
        }
    }
    let names = Some(Names::parse("names.csv", "a,leaf-9\n").unwrap());
    let inputs = Inputs { names, ..Inputs::default() };
    let error = diagnose(inputs, Some(&question), "job").unwrap_err().to_string();
    assert!(error.contains("is no host and no switch of the fabric"), "{error}");
}
