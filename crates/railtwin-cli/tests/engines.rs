//! Engines from the command line: who is asked, what names the run, how two engines' runs are compared.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::path::{Path, PathBuf};

use harness::{folder_of, railtwin, shown, small, written};
use railtwin::report::payload_of;
use railtwin_records::{Column, ColumnData};
use railtwin_store::RunFolder;

/// A fabric without jobs, on which nothing is simulated: any engine is quick.
const FABRIC: &str = "schema = 1\nname = \"fabric\"\nfabric = { preset = \"fat-tree\", k = 4 }\n";

fn engine(folder: &Path) -> String {
    let folder = RunFolder::open(folder).unwrap();
    let info = folder.info().unwrap();
    assert!(folder.scenario().unwrap().contains(&format!("engine = \"{}\"", info.engine)));
    info.engine
}

#[test]
fn the_command_line_overrules_the_scenario_and_names_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "fabric.toml", FABRIC);
    let runs = shown(&folder.path().join("runs"));
    for verb in ["run", "sweep"] {
        let call = |more: &[&str]| {
            let out = format!("{runs}-{verb}");
            let answer = railtwin(&[&[verb, &scenario, "--out", &out, "--json"], more].concat()).json();
            folder_of(&answer, 0)
        };
        let (plain, flow) = (call(&[]), call(&["--engine", "flow"]));
        let packet = call(&["--engine", "packet", "--threads", "1"]);
        assert_eq!((engine(&plain), engine(&packet)), ("flow".to_owned(), "packet".to_owned()));
        assert_eq!(plain, flow);
        assert_ne!(plain, packet);
        assert_eq!(
            call(&["--engine", "packet", "--threads", "2"]),
            packet,
            "threads are no part of the case"
        );
    }
}

#[test]
fn the_engine_is_an_axis_that_the_command_line_ends() {
    let folder = tempfile::tempdir().unwrap();
    let text = FABRIC.replace("name =", "engine = [\"flow\", \"packet\"]\nname =");
    let scenario = written(folder.path(), "fabric.toml", &text);
    let runs = shown(&folder.path().join("runs"));
    let both = railtwin(&["sweep", &scenario, "--out", &runs, "--json"]).json();
    assert_eq!(both["runs"][1]["label"]["engine"], "packet");
    assert_eq!([0, 1].map(|point| engine(&folder_of(&both, point))), ["flow", "packet"]);
    let one = railtwin(&["run", &scenario, "--no-folder", "--json", "--engine", "packet"]).json();
    assert_eq!(one["runs"].as_array().unwrap().len(), 1);
    assert_eq!(one["runs"][0]["run_id"], both["runs"][1]["run_id"]);
}

#[test]
fn what_is_no_engine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "fabric.toml", FABRIC);
    let outcome = railtwin(&["run", &scenario, "--engine", "packets"]);
    assert_eq!((outcome.status, outcome.out.as_str()), (2, ""));
    assert!(outcome.notes.contains("[possible values: flow, packet]"), "{}", outcome.notes);
    let outcome = railtwin(&["run", &scenario, "--threads", "0"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.notes.contains("0 is not in 1..=1024"), "{}", outcome.notes);
    assert!(!folder.path().join("runs").exists());
    // More threads than any machine has cores: so many as there are, and a note.
    let outcome = railtwin(&["run", &scenario, "--no-folder", "--threads", "1024"]);
    assert_eq!(outcome.status, 0);
    assert!(outcome.notes.contains("note: --threads 1024: a run takes "), "{}", outcome.notes);
    let outcome = railtwin(&["run", &scenario, "--no-folder", "--threads", "1"]);
    assert!(!outcome.notes.contains("--threads"), "{}", outcome.notes);
}

/// A run of the flow engine, and one that says it is of the packet engine: a tenth slower, 7 B more on every link
/// that carries something and 9 on the last of them, one figure of its own.
fn flow_and_packet(folder: &Path) -> [PathBuf; 2] {
    let scenario = written(folder, "two.toml", &small("two", ""));
    let runs = shown(&folder.join("runs"));
    let flow = folder_of(&railtwin(&["run", &scenario, "--out", &runs, "--json"]).json(), 0);
    let run = RunFolder::open(&flow).unwrap();
    let mut info = run.info().unwrap();
    info.engine = "packet".to_owned();
    info.run_id = "0123456789abcdef".to_owned();
    let busbw = info.figures.iter_mut().find(|figure| figure.name == "busbw_mean").unwrap();
    busbw.value = busbw.value.map(|value| 0.9 * value);
    let own = railtwin_store::Figure { name: "pauses".to_owned(), ..info.figures[0].clone() };
    info.figures.insert(0, own);
    let packet = folder.join("packet");
    let text = run.scenario().unwrap().replace("engine = \"flow\"", "engine = \"packet\"");
    let other = RunFolder::create(&packet, &info, &text, &run.fabric().unwrap()).unwrap();
    for name in run.table_names().unwrap() {
        let mut table = run.table(&name).unwrap();
        if name == "links" {
            let Some(ColumnData::U64(bytes)) = table.column("bytes") else { panic!() };
            let mut bytes = bytes.clone();
            bytes.iter_mut().filter(|bytes| **bytes > 0).for_each(|bytes| *bytes += 7);
            *bytes.iter_mut().rfind(|bytes| **bytes > 0).unwrap() += 2;
            let column = table.columns.iter_mut().find(|column| column.name == "bytes").unwrap();
            *column = Column::u64("bytes", bytes);
        }
        other.write_table(&table).unwrap();
    }
    other.write_report(&std::fs::read(flow.join("report.html")).unwrap()).unwrap();
    other.write_info(&info).unwrap();
    [flow, packet]
}

#[test]
fn two_engines_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let [flow, packet] = flow_and_packet(folder.path()).map(|folder| shown(&folder));
    let page = shown(&folder.path().join("both.html"));
    let text = railtwin(&["compare", &packet, &flow, "--report", &page]).out;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("(packet engine, ") && lines[1].contains("(flow engine, "), "{text}");
    assert_eq!(lines[2], "one scenario, two engines: A by packet, B by flow");
    let headline = "two (flow engine) has 11.1 % more bus bandwidth than two (packet engine): ";
    assert!(lines[3].starts_with(headline), "{text}");
    let at = |name: &str| lines.iter().position(|line| line.starts_with(name)).unwrap();
    assert!(at("busbw_mean") < at("link_bytes") && at("link_bytes") < at("pauses"), "{text}");
    let furthest = lines[at("furthest apart is the link ")];
    assert!(furthest.contains(" to ") && furthest.contains(" | "), "{furthest}");
    let payload = payload_of(&std::fs::read_to_string(&page).unwrap()).unwrap();
    assert_eq!(payload.runs[0]["name"], "two (packet engine)");

    let answer = railtwin(&["compare", &flow, &packet, "--report", &page, "--json"]).json();
    let links = &answer["engines"]["link_bytes"];
    let [left, right] = ["left", "right"].map(|side| links[side].as_u64().unwrap());
    let apart = ["left", "right"].map(|side| links["furthest"][side].as_u64().unwrap());
    assert!(left < right && (right - left - 2) % 7 == 0);
    assert_eq!(apart[1] - apart[0], 9);
    assert_eq!(answer["engines"]["same_scenario"], true);
    let own = railtwin(&["compare", &flow, &flow, "--report", &page, "--json"]).json();
    assert!(own["engines"].is_null());
}
