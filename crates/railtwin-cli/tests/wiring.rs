//! `railtwin check wiring` and `export`: wrong cables of maps of others and of presets are found and repaired by the least moves.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use railtwin_diagnosis::wiring::{Audit, Blueprint, FarEnd, MoveAction, Sighting, WiringFault};
use railtwin_fabric::cable_list::{CableList, Inference, list_of};
use railtwin_fabric::preset::Hpn;
use railtwin_formats::parse_cable_list;
use railtwin_units::stream;
use serde_json::{Value, json};

use crate::harness::{Outcome, railtwin, shown};

const MAPS: [&str; 4] = ["opg-64-clos-ro", "opg-64-collapsed", "opg-128-clos-ro", "opg-256-dual-plane"];

fn map_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/ocp_fabrics").join(format!("{name}.csv"))
}

fn map(name: &str) -> Blueprint {
    let list = parse_cable_list(name, &fs::read(map_path(name)).unwrap()).unwrap();
    let found = Inference::of(&list).unwrap();
    Blueprint::new(list, found)
}

fn sorted([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

fn planned(list: &CableList) -> Vec<[u32; 2]> {
    list.cables().iter().map(|cable| cable.ports).collect()
}

/// What both ends of cables report.
fn reports(list: &CableList, cables: &[[u32; 2]]) -> Vec<Sighting> {
    let name = |port: u32| {
        let port = &list.ports()[port as usize];
        (list.devices()[port.device as usize].name.clone(), port.name.clone())
    };
    let both = cables.iter().flat_map(|&[a, b]| [[a, b], [b, a]]);
    both.map(|ends| {
        let [(device, port), (far, far_port)] = ends.map(name);
        Sighting { device, port, far: FarEnd::Device(far, Some(far_port)) }
    })
    .collect()
}

/// The cables after the moves of an audit.
fn repaired(audit: &Audit<'_>, cables: &[[u32; 2]]) -> BTreeSet<[u32; 2]> {
    let mut after: BTreeSet<[u32; 2]> = cables.iter().copied().map(sorted).collect();
    let moves: Vec<_> = audit.repairs.iter().flat_map(|repair| &repair.moves).collect();
    for one in &moves {
        assert_eq!(one.action, MoveAction::Move);
        assert!(after.remove(&sorted([one.stays, one.from])), "a cable that is there");
    }
    after.extend(moves.iter().map(|one| sorted([one.stays, one.to])));
    after
}

/// Two cables after one end of each changed places: the second ends, or the second end of one and the first of the other.
fn exchanged(a: [u32; 2], b: [u32; 2], crosswise: bool) -> [[u32; 2]; 2] {
    if crosswise { [[a[0], b[0]], [a[1], b[1]]] } else { [[a[0], b[1]], [b[0], a[1]]] }
}

/// Every pair of cables exchanges one end, in either way, all others as planned. In a round each cable has another partner,
/// as in a tournament, so that every pair is seen once with all other cables in pairs of their own.
#[test]
fn every_exchange_in_every_map_is_found_and_repaired_by_two_moves() {
    for name in MAPS {
        let blueprint = map(name);
        let (list, all) = (blueprint.list(), planned(blueprint.list()));
        let plan: BTreeSet<[u32; 2]> = all.iter().copied().map(sorted).collect();
        let seats = all.len() + all.len() % 2;
        let mut pairs = 0;
        for round in 0..seats - 1 {
            let seat = |at: usize| if at == 0 { 0 } else { 1 + (at - 1 + round) % (seats - 1) };
            let met = (0..seats / 2).map(|at| [seat(at), seat(seats - 1 - at)]);
            let met: Vec<[usize; 2]> = met.filter(|pair| pair.iter().all(|&row| row < all.len())).collect();
            pairs += met.len();
            for crosswise in [false, true] {
                let mut cables = all.clone();
                for &[a, b] in &met {
                    [cables[a], cables[b]] = exchanged(all[a], all[b], crosswise);
                }
                let sightings = reports(list, &cables);
                let audit = blueprint.audit(&sightings, false);
                assert_eq!(
                    (audit.repairs.len(), audit.moves()),
                    (met.len(), 2 * met.len()),
                    "{name} {round}"
                );
                assert!(audit.faults.iter().all(|fault| fault.kinds[0] == WiringFault::Swapped));
                assert_eq!(repaired(&audit, &cables), plan, "{name} {round}");
            }
        }
        assert_eq!(pairs, all.len() * (all.len() - 1) / 2, "{name}: every pair");
    }
}

/// The same for a pair at a time: no other cable is named.
#[test]
fn an_exchange_alone_names_its_two_cables_and_no_other() {
    let blueprint = map("opg-64-clos-ro");
    let (list, all) = (blueprint.list(), planned(blueprint.list()));
    for a in 0..all.len() {
        for b in (a + 1..all.len()).step_by(3) {
            let crosswise = (a + b) % 2 == 0;
            let mut cables = all.clone();
            [cables[a], cables[b]] = exchanged(all[a], all[b], crosswise);
            let sightings = reports(list, &cables);
            let audit = blueprint.audit(&sightings, false);
            let named: BTreeSet<[u32; 2]> =
                audit.faults.iter().filter_map(|fault| fault.seen).map(sorted).collect();
            assert_eq!(named, [cables[a], cables[b]].map(sorted).into(), "{a} {b} {crosswise}");
            assert_eq!((audit.moves(), audit.right), (2, all.len() - 2));
        }
    }
}

/// Hops of probes through a fabric as it is cabled: up by any port, down by any.
fn probes(list: &CableList, found: &Inference, cables: &[[u32; 2]], count: usize, seed: u64) -> String {
    use rand::RngExt;
    let mut far = vec![None; list.ports().len()];
    for &[a, b] in cables {
        (far[a as usize], far[b as usize]) = (Some(b), Some(a));
    }
    let mut lot = stream::named(seed, "probes");
    let starts: Vec<u32> = (0..list.ports().len() as u32)
        .filter(|&port| found.is_host(list.device_of(port)) && far[port as usize].is_some())
        .collect();
    let name = |port: u32| list.ports()[port as usize].name.clone();
    let device = |port: u32| list.devices()[list.device_of(port) as usize].name.clone();
    let mut rows = String::from("probe,hop,switch,ingress,egress\n");
    for probe in 0..count {
        // Each start in turn, then at random.
        let mut out = starts[probe % starts.len()];
        rows.push_str(&format!("p{probe},0,{},,{}\n", device(out), name(out)));
        for hop in 1..=4 {
            let Some(into) = far[out as usize] else { break };
            let at = list.device_of(into);
            if found.is_host(at) || hop == 4 {
                rows.push_str(&format!("p{probe},{hop},{},{},\n", device(into), name(into)));
                break;
            }
            let up = hop == 1;
            let ways: Vec<u32> = list.devices()[at as usize]
                .ports
                .iter()
                .copied()
                .filter(|&port| {
                    port != into && far[port as usize].is_some() && name(port).starts_with("up") == up
                })
                .collect();
            if ways.is_empty() {
                rows.push_str(&format!("p{probe},{hop},{},{},\n", device(into), name(into)));
                break;
            }
            out = ways[lot.random_range(0..ways.len())];
            rows.push_str(&format!("p{probe},{hop},{},{},{}\n", device(into), name(into), name(out)));
        }
    }
    rows
}

fn data(args: &[&str]) -> (u8, Value) {
    let Outcome { status, out, notes } = railtwin(&[&["check", "wiring", "--json"], args].concat());
    assert!(status < 2, "{notes}");
    (status, serde_json::from_str(&out).unwrap())
}

/// Section 5 of HPN: the (switch, port) of every hop of INT probes against the blueprint.
#[test]
fn hops_of_probes_find_all_swapped_cables_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let pod = Hpn { segments: Some(2), hosts: Some(4), spines: Some(4), ..Hpn::default() };
    let scenario = folder.path().join("pod.toml");
    let text = "schema = 1\nname = \"pod\"\n[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 4\nspines = 4\n[[job]]\nhosts = 2\n\
                collective = { kind = \"all-reduce\", bytes = \"1 MB\" }\n";
    fs::write(&scenario, text).unwrap();
    let (list, found) = list_of(&pod.build().unwrap());
    let all = planned(&list);
    for (swaps, seed) in [(0, 1_u64), (1, 2), (5, 3)] {
        use rand::RngExt;
        let mut lot = stream::named(seed, "swaps");
        let mut cables = all.clone();
        let mut wrong: BTreeSet<usize> = BTreeSet::new();
        while wrong.len() < 2 * swaps {
            let [a, b] = [0; 2].map(|_| lot.random_range(0..all.len()));
            // Cables of one kind, so that probes still find a way.
            let tier = |row: usize| found.places[list.device_of(all[row][1]) as usize].role;
            if a != b && !wrong.contains(&a) && !wrong.contains(&b) && tier(a) == tier(b) {
                (cables[a][1], cables[b][1]) = (all[b][1], all[a][1]);
                wrong.extend([a, b]);
            }
        }
        let hops = folder.path().join(format!("hops-{swaps}.csv"));
        fs::write(&hops, probes(&list, &found, &cables, 6_000, seed)).unwrap();
        let (status, answer) = data(&[&shown(&scenario), &shown(&hops)]);
        assert_eq!((status, &answer["wrong"]), (u8::from(swaps > 0), &json!(2 * swaps)), "{answer:#}");
        assert_eq!((&answer["moves"], &answer["not_observed"]), (&json!(2 * swaps), &json!([])));
        // A probe alone: what it did not cross is not observed, and nothing of it is wrong.
        let few = folder.path().join(format!("few-{swaps}.csv"));
        fs::write(&few, probes(&list, &found, &all, 1, seed)).unwrap();
        let (status, answer) = data(&[&shown(&scenario), &shown(&few)]);
        let right = answer["right"].as_u64().unwrap() as usize;
        assert_eq!((status, answer["not_observed"].as_array().unwrap().len()), (0, all.len() - right));
        assert!((2..=4).contains(&right), "{answer:#}");
    }
}

/// A list as CSV with rows changed.
fn changed(name: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let text = fs::read_to_string(map_path(name)).unwrap();
    text.lines().filter_map(|line| Some(change(line)? + "\n")).collect()
}

fn kinds(answer: &Value) -> Vec<Vec<&str>> {
    let faults = answer["faults"].as_array().unwrap().iter();
    faults
        .map(|fault| fault["kinds"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect())
        .collect()
}

#[test]
fn missing_extra_mis_railed_and_cross_plane_cables_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, text: String, more: &[&str]| {
        let seen = folder.path().join("seen.csv");
        fs::write(&seen, text).unwrap();
        data(&[&[shown(&map_path(name)).as_str(), &shown(&seen)], more].concat())
    };
    // Nothing changed.
    let (status, answer) =
        check("opg-64-clos-ro", changed("opg-64-clos-ro", |line| Some(line.to_owned())), &[]);
    assert_eq!((status, &answer["answer"]), (0, &json!("well: 176 cables are as planned")));
    // A row is gone: not observed, and missing where the list is said to be complete, or the port is said to be free.
    let gone = |line: &str| (!line.contains("compute-001,be0-port0")).then(|| line.to_owned());
    let (status, answer) = check("opg-64-clos-ro", changed("opg-64-clos-ro", gone), &[]);
    assert_eq!((status, answer["not_observed"].as_array().unwrap().len()), (0, 1));
    let (status, answer) = check("opg-64-clos-ro", changed("opg-64-clos-ro", gone), &["--complete"]);
    assert_eq!((status, kinds(&answer)), (1, vec![vec!["missing"]]));
    assert_eq!(answer["repairs"][0]["moves"][0]["action"], "lay");
    let free = changed("opg-64-clos-ro", gone) + "36,0,,,,compute-001,be0-port0,server,,,\n";
    let (status, answer) = check("opg-64-clos-ro", free, &[]);
    assert_eq!((status, kinds(&answer)), (1, vec![vec!["missing"]]));
    // A cable more, between ports that are planned to be free.
    let extra = changed("opg-64-clos-ro", |line| Some(line.to_owned()))
        + "36,0,,,,compute-001,be9-port0,server,be-spine-01,E9/9,spine\n";
    let (status, answer) = check("opg-64-clos-ro", extra, &[]);
    assert_eq!((status, kinds(&answer)), (1, vec![vec!["extra"]]));
    assert_eq!(answer["repairs"][0]["moves"][0]["action"], "take-out");
    // GPUs 3 and 4 of a host have exchanged leaves, which serve other rails.
    let rails = |line: &str| {
        let swapped = match line {
            line if line.contains("compute-001,be3-port0") => {
                line.replace("be-rail-leaf-01,E1/2/2", "be-rail-leaf-02,E1/1/1")
            }
            line if line.contains("compute-001,be4-port0") => {
                line.replace("be-rail-leaf-02,E1/1/1", "be-rail-leaf-01,E1/2/2")
            }
            other => other.to_owned(),
        };
        Some(swapped)
    };
    let (status, answer) = check("opg-128-clos-ro", changed("opg-128-clos-ro", rails), &[]);
    assert_eq!((status, kinds(&answer)), (1, vec![vec!["swapped", "mis-railed"]; 2]));
    assert_eq!((&answer["moves"], &answer["repairs"][0]["either_way"]), (&json!(2), &json!(true)));
    // The two ports of a NIC have exchanged planes.
    let planes = |line: &str| {
        let swapped = match line {
            line if line.contains("compute-001,be-gpu0-port0") => {
                line.replace("be-plane-a-leaf-01", "be-plane-b-leaf-01")
            }
            line if line.contains("compute-001,be-gpu0-port1") => {
                line.replace("be-plane-b-leaf-01", "be-plane-a-leaf-01")
            }
            other => other.to_owned(),
        };
        Some(swapped)
    };
    let (status, answer) = check("opg-256-dual-plane", changed("opg-256-dual-plane", planes), &[]);
    assert_eq!((status, kinds(&answer)), (1, vec![vec!["swapped", "cross-plane"]; 2]));
    assert_eq!(
        answer["faults"][0]["seen"],
        json!(["compute-001/be-gpu0-port0", "be-plane-b-leaf-01:E1/1/1"])
    );
    assert_eq!(answer["faults"][0]["planned"][0], json!("be-plane-a-leaf-01:E1/1/1"));
}

#[test]
fn lldp_of_hosts_and_infiniband_are_held_against_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.csv");
    fs::write(
        &plan,
        "device_a,port_a,device_b,port_b,rate\nhost-1,mlx5_0,leaf-1,5,400G\nhost-1,mlx5_1,leaf-2,5,400G\n\
         host-2,mlx5_0,leaf-1,6,400G\nhost-2,mlx5_1,leaf-2,6,400G\n",
    )
    .unwrap();
    let lldp = folder.path().join("n017_lldp.txt");
    let line = |nic: &str, leaf: &str, port: &str| {
        format!("lldp.{nic}.via=LLDP\nlldp.{nic}.chassis.name={leaf}\nlldp.{nic}.port.ifname={port}\n")
    };
    fs::write(&lldp, line("mlx5_0", "leaf-2", "5") + &line("mlx5_1", "leaf-1", "5")).unwrap();
    let names = folder.path().join("names.csv");
    fs::write(&names, "# theirs,ours\nn017,host-1\n").unwrap();
    let (status, answer) = data(&[&shown(&plan), &shown(&lldp), "--names", &shown(&names)]);
    assert_eq!((status, kinds(&answer)), (1, vec![vec!["swapped", "mis-railed"]; 2]), "{answer:#}");
    assert_eq!(answer["not_observed"].as_array().unwrap().len(), 2);
    // The same by InfiniBand: nodes by their description, ports by number.
    let ib = folder.path().join("ibnetdiscover.txt");
    let switch = |name: &str, rows: &str| {
        format!(
            "vendid=0x2c9\ndevid=0xd2f0\nswitchguid=0x1(1)\n\
             Switch\t40 \"S-1\"\t\t# \"MF0;{name}:MQM8700/U1\" enhanced port 0 lid 3 lmc 0\n{rows}\n"
        )
    };
    let row = |port: u32, host: &str, nic: &str| {
        format!("[{port}]\t\"H-1\"[1](1) \t\t# \"{host} {nic}\" lid 2 4xHDR\n")
    };
    let text = switch("leaf-1", &(row(5, "host-1", "mlx5_0") + &row(6, "host-2", "mlx5_0")))
        + &switch("leaf-2", &(row(6, "host-1", "mlx5_1") + &row(5, "host-2", "mlx5_1")));
    fs::write(&ib, text).unwrap();
    let (status, answer) = data(&[&shown(&plan), &shown(&ib)]);
    assert_eq!((status, kinds(&answer)), (1, vec![vec!["swapped"]; 2]), "{answer:#}");
    assert_eq!((&answer["right"], &answer["moves"]), (&json!(2), &json!(2)));
}

