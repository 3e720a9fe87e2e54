//! `railtwin diagnose` on real telemetry: healthy clusters accuse nobody, what is made worse is named.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use harness::{Outcome, railtwin, shown, small, written};
use serde_json::{Value, json};

/// A path of the shipped telemetry.
pub(crate) fn ours(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry").join(path).canonicalize().unwrap()
}

pub(crate) fn diagnose(args: &[&str]) -> (u8, Value) {
    let Outcome { status, out, notes } = railtwin(&[&["diagnose", "--json"], args].concat());
    assert!(status < 2, "{notes}");
    assert_eq!(notes, "", "an accusation is an answer and no error");
    (status, serde_json::from_str(&out).unwrap())
}

/// Names of the suspects of all findings.
fn told(answer: &Value) -> BTreeSet<String> {
    names(answer["findings"].as_array().unwrap().iter()).into_iter().collect()
}

/// Names of the suspects of all findings that accuse.
pub(crate) fn accused(answer: &Value) -> Vec<String> {
    let findings = answer["findings"].as_array().unwrap().iter();
    names(findings.filter(|finding| finding["accuses"] == json!(true)))
}

fn names<'a>(findings: impl Iterator<Item = &'a Value>) -> Vec<String> {
    findings
        .flat_map(|finding| finding["suspects"].as_array().unwrap())
        .map(|suspect| suspect["component"]["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Copies the logs of pairs and multiplies the bandwidths of those in which `host` takes part.
fn scaled(folder: &Path, host: &str, factor: f64) {
    for entry in std::fs::read_dir(ours("nccl_tests_h100")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let line = |line: &str| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            if line.starts_with('#') || cells.len() != 13 {
                return line.to_owned();
            }
            let mut cells: Vec<String> = cells.into_iter().map(str::to_owned).collect();
            for column in [6, 7, 10, 11] {
                cells[column] = format!("{:.2}", cells[column].parse::<f64>().unwrap() * factor);
            }
            cells.join(" ")
        };
        let text = match name.contains(host) {
            true => text.lines().map(line).collect::<Vec<_>>().join("\n"),
            false => text,
        };
        written(folder, name, &text);
    }
}

#[test]
fn a_healthy_cluster_accuses_nobody_and_a_slow_host_is_named() {
    let (status, answer) = diagnose(&[&shown(&ours("nccl_tests_h100"))]);
    assert_eq!((status, &answer["findings"]), (0, &json!([])));
    assert_eq!(answer["files"].as_array().unwrap().len(), 46);
    let folder = tempfile::tempdir().unwrap();
    scaled(folder.path(), "cnode3-007", 0.7);
    let (status, answer) = diagnose(&[&shown(folder.path())]);
    assert_eq!((status, accused(&answer)), (1, vec!["cnode3-007".to_owned()]));
    let share = answer["findings"][0]["evidence"][0]["value"].as_f64().unwrap();
    assert!((share - 0.7).abs() < 0.03, "{share}");
    assert_eq!(answer["actions"][0]["kind"], json!("isolate"));
    let text = railtwin(&["diagnose", &shown(folder.path())]);
    let slow = "host cnode3-007: communication is slow: at all sizes alike (69 %), confidence 0.95\n";
    assert!(text.out.starts_with(slow), "{}", text.out);
}

#[test]
fn a_flag_of_all_ranks_is_not_enough_evidence_and_one_of_few_is() {
    assert_eq!(diagnose(&[&shown(&ours("xpu_timer/normal.prom"))]).1["findings"], json!([]));
    let (status, answer) = diagnose(&[&shown(&ours("xpu_timer/hang_all.prom"))]);
    assert_eq!((status, accused(&answer)), (1, vec![]));
    assert!(answer["findings"][0]["advice"].as_str().unwrap().contains("not enough evidence"));
    // The same with the flag of rank 5 alone.
    let text = std::fs::read_to_string(ours("xpu_timer/hang_all.prom")).unwrap();
    let line = |line: &str| match line.starts_with("XPU_TIMER_COMMON_HANG") && !line.contains("rank=\"5\",") {
        true => format!("{} 0", line.rsplit_once(' ').unwrap().0),
        false => line.to_owned(),
    };
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "one.prom", &text.lines().map(line).collect::<Vec<_>>().join("\n"));
    let (status, answer) = diagnose(&[&file]);
    assert_eq!((status, accused(&answer).len()), (1, 1), "{answer}");
    assert!(accused(&answer)[0].ends_with("/5"), "{answer}");
}

#[test]
fn traces_of_training_without_a_slow_rank_accuse_nobody() {
    // Its authors say that without the slowest worker 3 % of the waste are gone, without the last stage all of it.
    let (status, answer) = diagnose(&[&shown(&ours("megatron_straggler/trace-ST.parquet"))]);
    assert_eq!((status, &answer["findings"], &answer["operations"]), (0, &json!([]), &json!(3712)));
    let notes = answer["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains("longest in pipeline stage 3")));
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains("takes 1.179 times as long")));
    let traces = ["sampled_rank0_of_128.json", "sampled_rank1_of_128.json"];
    let traces = traces.map(|name| shown(&ours("kineto").join(name)));
    let (status, answer) = diagnose(&[&traces[0], &traces[1]]);
    assert_eq!((status, &answer["findings"], &answer["operations"]), (0, &json!([]), &json!(20)));
}

