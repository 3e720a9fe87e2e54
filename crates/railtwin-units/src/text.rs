//! Quantities as people write them: a number, a space, a unit.
//!
//! Rates are decimal (`Gbps` = 10^9 bits per second); `GB/s` is 10^9 bytes per second.
//! Sizes are decimal (`GB`) or binary (`GiB`) as written; nothing is guessed.
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _};

use crate::quantity::{Bytes, Rate, SimTime};

/// A quantity that could not be read: what was expected and what stood there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    what: &'static str,
    found: String,
    accepted: &'static str,
}

impl QuantityError {
    /// Of a text that is neither a time nor a range of times.
    pub(crate) fn of_range(text: &str) -> Self {
        let accepted = "a time such as \"10 ms\", or two with the shorter first, such as \"5 ms to 20 ms\"";
        Self { what: "range of times", found: text.to_owned(), accepted }
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, accepted } = self;
        write!(out, "{found:?} is not a {what}; write {accepted}")
    }
}

impl std::error::Error for QuantityError {}

const TIME_UNITS: &[(&str, f64)] =
    &[("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12), ("min", 60e12), ("h", 3600e12)];
const SIZE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
const RATE_UNITS: &[(&str, f64)] = &[
    ("bps", 1.0),
    ("kbps", 1e3),
    ("Kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("Tbps", 1e12),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
    ("TB/s", 8e12),
    ("GiB/s", 8.0 * 1_073_741_824.0),
];

const TIME: (&str, &str) = ("time", "a number and ps, ns, us, ms, s, min or h, such as \"1.5 us\"");
const SIZE: (&str, &str) =
    ("size", "a number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as \"64 MiB\"");
const RATE: (&str, &str) =
    ("rate", "a number and bps, kbps, Mbps, Gbps, Tbps, MB/s, GB/s, TB/s or GiB/s, such as \"400 Gbps\"");

/// Splits `text` into number and unit and scales it; whole results up to 2^53 are exact.
fn parse_scaled(
    text: &str,
    units: &[(&str, f64)],
    (what, accepted): (&'static str, &'static str),
) -> Result<u64, QuantityError> {
    let error = || QuantityError { what, found: text.to_owned(), accepted };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).ok_or_else(error)?;
    let number: f64 = trimmed[..split].replace('_', "").parse().map_err(|_| error())?;
    let unit = trimmed[split..].trim();
    let (_, scale) = units.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
    let value = number * scale;
    if !value.is_finite() || value > 9e18 {
        return Err(error());
    }
    Ok(value.round() as u64)
}

/// Writes `value` in the largest of `units` that keeps at least one whole digit.
fn write_scaled(
    out: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(&str, f64)],
    names: &[&str],
) -> fmt::Result {
    let value = value as f64;
    let mut best = units.iter().find(|(name, _)| *name == names[0]).copied().unwrap_or(("", 1.0));
    for name in names {
        if let Some(&(unit, scale)) = units.iter().find(|(unit, _)| unit == name)
            && value >= scale
        {
            best = (unit, scale);
        }
    }
    let scaled = value / best.1;
    match out.precision() {
        Some(digits) => write!(out, "{scaled:.digits$} {}", best.0),
        None => write!(out, "{scaled} {}", best.0),
    }
}

macro_rules! textual {
    ($type:ident, $units:ident, $meta:ident, $names:expr, $to:expr, $from:expr) => {
        impl FromStr for $type {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                parse_scaled(text, $units, $meta).map($from)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_scaled(out, $to(*self), $units, $names)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(out, "a {} as text: {}", $meta.0, $meta.1)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                input.deserialize_str(Text).map_err(D::Error::custom)
            }
        }
    };
}

textual!(SimTime, TIME_UNITS, TIME, &["ps", "ns", "us", "ms", "s"], SimTime::ps, SimTime::from_ps);
textual!(Bytes, SIZE_UNITS, SIZE, &["B", "KiB", "MiB", "GiB", "TiB"], |b: Bytes| b.0, Bytes);
textual!(
    Rate,
    RATE_UNITS,
    RATE,
    &["bps", "kbps", "Mbps", "Gbps", "Tbps"],
    Rate::bits_per_s,
    Rate::from_bits_per_s
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_as_written() {
        assert_eq!("400 Gbps".parse(), Ok(Rate::from_gbps(400)));
        assert_eq!("50 GB/s".parse(), Ok(Rate::from_gbps(400)));
        assert_eq!("1.5 us".parse(), Ok(SimTime::from_ps(1_500_000)));
        assert_eq!("64MiB".parse(), Ok(Bytes(64 << 20)));
        assert_eq!("1_000 B".parse(), Ok(Bytes(1000)));
    }

    #[test]
    fn a_wrong_unit_names_what_is_accepted() {
        let error = "400 GB".parse::<Rate>().expect_err("a size is not a rate");
        assert_eq!(
            error.to_string(),
            "\"400 GB\" is not a rate; write a number and bps, kbps, Mbps, Gbps, Tbps, MB/s, GB/s, TB/s or \
             GiB/s, such as \"400 Gbps\""
        );
        assert!("".parse::<Bytes>().is_err());
        assert!("12".parse::<Bytes>().is_err());
        assert!("-1 s".parse::<SimTime>().is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<SimTime>();
        }

        #[test]
        fn whole_quantities_survive_text(value in 0u64..1 << 50) {
            let error = |a: u64, b: u64| a.abs_diff(b) as f64 / (1.0 + a as f64);
            prop_assert!(error(value, Bytes(value).to_string().parse::<Bytes>().unwrap().0) < 1e-15);
            let rate = Rate::from_bits_per_s(value);
            prop_assert!(error(value, rate.to_string().parse::<Rate>().unwrap().bits_per_s()) < 1e-15);
        }
    }
}
