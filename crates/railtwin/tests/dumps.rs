//! Dumps of a Flight Recorder that mislead: of different moments, copied, torn, of other runs, with counts of something else.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use std::path::Path;

use railtwin::diagnose::{Diagnosed, Inputs, diagnose};
use serde_json::{Value, json};
use tempfile::TempDir;

const ALL_REDUCE: &str = "nccl:all_reduce";
const BROADCAST: &str = "nccl:broadcast";
const NOBODY: [u32; 0] = [];
/// When all begins, in nanoseconds.
const BEGIN: u64 = 1_758_610_505_592_849_034;

/// An entry: its record, the group's number in the process, its name, its own number, what it is, its state.
fn entry(record: u64, (number, group): (u64, &str), sequence: u64, name: &str, state: &str) -> Value {
    let ended = (state == "completed").then_some(BEGIN + record * 1_000 + 500);
    json!({
        "record_id": record, "pg_id": number, "process_group": [group, "g"], "collective_seq_id": sequence,
        "p2p_seq_id": 0, "profiling_name": name, "time_created_ns": BEGIN + record * 1_000,
        "input_sizes": [[4]], "input_dtypes": ["Float"], "output_sizes": [[4]], "output_dtypes": ["Float"],
        "state": state, "time_discovered_started_ns": null, "time_discovered_completed_ns": ended,
        "retired": state == "completed", "timeout_ms": 600_000, "is_p2p": false, "frames": [],
    })
}

/// An all-reduce of the first group that is open, or has ended.
fn all_reduce(record: u64, sequence: u64, state: &str) -> Value {
    entry(record, (0, "0"), sequence, ALL_REDUCE, state)
}

struct Job(TempDir);

impl Job {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The dump of a rank: its groups with their ranks, numbers of the last that were put on a stream and ended, entries.
    fn dump(
        &self,
        rank: u32,
        groups: &[(&str, Vec<u32>)],
        status: &[(&str, i64, i64)],
        entries: Vec<Value>,
    ) -> &Self {
        let config: serde_json::Map<String, Value> = (groups.iter())
            .map(|(name, ranks)| {
                ((*name).to_owned(), json!({ "name": name, "desc": "g", "ranks": format!("{ranks:?}") }))
            })
            .collect();
        let mut dump = json!({ "version": "2.9", "pg_config": config, "entries": entries });
        if !status.is_empty() {
            let status: serde_json::Map<String, Value> = (status.iter())
                .map(|(name, enqueued, completed)| {
                    let told = json!({ "last_enqueued_collective": enqueued, "last_started_collective": -1,
                        "last_completed_collective": completed });
                    ((*name).to_owned(), told)
                })
                .collect();
            dump["pg_status"] = Value::Object(status);
        }
        self.write(&format!("dump_rank_{rank}.json"), &dump.to_string())
    }

    /// The log of a watchdog: an operation of this number ran out of its time at a rank.
    fn log(&self, rank: u32, kind: &str, sequence: u64) -> &Self {
        let line = format!(
            "[rank{rank}]:[E1028 06:14:02 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught collective operation timeout: \
             WorkNCCL(SeqNum={sequence}, OpType={kind}, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds \
             before timing out.\n"
        );
        self.write("train.log", &line)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.path().join(name), text).unwrap();
        self
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn diagnosed(&self) -> Diagnosed {
        diagnose(Inputs::read(&[self.path().to_owned()], "job").unwrap(), None, "job").unwrap()
    }

    /// Ranks that are accused, and the surest confidence.
    fn accused(&self) -> (Vec<u32>, f64) {
        let found = self.diagnosed().findings;
        let all = found.iter().filter(|finding| finding.accuses());
        let suspects = all.clone().flat_map(|finding| &finding.suspects);
        let rank = |name: &str| name.rsplit('/').next().unwrap().parse().unwrap();
        let mut ranks: Vec<u32> = suspects.map(|suspect| rank(suspect.component.name())).collect();
        ranks.sort_unstable();
        (ranks, all.map(|finding| finding.confidence).fold(0.0, f64::max))
    }
}

fn all(count: u32) -> Vec<(&'static str, Vec<u32>)> {
    vec![("0", (0..count).collect())]
}