#[test]
fn a_preset_comes_back_from_its_list_and_a_list_is_a_fabric() {
    let folder = tempfile::tempdir().unwrap();
    let list = shown(&folder.path().join("ai-zone.csv"));
    let written = railtwin(&["export", "ai-zone", "--to", "cables", "-o", &list]);
    assert_eq!((written.status, written.out.as_str()), (0, ""), "{}", written.notes);
    assert_eq!(railtwin(&["export", "ai-zone", "--to", "cables"]).out, fs::read_to_string(&list).unwrap());
    assert_eq!(railtwin(&["export", &list, "--to", "cables"]).out, fs::read_to_string(&list).unwrap());
    let (status, answer) = data(&["ai-zone", &list]);
    assert_eq!((status, &answer["not_observed"]), (0, &json!([])), "{answer:#}");
    let preset = railtwin(&["design", "ai-zone", "--json"]).json();
    let mut read = railtwin(&["design", &list, "--json", "--set", "host.model=grand-teton"]).json();
    for key in ["roles", "names", "notes"] {
        assert!(read.as_object_mut().unwrap().remove(key).is_some());
    }
    assert_eq!(read, preset);
    let scenario = folder.path().join("list.toml");
    let text = "schema = 1\nname = \"list\"\n[fabric]\npreset = \"cables\"\nfile = \"ai-zone.csv\"\nhost = { model = \"grand-teton\" }\n\
                [[job]]\nhosts = 2\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\" }\n";
    fs::write(&scenario, text).unwrap();
    let designed = railtwin(&["design", &shown(&scenario), "--json"]).json();
    assert_eq!(designed["gpus_active"], preset["gpus_active"]);
    let (status, _) = data(&[&shown(&scenario), &list]);
    assert_eq!(status, 0);
    let out = shown(&folder.path().join("run"));
    let ran = railtwin(&["run", &shown(&scenario), "--out", &out]);
    assert_eq!(ran.status, 0, "{}", ran.notes);
}

