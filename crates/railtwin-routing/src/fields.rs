//! Which parts of a packet a hash reads, and the bytes they make.

use std::fmt;
use std::ops::BitOr;
use std::str::FromStr;

use railtwin_units::keys::{Keyed, Kind};
use railtwin_units::serde::de::{Deserialize, Deserializer, Error as _};
use railtwin_units::serde::ser::{Serialize, Serializer};

use crate::error::RoutingError;
use crate::five_tuple::HashKey;

/// Bytes of a key with every field selected.
pub const MAX_KEY_BYTES: usize = 20;

/// The fields that a switch hashes: never empty.
///
/// Text form: names joined by commas in the order of [`Fields::NAMES`], e.g.
/// `source_ip,target_ip,source_port`. Any order parses; `five_tuple` stands for the first five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fields(u8);

impl Fields {
    /// IPv4 source address.
    pub const SOURCE_IP: Self = Self(1);
    /// IPv4 destination address.
    pub const TARGET_IP: Self = Self(1 << 1);
    /// Source port.
    pub const SOURCE_PORT: Self = Self(1 << 2);
    /// Destination port.
    pub const TARGET_PORT: Self = Self(1 << 3);
    /// IP protocol number.
    pub const PROTOCOL: Self = Self(1 << 4);
    /// RoCE destination queue pair.
    pub const TARGET_QP: Self = Self(1 << 5);
    /// Port of arrival.
    pub const INGRESS_PORT: Self = Self(1 << 6);
    /// Plain ECMP.
    pub const FIVE_TUPLE: Self = Self(0b001_1111);
    /// E-ECMP (Meta RoCE §4.2.2): the five-tuple and the destination queue pair.
    pub const FIVE_TUPLE_AND_QP: Self = Self(0b011_1111);

    /// Names of the single fields, in the order in which they are serialised.
    pub const NAMES: [&str; 7] =
        ["source_ip", "target_ip", "source_port", "target_port", "protocol", "target_qp", "ingress_port"];

    /// Mask from field names. Errors: an unknown name, a field named twice, no name at all.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, RoutingError> {
        let mut mask = 0u8;
        for name in names {
            let one = match (Self::NAMES.iter().position(|&known| known == name), name) {
                (Some(bit), _) => 1 << bit,
                (None, "five_tuple") => Self::FIVE_TUPLE.0,
                _ => {
                    let accepted = accepted_names();
                    return Err(RoutingError::UnknownField { name: name.to_owned(), accepted });
                }
            };
            if mask & one != 0 {
                return Err(RoutingError::RepeatedField { name: name.to_owned() });
            }
            mask |= one;
        }
        if mask == 0 {
            return Err(RoutingError::NoFields { accepted: accepted_names() });
        }
        Ok(Self(mask))
    }

    /// Whether all fields of `other` are in this mask.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The selected fields of `key` in network byte order, without allocation.
    ///
    /// The order is that of [`Fields::NAMES`] with widths 4, 4, 2, 2, 1, 3, 4 bytes; fields that
    /// are not selected take no room. Source before target and addresses before ports is the
    /// order of the RSS specification, so its test vectors apply as they stand.
    pub fn serialise(self, key: &HashKey) -> KeyBytes {
        let mut out = KeyBytes { bytes: [0; MAX_KEY_BYTES], len: 0 };
        let tuple = &key.tuple;
        if self.contains(Self::SOURCE_IP) {
            out.push(tuple.source_ip.to_be_bytes());
        }
        if self.contains(Self::TARGET_IP) {
            out.push(tuple.target_ip.to_be_bytes());
        }
        if self.contains(Self::SOURCE_PORT) {
            out.push(tuple.source_port.to_be_bytes());
        }
        if self.contains(Self::TARGET_PORT) {
            out.push(tuple.target_port.to_be_bytes());
        }
        if self.contains(Self::PROTOCOL) {
            out.push([tuple.protocol]);
        }
        if self.contains(Self::TARGET_QP) {
            let [_, high, middle, low] = key.target_qp.to_be_bytes();
            out.push([high, middle, low]);
        }
        if self.contains(Self::INGRESS_PORT) {
            out.push(key.ingress_port.to_be_bytes());
        }
        out
    }
}