/// Six ranks of which the third stopped; `stale` is the dump of the fourth.
fn with_a_stale_dump(stale: (i64, i64), entries: Vec<Value>) -> Job {
    let job = Job::new();
    for rank in [0, 1, 4, 5] {
        let entries = vec![all_reduce(499, 99, "completed"), all_reduce(500, 100, "scheduled")];
        job.dump(rank, &all(6), &[("0", 100, 99)], entries);
    }
    job.dump(2, &all(6), &[("0", 99, 99)], vec![all_reduce(499, 99, "completed")]);
    job.dump(3, &all(6), &[("0", stale.0, stale.1)], entries);
    job.log(0, "ALLREDUCE", 100);
    job
}

#[test]
fn a_dump_of_before_accuses_its_rank_of_nothing() {
    let idle = with_a_stale_dump((10, 10), vec![all_reduce(60, 10, "completed")]);
    assert_eq!(idle.accused().0, [2]);
    let busy = with_a_stale_dump((10, 9), vec![all_reduce(60, 10, "scheduled")]);
    assert_eq!(busy.accused().0, [2]);
    let notes = busy.diagnosed().notes;
    assert!(
        notes.iter().any(|note| note.contains("ranks 3, whose dumps are of an earlier moment")),
        "{notes:?}"
    );
    // Its process was ahead of its GPU, by more than the others ended since: it is on the way, and not where they are.
    let way = with_a_stale_dump((130, 9), (10..131).map(|at| all_reduce(50 + at, at, "scheduled")).collect());
    assert_eq!(way.accused().0, [2]);
}

#[test]
fn equal_dumps_show_nothing_of_a_job_as_copies_are_equal() {
    let job = Job::new();
    for rank in [0, 1, 3] {
        job.dump(rank, &all(4), &[("0", 10, 9)], vec![all_reduce(50, 10, "scheduled")]);
    }
    job.dump(2, &all(4), &[("0", 9, 9)], vec![all_reduce(49, 9, "completed")]);
    let copies = job.path().join("copies");
    std::fs::create_dir(&copies).unwrap();
    for rank in 0..4 {
        let name = format!("dump_rank_{rank}.json");
        std::fs::copy(job.path().join(&name), copies.join(&name)).unwrap();
    }
    assert_eq!(job.accused().0, NOBODY);
    // The log of its watchdog does, that of another run does not.
    job.log(0, "ALLREDUCE", 7);
    assert_eq!(job.accused().0, NOBODY);
    assert!(job.diagnosed().notes.iter().any(|note| note.contains("it may be of another run")));
    job.log(0, "ALLGATHER", 10);
    assert_eq!(job.accused().0, NOBODY);
    job.log(0, "ALLREDUCE", 10);
    assert_eq!(job.accused().0, [2]);
}

#[test]
fn dumps_of_two_jobs_are_not_judged_together() {
    let both = tempfile::tempdir().unwrap();
    for (name, behind) in [("first", 1), ("second", 2)] {
        let job = Job::new();
        for rank in (0..4).filter(|rank| *rank != behind) {
            job.dump(rank, &all(4), &[("0", 10, 9)], vec![all_reduce(50, 10, "scheduled")]);
        }
        job.dump(behind, &all(4), &[("0", 9, 9)], vec![all_reduce(49, 9, "completed")]);
        let folder = both.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        for rank in 0..4 {
            let name = format!("dump_rank_{rank}.json");
            std::fs::copy(job.path().join(&name), folder.join(&name)).unwrap();
        }
    }
    let of = |names: &[&str]| {
        let paths: Vec<_> = names.iter().map(|name| both.path().join(name)).collect();
        Inputs::read(&paths, "job").map(|inputs| diagnose(inputs, None, "job").unwrap())
    };
    for refused in [of(&[""]), of(&["first", "second"])] {
        let error = refused.map(|told| told.sentence()).unwrap_err().to_string();
        let named = ["first", "second", "both have dumps of ranks 1, 2", "--later"];
        assert!(named.iter().all(|words| error.contains(words)), "{error}");
    }
    // Each by itself is a hang; ranks of one job may lie in several folders.
    assert!(!of(&["first"]).unwrap().is_well() && !of(&["second"]).unwrap().is_well());
    let moved = both.path().join("first/node1");
    std::fs::create_dir(&moved).unwrap();
    std::fs::rename(both.path().join("first/dump_rank_3.json"), moved.join("dump_rank_3.json")).unwrap();
    assert!(!of(&["first"]).unwrap().is_well());
}

