//! Memory and time of the table, before its rows are run.
use std::collections::BTreeMap;

use super::points::Points;
use super::{Reproduced, prepared};
use railtwin::Error;
use railtwin::cost::Cost;

/// Seconds of the calculations that take more than [`REST_S`], measured on two cores.
const CALCULATIONS: [(&str, f64); 9] = [
    ("crux-cases", 24.0),
    ("crux-clos", 18.0),
    ("crux-clos-losses", 20.0),
    ("crux-double-sided", 2.2),
    ("crux-schedulers", 12.0),
    ("crux-testbed-gpt-bert", 2.2),
    ("crux-testbed-mixed", 1.7),
    ("crux-testbed-pcie", 1.8),
    ("gpt3-and-bert-settings", 5.0),
];
/// Seconds of any other calculation.
const REST_S: f64 = 0.2;
/// Bytes of a calculation: cases, jobs and links of the largest, `crux-clos`.
const OF_CALCULATION: f64 = 45e6;

/// Cost of the rows with `wanted` ids (all when empty), as [`super::reproduce_where`] runs them on so many cores.
///
/// # Errors
/// Those of [`super::reproduce`].
pub fn cost(
    wanted: &[String],
    keep: &dyn Fn(&Reproduced) -> bool,
    full: bool,
    cores: usize,
) -> Result<Cost, Error> {
    let (rows, points_of): (_, BTreeMap<String, Points>) = prepared(wanted, keep, full)?;
    let mut all = Cost::least("no rows");
    for points in points_of.values() {
        all = all.then(&points.cost(cores)?);
    }
    Ok(Cost {
        rows: format!("{} rows from {} scenarios and calculations", rows.len(), points_of.len()),
        ..all
    })
}

/// Cost of a calculation, by its name.
pub(super) fn of_calculation(name: &str) -> Cost {
    let seconds =
        CALCULATIONS.iter().find(|(known, _)| *known == name).map_or(REST_S, |&(_, seconds)| seconds);
    Cost { rows: name.to_owned(), bytes: OF_CALCULATION, seconds, remedy: "fewer rows" }
}
