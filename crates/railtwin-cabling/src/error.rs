//! The one error of this crate: which file, where in it, what is wrong, what is accepted.

/// A design, plan, table of parts or site that cannot be read or built.
///
/// `Display` gives one line: `opg.toml:7: leaf.fe-leaf.count: is 0; write a whole number from 1`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.one_line())]
pub struct CablingError {
    /// Name of the source as the caller gave it, usually the file name.
    pub source_name: String,
    /// Line, from 1; 0 for the source as a whole.
    pub line: u64,
    /// Key, class or device; empty for the source as a whole.
    pub field: String,
    /// What is wrong.
    pub problem: String,
    /// What is accepted.
    pub accepted: String,
}

impl CablingError {
    fn one_line(&self) -> String {
        let mut text = self.source_name.clone();
        if self.line > 0 {
            text.push_str(&format!(":{}", self.line));
        }
        if !self.field.is_empty() {
            text.push_str(&format!(": {}", self.field));
        }
        format!("{text}: {}; {}", self.problem, self.accepted)
    }
}

/// What is wrong with a piece of text, and what is accepted, before its place is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) problem: String,
    pub(crate) accepted: String,
}

impl Refused {
    pub(crate) fn new(problem: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { problem: problem.into(), accepted: accepted.into() }
    }
}
