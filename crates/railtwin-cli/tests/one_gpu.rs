//! `railtwin diagnose` on what jobs under PyTorch, NCCL and `torchrun` left behind in which something went wrong on purpose.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]
use serde_json::Value;

use crate::diagnose::{accused, diagnose, ours};
use crate::harness::{shown, written};

/// Jobs of eight ranks (`make_jobs.py` there): what was done to whom, and who is told where nobody can be named.
struct Case {
    name: &'static str,
    /// Ranks that are to be accused, with dumps and logs.
    accused: &'static [&'static str],
    /// Ranks of which dumps and logs say that it may be them.
    told: &'static [&'static str],
}

const fn named(name: &'static str, accused: &'static [&'static str]) -> Case {
    Case { name, accused, told: accused }
}

const CASES: [Case; 18] = [
    named("forward", &["job/5"]),
    named("send", &["job/6"]),
    named("both", &["job/1"]),
    named("experts", &["job/3"]),
    named("replicas", &["job/2"]),
    named("gil", &["job/7"]),
    named("frozen", &["job/2"]),
    named("killed", &["job/3"]),
    named("raises", &["job/6"]),
    named("two", &["job/1", "job/6"]),
    named("other", &["job/7"]),
    named("bigger", &["job/5"]),
    // The same with TORCH_NCCL_ENABLE_TIMING=1, which records who has begun.
    named("kernel_timed", &["job/4"]),
    named("kernel_send_timed", &["job/0"]),
    // Rank 4 or 0 runs an endless kernel: dumps without times of starts do not tell which of the two holds up what both are in.
    Case { name: "kernel", accused: &[], told: &["job/4", "job/5"] },
    Case { name: "kernel_send", accused: &[], told: &["job/0", "job/4"] },
    // Rank 4 calls once more, or rank 2 in another order: their peer might as well have left out a call.
    Case { name: "more", accused: &[], told: &["job/4", "job/5"] },
    Case { name: "swapped", accused: &[], told: &["job/0", "job/2"] },
];

fn folder(parts: &[&str]) -> String {
    let mut path = ours("nccl_one_gpu");
    path.extend(parts);
    shown(&path)
}

/// All suspects of all findings, each once.
fn told(answer: &Value) -> Vec<String> {
    let findings = answer["findings"].as_array().unwrap();
    let suspects = findings.iter().flat_map(|finding| finding["suspects"].as_array().unwrap());
    let mut names: Vec<String> =
        suspects.map(|suspect| suspect["component"]["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn dumps_and_logs_of_jobs_under_nccl_name_who_was_broken_and_nobody_else() {
    for Case { name, accused: wanted, told: set } in &CASES {
        let (status, answer) = diagnose(&[&folder(&[name, "timeout"]), &folder(&[name, "log"])]);
        let mut found = accused(&answer);
        found.sort();
        assert_eq!((status, &found[..]), (1, &wanted.map_names()[..]), "{name}: {answer}");
        assert_eq!(told(&answer), set.map_names(), "{name}: {answer}");
        // Dumps alone do not show that the job stood still, but name nobody else either.
        let (_, answer) = diagnose(&[&folder(&[name, "timeout"])]);
        assert!(accused(&answer).iter().all(|rank| wanted.contains(&rank.as_str())), "{name}: {answer}");
        assert!(
            told(&answer).iter().all(|rank| set.contains(&rank.as_str())) || *name == "other",
            "{name}: {answer}"
        );
    }
}

#[test]
fn dumps_of_two_moments_tell_a_job_that_stands_from_one_that_goes_on() {
    for (name, wanted) in
        [("forward", vec!["job/5"]), ("other", vec!["job/7"]), ("two", vec!["job/1"]), ("healthy", vec![])]
    {
        let (_, answer) = diagnose(&[&folder(&[name, "moment"]), "--later", &folder(&[name, "later"])]);
        // Rank 6 of `two` holds its interpreter: there is no dump of it.
        assert_eq!(accused(&answer), wanted, "{name}: {answer}");
    }
}

#[test]
fn logs_of_jobs_under_nccl_accuse_nobody_who_was_not_broken() {
    for Case { name, accused: wanted, told: set } in &CASES {
        let (_, answer) = diagnose(&[&folder(&[name, "log"])]);
        assert!(accused(&answer).iter().all(|rank| wanted.contains(&rank.as_str())), "{name}: {answer}");
        let is_named = ["raises", "bigger", "replicas"].contains(name);
        assert_eq!(!accused(&answer).is_empty(), is_named, "{name}: {answer}");
        // Lines tell who waits in what, and not who has begun it.
        let is_set = !name.starts_with("kernel") && !["more", "other"].contains(name);
        assert!(!is_set || told(&answer) == set.map_names(), "{name}: {answer}");
    }
    let (_, answer) = diagnose(&[&folder(&["healthy", "log"])]);
    assert_eq!(told(&answer), Vec::<String>::new(), "{answer}");
}

/// Parts of the evidence of a job: its log, dumps of when an operation ran out of its time, and a snapshot of RAS.
const PARTS: [&str; 3] = ["log", "timeout", "ras.json"];

/// More evidence never makes the answer worse: what all parts say names nobody who was not broken, names no more ranks than
/// any of the parts that names some, and keeps a named exception in the first line.
#[test]
fn more_evidence_never_makes_the_answer_worse() {
    let of = |name: &str, parts: &[&str]| {
        let folders: Vec<String> = parts.iter().map(|part| folder(&[name, part])).collect();
        diagnose(&folders.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for Case { name, told: set, .. } in &CASES {
        let (status, whole) = of(name, &PARTS);
        let named = told(&whole);
        assert_eq!(status, 1, "{name}: {whole}");
        assert!(named.iter().all(|rank| set.contains(&rank.as_str())), "{name}: {whole}");
        for left in 1..1 << PARTS.len() {
            let some: Vec<&str> =
                (0..PARTS.len()).filter(|row| left & (1 << row) != 0).map(|row| PARTS[row]).collect();
            let (_, answer) = of(name, &some);
            let accused = accused(&answer);
            assert!(accused.iter().all(|rank| set.contains(&rank.as_str())), "{name} {some:?}: {answer}");
            let less = told(&answer);
            assert!(less.is_empty() || named.len() <= less.len(), "{name} {some:?}: {answer} beside {whole}");
            let first = answer["answer"].as_str().unwrap();
            if let Some((_, rest)) = first.split_once("ended with ValueError") {
                let all = whole["answer"].as_str().unwrap();
                assert!(all.contains("ended with ValueError") && !rest.is_empty(), "{name} {some:?}: {all}");
            }
        }
    }
}

/// Dumps of one moment of a job that runs are no hang, with or without the rest.
#[test]
fn one_moment_of_a_healthy_job_is_no_hang() {
    for parts in [
        &["moment"][..],
        &["log"],
        &["ras.json"],
        &["log", "moment"],
        &["log", "timeout", "ras.json"],
        &["log", "moment", "ras.json"],
    ] {
        let folders: Vec<String> = parts.iter().map(|part| folder(&["healthy", part])).collect();
        let (status, answer) = diagnose(&folders.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((status, told(&answer)), (0, Vec::new()), "{parts:?}: {answer}");
    }
}

/// Dumps whose names tell nothing, or the wrong thing, are placed by their process groups.
#[test]
fn dumps_are_placed_by_what_is_in_them() {
    let from = ours("nccl_one_gpu").join("forward").join("timeout");
    let names: [fn(u32) -> String; 4] = [
        |rank| format!("092fdd00-4f2a-11ee-be56-0242ac12000{rank}"),
        |rank| format!("host-{}-local_rank-{}", rank / 4, rank % 4),
        |rank| format!("node017_gpu{rank}.pkl"),
        |rank| format!("dump_rank_{}", (rank + 3) % 8),
    ];
    for name in names {
        let folder = tempfile::tempdir().unwrap();
        for rank in 0..8 {
            std::fs::copy(from.join(format!("rank_{rank}")), folder.path().join(name(rank))).unwrap();
        }
        let log = self::folder(&["forward", "log"]);
        let (status, answer) = diagnose(&[&shown(folder.path()), &log]);
        assert_eq!((status, accused(&answer)), (1, vec!["job/5".to_owned()]), "{}: {answer}", name(0));
    }
}

/// What RAS of NCCL 2.28.9 answers to a client that asks it itself.
#[test]
fn ras_of_a_job_that_hangs_says_the_same_in_text_and_json() {
    for (name, set, is_named) in [
        ("frozen", vec!["job/2"], true),
        ("killed", vec!["job/3"], true),
        ("raises", vec!["job/6"], true),
        // Behind in one look: told, and not accused.
        ("forward", vec!["job/5"], false),
        ("two", vec!["job/1", "job/6"], false),
        ("other", vec!["job/7"], false),
        // Rank 5 calls more than fits, and NCCL refuses it at rank 6.
        ("bigger", vec!["job/5", "job/6"], false),
        ("kernel", vec![], false),
        ("healthy", vec![], false),
    ] {
        for form in ["ras.txt", "ras.json"] {
            let (_, answer) = diagnose(&[&folder(&[name, form])]);
            assert_eq!(told(&answer), set, "{name} {form}: {answer}");
            assert_eq!(!accused(&answer).is_empty(), is_named, "{name} {form}: {answer}");
        }
    }
}

/// Ranks share a GPU by slices of its time, which move all by up to a tenth of a second: 150 ms of waiting for data in a step do
/// not show among 8 steps, and do among 48.
#[test]
fn traces_of_a_job_that_one_rank_holds_back_name_it() {
    let gpu_or_rank = vec!["host-of-rank-4/gpu-0", "job/4"];
    for (name, wanted) in [
        ("slow_gpu_mild", vec!["job/4"]),
        ("slow_data", vec![]),
        ("slow_data_long", gpu_or_rank),
        ("slow_none_long", vec![]),
    ] {
        let (_, answer) = diagnose(&[&folder(&[name])]);
        assert_eq!(told(&answer), wanted, "{name}: {answer}");
        assert_eq!(accused(&answer).is_empty(), wanted.is_empty(), "{name}: {answer}");
    }
}

#[test]
fn what_torchrun_prints_names_who_ended_first_and_how() {
    for (name, how) in [
        ("raises", "ended with ValueError: sample 5 cannot be decoded"),
        ("chained", "ended with RuntimeError: bad batch"),
        ("killed", "ended with signal 9 (SIGKILL)"),
        ("segv", "ended with signal 11 (SIGSEGV)"),
        ("exit", "ended with status 3"),
    ] {
        let (status, answer) = diagnose(&[&shown(&ours("torchrun").join(format!("{name}.log")))]);
        assert_eq!((status, accused(&answer)), (1, vec!["job/2".to_owned()]), "{name}: {answer}");
        assert_eq!(told(&answer), ["job/2"], "{name}: {answer}");
        assert!(answer["answer"].as_str().unwrap().contains(how), "{name}: {answer}");
    }
}

/// Of a job of which only victims tell, somebody died and nobody is named.
#[test]
fn exceptions_of_victims_alone_name_nobody() {
    let log = std::fs::read_to_string(ours("torchrun").join("raises.log")).unwrap();
    let victims: Vec<&str> =
        log.lines().filter(|line| line.starts_with("[rank1]: ") || line.starts_with("[rank3]: ")).collect();
    assert!(victims.len() > 10, "{log}");
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "job.log", &victims.join("\n"));
    let (status, answer) = diagnose(&[&file]);
    assert_eq!((status, told(&answer)), (1, vec![]), "{answer}");
    let evidence = answer["findings"][0]["evidence"][0]["what"].as_str().unwrap();
    assert!(
        evidence.starts_with("ranks that ended because of others: 1, 3; the first: RuntimeError: "),
        "{evidence}"
    );
    // A victim that makes another exception of it stays one.
    let own = "[rank3]: \n[rank3]: The above exception was the direct cause of the following exception:\n[rank3]: \n\
               [rank3]: Traceback (most recent call last):\n[rank3]:   File \"a\"\n[rank3]: ValueError: training failed\n";
    let file = written(folder.path(), "wrapped.log", &format!("{}\n{own}", victims.join("\n")));
    assert_eq!(told(&diagnose(&[&file]).1), Vec::<String>::new());
    // An exception that was caught is no end: the watchdog of its rank has something to say later.
    let alone =
        "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"a\"\n[rank3]: ValueError: caught\n";
    let file = written(folder.path(), "alone.log", alone);
    assert_eq!(accused(&diagnose(&[&file]).1), Vec::<String>::new(), "nothing else shows that the job died");
}

/// A rank whose log is cut and whose dump is not given is not gone where others heard of a timeout from it, or where another
/// is proved to hold the job up.
#[test]
fn a_rank_of_which_little_is_given_is_not_taken_for_gone() {
    let folder = tempfile::tempdir().unwrap();
    for (name, rank) in [("kernel", 1), ("bigger", 6), ("forward", 4)] {
        let mut files: Vec<String> = Vec::new();
        for one in (0..8).filter(|one| *one != rank) {
            files.push(self::folder(&[name, "timeout", &format!("rank_{one}")]));
            files.push(self::folder(&[name, "log", &format!("rank_{one}.log.gz")]));
        }
        let whole = std::fs::read(self::folder(&[name, "log", &format!("rank_{rank}.log.gz")])).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&whole[..]), &mut text).unwrap();
        let cut: Vec<&str> = text.lines().take_while(|line| !line.contains("timeout")).collect();
        files.push(written(folder.path(), &format!("{name}_rank_{rank}.log"), &cut.join("\n")));
        let (_, answer) = diagnose(&files.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!accused(&answer).contains(&format!("job/{rank}")), "{name}: {answer}");
    }
}

/// Who calls what most do is no majority among three dumps of eight: who left none may have called the other.
#[test]
fn a_majority_that_missing_dumps_may_turn_names_nobody() {
    let rank = |rank: u32| folder(&["bigger", "timeout", &format!("rank_{rank}")]);
    let log = folder(&["bigger", "log"]);
    // Rank 5 calls more than the others: of it and two others two are no majority of eight, and with five others five are.
    for (others, wanted) in [(vec![4, 6], vec![]), (vec![0, 1, 2, 4, 6], vec!["job/5"])] {
        let mut files: Vec<String> = others.into_iter().chain([5]).map(rank).collect();
        files.push(log.clone());
        let (_, answer) = diagnose(&files.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(accused(&answer), wanted, "{answer}");
    }
}

/// Names as strings, for comparison.
trait Names {
    fn map_names(&self) -> Vec<String>;
}

impl Names for &[&'static str] {
    fn map_names(&self) -> Vec<String> {
        self.iter().map(|&name| name.to_owned()).collect()
    }
}

/// An archive says what its files say, whatever packs it.
#[test]
fn an_archive_says_what_its_folder_says() {
    let from = ours("nccl_one_gpu").join("forward");
    let scratch = tempfile::tempdir().unwrap();
    for (name, options) in [("job.tar.gz", "-czf"), ("job.tar", "-cf")] {
        let archive = scratch.path().join(name);
        let packed = std::process::Command::new("tar")
            .args([options, archive.to_str().unwrap(), "-C", from.to_str().unwrap(), "timeout", "log"])
            .status()
            .unwrap();
        assert!(packed.success());
        let (status, answer) = diagnose(&[archive.to_str().unwrap()]);
        assert_eq!((status, accused(&answer)), (1, vec!["job/5".to_owned()]), "{answer}");
        let twice = diagnose(&[archive.to_str().unwrap(), archive.to_str().unwrap()]).1;
        assert!(twice["notes"].to_string().contains("given more than once"), "{twice}");
        let file = answer["files"][0]["file"].as_str().unwrap();
        assert!(file.contains(&format!("{name}/")), "{file}");
    }
    let damaged = scratch.path().join("damaged.tar.gz");
    std::fs::write(&damaged, &std::fs::read(scratch.path().join("job.tar.gz")).unwrap()[..5000]).unwrap();
    let told = crate::harness::railtwin(&["diagnose", damaged.to_str().unwrap()]);
    told.assert_refused(&["is a damaged archive"]);
}