#[test]
fn a_list_without_rates_asks_for_one_and_shows_its_roles() {
    let path = shown(&map_path("opg-64-collapsed"));
    railtwin(&["design", &path]).assert_refused(&["rate of port", "--rate"]);
    let shown = railtwin(&["design", &path, "--rate", "400 Gbps"]);
    assert_eq!(shown.status, 0, "{}", shown.notes);
    for words in ["oob", "storage-host", "gateway", "names: ", "is host-0 in the fabric"] {
        assert!(shown.out.contains(words), "{words}: {}", shown.out);
    }
}

#[test]
fn text_and_page_have_the_work_by_device() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen.csv");
    let swapped = changed("opg-64-clos-ro", |line| {
        Some(match line {
            line if line.contains("compute-001,be0-port0") => line.replace("E1/1/1", "E1/1/2"),
            line if line.contains("compute-001,be1-port0") => line.replace("E1/1/2", "E1/1/1"),
            other => other.to_owned(),
        })
    });
    fs::write(&seen, swapped).unwrap();
    let page = folder.path().join("page.html");
    let told = railtwin(&[
        "check",
        "wiring",
        &shown(&map_path("opg-64-clos-ro")),
        &shown(&seen),
        "--page",
        &shown(&page),
    ]);
    assert_eq!(told.status, 1, "{}", told.notes);
    let lines: Vec<&str> = told.out.lines().collect();
    assert_eq!(lines[0], "wrong: 2 cables, 2 moves repair them; 174 cables are as planned");
    assert!(
        told.out
            .contains("compute-001/be0-port0: seen be-rail-leaf-01:E1/1/2, planned be-rail-leaf-01:E1/1/1"),
        "{}",
        told.out
    );
    let step = "move the end at be-rail-leaf-01:E1/1/2 to be-rail-leaf-01:E1/1/1 (the other end stays at compute-001/be0-port0)";
    assert!(lines.iter().any(|line| line.contains(step)), "{}", told.out);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains(step) && html.contains("<h3>be-rail-leaf-01</h3>") && !html.contains("<script"));
}

