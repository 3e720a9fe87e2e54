//! What travels between devices.
use std::fmt::Debug;

/// What travels between devices.
pub trait Freight: Copy + Send + Debug {
    /// What devices of one thread count together of what arrived.
    type Tally: Default + Send + Debug;

    /// The port at which it arrives.
    fn port(&self) -> u16;
}
