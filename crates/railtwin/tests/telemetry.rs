//! Telemetry of runs: tables that round trip, the same bytes twice, figures, and the page's section.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use railtwin::{Question, Run};
use railtwin_records::Table;
use railtwin_records::telemetry_read;
use railtwin_scenario::EngineName;
use serde_json::Value;

const HOSTS: &str = r#"
schema = 1
name = "a"
run = { steps = 2 }
fabric = { preset = "leaf-spine", leaves = 2, hosts_per_leaf = 4, uplinks = 4, host = { model = "plain" } }
[[job]]
name = "train"
hosts = 8
collective = { kind = "all-reduce", bytes = "1 MB", compute = "10 ms" }
"#;
const SLOW_RANK: &str = r#"
[[fault]]
at = "0.4 s"
gpu = "host-5/gpu-0"
kind = "slow-gpu"
factor = 2.0
[telemetry]
steps = 90
counters = "200 ms"
probes = "300 ms"
"#;
const TOLD: &str = "[telemetry]\nsteps = 90\ncounters = \"200 ms\"\nprobes = \"300 ms\"\n";

fn run(text: &str, engine: EngineName) -> Run {
    let question = Question::of_text("a.toml", text, std::path::Path::new(".")).with_engine(Some(engine));
    Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ())
}

fn rows(table: &Value) -> u64 {
    table["rows"].as_u64().unwrap()
}

fn numbers(column: &Value) -> Vec<f64> {
    let bytes = STANDARD.decode(column["data"].as_str().unwrap()).unwrap();
    match column["type"].as_str().unwrap() {
        "f64" => bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
        "f32" => bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()).into()).collect(),
        _ => bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap()).into()).collect(),
    }
}

#[test]
fn tables_lead_back_to_the_records_and_are_as_documented() {
    for engine in EngineName::ALL {
        // Packets know no slow GPU.
        let fault = if engine == EngineName::Flow { SLOW_RANK } else { TOLD };
        let run = run(&format!("{HOSTS}{fault}"), engine);
        // Packets ran 2 steps of the 90: the rest is a replay, which says so.
        let replays = usize::from(engine == EngineName::Packet);
        assert_eq!(run.info.warnings.len(), replays, "{engine:?}: {:?}", run.info.warnings);
        let told = run.telemetry.as_ref().unwrap();
        let written = tempfile::tempdir().unwrap();
        let folder = run.write(&written.path().join("run")).unwrap();
        let names = folder.table_names().unwrap();
        let tables: Vec<Table> = names.iter().map(|name| folder.table(name).unwrap()).collect();
        for name in
            ["ranks", "communicators", "rank_operations", "queue_pairs", "messages", "counters", "probes"]
                .into_iter()
                .chain(["findings", "suspects", "evidence", "proposals"])
        {
            let table = tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no {name}"));
            let doc = railtwin_records::run::table_doc(name).unwrap();
            let documented: Vec<&str> = doc.columns.iter().map(|column| column.0).collect();
            let there: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
            assert_eq!(there, documented, "{name}");
        }
        let (directory, batch) = telemetry_read::read(&tables).unwrap();
        assert_eq!(directory.ranks, told.directory.ranks);
        assert_eq!(directory.communicators, told.directory.communicators);
        assert_eq!(directory.flows, told.directory.flows);
        assert_eq!(batch.messages, told.records.messages);
        assert_eq!(batch.probes, told.records.probes);
        assert_eq!(batch.counters.value, told.records.counters.value);
        assert_eq!(batch.operations.enter_ns, told.records.operations.enter_ns);
        assert_eq!(batch.operations.len(), 8 * 90, "each rank enters one all-reduce in every step");
        let source = tables.iter().find(|table| table.name == "messages").unwrap().column("source").unwrap();
        assert!(format!("{source:?}").contains(engine.name()), "{source:?}");
    }
}

#[test]
fn the_slow_gpu_is_found() {
    let run = run(&format!("{HOSTS}{SLOW_RANK}"), EngineName::Flow);
    assert_eq!(run.figure("truth_in_set"), Some(1.0));
    assert!(run.figure("found_after").unwrap() < 1.0, "{:?}", run.figure("found_after"));
    assert!(run.figure("accusations").unwrap() >= 1.0);
}