/// What the what-if says of a shipped trace, held against what its authors say of it. Given back for more.
fn as_its_authors(trace: &str) -> Value {
    let (_, answer) =
        diagnose(&[&shown(&ours(&format!("megatron_straggler/trace-{trace}.parquet"))), "--what-if"]);
    let told = &answer["what_if"][0];
    let text = std::fs::read_to_string(ours(&format!("megatron_straggler/result-{trace}.json"))).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let close = |ours: &Value, theirs: &Value, share: f64, what: &str| {
        let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
        assert!((ours / theirs - 1.0).abs() < share, "{trace}, {what}: {ours}, by its authors {theirs}");
    };
    // What is asked is 0.005 and 0.02; what is kept is ten times as close.
    close(&told["slowdown"]["mean"], &result["blocking_slowdown"], 0.000_5, "the job");
    close(&told["launch"], &result["launch_slowdown"], 0.001, "launches");
    for (ours, theirs) in [
        ("kinds", "blocking_decompose_by_optype"),
        ("stages", "blocking_decompose_by_stage"),
        ("replicas", "blocking_decompose_by_dp_rank"),
    ] {
        let theirs = result[theirs].as_object().unwrap();
        let parts = told[ours].as_array().unwrap();
        assert_eq!(parts.len(), theirs.len());
        for part in parts {
            let name = part["name"].as_str().unwrap();
            close(&part["alone"]["mean"], &theirs[name], 0.002, name);
        }
    }
    let steps = told["steps"].as_array().unwrap();
    assert_eq!(steps.len(), result["step_t_base"].as_object().unwrap().len());
    for step in steps {
        let name = step["step"].to_string();
        let seconds = |value: &Value| json!(value.as_f64().unwrap() / 1e9);
        close(&seconds(&step["recorded_ns"]), &result["step_t_base"][&name], 1e-6, "recorded");
        close(&seconds(&step["replayed_ns"]), &result["step_t_nodelay"][&name], 0.002, "replayed");
        close(&seconds(&step["ideal_ns"]["mean"]), &result["step_t_noblk"][&name], 0.002, "ideal");
    }
    answer
}

#[test]
fn a_slow_job_costs_what_its_authors_say() {
    let told = &as_its_authors("ST")["what_if"][0];
    // By like stages the job is well: the difference is how layers are split.
    assert!(told["slowdown"]["like"].as_f64().unwrap() < 1.01);
    let text = railtwin(&["diagnose", &shown(&ours("megatron_straggler/trace-ST.parquet")), "--what-if"]).out;
    for words in ["what if: ", "6784 operations in 32 steps", "pipeline stage 3", "step 23"] {
        assert!(text.contains(words), "{words} is missing:\n{text}");
    }
}

/// 107,328 operations of 64 ranks: slow by uneven sequences and a stage, not by a rank.
#[test]
fn a_job_of_uneven_sequences_costs_what_its_authors_say_and_accuses_nobody() {
    let answer = as_its_authors("SE");
    assert_eq!(accused(&answer), Vec::<String>::new());
    let notes = answer["notes"].to_string();
    assert!(notes.contains("sequence") && notes.contains("longest in pipeline stage 1"), "{notes}");
    assert!(answer["what_if"][0]["slowdown"]["like"].as_f64().unwrap() > 1.4);
}

