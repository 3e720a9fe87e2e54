//! How processes of a job ended: exceptions as Python prints them, and what `torchrun` says of those that failed.
//!
//! ```text
//! [rank2]: Traceback (most recent call last):
//! [rank2]:   File "/job/train.py", line 9, in <module>
//! [rank2]:     raise ValueError("sample 5 cannot be decoded")
//! [rank2]: ValueError: sample 5 cannot be decoded
//!
//! Root Cause (first observed failure):
//! [0]:
//!   time      : 2026-11-27_13:13:28
//!   host      : node017
//!   rank      : 2 (local_rank: 2)
//!   exitcode  : -9 (pid: 28884)  (SIGKILL)
//! ```
//!
//! Only stacks behind `[rankN]:`, which PyTorch puts there, tell whose they are. `torchrun` lists what failed after the root
//! cause, too: most of that it ended itself, so only its root cause is taken.

use std::collections::BTreeSet;

use super::cluster_log::LogSays;
use super::watchdog::behind_prefix;

/// How a stack of Python begins.
const STACK: &str = "Traceback (most recent call last):";
/// How `torchrun` begins what failed first.
const ROOT_CAUSE: &str = "Root Cause (first observed failure):";
/// What Python says between two stacks of one end.
const JOINED: [&str; 2] = [
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
];
/// Statuses that a process can have.
const STATUSES: std::ops::RangeInclusive<i32> = -128..=255;
/// Longest exception that is kept, in characters.
const CHARS_MAX: usize = 200;

/// Words of which one stands in each log that tells such an end.
pub(crate) const SIGNS: [&str; 2] = ["]: Traceback (most recent call last):", ROOT_CAUSE];

/// Whether a line begins such a part.
pub(crate) fn is_begin(line: &str) -> bool {
    SIGNS.iter().any(|sign| line.contains(sign))
}

/// An end that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) rank: u32,
    pub(crate) host: Option<String>,
    pub(crate) what: LogSays,
}

/// What lines of a log told so far.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Ranks whose stack is being read: lines of others may stand between.
    stacks: BTreeSet<u32>,
    /// Ranks whose next stack is joined to their last.
    joined: BTreeSet<u32>,
    /// Host and rank of the failure that is being read.
    root: Option<(Option<String>, Option<u32>)>,
}

impl Ends {
    /// Reads a line; what ended, where it is the last of a part.
    pub(crate) fn line(&mut self, line: &str) -> Option<Ended> {
        if line.contains(ROOT_CAUSE) {
            self.root = Some((None, None));
            return None;
        }
        match behind_prefix(line) {
            // PyTorch puts a blank there; launchers, which repeat all that a process prints, do not.
            Some((rank, said)) => self.of_rank(rank, said.strip_prefix(' ')?),
            None => self.of_root(line),
        }
    }

