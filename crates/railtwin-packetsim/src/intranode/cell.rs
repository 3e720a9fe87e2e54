//! A packet inside a host.

/// A packet inside the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    /// Row of its message, or of what has landed; of the latter none where its message does not end with it.
    pub row: u32,
    /// Payload.
    pub payload: u16,
    /// Whether its message ends with it.
    pub is_last: bool,
    /// Whether it came from another host.
    pub is_foreign: bool,
}
