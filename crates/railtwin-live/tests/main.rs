//! Tests of the judge on records.
#![allow(clippy::disallowed_methods, reason = "recordings lie in files")]
mod damaged;
mod made;
mod recordings;
mod score;
