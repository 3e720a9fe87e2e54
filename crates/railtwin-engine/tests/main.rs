//! All tests of `railtwin-engine` beside its unit tests: one program, built and linked once.

mod balancers;
