//! What the watchdog of PyTorch's NCCL process groups says when an operation ran out of its time.
//!
//! ```text
//! [rank3]:[E1028 06:14:02 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout:
//! WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before
//! timing out.
//! ```

use super::input;
use super::names::operation_kind;
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "PyTorch watchdog";
/// What such a line says.
const SAYS: &str = "Watchdog caught collective operation timeout";

/// An operation that ran out of its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchdogTimeout {
    /// Rank that says so, where the line tells.
    pub rank: Option<u32>,
    /// Number of the operation.
    pub sequence: Option<u64>,
    /// What it does, in the words of records; empty where it is not told.
    pub kind: String,
    /// How long it ran, in milliseconds.
    pub ran_ms: Option<u64>,
    /// Number of the line, from 1.
    pub line: u64,
}

/// Whether a line is one.
pub(crate) fn is_timeout(line: &str) -> bool {
    line.contains(SAYS)
}

/// All timeouts of a log, in its order; other lines are passed over.
///
/// # Errors
/// A gzip stream that is broken, a log without any.
pub fn parse_watchdog_log(source_name: &str, bytes: &[u8]) -> Result<Vec<WatchdogTimeout>, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let found: Vec<WatchdogTimeout> = (1..)
        .zip(text.lines())
        .filter(|(_, line)| is_timeout(line))
        .map(|(number, line)| timeout(number, line))
        .collect();
    if found.is_empty() {
        return Err(FormatError::new(
            FORMAT,
            source_name,
            "has no timeout",
            format!("lines that say \"{SAYS}\""),
        ));
    }
    Ok(found)
}

fn timeout(line: u64, text: &str) -> WatchdogTimeout {
    let number = |before: &str| -> Option<u64> {
        let at = text.find(before)? + before.len();
        let digits: String = text[at..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let rank = number("[Rank ").or_else(|| number("[rank")).and_then(|rank| u32::try_from(rank).ok());
    let kind = text.split_once("OpType=").map(|(_, rest)| rest.split([',', ')']).next().unwrap_or_default());
    WatchdogTimeout {
        rank,
        sequence: number("SeqNum="),
        kind: kind.map(operation_kind).unwrap_or_default(),
        ran_ms: number("ran for "),
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
        format!("{who}: {what}{number}{ran} its time was over")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_two_versions_tell_rank_operation_and_time() {
        let text = "starting\n[rank3]:[E1028 06:14:02.123456789 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective \
            operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for \
            600029 milliseconds before timing out.\n[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective \
            operation timeout: WorkNCCL(OpType=_ALLGATHER_BASE, Timeout(ms)=1800000) ran for 1800116 milliseconds before timing out.\n";
        let found = parse_watchdog_log("train.log", text.as_bytes()).expect("a log");
        assert_eq!(found[0].words(), "rank 3: all-reduce 5 ran for 600 s, then its time was over");
        assert_eq!((found[1].rank, found[1].kind.as_str(), found[1].sequence), (Some(0), "all-gather", None));
        assert_eq!((found[0].line, found[1].line), (2, 3));
        assert!(parse_watchdog_log("a", b"nothing").is_err());
    }

    proptest! {
        #[test]
        fn no_line_panics(rest in "[ -~\u{e9}]{0,120}", before in "[ -~]{0,40}") {
            let _ = parse_watchdog_log("a", format!("{before}{SAYS}{rest}").as_bytes()).expect("a timeout").pop().map(|one| one.words());
        }
    }
}
