//! All tests of `railtwin-scenario` beside its unit tests: one program, built and linked once.

mod caps;
mod defaults;
mod failures;
mod faults;
mod golden;
mod lots;
mod packets;
mod parse;
mod placing;
mod property;
mod sizes;
mod sweep;
mod troubles;
