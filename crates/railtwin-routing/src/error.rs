//! What can be wrong with what a caller asks of this crate.

use thiserror::Error;

/// A rejected input, with the value and what would have been accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RoutingError {
    /// A hash function's name is not known.
    #[error("unknown hash function `{name}`; accepted: {accepted}")]
    UnknownHashFunction {
        /// The name as given.
        name: String,
        /// All names that parse, comma-separated.
        accepted: String,
    },
    /// A hash field's name is not known.
    #[error("unknown hash field `{name}`; accepted: {accepted}")]
    UnknownField {
        /// The name as given.
        name: String,
        /// All names that parse, comma-separated.
        accepted: String,
    },
    /// A hash field is named twice, which is most likely a slip for another field.
    #[error("hash field `{name}` is listed twice; name each field once")]
    RepeatedField {
        /// The repeated name.
        name: String,
    },
    /// A field mask selects nothing, so every packet would take the same port.
    #[error("no hash field is selected; name at least one of: {accepted}")]
    NoFields {
        /// All names that parse, comma-separated.
        accepted: String,
    },
    /// A Toeplitz key does not cover its input.
    #[error(
        "toeplitz key of {key_bytes} bytes is too short for an input of {input_bytes} bytes; \
         it needs at least {} bytes", input_bytes + 4
    )]
    ToeplitzKeyTooShort {
        /// Length of the key.
        key_bytes: usize,
        /// Length of the input.
        input_bytes: usize,
    },
}
