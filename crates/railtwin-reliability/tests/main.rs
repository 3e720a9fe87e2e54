//! All tests of `railtwin-reliability` beside its unit tests: one program, built and linked once.

mod lifetime;