#[test]
fn without_a_fault_nobody_is_accused_and_nothing_is_told_without_the_table() {
    let plain = run(HOSTS, EngineName::Flow);
    assert!(plain.telemetry.is_none() && plain.figure("findings").is_none());
    assert!(plain.payload().unwrap().get("diagnosis").is_none());
    let healthy = run(&format!("{HOSTS}[telemetry]\nsteps = 200\ncounters = \"1 s\"\n"), EngineName::Flow);
    assert_eq!((healthy.figure("accusations"), healthy.figure("truth_in_set")), (Some(0.0), None));
    let page = healthy.payload().unwrap();
    assert_eq!(
        (&page["diagnosis"]["truths"], &page["diagnosis"]["findings"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    let blind = run(&format!("{HOSTS}[telemetry]\ndiagnose = false\nmessages = false\n"), EngineName::Flow);
    assert!(blind.figure("findings").is_none() && blind.payload().unwrap().get("diagnosis").is_none());
    let names: Vec<String> = blind.tables().into_iter().map(|table| table.name).collect();
    assert!(names.iter().any(|name| name == "rank_operations"), "{names:?}");
    assert!(!names.iter().any(|name| name == "messages" || name == "findings"), "{names:?}");
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let text = format!("{HOSTS}{SLOW_RANK}");
    let [first, second] = [(); 2].map(|()| run(&text, EngineName::Flow));
    let bytes = |run: &Run| {
        let folder = tempfile::tempdir().unwrap();
        run.write(&folder.path().join("run")).unwrap();
        let names = ["rank_operations", "messages", "counters", "probes", "findings", "suspects", "evidence"];
        names.map(|name| std::fs::read(folder.path().join(format!("run/{name}.parquet"))).unwrap())
    };
    assert_eq!(bytes(&first), bytes(&second));
    assert_eq!(first.payload().unwrap()["diagnosis"], second.payload().unwrap()["diagnosis"]);
    let other = run(&text.replace("name = \"a\"", "name = \"a\"\nseed = 2"), EngineName::Flow);
    assert_ne!(bytes(&first)[0], bytes(&other)[0], "jitter comes from the seed");
}

#[test]
fn the_section_of_the_page_is_whole() {
    let payload = run(&format!("{HOSTS}{SLOW_RANK}"), EngineName::Flow).payload().unwrap();
    let section = &payload["diagnosis"];
    assert_eq!(section["source"], "simulated");
    assert_eq!(section["operations"], 720);
    assert!(section["messages"].as_u64().unwrap() > 0 && section["span_s"].as_f64().unwrap() > 1.0);
    assert_eq!(section["start_ps"], 0.0);
    let observed = payload["observed_ps"].as_f64().unwrap();
    assert!(
        observed > 10.0 * payload["duration_ps"].as_f64().unwrap(),
        "90 steps, of which the engine ran two"
    );
    let truth = &section["truths"][0];
    assert_eq!((&truth["component"], &truth["kind"]), (&"host-5/gpu-0".into(), &"slow-gpu".into()));
    assert_eq!((&truth["from_s"], &truth["until_s"]), (&0.4.into(), &Value::Null));
    let finding = &section["findings"][0];
    assert_eq!(finding["suspects"][0]["devices"], serde_json::json!(["host-5"]));
    assert!(finding["at_s"].as_f64().unwrap() > 0.4 && !finding["actions"].as_array().unwrap().is_empty());
    let matrix = &section["matrix"];
    assert_eq!((rows(&matrix["endpoints"]), rows(&matrix["cells"]), &matrix["total"]), (8, 8, &8.into()));
    assert_eq!(matrix["endpoints"]["columns"]["leaf"]["dict"], serde_json::json!(["leaf-0", "leaf-1"]));
    assert!(numbers(&matrix["cells"]["columns"]["ratio"]).iter().all(|ratio| (ratio - 1.0).abs() < 0.05));
    let chain = &section["chain"];
    assert_eq!((rows(&chain["ranks"]), &chain["culprit"], &chain["axis"]), (8, &5.into(), &"other".into()));
    let waits = numbers(&chain["ranks"]["columns"]["wait_ms"]);
    assert!((0..8).all(|rank| rank == 5 || waits[5] < 0.5 * waits[rank]), "{waits:?}");
    let lanes = &section["ranks"]["lanes"];
    assert_eq!(
        lanes["columns"]["role"]["dict"],
        serde_json::json!(["predecessor", "culprit", "successor", "typical"])
    );
    assert_eq!(lanes["columns"]["name"]["dict"][1], "rank 5");
    let spans = &section["ranks"]["spans"]["columns"];
    let (starts, ends) = (numbers(&spans["start_ms"]), numbers(&spans["end_ms"]));
    assert!(starts.iter().zip(&ends).all(|(start, end)| *start >= 0.0 && start <= end && *end < 30.0));
    // The culprit computes for twice the time of the others, and they wait meanwhile.
    let (lane, longest) = (numbers(&spans["lane"]), ends[0] - starts[0]);
    let of_culprit = lane.iter().position(|&lane| lane == 1.0).unwrap();
    assert!(ends[of_culprit] - starts[of_culprit] > 1.8 * longest);
}

#[test]
fn faults_of_packets_are_told_and_found() {
    let faults = [
        ("nic = \"host-3/nic-0\"\nkind = \"pause-storm\"\ncapacity = 0.25", "host-3/nic-0"),
        ("cable = \"host-5/nic-0:port-0\"\nkind = \"lossy\"\nloss = 0.05", "host-5/nic-0"),
    ];
    for (fault, place) in faults {
        let text = format!("{}\n[[fault]]\nat = \"0.4 s\"\n{fault}\n{TOLD}", HOSTS.replace("1 MB", "10 MB"));
        let run = run(&text, EngineName::Packet);
        let told = run.telemetry.as_ref().unwrap();
        let found = (run.figure("truth_in_set"), run.info.engine.as_str());
        assert_eq!(found, (Some(1.0), "packet"), "{place}: {:#?}", told.findings);
        let named = |finding: &railtwin_records::Finding| {
            finding.suspects.iter().any(|suspect| suspect.component.name().contains(place))
        };
        assert!(told.findings.iter().any(named), "{place}: {:?}", told.findings);
        assert!(told.findings.iter().all(|finding| finding.at_ns >= 400_000_000), "{place}");
    }
}

#[test]
fn probes_over_a_cable_that_is_down_are_lost_until_it_is_up() {
    let down =
        "[[fault]]\nat = \"0.4 s\"\nuntil = \"0.7 s\"\ncable = \"host-5/nic-0:port-0\"\nkind = \"down\"\n";
    // With one port a NIC cannot move its queue pairs: the job stands until the cable is up.
    let run = run(&format!("{HOSTS}{down}{TOLD}"), EngineName::Flow);
    let told = run.telemetry.as_ref().unwrap();
    let probes = &told.records.probes;
    assert!(!probes.is_empty());
    let cable = |flow: u32| {
        let flow = &told.directory.flows[flow as usize];
        flow.source_nic == "host-5/nic-0" || flow.target_nic == "host-5/nic-0"
    };
    for row in 0..probes.len() {
        let within = (400_000_000..700_000_000).contains(&probes.time_ns[row]);
        let all_lost = probes.lost[row] == probes.sent[row];
        assert_eq!(all_lost, within && cable(probes.flow[row]), "{row} at {}", probes.time_ns[row]);
    }
}

/// A rank hangs: the finding names it, and the wait chain says the same though nobody waited long before.
#[test]
fn the_wait_chain_names_whom_the_finding_names() {
    let text = include_str!("../../../scenarios/regressions/find-hang.toml");
    let section = run(text, EngineName::Flow).payload().unwrap()["diagnosis"].take();
    let suspect = &section["findings"][0]["suspects"][0];
    assert_eq!(suspect["name"], "train/6", "{suspect}");
    let chain = &section["chain"];
    assert_eq!(chain["finding"], 0, "{chain}");
    let culprit = chain["culprit"].as_u64().unwrap() as usize;
    assert_eq!(numbers(&chain["ranks"]["columns"]["rank"])[culprit], 6.0);
}

/// Where nobody is accused, the chain is about no finding.
/// The engine's two steps end before the fault, and the replay hangs in a later one: as many operations never end as in a
/// run of all those steps. What ranks of a pipeline still do in the step that hangs the replay has by rank, the engine by
/// lane.
#[test]
fn operations_that_hang_in_the_replay_are_unfinished() {
    let train = "schema = 1\nname = \"a\"\nrun = { steps = 2 }\n[fabric]\npreset = \"hpn\"\nsegments = 1\nhosts = 2\n\
                 spare_hosts = 0\nspines = 2\n[[job]]\nname = \"train\"\n\
                 workload = { recipe = \"llama-7b\", tp = 4, pp = 2, dp = 2, micro_batches = 2 }\n";
    for (text, rank) in [(HOSTS, 3), (HOSTS, 0), (train, 0), (train, 13)] {
        let healthy = run(text, EngineName::Flow).figure("step_time").unwrap();
        for part in [4.3, 4.8] {
            let us = (healthy * part * 1e6).round();
            let fault = format!("[[fault]]\nat = \"{us} us\"\nkind = \"hang\"\nrank = \"train/{rank}\"\n");
            let whole = run(&(text.replace("steps = 2", "steps = 20") + &fault), EngineName::Flow);
            let wanted = whole.figure("operations_unfinished").unwrap();
            let replay = format!("{text}{fault}[telemetry]\nsteps = 20\njitter = \"none\"\n");
            let told = run(&replay, EngineName::Flow);
            let figure = told.info.figure("operations_unfinished").unwrap();
            assert!(figure.note.contains("telemetry replays"), "{figure:?}");
            let plan = &told.resolved.case.work.jobs[0].plan;
            let of_step = if plan.lanes.len() > 1 { plan.operations.len() as f64 } else { 0.0 };
            let apart = (figure.value.unwrap() - wanted).abs();
            assert!(apart <= of_step, "rank {rank} at {part} steps: {figure:?}, not {wanted}");
            assert_eq!(told.info.figure("step_time").unwrap().value, None);
        }
    }
}

#[test]
fn a_healthy_run_has_a_chain_without_a_finding() {
    let section = run(&format!("{HOSTS}{TOLD}"), EngineName::Flow).payload().unwrap()["diagnosis"].take();
    assert_eq!(section["findings"].as_array().unwrap().len(), 0);
    assert_eq!(section["chain"]["finding"], Value::Null, "{}", section["chain"]);
}

/// `[telemetry.detectors]` moves when a hang is told, and whether slowness is.
#[test]
fn detectors_go_by_the_thresholds_of_the_scenario() {
    let hang = "[[fault]]\nat = \"0.4 s\"\nrank = \"train/6\"\nkind = \"hang\"\n[telemetry]\nsteps = 90\n";
    let told_at = |limit: &str| {
        let run = run(&format!("{HOSTS}{hang}[telemetry.detectors]\nhang = \"{limit}\"\n"), EngineName::Flow);
        let page = run.payload().unwrap().to_string();
        assert!(page.contains(&format!("\"{limit}\"")) && page.contains("\"200 ms\""), "the page has them");
        run.figure("found_after").unwrap()
    };
    let [soon, late] = ["2 s", "40 s"].map(told_at);
    assert!((2.0..12.0).contains(&soon) && (40.0..50.0).contains(&late), "{soon} s, {late} s");
    let accused = |share: &str| {
        let text = format!("{HOSTS}{SLOW_RANK}[telemetry.detectors]\nslow_share = {share}\n");
        run(&text, EngineName::Flow).figure("accusations").unwrap()
    };
    // A GPU that computes twice as long adds all that its peers take.
    assert_eq!(["0.05", "1.0"].map(accused), [1.0, 0.0]);
}
