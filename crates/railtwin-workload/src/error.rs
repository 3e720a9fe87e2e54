//! What can be wrong with a workload that someone asks for.

/// A workload that cannot be built: the field, its value and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {accepted}")]
#[non_exhaustive]
pub struct WorkloadError {
    /// The field as the scenario calls it.
    pub field: &'static str,
    /// The value that was given.
    pub value: String,
    /// What would be accepted.
    pub accepted: String,
}

impl WorkloadError {
    /// An error from its three parts.
    pub fn new(field: &'static str, value: impl ToString, accepted: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), accepted: accepted.into() }
    }
}
