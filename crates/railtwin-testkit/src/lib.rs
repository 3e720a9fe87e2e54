//! What tests and benches of several crates are made of.
//!
//! * [`fabrics`]: hosts, small fabrics, and their parts by name.
//! * [`works`]: who sends to whom, and plans of one pattern.
//! * [`cases`]: work on a fabric, ready for an engine.
//! * [`closed_forms`]: what a message, a ring and a queue take, by arithmetic.
//! * [`draws`]: ways of hashing and dead links for property tests.
//!
//! A dev-dependency only. Below the engine use it in `tests/` and benches: a unit test would meet its own crate a
//! second time, with types that are not its own.
//!
//! ```
//! use railtwin_testkit::closed_forms::{BYTE, US, tandem, wire};
//! use railtwin_testkit::{cases, fabrics};
//!
//! let fabric = fabrics::leaf_spine(2, 1, 1, (100, 100), 1_000);
//! let case = cases::pairs(fabric, &[(0, 1)], 4_096);
//! assert_eq!(case.placements[0].len(), 2);
//! // One packet of 4,178 B over four hops.
//! assert_eq!(tandem(&wire(4_096), &[(BYTE, US); 4]), 4 * (4_178 * BYTE + US));
//! ```
pub mod cases;
pub mod closed_forms;
pub mod draws;
pub mod fabrics;
pub mod works;

use railtwin_units::SimTime;

/// So many microseconds.
pub const fn us(us: u64) -> SimTime {
    SimTime::from_ns(1_000 * us)
}

/// So many milliseconds.
pub const fn ms(ms: u64) -> SimTime {
    us(1_000 * ms)
}

/// Whether two numbers are one, up to a share of the larger and a rest.
pub fn near(a: f64, b: f64, relative: f64, absolute: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs()) + absolute
}
