//! From an intent to the fabrics that meet it.
pub mod facts;
