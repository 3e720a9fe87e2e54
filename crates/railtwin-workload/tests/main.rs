//! All tests of `railtwin-workload` beside its unit tests: one program, built and linked once.

mod course;
