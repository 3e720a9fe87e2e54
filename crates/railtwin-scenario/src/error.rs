//! What is wrong with a scenario, where it stands, and what would be accepted.
use std::fmt;
use std::ops::Range;

/// One thing that is wrong, with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The same place as bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem at `span` of `text`; a span outside the text is moved to its end.
    pub fn new(text: &str, span: Range<usize>, message: impl Into<String>, hint: Option<String>) -> Self {
        let floor = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
        let start = floor(span.start).unwrap_or(0);
        let end = floor(span.end).unwrap_or(0).max(start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span: start..end,
            message: shortened(message.into()),
            hint: hint.map(shortened),
        }
    }
}

/// Longest message or hint, in characters: one that repeats a value of the text may be of any length.
const LONGEST: usize = 2_000;

/// A message without its middle where it is too long: both its subject and what is wrong stand at the ends.
fn shortened(message: String) -> String {
    if message.chars().count() <= LONGEST {
        return message;
    }
    let byte = |count: usize| message.char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at);
    let head = message.char_indices().nth(LONGEST / 10).map_or(0, |(at, _)| at);
    format!("{} … {}", &message[..head], &message[byte(LONGEST / 10)..])
}

/// A scenario that was refused: the file as the caller named it and at least one problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct ScenarioError {
    /// Name of the file, as given by the caller.
    pub file: String,
    /// The problems in the order of the text; at most [`ScenarioError::MOST`].
    pub problems: Vec<Problem>,
}

impl ScenarioError {
    /// Problems that one error carries: more would bury the first.
    pub const MOST: usize = 20;

    /// An error of the problems found in `file`; they are sorted by place.
    pub fn new(file: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        problems.truncate(Self::MOST);
        Self { file: file.to_owned(), problems }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let Problem { line, column, message, .. } = problem;
            let gap = if index == 0 { "" } else { "\n" };
            write!(out, "{gap}{}:{line}:{column}: {message}", self.file)?;
            if let Some(hint) = &problem.hint {
                write!(out, "; {hint}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_and_stay_inside_the_text() {
        let text = "a = 1\nbé = 2\n";
        let problem = Problem::new(text, 9..10, "x", None);
        assert_eq!((problem.line, problem.column), (2, 3));
        let inside_a_character = Problem::new(text, 8..9, "x", None);
        assert_eq!(inside_a_character.span, 7..9);
        let beyond = Problem::new(text, 90..99, "x", None);
        assert_eq!((beyond.line, beyond.span), (3, 14..14));
    }

    #[test]
    fn a_message_that_repeats_a_long_value_keeps_its_ends() {
        let value = "é".repeat(70_000);
        let problem = Problem::new("", 0..0, format!("unknown key `{value}` in [run]"), Some(value));
        assert!(problem.message.starts_with("unknown key `éé"), "{}", problem.message);
        assert!(problem.message.ends_with("éé` in [run]"), "{}", problem.message);
        assert_eq!(problem.message.chars().count(), 403);
        assert_eq!(problem.hint.map(|hint| hint.chars().count()), Some(403));
        let whole = "x".repeat(LONGEST);
        assert_eq!(Problem::new("", 0..0, whole.clone(), None).message, whole);
    }
}
