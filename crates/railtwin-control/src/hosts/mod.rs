//! What can be done with hosts and their GPUs: actions on them go through here, whoever decides.
//!
//! * [`Wards`]: hosts of one job over its life, spares, and hosts that are out.
//! * [`Room`]: free GPUs of a cluster, and jobs that wait for them.
mod room;
mod wards;

pub use self::room::Room;
pub use self::wards::Wards;
