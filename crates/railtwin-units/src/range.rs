//! Spans of time that are not known to the point: a least and a most, between which each occasion draws its own.
use std::fmt;
use std::str::FromStr;

use rand::Rng;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use crate::keys::{Keyed, Kind};
use crate::quantity::SimTime;
use crate::stream;
use crate::text::QuantityError;

/// What stands between the two ends in texts.
const TO: &str = " to ";

/// A time, or a range of times of which all are equally likely: `"10 ms"` or `"5 ms to 20 ms"`.
///
/// ```
/// use railtwin_units::{SimTime, TimeRange};
/// let point: TimeRange = "10 ms".parse().unwrap();
/// assert_eq!(point.draw(7, || "a".to_owned()), SimTime::from_ns(10_000_000));
/// let range: TimeRange = "5 ms to 20 ms".parse().unwrap();
/// let drawn = range.draw(7, || "a".to_owned());
/// assert!(range.least() <= drawn && drawn <= range.most());
/// assert_eq!(drawn, range.draw(7, || "a".to_owned()));
/// assert!("20 ms to 5 ms".parse::<TimeRange>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimeRange {
    least: SimTime,
    most: SimTime,
}

impl TimeRange {
    /// No time at all.
    pub const ZERO: Self = Self::at(SimTime::ZERO);

    /// Always the same time.
    pub const fn at(time: SimTime) -> Self {
        Self { least: time, most: time }
    }

    /// Between two times, in either order.
    pub fn between(one: SimTime, other: SimTime) -> Self {
        Self { least: one.min(other), most: one.max(other) }
    }

    /// The shortest.
    pub const fn least(self) -> SimTime {
        self.least
    }

    /// The longest.
    pub const fn most(self) -> SimTime {
        self.most
    }

    /// The middle, which is the mean of what is drawn.
    pub const fn mean(self) -> SimTime {
        SimTime::from_ps(self.least.ps() + self.most.since(self.least).ps() / 2)
    }

    /// The time of one occasion: that of the run `seed` that is called `name`. Every picosecond from the least to the
    /// most is as likely as any other; the name is not asked for where there is nothing to draw.
    pub fn draw(self, seed: u64, name: impl FnOnce() -> String) -> SimTime {
        let wide = self.most.since(self.least).ps();
        if wide == 0 {
            return self.least;
        }
        let number = stream::named(seed, &name()).next_u64();
        let part = (u128::from(number) * (u128::from(wide) + 1)) >> 64;
        SimTime::from_ps(self.least.ps() + part as u64)
    }

    /// The text that reads back to the same range.
    pub fn exact(self) -> String {
        let text = |time: SimTime| if time == SimTime::ZERO { "0 s".to_owned() } else { time.exact() };
        match self.least == self.most {
            true => text(self.least),
            false => format!("{}{TO}{}", text(self.least), text(self.most)),
        }
    }
}

impl Default for TimeRange {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<SimTime> for TimeRange {
    fn from(time: SimTime) -> Self {
        Self::at(time)
    }
}

impl fmt::Display for TimeRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most {
            true => fmt::Display::fmt(&self.least, out),
            false => write!(out, "{}{TO}{}", self.least, self.most),
        }
    }
}

impl FromStr for TimeRange {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let read = |part: &str| {
            part.parse::<SimTime>()
                .map_err(|error| if error.is_malformed() { QuantityError::of_range(text) } else { error })
        };
        let Some((least, most)) = text.split_once(TO) else {
            return read(text).map(Self::at);
        };
        let (least, most) = (read(least)?, read(most)?);
        if most < least {
            return Err(QuantityError::of_range(text));
        }
        Ok(Self { least, most })
    }
}

impl Serialize for TimeRange {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        // A point is written as a time is.
        match self.least == self.most {
            true => self.least.serialize(output),
            false => output.serialize_str(&self.exact()),
        }
    }
}

impl<'de> Deserialize<'de> for TimeRange {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        String::deserialize(input)?.parse().map_err(D::Error::custom)
    }
}

impl Keyed for TimeRange {
    const KIND: Kind = Kind::TimeRange;

    fn shown(&self) -> Option<String> {
        Some(self.exact())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn draws_are_even_and_reach_both_ends() {
        let range = TimeRange::between(SimTime::from_ps(10), SimTime::from_ps(12));
        let mut counts = [0_u32; 3];
        for number in 0..3_000 {
            counts[range.draw(1, || format!("fault/{number}")).ps() as usize - 10] += 1;
        }
        // Three standard deviations of a third of 3,000 are 77.
        assert!(counts.iter().all(|&count| count.abs_diff(1_000) < 90), "{counts:?}");
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "5", "5 ms to", "to 5 ms", "5 ms to 4 ms", "5 ms to 6", "1 s to 2 s to 3 s"] {
            let error = text.parse::<TimeRange>().expect_err(text).to_string();
            assert!(error.contains("5 ms to 20 ms"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn text_reads_back(one in 0u64..1 << 52, other in 0u64..1 << 52) {
            let range = TimeRange::between(SimTime::from_ps(one), SimTime::from_ps(other));
            prop_assert_eq!(range.exact().parse::<TimeRange>().ok(), Some(range));
            let (least, most) = (range.least().ps(), range.most().ps());
            prop_assert_eq!(range.mean().ps(), least + (most - least) / 2);
            let drawn = range.draw(one, || other.to_string());
            prop_assert!(range.least() <= drawn && drawn <= range.most());
        }
    }
}
