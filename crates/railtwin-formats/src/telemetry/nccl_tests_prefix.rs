//! What launchers put before lines of nccl-tests, and within them.
//!
//! Known are Open MPI (`[1,3]<stdout>:`, `1,3<stdout>:`), tags of MPICH, Intel MPI and HPC-X (`[0]`, also in the middle of a row,
//! where the test prints its row in parts), `srun -l` (`3: `), `kubectl logs --prefix` (`[pod/name/container] `), stern and compose
//! (`worker-0 | `), and times of a logger.
use std::borrow::Cow;

/// Words with which comments of nccl-tests begin.
const COMMENTS: [&str; 11] = [
    "nccl-tests version",
    "rccl-tests",
    "Collective test",
    "nThread",
    "Using devices",
    "Rank ",
    "size ",
    "(B)",
    "out-of-place",
    "Out of bounds values",
    "Avg bus bandwidth",
];
/// Types of data, as rows have them in their third column.
const TYPES: [&str; 16] = [
    "int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16", "fp8_e4m3",
    "fp8_e5m2", "f8e4m3", "f8e5m2", "char", "int",
];
/// Most words of a prefix.
const PREFIX_WORDS: usize = 4;

/// A line without what launchers put there.
pub(crate) fn bare(line: &str) -> Cow<'_, str> {
    let line = without_stream(without_time(line));
    let line = match tag(line) {
        // A launcher that tags each write of a process tags parts of rows.
        Some((tag, rest)) if !rest.trim_start().starts_with('#') && rest.contains(tag) => {
            Cow::Owned(rest.replace(tag, " "))
        }
        Some((_, rest)) => Cow::Borrowed(rest),
        None => Cow::Borrowed(line),
    };
    match begin(&line) {
        0 => line,
        at => match line {
            Cow::Borrowed(line) => Cow::Borrowed(&line[at..]),
            Cow::Owned(line) => Cow::Owned(line[at..].to_owned()),
        },
    }
}

/// A line without the time that `kubectl logs --timestamps` puts there: `2026-11-28T10:00:00.123Z `.
fn without_time(line: &str) -> &str {
    let Some((word, rest)) = line.split_once(' ') else { return line };
    let bytes = word.as_bytes();
    let is_time = bytes.len() >= 19
        && bytes[4] == b'-'
        && bytes[10] == b'T'
        && bytes[13] == b':'
        && bytes[..4].iter().all(u8::is_ascii_digit);
    if is_time { rest } else { line }
}

/// A line without `[1,3]<stdout>:` and `3: `.
fn without_stream(line: &str) -> &str {
    for stream in ["<stdout>:", "<stderr>:"] {
        if let Some((prefix, rest)) = line.split_once(stream) {
            let inner = prefix.trim_start_matches('[').trim_end_matches(']');
            let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            if inner.split(',').all(is_number) {
                return rest;
            }
        }
    }
    match line.split_once(": ") {
        Some((rank, rest)) if rank.trim().parse::<u32>().is_ok() => rest,
        _ => line,
    }
}

/// A tag of a rank at the begin of a line, `[0]` or `[1,0]`, and what stands behind it.
fn tag(line: &str) -> Option<(&str, &str)> {
    let end = line.strip_prefix('[')?.find(']')? + 2;
    let (tag, rest) = line.split_at(end);
    let inner = tag.trim_matches(['[', ']']);
    let is_tag = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    is_tag.then(|| (tag, rest.strip_prefix(':').unwrap_or(rest)))
}

/// Where a comment or a row of nccl-tests begins in a line; 0 where none does.
fn begin(line: &str) -> usize {
    if let Some(at) = line.find('#') {
        let comment = line[at..].trim_start_matches('#').trim_start();
        let is_known = COMMENTS.iter().any(|words| comment.starts_with(words)) || comment.is_empty();
        return if is_known { at } else { 0 };
    }
    let mut words = words(line);
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let row = |three: &[(usize, &str)]| {
        is_number(three[0].1) && is_number(three[1].1) && TYPES.contains(&three[2].1)
    };
    words.truncate(PREFIX_WORDS + 3);
    words.windows(3).find(|three| row(three)).map_or(0, |three| three[0].0)
}

/// Words of a line with where they begin.
fn words(line: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let mut words = Vec::new();
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        if !word.is_empty() {
            words.push((at, word));
        }
        if words.len() > PREFIX_WORDS + 3 {
            break;
        }
        at += piece.len();
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_and_comments_behind_all_launchers_are_found() {
        let row = "1048576  262144  float  sum  -1  1550.3 0.68 1.24 0  1553.4 0.68 1.24 0";
        for prefix in [
            "",
            "     ",
            "[1,3]<stdout>:",
            "[1,3]<stdout>: ",
            "1,3<stdout>:",
            "[0]",
            "[0] ",
            "[3]: ",
            "3: ",
            "12:      ",
            "[pod/nccl-test-launcher-x/launcher] ",
            "nccl-test-launcher launcher ",
            "worker-0  | ",
            "2026-11-28T10:00:00.123Z ",
            "2026-11-28 10:00:00,123 ",
        ] {
            let told = bare(&format!("{prefix}{row}")).trim().to_owned();
            assert_eq!(
                told.split_whitespace().collect::<Vec<_>>(),
                row.split_whitespace().collect::<Vec<_>>(),
                "{prefix}"
            );
            let comment = "#  Rank  0 Group  0 Pid 1 on h1 device  0 [0x01] NVIDIA H100";
            assert_eq!(bare(&format!("{prefix}{comment}")), comment, "{prefix}");
        }
        assert_eq!(
            bare("2026-11-28T10:00:00.123Z [0]  8 2 float sum -1[0] 1 1 1 0").trim(),
            "8 2 float sum -1  1 1 1 0"
        );
        let parts = "[0]     1048576   262144  float  sum  -1[0]  1550.3 0.68 1.24 0[0]  1553.4 0.68 1.24 0";
        assert_eq!(bare(parts).split_whitespace().count(), row.split_whitespace().count());
        for line in
            ["h1:1:2 [0] NCCL INFO x # size", "h1: Test NCCL failure a.cu:7 'x'", "loading 8 2 things", ""]
        {
            assert_eq!(bare(line), line);
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(prefix in "(\\[[0-9,]{0,3}\\])?", line in "\\PC{0,60}") {
            let _ = bare(&format!("{prefix}{line}"));
            let _ = bare(&format!("{line}# size {line}"));
        }
    }
}