#[test]
fn a_what_if_of_files_without_a_jobs_operations_is_refused() {
    let log = shown(&ours("xpu_timer/normal.prom"));
    railtwin(&["diagnose", &log, "--what-if"]).assert_refused(&["--what-if", "no file holds all operations"]);
}

/// A dump of a rank whose second operation is in `state`; none where it never came to it.
fn dump(folder: &Path, rank: u32, state: Option<&str>) -> String {
    let entry = |number: u64, state: &str| {
        let ended =
            if state == "completed" { json!(1_000_000_000 * number + 5_000_000) } else { Value::Null };
        json!({
            "process_group": ["0", "default_pg"], "collective_seq_id": number, "is_p2p": false,
            "profiling_name": "nccl:all_reduce", "state": state, "time_created_ns": 1_000_000_000 * number,
            "time_discovered_started_ns": 1_000_000_000 * number + 1_000, "time_discovered_completed_ns": ended,
            "input_sizes": [[256]], "input_dtypes": ["Float"], "output_sizes": [[256]], "output_dtypes": ["Float"],
            // The watchdog is through with it: it ended, or ran out of its time.
            "retired": true,
        })
    };
    let mut entries = vec![entry(1, "completed")];
    entries.extend(state.map(|state| entry(2, state)));
    let dump = json!({
        "version": "2.7", "pg_config": { "0": { "name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]" } },
        "entries": entries,
    });
    written(folder, &format!("nccl_trace_rank_{rank}.json"), &dump.to_string())
}

#[test]
fn dumps_of_a_timeout_name_the_rank_that_did_not_come() {
    let folder = tempfile::tempdir().unwrap();
    let states = [Some("started"), Some("started"), None, Some("started")];
    let files = [0, 1, 2, 3].map(|rank| dump(folder.path(), rank, states[rank as usize]));
    let (status, answer) = diagnose(&files.each_ref().map(String::as_str));
    assert_eq!((status, accused(&answer)), (1, vec!["job/2".to_owned()]), "{answer}");
    assert_eq!(answer["findings"][0]["syndrome"], json!("non-communication-hang"));
    assert_eq!(answer["actions"][0]["kind"], json!("report"), "no file names the host");
    // Without its dump it is what the others wait for, and not proved to be at fault.
    let (status, answer) = diagnose(&[&files[0], &files[1], &files[3], "--job", "llama"]);
    // Somebody has to look at it all the same.
    assert_eq!((status, accused(&answer)), (1, vec![]), "{answer}");
    assert_eq!(answer["findings"][0]["suspects"][0]["component"]["name"], json!("llama/2"), "{answer}");
    let sentence = answer["answer"].as_str().unwrap();
    assert!(sentence.contains("it waits for rank llama/2, which is not proved"), "{sentence}");
    // One dump of four tells nothing of the others.
    let (status, answer) = diagnose(&[&files[0]]);
    assert_eq!((status, accused(&answer)), (1, vec![]), "{answer}");
}

