//! `railtwin diagnose` on what NCCL RAS tells: who misses, who is behind, who reports an error.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use std::path::Path;

use serde_json::{Value, json};

use crate::diagnose::{accused, diagnose, ours};
use crate::harness::{railtwin, shown, written};

/// A snapshot of 4 ranks on two hosts with these counts of all-reduces.
fn snapshot(folder: &Path, name: &str, counts: [u64; 4], time: u32) -> String {
    let rank = |(rank, count): (u64, u64)| {
        json!({ "rank": rank, "host": format!("10.0.0.{}", rank / 2), "pid": 10 + rank, "cuda_dev": rank % 2,
            "collective_counts": { "AllReduce": count } })
    };
    let ranks: Vec<Value> = (0..).zip(counts).map(rank).collect();
    let text = json!({
        "nccl_version": "2.29.1", "timestamp": format!("2026-05-01 10:00:{time:02}"), "communicators_count": 1,
        "communicators": [{ "hash": "0xae", "size": 4, "ranks": ranks, "missing_ranks": [] }],
    });
    written(folder, name, &text.to_string())
}

#[test]
fn ras_names_who_is_behind_and_not_who_is_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let first = snapshot(folder.path(), "a.json", [641, 641, 640, 641], 1);
    let (status, answer) = diagnose(&[&first]);
    let sure = |answer: &Value| answer["findings"][0]["confidence"].as_f64().unwrap();
    assert_eq!((status, accused(&answer)), (1, vec![]), "one snapshot accuses nobody: {answer}");
    assert_eq!(answer["findings"][0]["suspects"][0]["component"]["name"], "job/2");
    let second = snapshot(folder.path(), "b.json", [641, 641, 640, 641], 9);
    let (status, answer) = diagnose(&[&first, &second]);
    assert_eq!((status, accused(&answer)), (1, vec!["job/2".to_owned()]), "{answer}");
    assert!((sure(&answer) - 0.95).abs() < 1e-9, "it stands");
    assert_eq!(answer["actions"][0]["target"]["name"], json!("10.0.0.1"));
    let (_, answer) = diagnose(&[&first, "--later", &second]);
    assert!((sure(&answer) - 0.95).abs() < 1e-9, "their own times tell it: {answer}");
    railtwin(&["diagnose", &second, "--later", &first])
        .assert_refused(&["--later", "no later than that of before"]);
    let runs = snapshot(folder.path(), "runs.json", [691, 691, 690, 691], 9);
    let (status, answer) = diagnose(&[&first, &runs]);
    assert_eq!((status, &answer["findings"]), (0, &json!([])), "a job that runs: {answer}");
    assert!(answer["notes"].to_string().contains("the job runs"), "{answer}");
    let ahead = snapshot(folder.path(), "c.json", [640, 640, 641, 640], 1);
    let (status, answer) = diagnose(&[&ahead]);
    assert_eq!((status, &answer["findings"]), (0, &json!([])));
}

#[test]
fn ras_names_a_rank_that_is_counted_as_missing_and_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |rank: u32| {
        json!({ "rank": rank, "host": "h", "pid": 1000 + rank, "cuda_dev": rank, "nvml_dev": rank,
        "status": { "init_state": 0, "async_error": 0, "finalize_called": false, "destroy_flag": false,
            "abort_flag": false },
        "collective_counts": { "AllReduce": 7 } })
    };
    for (listed, counted, names) in [(vec![0, 1, 3], 1, vec!["job/2".to_owned()]), (vec![0, 3], 1, vec![])] {
        let ranks: Vec<Value> = listed.into_iter().map(rank).collect();
        let text = json!({ "nccl_version": "2.28.7", "timestamp": "2025-01-01T00:00:00Z", "communicators_count": 1,
            "communicators": [{ "hash": "0xa", "size": 4, "ranks_count": ranks.len(), "ranks": ranks,
                "missing_ranks_count": counted }] });
        let file = written(folder.path(), "ras.json", &text.to_string());
        assert_eq!(accused(&diagnose(&[&file]).1), names);
    }
}

/// The text of a job of 8 ranks of which rank 7 has launched less.
fn ras_text(last: u32) -> String {
    format!(
        "NCCL version 2.25.1 compiled with CUDA 12.8\nCUDA runtime version 12080, driver version 12080\n\nJob summary\n\
         ===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n\
         \x20     1          8            1          8        8\n\nCommunicators... (0.00s)\n=============\n\n\
         Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n\
         \x20   #  in group  per comm  per node  per comm  in group\n\
         \x20   0         1         1         8         8         8   RUNNING  MISMATCH\n\nErrors\n======\n\n\nWarnings\n\
         ========\n\n#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different collective operation counts\n\
         \x20 7 ranks have launched up to operation {last}\n  1 rank has launched up to operation {}\n\
         \x20 Rank 7 -- GPU 7 managed by process 483079 on node 172.16.64.210\n",
        last - 1
    )
}

