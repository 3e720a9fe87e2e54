//! Tests of a watch as a whole: files that are written in pieces, jobs that run, what others ask for.
mod hooks;
mod live;
mod writer;
mod written;