#[test]
fn a_job_that_is_not_seen_to_stand_still_is_said_to_be_so() {
    let folder = tempfile::tempdir().unwrap();
    let states = [Some("started"), Some("started"), None, Some("started")];
    let files = [0, 1, 2, 3].map(|rank| dump(folder.path(), rank, states[rank as usize]));
    let second = folder.path().join("later");
    std::fs::create_dir(&second).unwrap();
    for (rank, file) in files.iter().enumerate() {
        let text = std::fs::read_to_string(file).unwrap().replace("\"retired\":true", "\"retired\":false");
        std::fs::write(file, &text).unwrap();
        std::fs::write(second.join(format!("nccl_trace_rank_{rank}.json")), &text).unwrap();
    }
    let (status, answer) = diagnose(&files.each_ref().map(String::as_str));
    assert_eq!((status, accused(&answer)), (1, vec![]), "{answer}");
    assert!(answer["notes"].to_string().contains("do not show that the job stood still"), "{answer}");
    // A second dump of a rank that does nothing is equal, and so is a copy of the first.
    let (status, answer) = diagnose(&[&shown(folder.path())]);
    assert_eq!((status, accused(&answer)), (1, vec![]), "{answer}");
    assert!(answer["notes"].to_string().contains("do not show that the job stood still"), "{answer}");
    // That one is later somebody has to say.
    let first = folder.path().join("first");
    std::fs::create_dir(&first).unwrap();
    for file in &files {
        std::fs::rename(file, first.join(Path::new(file).file_name().unwrap())).unwrap();
    }
    let (first, second) = (shown(&first), shown(&second));
    let (status, answer) = diagnose(&[&first, "--later", &second]);
    assert_eq!((status, accused(&answer)), (1, vec!["job/2".to_owned()]), "{answer}");
    assert_eq!(answer["findings"][0]["confidence"], json!(0.8), "{answer}");
    assert!(answer["notes"].to_string().contains("4 ranks did nothing"), "{answer}");
    railtwin(&["diagnose", &first, "--later", &first]).assert_refused(&["--later", "made at another time"]);
    // Of one rank there is no second dump, or no first one.
    let (fewer, last) = (folder.path().join("fewer"), Path::new(&first).join("nccl_trace_rank_3.json"));
    std::fs::rename(&last, &fewer).unwrap();
    let (_, answer) = diagnose(&[&first, "--later", &second]);
    assert_eq!(accused(&answer), Vec::<String>::new(), "{answer}");
    std::fs::rename(&fewer, &last).unwrap();
    std::fs::remove_file(Path::new(&second).join("nccl_trace_rank_3.json")).unwrap();
    let (_, answer) = diagnose(&[&first, "--later", &second]);
    assert_eq!(accused(&answer), Vec::<String>::new(), "{answer}");
    // One went on.
    dump(Path::new(&second), 2, Some("completed"));
    let (_, answer) = diagnose(&[&first, "--later", &second]);
    assert_eq!(accused(&answer), Vec::<String>::new(), "{answer}");
    assert!(answer["notes"].to_string().contains("rank 2 went on between its dumps"), "{answer}");
    railtwin(&["diagnose", &first, "--later", &shown(&ours("xpu_timer"))])
        .assert_refused(&["--later", "holds no dump of a Flight Recorder"]);
    let files = [0, 1, 2, 3].map(|rank| dump(folder.path(), rank, states[rank as usize]));
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap().replace("\"retired\":true", "\"retired\":false");
        std::fs::write(file, &text).unwrap();
    }
    // The log of a watchdog shows it.
    let says = "[rank0]: [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, \
        Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n";
    let log = written(folder.path(), "train.log", says);
    let with_log = [&files.each_ref().map(String::as_str)[..], &[&log]].concat();
    let (status, answer) = diagnose(&with_log);
    assert_eq!((status, accused(&answer)), (1, vec!["job/2".to_owned()]), "{answer}");
    assert!(answer["notes"].to_string().contains("all-reduce 2 ran for 600 s"), "{answer}");
}

#[test]
fn real_hangs_name_the_ranks_that_were_broken_and_nobody_else() {
    for (run, broken) in [("gpu_error_1st", ["job/12", "job/14"]), ("lock_gil_2nd", ["job/10", "job/15"])] {
        let folder = shown(&ours("flight_recorder").join(run));
        let (status, answer) = diagnose(&[&folder]);
        assert_eq!((status, accused(&answer)), (1, broken.map(str::to_owned).to_vec()), "{answer}");
        let lines = railtwin(&["diagnose", &folder]).out;
        let first = format!("rank {} and {}: the others wait for it", broken[0], broken[1]);
        assert!(lines.starts_with(&first) && lines.lines().count() <= 12, "{lines}");
    }
}

