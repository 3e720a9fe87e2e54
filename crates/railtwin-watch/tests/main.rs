//! Tests of a watch as a whole: files that are written in pieces, jobs that run, what others ask for.
#![allow(clippy::disallowed_methods, reason = "tests: files are written and looked at, and jobs run now")]

mod hooks;
mod live;
mod writer;
mod written;
