//! The delay matrix and what it says of slow communication.
pub mod ends;
pub mod matrix;
pub mod messages;
pub mod unrecorded;

pub use matrix::DelayMatrix;
pub use messages::SlowMessages;
