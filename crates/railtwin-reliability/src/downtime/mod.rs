//! Downtime: incidents booked by C4's four causes, and what to expect from failure rates.
//!
//! * [`book`]: incidents of jobs into an [`Account`] of time.
//! * [`Plan`]: expected downtime in closed form; [`simulate`]: the same by lot.
//! * [`interval`]: how often to checkpoint; [`spares`]: how many hosts to keep ready.
//! * [`table3`]: C4's table beside what its rates and times come to.
//! * [`history`]: the file of such a history, and the one that is shipped.
//! * [`replay`]: hosts out of service in a recorded history of faults.
//! * [`leaves`]: what two leaves to a NIC save.
//!
//! Times are hours unless a name says otherwise.
mod account;
mod book;
pub mod history;
pub mod interval;
pub mod leaves;
mod monte_carlo;
mod plan;
pub mod replay;
pub mod spares;
pub mod table3;

pub use account::{Account, Part};
pub use book::{Booking, BookingError, Incident, What, book};
pub use monte_carlo::{Simulated, simulate};
pub use plan::{Expected, Plan, Sensitivity};