#[test]
fn a_broken_rank_without_a_dump_is_told_of_beside_the_one_that_is_proved() {
    for (run, broken) in [("gpu_error_1st", [12, 14]), ("lock_gil_2nd", [10, 15])] {
        for left in broken.into_iter().chain([4]) {
            let folder = tempfile::tempdir().unwrap();
            for rank in (0..16).filter(|rank| *rank != left) {
                let name = format!("_dump_{rank}");
                std::fs::copy(ours("flight_recorder").join(run).join(&name), folder.path().join(&name))
                    .unwrap();
            }
            let (status, answer) = diagnose(&[&shown(folder.path())]);
            let of = |ranks: &[u32]| ranks.iter().map(|rank| format!("job/{rank}")).collect::<BTreeSet<_>>();
            let both = of(&broken);
            assert_eq!((status, told(&answer)), (1, both.clone()), "{run} without {left}: {answer}");
            let accused: BTreeSet<String> = accused(&answer).into_iter().collect();
            let proved = if left == 4 { both.clone() } else { &both - &of(&[left]) };
            // That a rank is blind behind another and no more is no proof.
            let few = accused.is_empty() && left == 12;
            assert!(accused == proved || few, "{run} without {left}: {accused:?}");
        }
    }
}

#[test]
fn one_reading_of_a_counter_accuses_nobody_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let text = "NIC statistics:\n     rx_symbol_err_phy: 40\n     tx_bytes_phy: 100000\n";
    let file = written(folder.path(), "ethtool_host-1_mlx5_0.txt", text);
    let (status, answer) = diagnose(&[&file]);
    assert_eq!((status, accused(&answer)), (0, vec![]), "{answer}");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("give a second reading") && notes.contains("receive_errors = 40"), "{notes}");
}

#[test]
fn ranks_of_unknown_hosts_stand_where_the_scenario_places_them() {
    let folder = tempfile::tempdir().unwrap();
    let states = [Some("started"), Some("started"), None, Some("started")];
    let files = [0, 1, 2, 3].map(|rank| dump(folder.path(), rank, states[rank as usize]));
    let scenario = written(folder.path(), "fabric.toml", &small("cluster", ""));
    let args = [&files.each_ref().map(String::as_str)[..], &["--fabric", &scenario]].concat();
    let (status, answer) = diagnose(&args);
    assert_eq!(status, 1, "{answer}");
    assert_eq!(answer["actions"][0]["target"], json!({ "kind": "host", "name": "host-0" }), "{answer}");
    let logs = shown(&ours("xpu_timer/normal.prom"));
    railtwin(&["diagnose", &logs, "--fabric", &scenario])
        .assert_refused(&["is a host of the fabric", "host-0"]);
}

#[test]
fn wrong_inputs_are_one_error_and_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = shown(&folder.path().join("told"));
    let pickle = shown(&folder.path().join("rank_0"));
    std::fs::write(&pickle, [0x80, 4, 0x95, 1, 2, 3]).unwrap();
    let refused =
        |file: &str, words: &[&str]| railtwin(&["diagnose", file, "--out", &out]).assert_refused(words);
    refused(&pickle, &["rank_0", "is a pickle and no dump"]);
    refused(&written(folder.path(), "junk", "what is this\n"), &["junk", "is of no format that is known"]);
    refused(&written(folder.path(), "empty", ""), &["empty", "is empty"]);
    refused("nowhere.json", &["cannot read nowhere.json"]);
    let bare = tempfile::tempdir().unwrap();
    written(bare.path(), "readme", "nothing here\n");
    refused(&shown(bare.path()), &["none of its 1 files", "readme", "is of no format that is known"]);
    let torn = &std::fs::read(ours("megatron_straggler/trace-ST.parquet")).unwrap()[..9_000];
    let parquet = folder.path().join("torn.parquet");
    std::fs::write(&parquet, torn).unwrap();
    refused(&shown(&parquet), &["torn.parquet", "cannot be decoded"]);
    assert!(!Path::new(&out).exists());
    // A folder that is there is left alone.
    let log = shown(&ours("xpu_timer/normal.prom"));
    railtwin(&["diagnose", &log, "--out", &shown(folder.path())]).assert_refused(&["is there already"]);
}

#[test]
fn tables_are_written_with_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("told");
    let trace = shown(&ours("megatron_straggler/trace-ST.parquet"));
    assert_eq!(railtwin(&["diagnose", &trace, "--out", &shown(&out)]).status, 0);
    let table = railtwin_store::parquet_read::read(&out.join("rank_operations.parquet")).unwrap();
    assert_eq!(table.rows(), 3712);
    assert_eq!(railtwin_store::parquet_read::read(&out.join("findings.parquet")).unwrap().rows(), 0);
}

