//! Linear least squares by Householder reflections, and how far a solution is known.

/// Parts of a column that are left once those before it explain it: below this share of the column nothing is.
const SINGULAR: f64 = 1e-12;

/// What fits best.
#[derive(Clone, PartialEq, Debug)]
pub struct Solution {
    /// A value for each column.
    pub values: Vec<f64>,
    /// By column: standard deviation of its value where each row errs with one of 1; square roots of the diagonal of the
    /// inverse of `AᵀA`. Very large where the rows do not tell it.
    pub spread: Vec<f64>,
}

/// The values that make `rows * values` least different from `right`, by the sum of squares. Columns that say nothing get
/// 0.
///
/// # Panics
/// When rows are not equally long, or fewer than columns, or not as many as `right` has values.
pub fn solve(rows: &[Vec<f64>], right: &[f64]) -> Solution {
    let columns = rows.first().map_or(0, Vec::len);
    assert!(
        rows.len() >= columns && rows.len() == right.len(),
        "as many rows as values, no fewer than columns"
    );
    let mut a: Vec<Vec<f64>> = rows.to_vec();
    let mut b = right.to_vec();
    // Columns of one length: what is small then is explained by others, and not by its unit.
    let norm = |a: &[Vec<f64>], column: usize, from: usize| -> f64 {
        a[from..].iter().map(|row| row[column] * row[column]).sum::<f64>().sqrt()
    };
    let scales: Vec<f64> = (0..columns).map(|column| norm(&a, column, 0)).collect();
    for row in &mut a {
        for (value, &scale) in row.iter_mut().zip(&scales) {
            *value = if scale > 0.0 { *value / scale } else { 0.0 };
        }
    }
    for column in 0..columns {
        let length = norm(&a, column, column);
        if length <= SINGULAR {
            a[column][column] = SINGULAR;
            continue;
        }
        let alpha = if a[column][column] > 0.0 { -length } else { length };
        let mut reflector: Vec<f64> = a[column..].iter().map(|row| row[column]).collect();
        reflector[0] -= alpha;
        let square: f64 = reflector.iter().map(|value| value * value).sum();
        for other in column..columns {
            let dot: f64 = reflector.iter().zip(&a[column..]).map(|(v, row)| v * row[other]).sum();
            for (v, row) in reflector.iter().zip(&mut a[column..]) {
                row[other] -= 2.0 * dot / square * v;
            }
        }
        let dot: f64 = reflector.iter().zip(&b[column..]).map(|(v, value)| v * value).sum();
        for (v, value) in reflector.iter().zip(&mut b[column..]) {
            *value -= 2.0 * dot / square * v;
        }
    }
    // The triangle above is R: back from its last row, for the values and for each column of its inverse.
    let back = |right: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let mut values = vec![0.0; columns];
        for row in (0..columns).rev() {
            let known: f64 = (row + 1..columns).map(|column| a[row][column] * values[column]).sum();
            values[row] = (right(row) - known) / a[row][row];
        }
        values
    };
    let told = |row: usize| a[row][row].abs() > SINGULAR;
    let mut values = back(&|row| if told(row) { b[row] } else { 0.0 });
    let mut squares = vec![0.0; columns];
    for unit in 0..columns {
        let inverse = back(&|row| if row == unit { 1.0 } else { 0.0 });
        squares.iter_mut().zip(inverse).for_each(|(sum, value)| *sum += value * value);
    }
    for (value, &scale) in values.iter_mut().zip(&scales) {
        *value = if scale > 0.0 { *value / scale } else { 0.0 };
    }
    let spread = squares.iter().zip(&scales);
    Solution {
        values,
        spread: spread
            .map(|(square, scale)| if *scale > 0.0 { square.sqrt() / scale } else { f64::MAX })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_and_how_far_it_is_known() {
        let rows: Vec<Vec<f64>> = (0..5).map(|x| vec![1.0, f64::from(x)]).collect();
        let found = solve(&rows, &[1.0, 3.0, 5.0, 7.0, 9.0]);
        assert!((found.values[0] - 1.0).abs() < 1e-12 && (found.values[1] - 2.0).abs() < 1e-12);
        // The textbook's: 1 / sum of squares about the mean for the slope, 1/n + mean^2 / that for the other.
        assert!((found.spread[1] - (1.0_f64 / 10.0).sqrt()).abs() < 1e-12);
        assert!((found.spread[0] - (0.2_f64 + 4.0 / 10.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_rows_do_not_tell_is_known_as_such() {
        let rows: Vec<Vec<f64>> = (1..6).map(|x| vec![f64::from(x), 2.0 * f64::from(x), 0.0]).collect();
        let found = solve(&rows, &[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(found.spread.iter().all(|&spread| spread > 1e6), "{:?}", found.spread);
        assert!((found.values[0] + 2.0 * found.values[1] - 1.0).abs() < 1e-9, "{:?}", found.values);
        assert!(found.values[2].abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn nothing_near_it_fits_better(
            rows in prop::collection::vec(prop::collection::vec(-10.0_f64..10.0, 3), 4..12),
            right in prop::collection::vec(-10.0_f64..10.0, 12),
            step in prop::collection::vec(-1e-3_f64..1e-3, 3),
        ) {
            let right = &right[..rows.len()];
            let found = solve(&rows, right);
            prop_assume!(found.spread.iter().all(|&spread| spread < 1e3));
            let squares = |values: &[f64]| -> f64 {
                let of = |row: &Vec<f64>| row.iter().zip(values).map(|(a, x)| a * x).sum::<f64>();
                rows.iter().zip(right).map(|(row, b)| (of(row) - b).powi(2)).sum()
            };
            let near: Vec<f64> = found.values.iter().zip(&step).map(|(value, step)| value + step).collect();
            prop_assert!(squares(&found.values) <= squares(&near) * (1.0 + 1e-9) + 1e-9);
        }
    }
}