#[test]
fn numbers_of_sends_and_receives_are_no_places_in_collectives() {
    // Rank 0 stopped. It and rank 1 sent each other 5,000 messages, which one count of their group tells.
    let job = Job::new();
    let pair = vec![("0", (0..8).collect()), ("1", vec![0, 1])];
    job.dump(0, &pair, &[("0", 5, 5), ("1", 5000, 5000)], vec![]);
    let open = |record, sequence| entry(record, (1, "1"), sequence, ALL_REDUCE, "scheduled");
    job.dump(1, &pair, &[("0", 5, 5), ("1", 21, 5000)], vec![open(500, 20), open(501, 21)]);
    for rank in 2..8 {
        job.dump(rank, &all(8), &[("0", 6, 5)], vec![all_reduce(300, 6, "scheduled")]);
    }
    job.log(2, "ALLREDUCE", 6);
    let accused = job.accused().0;
    assert!(!accused.contains(&1), "{accused:?}");
}

/// Four ranks in a broadcast of which rank 1, its root, is long through; its ring lost it.
fn with_lost_records(of_root: &[(&str, i64, i64)], unused: bool) -> Job {
    let job = Job::new();
    let mut groups = vec![("0", vec![0, 1, 2, 3]), ("1", vec![1, 4]), ("2", vec![2, 3])];
    if unused {
        groups.push(("9", vec![1]));
    }
    let of = |rank: u32| -> Vec<(&str, Vec<u32>)> {
        groups.iter().filter(|(_, ranks)| ranks.contains(&rank)).cloned().collect()
    };
    let late = |number: u64| -> Vec<Value> {
        (0..5).map(|at| entry(3000 + at, (number, "1"), 900 + at, ALL_REDUCE, "completed")).collect()
    };
    let is_counted = !of_root.is_empty();
    for rank in [0, 2, 3] {
        let entries = vec![entry(10, (0, "0"), 5, BROADCAST, "scheduled")];
        job.dump(rank, &of(rank), if is_counted { &[("0", 5, 4)] } else { &[] }, entries);
    }
    job.dump(1, &of(1), of_root, late(1));
    job.dump(4, &of(4), if is_counted { &[("0", 904, 904)] } else { &[] }, late(0));
    job.log(0, "BROADCAST", 5);
    job
}

#[test]
fn what_is_not_recorded_may_have_been() {
    assert_eq!(with_lost_records(&[], false).accused().0, NOBODY);
    assert_eq!(with_lost_records(&[("0", 5, 5), ("1", 904, 904)], true).accused().0, NOBODY);
}

#[test]
fn an_open_operation_of_a_group_that_nothing_tells_hides_where_its_rank_is() {
    let job = Job::new();
    for rank in [0, 2, 3] {
        job.dump(rank, &all(4), &[("0", 7, 6)], vec![all_reduce(70, 7, "scheduled")]);
    }
    let groups = vec![("0", vec![0, 1, 2, 3]), ("1", vec![1, 4]), ("5", vec![1, 4])];
    let idle = vec![all_reduce(60, 6, "completed")];
    // Its second count is of one of two groups; by it something is open.
    job.dump(1, &groups, &[("0", 6, 6), ("1", 900, 899)], idle.clone());
    let open = vec![entry(60, (0, "1"), 900, ALL_REDUCE, "scheduled")];
    job.dump(4, &groups[1..], &[("0", 900, 899)], open);
    job.log(0, "ALLREDUCE", 7);
    assert_eq!(job.accused().0, NOBODY);
    job.dump(1, &groups, &[("0", 6, 6), ("1", 900, 900)], idle);
    assert_eq!(job.accused().0, [1]);
}

