//! All tests of the calibration beside its unit tests: one program.

mod bandwidth;
