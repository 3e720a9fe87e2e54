//! Whole inputs through all stages of a diagnosis.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod reports;