#[test]
fn a_batch_without_its_parts_is_no_collective() {
    let job = Job::new();
    for rank in 0..6 {
        let mut entries = vec![all_reduce(79, 30, "completed")];
        let mut status = ("0", 31, 30);
        if rank == 2 {
            let mut part = entry(80, (0, "0"), 30, "nccl:send 2->3", "scheduled");
            part["p2p_seq_id"] = json!(12);
            part["is_p2p"] = json!(true);
            let mut batch = part.clone();
            part["input_sizes"] = json!("x");
            batch["record_id"] = json!(81);
            batch["profiling_name"] = json!("nccl:coalesced");
            (entries, status) = (vec![part, batch], ("0", 12, 11));
        } else if rank == 3 {
            status = ("0", 30, 30);
        } else {
            entries.push(all_reduce(90, 31, "scheduled"));
        }
        job.dump(rank, &all(6), &[status], entries);
    }
    job.log(0, "ALLREDUCE", 31);
    let accused = job.accused().0;
    assert!(!accused.contains(&2), "{accused:?}");
}

#[test]
fn a_call_without_elements_is_no_barrier() {
    // Ranks 1 and 2 are in a broadcast whose root is through; what the root ended next has no elements.
    let job = Job::new();
    let empty = |state: &str| {
        let mut one = all_reduce(11, 6, state);
        one["input_sizes"] = json!([[0]]);
        one["output_sizes"] = json!([[0, 4]]);
        one
    };
    for rank in 0..7 {
        let state = if rank == 1 || rank == 2 { "scheduled" } else { "completed" };
        let ended = if rank == 1 || rank == 2 { 4 } else { 6 };
        job.dump(
            rank,
            &all(7),
            &[("0", 6, ended)],
            vec![entry(10, (0, "0"), 5, BROADCAST, state), empty(state)],
        );
    }
    job.log(1, "BROADCAST", 5);
    assert_eq!(job.accused().0, NOBODY);
}

#[test]
fn a_job_that_goes_on_is_accused_of_nothing_by_a_dump_of_earlier() {
    // Processes are far ahead of their GPUs; rank 3 was looked at a second before the others.
    let job = Job::new();
    let groups = vec![("0", (0..8).collect()), ("1", (0..8).collect())];
    for rank in 0..8 {
        let (first, last) = if rank == 3 { (10, 60) } else { (30, 80) };
        let open = |number: u64, group: &'static str| {
            (first..=last)
                .map(move |at| entry(1000 + 2 * at + number, (number, group), at, ALL_REDUCE, "scheduled"))
        };
        let status = [("0", last as i64, first as i64 - 1), ("1", last as i64, first as i64 - 1)];
        job.dump(rank, &groups, &status, open(0, "0").chain(open(1, "1")).collect());
    }
    assert_eq!(job.accused().0, NOBODY);
}

#[test]
fn who_records_no_starts_may_have_begun() {
    let job = Job::new();
    for rank in 0..4 {
        let mut open = all_reduce(70, 7, if rank == 2 { "scheduled" } else { "started" });
        if rank != 2 {
            open["time_discovered_started_ns"] = json!(BEGIN + 5);
        }
        job.dump(rank, &all(4), &[("0", 7, 6)], vec![open]);
    }
    job.log(0, "ALLREDUCE", 7);
    assert_eq!(job.accused().0, NOBODY);
    // One that records them and has not begun is named.
    let mut before = all_reduce(60, 6, "completed");
    before["time_discovered_started_ns"] = json!(BEGIN + 4);
    job.dump(2, &all(4), &[("0", 7, 6)], vec![before, all_reduce(70, 7, "scheduled")]);
    assert_eq!(job.accused().0, [2]);
}

#[test]
fn a_circle_is_told_as_one() {
    let job = Job::new();
    let groups = vec![("0", (0..4).collect::<Vec<u32>>()), ("1", (0..4).collect())];
    for rank in 0..4 {
        if rank < 2 {
            job.dump(rank, &groups, &[("0", 5, 4), ("1", 5, 5)], vec![all_reduce(10, 5, "scheduled")]);
        } else {
            let open = entry(10, (1, "1"), 6, ALL_REDUCE, "scheduled");
            job.dump(rank, &groups, &[("0", 4, 4), ("1", 6, 5)], vec![open]);
        }
    }
    job.log(0, "ALLREDUCE", 5);
    let found = job.diagnosed().findings;
    assert_eq!((job.accused().0, found.len()), (NOBODY.to_vec(), 1));
    assert_eq!(found[0].syndrome.name(), "mismatch");
    assert!(
        found[0].evidence[0].words().contains("wait for each other in a circle"),
        "{:?}",
        found[0].evidence
    );
}

