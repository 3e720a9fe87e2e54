//! Decimal numbers in text, scaled to whole units by exact arithmetic.

/// Why a decimal number has no value in whole units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecimalError {
    /// It is not digits with at most one point.
    Malformed,
    /// It is above zero and below one unit.
    BelowOne,
    /// It is above 2^64 - 1 units.
    TooLarge,
}

/// Returns `number`, digits with at most one point, times `scale`, rounded to the nearest whole number (a half goes up).
///
/// The product is exact whatever the count of digits. What is above zero is never rounded to zero.
///
/// ```
/// use railtwin_units::decimal::{DecimalError, scaled};
/// assert_eq!(scaled("1.0000000000000", 1_000_000_000_000), Ok(1_000_000_000_000));
/// assert_eq!(scaled("0.0000000000001", 1_000_000_000_000), Err(DecimalError::BelowOne));
/// ```
pub fn scaled(number: &str, scale: u64) -> Result<u64, DecimalError> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && decimals.is_empty()) || !is_digits(whole) || !is_digits(decimals) {
        return Err(DecimalError::Malformed);
    }
    let units =
        whole.bytes().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    let units = units.and_then(|units| units.checked_mul(scale)).ok_or(DecimalError::TooLarge)?;
    let (part, is_half, is_inexact) = fraction(decimals, scale);
    if units == 0 && part == 0 && is_inexact {
        return Err(DecimalError::BelowOne);
    }
    units.checked_add(part + u64::from(is_half)).ok_or(DecimalError::TooLarge)
}

/// `0.decimals` times `scale`: the whole part, whether the rest is a half or more, and whether there is a rest.
fn fraction(decimals: &str, scale: u64) -> (u64, bool, bool) {
    let (mut part, mut is_half, mut is_inexact) = (0_u64, false, false);
    for digit in decimals.bytes().rev() {
        let sum = u128::from(digit - b'0') * u128::from(scale) + u128::from(part);
        // Less than `scale`: it is a tenth of at most 9 times `scale` and a part below it.
        part = (sum / 10) as u64;
        let rest = sum % 10;
        (is_half, is_inexact) = (rest >= 5, rest > 0 || is_inexact);
    }
    (part, is_half, is_inexact)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_digits_with_one_point_are_numbers() {
        for text in ["", ".", "1.2.3", "-1", "+1", "1e3", "1_0", " 1", "inf", "NaN", "٣"] {
            assert_eq!(scaled(text, 10), Err(DecimalError::Malformed), "{text}");
        }
        assert_eq!((scaled("5.", 10), scaled(".5", 10), scaled("0.0", 10)), (Ok(50), Ok(5), Ok(0)));
        assert_eq!(scaled("18446744073709551615", 1), Ok(u64::MAX));
        for text in ["18446744073709551616", "18446744073709551615.5", &"9".repeat(400)] {
            assert_eq!(scaled(text, 1), Err(DecimalError::TooLarge), "{text}");
        }
    }

    proptest! {
        /// Against whole numbers of 128 bits: up to 18 decimals fit there.
        #[test]
        fn products_are_those_of_whole_numbers(
            digits in 0_u64..1_000_000_000_000_000_000,
            decimals in 0_usize..19,
            scale in prop::sample::select(vec![1_u64, 8_000, 1 << 30, 1_000_000_000_000, 3_600_000_000_000_000]),
        ) {
            let (ten, power) = (u128::from(digits), 10_u128.pow(decimals as u32));
            let text = format!("{}.{:0decimals$}", ten / power, ten % power);
            // Without decimals the format still writes one zero behind the point.
            let exact = ten * u128::from(scale);
            let wanted = match (exact * 2 + power) / (power * 2) {
                _ if exact > 0 && exact < power => Err(DecimalError::BelowOne),
                sum => u64::try_from(sum).map_err(|_| DecimalError::TooLarge),
            };
            prop_assert_eq!(scaled(&text, scale), wanted, "{}", text);
        }

        /// Zeros at the end change nothing, and what is behind a half lifts it.
        #[test]
        fn zeros_at_the_end_change_nothing(digits in 0_u64..1_000_000_000, zeros in 0_usize..60) {
            let (long, short) = (format!("7.{digits:09}{}", "0".repeat(zeros)), format!("7.{digits:09}"));
            prop_assert_eq!(scaled(&long, 1_000_000_000), Ok(7_000_000_000 + digits));
            prop_assert_eq!(scaled(&long, 3_600), scaled(&short, 3_600));
            let below = format!("0.4{}", "9".repeat(zeros));
            prop_assert_eq!(scaled(&format!("3{}", &below[1..]), 1), Ok(3));
            prop_assert_eq!(scaled(&format!("3.5{}1", "0".repeat(zeros)), 1), Ok(4));
        }
    }
}