#[test]
fn wrong_calls_are_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let plan = shown(&map_path("opg-64-clos-ro"));
    railtwin(&["check", "wiring", "no-such", &plan])
        .assert_refused(&["cannot read no-such", "name a preset"]);
    let text = folder.path().join("notes.txt");
    fs::write(&text, "hello\n").unwrap();
    railtwin(&["check", "wiring", &plan, &shown(&text)]).assert_refused(&["tells no cable", "ibnetdiscover"]);
    railtwin(&["check", "wiring", &plan, &shown(folder.path())]).assert_refused(&["no file tells a cable"]);
    let names = folder.path().join("names.csv");
    fs::write(&names, "a,compute-001\nb,nobody\n").unwrap();
    let refused = railtwin(&["check", "wiring", &plan, &plan, "--names", &shown(&names)]);
    refused.assert_refused(&["names.csv:2", "names no device of the blueprint"]);
    railtwin(&["design", "cables"]).assert_refused(&["file"]);
}

/// A blueprint of ours and a list of what was seen, as files of a folder.
fn seen(name: &str, rows: &str) -> [String; 2] {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let [plan, seen] = ["plan.toml", "seen.csv"].map(|file| folder.join(file));
    let fabric = "preset = \"hpn\"\nsegments = 2\nhosts = 4\nspines = 4\nspare_hosts = 0\n";
    fs::write(&plan, format!("schema = 1\nname = \"plan\"\n[fabric]\n{fabric}")).unwrap();
    fs::write(&seen, rows).unwrap();
    [plan, seen].map(|path| path.to_str().unwrap().to_owned())
}

