//! What the watchdog of PyTorch's NCCL process groups says when an operation ran out of its time, and how far ranks were.
//!
//! ```text
//! [rank3]:[E1028 06:14:02 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout:
//! WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before
//! timing out.
//! [rank3]:[E1028 06:14:02 ProcessGroupNCCL.cpp:1664] [PG ID 0 PG GUID 0(default_pg) Rank 3] Exception (either an error or
//! timeout) detected by watchdog at work: 5, last enqueued NCCL work: 7, last completed NCCL work: 4.
//! ```
//!
//! The rank in a prefix `[rank3]:` is that of the job; the one behind `PG` is that of the group.

use super::names::operation_kind;
/// What such a line says.
const SAYS: &str = "Watchdog caught collective operation timeout";

/// An operation that ran out of its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchdogTimeout {
    /// Rank that says so, where the line tells: that in the job where a prefix has it, else that in its process group.
    pub rank: Option<u32>,
    /// Rank in its process group, where the line tells.
    pub group_rank: Option<u32>,
    /// The process group and what it is for, where the line tells.
    pub group: Option<(String, String)>,
    /// Number of the operation.
    pub sequence: Option<u64>,
    /// What it does, in the words of records; empty where it is not told.
    pub kind: String,
    /// Elements that it takes in and gives out at this rank, where the line tells.
    pub elements: Option<[u64; 2]>,
    /// How long it ran, in milliseconds.
    pub ran_ms: Option<u64>,
    /// Where in the program it was asked for, where the log has it.
    pub frame: Option<String>,
    /// Number of the line, from 1.
    pub line: u64,
}

/// Whether a line is one.
pub(crate) fn is_timeout(line: &str) -> bool {
    line.contains(SAYS)
}

/// How far a rank was in a process group, as its watchdog says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchdogState {
    /// Rank in the job, where the line tells.
    pub rank: Option<u32>,
    /// Rank in the group.
    pub group_rank: u32,
    /// The group: its name over all ranks, else its number in this process.
    pub group: String,
    /// What the group is for; empty where it is not told.
    pub description: String,
    /// Number of the last operation put on a stream; none where there was none.
    pub enqueued: Option<u64>,
    /// Number of the last operation that was seen to have ended; none where none was.
    pub completed: Option<u64>,
    /// The operation that ran out of its time or failed, where the line tells of one.
    pub failed: Option<u64>,
    /// Number of the line, from 1.
    pub line: u64,
}

impl WatchdogState {
    /// Whether the group is that of all ranks.
    pub fn is_of_all(&self) -> bool {
        self.description == "default_pg" || self.description.is_empty() && self.group == "0"
    }
}

/// A rank of a process group, as it says when it makes the group (`TORCH_CPP_LOG_LEVEL=INFO`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchdogMember {
    /// Rank in the job.
    pub rank: u32,
    /// Rank in the group.
    pub group_rank: u32,
    /// The group: its name over all ranks, else its number in this process.
    pub group: String,
    /// Ranks of the group.
    pub size: u32,
}

/// The rank of a process group that a line tells of:
/// `[PG ID 1 PG GUID 5 Rank 3] ProcessGroupNCCL initialization options: size: 4, global rank: 7, TIMEOUT(ms): 600000, …`.
pub(crate) fn member(text: &str) -> Option<WatchdogMember> {
    let (_, said) = text.split_once("ProcessGroupNCCL initialization options: ")?;
    let (group, _, group_rank) = group(text)?;
    let (rank, size) = (number(said, "global rank: ")?, number(said, "size: ")?);
    (group_rank < size).then_some(WatchdogMember { rank, group_rank, group, size })
}

/// The rank of the job that a prefix names.
pub(crate) fn rank_of_prefix(line: &str) -> Option<u32> {
    behind_prefix(line).map(|(rank, _)| rank)
}

/// The rank of the job that a prefix names, and what stands behind it. Of two in a row (`[rank1]:[rank5]:[E1028 …`) the first is
/// of a launcher, which counts the processes of its host.
pub(crate) fn behind_prefix(line: &str) -> Option<(u32, &str)> {
    const PREFIX: &str = "[rank";
    let mut rest = line.get(line.find(PREFIX)?..)?;
    let mut found = None;
    while let Some(after) = rest.strip_prefix(PREFIX) {
        let digits = after.find(|one: char| !one.is_ascii_digit())?;
        let (number, behind) = after.split_at(digits);
        match (number.parse(), behind.strip_prefix("]:")) {
            (Ok(rank), Some(behind)) => {
                found = Some((rank, behind));
                rest = behind;
            }
            _ => break,
        }
    }
    found
}

