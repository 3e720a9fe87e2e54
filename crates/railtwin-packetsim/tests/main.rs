//! All tests of `railtwin-packetsim` beside its unit tests: one program, built and linked once.

mod against_flow;
mod astra_analytical;
mod closed_forms;
mod collectives;
mod congestion;
mod counters;
mod defaults;
mod determinism;
mod dynamic_split;
mod host_costs;
mod intranode;
mod kit;
mod laws;
mod losses;
mod outages;
mod priorities;
mod probes;
mod rate_laws;
mod stalls;
mod troubles;
