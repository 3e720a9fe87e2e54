//! Errors of a table of parts.
use std::fmt;

/// A line of a table that cannot be taken: its place, the key, the value, and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogError {
    /// Line of the text, from 1.
    pub line: usize,
    /// The key, such as `usd`; empty where the text is no TOML.
    pub key: String,
    /// The value as written; empty where it is missing.
    pub value: String,
    /// What is wrong, as a clause: "is not a number".
    pub problem: String,
    /// What to write instead.
    pub accepted: String,
}

impl fmt::Display for CatalogError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: ", self.line)?;
        match (self.key.is_empty(), self.value.is_empty()) {
            (true, _) => {}
            (false, true) => write!(out, "{} ", self.key)?,
            (false, false) => write!(out, "{} = {} ", self.key, self.value)?,
        }
        write!(out, "{}; {}", self.problem, self.accepted)
    }
}

impl std::error::Error for CatalogError {}
