//! Quantities as text that reads back to the very same value, for serde.
//!
//! The people's form of a quantity keeps one digit before the point and rounds at the sixteenth; what is written back
//! must not change by a picosecond, so it takes the largest unit that is whole.
use serde::ser::{Serialize, Serializer};

use crate::quantity::{Bytes, Rate, SimTime};

/// The largest unit that divides `value`; `units` go from large to small and end at 1.
fn whole(value: u64, units: &[(&str, u64)]) -> String {
    let smallest = units[units.len() - 1];
    let (unit, scale) = match value {
        0 => smallest,
        _ => *units.iter().find(|(_, scale)| value.is_multiple_of(*scale)).unwrap_or(&smallest),
    };
    format!("{} {unit}", value / scale)
}

impl SimTime {
    /// A whole number and the largest unit that allows it: `"1500 ns"`. It reads back to the same value.
    pub fn exact(self) -> String {
        let units =
            [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
        whole(self.ps(), &units)
    }
}

impl Serialize for SimTime {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.serialize_str(&self.exact())
    }
}

impl Bytes {
    /// A whole number and the largest unit that allows it: `"1500 ns"`. It reads back to the same value.
    pub fn exact(self) -> String {
        let units = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
        whole(self.0, &units)
    }
}

impl Bytes {
    /// The shortest of the forms that read back to the same value, decimal units among them: `"10 MB"`.
    pub fn shortest(self) -> String {
        let units =
            [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
        [whole(self.0, &units), self.exact()].into_iter().min_by_key(String::len).unwrap_or_default()
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.serialize_str(&self.exact())
    }
}

impl Rate {
    /// A whole number and the largest unit that allows it: `"1500 ns"`. It reads back to the same value.
    pub fn exact(self) -> String {
        let units = [("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000), ("bps", 1)];
        whole(self.bits_per_s(), &units)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.serialize_str(&self.exact())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_short_where_they_can_be() {
        assert_eq!(Rate::from_gbps(400).exact(), "400 Gbps");
        assert_eq!(SimTime::from_ps(1_500_000).exact(), "1500 ns");
        assert_eq!(SimTime::ZERO.exact(), "0 ps");
        assert_eq!(Bytes(1 << 30).exact(), "1 GiB");
    }

    proptest! {
        /// Every value that text can say comes back exactly.
        #[test]
        fn texts_read_back_exactly(value in 0u64..9_000_000_000_000_000_000) {
            prop_assert_eq!(SimTime::from_ps(value).exact().parse(), Ok(SimTime::from_ps(value)));
            prop_assert_eq!(Bytes(value).exact().parse(), Ok(Bytes(value)));
            let rate = Rate::from_bits_per_s(value);
            prop_assert_eq!(rate.exact().parse(), Ok(rate));
        }
    }
}
