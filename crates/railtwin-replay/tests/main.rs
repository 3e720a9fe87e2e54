//! All tests of the crate in one program.
#![allow(clippy::disallowed_methods, reason = "scenarios lie in files")]
mod beside;
