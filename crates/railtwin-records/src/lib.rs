//! Every row that railtwin emits or ingests.
//!
//! A [`Table`] is a name and columns of equal length; units stand in column names
//! (`start_ps`, `capacity_bits_per_s`, `bytes`). The tables of a run are declared in [`run`].
//!
//! ```
//! use railtwin_records::{Column, Table};
//! let table = Table::new("steps", vec![Column::u64("step", vec![0]), Column::u64("duration_ps", vec![12])]);
//! assert_eq!(table.rows(), 1);
//! ```
pub mod run;
pub mod table;

pub use table::{Column, ColumnData, Table};

/// Version of the record tables: raised by one whenever a column is added, removed or changes meaning.
pub const SCHEMA: u32 = 1;
