//! Lines that report trouble in words that no other reader knows: warnings of NCCL, fatal lines, exceptions without a rank.
//!
//! Such a line says that something failed, and not always what. It is kept so that no answer is an all-clear over it.

/// How grave a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AlarmLevel {
    /// A warning: it counts where a failure follows.
    Warning,
    /// A call that passes an error on: `init.cc:867 -> 5`.
    Trace,
    /// An exception of Python: it counts where the process ended with it.
    Exception,
    /// The end of a process, or a last try that failed.
    Fatal,
}

/// A line that reports trouble.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alarm {
    /// How grave it is.
    pub level: AlarmLevel,
    /// Words of the line without numbers and addresses: the same for all lines of a kind.
    pub kind: String,
}

/// Words with which a process ends by itself, at the begin of a line or behind a prefix.
const ENDS: [&str; 7] = [
    "terminate called after throwing",
    "Segmentation fault",
    "Fatal Python error: ",
    "Caught signal 11",
    "Caught signal 7",
    "*** Process received signal ***",
    "kernel panic",
];

/// How a stack of Python begins.
const STACK: &str = "Traceback (most recent call last):";
/// Longest kind, in characters.
const KIND_CHARS: usize = 80;

/// Whether a file with this line is a log though no other reader knows a line of it.
pub(crate) const SIGNS: [&str; 4] = [STACK, ENDS[0], ENDS[1], ENDS[2]];

/// A warning of NCCL that nothing else reads.
pub(crate) fn warning(said: &str) -> Alarm {
    Alarm { level: AlarmLevel::Warning, kind: kind_of(said) }
}

/// A line of NCCL's information that passes an error on, or gives up.
pub(crate) fn information(said: &str) -> Option<Alarm> {
    if is_trace(said) {
        return Some(Alarm { level: AlarmLevel::Trace, kind: kind_of(said) });
    }
    is_last_try(said).then(|| Alarm { level: AlarmLevel::Fatal, kind: kind_of(said) })
}

/// `transport/net_ib.cc:415 -> 2`, and nothing else.
fn is_trace(said: &str) -> bool {
    let Some((place, code)) = said.trim().split_once(" -> ") else { return false };
    let code = code.split_whitespace().next().unwrap_or_default();
    let is_place = place.rsplit_once(':').is_some_and(|(file, line)| {
        !file.contains(' ') && file.contains('.') && line.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_place && code.parse::<u32>().is_ok_and(|code| code != 0)
}

/// `retrying (34/34)`: the last of several tries.
fn is_last_try(said: &str) -> bool {
    let Some((_, rest)) = said.split_once("retrying (") else { return false };
    let Some((counts, _)) = rest.split_once(')') else { return false };
    let number = |text: &str| text.trim().parse::<u32>().ok();
    counts.split_once('/').is_some_and(|(now, of)| number(now).is_some() && number(now) == number(of))
}

/// The alarm of a line with which a process ends, behind any prefix of a launcher.
pub(crate) fn end(line: &str) -> Option<Alarm> {
    let is_fatal =
        ENDS.iter().any(|words| line.contains(words)) || is_glog_fatal(line) || is_level_fatal(line);
    is_fatal.then(|| Alarm { level: AlarmLevel::Fatal, kind: kind_of(line) })
}

/// `[F ProcessGroupNCCL.cpp:1169]`, and `F0314 09:12:00.123456 …]`.
fn is_glog_fatal(line: &str) -> bool {
    let bracket = line.find("[F ").or_else(|| line.find("[F0")).or_else(|| line.find("[F1"));
    let has_place = |rest: &str| {
        let head = rest.split(']').next().unwrap_or_default();
        head.contains(".cpp:") || head.contains(".cc:") || head.contains(".cu:") || head.contains(".h:")
    };
    bracket.is_some_and(|at| has_place(&line[at..]))
}

/// A level of a logger: `[FATAL]`, `CRITICAL:`, ` FATAL `, at the begin of a line or behind its time.
fn is_level_fatal(line: &str) -> bool {
    let head: String = line.chars().take(64).collect();
    let is_level = |word: &str| matches!(word.trim_matches(['[', ']', '|', '-']), "FATAL" | "CRITICAL");
    head.split([' ', '\t', ':']).any(is_level)
}

/// Stacks of Python without a rank, line by line.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    is_open: bool,
}

impl Stacks {
    /// Reads a line; the exception with which a stack ends.
    pub(crate) fn line(&mut self, line: &str) -> Option<Alarm> {
        if line.contains(STACK) {
            self.is_open = !line.contains("]: ");
            return None;
        }
        if !self.is_open || line.starts_with([' ', '\t']) || line.trim().is_empty() {
            return None;
        }
        self.is_open = false;
        let (name, _) = line.split_once(':').unwrap_or((line, ""));
        let is_name = |part: &str| {
            part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        let is_exception = name.trim_end().split('.').all(is_name);
        is_exception.then(|| Alarm { level: AlarmLevel::Exception, kind: kind_of(line) })
    }
}

/// The words of a line without numbers, so that lines of one kind are counted together.
fn kind_of(said: &str) -> String {
    let bare = |word: &str| !word.chars().any(|letter| letter.is_ascii_digit());
    let words: Vec<&str> = said.split_whitespace().filter(|word| bare(word)).collect();
    words.join(" ").chars().filter(|letter| !letter.is_control()).take(KIND_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn grave_lines_are_told_from_lines_that_only_look_like_them() {
        for fatal in [
            "[rank144]:[F ProcessGroupNCCL.cpp:1169] [PG 0 Rank 144] watchdog got stuck",
            "F0314 x [F0314 09:12:00.123456 12 init.cpp:7] no",
            "terminate called after throwing an instance of 'c10::DistBackendError'",
            "2026-11-28 09:00:00 [FATAL] trainer: gave up",
            "CRITICAL:root:no data",
        ] {
            assert_eq!(end(fatal).map(|alarm| alarm.level), Some(AlarmLevel::Fatal), "{fatal}");
        }
        for well in ["step 7: loss 2.1", "[E ProcessGroupNCCL.cpp:7] x", "a FATALITY", "non-fatal error"] {
            assert_eq!(end(well), None, "{well}");
        }
        assert_eq!(information("init.cc:867 -> 5").map(|alarm| alarm.level), Some(AlarmLevel::Trace));
        assert_eq!(information("init.cc:867 -> 0"), None);
        assert_eq!(information("Channel 00 : 1 -> 2 via P2P"), None);
        let last = "socketPollConnect: connect returned No route to host, retrying (34/34) after sleep";
        assert_eq!(information(last).map(|alarm| alarm.level), Some(AlarmLevel::Fatal));
        assert_eq!(information(&last.replace("34/34", "3/34")), None);
    }

    #[test]
    fn an_exception_ends_a_stack_without_a_rank() {
        let mut stacks = Stacks::default();
        let text = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nValueError: no data 7\nnext: 1";
        let told: Vec<Alarm> = text.lines().filter_map(|line| stacks.line(line)).collect();
        assert_eq!(told, [Alarm { level: AlarmLevel::Exception, kind: "ValueError: no data".into() }]);
        // Stacks behind a rank are read elsewhere.
        assert_eq!(stacks.line("[rank0]: Traceback (most recent call last):"), None);
        assert_eq!(stacks.line("ValueError: x"), None);
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC{0,80}") {
            let _ = (end(&line), information(&line), warning(&line), Stacks { is_open: true }.line(&line));
        }
    }
}
