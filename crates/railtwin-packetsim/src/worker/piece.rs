//! A piece on its way inside a host.

/// A piece that is to enter a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Crossing {
    pub(super) leg: u32,
    pub(super) item: u32,
    pub(crate) bytes: u64,
    /// Whether it has been over the first of two links.
    pub(super) second: bool,
    /// When the slowest that it crossed so far is done with it.
    pub(super) end: u64,
}
