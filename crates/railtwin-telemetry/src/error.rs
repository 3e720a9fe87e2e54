//! What can be wrong with what a replay is given.

/// A replay that cannot be made: the field, its value and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {accepted}")]
#[non_exhaustive]
pub struct TelemetryError {
    /// What is wrong.
    pub field: &'static str,
    /// The value that was given.
    pub value: String,
    /// What would be accepted.
    pub accepted: String,
}

impl TelemetryError {
    /// An error from its three parts.
    pub fn new(field: &'static str, value: impl ToString, accepted: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), accepted: accepted.into() }
    }
}