/// What cannot be compared is no proof that all is well, and one cable does not tell who a stranger is.
#[test]
fn names_that_the_blueprint_does_not_have_prove_nothing() {
    let header = "device_a,port_a,device_b,port_b\n";
    let rows = "LEAF-0,downlink-0,HOST-0,nic-0:port-0\n";
    let [plan, list] = seen("wiring-foreign", &format!("{header}{rows}"));
    let refused = railtwin(&["check", "wiring", &plan, &list]);
    assert_eq!(refused.status, 2);
    assert!(refused.notes.contains("nothing that was seen is at a port of"), "{}", refused.notes);
    let [plan, list] = seen("wiring-stranger", &format!("{header}martian,eth0,leaf-0,downlink-0\n"));
    let stranger = railtwin(&["check", "wiring", &plan, &list]);
    assert_ne!(stranger.status, 0, "{}", stranger.out);
    // Names with a slash are names: two hosts of a row are not one.
    let rows = "row1/node7,eth0,leaf-0,downlink-0\nrow1/node8,eth0,leaf-0,downlink-1\n";
    let [plan, list] = seen("wiring-slashes", &format!("{header}{rows}"));
    let slashes = railtwin(&["check", "wiring", &plan, &list]);
    assert!(!slashes.out.contains("row1 for") && !slashes.notes.contains("row1 for"), "{}", slashes.out);
}

