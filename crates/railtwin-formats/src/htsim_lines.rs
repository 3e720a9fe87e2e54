//! What both texts of htsim share: words of lines, comments, bounded whole numbers.
use crate::error::{FormatError, text_of};

/// A file of htsim while it is read.
pub(crate) struct Lines<'a> {
    pub(crate) format: &'static str,
    pub(crate) source_name: &'a str,
    text: &'a str,
}

/// A line with words that is no comment.
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub(crate) number: u64,
    pub(crate) words: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(
        format: &'static str,
        source_name: &'a str,
        bytes: &'a [u8],
    ) -> Result<Self, FormatError> {
        Ok(Self { format, source_name, text: text_of(format, source_name, bytes)? })
    }

    /// Lines that are neither empty nor comments.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        let lines = self
            .text
            .lines()
            .zip(1..)
            .map(|(line, number)| Line { number, words: line.split_whitespace().collect() });
        lines.filter(|line| line.words.first().is_some_and(|word| !word.starts_with('#')))
    }

    /// Whether a line begins with one of these words of the format, in whatever case.
    pub(crate) fn begin_with(&self, words: &[&str]) -> bool {
        self.iter().any(|line| words.iter().any(|word| line.words[0].eq_ignore_ascii_case(word)))
    }

    /// An error about the whole file.
    pub(crate) fn error(&self, problem: impl Into<String>, accepted: impl Into<String>) -> FormatError {
        FormatError::new(self.format, self.source_name, problem, accepted)
    }

    /// The value of `key` as a whole number in bounds.
    pub(crate) fn number(
        &self,
        line: &Line<'_>,
        key: &str,
        value: Option<&str>,
        (least, most): (u64, u64),
    ) -> Result<u64, FormatError> {
        let accepted = || format!("write a whole number from {least} to {most}");
        let Some(value) = value else {
            return Err(self.error("has no value", accepted()).at_line(line.number).field(key));
        };
        match value.parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            Ok(_) => Err(self.refused(line, key, value, "is out of range", accepted())),
            Err(_) => Err(self.refused(line, key, value, "is not a whole number", accepted())),
        }
    }

    /// The only value of a line `key value`.
    pub(crate) fn only_number(&self, line: &Line<'_>, bounds: (u64, u64)) -> Result<u64, FormatError> {
        if let Some(extra) = line.words.get(2) {
            let accepted = "write one value after the key, and comments on lines of their own";
            return Err(self.refused(line, line.words[0], extra, "follows the value", accepted));
        }
        self.number(line, line.words[0], line.words.get(1).copied(), bounds)
    }

    /// An error about a value.
    pub(crate) fn refused(
        &self,
        line: &Line<'_>,
        key: &str,
        value: &str,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> FormatError {
        self.error(problem, accepted).at_line(line.number).field(key).found(value)
    }
}

/// Keeps `value` in `slot`, which is empty unless the file says it twice.
pub(crate) fn keep<T>(
    lines: &Lines<'_>,
    line: &Line<'_>,
    slot: &mut Option<(u64, T)>,
    value: T,
) -> Result<(), FormatError> {
    if let Some((earlier, _)) = slot {
        let problem = format!("is written on line {earlier} already");
        return Err(lines.error(problem, "write it once").at_line(line.number).field(line.words[0]));
    }
    *slot = Some((line.number, value));
    Ok(())
}
