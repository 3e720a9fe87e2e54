//! Run folders: what a run leaves behind, readable while it goes on and comparable afterwards.
//!
//! * [`run_folder`]: [`RunFolder`], one folder per run with one writer; nothing half-written is ever visible in it.
//! * [`run_info`]: [`RunInfo`], the `run.json` of a run.
//! * [`table_writer`]: [`TableWriter`], tables that grow part by part during a long run.
//! * [`parquet_write`], [`parquet_read`]: one table as one Parquet file, sealed by a checksum.
//! * [`parquet_foreign`]: flat Parquet files of other programs as tables.
//! * [`content`]: [`content_hash`], the identity of a table's rows whatever file holds them.
//! * [`run_id`](mod@run_id): the name of a run, from its case and engine.
//! * [`compare`](mod@compare): two runs side by side.
//! * [`sweep_index`]: [`SweepIndex`], which cases of a sweep are done.
//! * [`input`]: files that a person names, read: regular ones, up to a size.
//! * [`atomic`]: [`write_whole`], files that appear whole or not at all.
//! * [`printable`](mod@printable): text from outside as it may be printed.
//! * [`docs`]: the reference page of the run folder, made from the code.
//!
//! ```
//! use railtwin_records::{Column, Table};
//! use railtwin_store::{parquet_read, parquet_write};
//! let table = Table::new("steps", vec![Column::u64("duration_ps", vec![12, 13])]);
//! let bytes = parquet_write::encode(&table)?;
//! let again = parquet_read::decode("steps.parquet".as_ref(), bytes)?;
//! assert_eq!(again, table);
//! # Ok::<(), railtwin_store::StoreError>(())
//! ```
#![allow(clippy::disallowed_methods, reason = "the store is the one library crate that touches files")]

pub mod atomic;
mod belongings;
mod columns;
pub mod compare;
pub mod content;
pub mod docs;
pub mod error;
pub mod input;
mod lock;
pub mod parquet_foreign;
pub mod parquet_read;
pub mod parquet_write;
pub mod printable;
pub mod run_folder;
pub mod run_id;
pub mod run_info;
mod seal;
pub mod sweep_index;
pub mod table_writer;

pub use atomic::write_whole;
pub use compare::{Comparison, compare};
pub use content::content_hash;
pub use error::StoreError;
pub use printable::{one_line, printable};
pub use run_folder::RunFolder;
pub use run_id::run_id;
pub use run_info::{Figure, RunInfo, Status};
pub use sweep_index::SweepIndex;
pub use table_writer::TableWriter;