impl Keyed for Fields {
    const KIND: Kind = Kind::List(&FIELD);

    fn shown(&self) -> Option<String> {
        Some(if *self == Self::FIVE_TUPLE { "five_tuple".to_owned() } else { self.to_string() })
    }
}

/// One name of a list of fields.
static FIELD: Kind = Kind::Choice(&[
    "source_ip",
    "target_ip",
    "source_port",
    "target_port",
    "protocol",
    "target_qp",
    "ingress_port",
    "five_tuple",
]);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_seq(self.to_string().split(','))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(input)?;
        Self::from_names(names.iter().map(String::as_str)).map_err(D::Error::custom)
    }
}

/// Union of two masks.
impl BitOr for Fields {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (bit, name) in Self::NAMES.iter().enumerate() {
            if self.0 & (1 << bit) != 0 {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

impl FromStr for Fields {
    type Err = RoutingError;

    fn from_str(text: &str) -> Result<Self, RoutingError> {
        if text.trim().is_empty() {
            return Self::from_names([]);
        }
        Self::from_names(text.split(',').map(str::trim))
    }
}

fn accepted_names() -> String {
    format!("{}, five_tuple", Fields::NAMES.join(", "))
}

/// A serialised key on the stack: at most [`MAX_KEY_BYTES`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBytes {
    bytes: [u8; MAX_KEY_BYTES],
    len: usize,
}

impl KeyBytes {
    /// The bytes that are hashed.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push<const N: usize>(&mut self, field: [u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(&field);
        self.len += N;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::five_tuple::FiveTuple;

    const KEY: HashKey = HashKey {
        tuple: FiveTuple::roce(0x0a01_0203, 0x0a04_0506, 0xC001),
        target_qp: 0xFFAB_CDEF,
        ingress_port: 0x0102_0304,
    };

    #[test]
    fn all_fields_serialise_in_documented_order() {
        let all = Fields::FIVE_TUPLE_AND_QP | Fields::INGRESS_PORT;
        let expected =
            [0x0a, 1, 2, 3, 0x0a, 4, 5, 6, 0xC0, 0x01, 0x12, 0xB7, 17, 0xAB, 0xCD, 0xEF, 1, 2, 3, 4];
        assert_eq!(all.serialise(&KEY).as_slice(), expected);
    }

    #[test]
    fn unselected_fields_take_no_room() {
        let some = Fields::SOURCE_PORT | Fields::TARGET_QP;
        assert_eq!(some.serialise(&KEY).as_slice(), [0xC0, 0x01, 0xAB, 0xCD, 0xEF]);
    }

    #[test]
    fn errors_name_the_value_and_what_is_accepted() {
        let error = "source_ip,sport".parse::<Fields>().expect_err("a bad input").to_string();
        assert!(error.contains("`sport`") && error.contains("source_port"), "{error}");
        let twice = "five_tuple,protocol".parse::<Fields>().expect_err("a bad input");
        assert_eq!(twice, RoutingError::RepeatedField { name: "protocol".into() });
        assert!(matches!("  ".parse::<Fields>(), Err(RoutingError::NoFields { .. })));
    }

    #[test]
    fn five_tuple_is_a_short_name() {
        assert_eq!("five_tuple".parse(), Ok(Fields::FIVE_TUPLE));
        assert_eq!("target_qp, five_tuple".parse(), Ok(Fields::FIVE_TUPLE_AND_QP));
    }

    proptest! {
        #[test]
        fn text_form_round_trips(mask in 1u8..128) {
            let fields = Fields(mask);
            prop_assert_eq!(fields.to_string().parse(), Ok(fields));
        }

        #[test]
        fn any_text_parses_or_errs(text in ".{0,60}") {
            if let Ok(fields) = text.parse::<Fields>() {
                prop_assert!(!fields.serialise(&KEY).as_slice().is_empty());
            }
        }
    }
}
