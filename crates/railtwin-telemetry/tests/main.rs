//! All tests of `railtwin-telemetry` beside its unit tests: one program, built and linked once.

mod against_flow;
mod edge_rates;
mod kit;
mod laws;
mod ports;