#[test]
fn a_dump_under_the_name_of_another_rank_is_placed_by_its_groups() {
    // Pairs of ranks. Rank 5 stopped; the files of ranks 1 and 2 bear each other's names.
    let job = Job::new();
    for rank in 0..8_u32 {
        let pair = ["1", "2", "3", "4"][rank as usize / 2];
        let groups = vec![("0", (0..8).collect()), (pair, vec![rank / 2 * 2, rank / 2 * 2 + 1])];
        let last = if rank == 5 { 9 } else { 10 };
        let open = if rank == 5 { vec![] } else { vec![all_reduce(50, 10, "scheduled")] };
        let named = if rank == 1 || rank == 2 { 3 - rank } else { rank };
        job.dump(named, &groups, &[("0", last, 9), ("1", 3, 3)], open);
    }
    job.log(0, "ALLREDUCE", 10);
    let diagnosed = job.diagnosed();
    let notes = diagnosed.files.iter().flat_map(|file| &file.notes);
    assert_eq!(notes.filter(|note| note.to_string().contains("is not in its process group")).count(), 0);
    assert_eq!(job.accused().0, [5]);
}

#[test]
fn the_largest_numbers_are_numbers() {
    let job = Job::new();
    for rank in 0..4 {
        let mut entries = vec![all_reduce(u64::MAX / 2_000, u64::MAX - 1, "completed")];
        entries.push(all_reduce(70, if rank == 2 { 1 } else { u64::MAX }, "scheduled"));
        job.dump(rank, &all(4), &[("0", i64::MAX, i64::MAX), ("1", i64::MAX, 0)], entries);
        let text = std::fs::read_to_string(job.path().join(format!("dump_rank_{rank}.json"))).unwrap();
        let most = text.replace(&i64::MAX.to_string(), &u64::MAX.to_string());
        job.write(&format!("dump_rank_{rank}.json"), &most);
    }
    assert_eq!(job.accused().0, NOBODY);
}

#[test]
fn logs_that_are_copied_or_cut_are_no_failures() {
    let log = |at: u32, rest: &str| {
        format!(
            "# nccl-tests version 2.13.11\n# nThread 1\n#  Rank  0 Group  0 Pid {at} on h1 device  0 [0x01] NVIDIA H100\n\
             #  Rank  1 Group  0 Pid {at} on h{at} device  0 [0x01] NVIDIA H100\n{rest}"
        )
    };
    let hosts = |job: &Job| -> Vec<String> {
        let found = job.diagnosed().findings;
        let all = found.iter().filter(|finding| finding.accuses()).flat_map(|finding| &finding.suspects);
        all.map(|suspect| suspect.component.name().to_owned()).collect()
    };
    // Two tests with one host that end without a word, where others come to their end.
    let failed = Job::new();
    failed.write("a.log", &log(2, "#\n")).write("b.log", &log(3, "#\n"));
    assert!(hosts(&failed).is_empty(), "nothing tells the host from how tests were begun");
    let result = "#\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   \
                  algbw   busbw #wrong\n 1048576        262144     float     sum      -1    42.58   \
                  24.63   24.63      0    42.47   24.69   24.69      0\n\
                  # Out of bounds values : 0 OK\n# Avg bus bandwidth    : 24.66\n";
    failed.write("c.log", &log(4, result).replace(" on h1 ", " on h5 "));
    assert_eq!(hosts(&failed), ["h1"]);
    // One of them twice, under two names.
    let copied = Job::new();
    copied.write("c.log", &log(4, result).replace(" on h1 ", " on h5 "));
    copied.write("a.log", &log(2, "#\n")).write("b.log", &log(2, "#\n"));
    assert!(hosts(&copied).is_empty(), "{:?}", hosts(&copied));
    assert!(copied.diagnosed().files.iter().any(|file| file.held.contains("a copy of")));
    // Two that are still being written, or were copied in part.
    let cut = Job::new();
    cut.write("c.log", &log(4, result).replace(" on h1 ", " on h5 "));
    cut.write("a.log", &log(2, "#\n#   out-of")).write("b.log", &log(3, "#\n#   out-"));
    assert!(hosts(&cut).is_empty(), "{:?}", hosts(&cut));
}
