//! railtwin-scaling: what collectives take on clusters larger than those that were measured. Models are fitted to nccl-tests
//! over several numbers of hosts and held against the largest of them.
//!
//! * [`series`]: the times of one collective by the number of hosts.
//! * [`mod@fit`]: the model of a series, and the times that it refuses.
//! * [`probe`]: constants that a few sizes of a larger cluster tell.
//! * [`mod@backtest`]: what a fit of the smaller clusters says of the larger ones, and how far it is off.
//! * [`judge`]: runs that are slow as a whole.
//! * [`mod@line`]: the straight line that a model must beat.
//!
//! The model itself is [`railtwin_workload::scaling`].
pub mod backtest;
pub mod fit;
pub mod judge;
mod large;
pub mod line;
mod probe;
mod refuse;
pub mod series;

pub use backtest::{Backtest, backtest, bands, coverage, held_back};
pub use fit::{ScalingFit, fit};
pub use judge::{SLOW, WholeRun, judge};
pub use line::line;
pub use refuse::Outlier;
pub use series::{ClusterTimes, series};

#[cfg(test)]
mod tests;
