//! What can be wrong with a fabric that someone asks for.

/// A fabric that cannot be built: the field, its value and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// A count that must be positive, or within a bound, is not.
    #[error("{field} = {value}: {accepted}")]
    OutOfRange {
        /// The field as the scenario calls it.
        field: &'static str,
        /// The value that was given.
        value: String,
        /// What would be accepted.
        accepted: String,
    },
    /// A switch needs more capacity than its chip has.
    #[error(
        "a {role} switch needs {down} × {down_capacity} down and {up} × {up_capacity} up, {needed} in all, but \
         its chip has {chip}; {remedy}"
    )]
    ChipTooSmall {
        /// `leaf`, `spine` or `core`.
        role: &'static str,
        /// Ports towards the hosts.
        down: u64,
        /// Capacity of a port towards the hosts.
        down_capacity: String,
        /// Ports away from the hosts.
        up: u64,
        /// Capacity of a port away from the hosts.
        up_capacity: String,
        /// What the ports add up to.
        needed: String,
        /// What the chip has.
        chip: String,
        /// Which field to change.
        remedy: String,
    },
    /// More ids than 32 bits hold.
    #[error("the fabric has more than 2^32 {what}; make it smaller")]
    TooLarge {
        /// Which column overflowed.
        what: &'static str,
    },
}

impl FabricError {
    /// An out-of-range error with its three parts.
    pub fn range(field: &'static str, value: impl ToString, accepted: impl Into<String>) -> Self {
        Self::OutOfRange { field, value: value.to_string(), accepted: accepted.into() }
    }
}
