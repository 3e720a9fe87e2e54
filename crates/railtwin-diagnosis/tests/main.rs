//! All tests of `railtwin-diagnosis` beside its unit tests: one program, built and linked once.

mod collisions;
mod common;
mod hang;
mod hang_dumps;
mod rules;
mod slow_messages;
mod slow_operations;
mod slow_ranks;
mod what_if;
mod wiring;
mod wiring_audit;