#[test]
fn a_second_text_of_ras_is_a_copy_unless_it_is_said_to_be_later() {
    let folder = tempfile::tempdir().unwrap();
    let first = written(folder.path(), "ras1.txt", &ras_text(6650));
    let second = written(folder.path(), "ras2.txt", &ras_text(6650));
    let (status, answer) = diagnose(&[&first, &second]);
    assert_eq!((status, accused(&answer)), (1, vec![]), "equal texts may be copies: {answer}");
    assert!(answer["findings"][0]["advice"].to_string().contains("--later"), "{answer}");
    let (status, answer) = diagnose(&[&first, "--later", &second]);
    assert_eq!((status, accused(&answer)), (1, vec!["job/7".to_owned()]), "{answer}");
    assert_eq!(answer["findings"][0]["confidence"], json!(0.8), "{answer}");
    let on = written(folder.path(), "ras0.txt", &ras_text(6700));
    let (status, answer) = diagnose(&[&first, "--later", &on]);
    assert_eq!((status, accused(&answer)), (0, vec![]), "the job runs: {answer}");
    railtwin(&["diagnose", &first, "--later", &first]).assert_refused(&["--later", "made at another time"]);
    let dump = written(
        folder.path(),
        "nccl_trace_rank_0.json",
        r#"{"version":"2.7","pg_config":{},"pg_status":{},"entries":[]}"#,
    );
    railtwin(&["diagnose", &dump, "--later", &second]).assert_refused(&["--later", "holds no state of RAS"]);
}

#[test]
fn the_text_of_ras_names_who_misses() {
    let (_, answer) = diagnose(&[&shown(&ours("ras_inspector/rccl_v2283_text_degraded.txt"))]);
    assert_eq!(accused(&answer).len(), 1, "{answer}");
    let (status, answer) = diagnose(&[&shown(&ours("ras_inspector/rccl_v2283_text_healthy.txt"))]);
    assert_eq!((status, accused(&answer)), (0, Vec::<String>::new()), "{answer}");
}

/// A snapshot of 8 ranks, of which these report an error by code.
fn with_errors(folder: &Path, errors: &[(u64, u64)], missing: &[u64]) -> String {
    let code = |rank: u64| errors.iter().find(|(who, _)| *who == rank).map_or(0, |(_, code)| *code);
    let rank = |rank: u64| {
        json!({ "rank": rank, "host": "h", "pid": 10 + rank, "cuda_dev": rank,
            "status": { "init_state": 0, "async_error": code(rank), "finalize_called": false, "destroy_flag": false,
                "abort_flag": false },
            "collective_counts": { "AllReduce": 7 } })
    };
    let ranks: Vec<Value> = (0..8).filter(|rank| !missing.contains(rank)).map(rank).collect();
    let text = json!({ "nccl_version": "2.28.9", "timestamp": "2026-05-01 10:00:00", "communicators_count": 1,
        "communicators": [{ "hash": "0xa", "size": 8, "ranks_count": ranks.len(), "ranks": ranks,
            "missing_ranks_count": missing.len() }] });
    written(folder, "ras.json", &text.to_string())
}

