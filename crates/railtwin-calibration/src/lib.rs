//! railtwin-calibration: measured bandwidths against what hardware allows, and costs of collectives fitted to them.
//!
//! * [`bandwidth`]: whether bandwidths that nccl-tests measured are normal.
//! * [`mod@calibrate`]: the cost of collectives on a user's hosts, fitted to the same tests.
//! * [`tune`]: algorithm, protocol, channels and buffer for a network's round trip.
//! * [`least_squares`]: the values that fit measurements best, and how far they are known.
//! * [`products`]: the host model of a GPU by its product name.
pub mod bandwidth;
pub mod calibrate;
pub mod least_squares;
pub mod products;
pub mod tune;