/// The rank that told the others of a timeout, as they say: `Received a dump signal due to a collective timeout from  rank 2 and`.
pub(crate) fn told_by(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("due to a collective timeout from ")?;
    number(rest, "rank ").filter(|_| rest.trim_start().starts_with("rank "))
}

/// The number behind a word.
fn number<T: std::str::FromStr>(text: &str, before: &str) -> Option<T> {
    let at = text.find(before)? + before.len();
    let digits: String = text.get(at..)?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Name and purpose of the process group that stands before what a line says, and the rank in it.
fn group(text: &str) -> Option<(String, String, u32)> {
    let at = text.find("[PG ")?;
    let (inner, _) = text.get(at + 1..)?.split_once(']')?;
    let group_rank = number(inner, " Rank ")?;
    let named = inner.split_once("PG GUID ").map(|(_, rest)| rest);
    let rest = named.or_else(|| inner.strip_prefix("PG ID ")).or_else(|| inner.strip_prefix("PG "))?;
    let (name, _) = rest.split_once(" Rank ")?;
    let (group, description) = match name.split_once('(') {
        Some((group, description)) => (group.trim(), description.trim_end_matches(')')),
        None => (name.trim(), ""),
    };
    let is_short = group.len() <= 256 && description.len() <= 256;
    is_short.then(|| (group.to_owned(), description.to_owned(), group_rank))
}

/// How far a rank was, where a line says so.
pub(crate) fn state(line: u64, text: &str) -> Option<WatchdogState> {
    let small = text.to_ascii_lowercase();
    // `last enqueued NCCL work: 7`, `last enqueued work: 7`; -1 where there was none.
    let count = |words: [&str; 2]| -> Option<Option<u64>> {
        let (at, word) = words.iter().find_map(|word| Some((small.find(word)?, *word)))?;
        let rest = small.get(at + word.len()..)?.trim_start();
        if rest.starts_with("-1") {
            return Some(None);
        }
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().map(Some)
    };
    let enqueued = count(["last enqueued nccl work:", "last enqueued work:"])?;
    let completed = count(["last completed nccl work:", "last completed work:"])?;
    let (group, description, group_rank) = group(text)?;
    let failed = ["at work sequence id: ", "at work: ", "timeout at nccl work: "];
    let failed = failed.iter().find_map(|word| number(&small, word));
    let mut state = WatchdogState {
        rank: rank_of_prefix(text),
        group_rank,
        group,
        description,
        enqueued,
        completed,
        failed,
        line,
    };
    if state.rank.is_none() && state.is_of_all() {
        state.rank = Some(group_rank);
    }
    Some(state)
}

/// A rank whose watchdog itself does not go on.
pub(crate) fn is_stuck(text: &str) -> bool {
    text.contains("watchdog got stuck for") || text.contains("Heartbeat monitor timed out")
}

/// The rank of such a process: of its prefix, else of the group of all ranks.
pub(crate) fn rank_of_stuck(text: &str) -> Option<u32> {
    let of_group = || {
        let (name, description, rank) = group(text)?;
        (name == "0" || description == "default_pg").then_some(rank)
    };
    rank_of_prefix(text).or_else(of_group).or_else(|| number(text, "[Rank "))
}

/// For how many seconds it has stood still: `watchdog got stuck for 600 seconds`.
pub(crate) fn stuck_s(text: &str) -> Option<u64> {
    number(text, "watchdog got stuck for ")
}

/// The error of CUDA that ended a process, where a line says so: `CUDA error: uncorrectable ECC error encountered`.
pub(crate) fn cuda_error(text: &str) -> Option<&str> {
    let at = text.find("CUDA error: ")?;
    let rest = text.get(at + "CUDA error: ".len()..)?;
    // The words of the error end with the line, or before what PyTorch says of how to look for it.
    Some(rest.split(['\n', '\\']).next().unwrap_or(rest).trim())
        .filter(|error| !error.is_empty() && error.len() <= 160)
}

/// A frame of a stack as PyTorch prints it, `#2 train from /job/train.py:88`; none where it is no line of the program.
pub(crate) fn own_frame(text: &str) -> Option<String> {
    let at = text.find('#')?;
    let rest = text.get(at + 1..)?;
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let (name, place) = rest.get(digits..)?.trim_start().split_once(" from ")?;
    let is_frame = (1..=4).contains(&digits) && !name.contains(' ') && place.rsplit_once(':').is_some();
    let is_own = is_frame && is_of_program(place) && name.len() + place.len() <= 300;
    is_own.then(|| frame(name, place))
}

/// Whether a place in a file is of the program: PyTorch calls its collectives through several functions of its own, and
/// threads begin in Python's own library.
pub(crate) fn is_of_program(place: &str) -> bool {
    let is_installed = PACKAGES.iter().any(|folder| place.contains(folder));
    !place.contains("/torch/") && (is_installed || !place.contains("/lib/python3"))
}

/// Folders of what is installed: it is known by its package.
const PACKAGES: [&str; 2] = ["/site-packages/", "/dist-packages/"];

/// A frame for people: `train (/job/train.py:88)`.
pub(crate) fn frame(name: &str, place: &str) -> String {
    let place = place.trim();
    let in_package = PACKAGES.iter().find_map(|folder| place.rsplit_once(folder));
    format!("{name} ({})", in_package.map_or(place, |(_, rest)| rest))
}

/// Whether a line is a frame of a stack, of whomever.
pub(crate) fn is_frame(text: &str) -> bool {
    let Some((_, rest)) = text.split_once('#') else { return false };
    rest.starts_with(|letter: char| letter.is_ascii_digit()) && rest.contains(" from ")
}

/// The timeout that a line tells of.
pub(crate) fn timeout(line: u64, text: &str) -> WatchdogTimeout {
    let (of_job, group) = (rank_of_prefix(text), group(text));
    let of_group = number(text, "[Rank ").or(group.as_ref().map(|(_, _, rank)| *rank));
    let group = group.map(|(name, description, _)| (name, description));
    let elements = number(text, "NumelIn=").zip(number(text, "NumelOut="));
    let kind = text.split_once("OpType=").map(|(_, rest)| rest.split([',', ')']).next().unwrap_or_default());
    WatchdogTimeout {
        rank: of_job.or(of_group),
        group_rank: of_group,
        group,
        sequence: number(text, "SeqNum="),
        kind: kind.map(operation_kind).unwrap_or_default(),
        elements: elements.map(|(taken, given)| [taken, given]),
        ran_ms: number(text, "ran for "),
        frame: None,
        line,
    }
}

impl WatchdogTimeout {
    /// It in words, such as `rank 3: all-reduce 5 ran for 600 s, then its time was over`.
    pub fn words(&self) -> String {
        let who = self.rank.map_or("a rank".to_owned(), |rank| format!("rank {rank}"));
        let what = if self.kind.is_empty() { "an operation" } else { &self.kind };
        let number = self.sequence.map_or(String::new(), |number| format!(" {number}"));
        let ran = self.ran_ms.map_or(String::new(), |ms| format!(" ran for {:.0} s, then", ms as f64 / 1e3));
        let frame = self.frame.as_ref().map_or(String::new(), |frame| format!(", asked for at {frame}"));
        format!("{who}: {what}{number}{ran} its time was over{frame}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_two_versions_tell_rank_operation_and_time() {
        let new = "[rank3]:[E1028 06:14:02.123456789 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation \
                   timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 \
                   milliseconds before timing out.";
        let old = "[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: \
                   WorkNCCL(OpType=_ALLGATHER_BASE, Timeout(ms)=1800000) ran for 1800116 milliseconds before timing out.";
        assert_eq!(timeout(2, new).words(), "rank 3: all-reduce 5 ran for 600 s, then its time was over");
        assert_eq!(timeout(2, &new.replace("NumelOut=1", "NumelOut=8")).elements, Some([1, 8]));
        let old = timeout(3, old);
        assert_eq!(old.elements, None);
        assert_eq!((old.rank, old.kind.as_str(), old.sequence, old.line), (Some(0), "all-gather", None, 3));
        assert_eq!((old.group_rank, old.group), (Some(0), None));
        let again = "[rank9]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1484] [PG ID 1 PG GUID 5(mesh_dp) Rank 3] Process group watchdog \
                     thread terminated with exception: [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, \
                     OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.";
        let again = timeout(4, again);
        assert_eq!((again.rank, again.group_rank), (Some(9), Some(3)));
        assert_eq!(again.group, Some(("5".to_owned(), "mesh_dp".to_owned())));
    }

    #[test]
    fn states_of_all_versions_tell_how_far_a_rank_was() {
        let said = |text: &str| {
            let one = state(1, text)?;
            Some((
                one.rank,
                one.group_rank,
                one.group,
                one.description,
                one.enqueued,
                one.completed,
                one.failed,
            ))
        };
        for (text, wanted) in [
            (
                "(RayWorkerWrapper pid=4009) [rank1]:[E ProcessGroupNCCL.cpp:1537] [PG 1 Rank 1] Timeout at NCCL work: 158046, \
                 last enqueued NCCL work: 158046, last completed NCCL work: 158045.",
                (Some(1), 1, "1", "", Some(158_046), Some(158_045), Some(158_046)),
            ),
            (
                "[rank3]:[E909 09:55:46.9 ProcessGroupNCCL.cpp:1709] [PG 0 (default_pg) Rank 3] Timeout at NCCL work: 2070, last \
                 enqueued NCCL work: 2082, last completed NCCL work: 2069.",
                (Some(3), 3, "0", "default_pg", Some(2082), Some(2069), Some(2070)),
            ),
            (
                "[rank1]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 1] Exception (either an \
                 error or timeout) detected by watchdog at work: 808, last enqueued NCCL work: 811, last completed NCCL work: 807.",
                (Some(1), 1, "0", "default_pg", Some(811), Some(807), Some(808)),
            ),
            (
                "[rank118]:[E603 17:48:01.0 ProcessGroupNCCL.cpp:2268] [PG ID 2 PG GUID 45(mesh_dp) Rank 18]  failure detected by \
                 watchdog at work sequence id: 98459 PG status: last enqueued work: 98578, last completed work: 98458",
                (Some(118), 18, "45", "mesh_dp", Some(98578), Some(98458), Some(98459)),
            ),
            (
                "[rank0]:[E418 01:32:50.9 ProcessGroupNCCL.cpp:1890] [PG ID 0 PG GUID 0(default_pg) Rank 0] Received a dump signal \
                 due to a collective timeout from  rank 1 and we will try our best to dump the debug info. Last enqueued NCCL \
                 work: 6, last completed NCCL work: -1.This is most likely caused by incorrect usages of collectives",
                (Some(0), 0, "0", "default_pg", Some(6), None, None),
            ),
        ] {
            let (rank, of, group, description, enqueued, completed, failed) = wanted;
            let wanted = (rank, of, group.to_owned(), description.to_owned(), enqueued, completed, failed);
            assert_eq!(said(text), Some(wanted), "{text}");
        }
        assert_eq!(said("[PG 0 Rank 1] Process group watchdog thread terminated with exception: x"), None);
        let begun = "I0527 15:16:51.665375 58626 ProcessGroupNCCL.cpp:869] [PG ID 1 PG GUID 5 Rank 2] ProcessGroupNCCL \
                     initialization options: size: 8, global rank: 18, TIMEOUT(ms): 600000, USE_HIGH_PRIORITY_STREAM: 0";
        let wanted = WatchdogMember { rank: 18, group_rank: 2, group: "5".to_owned(), size: 8 };
        assert_eq!(member(begun), Some(wanted));
        // A rank that its group has no place for is no rank of it.
        assert_eq!(member(&begun.replace("size: 8", "size: 2")), None);
        assert_eq!(
            own_frame("#2 sample_tokens from /opt/vllm/gpu_model_runner.py:4215").as_deref(),
            Some("sample_tokens (/opt/vllm/gpu_model_runner.py:4215)")
        );
        assert_eq!(own_frame("#0 broadcast from /usr/lib/torch/distributed/distributed_c10d.py:2968"), None);
        assert_eq!(own_frame("#9 _bootstrap from /usr/lib/python3.10/threading.py:973"), None);
        assert_eq!(
            own_frame("#3 sync from /opt/conda/lib/python3.10/site-packages/megatron/core/grads.py:203")
                .as_deref(),
            Some("sync (megatron/core/grads.py:203)")
        );
        assert_eq!(
            cuda_error("RuntimeError: CUDA error: uncorrectable ECC error encountered"),
            Some("uncorrectable ECC error encountered")
        );
    }

    proptest! {
        #[test]
        fn no_line_panics(rest in "[ -~\u{e9}]{0,120}", before in "[ -~]{0,40}") {
            let line = format!("{before}{SAYS}{rest}");
            let _ = timeout(1, &line).words();
            let _ = state(1, &format!("{before}[PG ID 0 PG GUID {rest} last enqueued work: 3 {rest} last completed work: 1"));
            let _ = member(&format!("[PG 0 Rank 1] ProcessGroupNCCL initialization options: {rest}size: 3{rest}global rank: 1"));
            let _ = (cuda_error(&line), own_frame(&line), is_frame(&line));
        }
    }
}
