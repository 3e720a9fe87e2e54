//! All tests of `railtwin-fabric` beside its unit tests: one program, built and linked once.

mod large;
