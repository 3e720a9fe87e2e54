//! Statistics that single outliers cannot move.

/// 1.4826 turns the median absolute deviation of normal values into their standard deviation.
const NORMAL: f64 = 1.4826;

/// The median; the mean of the two in the middle of an even number; none of nothing. Reorders `values`.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    if count % 2 == 1 {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).expect("an even number has a lower half");
    Some(lower.midpoint(upper))
}

/// Median and robust standard deviation (1.4826 times the median absolute deviation). Reorders `values`.
pub fn spread(values: &mut [f64]) -> Option<(f64, f64)> {
    let center = median(values)?;
    for value in values.iter_mut() {
        *value = (*value - center).abs();
    }
    Some((center, NORMAL * median(values)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_moves_neither() {
        let mut values = [1.0, 2.0, 3.0, 4.0, 1e9];
        assert_eq!(spread(&mut values), Some((3.0, NORMAL)));
        assert_eq!(median(&mut [4.0, 1.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }
}