/// The log of a pair whose test failed: the head of a real one, and what NCCL says when its peer is gone.
fn failed_log(folder: &Path, a: &str, b: &str, said: &str) -> String {
    let text = format!(
        "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n\
         # Collective test starting: alltoall_perf\n# Using devices\n\
         #  Rank  0 Group  0 Pid 361042 on {a} device  0 [0000:52:00] NVIDIA H100 80GB HBM3\n\
         #  Rank  1 Group  0 Pid 340134 on {b} device  0 [0000:43:00] NVIDIA H100 80GB HBM3\n\
         #       size         count      type   redop    root     time   algbw   busbw  #wrong\n{said}"
    );
    written(folder, &format!("pair_{a}_{b}.log"), &text)
}

const GONE: &str = "b: Test NCCL failure alltoall.cu:274 'remote process exited or there was a network error / '\n \
     .. b pid 340134: Test failure common.cu:484\n";

#[test]
fn one_failed_log_is_a_finding_and_never_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for said in [GONE, ""] {
        let file = failed_log(folder.path(), "gpu-1", "gpu-2", said);
        let (status, answer) = diagnose(&[&file]);
        // Two hosts, one test: who it was cannot be told, and that it failed can.
        assert_eq!((status, accused(&answer), &answer["failed_tests"]), (1, vec![], &json!(1)), "{answer}");
        let finding = &answer["findings"][0];
        let names: Vec<&str> = finding["suspects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|suspect| suspect["component"]["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["gpu-1", "gpu-2", "gpu-1 > gpu-2"]);
        assert!(finding["advice"].as_str().unwrap().contains("not enough evidence to say which"));
        let text = railtwin(&["diagnose", &shown(folder.path())]);
        assert!(text.out.starts_with("a test failed, not enough evidence"), "{}", text.out);
    }
}

#[test]
fn the_host_of_the_tests_that_failed_stands_first_among_healthy_ones() {
    let folder = tempfile::tempdir().unwrap();
    scaled(folder.path(), "no host", 1.0);
    let partners = ["cnode3-003", "cnode3-005", "cnode3-009"];
    for partner in partners {
        let name = format!("nccl_N2_G8_{partner}_cnode3-011.log");
        let whole = std::fs::read_to_string(folder.path().join(&name)).unwrap();
        let begun: Vec<&str> = whole.lines().take_while(|line| line.starts_with('#')).collect();
        written(folder.path(), &name, &format!("{}\n{GONE}", begun.join("\n")));
    }
    let (status, answer) = diagnose(&[&shown(folder.path())]);
    // Six other tests with the host are well: it may be the host, or its ways to these three alone.
    assert_eq!((status, accused(&answer)), (1, Vec::new()), "{answer}");
    let suspects = answer["findings"][0]["suspects"].as_array().unwrap();
    let names: Vec<&str> = suspects.iter().map(|one| one["component"]["name"].as_str().unwrap()).collect();
    assert_eq!(names[0], "cnode3-011");
    let ways = partners.map(|partner| format!("{partner} > cnode3-011"));
    assert!(names[1..].iter().all(|name| ways.contains(&(*name).to_owned())), "{names:?}");
    let evidence = answer["findings"][0]["evidence"][0]["what"].as_str().unwrap();
    assert!(evidence.ends_with("of host cnode3-011: 3 at alltoall.cu:274"), "{evidence}");
}

