//! Failures that no rule explains are told, quoted, and never part of an all-clear; warnings alone are notes.
//!
//! Texts are in the shape of public reports, such as a port of another link layer without a line that tells its ports
//! (NVIDIA/nccl#302).
use railtwin::diagnose::Diagnosed;
use railtwin_records::seen::LogSeen;
use railtwin_records::{Seen, Syndrome};

use super::logs::{accused, of};

const STUCK: &str =
    "[rank144]:[F ProcessGroupNCCL.cpp:1169] [PG 0 Rank 144] an assertion of the process group failed\n";
const NO_TREE: &str = "gpu-03:29880:30398 [0] graph/trees.cc:497 NCCL WARN Tree has no root\n\
                       gpu-03:29880:30398 [0] NCCL INFO init.cc:867 -> 5\n";
const WRONG_PORT: &str = "ib-7:7240:7401 [0] misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument\n\
                          ib-7:7240:7401 [0] NCCL INFO transport/net_ib.cc:415 -> 2\n";
/// Lines that the first finding quotes as unexplained.
fn quoted(told: &Diagnosed) -> Vec<&str> {
    let lines = told.findings.first().into_iter().flat_map(|finding| &finding.evidence);
    lines
        .filter_map(|line| match &line.seen {
            Seen::Log(LogSeen::Unexplained { text }) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn failures_that_no_rule_explains_are_quoted_with_their_line() {
    for (text, who, lines, words) in [
        (STUCK, "job/144", 1, "an assertion"),
        (NO_TREE, "gpu-03", 1, "Tree has no root"),
        (WRONG_PORT, "ib-7", 1, "ibv_modify_qp failed"),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nValueError: no data\n",
            "",
            1,
            "ValueError",
        ),
        (
            "2026-11-28 09:00:00 node7 NCCL INFO x\nterminate called after throwing an instance of 'std::bad_alloc'\n",
            "",
            1,
            "bad_alloc",
        ),
    ] {
        let told = of(&[("x.log", text)]);
        assert!(!told.is_well() && accused(&told).is_empty(), "{words}: {:?}", told.screen());
        let quoted = quoted(&told);
        assert!(quoted.len() == lines && quoted[0].contains(words), "{words}: {quoted:?}");
        let finding = &told.findings[0];
        assert_eq!(finding.syndrome, Syndrome::Crash);
        assert!(finding.evidence[0].source[0].line > 0 && told.sources[0][0].count > 0, "{finding:?}");
        let named: Vec<&str> = finding.suspects.iter().map(|one| one.component.name()).collect();
        assert!(who.is_empty() || named == [who], "{words}: {named:?}");
    }
}

#[test]
fn warnings_without_a_failure_are_counted_in_a_note() {
    let text = "a:1:2 [0] init.cc:7 NCCL WARN MSCCL++: cannot find 7 of its libraries\n\
                a:1:2 [0] init.cc:7 NCCL WARN MSCCL++: cannot find 9 of its libraries\n\
                a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x2 - Init COMPLETE\n";
    let told = of(&[("x.log", text)]);
    assert!(told.is_well() && told.findings.is_empty(), "{:?}", told.screen());
    let note = told.notes.iter().find(|note| note.contains("without a failure after them"));
    assert!(
        note.is_some_and(|note| note.contains("MSCCL++: cannot find of its libraries")),
        "{:?}",
        told.notes
    );
}

#[test]
fn an_exception_far_from_the_end_was_caught() {
    let stack = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'x'\n";
    let goes_on: String = (0..60).map(|step| format!("step {step} loss 2.1\n")).collect();
    let told = of(&[(
        "x.log",
        &format!("a:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n{stack}{goes_on}"),
    )]);
    assert!(told.is_well(), "{:?}", told.screen());
}

#[test]
fn a_failure_that_is_explained_is_not_told_twice() {
    let died = "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"a.py\", line 3, in <module>\n[rank2]: ValueError: \
                sample 5\nRoot Cause (first observed failure):\n[0]:\n  host      : a\n  rank      : 2 (local_rank: 2)\n  exitcode  \
                : 1 (pid: 7)\n";
    let told = of(&[("x.log", &format!("{STUCK}{died}"))]);
    assert_eq!(accused(&told), ["rank job/2"], "{:?}", told.screen());
    assert!(quoted(&told).is_empty() && told.findings.len() == 1, "{:?}", told.findings);
}
