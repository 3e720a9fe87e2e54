//! Every row that railtwin emits or ingests.
//!
//! A [`Table`] is a name and columns of equal length; units stand in column names
//! (`start_ps`, `capacity_bits_per_s`, `bytes`). The tables of a run are declared in [`run`].
//!
//! Telemetry, simulated, imported or live, is [`telemetry`] over a [`directory`]; [`mod@fault`] names what can be wrong and
//! [`finding`] what diagnosis says of it, with typed evidence ([`mod@seen`]).
//!
//! ```
//! use railtwin_records::{Column, Table};
//! let table = Table::new("steps", vec![Column::u64("step", vec![0]), Column::u64("duration_ps", vec![12])]);
//! assert_eq!(table.rows(), 1);
//! ```
pub mod component;
pub mod directory;
pub mod fault;
pub mod finding;
pub mod finding_tables;
pub mod observation;
pub mod run;
pub mod seen;
pub mod table;
pub mod telemetry;
pub mod telemetry_read;
pub mod telemetry_tables;

pub use component::Component;
pub use directory::{
    CommunicatorInfo, Directory, EntityInfo, FlowInfo, HostInfo, NeighborInfo, OperationShape, RankInfo,
};
pub use fault::{FaultCause, FaultKind, Truth};
pub use finding::{Action, ActionKind, Cost, Finding, Since, Suspect, Syndrome};
pub use observation::Observation;
pub use seen::{Evidence, Seen, SourceLine};
pub use table::{Column, ColumnData, Table};
pub use telemetry::{
    Batch, Counter, CounterColumns, MessageColumns, NOT_YET, OperationColumns, ProbeColumns,
};

/// Version of the record tables: raised by one whenever a column is added, removed or changes meaning.
pub const SCHEMA: u32 = 1;
