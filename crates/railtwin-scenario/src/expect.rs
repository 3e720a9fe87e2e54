//! `[expect]`: bounds that make a scenario a test.
use std::fmt;
use std::mem::discriminant;

use railtwin_units::keys::{Keyed, Kind, Table, joined, key};
use railtwin_units::{Bytes, QuantityError, Rate, SimTime};
use serde::{Deserialize, Serialize};

use crate::violation::Violation;

railtwin_units::section! {
    /// What a figure is expected to be. Conditions (`when`) are gone: they hold for a sweep and are settled when it is
    /// expanded.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Bounds "[expect]" {
        /// The least that is accepted.
        #[key(fixed)]
        pub at_least: Option<Amount> = None,
        /// The most that is accepted.
        #[key(fixed)]
        pub at_most: Option<Amount> = None,
        /// The value that is expected.
        #[key(fixed)]
        pub equals: Option<Amount> = None,
        /// How far from `equals` is accepted, as a share of it; default not at all.
        #[key(fixed)]
        pub tolerance: Option<f64> = None,
    }
}

/// Bounds as a text has them: with the points of a sweep that they hold for.
pub(crate) static BOUNDS: Table = Table {
    keys: &joined::<{ Bounds::TABLE.keys.len() + 1 }>(&[
        Bounds::TABLE.keys,
        &[key(
            "when",
            Kind::Conditions,
            "Points of a sweep that this holds for, by the values of their keys.",
        )
        .fixed()],
    ]),
    ..Bounds::TABLE
};

impl Bounds {
    /// Whether `value`, in base units ([`Amount::base`]), is accepted. NaN never is.
    pub fn accepts(&self, value: f64) -> bool {
        let equal = |expected: Amount| {
            let off = (value - expected.base()).abs();
            off <= self.tolerance.unwrap_or(0.0) * expected.base().abs()
        };
        !value.is_nan()
            && self.at_least.is_none_or(|least| value >= least.base())
            && self.at_most.is_none_or(|most| value <= most.base())
            && self.equals.is_none_or(equal)
    }

    /// The amounts that are given.
    pub(crate) fn amounts(&self) -> impl Iterator<Item = Amount> {
        [self.at_least, self.at_most, self.equals].into_iter().flatten()
    }
}

/// An amount with or without a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A plain number.
    Number(f64),
    /// A time.
    Time(SimTime),
    /// A size.
    Size(Bytes),
    /// A rate.
    Rate(Rate),
}

impl Amount {
    /// The amount in base units: seconds, bytes, bits per second, or the plain number.
    pub fn base(self) -> f64 {
        match self {
            Self::Number(number) => number,
            Self::Time(time) => time.seconds(),
            Self::Size(size) => size.0 as f64,
            Self::Rate(rate) => rate.bits_per_s() as f64,
        }
    }

    /// What it is, for messages.
    pub fn what(self) -> &'static str {
        match self {
            Self::Number(_) => "number",
            Self::Time(_) => "time",
            Self::Size(_) => "size",
            Self::Rate(_) => "rate",
        }
    }

    /// An amount with a unit; the error is of the quantity whose unit stands there.
    pub(crate) fn of_text(text: &str) -> Result<Self, QuantityError> {
        let size = |error: QuantityError| if error.is_malformed() { text.parse() } else { Err(error) };
        let rate = |error: QuantityError| if error.is_malformed() { text.parse() } else { Err(error) };
        let time = text.parse().map(Self::Time);
        time.or_else(|error| size(error).map(Self::Size)).or_else(|error| rate(error).map(Self::Rate))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(out),
            Self::Time(time) => time.fmt(out),
            Self::Size(size) => size.fmt(out),
            Self::Rate(rate) => rate.fmt(out),
        }
    }
}

impl Keyed for Amount {
    const KIND: Kind = Kind::Amount;

    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Serialize for Amount {
    fn serialize<S: serde::Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => output.serialize_f64(*number),
            Self::Time(time) => output.serialize_str(&time.exact()),
            Self::Size(size) => output.serialize_str(&size.exact()),
            Self::Rate(rate) => output.serialize_str(&rate.exact()),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        match Written::deserialize(input)? {
            Written::Number(number) => Ok(Self::Number(number)),
            Written::Text(text) => Self::of_text(&text).map_err(|error| {
                serde::de::Error::custom(match error.is_malformed() {
                    true => format!("{text:?} is not a time, size or rate"),
                    false => error.to_string(),
                })
            }),
        }
    }
}

/// What is wrong with the bounds of a figure, and the key.
pub(crate) fn trouble_of_bounds(bounds: &Bounds) -> Option<(&'static str, Violation)> {
    let Some(first) = bounds.amounts().next() else {
        let message = "the figure has no bound".to_owned();
        return Some(("at_least", (message, "write at_least, at_most or equals")));
    };
    if bounds.tolerance.is_some() && bounds.equals.is_none() {
        let message = "`tolerance` belongs to `equals`".to_owned();
        return Some(("tolerance", (message, "write equals, or leave tolerance away")));
    }
    if let Some(other) = bounds.amounts().find(|a| discriminant(a) != discriminant(&first)) {
        let message = format!("one bound is a {}, another a {}", first.what(), other.what());
        return Some(("at_most", (message, "write both in the same kind of unit")));
    }
    if let (Some(least), Some(most)) = (bounds.at_least, bounds.at_most)
        && least.base() > most.base()
    {
        let message = format!("at_least {least} is more than at_most {most}");
        return Some(("at_least", (message, "write at_least below at_most")));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_accept_what_lies_between_them() {
        let bounds = Bounds {
            at_least: Amount::of_text("1 s").ok(),
            at_most: Some(Amount::Number(2.0)),
            ..Bounds::default()
        };
        assert!(bounds.accepts(1.0) && bounds.accepts(2.0));
        assert!(!bounds.accepts(0.999) && !bounds.accepts(2.001) && !bounds.accepts(f64::NAN));
        let near =
            Bounds { equals: Amount::of_text("100 Gbps").ok(), tolerance: Some(0.01), ..Bounds::default() };
        assert!(near.accepts(99.5e9) && !near.accepts(98.5e9));
        assert!(!Bounds { tolerance: None, ..near }.accepts(99.5e9));
    }
}
