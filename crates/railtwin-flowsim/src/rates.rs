//! Rates of patterns that move together.

/// Rates of all bundles of some patterns, in order; and of their strands under a dynamic split.
#[derive(Debug)]
pub struct Rates {
    /// Bytes per second by bundle; 0 for those that are done.
    pub bundles: Vec<f64>,
    /// Strand of the table and bytes per second of those that move, under a dynamic split only. A course of many
    /// phases keeps them for each: links are looked up where they are wanted.
    pub strands: Vec<(u32, f64)>,
}