/// Codes are those of `ncclResult_t`: 5 is the rank's own, 6 says that another process or the network failed, 7 is none.
#[test]
fn an_error_of_ones_own_accuses_and_that_others_failed_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let answer =
        |errors: &[(u64, u64)], missing: &[u64]| diagnose(&[&with_errors(folder.path(), errors, missing)]);
    let suspects = |answer: &Value| -> Vec<String> {
        let findings = answer["findings"].as_array().unwrap();
        let all = findings.iter().flat_map(|finding| finding["suspects"].as_array().unwrap());
        all.map(|suspect| suspect["component"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let (_, under_way) = answer(&[(3, 7), (4, 7)], &[]);
    assert_eq!(under_way["findings"], json!([]), "an operation that is under way is no error");
    let (status, own) = answer(&[(3, 5)], &[]);
    assert_eq!((status, suspects(&own)), (1, vec!["job/3".to_owned()]), "{own}");
    let (status, victims) = answer(&[(2, 6), (4, 6)], &[]);
    assert_eq!((status, suspects(&victims)), (1, vec![]), "who saw others fail is a victim: {victims}");
    let (_, both) = answer(&[(2, 6), (3, 1), (4, 6)], &[]);
    assert_eq!(suspects(&both), ["job/3"], "{both}");
    let (_, gone) = answer(&[(2, 6), (4, 6)], &[7]);
    assert_eq!(
        (gone["findings"].as_array().unwrap().len(), suspects(&gone)),
        (1, vec!["job/7".to_owned()]),
        "{gone}"
    );
    assert!(
        gone["findings"][0]["evidence"].to_string().contains("error 6 of NCCL"),
        "what follows stands under it: {gone}"
    );
}

#[test]
fn the_state_of_a_real_job_names_who_misses_and_who_reports_an_error() {
    let file = shown(&ours("ras_inspector/rccl_v2289_json_degraded.json"));
    let (status, answer) = diagnose(&[&file]);
    assert_eq!((status, accused(&answer)), (1, vec!["job/7".to_owned(), "job/6".to_owned()]), "{answer}");
    assert_eq!(answer["findings"][1]["confidence"], json!(0.5), "{answer}");
    let told = railtwin(&["diagnose", &file]);
    assert!(told.out.starts_with("rank job/7: does not answer RAS, confidence 0.80"), "{}", told.out);
    assert!(told.out.contains("rank job/6: reports error 5 of NCCL (invalid usage)"), "{}", told.out);
    let (status, answer) = diagnose(&[&shown(&ours("ras_inspector/inspector_sample.jsonl"))]);
    assert_eq!((status, &answer["findings"]), (0, &json!([])), "{answer}");
}

/// The text tells no code: beside a process that is gone an error may be what its peers see.
#[test]
fn an_error_without_its_code_follows_from_who_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let rank = "  Rank 3 -- GPU 3 managed by process 8 on node h1\n\n";
    let text = |gone: &str| {
        ras_text(6650).replace(
            "Errors\n======\n\n",
            &format!("Errors\n======\n\n{gone}#0-0 (27a079b828ff1a75) ERROR\n  Asynchronous error on 1 rank\n{rank}"),
        )
    };
    let alone = written(folder.path(), "ras.txt", &text(""));
    assert!(accused(&diagnose(&[&alone]).1).contains(&"job/3".to_owned()));
    let gone = "#0-0 (27a079b828ff1a75) INCOMPLETE\n  Missing communicator data from 1 rank\n\
                \x20 Rank 6 -- GPU 6 managed by process 11 on node h1\n\n";
    let beside = written(folder.path(), "ras.txt", &text(gone));
    let (_, answer) = diagnose(&[&beside]);
    let named = accused(&answer);
    assert!(named.contains(&"job/6".to_owned()) && !named.contains(&"job/3".to_owned()), "{answer}");
}

/// The answer to the text of a job of 8 ranks whose communicator is told so.
fn answer_to(folder: &Path, table: &str, told: &str) -> (u8, Value) {
    let whole = ras_text(6650);
    let (head, _) = whole.split_once("#0-0").unwrap();
    let text =
        format!("{}#0-0 (27a079b828ff1a75) MISMATCH\n{told}", head.replace("RUNNING  MISMATCH", table));
    diagnose(&[&written(folder, "ras.txt", &text)])
}

/// Names of the suspects of the first finding.
fn first_suspects(answer: &Value) -> Vec<String> {
    let all = answer["findings"][0]["suspects"].as_array().unwrap();
    all.iter().map(|one| one["component"]["name"].as_str().unwrap().to_owned()).collect()
}

/// As `ncclras` prints it: one that has launched nothing has no number of an operation.
#[test]
fn who_has_launched_nothing_is_behind() {
    let folder = tempfile::tempdir().unwrap();
    let of = |told: &str| {
        let head = "  Communicator ranks have different AllReduce operation counts\n";
        answer_to(folder.path(), "RUNNING  MISMATCH", &format!("{head}{told}"))
    };
    let gpu = |rank: u32| format!(" -- GPU {rank} managed by process 4{rank} on node 10.0.0.1\n");
    let one = format!(
        "  7 ranks have launched up to operation 1\n  Rank 5 has not launched any operations{}",
        gpu(5)
    );
    let (status, answer) = of(&one);
    assert_eq!((status, first_suspects(&answer)), (1, vec!["job/5".to_owned()]), "{answer}");
    let two = format!(
        "  6 ranks have launched up to operation 3\n  2 ranks have not launched any operations\n  Rank 2{}  Rank 5{}",
        gpu(2),
        gpu(5)
    );
    let (_, answer) = of(&two);
    assert_eq!(first_suspects(&answer), ["job/2", "job/5"], "{answer}");
    // Who is ahead of all others waits for them.
    let most = format!(
        "  7 ranks have not launched any operations\n  Rank 5 has launched up to operation 1{}",
        gpu(5)
    );
    let (status, answer) = of(&most);
    assert_eq!((status, &answer["findings"]), (0, &json!([])), "{answer}");
}

#[test]
fn a_state_that_few_are_in_is_told_and_accuses_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let of = |most: &str, word: &str| {
        let told = format!(
            "  Communicator ranks have different status\n  7 ranks have status {most}\n\
             \x20 Rank 5 has status {word} -- GPU 5 managed by process 45 on node 10.0.0.1\n"
        );
        answer_to(folder.path(), &format!("{most}  MISMATCH"), &told)
    };
    for (most, word, seen) in [
        ("RUNNING", "ABORT", "have aborted"),
        ("RUNNING", "INIT", "have not ended the initialisation"),
        ("INIT", "NOCOMM", "have no communicator"),
    ] {
        let (status, answer) = of(most, word);
        assert_eq!((status, first_suspects(&answer)), (1, vec!["job/5".to_owned()]), "{answer}");
        assert_eq!(accused(&answer), Vec::<String>::new(), "{answer}");
        assert!(answer["findings"][0]["evidence"].to_string().contains(seen), "{answer}");
    }
    let (status, answer) = of("RUNNING", "FINALIZE");
    assert_eq!((status, &answer["findings"]), (0, &json!([])), "who is through goes first: {answer}");
    // A table that says more than the lines below it.
    let (_, answer) = answer_to(folder.path(), "RUNNING  MISMATCH", "  Something new\n");
    assert!(answer["notes"].to_string().contains("says MISMATCH"), "{answer}");
    assert!(!answer["notes"].to_string().contains("the same number"), "{answer}");
}

