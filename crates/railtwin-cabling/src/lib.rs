//! A network cable by cable: where each end stands, how long it is, which optic sits at it.
//!
//! * [`blueprint`]: designs of few lines whose every port is named, and the cables that they make.
mod error;
mod fields;
mod text;

pub mod blueprint;

pub use blueprint::{Blueprint, PlanRules};
pub use error::CablingError;
