//! Figures over several lifetimes.

/// A figure's values over lifetimes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The median; for an even number of values the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// Returns the spread of values; none of no values.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut all: Vec<f64> = values.collect();
        all.sort_by(f64::total_cmp);
        let (&least, &most) = (all.first()?, all.last()?);
        let middle = all.len() / 2;
        let median =
            if all.len() % 2 == 1 { all[middle] } else { f64::midpoint(all[middle - 1], all[middle]) };
        Some(Self { median, least, most })
    }
}