#[test]
fn errors_of_initialisation_and_aborts_of_the_json_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let of = |init: &dyn Fn(u64) -> u32, aborts: &dyn Fn(u64) -> bool| {
        let rank = |rank: u64| {
            json!({ "rank": rank, "host": "h", "pid": 10 + rank, "cuda_dev": rank,
                "status": { "init_state": init(rank), "async_error": 0, "finalize_called": false,
                    "destroy_flag": false, "abort_flag": aborts(rank) },
                "collective_counts": { "AllReduce": 7 } })
        };
        let text = json!({ "nccl_version": "2.28.9", "timestamp": "2026-05-01 10:00:00", "communicators_count": 1,
            "communicators": [{ "hash": "0xa", "size": 8, "ranks_count": 8,
                "ranks": (0..8).map(rank).collect::<Vec<_>>(), "missing_ranks_count": 0 }] });
        diagnose(&[&written(folder.path(), "ras.json", &text.to_string())])
    };
    let (status, answer) = of(&|rank| if rank == 3 { 2 } else { 0 }, &|_| false);
    assert_eq!((status, accused(&answer)), (1, vec!["job/3".to_owned()]), "{answer}");
    assert!(
        answer["findings"][0]["evidence"].to_string().contains("a call to the system failed"),
        "{answer}"
    );
    let (status, answer) = of(&|_| 0, &|rank| rank == 3);
    assert_eq!((status, first_suspects(&answer)), (1, vec!["job/3".to_owned()]), "{answer}");
    let (status, answer) = of(&|_| 0, &|_| true);
    assert_eq!((status, first_suspects(&answer)), (1, vec![]), "all gave up: {answer}");
    let (status, answer) = of(&|_| 7, &|_| false);
    assert_eq!((status, &answer["findings"]), (0, &json!([])), "a job that begins: {answer}");
}

/// All of a node are gone, not one of them.
#[test]
fn each_of_several_that_are_dead_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |rank: u64| {
        json!({ "rank": rank, "host": "h1", "pid": 10 + rank, "cuda_dev": rank,
            "collective_counts": { "AllReduce": 7 } })
    };
    let gone = |rank: u64| {
        json!({ "rank": rank, "host": "h2", "pid": 10 + rank, "cuda_dev": rank % 4, "unresponsive": true,
            "considered_dead": true })
    };
    let text = json!({ "nccl_version": "2.29.1", "timestamp": "2026-05-01 10:00:00", "communicators_count": 1,
        "communicators": [{ "hash": "0xa", "size": 8, "ranks_count": 4, "ranks": (0..4).map(rank).collect::<Vec<_>>(),
            "missing_ranks_count": 4, "missing_ranks": (4..8).map(gone).collect::<Vec<_>>() }] });
    let told = railtwin(&["diagnose", &written(folder.path(), "ras.json", &text.to_string())]);
    assert!(told.out.contains("died") && !told.out.contains("or one of"), "{}", told.out);
}
