//! All tests of `railtwin-control` beside its unit tests: one program, built and linked once.

mod allocation;
mod crux;
mod crux_controller;
mod disjoint;
mod fabrics;
mod host_agent;
mod placement;
mod probing;
mod rank_order;
mod selection;
mod steering;
mod te_controller;
mod te_engine;
mod tenants;
