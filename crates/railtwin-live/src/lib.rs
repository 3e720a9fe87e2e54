//! Live records of real ranks, and the judge that follows them.
//!
//! 1. [`record`]: the schema, JSON lines; [`reader`]: files of them, with what was skipped.
//! 2. [`LiveJudge`]: takes records one at a time; [`LiveJudge::advance`] judges at a moment. [`replay::incidents`] does both for
//!    records of the past.
//! 3. [`LiveIncident`]: opened by a sign, updated, confirmed, closed; never repeated.
//!
//! Direct signs (a closed connection, heartbeats that cease, pings of one NIC that are all lost) open an incident, standing
//! still confirms it. Where the observer's own timer fires late it says so and accuses nobody.
//!
//! ```
//! use railtwin_live::{JudgeSettings, LiveKind, reader, replay};
//!
//! let lines = |rank: u32, peer: u32| {
//!     let text = format!(
//!         "{{\"k\":\"hb\",\"t\":100,\"seq\":7}}\n{{\"k\":\"err\",\"t\":900,\"side\":\"s\",\"peer\":{peer},\"errno\":104}}\n"
//!     );
//!     reader::read(text.as_bytes(), Some(rank))
//! };
//! let records = reader::merged([lines(0, 1), lines(2, 1)]);
//! let incidents = replay::incidents(&records, JudgeSettings::default());
//! assert_eq!(incidents[0].kind, LiveKind::KilledProcess);
//! assert_eq!(incidents[0].suspects[0].place.rank(), 1);
//! ```
mod incident;
mod judge;
pub mod reader;
pub mod record;
pub mod replay;

pub use incident::{LiveIncident, LiveKind, Suspect, SuspectPlace};
pub use judge::{JudgeSettings, LiveJudge};