#[test]
fn one_bad_file_or_line_is_skipped_counted_and_named() {
    let folder = tempfile::tempdir().unwrap();
    scaled(folder.path(), "cnode3-007", 0.7);
    // A line of one log, a file that is torn, a pickle, and something else.
    let name = "nccl_N2_G8_cnode3-002_cnode3-003.log";
    let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
    let row = text.lines().find(|line| line.trim_start().starts_with("4294967296")).unwrap();
    written(folder.path(), name, &text.replacen(row, &row.replacen("4294967296", "42949672x6", 1), 1));
    let torn = &std::fs::read(ours("megatron_straggler/trace-ST.parquet")).unwrap()[..9_000];
    std::fs::write(folder.path().join("torn.parquet"), torn).unwrap();
    std::fs::write(folder.path().join("rank_0.pkl"), [0x80, 4, 0x95, 1, 2, 3]).unwrap();
    written(folder.path(), "notes.txt", "remember the milk\n");
    let out = shown(&folder.path().join("told"));
    let (status, answer) = diagnose(&[&shown(folder.path())]);
    assert_eq!((status, accused(&answer)), (1, vec!["cnode3-007".to_owned()]), "{answer}");
    let unread = answer["unread"].as_array().unwrap();
    let told: Vec<(bool, bool)> = unread
        .iter()
        .map(|file| (file["recognized"].as_bool().unwrap(), file["reason"].as_str().unwrap().is_empty()))
        .collect();
    assert_eq!(told, [(false, false), (true, false), (true, false)], "{unread:?}");
    let torn = answer["files"].as_array().unwrap().iter().find(|file| file["skipped"]["count"] == json!(1));
    let first = torn.unwrap()["skipped"]["first"][0].as_str().unwrap();
    assert!(first.contains("42949672x6"), "{first}");
    let text = railtwin(&["diagnose", &shown(folder.path()), "--all", "--out", &out]).out;
    for words in [
        "host cnode3-007: communication is slow: at all sizes alike (69 %), confidence 0.95; 2 of \
         49 files could not be read; 1 of 49 files not recognized; 1 wrong record skipped\n",
        "torn.parquet: not read: ",
        "notes.txt: not recognized: is of no format that is known",
    ] {
        assert!(text.contains(words), "{words} is missing:\n{text}");
    }
    let files = railtwin_store::parquet_read::read(&Path::new(&out).join("files.parquet")).unwrap();
    assert_eq!(files.rows(), 49);
}

#[test]
fn nothing_found_is_said_with_what_was_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let log = ours("nccl_tests_h100/nccl_N2_G8_cnode3-002_cnode3-003.log");
    std::fs::copy(&log, folder.path().join("a.log")).unwrap();
    written(folder.path(), "readme", "nothing here\n");
    let text = railtwin(&["diagnose", &shown(folder.path())]);
    assert!(text.out.lines().next().unwrap().ends_with("; 1 of 2 files not recognized"), "{}", text.out);
    assert_eq!(text.status, 0, "a file of another kind is no telemetry");
    written(folder.path(), "nccl_trace_rank_3.json", "{\"version\":\"2.7\",\"pg_config\":{},\"entries\":[{");
    let text = railtwin(&["diagnose", &shown(folder.path())]);
    assert!(
        text.out.starts_with("nothing found in") && text.out.contains("; 1 of 3 files could not be read")
    );
    assert_eq!(text.status, 1, "telemetry that is not read is not well");
    // A run folder beside other files is not read table by table.
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    written(&run, "run.json", "{}");
    let text = railtwin(&["diagnose", &shown(folder.path()), "--all"]);
    assert!(text.out.contains("run: not recognized: is a run folder, which is given alone"), "{}", text.out);
    // Nothing at all can be read: one error that names all.
    let [a, b] = ["x.log", "y.log"].map(|name| written(folder.path(), name, "what is this\n"));
    railtwin(&["diagnose", &a, &b]).assert_refused(&["none of 2 files", "x.log", "y.log"]);
}

#[test]
fn an_entry_that_is_wrong_accuses_no_healthy_rank() {
    let folder = tempfile::tempdir().unwrap();
    let states = [Some("started"), Some("started"), None, Some("started")];
    let files = [0, 1, 2, 3].map(|rank| dump(folder.path(), rank, states[rank as usize]));
    // The last entry of a rank that came: nobody can tell that it did, and it is not accused of it.
    let text = std::fs::read_to_string(&files[3]).unwrap();
    std::fs::write(&files[3], text.replace("\"state\":\"started\"", "\"state\":\"?\"")).unwrap();
    let (status, answer) = diagnose(&files.each_ref().map(String::as_str));
    assert_eq!((status, accused(&answer)), (1, vec!["job/2".to_owned()]), "{answer}");
    assert!(answer["notes"].to_string().contains("what ranks 3 did last could not be read"), "{answer}");
    // A dump that is cut short is there: its rank is not one of which there is none.
    std::fs::write(&files[3], &text[..text.len() / 2]).unwrap();
    let (_, answer) = diagnose(&files.each_ref().map(String::as_str));
    assert_eq!(accused(&answer), ["job/2"], "{answer}");
    assert_eq!(answer["unread"][0]["recognized"], json!(true));
}