    fn of_rank(&mut self, rank: u32, said: &str) -> Option<Ended> {
        if said.trim_end() == STACK {
            self.stacks.insert(rank);
            return None;
        }
        if JOINED.contains(&said.trim_end()) {
            self.joined.insert(rank);
            return None;
        }
        if !self.stacks.contains(&rank) {
            return None;
        }
        if said.trim().is_empty() || said.starts_with([' ', '\t']) {
            return None;
        }
        self.stacks.remove(&rank);
        let (name, _) = said.split_once(':').unwrap_or((said, ""));
        let is_name = |part: &str| {
            part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        if !name.trim_end().split('.').all(is_name) {
            return None;
        }
        let text: String =
            said.trim().chars().filter(|letter| !letter.is_control()).take(CHARS_MAX).collect();
        let joined = self.joined.remove(&rank);
        Some(Ended { rank, host: None, what: LogSays::Exception { text, joined } })
    }

    /// A line of what `torchrun` says: `  exitcode  : -9 (pid: 28884)  (SIGKILL)`.
    fn of_root(&mut self, line: &str) -> Option<Ended> {
        let (host, rank) = self.root.as_mut()?;
        if line.contains("=====") {
            self.root = None;
            return None;
        }
        let (before, value) = line.split_once(" : ")?;
        let mut words = value.split_whitespace();
        let value = words.next()?;
        match before.split_whitespace().next_back()? {
            "host" => *host = Some(value.to_owned()).filter(|name| name != "localhost" && name.len() <= 256),
            "rank" => *rank = value.parse().ok(),
            "exitcode" => {
                let (host, rank) = (host.take(), rank.take());
                self.root = None;
                let what = LogSays::Exit(value.parse().ok().filter(|code| STATUSES.contains(code))?);
                return Some(Ended { rank: rank?, host, what });
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<Ended> {
        let mut ends = Ends::default();
        text.lines().filter_map(|line| ends.line(line)).collect()
    }

    #[test]
    fn stacks_of_ranks_that_stand_between_each_other_are_told_apart() {
        let of = |rank: u32, text: &str, joined: bool| Ended {
            rank,
            host: None,
            what: LogSays::Exception { text: text.into(), joined },
        };
        let text = "[rank2]: Traceback (most recent call last):\n[rank10]: Traceback (most recent call last):\n\
                    [rank2]:   File \"/job/train.py\", line 9, in <module>\nValueError: of nobody\n\
                    [rank10]:     raise torch.OutOfMemoryError\n[rank2]: ValueError: sample 5 cannot be decoded\n\
                    [rank2]: ValueError: behind its stack\n[rank10]: torch.OutOfMemoryError: CUDA out of memory.\n\
                    [rank3]: Traceback (most recent call last):\n[rank3]: these are no words of Python: no\n";
        let wanted = [
            of(2, "ValueError: sample 5 cannot be decoded", false),
            of(10, "torch.OutOfMemoryError: CUDA out of memory.", false),
        ];
        assert_eq!(read(text), wanted);
        // A launcher that repeats what a process prints puts no blank there: it may be a stack that was caught.
        assert_eq!(read(&text.replace("]: ", "]:")), []);
        // Before the prefix of PyTorch the launcher's counts the processes of a host.
        assert_eq!(read(&text.replace("[rank", "[rank0]:[rank")), wanted);
    }

    #[test]
    fn what_came_of_another_exception_says_so() {
        let stack = |name: &str| {
            format!(
                "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a\"\n[rank1]: {name}: x\n"
            )
        };
        for between in JOINED {
            let text = format!("{}\n[rank1]: {between}\n\n{}{}", stack("A"), stack("B"), stack("C"));
            let joined: Vec<bool> = read(&text)
                .into_iter()
                .map(|one| matches!(one.what, LogSays::Exception { joined: true, .. }))
                .collect();
            assert_eq!(joined, [false, true, false]);
        }
    }

    #[test]
    fn of_what_failed_the_root_cause_is_taken() {
        let part = |rank: u32, code: &str| {
            format!(
                "  time      : 2026-11-27_13:13:28\n  host      : node017\n  rank      : {rank} (local_rank: 0)\n  \
                     exitcode  : {code} (pid: 28884)\n  error_file: <N/A>\n  traceback : To enable\n"
            )
        };
        let text = format!(
            "Failures:\n[1]:\n{}-----\n{ROOT_CAUSE}\n[0]:\n{}=====\n{}",
            part(1, "-15"),
            part(2, "-9"),
            part(3, "1")
        );
        let wanted = Ended { rank: 2, host: Some("node017".into()), what: LogSays::Exit(-9) };
        assert_eq!(read(&text), [wanted]);
        assert_eq!(read(&text.replace("rank      : 2", "rank      : two")), []);
        assert_eq!(read(&text.replace("-9", "-2147483648")), []);
    }

    proptest! {
        #[test]
        fn no_line_panics(lines in proptest::collection::vec((0_usize..5, 0_usize..7, "[ -~\u{e9}]{0,40}"), 0..12)) {
            let prefixes = ["", "[rank1]: ", "[rank1]:", "[rank0]:[rank12]: ", "[rank99999999999]: "];
            let signs = [STACK, ROOT_CAUSE, JOINED[0], "  rank : ", "exitcode : -", "host : ", ""];
            let mut ends = Ends::default();
            for (prefix, sign, rest) in lines {
                let _ = ends.line(&format!("{}{}{rest}", prefixes[prefix], signs[sign]));
            }
        }
    }
}
