//! `[packet]` and `[switch]`: what only packets ask.
//!
//! The keys of `[packet]` are declared where they are read, in [`railtwin_engine::packet`].
mod remarks;
mod resolve;
mod rules;
mod switch;

pub(crate) use remarks::of_packets;
pub(crate) use resolve::packets;
pub(crate) use rules::troubles_of_packets;
pub(crate) use switch::TIERS;
pub use switch::{SwitchModelName, SwitchSpec, SwitchesSpec};
