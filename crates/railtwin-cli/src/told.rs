//! What stands under the figures of runs: what they assumed, and what a reader ought to know.
use std::io::{Result, Write};

use crate::label::label_text;
use crate::run::Point;

/// Lines `assumed` for what all points share, and `warning` for what one has, with its label where there are several.
pub(crate) fn write(points: &[Point], out: &mut dyn Write) -> Result<()> {
    let assumed = |point| railtwin::assumed::of_info(point);
    let of_first = points.first().map_or_else(Vec::new, |point| assumed(&point.info));
    let shared = |line: &&str| points.iter().all(|point| assumed(&point.info).contains(line));
    for line in of_first.into_iter().filter(shared) {
        writeln!(out, "assumed  {line}")?;
    }
    for point in points {
        for warning in &point.info.warnings {
            match points.len() {
                1 => writeln!(out, "warning  {warning}")?,
                _ => writeln!(out, "warning  {}: {warning}", label_text(&point.label))?,
            }
        }
    }
    Ok(())
}
