//! Numbers of a headline, written as the tiles and tables of a report write them, so that they are found there.

/// Times in seconds: unit and how many seconds it has.
const TIMES: [(f64, &str); 5] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps")];
const RATES: [(f64, &str); 5] = [(1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")];

/// Units of bytes, as tables have them.
const BYTES: [(f64, &str); 5] =
    [(1024.0 * GIB, "TiB"), (GIB, "GiB"), (1024.0 * 1024.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// A value with a fitting unit: times with four digits, rates with three, ratios in percent, counts in groups of
/// three digits.
pub fn shown(value: f64, unit: &str) -> String {
    shown_to(value, unit, 0)
}

/// Two values with their unit; with more digits than [`shown`] has where they read the same and are not.
pub fn apart(values: [f64; 2], unit: &str) -> [String; 2] {
    let texts = (0..=MORE_DIGITS).map(|more| values.map(|value| shown_to(value, unit, more)));
    let found = texts.into_iter().find(|[a, b]| a != b);
    found.unwrap_or_else(|| values.map(|value| shown(value, unit)))
}

/// Digits beyond those of [`shown`] at most.
const MORE_DIGITS: i32 = 6;

fn shown_to(value: f64, unit: &str, more: i32) -> String {
    match unit {
        "s" => scaled(value, &TIMES, 4 + more),
        "bits_per_s" => scaled(value, &RATES, 3 + more),
        "bytes" => scaled(value, &BYTES, 3 + more),
        "1/s" => format!("{} /s", significant(value, 4 + more)),
        "ratio" => percent(value, more),
        "count" => grouped(&format!("{value:.0}")),
        _ => significant(value, 4 + more),
    }
}

/// A whole number in groups of three digits.
pub fn whole(value: u64) -> String {
    grouped(&value.to_string())
}

/// Seconds.
pub fn time(seconds: f64) -> String {
    shown(seconds, "s")
}

/// A ratio in percent: two decimals below 1 %, else one, and so many more.
fn percent(ratio: f64, more: i32) -> String {
    let value = 100.0 * ratio;
    let size = value.abs();
    let least = 10_f64.powi(-2 - more);
    match size {
        0.0 => "0 %".to_owned(),
        _ if size < least => format!("less than {least:.digits$} %", digits = (2 + more) as usize),
        _ => format!("{value:.digits$} %", digits = (if size < 1.0 { 2 } else { 1 } + more) as usize),
    }
}

fn scaled(value: f64, steps: &[(f64, &str)], digits: i32) -> String {
    if value == 0.0 {
        let (_, unit) = steps.iter().find(|(step, _)| *step == 1.0).copied().unwrap_or((1.0, ""));
        return format!("0 {unit}");
    }
    // 0.9995 of a step rounds up to the step itself, so it is shown in that step.
    let fits = steps.iter().find(|(step, _)| value.abs() >= step * 0.9995).or(steps.last());
    let (step, unit) = fits.copied().unwrap_or((1.0, ""));
    format!("{} {unit}", significant(value / step, digits))
}

/// So many significant digits, without an exponent.
fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // Of the rounded value: 999.96 with three digits is 1000, not 1000.0.
    let magnitude = |value: f64| value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits - 1 - magnitude(value));
    let rounded = (value * scale).round() / scale;
    let decimals = (digits - 1 - magnitude(rounded)).clamp(0, 12) as usize;
    grouped(&format!("{value:.decimals$}"))
}

/// Commas between groups of three digits before the point, from five digits on.
fn grouped(digits: &str) -> String {
    let (sign, number) = digits.strip_prefix('-').map_or(("", digits), |number| ("-", number));
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(a, b)| (a, Some(b)));
    let mut text = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && whole.len() > 4 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    fraction.map_or(text.clone(), |fraction| format!("{text}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::{apart, shown, whole};

    #[test]
    fn two_values_have_as_many_digits_as_tell_them_apart() {
        assert_eq!(apart([6.142e9, 6.139e9], "bits_per_s"), ["6.142 Gbps", "6.139 Gbps"]);
        assert_eq!(apart([2.0, 1.0], "s"), ["2.000 s", "1.000 s"]);
        assert_eq!(apart([2.0, 2.0], "s"), ["2.000 s", "2.000 s"]);
        assert_eq!(apart([0.998_41, 0.998_43], "ratio"), ["99.841 %", "99.843 %"]);
    }

    #[test]
    fn numbers_are_written_as_tiles_write_them() {
        let cases = [
            (8.460_499, "s", "8.460 s"),
            (0.588, "s", "588.0 ms"),
            (0.999_96, "s", "1.000 s"),
            (12.5, "s", "12.50 s"),
            (2_000.0, "s", "2000 s"),
            (0.0, "s", "0 s"),
            (24.53e9, "bits_per_s", "24.5 Gbps"),
            (399.95e9, "bits_per_s", "400 Gbps"),
            (0.998, "ratio", "99.8 %"),
            (0.0037, "ratio", "0.37 %"),
            (1e-6, "ratio", "less than 0.01 %"),
            (-0.1427, "ratio", "-14.3 %"),
            (15_183.0, "count", "15,183"),
            (3.333_33, "", "3.333"),
            (5_478_375_424.0, "bytes", "5.10 GiB"),
            (502_788.0, "1/s", "502,788 /s"),
        ];
        for (value, unit, expected) in cases {
            assert_eq!(shown(value, unit), expected);
        }
        assert_eq!(
            (whole(278_984), whole(999), whole(1_000)),
            ("278,984".into(), "999".into(), "1000".into())
        );
    }
}
