//! Ground of railtwin: what everything else is counted in.
//!
//! * [`SimTime`]: a moment or a span of simulated time, whole picoseconds.
//! * [`TimeRange`]: a span that is not known to the point.
//! * [`Bytes`], [`Rate`]: sizes and rates; dividing one by the other gives time.
//! * [`text`]: quantities as people write them (`"400 Gbps"`, `"1.5 us"`, `"64 MiB"`).
//! * [`decimal`]: decimal numbers in text, scaled exactly.
//! * [`choice!`]: one of a few words.
//! * [`keys`], [`section!`], [`variants!`], [`one_of!`], [`either!`]: the keys of a section of a scenario.
//! * [`id`]: dense typed ids.
//! * [`probability`]: tails of the binomial and the Poisson distribution.
//! * [`robust`]: median and median absolute deviation.
//! * [`stream`]: named random streams derived from one seed.
//!
//! ```
//! use railtwin_units::{Bytes, Rate, SimTime};
//! let rate: Rate = "400 Gbps".parse().unwrap();
//! let size: Bytes = "1 GB".parse().unwrap();
//! assert_eq!(size.time_at(rate), SimTime::from_ps(20_000_000_000));
//! ```
#[doc(hidden)]
pub use serde;

mod choice;
pub mod decimal;
mod exact;
mod group;
pub mod id;
pub mod keys;
mod one_of;
pub mod probability;
pub mod quantity;
mod range;
pub mod robust;
mod section;
pub mod stream;
pub mod text;
mod variants;

pub use quantity::{Bytes, Rate, SimTime};
pub use range::TimeRange;
pub use text::QuantityError;
