//! Parts of a network and what each costs, draws and reaches.
//!
//! The table is TOML that a user edits: every line names its `source`, or says which of its figures are `assumed`.
//! Totals carry the assumed share along, so that nobody takes a guess for a quotation.
//!
//! * [`Catalog`]: the parts by name; [`Catalog::builtin`] is the table of this crate, [`Catalog::with`] overrides its
//!   lines.
//! * [`part`]: a line of the table.
//! * [`media`]: the cheapest optics and cable that reach.
//! * [`bill`]: parts counted, with their price and power.
//!
//! ```
//! use railtwin_catalog::Catalog;
//! use railtwin_units::Rate;
//! let catalog = Catalog::builtin();
//! let choice = catalog.media(Rate::from_gbps(400), 2.0).unwrap();
//! assert_eq!(choice.cable.name, "400g-dac");
//! assert!(choice.optic.is_none());
//! ```
pub mod bill;
mod catalog;
mod error;
pub mod media;
mod money;
pub mod part;
mod read;

pub use bill::{Bill, BillLine, BillScope};
pub use catalog::Catalog;
pub use error::CatalogError;
pub use media::{LinkMedia, MediaError};
pub use money::{Money, Power};
pub use part::{Medium, Part, PartKind, PriceShare};
