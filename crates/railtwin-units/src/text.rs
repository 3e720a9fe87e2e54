//! Quantities as people write them: a number, a space, a unit.
//!
//! Rates are decimal (`Gbps` = 10^9 bits per second); `GB/s` is 10^9 bytes per second.
//! Sizes are decimal (`GB`) or binary (`GiB`) as written; nothing is guessed.
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _};

use crate::decimal::{self, DecimalError};
use crate::quantity::{Bytes, Rate, SimTime};

/// Longest text that an error repeats, in characters.
const FOUND_CHARS_MAX: usize = 80;

/// A quantity that could not be read: the text, what is wrong with it, and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    found: String,
    is_malformed: bool,
    problem: String,
    accepted: String,
}

impl QuantityError {
    fn new(text: &str, is_malformed: bool, problem: String, accepted: String) -> Self {
        let mut found: String = text.chars().take(FOUND_CHARS_MAX).collect();
        if found.len() < text.len() {
            found.push('…');
        }
        Self { found, is_malformed, problem, accepted }
    }

    /// A text that is neither a time nor a range of times.
    pub(crate) fn of_range(text: &str) -> Self {
        let accepted = "a time such as \"10 ms\", or two with the shorter first, such as \"5 ms to 20 ms\"";
        Self::new(text, true, "is not a range of times".to_owned(), accepted.to_owned())
    }

    /// Whether the text is no number with a unit of the quantity; otherwise its value is out of range.
    pub fn is_malformed(&self) -> bool {
        self.is_malformed
    }

    /// What is wrong, as a clause without the text: "is not a time".
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, problem, accepted, .. } = self;
        write!(out, "{found:?} {problem}; write {accepted}")
    }
}

impl std::error::Error for QuantityError {}

/// Units of a quantity with how many of the first each is.
type Units = [(&'static str, u64)];

const TIME_UNITS: &Units = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];
const SIZE_UNITS: &Units = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];
const RATE_UNITS: &Units = &[
    ("bps", 1),
    ("kbps", 1_000),
    ("Kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
    ("TB/s", 8_000_000_000_000),
    ("GiB/s", 8 << 30),
];

/// Largest value of a quantity in its first unit: it fits whole numbers with a sign, as tables hold them.
const LARGEST: u64 = 9_000_000_000_000_000_000;

/// A quantity in words: its name, what is accepted, and [`LARGEST`].
type Words = (&'static str, &'static str, &'static str);

const TIME: Words = ("time", "a number and ps, ns, us, ms, s, min or h, such as \"1.5 us\"", "9000000 s");
const SIZE: Words =
    ("size", "a number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as \"64 MiB\"", "9000000 TB");
const RATE: Words = (
    "rate",
    "a number and bps, kbps, Mbps, Gbps, Tbps, MB/s, GB/s, TB/s or GiB/s, such as \"400 Gbps\"",
    "9000000 Tbps",
);

/// Splits `text` into number and unit and scales it exactly, rounded to the nearest first unit.
fn parse_scaled(text: &str, units: &Units, (name, accepted, largest): Words) -> Result<u64, QuantityError> {
    let malformed = || QuantityError::new(text, true, format!("is not a {name}"), accepted.to_owned());
    let trimmed = text.trim();
    let split =
        trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).ok_or_else(malformed)?;
    let unit = trimmed[split..].trim();
    let (_, scale) = units.iter().find(|(name, _)| *name == unit).ok_or_else(malformed)?;
    let out_of_range = |problem, accepted| Err(QuantityError::new(text, false, problem, accepted));
    match decimal::scaled(&trimmed[..split].replace('_', ""), *scale) {
        Ok(value) if value <= LARGEST => Ok(value),
        Ok(_) | Err(DecimalError::TooLarge) => {
            out_of_range(format!("is above {largest}, the largest {name}"), format!("a smaller {name}"))
        }
        Err(DecimalError::BelowOne) => {
            let least = units[0].0;
            out_of_range(
                format!("is below 1 {least}, the smallest {name}"),
                format!("at least \"1 {least}\""),
            )
        }
        Err(DecimalError::Malformed) => Err(malformed()),
    }
}

/// Writes `value` in the largest of `units` that keeps at least one whole digit.
fn write_scaled(out: &mut fmt::Formatter<'_>, value: u64, units: &Units, names: &[&str]) -> fmt::Result {
    let mut best = units.iter().find(|(name, _)| *name == names[0]).copied().unwrap_or(("", 1));
    for name in names {
        if let Some(&(unit, scale)) = units.iter().find(|(unit, _)| unit == name)
            && value >= scale
        {
            best = (unit, scale);
        }
    }
    let scaled = value as f64 / best.1 as f64;
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
        let long = "x".repeat(70_000).parse::<SimTime>().expect_err("no time").to_string();
        assert!(long.len() < 200, "{long}");
    }

    #[test]
    fn a_value_out_of_range_says_so() {
        let of_time = |text: &str| text.parse::<SimTime>().map_err(|error| error.to_string());
        assert_eq!(of_time("1.0000000000000 s"), Ok(SimTime::from_ps(1_000_000_000_000)));
        // The hour and a picosecond: floats of 64 bits count such times in steps of half of one and of 4.
        assert_eq!(of_time("1.0000000000000003 h"), Ok(SimTime::from_ps(3_600_000_000_000_001)));
        assert_eq!(of_time("2000.000000000001 h"), Ok(SimTime::from_ps(7_200_000_000_000_003_600)));
        let below = of_time("0.0000000000001 s");
        let words = "\"0.0000000000001 s\" is below 1 ps, the smallest time; write at least \"1 ps\"";
        assert_eq!(below, Err(words.to_owned()));
        let above = of_time("100000000000 h");
        let words = "\"100000000000 h\" is above 9000000 s, the largest time; write a smaller time";
        assert_eq!(above, Err(words.to_owned()));
        let size = "0.0001 kB".parse::<Bytes>().expect_err("a tenth of a byte").to_string();
        assert!(size.contains("is below 1 B, the smallest size"), "{size}");
        let rate = "0.0000000001 Gbps".parse::<Rate>().expect_err("a tenth of a bit").to_string();
        assert!(rate.contains("is below 1 bps, the smallest rate"), "{rate}");
        assert_eq!(TIME.2.parse(), Ok(SimTime::from_ps(LARGEST)));
        assert_eq!(
            (SIZE.2.parse(), RATE.2.parse()),
            (Ok(Bytes(LARGEST)), Ok(Rate::from_bits_per_s(LARGEST)))
        );
        let range = "0.1 ps to 5 ms".parse::<crate::TimeRange>().expect_err("a tenth of a ps").to_string();
        assert!(range.contains("\"0.1 ps\" is below 1 ps"), "{range}");
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
