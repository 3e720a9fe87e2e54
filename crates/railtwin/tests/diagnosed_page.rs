//! The page of a diagnosis: what it carries of real files, and that it says what the first screen says.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::PathBuf;

use base64::Engine as _;
use railtwin::diagnose::{Diagnosed, Inputs, diagnose};
use railtwin::diagnosed_page::{data, page};
use railtwin_records::seen::LogSeen;
use railtwin_records::{Component, Finding, Suspect, Syndrome};
use serde_json::Value;

fn told(path: &str) -> Diagnosed {
    let path = PathBuf::from(format!("{}/../../data/telemetry/{path}", env!("CARGO_MANIFEST_DIR")));
    diagnose(Inputs::read(&[path], "job").unwrap(), None, "job").unwrap()
}

fn numbers(table: &Value, column: &str) -> Vec<u32> {
    let text = table["columns"][column]["data"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    bytes.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
}

fn texts(table: &Value, column: &str) -> Vec<String> {
    let names = table["columns"][column]["dict"].as_array().unwrap();
    let codes = numbers(table, column);
    codes.iter().map(|code| names[*code as usize].as_str().unwrap().to_owned()).collect()
}

/// All that the first screen of the command says stands in the answer, which is not held to its lines.
fn is_of_the_screen(told: &Diagnosed, answer: &Value) {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = vec![answer["sentence"].as_str().unwrap().to_owned()];
    for cause in answer["causes"].as_array().unwrap() {
        lines.push(format!("{}: {}", cause["who"].as_str().unwrap(), cause["what"].as_str().unwrap()));
        lines.extend(cause["seen"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()));
    }
    lines.extend(answer["also"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()));
    lines.extend(answer["next"].as_str().map(str::to_owned));
    let answer = plain(&lines.join(" "));
    for line in told.screen() {
        let line = plain(&line);
        let of_screen =
            line.starts_with("more: ") || line.starts_with("and ") && line.contains(" more cause");
        let words = ["seen: ", "also: ", "next: "].iter().find_map(|mark| line.strip_prefix(mark));
        let words = words.unwrap_or(&line).trim_end_matches(" …");
        assert!(of_screen || answer.contains(words), "{words:?} is not in {answer:?}");
    }
}

/// Ranks with a mark, and by rank the states of their cells.
fn marked(lattice: &Value) -> Vec<u32> {
    let (ranks, marks) = (numbers(&lattice["ranks"], "rank"), numbers(&lattice["ranks"], "mark"));
    ranks.into_iter().zip(marks).filter(|(_, mark)| *mark == 2).map(|(rank, _)| rank).collect()
}

#[test]
fn a_real_hang_is_a_lattice_with_its_culprits() {
    for (folder, culprits, state) in
        [("gpu_error_1st", [12, 14], "pending"), ("lock_gil_2nd", [10, 15], "never enqueued")]
    {
        let told = told(&format!("flight_recorder/{folder}"));
        let section = data("dumps", &told, &[]);
        is_of_the_screen(&told, &section["answer"]);
        let lattice = &section["lattice"];
        assert_eq!(marked(lattice), culprits, "{folder}");
        assert_eq!(numbers(&lattice["ranks"], "rank"), (0..16).collect::<Vec<u32>>());
        // Rows of one purpose stand after each other, and each is a kind.
        let kinds = numbers(&lattice["groups"], "kind");
        assert!(kinds.windows(2).all(|two| two[0] == two[1] || two[0] + 1 == two[1]), "{kinds:?}");
        assert_eq!(lattice["kinds"].as_array().unwrap().len(), *kinds.iter().max().unwrap() as usize + 1);
        let cells = &lattice["cells"];
        let (rank, states) = (numbers(cells, "rank"), numbers(cells, "state"));
        let names = lattice["states"].as_array().unwrap();
        let has = |culprit: u32| {
            rank.iter().zip(&states).any(|(one, of)| *one == culprit && names[*of as usize] == state)
        };
        assert!(culprits.iter().all(|culprit| has(*culprit)), "{folder}");
        // Nobody else stopped asking: what is missing at others they wait for.
        if state == "never enqueued" {
            let others = rank.iter().zip(&states).filter(|(_, of)| names[**of as usize] == state);
            let others: std::collections::BTreeSet<u32> = others.map(|(rank, _)| *rank).collect();
            assert!(others.is_superset(&culprits.into()), "{others:?}");
        }
        let standing = texts(&lattice["ranks"], "standing");
        assert_eq!(standing[culprits[0] as usize] == "has nothing pending", state == "never enqueued");
        assert!(texts(&lattice["open"], "name").contains(&"all-gather".to_owned()));
    }
}

#[test]
fn evidence_leads_to_the_dump_and_the_entry() {
    let section = data("dumps", &told("flight_recorder/gpu_error_1st"), &[]);
    let lines = section["findings"][0]["evidence"].as_array().unwrap();
    let is_proof = |line: &&Value| line["what"].as_str().unwrap().starts_with("rank 12 holds all-gather");
    let proof = lines.iter().find(is_proof).unwrap();
    let sources = proof["sources"].as_array().unwrap();
    let of = |rank: &str| {
        sources.iter().find(|source| source["file"].as_str().unwrap().ends_with(&format!("_dump_{rank}")))
    };
    assert!(of("12").unwrap()["place"].as_str().unwrap().starts_with("entry "), "{sources:?}");
    assert!(of("13").is_some(), "{sources:?}");
}

#[test]
fn the_first_screen_names_each_cause_and_begins_with_the_proof() {
    let hang = told("flight_recorder/gpu_error_1st").screen();
    let seen = hang.iter().position(|line| line.trim_start().starts_with("seen: ")).unwrap();
    assert!(hang[seen].contains("rank 12 holds "), "{hang:?}");
    // Three causes, each with more to say than there is room for.
    let mut told = told("nccl_tests_h100_one_gpu");
    let like = told.findings[0].clone();
    told.findings = [Syndrome::CommunicationHang, Syndrome::Crash, Syndrome::CommunicationSlow]
        .into_iter()
        .zip(["host-one", "host-two", "host-three"])
        .map(|(syndrome, name)| {
            let suspects = vec![Suspect { component: Component::Host(name.into()), share: 1.0 }];
            let mut finding = Finding { syndrome, suspects, confidence: 0.9, ..like.clone() };
            let text = format!("{name} {}", "word ".repeat(40));
            finding
                .evidence
                .iter_mut()
                .for_each(|line| line.seen = LogSeen::Quoted { text: text.clone() }.into());
            finding
        })
        .collect();
    let screen = told.screen();
    assert!(screen.len() <= 12, "{screen:#?}");
    for name in ["host-one", "host-two", "host-three"] {
        assert!(screen.iter().any(|line| line.starts_with(&format!("  host {name}: "))), "{screen:#?}");
    }
}

#[test]
fn evidence_of_tests_leads_to_lines_of_their_logs() {
    let told = told("nccl_tests_h100_one_gpu");
    let section = data("logs", &told, &[]);
    is_of_the_screen(&told, &section["answer"]);
    let mut lines = 0;
    for finding in section["findings"].as_array().unwrap() {
        for line in finding["evidence"].as_array().unwrap() {
            let sources = line["sources"].as_array().unwrap();
            assert!(!sources.is_empty(), "{line}");
            for source in sources {
                let place = source["place"].as_str().unwrap();
                let Some(number) = place.strip_prefix("line ") else { continue };
                let text = std::fs::read_to_string(source["file"].as_str().unwrap()).unwrap();
                let row = text.lines().nth(number.parse::<usize>().unwrap() - 1).unwrap();
                // A line of one size holds that size.
                let what = line["what"].as_str().unwrap();
                if let Some(bytes) = what.split(" bytes").next().and_then(|head| head.rsplit(' ').next())
                    && what.contains("bandwidth between")
                {
                    assert_eq!(row.split_whitespace().next(), Some(bytes), "{row}");
                    lines += 1;
                }
            }
        }
    }
    assert!(lines >= 40, "{lines}");
}

#[test]
fn evidence_of_counters_leads_to_what_was_read_as_such() {
    let xid = |number: u32| {
        format!(
            "# TYPE DCGM_FI_DEV_XID_ERRORS gauge\nDCGM_FI_DEV_XID_ERRORS{{gpu=\"0\",UUID=\"GPU-1\",\
             pci_bus_id=\"00000000:9D:00.0\",device=\"nvidia0\",Hostname=\"nodea\"}} {number}\n"
        )
    };
    let log = "2026-11-25T07:00:01.000000+00:00 nodea kernel: [12346.678901] mlx5_core 0000:9a:00.0 mlx5_0: Link up\n";
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("dcgm_1.prom", xid(0)), ("dcgm_2.prom", xid(79)), ("syslog", log.to_owned())] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let told = diagnose(Inputs::read(&[folder.path().to_owned()], "job").unwrap(), None, "job").unwrap();
    let section = data("files", &told, &[]);
    let line = &section["findings"][0]["evidence"][0];
    assert!(line["what"].as_str().unwrap().starts_with("Xid of nodea/gpu-0"), "{line}");
    let file = |source: &Value| {
        let file = source["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        (file, source["place"].as_str().unwrap().to_owned())
    };
    let sources: Vec<_> = line["sources"].as_array().unwrap().iter().map(file).collect();
    let whole = |name: &str| (name.to_owned(), String::new());
    assert_eq!(sources, [whole("dcgm_1.prom"), whole("dcgm_2.prom")]);
}

#[test]
fn a_slow_job_has_bars_under_both_ideals() {
    let told = told("megatron_straggler/trace-ST.parquet");
    let replayed: Vec<_> =
        told.replays.iter().map(|replay| (replay.file.clone(), replay.what_if().unwrap())).collect();
    let section = data("trace", &told, &replayed);
    is_of_the_screen(&told, &section["answer"]);
    assert!(section.get("lattice").is_none());
    let job = &section["what_if"][0];
    assert_eq!(job["steps"].as_array().unwrap().len(), 32);
    for (key, count) in [("ranks", 8), ("stages", 4), ("replicas", 2)] {
        assert_eq!(job[key].as_array().unwrap().len(), count, "{key}");
    }
    assert_eq!(job["stages"][0]["name"], "3");
    let [mean, like] = [0, 1].map(|ideal| job["slowdown"][ideal].as_f64().unwrap());
    assert!((mean - 1.179).abs() < 1e-3 && (like - 1.005).abs() < 1e-3, "{mean} {like}");
}

#[test]
fn the_page_has_the_same_bytes_each_time() {
    let twice = [0, 1].map(|_| page("logs", &told("nccl_tests_h100_one_gpu"), &[]));
    assert_eq!(twice[0], twice[1]);
    assert!(twice[0].contains("\"diagnosed\":{"));
}
