//! All tests of `railtwin-formats` beside its unit tests: one program, built and linked once.

mod cable_list;
mod chakra;
mod chakra_plan;
mod frames;
mod htsim;
mod job_list;
mod lingjun;
mod lingjun_fabric;
mod simai;
mod simai_topology;
mod telemetry_formats;
mod telemetry_fuzz;
mod telemetry_real;
mod telemetry_skip;