#[test]
fn a_quoted_header_is_a_header() {
    let rows = "\"device_a\",\"port_a\",\"device_b\",\"port_b\"\n\"leaf-0\",\"downlink-0\",\"host-0\",\"nic-0:port-0\"\n";
    let [plan, list] = seen("wiring-quoted", rows);
    let well = railtwin(&["check", "wiring", &plan, &list]);
    assert_eq!(well.status, 0, "{}{}", well.out, well.notes);
}

/// Captures of what ports hear are written of a fabric, and read back as that fabric.
#[test]
fn captures_of_a_fabric_are_that_fabric() {
    let [plan, _] = seen("wiring-captures", "");
    let folder = Path::new(&plan).with_file_name("heard");
    let _ = fs::remove_dir_all(&folder);
    let folder = folder.to_str().unwrap().to_owned();
    assert_eq!(railtwin(&["export", &plan, "--to", "captures", &folder]).status, 0);
    let (status, answer) = data(&[&plan, &folder]);
    assert_eq!(status, 0, "{answer}");
    // What a smaller fabric leaves in the folder is told.
    let again = railtwin(&[
        "export",
        "hpn",
        "--set",
        "segments=1",
        "--set",
        "hosts=1",
        "--to",
        "captures",
        &folder,
        "--force",
    ]);
    assert!(again.status == 0 && again.notes.contains("before are left there"), "{}", again.notes);
}