#[test]
fn a_page_is_written_beside_what_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let trace = ours("megatron_straggler/trace-ST.parquet");
    let (trace, path) = (shown(&trace), shown(&page));
    let Outcome { status, out, notes } = railtwin(&["diagnose", &trace, "--what-if", "--report", &path]);
    assert_eq!(status, 0, "{notes}");
    assert!(out.starts_with("nothing found in "), "{out}");
    assert!(notes.contains("report in "), "{notes}");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("\"diagnosed\":{") && text.contains("\"what_if\":[{"));
    // Who is accused is written, too, and where no file can be, that is said.
    let dumps = shown(&ours("flight_recorder/lock_gil_2nd"));
    let told = railtwin(&["diagnose", &dumps, "--report", &path]);
    assert_eq!(told.status, 1, "{}", told.notes);
    assert!(std::fs::read_to_string(&page).unwrap().contains("\"lattice\":{"));
    let nowhere = shown(&folder.path().join("no/page.html"));
    railtwin(&["diagnose", &dumps, "--report", &nowhere]).assert_refused(&["page.html", "no such folder"]);
}

#[test]
fn a_page_is_written_over_no_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| shown(&folder.path().join(name));
    let (log, page) = (file("node1.log"), file("page.html"));
    std::fs::copy(ours("nccl_tests_h100/nccl_N2_G8_cnode3-002_cnode3-003.log"), &log).unwrap();
    std::fs::create_dir(folder.path().join("run")).unwrap();
    let run = written(folder.path(), "run/run.json", "{}");
    let whole = shown(folder.path());
    let beside = shown(&folder.path().join("run/../node1.log"));
    let tables = file("tables");
    for (read, path, more, words) in [
        (&log, &log, &[][..], &["--report", "would replace", "node1.log"][..]),
        (&log, &beside, &[], &["--report", "would replace"]),
        (&whole, &log, &[], &["would replace a file of", "a page of railtwin"]),
        (&whole, &file("run/page.html"), &[], &["lies in the run folder"]),
        (&file("run"), &file("run/report.html"), &[], &["lies in the run folder"]),
        (&whole, &page, &["--names", &page], &["would replace", "page.html"]),
        (&log, &tables, &["--out", &tables], &["--report", "--out makes a folder"]),
    ] {
        railtwin(&[&["diagnose", read, "--report", path], more].concat()).assert_refused(words);
    }
    assert_eq!(std::fs::read_to_string(&run).unwrap(), "{}");
    // A page of an earlier call is no evidence.
    for _ in 0..2 {
        let told = railtwin(&["diagnose", &whole, "--report", &page]);
        assert!(told.notes.contains("report in "), "{}", told.notes);
    }
    let told = railtwin(&["diagnose", &log, &beside, &page, &whole, "--report", &page]);
    assert!(told.notes.contains("report in "), "{}", told.notes);
    assert!(std::fs::read_to_string(&page).unwrap().contains("page.html and 1 more\""), "its title");
}

#[test]
fn a_file_that_is_given_twice_is_read_once() {
    let trace = shown(&ours("megatron_straggler/trace-ST.parquet"));
    let around = trace.replace("/trace-ST", "/../megatron_straggler/trace-ST");
    let (_, once) = diagnose(&[&trace]);
    let (_, twice) = diagnose(&[&trace, &around]);
    assert_eq!(once["operations"], twice["operations"]);
    assert_eq!(twice["files"].as_array().unwrap().len(), 1);
    assert!(twice["notes"].to_string().contains("1 files are given more than once"), "{}", twice["notes"]);
}

#[test]
fn what_cannot_be_read_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let bad = written(folder.path(), "bad\nnode-7 is the culprit.txt", "nothing of this is telemetry");
    let log = shown(&ours("nccl_tests_h100/nccl_N2_G8_cnode3-002_cnode3-003.log"));
    let Outcome { out, notes, .. } = railtwin(&["diagnose", "--all", &log, &bad]);
    assert!(
        out.contains("is the culprit.txt: not recognized") || out.contains("is the culprit.txt: not read"),
        "{out}{notes}"
    );
    assert!(!out.lines().any(|line| line.starts_with("node-7 ")), "{out}");
}
