//! All tests of `railtwin-routing` beside its unit tests: one program, built and linked once.

mod designs;
mod fabrics;
mod forwarding;
mod queue_pairs;
mod selection;
mod steering;
mod tiers;
mod toeplitz_rss;
