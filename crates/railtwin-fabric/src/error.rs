//! What can be wrong with a fabric that someone asks for.
use std::fmt;

use railtwin_units::Rate;

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
    #[error("{0}")]
    ChipTooSmall(Box<ChipNeeds>),
    /// More ids than 32 bits hold.
    #[error("the fabric has more than 2^32 {what}; make it smaller")]
    TooLarge {
        /// Which column overflowed.
        what: &'static str,
    },
}

/// What the ports of a switch add up to, and what its chip has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipNeeds {
    /// `leaf`, `spine` or `core`.
    pub role: &'static str,
    /// Ports towards the hosts and the capacity of one.
    pub down: (u32, Rate),
    /// Ports away from the hosts and the capacity of one.
    pub up: (u32, Rate),
    /// What they add up to.
    pub needed: Rate,
    /// What the chip has, or the largest switch that there is.
    pub limit: Rate,
    /// Whether the limit is that of a chip that was said.
    pub said: bool,
    /// Which field to change.
    pub remedy: &'static str,
}

impl fmt::Display for ChipNeeds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, down, up, needed, limit, said, remedy } = self;
        let has = if *said { "its chip has" } else { "the largest such switch that there is has" };
        write!(
            out,
            "a {role} switch needs {} × {} down and {} × {} up, {needed} in all, but {has} {limit}; {remedy}",
            down.0, down.1, up.0, up.1
        )
    }
}

impl FabricError {
    /// The field that is to blame, where there is one.
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::OutOfRange { field, .. } => Some(field),
            _ => None,
        }
    }

    /// An out-of-range error with its three parts.
    pub fn range(field: &'static str, value: impl ToString, accepted: impl Into<String>) -> Self {
        Self::OutOfRange { field, value: value.to_string(), accepted: accepted.into() }
    }
}
