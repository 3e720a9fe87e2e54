//! Lines of PyTorch's watchdog: how far ranks are in process groups whose other ranks may say nothing.
use railtwin::diagnose::Diagnosed;
use railtwin_records::Evidence;

use super::logs::{accused, of};

fn state(rank: u32, enqueued: u32, completed: u32, failed: bool) -> String {
    let at = format!(
        "[rank{rank}]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    );
    if failed {
        format!(
            "[rank{rank}]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: \
             WorkNCCL(SeqNum=808, OpType=ALLREDUCE, NumelIn=9, NumelOut=9, Timeout(ms)=600000) ran for 600020 milliseconds before \
             timing out.\n{at} Exception (either an error or timeout) detected by watchdog at work: 808, last enqueued NCCL work: \
             {enqueued}, last completed NCCL work: {completed}.\n"
        )
    } else {
        format!(
            "{at} Received a dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. \
             Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}.This is most likely caused by incorrect \
             usages of collectives\n"
        )
    }
}

#[test]
fn a_rank_that_never_put_on_its_stream_what_its_peers_wait_for_is_named() {
    let waiting = |but: &[u32]| -> String {
        (0..8).filter(|rank| !but.contains(rank)).map(|rank| state(rank, 811, 807, true)).collect()
    };
    let told = of(&[("train.log", &(waiting(&[5]) + &state(5, 807, 807, false)))]);
    assert_eq!(accused(&told), ["rank job/5"], "{:?}", told.screen());
    assert!(
        told.findings[0].evidence[0].words().contains("all-reduce of default_pg 0"),
        "{:?}",
        told.findings[0]
    );
    // All are in it, and one says nothing: nobody is named, and it is no job that is well.
    // Where the set is more than half of the ranks it is evidence alone.
    let sets = [(waiting(&[]), 0, "0, 1, 2, 3, 4, 5, 6, 7"), (waiting(&[5]), 1, "5")];
    for (text, suspects, set) in sets {
        let told = of(&[("train.log", &text)]);
        assert!(accused(&told).is_empty() && !told.is_well(), "{:?}", told.screen());
        assert_eq!(told.findings[0].suspects.len(), suspects, "{:?}", told.findings[0]);
        let first = told.findings[0].evidence[0].words();
        assert!(first.ends_with(&format!(": {set}")), "{first}");
    }
    // Two are behind, of which one may wait for the other in a group of which nothing is said.
    let told =
        of(&[("train.log", &(waiting(&[5, 6]) + &state(5, 807, 807, false) + &state(6, 807, 807, false)))]);
    assert!(accused(&told).is_empty() && !told.is_well(), "{:?}", told.screen());
}

/// What a rank says that waits in a process group: its own number and that in the group.
fn waits(rank: u32, group_rank: u32, group: &str, sequence: u32, call: &str) -> String {
    format!(
        "[rank{rank}]:[E923 09:12:31.4 ProcessGroupNCCL.cpp:632] [Rank {group_rank}] Watchdog caught collective operation \
         timeout: WorkNCCL(SeqNum={sequence}, OpType={call}, Timeout(ms)=600000) ran for 600020 milliseconds before timing \
         out.\n[rank{rank}]:[E923 09:12:31.4 ProcessGroupNCCL.cpp:2268] [PG ID 2 PG GUID {group} Rank {group_rank}]  failure \
         detected by watchdog at work sequence id: {sequence} PG status: last enqueued work: {}, last completed work: {}\n",
        sequence + 2,
        sequence - 1
    )
}

const CALL: &str = "ALLREDUCE, NumelIn=4096, NumelOut=4096";

/// The set at less than an accusation that a hang names, and what is said first of it.
fn set_of(told: &Diagnosed) -> (Vec<&str>, String) {
    let finding = &told.findings[0];
    assert!(accused(told).is_empty() && !told.is_well(), "{:?}", told.screen());
    let names = finding.suspects.iter().map(|suspect| suspect.component.name());
    (names.collect(), finding.evidence[0].words())
}

#[test]
fn a_rank_of_a_group_that_says_nothing_is_told_by_its_place_in_it() {
    // Ranks 4 to 7 are a group, in which the second says nothing; the others wait in a group of their own.
    let others: String = (0..4).map(|rank| waits(rank, rank, "3(dp)", 50, CALL)).collect();
    let peers: String = [4, 6, 7].map(|rank| waits(rank, rank - 4, "5(tp)", 900, CALL)).concat();
    let told = of(&[("job.log", &(others.clone() + &peers))]);
    let (set, said) = set_of(&told);
    assert_eq!(set, ["job/5"], "{said}");
    // It says how far it is in another group, which tells nothing of this one.
    let told = of(&[("job.log", &(others.clone() + &peers + &state(5, 12, 12, false)))]);
    let (set, said) = set_of(&told);
    assert_eq!(set, ["job/5"], "{said}");
    // The last of a group is told by others for the same purpose, or by its size.
    let peers: String = [4, 5, 6].map(|rank| waits(rank, rank - 4, "5(tp)", 900, CALL)).concat();
    let like = others.replace("3(dp)", "3(tp)");
    assert_eq!(set_of(&of(&[("job.log", &(like + &peers))])).0, ["job/7"]);
    let made = "I0923 09:00:00.6 58626 ProcessGroupNCCL.cpp:905] [PG ID 2 PG GUID 5 Rank 0] ProcessGroupNCCL initialization \
                options: size: 4, global rank: 4, TIMEOUT(ms): 600000, USE_HIGH_PRIORITY_STREAM: 0\n";
    assert_eq!(set_of(&of(&[("job.log", &(others + &peers + made))])).0, ["job/7"]);
}

#[test]
fn that_all_have_come_is_said_only_where_all_are_known() {
    let claims = |told: &Diagnosed| {
        let mut lines = told.findings.iter().flat_map(|finding| &finding.evidence);
        lines.any(|line| line.words().contains("all of their ranks have come to"))
    };
    // Three of a group of which no line tells how many it has.
    let peers: String = (0..3).map(|rank| waits(rank, rank, "5(tp)", 900, CALL)).collect();
    let told = of(&[("job.log", &peers)]);
    assert!(accused(&told).is_empty() && !told.is_well() && !claims(&told), "{:?}", told.screen());
    // An all-gather gives out of each what it takes in of one: three ranks, or four.
    for (given, all) in [(12_288, true), (16_384, false)] {
        let call = format!("_ALLGATHER_BASE, NumelIn=4096, NumelOut={given}");
        let peers: String = (0..3).map(|rank| waits(rank, rank, "5(tp)", 900, &call)).collect();
        let told = of(&[("job.log", &peers)]);
        assert_eq!(claims(&told), all, "{:?}", told.screen());
        assert!(accused(&told).is_empty(), "{:?}", told.screen());
        let names: Vec<&str> = told.findings[0].suspects.iter().map(|one| one.component.name()).collect();
        assert_eq!(names, if all { vec![] } else { vec!["job/3"] }, "{:?}", told.findings[0]);
    }
    // With whom a send or receive is no line tells.
    let call = ["SEND", "RECV"].map(|name| format!("{name}, NumelIn=9, NumelOut=9"));
    let told =
        of(&[("job.log", &(waits(0, 0, "9(pp)", 77, &call[0]) + &waits(1, 1, "9(pp)", 77, &call[1])))]);
    assert!(accused(&told).is_empty() && !claims(&told), "{:?}", told.screen());
}

#[test]
fn who_calls_something_else_under_one_number_is_named() {
    let job = |calls: &[&str]| -> String {
        (0..).zip(calls).map(|(rank, call)| waits(rank, rank, "0(default_pg)", 808, call)).collect()
    };
    let small = "ALLREDUCE, NumelIn=9, NumelOut=9";
    for other in ["BROADCAST, NumelIn=4096, NumelOut=4096", small] {
        let mut calls = [CALL; 8];
        calls[5] = other;
        let told = of(&[("job.log", &job(&calls))]);
        assert_eq!(accused(&told), ["rank job/5"], "{:?}", told.screen());
        assert!((told.findings[0].confidence - 0.8).abs() < 1e-9, "{:?}", told.findings[0]);
        let first = told.findings[0].evidence[0].words();
        assert!(
            first.starts_with("rank 5 calls ") && first.ends_with("7 others all-reduce of 4096 elements"),
            "{first}"
        );
    }
    // Of two nobody is wrong alone.
    let told = of(&[("job.log", &job(&[CALL, small]))]);
    assert_eq!(set_of(&told).0.len(), 0, "two of two are no part: {:?}", told.findings[0]);
    assert!(
        told.findings[0].evidence[0].words().contains("call different operations"),
        "{:?}",
        told.findings[0]
    );
    // Where lines do not tell the group a number may be of several.
    let plain: String = (0..8)
        .map(|rank| {
            waited(rank, "").replace(
                "Timeout",
                if rank == 5 { "NumelIn=9, NumelOut=9, Timeout" } else { "NumelIn=8, NumelOut=8, Timeout" },
            )
        })
        .collect();
    let told = of(&[("job.log", &plain)]);
    assert!(accused(&told).is_empty(), "{:?}", told.screen());
    let said: Vec<String> = told.findings[0].evidence.iter().map(Evidence::words).collect();
    assert!(said[0].contains("all-reduce 20 of 8 elements") && said[1].ends_with(": 5"), "{said:?}");
}

#[test]
fn sizes_that_differ_by_design_name_nobody() {
    let job = |call: &dyn Fn(u32) -> String| -> String {
        (0..8).map(|rank| waits(rank, rank, "0(default_pg)", 808, &call(rank))).collect()
    };
    let sized = |name: &str, taken: u32, given: u32| format!("{name}, NumelIn={taken}, NumelOut={given}");
    let cases: [&dyn Fn(u32) -> String; 6] = [
        &|rank| sized("ALLTOALL_BASE", 100 + rank, 90 + 3 * rank),
        &|rank| sized("GATHER", 8, if rank == 5 { 64 } else { 8 }),
        &|rank| sized("SCATTER", if rank == 5 { 64 } else { 8 }, 8),
        &|rank| sized(if rank == 5 { "SEND" } else { "RECV" }, 8 + rank, 8 + rank),
        &|rank| sized("COALESCED", 8 + rank, 8 + rank),
        // One rank has lost its number of elements.
        &|rank| if rank == 5 { "ALLREDUCE".to_owned() } else { CALL.to_owned() },
    ];
    for call in cases {
        let told = of(&[("job.log", &job(call))]);
        assert!(accused(&told).is_empty() && !told.is_well(), "{}: {:?}", call(0), told.screen());
        assert!(told.findings.iter().all(|one| one.syndrome.name() != "mismatch"), "{:?}", told.screen());
    }
    // Two groups of which both are at one number, with sizes of their own.
    let of_two: String = (0..8)
        .map(|rank| {
            let call = sized("ALLREDUCE", 8 + rank / 4, 8 + rank / 4);
            waits(rank, rank % 4, ["3(tp)", "5(tp)"][rank as usize / 4], 900, &call)
        })
        .collect();
    let told = of(&[("job.log", &of_two)]);
    assert!(accused(&told).is_empty(), "{:?}", told.screen());
    assert!(told.findings.iter().all(|one| one.syndrome.name() != "mismatch"), "{:?}", told.screen());
}

/// The line alone, as PyTorch up to 2.2 and a log that was cut to such lines have it.
fn waited(rank: u32, prefix: &str) -> String {
    format!(
        "{prefix}[E ProcessGroupNCCL.cpp:475] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=20, \
         OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1803120 milliseconds before timing out.\n"
    )
}

#[test]
fn a_timeout_without_states_of_groups_is_a_hang_that_accuses_nobody() {
    let text: String = [0, 1, 3].map(|rank| waited(rank, "")).concat();
    let told = of(&[("worker.out", &text)]);
    assert!(accused(&told).is_empty() && !told.is_well(), "{:?}", told.screen());
    assert_eq!(told.findings.len(), 1);
    let finding = &told.findings[0];
    assert_eq!(finding.syndrome.name(), "communication-hang");
    assert!(finding.suspects.is_empty(), "{finding:?}");
    let said: Vec<String> = finding.evidence.iter().map(Evidence::words).collect();
    assert_eq!(said[0], "ranks that waited in all-reduce 20 until its time of 1803 s was over: 0, 1, 3");
    assert!(said[1].starts_with("ranks below 3") && said[1].ends_with(": 2"), "{said:?}");
    // Ranks of a part of the job: those before are not told of it, and a second line has the group.
    let again = "[rank9]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1484] [PG ID 1 PG GUID 5(mesh_dp) Rank 1] Process group watchdog \
                 thread terminated with exception: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=20, \
                 OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1803120 milliseconds before timing out.\n";
    let told = of(&[("worker.out", &(waited(1, "[rank9]:") + again))]);
    let said: Vec<String> = told.findings[0].evidence.iter().map(Evidence::words).collect();
    assert_eq!(
        said,
        ["ranks that waited in all-reduce 20 of mesh_dp 5 until its time of 1803 s was over: 9"]
    );
    assert!(!told.is_well());
    // What keeps the job from going on is told alone: its watchdogs say what follows from it.
    let kernel = "[90000.0] NVRM: Xid (PCI:0000:4b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n";
    let told = of(&[("worker.out", &text), ("dmesg_gpu-2.txt", kernel)]);
    assert_eq!((accused(&told).len(), told.findings.len()), (1, 1), "{:?}", told.screen());
}

#[test]
fn who_is_behind_all_others_is_a_set_whoever_else_may_be() {
    let text: String = (0..8)
        .map(|rank| waits(rank, rank, "0(default_pg)", if rank == 5 { 806 } else { 808 }, "BROADCAST"))
        .collect();
    let told = of(&[("job.log", &text)]);
    let (set, said) = set_of(&told);
    assert_eq!(set, ["job/5"], "{said}");
    assert!(said.contains("all have come of whom there are lines"), "{said}");
}
